"""A table of pairs: the greatest of what was given counts, and forms of one row are one term."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.sparse import csr_array

from softcosine.errors import CorruptIndexError, InvalidInputError
from softcosine.matrix.term_similarity_matrix import TermSimilarityMatrix
from softcosine.similarity.pairs import PairSimilarity
from softcosine.similarity.registry import source_from_state
from softcosine.similarity.source import SourceState
from softcosine.similarity.thesaurus.concepts import Concepts
from softcosine.text.packing import pack_strings
from softcosine.text.vocabulary import Vocabulary
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
    source = PairSimilarity([*pairs, *((word, word, 1.0) for word in WORDS)])
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


def matrix() -> csr_array:
    S = np.zeros((3, 3), np.float32)
    S[0, 1] = S[1, 0] = 0.75
    S[1, 2] = S[2, 1] = 0.25
    return csr_array(S)


def saved(words: list[str], rows: list[int], S: csr_array) -> SourceState:
    """The state of a table of pairs, as earlier versions saved it."""
    blob, offsets = pack_strings(words)
    table = {"indptr": S.indptr, "indices": S.indices, "similarities": S.data}
    strings = {"words": blob, "word_offsets": offsets, "rows": np.array(rows, np.int32)}
    return SourceState("pairs", {}, {**strings, **table})


def test_forms_of_one_row_of_a_saved_table_are_one_term() -> None:
    words = ["run", "runs", "walk", "stand", "running"]
    source = source_from_state(saved(words, [0, 0, 1, 2, 0], matrix()))
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


@pytest.mark.parametrize(
    ("name", "damaged"), [("rows", [0, 3, 1]), ("rows", [0, -1, 1]), ("indices", [1, 0, 9, 1])]
)
def test_a_damaged_table_is_refused(name: str, damaged: list[int]) -> None:
    state = saved(["a", "b", "c"], [0, 1, 2], matrix())
    arrays = {**state.arrays, name: np.array(damaged, np.int32)}
    source = source_from_state(SourceState("pairs", {}, arrays))
    with pytest.raises(CorruptIndexError, match="cannot be built from what was saved"):
        source.similarities(["a"], ["b"])


@pytest.mark.parametrize("bug", [TypeError, AttributeError, RuntimeError, AssertionError])
def test_a_bug_of_the_library_is_not_taken_for_damage(
    bug: type[Exception], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    def failing(*args: object) -> object:
        raise bug("ours")

    source = PairSimilarity([("a", "b", 0.5)])
    TermSimilarityMatrix.identity(Vocabulary(["a"])).save(tmp_path / "S", source=source)
    monkeypatch.setattr(Concepts, "from_arrays", failing)
    with pytest.raises(bug, match="ours"):
        source_from_state(source.state()).similarities(["a"], ["b"])
    monkeypatch.setattr(PairSimilarity, "from_state", failing)
    with pytest.raises(bug, match="ours"):
        TermSimilarityMatrix.load_source(tmp_path / "S")


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


def test_pairs_may_be_a_mapping() -> None:
    source = PairSimilarity({("tyre", "tire"): 0.75})
    assert source.similarities(["tire"], ["tyre"]).tolist() == [0.75]
    for wrong in ([("tyre", "tire")], [0.5], {"tyre": 0.5}):
        with pytest.raises(InvalidInputError, match=r"give \(term, term, similarity\)"):
            PairSimilarity(wrong)  # type: ignore[arg-type]
