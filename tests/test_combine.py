"""Sources joined, against the definition applied to the tables they were drawn from."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from softcosine.errors import InvalidInputError
from softcosine.sources.combine import first, mean, scaled, strongest
from softcosine.sources.source import Neighbors, TermSimilaritySource

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


@given(several, st.integers(1, 6))
def test_strongest_takes_the_greatest(tables: list[Table], k: int) -> None:
    source = strongest(*tables)
    expected = np.max([table.S for table in tables], axis=0)
    np.fill_diagonal(expected, 1.0)
    assert square(source).tolist() == expected.tolist()
    check_neighbors(source, expected, k)
    assert source.knows(TERMS).tolist() == np.any([t.knows(TERMS) for t in tables], 0).tolist()


@given(several, st.data())
def test_mean_weighs_every_part_and_counts_the_unknown_as_zero(
    tables: list[Table], data: st.DataObject
) -> None:
    weights = [data.draw(st.sampled_from((0.5, 1.0, 2.0))) for _ in tables]
    source = mean(*tables, weights=weights)
    total = sum(w * t.S.astype(np.float64) for w, t in zip(weights, tables, strict=True))
    expected = (total / sum(weights)).astype(np.float32)
    np.fill_diagonal(expected, 1.0)
    assert square(source).tolist() == expected.tolist()
    check_neighbors(source, expected, 6)


@given(several, st.integers(1, 6))
def test_first_asks_the_first_that_knows_both(tables: list[Table], k: int) -> None:
    source = first(*tables)
    n = len(TERMS)
    expected = np.eye(n, dtype=np.float32)
    for i in range(n):
        for j in range(n):
            if i != j:
                knowing = [t for t in tables if t.known[TERMS[i]] and t.known[TERMS[j]]]
                expected[i, j] = knowing[0].S[i, j] if knowing else 0.0
    assert square(source).tolist() == expected.tolist()
    check_neighbors(source, expected, k)


@given(drawn(), st.integers(1, 6))
def test_scaled_multiplies_all_but_a_terms_similarity_with_itself(table: Table, k: int) -> None:
    source = scaled(table, 0.5)
    expected = table.S * np.float32(0.5)
    np.fill_diagonal(expected, 1.0)
    assert square(source).tolist() == expected.tolist()
    check_neighbors(source, expected, k)


def test_mean_of_equal_weights_is_the_default() -> None:
    tables = [Table(np.full((6, 6), value, np.float32), [True] * 6) for value in (1.0, 0.5)]
    assert mean(*tables).similarities(["a"], ["b"]).item() == 0.75
    assert mean(*tables, weights=[1, 3]).similarities(["a"], ["b"]).item() == 0.625


def test_wrong_parts_are_refused() -> None:
    table = Table(np.eye(6, dtype=np.float32), [True] * 6)
    with pytest.raises(InvalidInputError, match="there are no sources"):
        strongest()
    with pytest.raises(InvalidInputError, match="'glove' is not a term similarity source"):
        first(table, "glove")  # type: ignore[arg-type]
    with pytest.raises(InvalidInputError, match="needed are 1 numbers above 0"):
        mean(table, weights=[1, 2])
    with pytest.raises(InvalidInputError, match="numbers above 0"):
        mean(table, weights=[0.0])
    with pytest.raises(InvalidInputError, match="at most 32"):
        first(*[table] * 33)
    for factor in (0.0, 1.5, float("nan")):
        with pytest.raises(InvalidInputError, match="factor is"):
            scaled(table, factor)
