"""A small encoder, and its space of meaning."""

from __future__ import annotations

import zlib

import numpy as np
from numpy.typing import NDArray

from softcosine.similarity.embeddings.word_pieces import WordPieces
from softcosine.space.meaning import MeaningSpace
from softcosine.space.query_table import QueryTable

DIMENSIONS = 6


class ToyEncoder:
    """Encodes a text as the sum of vectors of its words, which are drawn by their letters."""

    dimensions = DIMENSIONS
    max_tokens = None

    def __init__(self, name: str = "toy") -> None:
        self.name = name
        self.texts: list[str] = []

    def encode(self, texts: list[str], /) -> NDArray[np.float32]:
        self.texts += texts
        return np.array([vector(text) for text in texts], np.float32).reshape(-1, DIMENSIONS)

    def n_truncated(self, texts: list[str]) -> int:
        return 0


def vector(text: str) -> NDArray[np.float64]:
    """Return the vector of a text; zeros for a text without words."""
    total = np.zeros(DIMENSIONS)
    for word in text.lower().split():
        total += np.random.default_rng(zlib.crc32(word.encode())).normal(size=DIMENSIONS)
    return total


def toy_space(words: list[str], *, encoder: str = "toy") -> MeaningSpace:
    """Return the space of the encoder, with a query table of some words."""
    pieces = sorted(set(words))
    table = QueryTable.quantized([vector(word) for word in pieces], WordPieces(pieces))
    return MeaningSpace(encoder, table=table)
