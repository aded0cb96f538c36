"""The word that represents a term in a source."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import chain

import numpy as np

from softcosine.similarity.in_terms import known_as_written
from softcosine.similarity.source import TermSimilaritySource
from softcosine.text.vocabulary import Vocabulary

__all__ = ["representatives"]


def representatives(
    source: TermSimilaritySource, vocabulary: Vocabulary, numbers: Iterable[int] | None = None
) -> tuple[str, ...]:
    """Return the representative word of each term: its most frequent form that the source knows.

    Sources contain words, not stems. Without stemming, a term represents itself. A list in terms
    treats all forms alike, so the other sources determine the form.

    Parameters
    ----------
    source : TermSimilaritySource
    vocabulary : Vocabulary
    numbers : iterable of int, optional
        Term numbers; all by default.
    """
    if numbers is None:
        if vocabulary.forms is None:
            return vocabulary.terms
        terms: Sequence[str] = vocabulary.terms
        all_forms: Sequence[tuple[str, ...]] = vocabulary.forms
    else:
        chosen = list(numbers)
        terms = [vocabulary.term(i) for i in chosen]
        all_forms = [vocabulary.forms_of(i) for i in chosen]
    known = known_as_written(source, list(chain.from_iterable(all_forms)))
    words = []
    position = 0
    for term, forms in zip(terms, all_forms, strict=True):
        here = known[position : position + len(forms)]
        position += len(forms)
        words.append(forms[int(np.argmax(here))] if here.any() else (forms[0] if forms else term))
    return tuple(words)
