"""The bundled table of English word vectors."""

from __future__ import annotations

from functools import cache
from importlib.resources import as_file, files

import numpy as np

from softcosine.similarity.embeddings.word_vectors import WordVectors
from softcosine.text.vocabulary import Vocabulary

_TELLING_LENGTH = 5  # shorter words occur in too many languages


@cache
def english_table() -> WordVectors:
    """Return the bundled table of English words; read once per process.

    ``data/CARD.md`` beside it describes its origin and licence.
    """
    from softcosine.similarity.embeddings.vector_files import read_vectors

    with as_file(files("softcosine.similarity") / "data" / "english.npz") as path:
        table = read_vectors(path)
    assert isinstance(table, WordVectors)  # no word is a suffix piece
    return table


def english_share(vocabulary: Vocabulary) -> float:
    """Share of the documents' longer words that the bundled English table knows.

    A word counts once per document, so that names and misspellings of a single document have little
    weight. Words of at least `_TELLING_LENGTH` letters count; if there are none, all words count. 0
    for an empty vocabulary.
    """
    forms = vocabulary.forms or ((),) * len(vocabulary)
    frequencies = vocabulary.document_frequencies
    weights = np.ones(len(vocabulary)) if frequencies is None else frequencies.astype(np.float64)
    # Under stemming, use the most frequent form of each stem.
    words = [own[0] if own else term for own, term in zip(forms, vocabulary.terms, strict=True)]
    telling = np.array(
        [word.isalpha() and len(word) >= _TELLING_LENGTH for word in words], dtype=np.bool_
    )
    if not telling.any():
        telling = np.array([word.isalpha() for word in words], dtype=np.bool_)
    total = float(weights[telling].sum())
    if total == 0.0:
        return 0.0
    # Words with accents are found without them, which says nothing of their language.
    places = [i for i in np.flatnonzero(telling).tolist() if words[i].isascii()]
    known = english_table().find([words[i] for i in places]) >= 0
    return float(weights[places][known].sum()) / total
