"""The table of English word vectors that comes with the package."""

from __future__ import annotations

from functools import cache
from importlib.resources import as_file, files

import numpy as np

from softcosine.sources.vectors.word_vectors import WordVectors
from softcosine.text.vocabulary import Vocabulary

__all__ = ["english_share", "english_table"]

_TELLING_LENGTH = 5  # shorter words are shared by too many languages


@cache
def english_table() -> WordVectors:
    """Return the table of English words; read once a process.

    How it was made, and under which licence it comes, is told in ``data/CARD.md`` beside it.
    """
    from softcosine.sources.vectors.vector_files import read_vectors

    with as_file(files("softcosine.sources") / "data" / "english.npz") as path:
        table = read_vectors(path)
    assert isinstance(table, WordVectors)  # none of its words is a suffix piece
    return table


def english_share(vocabulary: Vocabulary) -> float:
    """Share of the documents' longer words that the bundled English table knows.

    A word counts once for each document that has it, so that the many names and misspellings that
    stand in a single document do not outvote the language. Words of `_TELLING_LENGTH` letters or
    more tell; where there are none, all do. 0 for an empty vocabulary.
    """
    forms = vocabulary.forms or tuple((term,) for term in vocabulary.terms)
    frequencies = vocabulary.document_frequencies
    weights = np.ones(len(vocabulary)) if frequencies is None else frequencies.astype(np.float64)
    # Under stemming the most frequent form is what people wrote.
    words = [own[0] if own else term for own, term in zip(forms, vocabulary.terms, strict=True)]
    telling = np.array(
        [word.isalpha() and len(word) >= _TELLING_LENGTH for word in words], dtype=np.bool_
    )
    if not telling.any():
        telling = np.array([word.isalpha() for word in words], dtype=np.bool_)
    total = float(weights[telling].sum())
    if total == 0.0:
        return 0.0
    known = english_table().find(words) >= 0
    return float(weights[telling & known].sum()) / total
