"""Reader of fastText's binary models: dictionary, word vectors and hashed n-gram vectors."""

from __future__ import annotations

import struct
from pathlib import Path
from typing import BinaryIO

import numpy as np

from softcosine.errors import InvalidInputError
from softcosine.similarity.embeddings.composed_vectors import ComposedVectors
from softcosine.similarity.embeddings.subwords import Subwords

FASTTEXT_MAGIC = struct.pack("<i", 793_712_314)
_VERSIONS = (11, 12)
_HEADER = struct.Struct("<12id")  # dimensions, window, ..., bucket, min_n, max_n, ..., sampling
_DICTIONARY = struct.Struct("<3i2q")  # entries, words, labels, tokens, pruned n-grams
_COUNT_AND_KIND = 9  # int64 count and int8 kind after the terminating zero of a word
_MATRIX = struct.Struct("<?2q")  # quantised, rows, columns
_SUPERVISED = 3
_PIECE = 1 << 20


def read_fasttext(path: Path) -> ComposedVectors:
    """Return the vectors of a fastText ``.bin`` (versions 11 and 12); the matrix is memory-mapped.

    Joulin et al. 2017, "Bag of Tricks for Efficient Text Classification"; the layout is that of
    fastText's own ``FastText::saveModel``. Vectors equal those of ``get_word_vector``: the mean of
    a word's own vector and those of its n-grams; for other words, of the n-grams only.

    Raises
    ------
    InvalidInputError
        If the file is truncated, has another version, or is quantised (``.ftz``).
    """
    with path.open("rb") as file:
        try:
            return _read(path, file)
        except struct.error:
            raise InvalidInputError("the file ends within the header; it was cut short.") from None


def _read(path: Path, file: BinaryIO) -> ComposedVectors:
    version = struct.unpack("<4xi", file.read(8))[0]
    if version not in _VERSIONS:
        raise InvalidInputError(
            f"the file is of fastText's format version {version}; read are 11 and 12. Save the "
            "model anew with fastText 0.1 or later."
        )
    header = _HEADER.unpack(file.read(_HEADER.size))
    dimensions, model, n_buckets, min_n, max_n = header[0], *header[7:11]
    if version == 11 and model == _SUPERVISED:
        max_n = 0  # written by fastText but unused
    n_entries, n_words, _, _, n_pruned = _DICTIONARY.unpack(file.read(_DICTIONARY.size))
    words = _read_words(file, n_entries, n_words)
    quantised, n_rows, n_columns = _MATRIX.unpack(file.read(_MATRIX.size))
    if quantised or n_pruned > 0:  # pruning data would precede the matrix
        raise InvalidInputError(
            "the model is quantised (.ftz): its vectors are approximations of which the n-grams "
            "were pruned. Take the .bin that it was made from."
        )
    start = file.tell()
    held = max(0, path.stat().st_size - start)
    if n_columns != dimensions or not 0 <= n_words <= n_rows or dimensions < 1:
        raise InvalidInputError(
            f"the header promises {dimensions} dimensions and {n_words} words, but the matrix is "
            f"{n_rows} x {n_columns}; the file is damaged."
        )
    if held < 4 * n_rows * n_columns:
        raise InvalidInputError(
            f"{4 * n_rows * n_columns} bytes of vectors are promised, but the file ends after "
            f"{held}; it was cut short."
        )
    if max_n and n_rows != n_words + n_buckets:
        raise InvalidInputError(
            f"there are {n_words} words and {n_buckets} buckets of n-grams, but {n_rows} vectors; "
            "the file is damaged."
        )
    n_needed = n_rows if max_n else n_words  # word n-grams of classifiers follow
    shape = (n_needed, n_columns)
    vectors = np.memmap(path, "<f4", "r", start, shape) if n_needed else np.zeros(shape, "<f4")
    subwords = Subwords(words, min_n=min_n, max_n=max_n, n_buckets=n_buckets)
    return ComposedVectors(subwords, vectors)


def _read_words(file: BinaryIO, n_entries: int, n_words: int) -> list[str]:
    """Return the words of the dictionary, without the labels that follow them."""
    words: list[str] = []
    buffer, place = b"", 0
    for entry in range(n_entries):
        end = buffer.find(b"\0", place)
        while end < 0 or len(buffer) < end + 1 + _COUNT_AND_KIND:
            piece = file.read(_PIECE)
            if not piece:
                raise InvalidInputError(
                    f"{n_entries} words and labels are promised, but the file ends after {entry}; "
                    "it was cut short."
                )
            buffer, place = buffer[place:] + piece, 0
            end = buffer.find(b"\0")
        if len(words) < n_words:
            words.append(buffer[place:end].decode("utf-8", "replace"))
        place = end + 1 + _COUNT_AND_KIND
    file.seek(place - len(buffer), 1)
    return words
