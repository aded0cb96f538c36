"""The table of English word vectors that comes with the package."""

from __future__ import annotations

from collections.abc import Iterable
from functools import cache
from importlib.resources import as_file, files

from softcosine.sources.word_vectors import WordVectors

__all__ = ["english_table", "looks_english"]

_TELLING_LENGTH = 5  # shorter words are shared by too many languages


@cache
def english_table() -> WordVectors:
    """Table of about 30,000 English words; read once a process.

    How it was made, and under which licence it comes, is told in ``data/CARD.md`` beside it.
    """
    from softcosine.sources.vector_files import read_vectors

    with as_file(files("softcosine.sources") / "data" / "english.npz") as path:
        return read_vectors(path)


def looks_english(words: Iterable[str]) -> float:
    """Share of the distinct words of five letters or more that the English table knows.

    Parameters
    ----------
    words : iterable of str
        Unstemmed; shorter words, and those with anything but letters, tell nothing.

    Returns
    -------
    float
        In [0, 1]; 0 where no word tells anything.
    """
    telling = {word for word in words if len(word) >= _TELLING_LENGTH and word.isalpha()}
    if not telling:
        return 0.0
    return float((english_table().find(list(telling)) >= 0).mean())
