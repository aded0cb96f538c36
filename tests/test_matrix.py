"""TermSimilarityMatrix: made, asked, repaired, saved."""

from __future__ import annotations

import copy
import pickle
import warnings
from contextlib import contextmanager
from unittest.mock import patch

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.sparse import coo_array, csr_array, csr_matrix, eye_array, random_array

import oracle
import strategies as own
from crafted import patch_array
from softcosine import __version__
from softcosine.errors import (
    AlreadyExistsError,
    CorruptIndexError,
    IndefiniteMatrixWarning,
    IndexFormatError,
    InvalidInputError,
    UnknownTermError,
    VocabularyMismatchError,
)
from softcosine.matrix import definiteness
from softcosine.matrix.definiteness import (
    lowest_eigenvalue,
    shrink_to_definite,
)
from softcosine.matrix.term_similarity_matrix import TermSimilarityMatrix
from softcosine.similarity.combine.combined import strongest
from softcosine.similarity.cooccurrence.cooccurrence import CooccurrenceSimilarity
from softcosine.similarity.embeddings.embedding import EmbeddingSimilarity
from softcosine.similarity.embeddings.word_vectors import WordVectors
from softcosine.similarity.overrides.guard import Guarded
from softcosine.similarity.source import usual_neighbors
from softcosine.storage import write_folder
from softcosine.text.corpus import analyze
from softcosine.text.packing import PackedStrings
from softcosine.text.vocabulary import Vocabulary
from toys import ToySource, similarity_matrix

EVERY_KIND = st.one_of(
    own.similarity_matrices(4), own.signed_matrices(4), own.asymmetric_matrices(4)
)

# a~b and b~c wholly, a~c not: a + c against b gives the square root of 2.
CHAIN = [[1, 1, 0], [1, 1, 1], [0, 1, 1]]


@given(EVERY_KIND)
def test_a_matrix_is_kept_as_it_is(S):
    matrix = similarity_matrix(S)
    np.testing.assert_array_equal(matrix.to_scipy().toarray(), S)
    assert matrix.to_scipy().dtype == np.float32
    assert matrix.to_scipy().has_canonical_format
    assert matrix.symmetric == np.array_equal(S, S.T)
    assert matrix.non_negative == bool((S >= 0).all())
    beside = np.abs(S).sum(axis=0) - 1
    assert matrix.dominant == bool((beside < 1).all())
    assert matrix.shape == (4, 4)
    assert len(matrix) == 4
    for i, j in np.ndindex(4, 4):
        assert matrix.similarity(str(i), str(j)) == S[i, j]


@pytest.mark.parametrize("form", [np.array, csr_array, csr_matrix, coo_array, list])
def test_any_form_of_matrix_will_do(form):
    S = [[1, 0.5], [0.5, 1]]
    matrix = TermSimilarityMatrix.from_matrix(form(S) if form is list else form(np.array(S)))
    np.testing.assert_array_equal(matrix.to_scipy().toarray(), S)


def test_the_given_matrix_is_not_changed():
    S = csr_array(([1.0, 0.25, 0.25, 1.0], [0, 1, 1, 1], [0, 3, 4]), shape=(2, 2))
    matrix = TermSimilarityMatrix.from_matrix(S, warn=False)
    assert matrix.similarity("0", "1") == 0.5
    assert S.data.tolist() == [1.0, 0.25, 0.25, 1.0]


def test_rounding_does_not_make_a_matrix_asymmetric():
    S = np.array([[1, 0.3, 0], [0.3 + 2e-8, 1 - 1e-12, 0], [0, 0, 1]])
    matrix = similarity_matrix(S)
    assert matrix.symmetric
    assert matrix.to_scipy().diagonal().tolist() == [1, 1, 1]
    assert not similarity_matrix([[1, 0.3], [0.31, 1]]).symmetric
    unit = np.random.default_rng(0).standard_normal((60, 7)).astype(np.float32)
    unit /= np.linalg.norm(unit, axis=1, keepdims=True)
    assert similarity_matrix(np.array([unit @ row for row in unit])).symmetric


@pytest.mark.parametrize(
    ("S", "message"),
    [
        ([[1, 0.5]], r"S has shape \(1, 2\); it must be square"),
        ([1, 0.5], r"S has 1 dimension\(s\)"),
        ([[1, np.nan], [0, 1]], "NaN or infinity in row 0"),
        ([[1, 0], [-np.inf, 1]], "NaN or infinity in row 1"),
        ([[1, 1e39], [1e39, 1]], "beyond the range of float32"),
        ([[1, 0], [0, 0.9]], r"S\[1, 1\] is 0.9; the diagonal"),
        ([[1, 0], [0, 0]], r"S\[1, 1\] is 0"),
        ([["a", "b"], ["c", "d"]], "S cannot be read as a matrix"),
        ([[1, 1j], [0, 1]], "complex"),
        (None, "S has 0 dimension"),
        ("tea", "S has 0 dimension"),
    ],
)
def test_what_is_no_similarity_matrix_says_why(S, message):
    with pytest.raises(InvalidInputError, match=message):
        TermSimilarityMatrix.from_matrix(S)


def test_matrix_and_vocabulary_are_of_one_order():
    with pytest.raises(VocabularyMismatchError, match="order 2 but the vocabulary has 3"):
        TermSimilarityMatrix.from_matrix(np.eye(2), Vocabulary(["a", "b", "c"]))


def test_terms_are_asked_by_their_names():
    S = [[1, 0.5, 0.5, 0], [0.5, 1, 0, 0.25], [0.5, 0, 1, 0], [0, 0.25, 0, 1]]
    matrix = TermSimilarityMatrix.from_matrix(S, Vocabulary(["tea", "b", "a", "x"]))
    assert matrix.neighbors("tea") == [("a", 0.5), ("b", 0.5)]
    assert matrix.neighbors("b", k=1) == [("tea", 0.5)]
    assert matrix.neighbors("b", k=0) == []
    assert matrix.similarity("x", "b") == 0.25
    assert repr(matrix) == "TermSimilarityMatrix(4 terms, 6 neighbours, symmetric)"
    for ask in (
        lambda: matrix.neighbors("coffee"),
        lambda: matrix.similarity("tea", "coffee"),
        lambda: matrix.similarity("coffee", "tea"),
    ):
        with pytest.raises(UnknownTermError, match="coffee"):
            ask()
    for k in (-1, 2.5, True, None):
        with pytest.raises(InvalidInputError, match="k is"):
            matrix.neighbors("tea", k=k)


def test_statistics_count_what_is_there():
    matrix = similarity_matrix([[1, 0.5, 0], [0.5, 1, 0], [0, 0, 1]])
    found = matrix.statistics()
    assert found.to_dict() == {
        "n_terms": 3,
        "n_terms_with_neighbors": 2,
        "n_neighbors": 2,
        "mean_neighbors": 2 / 3,
        "max_neighbors": 1,
        "mean_similarity": 0.5,
        "symmetric": True,
        "dominant": True,
        "smallest_eigenvalue": pytest.approx(0.5),
    }
    assert matrix.statistics(eigenvalue=False).smallest_eigenvalue is None
    assert similarity_matrix([[1, 0.5], [0, 1]]).statistics().smallest_eigenvalue is None
    nothing = similarity_matrix(np.empty((0, 0))).statistics()
    assert (nothing.n_terms, nothing.mean_neighbors, nothing.max_neighbors) == (0, 0, 0)


def test_an_indefinite_matrix_warns_once_and_says_what_to_do():
    with pytest.warns(IndefiniteMatrixWarning, match=r"an eigenvalue is -0.414.*S.shrunk\(\)") as w:
        TermSimilarityMatrix.from_matrix(CHAIN)
    assert len(w) == 1
    assert w[0].filename == __file__
    source = ToySource({("a", "b"): 1.0, ("b", "c"): 1.0})
    with pytest.warns(IndefiniteMatrixWarning) as w:
        TermSimilarityMatrix.from_source(source, Vocabulary(["a", "b", "c"]))
    assert len(w) == 1
    assert w[0].filename == __file__
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        TermSimilarityMatrix.from_source(source, Vocabulary(["a", "b", "c"]), warn=False)
        TermSimilarityMatrix.from_source(source, Vocabulary(["a", "b", "c"]), definite=True)
        TermSimilarityMatrix.from_source(source, Vocabulary(["a", "b", "c"]), strategy="dominant")
        TermSimilarityMatrix.from_matrix(np.eye(3))


@given(st.one_of(own.symmetric_matrices(5), own.signed_matrices(5), own.definite_matrices(5)))
def test_shrinking_gives_a_definite_matrix_with_the_same_neighbors(S):
    matrix = similarity_matrix(S)
    shrunk = matrix.shrunk()
    after = shrunk.to_scipy().toarray().astype(np.float64)
    assert np.linalg.eigvalsh(after)[0] >= 0
    assert shrunk.symmetric
    np.testing.assert_array_equal(after != 0, S != 0)
    for term in matrix.vocabulary:
        before = [word for word, _ in matrix.neighbors(term)]
        assert [word for word, _ in shrunk.neighbors(term)] == before
    factor = shrunk.settings["shrunk"]
    assert 0 < factor <= 1
    off_diagonal = ~np.eye(5, dtype=bool)
    np.testing.assert_allclose(after[off_diagonal], factor * S[off_diagonal], rtol=1e-6)
    if np.linalg.eigvalsh(S)[0] > 1e-3:
        assert factor == 1
    else:  # the largest factor, but for the margin
        lowest = np.linalg.eigvalsh(np.eye(5) + factor * (S - np.eye(5)))[0]
        assert lowest == pytest.approx(1e-3, abs=1e-5)


def test_shrinking_again_keeps_the_whole_factor():
    once = similarity_matrix(CHAIN).shrunk()
    twice = once.shrunk()
    assert once.settings["shrunk"] == pytest.approx(0.999 / np.sqrt(2))
    assert twice.settings["shrunk"] == pytest.approx(once.settings["shrunk"], rel=1e-4)
    assert twice.similarity("0", "1") == pytest.approx(once.similarity("0", "1"), rel=1e-4)


def test_only_a_symmetric_matrix_can_be_shrunk():
    with pytest.raises(InvalidInputError, match="S is asymmetric"):
        similarity_matrix([[1, 0.5], [0, 1]]).shrunk()


def test_large_matrices_are_judged_and_repaired_too():
    # Above the order at which LAPACK's dense answer is used.
    n = 300
    upper = random_array((n, n), density=0.05, rng=np.random.default_rng(0), format="csr")
    S = upper + upper.T
    S = np.triu(S.toarray(), 1)
    S = np.minimum(S + S.T, 1) + np.eye(n)
    matrix = similarity_matrix(S)
    expected = np.linalg.eigvalsh(matrix.to_scipy().toarray().astype(np.float64))[0]
    assert expected < 0
    assert matrix.statistics().smallest_eigenvalue == pytest.approx(expected, rel=1e-3)
    shrunk = matrix.shrunk()
    assert np.linalg.eigvalsh(shrunk.to_scipy().toarray().astype(np.float64))[0] >= 0
    with pytest.warns(IndefiniteMatrixWarning):
        matrix.warn_if_indefinite()
    shrunk.warn_if_indefinite()
    identity = TermSimilarityMatrix.identity(Vocabulary.numbered(n))
    assert identity.statistics().smallest_eigenvalue == pytest.approx(1)
    assert lowest_eigenvalue(csr_array((0, 0))).value == 1


def test_sources_are_asked_by_representatives():
    class Recording(ToySource):
        asked = None

        def neighbors(self, terms, among, *, max_neighbors):
            type(self).asked = terms, among, max_neighbors
            return super().neighbors(terms, among, max_neighbors=max_neighbors)

    source = Recording({("running", "jogging"): 0.5, ("ran", "walk"): 0.9})
    vocabulary = Vocabulary(
        ["run", "jog", "zzz", "none"],
        forms=[["runs", "running", "ran"], ["jogging"], ["zzzs", "zzz"], []],
    )
    S = TermSimilarityMatrix.from_source(source, vocabulary, max_neighbors=np.int64(7), guard=False)
    words = ("running", "jogging", "zzzs", "none")
    assert S.representatives == words
    assert Recording.asked == (words, words, 7)
    assert S.neighbors("run") == [("jog", 0.5)]
    assert S.settings == {
        "made": "source",
        "max_neighbors": 7,
        "min_similarity": 0.0,
        "strategy": "symmetric",
        "order": "rare_first",
        "source": S.settings["source"],
        "versions": {"softcosine": __version__, "numpy": np.__version__},
    }
    assert "Recording object" in S.settings["source"]
    assert "0x" not in S.settings["source"]


def test_codes_are_guarded_by_default():
    source = ToySource({("e1042", "e1043"): 0.9, ("tea", "coffee"): 0.5})
    vocabulary = Vocabulary(["coffee", "e1042", "e1043", "tea"])
    guarded = TermSimilarityMatrix.from_source(source, vocabulary)
    assert guarded.neighbors("e1042") == []
    assert guarded.neighbors("tea") == [("coffee", 0.5)]
    bare = TermSimilarityMatrix.from_source(source, vocabulary, guard=False)
    assert bare.neighbors("e1042") == [("e1043", pytest.approx(0.9))]


def test_progress_is_told():
    told = []
    TermSimilarityMatrix.from_source(
        ToySource({}), Vocabulary(["a"]), progress=lambda done, total: told.append((done, total))
    )
    assert told[-1] == (1, 1)


@pytest.mark.parametrize(
    ("arguments", "settings", "message"),
    [
        ({"tea": "coffee"}, {}, "the source is {'"),
        (ToySource({}), {"max_neighbors": -1}, "max_neighbors is -1"),
        (ToySource({}), {"max_neighbors": 2.5}, "max_neighbors is 2.5"),
        (ToySource({}), {"strategy": "rows", "definite": True}, "asymmetric"),
    ],
)
def test_bad_arguments_of_from_source_are_named(arguments, settings, message):
    source = arguments
    if settings.get("strategy") == "rows":
        source = ToySource({("a", "b"): 0.5, ("b", "c"): 0.9})
        settings = {**settings, "max_neighbors": 1}
    with pytest.raises(InvalidInputError, match=message):
        TermSimilarityMatrix.from_source(source, Vocabulary(["a", "b", "c"]), **settings)


def stems():
    return Vocabulary(
        ["run", "b\0c", "\ud800"],
        document_frequencies=[3, 2, 1],
        n_docs=3,
        forms=[["running", "runs"], ["b\0c"], ["\ud800"]],
    )


@given(EVERY_KIND)
def test_save_then_load_gives_the_same_to_the_bit(example_folder, S):
    path = example_folder() / "S"
    matrix = similarity_matrix(S)
    matrix.save(path)
    for verify in (False, True):
        loaded = TermSimilarityMatrix.load(path, verify=verify)
        for before, after in zip(matrix.arrays, loaded.arrays, strict=True):
            assert before.dtype == after.dtype
            np.testing.assert_array_equal(before, after)
        assert loaded.vocabulary == matrix.vocabulary
        assert loaded.settings == matrix.settings
        assert loaded.symmetric == matrix.symmetric
        assert loaded.non_negative == matrix.non_negative
        assert loaded.dominant == matrix.dominant


def test_representatives_and_strange_terms_are_saved(tmp_path):
    source = ToySource({("runs", "b\0c"): 0.5})
    matrix = TermSimilarityMatrix.from_source(source, stems(), max_neighbors=np.int32(9))
    matrix.shrunk().save(tmp_path / "S")
    loaded = TermSimilarityMatrix.load(tmp_path / "S")
    assert loaded.representatives == ("runs", "b\0c", "\ud800")
    assert loaded.vocabulary == stems()
    assert loaded.vocabulary.forms == stems().forms
    assert loaded.neighbors("run") == [("b\0c", 0.5)]
    assert loaded.settings["shrunk"] == 1.0
    loaded.save(tmp_path / "again")
    assert TermSimilarityMatrix.load(tmp_path / "again").representatives == loaded.representatives


def test_a_matrix_of_no_terms_is_saved(tmp_path):
    similarity_matrix(np.empty((0, 0))).save(tmp_path / "S")
    assert len(TermSimilarityMatrix.load(tmp_path / "S")) == 0


def test_saving_replaces_only_what_may_be_replaced(tmp_path):
    first, second = similarity_matrix(np.eye(2)), similarity_matrix(np.eye(3))
    first.save(tmp_path / "S")
    with pytest.raises(AlreadyExistsError, match="or pass overwrite=True"):
        second.save(tmp_path / "S")
    assert len(TermSimilarityMatrix.load(tmp_path / "S")) == 2
    second.save(tmp_path / "S", overwrite=True)
    assert len(TermSimilarityMatrix.load(tmp_path / "S")) == 3


def test_loading_says_what_is_wrong(tmp_path):
    with pytest.raises(FileNotFoundError, match="there is no matrix at"):
        TermSimilarityMatrix.load(tmp_path / "nothing")
    with pytest.raises(IndexFormatError, match="is no softcosine matrix"):
        TermSimilarityMatrix.load(tmp_path)
    similarity_matrix(np.eye(2)).save(tmp_path / "S")
    patch_array(tmp_path / "S", "matrix/data")
    with pytest.raises(CorruptIndexError, match=r"matrix\.npys has changed"):
        TermSimilarityMatrix.load(tmp_path / "S", verify=True)


def test_a_saved_matrix_may_be_used_like_any(tmp_path):
    from softcosine.space.measures import soft_cosine_similarity

    matrix = similarity_matrix([[1, 0.5], [0.5, 1]])
    matrix.save(tmp_path / "S")
    loaded = TermSimilarityMatrix.load(tmp_path / "S")
    X = [[1, 0], [0, 1]]
    np.testing.assert_array_equal(
        soft_cosine_similarity(X, X, loaded), soft_cosine_similarity(X, X, matrix)
    )
    assert loaded.shrunk().similarity("0", "1") == 0.5


@st.composite
def enlargements(draw):
    """Symmetric similarities, a vocabulary with frequencies, which terms are old, a limit."""
    n = draw(own.sizes(own.MAX_TERMS))
    terms = draw(own.vocabularies(n))
    entries = draw(own.symmetric_matrices(n)).astype(np.float32).astype(float)
    frequencies = draw(st.lists(st.integers(0, 3), min_size=n, max_size=n))
    old = draw(st.lists(st.booleans(), min_size=n, max_size=n))
    limit = draw(st.sampled_from((0, 1, 2, 3, 100)))
    return entries, Vocabulary(terms, document_frequencies=frequencies), np.array(old), limit


def source_of(entries, vocabulary):
    names = vocabulary.terms
    upper = zip(*np.nonzero(np.triu(entries, 1)), strict=True)
    return ToySource({(names[i], names[j]): entries[i, j] for i, j in upper}, known=names)


def part_of(vocabulary, chosen):
    numbers = np.flatnonzero(chosen)
    return Vocabulary(
        [vocabulary.terms[i] for i in numbers],
        document_frequencies=vocabulary.document_frequencies[numbers],
    )


def entered_one_by_one(S, entries, vocabulary, new, limit, *, dominant):
    """New columns choose, rare ones first, while both columns have room; what is there stays."""
    terms = vocabulary.terms
    for i in oracle.rare_first(vocabulary.document_frequencies, terms):
        if not new[i]:
            continue
        for j in oracle.by_similarity(entries, i, terms):
            beside = S[[i, j]] - np.eye(len(S))[[i, j]]
            room = (np.count_nonzero(beside, axis=1) < limit).all()
            light = (beside.sum(axis=1) + entries[i, j] < 1).all()
            if not S[i, j] and room and (light or not dominant):
                S[i, j] = S[j, i] = entries[i, j]
    return S


@pytest.mark.parametrize("strategy", ["symmetric", "dominant"])
@given(problem=enlargements())
def test_extending_lets_new_terms_choose_and_changes_nothing_else(strategy, problem):
    entries, vocabulary, old, limit = problem
    source = source_of(entries, vocabulary)
    options = {"guard": False, "warn": False}
    before = TermSimilarityMatrix.from_source(
        source, part_of(vocabulary, old), max_neighbors=limit, strategy=strategy, **options
    )
    after = before.extend(vocabulary, source, **options)
    dense = after.to_scipy().toarray().astype(float)
    np.testing.assert_array_equal(dense[np.ix_(old, old)], before.to_scipy().toarray())
    assert after.symmetric
    assert after.dominant or strategy != "dominant"
    held = np.count_nonzero(dense, axis=1) - 1
    assert held.max() <= limit
    for i, j in zip(*np.nonzero(np.triu(entries, 1)), strict=True):
        if not (old[i] and old[j]) and strategy == "symmetric":
            assert dense[i, j] or limit in (held[i], held[j])
    start = np.eye(len(old))
    start[np.ix_(old, old)] = before.to_scipy().toarray()
    if limit == 100:  # all candidates are given at once
        expected = entered_one_by_one(
            start, entries, vocabulary, ~old, limit, dominant=strategy == "dominant"
        )
        np.testing.assert_array_equal(dense, expected)
    assert after.settings["extended"][-1]["terms"] == np.count_nonzero(~old)
    assert after.settings["max_neighbors"] == limit
    again = before.extend(vocabulary, source, progress=lambda done, total: None, **options)
    np.testing.assert_array_equal(again.to_scipy().toarray(), dense)


@given(enlargements())
def test_extending_a_matrix_of_rows_fills_the_rows_that_have_room(problem):
    entries, vocabulary, old, limit = problem
    source = source_of(entries, vocabulary)
    before = TermSimilarityMatrix.from_source(
        source,
        part_of(vocabulary, old),
        max_neighbors=limit,
        strategy="rows",
        guard=False,
        warn=False,
    )
    larger = before.extend(vocabulary, source, guard=False, warn=False)
    after = larger.to_scipy().toarray().astype(float)
    best = oracle.keep_rows(entries, limit, vocabulary.terms)
    np.testing.assert_array_equal(after[np.ix_(old, old)], before.to_scipy().toarray())
    np.testing.assert_array_equal(after[~old], best[~old])
    held = np.count_nonzero(after, axis=1) - 1
    assert held.max() <= limit
    # An old row with room has every new term that has it among its best.
    for i, j in zip(*np.nonzero(best), strict=True):
        if i != j and not old[i] and old[j]:
            assert after[j, i] == entries[i, j] or held[j] == limit


def test_an_extension_is_shrunk_like_the_matrix():
    source = ToySource({("a", "b"): 1.0, ("b", "c"): 1.0, ("c", "d"): 0.5})
    S = TermSimilarityMatrix.from_source(source, Vocabulary(["a", "b", "c"]), definite=True)
    factor = S.settings["shrunk"]
    larger = S.extend(Vocabulary(["a", "b", "c", "d"]), source, warn=False)
    assert larger.similarity("a", "b") == S.similarity("a", "b")
    assert larger.similarity("c", "d") == np.float32(0.5) * np.float32(factor)
    with pytest.warns(IndefiniteMatrixWarning):
        S.extend(Vocabulary(["a", "b", "c", "d"]), source)
    repaired = S.extend(Vocabulary(["a", "b", "c", "d"]), source, definite=True)
    assert repaired.statistics().smallest_eigenvalue >= 0
    assert repaired.settings["shrunk"] < factor


def test_extending_needs_all_old_terms_and_a_symmetric_matrix():
    S = similarity_matrix([[1, 0.5], [0.5, 1]], Vocabulary(["a", "b"]))
    with pytest.raises(VocabularyMismatchError, match=r"lacks 1 of the 2 terms.*'a'.*restricted"):
        S.extend(Vocabulary(["b", "c"]), ToySource({}))
    with pytest.raises(InvalidInputError, match=r"the source is \{\}"):
        S.extend(Vocabulary(["a", "b", "c"]), {})
    ready = S.extend(Vocabulary(["a", "b", "c"]), ToySource({("a", "c"): 0.25}))
    advised = ToySource({})
    advised.usual_neighbors = 7
    assert S.extend(Vocabulary(["a", "b"]), advised).settings["max_neighbors"] == 7
    assert ready.settings["max_neighbors"] == 100
    assert ready.neighbors("a") == [("b", 0.5), ("c", 0.25)]
    rows = similarity_matrix([[1, 0.5], [0, 1]], Vocabulary(["a", "b"]))
    one_way = rows.extend(Vocabulary(["a", "b", "c"]), ToySource({("a", "c"): 0.25}))
    assert one_way.neighbors("b") == []
    assert one_way.neighbors("a") == [("b", 0.5), ("c", 0.25)]


def test_old_terms_keep_the_word_that_stands_for_them():
    source = ToySource({("running", "jogging"): 0.5, ("run", "walks"): 0.25})
    old = Vocabulary(["jog", "run"], forms=[["jogging"], ["running", "run"]])
    S = TermSimilarityMatrix.from_source(source, old)
    larger = Vocabulary(["jog", "run", "walk"], forms=[["jogging"], ["run"], ["walk", "walks"]])
    extended = S.extend(larger, source)
    assert extended.representatives == ("jogging", "running", "walks")
    assert extended.neighbors("run") == [("jog", 0.5)]
    assert S.restricted(larger).representatives == ("jogging", "running", "walk")


@given(EVERY_KIND, st.permutations(["a", "b", "c", "d", "x", "y"]), st.integers(0, 6))
def test_restricting_moves_terms_and_leaves_out_others(S, terms, n):
    matrix = similarity_matrix(S, Vocabulary(list("abcd")))
    vocabulary = Vocabulary(terms[:n])
    moved = matrix.restricted(vocabulary)
    assert moved.vocabulary is vocabulary
    assert moved.settings == matrix.settings
    assert moved.to_scipy().has_canonical_format
    assert moved.to_scipy().dtype == np.float32
    for left in vocabulary:
        for right in vocabulary:
            known = left in matrix.vocabulary and right in matrix.vocabulary
            expected = matrix.similarity(left, right) if known else float(left == right)
            assert moved.similarity(left, right) == expected


@given(EVERY_KIND, EVERY_KIND, st.permutations(list("abcd")))
def test_a_difference_counts_every_pair_once(S, T, terms):
    before = similarity_matrix(S, Vocabulary(list("abcd")))
    after = similarity_matrix(T, Vocabulary(terms))
    found = before.difference(after)
    pairs = [(a, b) for a in "abcd" for b in "abcd" if a != b]
    if before.symmetric and after.symmetric:
        pairs = [(a, b) for a, b in pairs if a < b]
    values = {pair: (before.similarity(*pair), after.similarity(*pair)) for pair in pairs}
    expected = {pair: two for pair, two in values.items() if two[0] != two[1]}
    assert {(c.left, c.right): (c.before, c.after) for c in found.changes} == expected
    gaps = [abs(change.after - change.before) for change in found.changes]
    assert gaps == sorted(gaps, reverse=True)
    counts = found.counts()
    assert counts["added"] == sum(b == 0 for b, a in expected.values())
    assert counts["removed"] == sum(a == 0 for b, a in expected.values())
    assert counts["changed"] == len(expected) - counts["added"] - counts["removed"]
    assert counts["equal"] == sum(b == a != 0 for b, a in values.values())
    assert not before.difference(before).changes


def test_a_difference_is_told_in_text():
    before = similarity_matrix([[1, 0.5, 0.25], [0.5, 1, 0], [0.25, 0, 1]], Vocabulary(list("abc")))
    after = similarity_matrix(
        [[1, 0.125, 0.5], [0.125, 1, 0], [0.5, 0, 1]], Vocabulary(["b", "a", "d"])
    )
    found = before.difference(after)
    assert found.added_terms == ("d",)
    assert found.removed_terms == ("c",)
    assert [(c.left, c.right, c.kind) for c in found.changes] == [
        ("b", "d", "added"),
        ("a", "b", "changed"),
        ("a", "c", "removed"),
    ]
    assert str(found).splitlines() == [
        "pairs: 1 added, 1 removed, 1 changed, 0 equal; terms: 1 added, 1 removed",
        "  b ~ d  0.000 -> 0.500",
        "  a ~ b  0.500 -> 0.125",
        "  a ~ c  0.250 -> 0.000",
    ]
    near = before.difference(after, tolerance=0.4)
    assert near.counts() == {"added": 1, "removed": 1, "changed": 0, "equal": 1}
    many = similarity_matrix(np.full((8, 8), 0.5) + np.eye(8) / 2)
    assert str(many.difference(similarity_matrix(np.eye(8)))).endswith("and 18 more")
    with pytest.raises(InvalidInputError, match="tolerance is -1"):
        before.difference(after, tolerance=-1)
    with pytest.raises(InvalidInputError, match="S is of type dict"):
        before.difference({})


def test_a_source_is_kept_beside_the_matrix(tmp_path):
    source = EmbeddingSimilarity(["tyre", "tire", "moon"], [[3, 4], [4, 3], [-4, 3]])
    matrix = TermSimilarityMatrix.from_source(source, Vocabulary(["moon", "tyre"]))
    matrix.save(tmp_path / "S", source=source)
    kept = TermSimilarityMatrix.load_source(tmp_path / "S")
    assert repr(kept) == repr(source)
    assert kept.similarities(["tire"], ["tyre"]) == source.similarities(["tire"], ["tyre"])
    assert TermSimilarityMatrix.load(tmp_path / "S", verify=True).settings == matrix.settings
    matrix.save(tmp_path / "bare")
    assert TermSimilarityMatrix.load_source(tmp_path / "bare") is None
    with pytest.raises(InvalidInputError, match="cannot be saved"):
        matrix.save(tmp_path / "other", source=ToySource({}))
    assert not (tmp_path / "other").exists()


@given(st.integers(1, 60), st.data())
def test_lanczos_finds_what_lapack_finds(n, data):
    entries = data.draw(hard_matrices(n))
    true = np.linalg.eigvalsh(entries.astype(np.float64))[0]
    found = lowest_eigenvalue(csr_array(entries), tolerance=1e-6, dense_order=0)
    assert true - 1e-9 <= found.value <= true + found.error + 1e-9
    assert found.error <= 1e-4
    shrunk, factor = shrink_to_definite(csr_array(entries), dense_order=0)
    after = np.linalg.eigvalsh(shrunk.toarray().astype(np.float64))[0]
    assert after >= 0
    assert factor == 1.0 or after == pytest.approx(1e-3, abs=2e-4)


@st.composite
def hard_matrices(draw, n):
    """Unit diagonal, symmetric, float32: sparse, blocks of equals, chains, clustered spectra."""
    kind = draw(st.sampled_from(("sparse", "blocks", "chains", "clustered", "lonely")))
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    S = np.zeros((n, n))
    if kind == "sparse":
        S = (rng.random((n, n)) < 0.3) * rng.choice([0.1, 0.5, 1.0], (n, n))
    elif kind == "blocks":
        block = int(rng.integers(2, 7))
        S = np.kron(np.eye(-(-n // block)), np.ones((block, block)))[:n, :n]
        S = S * rng.choice([0.3, 0.999, 1.0])
    elif kind == "chains":
        S = np.diag(rng.choice([0.9, 1.0, 1.0 - 1e-6], n - 1), 1) if n > 1 else S
    elif kind == "clustered":
        basis = np.linalg.qr(rng.standard_normal((n, n)))[0]
        spectrum = np.where(np.arange(n) < n // 2, -0.5 + 1e-9 * rng.random(n), rng.random(n))
        S = np.clip((basis * spectrum) @ basis.T, -1, 1)
    elif n > 1:
        S[0, -1] = rng.random()
    S = np.triu(S, 1)
    return (S + S.T + np.eye(n)).astype(np.float32)


def test_where_lanczos_does_not_converge_a_bound_is_given(monkeypatch):
    monkeypatch.setattr(definiteness, "_lanczos", lambda *arguments: None)
    chain = csr_array(np.array(CHAIN, np.float32))
    found = lowest_eigenvalue(chain, dense_order=0)
    true = 1 - np.sqrt(2)
    assert found.value - found.error <= true <= found.value
    shrunk, factor = shrink_to_definite(chain, dense_order=0)
    assert 0 < factor < 1 / np.sqrt(2)
    assert np.linalg.eigvalsh(shrunk.toarray().astype(np.float64))[0] >= 0


def test_a_large_matrix_with_a_crowded_spectrum_is_made_definite():
    # The eigenvalues of a chain are 1 + 1.8 cos(...): the lowest ones lie closer than 1e-7.
    n = 5_000
    i = np.arange(n - 1)
    entries = np.full(2 * (n - 1), 0.9, np.float32)
    chain = csr_array((entries, (np.r_[i, i + 1], np.r_[i + 1, i])), shape=(n, n))
    S = csr_array(chain + eye_array(n, dtype=np.float32))
    _, factor = shrink_to_definite(S)
    assert factor * 1.8 < 1
    assert factor == pytest.approx(0.999 / 1.8, rel=1e-3)


def test_a_source_may_advise_how_many_neighbours_a_term_has():
    random = np.random.default_rng(0)
    texts = [" ".join(f"w{i}x" for i in random.integers(0, 30, 20)) for _ in range(60)]
    texts = [text.translate(str.maketrans("0123456789", "abcdefghij")) for text in texts]
    analyzed = analyze(texts)
    learned = CooccurrenceSimilarity.fit(analyzed, dimensions=2, threshold=0.0)
    few = TermSimilarityMatrix.from_source(learned, analyzed.vocabulary, warn=False)
    many = TermSimilarityMatrix.from_source(
        learned, analyzed.vocabulary, max_neighbors=20, warn=False
    )
    assert few.statistics().max_neighbors == few.settings["max_neighbors"] == 10
    assert many.statistics().max_neighbors > 10
    assert usual_neighbors(strongest(learned)) == 100


def appended(vocabulary, old):
    """The old terms, and behind them the others: as a stored vocabulary that has grown."""
    before = part_of(vocabulary, old)
    stored = Vocabulary.from_arrays(before.to_arrays())
    frequencies = vocabulary.document_frequencies
    return before, stored.extended(
        part_of(vocabulary, ~old).terms,
        document_frequencies=np.concatenate([frequencies[old], frequencies[~old]]),
    )


@pytest.mark.parametrize("strategy", ["symmetric", "dominant", "rows"])
@given(problem=enlargements(), balanced=st.booleans(), factor=st.sampled_from([1.0, 0.75]))
def test_appended_terms_extend_a_matrix_as_any_new_terms_do(strategy, problem, balanced, factor):
    entries, vocabulary, old, limit = problem
    source = source_of(entries, vocabulary)
    options = {"guard": False, "warn": False}
    small, grown = appended(vocabulary, old)
    before = TermSimilarityMatrix.from_source(
        source, small, max_neighbors=limit, strategy=strategy,
        balanced=balanced and strategy != "rows", **options,
    )  # fmt: skip
    before.settings["shrunk"] = factor
    expected = before.extend(vocabulary, source, **options).restricted(grown)
    after = before.extend(grown, source, **options)
    assert after.vocabulary is grown
    assert after.to_scipy().has_canonical_format
    np.testing.assert_array_equal(after.to_scipy().toarray(), expected.to_scipy().toarray())
    assert after.symmetric == definiteness.is_symmetric(after.to_scipy())
    assert after.non_negative
    assert after.settings == expected.settings
    assert after.representatives == grown.terms
    if before.scales is None:
        assert after.scales is None
    else:
        np.testing.assert_array_equal(after.scales, expected.scales)
    assert before.to_scipy().shape == (len(small), len(small))


@pytest.mark.parametrize("strategy", ["symmetric", "dominant", "rows"])
@given(problem=enlargements(), balanced=st.booleans())
def test_a_matrix_of_no_terms_grows_into_the_one_of_all(strategy, problem, balanced):
    entries, vocabulary, _, limit = problem
    source = source_of(entries, vocabulary)
    options = {"guard": False, "warn": False}
    rules = {"max_neighbors": limit, "strategy": strategy}
    rules["balanced"] = balanced and strategy != "rows"
    whole = TermSimilarityMatrix.from_source(source, vocabulary, **rules, **options)
    nothing = TermSimilarityMatrix.from_source(source, Vocabulary([]), **rules, **options)
    assert nothing.shape == (0, 0)
    assert nothing.symmetric
    grown = nothing.extend(vocabulary, source, **options)
    np.testing.assert_array_equal(grown.to_scipy().toarray(), whole.to_scipy().toarray())
    if whole.scales is not None:
        np.testing.assert_array_equal(grown.scales, whole.scales)
    assert grown.symmetric == whole.symmetric
    assert {**grown.settings, "extended": None} == {**whole.settings, "extended": None}
    alone = nothing.restricted(vocabulary)
    np.testing.assert_array_equal(alone.to_scipy().toarray(), np.eye(len(vocabulary)))


def test_an_empty_matrix_is_stored_and_grows(tmp_path):
    source = ToySource({("a", "b"): 0.5})
    TermSimilarityMatrix.from_source(source, Vocabulary([]), balanced=True).save(tmp_path / "S")
    nothing = TermSimilarityMatrix.load(tmp_path / "S")
    vocabulary = nothing.vocabulary.extended(["a", "b"], forms=[["a"], ["b"]])
    grown = nothing.extend(vocabulary, source)
    assert grown.neighbors("b") == [("a", 0.5)]
    grown.save(tmp_path / "T")
    assert TermSimilarityMatrix.load(tmp_path / "T", verify=True).neighbors("a") == [("b", 0.5)]
    ready = TermSimilarityMatrix.identity(Vocabulary([])).extend(vocabulary, source)
    assert ready.neighbors("a") == [("b", 0.5)]


@given(EVERY_KIND, st.permutations(["c", "d", "x", "y"]), st.booleans())
def test_restricting_to_further_terms_behind_keeps_the_numbers(S, terms, packed):
    old = Vocabulary(["b", "a", "d", "c"])
    words = ("bs", "as", "ds", "cs")
    matrix = TermSimilarityMatrix.from_entries(
        csr_array(S.astype(np.float32)), old, scales=np.full(4, 0.5, np.float32),
        representatives=PackedStrings.of(words) if packed else words,
    )  # fmt: skip
    vocabulary = old.extended([term for term in terms if term not in old])
    moved = matrix.restricted(vocabulary)
    assert moved.representatives == (*words, *vocabulary.terms[4:])
    assert [moved.representative(i) for i in range(len(moved))] == list(moved.representatives)
    expected = np.eye(len(vocabulary))
    expected[:4, :4] = S
    np.testing.assert_array_equal(moved.to_scipy().toarray(), expected.astype(np.float32))
    assert moved.to_scipy().has_sorted_indices
    assert moved.scales.tolist() == [0.5] * 4 + [1.0] * (len(vocabulary) - 4)
    assert matrix.restricted(old).to_scipy().nnz == matrix.to_scipy().nnz
    assert matrix.symmetric == np.array_equal(S, S.T) == moved.symmetric


def test_restricting_to_terms_with_forms_takes_the_first_of_them():
    S = TermSimilarityMatrix.identity(Vocabulary(["run"], forms=[["running"]]))
    longer = S.vocabulary.extended(["walk", "jog"], forms=[["walks", "walk"], []])
    assert S.restricted(longer).representatives == ("run", "walks", "jog")


@contextmanager
def nothing_is_small():
    """Have the arrays of an opened matrix checked only where that is asked for."""
    with (
        patch("softcosine.matrix.term_similarity_matrix._CHECKED_AT_ONCE", -1),
        patch("softcosine.matrix.stored._WORDS_AT_ONCE", -1),
        patch("softcosine.text.vocabulary._CHECKED_AT_ONCE", -1),
        patch("softcosine.text.terms._READ_MEANWHILE", 0),
    ):
        yield


def test_a_large_matrix_is_opened_without_being_read(tmp_path):
    vocabulary = Vocabulary(["b", "a", "c"], forms=[["bs"], ["as"], ["cs", "c"]])
    S = TermSimilarityMatrix.from_source(
        ToySource({("bs", "as"): 0.5, ("cs", "as"): 0.25}), vocabulary, balanced=True
    )
    S.save(tmp_path / "S")
    with (
        nothing_is_small(),
        patch("softcosine.text.packing.unpack_strings", side_effect=AssertionError("all read")),
        patch(
            "softcosine.matrix.term_similarity_matrix.check_compressed",
            side_effect=AssertionError("all read"),
        ),
    ):
        opened = TermSimilarityMatrix.load(tmp_path / "S")
        assert opened.similarity("a", "b") == S.similarity("a", "b")
        assert opened.neighbors("a") == S.neighbors("a")
        assert opened.representative(2) == "cs"
        assert opened.symmetric
        assert opened.non_negative
        assert opened.shape == (3, 3)
        with pytest.raises(AssertionError, match="all read"):
            opened.check()
    assert opened.restricted(opened.vocabulary).similarity("c", "a") == S.similarity("c", "a")
    again = opened.state()
    assert opened.representatives == S.representatives
    assert pickle.loads(pickle.dumps(opened)).representatives == S.representatives
    settings, arrays = S.state()
    assert again[0] == settings
    for name, array in arrays.items():
        np.testing.assert_array_equal(again[1][name], array)


def test_matrices_of_earlier_versions_can_be_opened(tmp_path):
    S = similarity_matrix([[1, -0.5], [-0.5, 1]], Vocabulary(["b", "a"]))
    settings, arrays = S.state()
    del settings["non_negative"], arrays["vocabulary/term_order"]
    write_folder(tmp_path / "S", "matrix", {**settings, "source": None}, arrays)
    opened = TermSimilarityMatrix.load(tmp_path / "S", verify=True)
    assert opened.neighbors("a") == [("b", -0.5)]
    assert not opened.non_negative
    longer = opened.vocabulary.extended(["c"])
    assert opened.restricted(longer).neighbors("b") == [("a", -0.5)]


def test_a_stored_source_of_vectors_is_read_when_it_is_first_asked(tmp_path):
    source = Guarded(EmbeddingSimilarity(["hot", "cold"], [[1, 0], [1, 0.1]], threshold=0.2))
    similarity_matrix(np.eye(1)).save(tmp_path / "S", source=source)
    with (
        patch.object(WordVectors, "from_arrays", side_effect=ValueError("read")),
        patch("softcosine.text.packing.unpack_strings", side_effect=AssertionError("read")),
    ):
        opened = TermSimilarityMatrix.load_source(tmp_path / "S")
        assert opened.source.threshold == 0.2
        assert opened.source.state().arrays["vectors"].shape == (2, 2)
        with pytest.raises(CorruptIndexError, match=r"a source cannot be built .* check"):
            opened.knows(["hot"])
    opened = TermSimilarityMatrix.load_source(tmp_path / "S")
    assert opened.knows(["hot", "x"]).tolist() == [True, False]
    assert opened.similarities(["hot"], ["cold"]) == 0.0
    assert opened.source.similarities(["hot"], ["cold"]) > 0.9
    assert repr(opened) == repr(source)
    assert opened.antonyms == source.antonyms
    assert opened.source.words == ("hot", "cold")


def test_a_matrix_that_never_changes_is_not_copied():
    S = similarity_matrix(np.eye(2))
    assert copy.copy(S) is S
    assert copy.deepcopy([S])[0] is S


def test_the_constructor_takes_a_matrix_and_its_vocabulary():
    vocabulary = Vocabulary(["a", "b"])
    for S in (
        [[1, 0.5], [0.5, 1]],
        np.array([[1, 0.5], [0.5, 1]]),
        csr_array([[1, 0.5], [0.5, 1]]),
    ):
        made = TermSimilarityMatrix(S, vocabulary)
        assert made.neighbors("a") == [("b", 0.5)]
        assert made.settings == TermSimilarityMatrix.from_matrix(S, vocabulary).settings
        assert pickle.loads(pickle.dumps(made)).neighbors("b") == [("a", 0.5)]
    assert TermSimilarityMatrix(np.eye(2)).vocabulary.terms == ("0", "1")


def test_the_constructor_says_what_is_wrong_with_a_matrix():
    for S, error, message in (
        (np.eye(3), VocabularyMismatchError, "S has order 3 but the vocabulary has 2 terms"),
        (np.ones((2, 3)), InvalidInputError, r"S has shape \(2, 3\); it must be square"),
        (2 * np.eye(2), InvalidInputError, r"S\[0, 0\] is 2; the diagonal"),
        ([[1, np.nan], [0, 1]], InvalidInputError, "NaN or infinity in row 0"),
        ("tea", InvalidInputError, "S has 0 dimension"),
    ):
        with pytest.raises(error, match=message):
            TermSimilarityMatrix(S, Vocabulary(["a", "b"]))
    with pytest.raises(InvalidInputError, match="vocabulary"):
        TermSimilarityMatrix(np.eye(2), ["a", "b"])
    with pytest.warns(IndefiniteMatrixWarning) as caught:
        TermSimilarityMatrix([[1, 2], [2, 1]])
    assert caught[0].filename == __file__
    TermSimilarityMatrix([[1, 2], [2, 1]], warn=False)
