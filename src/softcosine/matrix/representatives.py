"""Which word stands for a term when a source is asked."""

from __future__ import annotations

import numpy as np

from softcosine.sources.asking import known_by
from softcosine.sources.source import TermSimilaritySource
from softcosine.text.vocabulary import Vocabulary

__all__ = ["representatives"]


def representatives(source: TermSimilaritySource, vocabulary: Vocabulary) -> tuple[str, ...]:
    """Return the word that stands for each term: its most frequent form that the source knows.

    Sources know words, not stems. Without stemming a term stands for itself.
    """
    if vocabulary.forms is None:
        return vocabulary.terms
    flat = [form for forms in vocabulary.forms for form in forms]
    known = known_by(source, flat)
    words = []
    position = 0
    for term, forms in zip(vocabulary.terms, vocabulary.forms, strict=True):
        here = known[position : position + len(forms)]
        position += len(forms)
        words.append(forms[int(np.argmax(here))] if here.any() else (forms[0] if forms else term))
    return tuple(words)
