"""Hypothesis strategies that look for trouble.

Few distinct weights (so that scores tie), documents and queries without terms, vocabularies of one
term, terms that no document has, more results asked for than there are documents, similarity
matrices of every kind. Similarities and weights are exact in float32, so an oracle in float64 sees
the numbers that the library stores.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from hypothesis import settings
from hypothesis import strategies as st
from numpy.typing import NDArray

Array = NDArray[np.float64]

MAX_TERMS = 8
MAX_DOCS = 12

# For a property that dozens of parameters repeat.
FEWER = settings(max_examples=max(10, settings().max_examples * 2 // 5))

# Ordinary words, words that normalise to one another, words without Latin letters, numbers.
WORDS = (
    *("dead", "killed", "king", "the", "a", "of", "tire", "tyre", "wheel", "x", "I"),
    *("running", "runs", "run", "Run", "RUN", "Straße", "STRASSE", "ﬁne", "fine"),
    *("café", "cafe\u0301", "naïve", "Ünïcödé", "E1042", "3.11", "it's", "don't", "co-operate"),
    *("Ελλάδα", "οδός", "ΟΔΟΣ", "кот", "кошка", "שלום", "مرحبا", "नमस्ते"),
    *("人工知能", "東京都", "한국어", "ภาษาไทย", "😀"),
)
SEPARATORS = (" ", " ", " ", "  ", ", ", ". ", "\n", "\t", " — ", "\u00a0", "/", "")


def sizes(maximum: int, *, minimum: int = 1) -> st.SearchStrategy[int]:
    """Sizes from `minimum` to `maximum`, one and few oftener than many."""
    return st.integers(minimum, maximum)


def vocabularies(n_terms: int) -> st.SearchStrategy[list[str]]:
    """Distinct terms in no particular order, so that row numbers and strings disagree."""
    letters = [f"{letter}{i}" for i in range(-(-n_terms // 4)) for letter in "daxé"]
    return st.permutations(letters[:n_terms])


def counts(n_docs: int, n_terms: int) -> st.SearchStrategy[Array]:
    """Term frequencies: mostly none, mostly one, at times past 255; some rows wholly empty."""
    entries = st.sampled_from((0, 0, 0, 1, 1, 2, 3, 300))
    row = st.one_of(
        st.lists(entries, min_size=n_terms, max_size=n_terms),
        st.just([0] * n_terms),
    )
    rows = st.lists(row, min_size=n_docs, max_size=n_docs)
    return rows.map(lambda r: np.array(r, dtype=np.float64).reshape(n_docs, n_terms))


def coordinates(n_docs: int, n_terms: int, *, signed: bool = False) -> st.SearchStrategy[Array]:
    """Real coordinates, few distinct; non-negative unless `signed`."""
    values = (0.0, 0.0, 0.0, 0.5, 1.0, 1.0, 2.25) + ((-1.0, -0.5) if signed else ())
    row = st.one_of(
        st.lists(st.sampled_from(values), min_size=n_terms, max_size=n_terms),
        st.just([0.0] * n_terms),
    )
    rows = st.lists(row, min_size=n_docs, max_size=n_docs)
    return rows.map(lambda r: np.array(r, dtype=np.float64).reshape(n_docs, n_terms))


def term_weights(n_terms: int) -> st.SearchStrategy[Array]:
    """Diagonal of W: non-negative, few distinct, zero at times."""
    values = st.sampled_from((0.0, 0.5, 1.0, 1.0, 2.0))
    return st.lists(values, min_size=n_terms, max_size=n_terms).map(np.array)


_SIMILARITIES = (0.0, 0.0, 0.0, 0.125, 0.5, 0.5, 0.875, 1.0)


def _square(values: tuple[float, ...], n: int) -> st.SearchStrategy[Array]:
    entries = st.lists(st.sampled_from(values), min_size=n * n, max_size=n * n)
    return entries.map(lambda e: np.array(e, dtype=np.float64).reshape(n, n))


def _with_unit_diagonal(S: Array) -> Array:
    S = S.copy()
    np.fill_diagonal(S, 1.0)
    return S


def _mirrored(S: Array) -> Array:
    return _with_unit_diagonal(np.triu(S, 1) + np.triu(S, 1).T)


def symmetric_matrices(n: int) -> st.SearchStrategy[Array]:
    """Symmetric, non-negative, unit diagonal; often indefinite, so cosines above 1 occur."""
    return _square(_SIMILARITIES, n).map(_mirrored)


def signed_matrices(n: int) -> st.SearchStrategy[Array]:
    """Symmetric with negative entries; xᵀSx < 0 occurs."""
    return _square((*_SIMILARITIES, -0.5, -1.0), n).map(_mirrored)


def asymmetric_matrices(n: int) -> st.SearchStrategy[Array]:
    """Non-negative with unit diagonal, rows and columns different."""
    return _square(_SIMILARITIES, n).map(_with_unit_diagonal)


def definite_matrices(n: int) -> st.SearchStrategy[Array]:
    """Positive definite with unit diagonal: Gram matrices of unit vectors.

    A millionth of the identity is mixed in, so that rounding to float32 leaves them definite.
    Entries may be negative.
    """

    def gram(flat: list[int]) -> Array:
        vectors = np.array(flat, dtype=np.float64).reshape(n, 3)
        vectors[~vectors.any(axis=1), 0] = 1.0
        vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
        S = (vectors @ vectors.T) * (1 - 1e-6)
        return _mirrored(S.astype(np.float32).astype(np.float64))

    return st.lists(st.integers(-1, 2), min_size=3 * n, max_size=3 * n).map(gram)


def similarity_matrices(n: int) -> st.SearchStrategy[Array]:
    """The identity, or non-negative symmetric, or positive definite."""
    return st.one_of(st.just(np.eye(n)), symmetric_matrices(n), definite_matrices(n))


def result_limits(n_docs: int) -> st.SearchStrategy[int]:
    """k: one, some, all, more than there are."""
    return st.sampled_from((1, 2, 3, max(1, n_docs), n_docs + 5))


@dataclass(frozen=True, slots=True)
class Collection:
    """Documents, queries, S and W over one vocabulary of `n_terms` terms."""

    counts: Array
    queries: Array
    S: Array
    weights: Array

    @property
    def n_docs(self) -> int:
        return self.counts.shape[0]

    @property
    def n_terms(self) -> int:
        return self.counts.shape[1]


@st.composite
def collections(
    draw: st.DrawFn,
    *,
    matrices: object = symmetric_matrices,
    max_docs: int = MAX_DOCS,
    max_terms: int = MAX_TERMS,
) -> Collection:
    """Collections with an S drawn from `matrices`, one of the functions above."""
    n_terms = draw(sizes(max_terms))
    n_docs = draw(sizes(max_docs))
    return Collection(
        counts=draw(counts(n_docs, n_terms)),
        queries=draw(counts(draw(sizes(3)), n_terms)),
        S=draw(matrices(n_terms)),  # type: ignore[operator]
        weights=draw(term_weights(n_terms)),
    )


def token_lists(max_size: int = 10) -> st.SearchStrategy[list[str]]:
    """Documents that are split already."""
    return st.lists(st.sampled_from(WORDS), max_size=max_size)


@st.composite
def sentences(draw: st.DrawFn, max_size: int = 10) -> str:
    """Texts of awkward words with awkward separators; may be empty or blank."""
    words = draw(token_lists(max_size))
    return "".join(word + draw(st.sampled_from(SEPARATORS)) for word in words)


def corpora(max_docs: int = MAX_DOCS, *, min_docs: int = 0) -> st.SearchStrategy[list[str]]:
    """Lists of sentences; the same one may stand twice."""
    return st.lists(sentences(), min_size=min_docs, max_size=max_docs)
