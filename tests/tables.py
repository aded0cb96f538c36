"""Sources that are written out as tables, and all that should hold of a table drawn so."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from hypothesis import strategies as st
from numpy.typing import NDArray

from softcosine.similarity.neighbors import Neighbors
from softcosine.similarity.source import TermSimilaritySource

TERMS = tuple("dbcafe")
VALUES = (0.0, 0.0, 0.25, 0.5, 0.5, 0.75, 1.0)


class Table:
    """A source that is written out; exact, with ties."""

    def __init__(self, S: NDArray[np.float32], known: Sequence[bool]) -> None:
        self.S = S * np.outer(known, known)
        self.known = dict(zip(TERMS, known, strict=True))

    def knows(self, terms: Sequence[str]) -> NDArray[np.bool_]:
        return np.array([self.known.get(term, False) for term in terms], np.bool_)

    def similarities(self, left: Sequence[str], right: Sequence[str]) -> NDArray[np.float32]:
        pairs = [
            1.0 if a == b else self.S[TERMS.index(a), TERMS.index(b)]
            for a, b in zip(left, right, strict=True)
        ]
        return np.array(pairs, np.float32)

    def neighbors(
        self, terms: Sequence[str], among: Sequence[str], *, max_neighbors: int
    ) -> Neighbors:
        pairs = [(i, j) for i, a in enumerate(terms) for j, b in enumerate(among) if a != b]
        rows = np.array([i for i, _ in pairs], np.int64)
        columns = np.array([j for _, j in pairs], np.int64)
        values = self.similarities([terms[i] for i in rows], [among[j] for j in columns])
        return Neighbors.from_pairs(
            rows, columns, values, n_terms=len(terms), among=among, max_neighbors=max_neighbors
        )


@st.composite
def drawn(draw: st.DrawFn) -> Table:
    n = len(TERMS)
    upper = draw(st.lists(st.sampled_from(VALUES), min_size=n * n, max_size=n * n))
    S = np.triu(np.array(upper, np.float32).reshape(n, n), 1)
    return Table(S + S.T, draw(st.lists(st.booleans(), min_size=n, max_size=n)))


several = st.lists(drawn(), min_size=1, max_size=4)


def square(source: TermSimilaritySource) -> NDArray[np.float32]:
    n = len(TERMS)
    left = [term for term in TERMS for _ in range(n)]
    return source.similarities(left, list(TERMS) * n).reshape(n, n)


def check_neighbors(source: TermSimilaritySource, S: NDArray[np.float32], k: int) -> None:
    found = source.neighbors(TERMS, TERMS, max_neighbors=k)
    for i, term in enumerate(TERMS):
        order = sorted(range(len(TERMS)), key=lambda j, i=i: (-S[i, j], TERMS[j]))
        expected = [j for j in order if TERMS[j] != term and S[i, j] > 0][:k]
        assert found.of(i)[0].tolist() == expected
        assert found.of(i)[1].tolist() == S[i, expected].tolist()
