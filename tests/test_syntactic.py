"""Paths in dependency trees are similar by the edit distance of their parts."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from softcosine.errors import InvalidInputError
from softcosine.lab.syntactic import source as syntactic
from softcosine.lab.syntactic.dependency import join_path, split_path
from softcosine.lab.syntactic.source import SyntacticSimilarity
from softcosine.similarity.embeddings.embedding import EmbeddingSimilarity
from softcosine.similarity.registry import source_from_state
from softcosine.similarity.source import TermSimilaritySource
from test_sources_contract import as_lists, bits, brute_force, stored


def distance(left: tuple[str, ...], right: tuple[str, ...], inner: TermSimilaritySource | None):
    """Edit distance by the recursion that defines it."""
    costs = np.zeros((len(left) + 1, len(right) + 1))
    costs[:, 0] = range(len(left) + 1)
    costs[0] = range(len(right) + 1)
    for i, a in enumerate(left, start=1):
        for j, b in enumerate(right, start=1):
            alike = float(a == b) if inner is None else float(inner.similarities([a], [b])[0])
            costs[i, j] = min(
                costs[i - 1, j] + 1, costs[i, j - 1] + 1, costs[i - 1, j - 1] + 1 - alike
            )
    return costs[-1, -1]


def inner() -> EmbeddingSimilarity:
    vectors = [[1, 0], [1, 0.5], [0.5, 1], [0, 1]]
    return EmbeddingSimilarity(list("abcd"), vectors, threshold=0.5, exponent=1.0)


part = st.sampled_from(["a", "b", "c", "d", "e", ":r", ">"])
paths = st.lists(part, min_size=1, max_size=5).map(join_path)
thresholds = st.sampled_from((0.05, 0.4, 0.5, 2 / 3, 1.0))


@given(
    st.lists(paths, min_size=1, max_size=6),
    st.lists(paths, max_size=12),
    thresholds,
    st.sampled_from(((1.0, 1.0), (1.8, 5.0), (3.0, 0.5))),
    st.booleans(),
    st.sampled_from((1, 3, 50)),
)
def test_similarities_and_neighbors_are_those_of_the_definition(
    terms: list[str],
    among: list[str],
    threshold: float,
    scale: tuple[float, float],
    soft: bool,
    k: int,
) -> None:
    parts = inner() if soft else None
    alpha, beta = scale
    source = SyntacticSimilarity(parts, threshold=threshold, alpha=alpha, beta=beta)
    left = [a for a in terms for _ in among]
    right = among * len(terms)
    found = source.similarities(left, right)
    for a, b, similarity in zip(left, right, found, strict=True):
        p, q = split_path(a), split_path(b)
        share = 1 - distance(p, q, parts) / max(len(p), len(q))
        if a == b:
            assert similarity == 1.0
        elif min(len(p), len(q)) < 2 or share < threshold - 1e-6:
            assert similarity == 0.0
        elif share > threshold + 1e-6:
            assert similarity == pytest.approx(min(alpha * max(share, 0.0) ** beta, 1), abs=1e-6)
            assert similarity < 1.0
    assert found.tolist() == source.similarities(right, left).tolist()
    neighbors = source.neighbors(terms, among, max_neighbors=k)
    assert as_lists(neighbors) == brute_force(source, terms, among, k)


def many(n: int, seed: int = 0) -> tuple[str, ...]:
    random = np.random.default_rng(seed)
    words = [f"w{i}" for i in range(40)]
    return tuple(join_path(random.choice(words, random.integers(1, 5))) for _ in range(n))


@pytest.mark.parametrize("soft", [False, True])
def test_blocks_and_threads_change_no_bit(soft: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    vectors = np.random.default_rng(1).random((40, 3))
    parts = EmbeddingSimilarity([f"w{i}" for i in range(40)], vectors, threshold=0.8)
    among = many(200)
    source = SyntacticSimilarity(parts if soft else None, threshold=0.4)
    expected = bits(source.neighbors(among, among, max_neighbors=5))
    monkeypatch.setattr(syntactic, "_BLOCK_PAIRS", 300)
    monkeypatch.setattr(syntactic, "_BLOCK_TABLE", 2000)
    monkeypatch.setattr(syntactic, "_CHUNK_PAIRS", 7)
    for n_cpus in (1, 3):
        monkeypatch.setenv("SOFTCOSINE_THREADS", str(n_cpus))
        assert bits(source.neighbors(among, among, max_neighbors=5)) == expected
        assert bits(source.neighbors(among, list(among), max_neighbors=5)) == expected


def test_only_paths_are_known() -> None:
    source = SyntacticSimilarity()
    assert source.knows(["a>b", "a", "", ">", r"a\>b", "a>b>c"]).tolist() == [
        *(True, False, False, True, False, True),
    ]
    assert source.knows([]).shape == (0,)


def test_a_source_of_the_parts_makes_paths_similar_that_share_none() -> None:
    left, right = ["a>d"], ["b>c"]
    assert SyntacticSimilarity().similarities(left, right).tolist() == [0.0]
    assert SyntacticSimilarity(inner()).similarities(left, right)[0] > 0.5


@pytest.mark.parametrize("parts", [None, inner()])
def test_saved_then_built_anew_it_gives_the_same(parts: TermSimilaritySource | None) -> None:
    source = SyntacticSimilarity(parts, threshold=0.3, alpha=1.8, beta=5.0)
    again = source_from_state(stored(source.state()))
    assert repr(again) == repr(source)
    assert isinstance(again, SyntacticSimilarity)
    assert (again.parts is None) == (parts is None)
    terms = ["a>b", "b>c", "a>b>c", "x>y", "a"]
    expected = bits(source.neighbors(terms, terms, max_neighbors=3))
    assert bits(again.neighbors(terms, terms, max_neighbors=3)) == expected


@pytest.mark.parametrize(
    ("settings", "problem"),
    [
        ({"threshold": 0.0}, r"threshold is 0.0; it must be a number above 0 and at most 1"),
        ({"threshold": 1.5}, "threshold is 1.5"),
        ({"threshold": "high"}, "threshold is 'high'"),
        ({"alpha": 0.0}, "alpha is 0.0"),
        ({"beta": float("inf")}, "beta is inf"),
        ({"parts": "words"}, "the source is 'words'"),
    ],
)
def test_settings_out_of_range_are_refused(settings: dict[str, object], problem: str) -> None:
    with pytest.raises(InvalidInputError, match=problem):
        SyntacticSimilarity(**settings)  # type: ignore[arg-type]
