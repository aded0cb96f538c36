"""Independent evidence, against the formula over all pairs."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from softcosine.errors import InvalidInputError
from softcosine.similarity.combine.combined import NoisyOrSimilarity, noisy_or
from tables import TERMS, Table, check_neighbors, several, square
from toys import ToySource

BELOW_ONE = np.nextafter(np.float32(1), np.float32(0))


@given(several, st.integers(1, 6))
def test_it_is_the_complement_of_the_product_of_complements(tables: list[Table], k: int) -> None:
    source = noisy_or(*tables)
    rest = np.prod([1.0 - table.S.astype(np.float64) for table in tables], axis=0)
    expected = np.minimum((1.0 - rest).astype(np.float32), BELOW_ONE)
    np.fill_diagonal(expected, 1.0)
    assert square(source).tolist() == expected.tolist()
    check_neighbors(source, expected, k)
    assert source.knows(TERMS).tolist() == np.any([t.knows(TERMS) for t in tables], 0).tolist()


def test_different_strings_stay_below_one() -> None:
    same = ToySource({("tyre", "tire"): 1.0})
    assert noisy_or(same, same).similarities(["tyre"], ["tire"]).item() == BELOW_ONE
    assert noisy_or(same).similarities(["tyre"], ["tyre"]).item() == 1.0


@given(st.integers(0, 2**32 - 1), st.integers(1, 12), st.sampled_from((2, 5, 1000)))
def test_neighbours_are_exact_though_they_are_middling_in_every_part(
    seed: int, k: int, n_values: int
) -> None:
    random = np.random.default_rng(seed)
    words = [f"w{i}" for i in range(40)]
    parts = []
    for _ in range(3):
        values = random.integers(0, n_values + 1, len(words)) / n_values
        parts.append(
            ToySource({("a", word): v for word, v in zip(words, values, strict=True) if v})
        )
    source = noisy_or(*parts)
    values = source.similarities(["a"] * len(words), words)
    order = sorted(range(len(words)), key=lambda j: (-values[j], words[j]))
    expected = [j for j in order if values[j] > 0][:k]
    places, similarities = source.neighbors(["a"], words, max_neighbors=k).of(0)
    assert places.tolist() == expected
    assert similarities.tolist() == values[expected].tolist()


def test_blocks_of_terms_do_not_change_the_answer(monkeypatch: pytest.MonkeyPatch) -> None:
    random = np.random.default_rng(1)
    S = np.triu(random.random((6, 6)).astype(np.float32), 1)
    source = noisy_or(Table(S + S.T, [True] * 6), Table((S + S.T) ** 2, [True] * 6))
    expected = source.neighbors(TERMS, TERMS, max_neighbors=2)
    monkeypatch.setattr("softcosine.similarity.combine.combined._BLOCK_PAIRS", 1)
    found = source.neighbors(TERMS, TERMS, max_neighbors=2)
    assert found.indices.tobytes() == expected.indices.tobytes()
    assert found.similarities.tobytes() == expected.similarities.tobytes()


def test_no_sources_are_refused() -> None:
    with pytest.raises(InvalidInputError, match="there are no sources"):
        noisy_or()
    with pytest.raises(InvalidInputError, match="it must be a term similarity source"):
        NoisyOrSimilarity(["english"])  # type: ignore[list-item]
