"""Sources joined, against the definition applied to the tables they were drawn from."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from softcosine.errors import InvalidInputError
from softcosine.similarity.combine.combined import (
    StrongestSimilarity,
    first,
    scaled,
    strongest,
)
from softcosine.similarity.embeddings.embedding import EmbeddingSimilarity
from tables import TERMS, Table, check_neighbors, drawn, several, square
from toys import ToySource


@given(several, st.integers(1, 6))
def test_strongest_takes_the_greatest(tables: list[Table], k: int) -> None:
    source = strongest(*tables)
    expected = np.max([table.S for table in tables], axis=0)
    np.fill_diagonal(expected, 1.0)
    assert square(source).tolist() == expected.tolist()
    check_neighbors(source, expected, k)
    assert source.knows(TERMS).tolist() == np.any([t.knows(TERMS) for t in tables], 0).tolist()


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


def test_wrong_parts_are_refused() -> None:
    table = Table(np.eye(6, dtype=np.float32), [True] * 6)
    with pytest.raises(InvalidInputError, match="there are no sources"):
        strongest()
    with pytest.raises(InvalidInputError, match="the source is 'glove'"):
        first(table, "glove")  # type: ignore[arg-type]
    with pytest.raises(InvalidInputError, match="Similarity'>; it must be a term similarity"):
        strongest(table, EmbeddingSimilarity)  # type: ignore[arg-type]
    assert StrongestSimilarity(part for part in (table,)).sources == (table,)  # type: ignore[arg-type]
    with pytest.raises(InvalidInputError, match="at most 32"):
        first(*[table] * 33)
    for factor in (0.0, 1.5, float("nan"), "x"):
        with pytest.raises(InvalidInputError, match="factor is"):
            scaled(table, factor)  # type: ignore[arg-type]


@pytest.mark.parametrize("k", [2, 3, 5])
def test_scaling_that_makes_similarities_equal_looks_beyond_the_last_place(k: int) -> None:
    # The least numbers that float32 holds: half of three steps and half of four are two both.
    step = np.float32(1e-45)
    words = tuple("edcba")
    raw = {("x", word): step * (3 + i % 2) for i, word in enumerate(words)}
    source = scaled(ToySource(raw), 0.5)
    places, _ = source.neighbors(["x"], words, max_neighbors=k).of(0)
    assert [words[i] for i in places] == sorted(words)[:k]
