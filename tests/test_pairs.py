"""A table of pairs: the greatest of what was given counts, and forms of one row are one term."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.sparse import csr_array

import softcosine.similarity.pairs as module
from softcosine.errors import InvalidInputError
from softcosine.similarity.pairs import PairSimilarity
from softcosine.similarity.source import source_from_state
from test_sources_contract import as_lists, bits, brute_force

WORDS = ("a", "b", "c", "d", "A", "Straße", "strasse", "")
PAIRS = st.lists(
    st.tuples(
        st.sampled_from(WORDS), st.sampled_from(WORDS), st.sampled_from((0.125, 0.5, 0.75, 1.0))
    ),
    max_size=20,
)


def square(pairs: list[tuple[str, str, float]], words: tuple[str, ...]) -> np.ndarray:
    """Similarities from the definition; nothing is folded among words given as they are."""
    S = np.eye(len(words))
    for a, b, weight in pairs:
        i, j = words.index(a), words.index(b)
        S[i, j] = S[j, i] = max(S[i, j], weight)
    return S


@given(PAIRS)
def test_the_greatest_of_a_pair_given_several_times_counts(
    pairs: list[tuple[str, str, float]],
) -> None:
    source = PairSimilarity(pairs, known=WORDS)
    left = [a for a in WORDS for _ in WORDS]
    right = [b for _ in WORDS for b in WORDS]
    expected = square(pairs, WORDS)
    assert source.similarities(left, right).reshape(expected.shape).tolist() == expected.tolist()
    assert source.knows(WORDS).all()


@given(PAIRS, st.integers(1, 9), st.lists(st.sampled_from((*WORDS, "B", "x")), max_size=12))
def test_neighbors_are_those_of_brute_force(
    pairs: list[tuple[str, str, float]], k: int, among: list[str]
) -> None:
    source = PairSimilarity(pairs)
    asked = (*WORDS, "C", "unknown")
    found = source.neighbors(asked, among, max_neighbors=k)
    assert as_lists(found) == brute_force(source, asked, among, k)


def test_blocks_change_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    pairs = [(a, b, 0.5) for a in WORDS for b in WORDS if a < b]
    source = PairSimilarity(pairs)
    expected = bits(source.neighbors(WORDS, WORDS, max_neighbors=3))
    for size in (1, 7, 20):
        monkeypatch.setattr(module, "_BLOCK_PAIRS", size)
        assert bits(source.neighbors(WORDS, WORDS, max_neighbors=3)) == expected


def matrix() -> csr_array:
    S = np.zeros((3, 3), np.float32)
    S[0, 1] = S[1, 0] = 0.75
    S[1, 2] = S[2, 1] = 0.25
    return csr_array(S)


def test_forms_of_one_row_are_one_term() -> None:
    words = ["run", "runs", "walk", "stand", "running"]
    rows = np.array([0, 0, 1, 2, 0], np.int32)
    source = PairSimilarity.of_matrix(words, matrix(), rows=rows)
    assert source.similarities(["run", "runs", "Runs"], ["runs", "walk", "walk"]).tolist() == [
        1.0,
        0.75,
        0.75,
    ]
    found = source.neighbors(["runs", "walk"], words, max_neighbors=9)
    assert as_lists(found) == [
        [(0, 1.0), (4, 1.0), (2, 0.75)],
        [(0, 0.75), (4, 0.75), (1, 0.75), (3, 0.25)],
    ]
    again = source_from_state(source.state())
    assert bits(again.neighbors(["runs", "walk"], words, max_neighbors=9)) == bits(found)


def test_terms_are_looked_up_as_they_stand_then_casefolded() -> None:
    source = PairSimilarity([("US", "america", 0.5), ("us", "we", 0.75), ("Rome", "city", 0.5)])
    assert source.knows(["US", "us", "uS", "rome", "Rome", "CITY"]).tolist() == [
        True,
        True,
        True,
        False,
        True,
        True,
    ]
    assert source.similarities(["US", "Us"], ["america", "we"]).tolist() == [0.5, 0.75]


def test_a_matrix_is_shared_not_copied() -> None:
    S = matrix()
    assert np.shares_memory(PairSimilarity.of_matrix(["a", "b", "c"], S).matrix.data, S.data)


def test_an_empty_table_knows_nothing() -> None:
    source = PairSimilarity([])
    assert len(source) == 0
    assert source.similarities(["a", "b"], ["a", "c"]).tolist() == [1.0, 0.0]
    assert len(source.neighbors(["a"], ["b"], max_neighbors=2).indices) == 0


@pytest.mark.parametrize("weight", [0.0, -0.5, 1.5, float("nan"), 1e-60, 10**400, "0.5", None])
def test_similarities_outside_0_to_1_are_refused_by_name(weight: float) -> None:
    with pytest.raises(InvalidInputError, match=r"of 'tea' and 'coffee' is .*in \(0, 1\]"):
        PairSimilarity([("a", "b", 1.0), ("tea", "coffee", weight)])


@pytest.mark.parametrize("pairs", [{"ab": 0.7}, ["ab."], ["abc"], {"tyre": 0.7}])
def test_a_string_is_no_pair(pairs) -> None:
    with pytest.raises(InvalidInputError, match=r"pair.* give \(term, term, similarity\)"):
        PairSimilarity(pairs)


def test_terms_that_are_no_strings_are_refused() -> None:
    with pytest.raises(InvalidInputError, match=r"\('a', 3\) is not of two strings"):
        PairSimilarity([("a", 3, 0.5)])  # type: ignore[list-item]
    with pytest.raises(InvalidInputError, match="known term 7 is no string"):
        PairSimilarity([], known=[7])  # type: ignore[list-item]


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (
            {(0, 1): 1.5},
            r"is 1.5; needed is a symmetric matrix of numbers in \(0, 1\]",
        ),
        ({(0, 1): float("nan")}, "of 'a' and 'b' is nan"),
        ({(2, 2): 0.5}, "of 'c' and 'c' is 0.5; .* without diagonal"),
        ({(0, 1): 0.5}, "of 'a' and 'b' is 0.5; needed is a symmetric"),
        ({(0, 2): 0.5}, "of 'a' and 'c' is 0.5; needed is a symmetric"),
    ],
)
def test_matrices_that_are_no_tables_of_pairs_are_refused(
    change: dict[tuple[int, int], float], message: str
) -> None:
    dense = matrix().toarray()
    for place, value in change.items():
        dense[place] = value
    with pytest.raises(InvalidInputError, match=message):
        PairSimilarity.of_matrix(["a", "b", "c"], csr_array(dense))


def test_words_and_rows_that_do_not_fit_the_matrix_are_refused() -> None:
    with pytest.raises(InvalidInputError, match="2 words for 3 rows"):
        PairSimilarity.of_matrix(["a", "b"], matrix())
    with pytest.raises(InvalidInputError, match="rows run from 0 to 3, but S has 3"):
        PairSimilarity.of_matrix(["a", "b"], matrix(), rows=np.array([0, 3], np.int32))
    with pytest.raises(InvalidInputError, match=r"shape \(2, 3\); needed is a square matrix"):
        PairSimilarity.of_matrix(["a", "b"], csr_array(np.zeros((2, 3), np.float32)))


def test_pairs_may_be_a_mapping() -> None:
    source = PairSimilarity({("tyre", "tire"): 0.75})
    assert source.similarities(["tire"], ["tyre"]).tolist() == [0.75]
    for wrong in ([("tyre", "tire")], [0.5], {"tyre": 0.5}):
        with pytest.raises(InvalidInputError, match=r"give \(term, term, similarity\)"):
            PairSimilarity(wrong)  # type: ignore[arg-type]
