"""S balanced: positive semidefinite, and no term outweighed by its neighbours (theory T6)."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.sparse import csr_array

from crafted import patch_array
from softcosine.errors import CorruptIndexError, InvalidInputError
from softcosine.index.soft_index import SoftIndex
from softcosine.matrix import outside as outside_module
from softcosine.matrix.building import balancing_scales, rescaled
from softcosine.matrix.outside import OutsideRows, outside_rows, outside_similarities
from softcosine.matrix.term_similarity_matrix import TermSimilarityMatrix
from softcosine.similarity.overrides.decisions import pinned, without
from softcosine.space.measures import soft_cosine_similarity
from softcosine.text.analyzer import Analyzer
from softcosine.text.vocabulary import Vocabulary
from toys import ToySource


@st.composite
def symmetric_matrices(draw):
    n = draw(st.integers(1, 12))
    random = np.random.default_rng(draw(st.integers(0, 2**20)))
    A = np.triu(random.random((n, n)) * (random.random((n, n)) < draw(st.floats(0, 1))), 1)
    return np.float32(A + A.T + np.eye(n))


@given(symmetric_matrices())
def test_balanced_is_the_formula_and_positive_semidefinite(S):
    got = rescaled(csr_array(S), balancing_scales(csr_array(S))).toarray()
    A = S.astype(np.float64) - np.eye(len(S))
    d = np.maximum(1.0, A.sum(axis=1))
    expected = np.eye(len(S)) + A / np.sqrt(np.outer(d, d))
    np.testing.assert_allclose(got, expected, atol=1e-6)
    assert (got == got.T).all()
    assert np.linalg.eigvalsh(got.astype(np.float64))[0] > -1e-5
    light = d == 1.0
    assert (got[np.ix_(light, light)] == S[np.ix_(light, light)]).all()


HUB = {("hub", f"w{letter}"): 0.5 for letter in "abcdefghi"} | {("a", "b"): 0.75}
VOCABULARY = Vocabulary(sorted({word for pair in HUB for word in pair}))


def test_only_what_weighs_too_much_is_changed():
    S = TermSimilarityMatrix.from_source(ToySource(HUB), VOCABULARY, balanced=True)
    assert S.similarity("a", "b") == 0.75
    assert S.similarity("hub", "wd") == pytest.approx(0.5 / np.sqrt(4.5))
    assert S.settings["balanced"]
    with pytest.raises(InvalidInputError, match="balancing needs a symmetric one"):
        TermSimilarityMatrix.from_source(
            ToySource(HUB), VOCABULARY, balanced=True, strategy="rows", max_neighbors=3
        )


def test_what_a_person_pinned_stays():
    source = pinned(ToySource(HUB), {("Hub", "wd"): 0.9, ("we", "WF"): 0.25})
    S = TermSimilarityMatrix.from_source(source, VOCABULARY, balanced=True, warn=False)
    assert S.similarity("hub", "wd") == S.similarity("wd", "hub") == np.float32(0.9)
    assert S.similarity("we", "wf") == 0.25
    assert S.similarity("hub", "wb") < 0.25
    outside = Vocabulary([term for term in VOCABULARY.terms if term != "wd"])
    S = TermSimilarityMatrix.from_source(source, outside, balanced=True, warn=False)
    (row,) = outside_rows(S, ["wd"], source)
    assert row.similarities.tolist() == [np.float32(0.9)]
    assert row.scale == 1.0


def test_a_pair_stays_pinned_whatever_else_is_decided():
    source = without(pinned(ToySource(HUB), {("hub", "wd"): 0.9}), [("hub", "we")])
    S = TermSimilarityMatrix.from_source(source, VOCABULARY, balanced=True, warn=False)
    assert S.similarity("hub", "wd") == np.float32(0.9)
    assert S.similarity("hub", "we") == 0.0
    assert S.similarity("hub", "wb") < 0.5


def test_decisions_of_an_index_hold_for_all_forms_of_a_word():
    texts = ["dogs chase dogs", "beagles are small", "tea is hot"]
    source = ToySource({("dogs", "beagles"): 0.25, ("dogs", "tea"): 0.5, ("cocoa", "dogs"): 0.5})
    decided = without(
        pinned(source, {("dog", "beagle"): 0.75, ("cocoa", "dog"): 0.5}), [("dog", "teas")]
    )
    index = SoftIndex.from_texts(texts, source=decided, analyzer=Analyzer("english"))
    assert index.neighbors("dog") == [("beagles", 0.75)]
    assert index.neighbors("cocoa") == [("dogs", 0.5)]
    # A vocabulary alone does not tell what "beagle" would become, but it knows its own words.
    decided = without(pinned(source, {("dog", "beagles"): 0.75}), [("dog", "tea")])
    S = TermSimilarityMatrix.from_source(decided, index.vocabulary)
    assert S.neighbors("dog") == [("beagl", 0.75)]
    small = TermSimilarityMatrix.from_source(decided, Vocabulary(["tea"], forms=[["tea"]]))
    assert small.extend(index.vocabulary, decided).neighbors("dog") == [("beagl", 0.75)]


def test_rows_are_refused_before_the_source_is_asked():
    class Silent(ToySource):
        def neighbors(self, terms, among, *, max_neighbors):
            raise AssertionError("asked")

    for purpose, options in (
        ("balancing", {"balanced": True}),
        ("making it definite", {"definite": True}),
    ):
        with pytest.raises(InvalidInputError, match=f"{purpose} needs a symmetric one"):
            TermSimilarityMatrix.from_source(Silent(HUB), VOCABULARY, strategy="rows", **options)


@pytest.mark.parametrize("definite", [False, True])
@pytest.mark.parametrize("balanced", [False, True])
def test_words_outside_are_as_similar_to_a_query_as_their_rows_say(balanced, definite):
    pairs = {**HUB, ("out", "hub"): 0.75, ("out", "b"): 0.25, ("out", "far"): 0.5}
    pairs |= {("out", f"w{letter}"): 0.5 for letter in "abc"} | {("far", "wa"): 0.5}
    source = pinned(ToySource(pairs), {("out", "hub"): 0.9, ("out", "far"): 0.6, ("a", "b"): 1})
    S = TermSimilarityMatrix.from_source(
        source, VOCABULARY, balanced=balanced, definite=definite, min_similarity=0.3, warn=False
    )
    factor = S.settings.get("shrunk", 1.0)
    assert (factor < 1.0) == definite
    rows = outside_rows(S, ["out", "far"], source)
    inner, cross = outside_similarities(S, rows, np.arange(len(S), dtype=np.int32), source)
    for row, values in zip(rows, cross, strict=True):
        assert sorted(row.terms.tolist()) == np.flatnonzero(values).tolist()
        np.testing.assert_allclose(values[row.terms], row.similarities, rtol=1e-15)
    hub = VOCABULARY.index("hub")
    assert cross[0, hub] == pytest.approx(0.9 * factor)
    assert inner[0, 1] == inner[1, 0] == pytest.approx(0.6 * factor)
    assert cross[0, VOCABULARY.index("b")] == 0.0
    # Asked about as if it were none, a term has its own row.
    (row,) = outside_rows(S, ["hub"], source)
    own = S.to_scipy()[[hub]].toarray()[0]
    np.testing.assert_allclose(row.similarities, own[row.terms], rtol=1e-6)


def test_rows_of_words_outside_are_asked_for_once(monkeypatch):
    asked: list[str] = []

    class Heard(ToySource):
        def neighbors(self, terms, among, *, max_neighbors):
            asked.extend(terms)
            return super().neighbors(terms, among, max_neighbors=max_neighbors)

    pairs = {**HUB, ("out", "hub"): 0.75, ("far", "wa"): 0.5}
    source = Heard(pairs)
    S = TermSimilarityMatrix.from_source(source, VOCABULARY, balanced=True, warn=False)
    asked.clear()
    rows, words = OutsideRows(S, source), ["out", "none", "far"]
    for one in (words, words[::-1], ["far", "out"]):
        for row, expected in zip(rows.of(one), outside_rows(S, one, ToySource(pairs)), strict=True):
            assert (row.word, row.scale) == (expected.word, expected.scale)
            assert row.terms.tolist() == expected.terms.tolist()
            assert row.similarities.tobytes() == expected.similarities.tobytes()
    assert asked == words
    monkeypatch.setattr(outside_module, "_MOST_ROWS", 2)
    for word in ("wx", "wy", "wz", "out"):
        rows.of([word])
        assert len(rows._rows) <= 2
    assert asked == [*words, "wx", "wy", "wz", "out"]
    monkeypatch.setattr(outside_module, "_MOST_BYTES", 0)
    assert [rows.of(["long"])[0].word for _ in range(2)] == ["long"] * 2
    assert asked[-2:] == ["long"] * 2


@pytest.mark.parametrize("definite", [False, True])
def test_pins_stay_when_terms_are_added(definite):
    source = pinned(ToySource(HUB), {("hub", "wd"): 0.9, ("hub", "we"): 0.8})
    old = Vocabulary([term for term in VOCABULARY.terms if term != "we"])
    S = TermSimilarityMatrix.from_source(source, old, balanced=True, definite=definite, warn=False)
    factor = np.float32(S.settings.get("shrunk", 1.0))
    assert (factor < 1.0) == definite
    wider = S.extend(VOCABULARY, source, warn=False)
    assert (wider.restricted(old).to_scipy() != S.to_scipy()).nnz == 0
    assert wider.similarity("hub", "wd") == pytest.approx(0.9 * factor)
    assert wider.similarity("hub", "we") == pytest.approx(0.8 * factor)


def test_a_balanced_matrix_without_terms_can_be_extended():
    empty = TermSimilarityMatrix.from_source(ToySource(HUB), Vocabulary([]), balanced=True)
    assert empty.restricted(VOCABULARY).scales.tolist() == [1.0] * len(VOCABULARY)
    wider = empty.extend(VOCABULARY, ToySource(HUB))
    whole = TermSimilarityMatrix.from_source(ToySource(HUB), VOCABULARY, balanced=True)
    assert (wider.to_scipy() != whole.to_scipy()).nnz == 0


@pytest.mark.parametrize("definite", [False, True])
def test_new_terms_are_balanced_as_the_old_ones_were(definite, tmp_path):
    source = ToySource(HUB)
    old = Vocabulary([term for term in VOCABULARY.terms if term not in ("hub", "b")])
    S = TermSimilarityMatrix.from_source(source, old, balanced=True, definite=definite)
    S.save(tmp_path / "S")
    S = TermSimilarityMatrix.load(tmp_path / "S")
    wider = S.extend(VOCABULARY, source, warn=False)
    whole = TermSimilarityMatrix.from_source(source, VOCABULARY, balanced=True)
    np.testing.assert_allclose(wider.to_scipy().toarray(), whole.to_scipy().toarray(), rtol=1e-3)
    again = wider.restricted(old)
    assert (again.to_scipy() != S.to_scipy()).nnz == 0
    assert again.scales.tolist() == S.scales.tolist()


def test_impossible_scales_are_found(tmp_path):
    S = TermSimilarityMatrix.from_source(ToySource(HUB), VOCABULARY, balanced=True)
    S.save(tmp_path / "S")
    patch_array(tmp_path / "S", "matrix/scales", np.zeros(len(VOCABULARY), np.float32))
    with pytest.raises(CorruptIndexError, match=r"scale of the .* terms of S is not in"):
        TermSimilarityMatrix.load(tmp_path / "S")


def test_an_index_balances_a_source_and_outside_words_like_its_own():
    texts = [f"w{letter} is here" for letter in "abcdefghi"]
    index = SoftIndex.from_texts(texts, source=ToySource(HUB))
    inside = SoftIndex.from_texts([*texts, "hub"], source=ToySource(HUB))
    for one in (index, inside):
        assert one.neighbors("hub")[0] == ("wa", pytest.approx(0.5 / np.sqrt(4.5)))
    # The norm of a query of an outside word is that of the word itself.
    hits = index.search("hub", ranking="soft_cosine", k=9)
    assert [hit.id for hit in hits] == [str(i) for i in range(9)]
    assert 0.0 < hits[0].score < 1.0


def test_balanced_soft_cosines_do_not_exceed_one():
    terms = ("a", "b", "c")
    S = TermSimilarityMatrix.from_source(
        ToySource({("a", "b"): 0.9, ("b", "c"): 0.9}), Vocabulary(terms), balanced=True
    )
    x, y = np.array([[1.0, 0.0, 1.0]]), np.array([[0.0, 1.0, 0.0]])
    assert soft_cosine_similarity(x, y, S)[0, 0] <= 1.0 + 1e-6
