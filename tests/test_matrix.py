"""TermSimilarityMatrix: made, asked, repaired, saved."""

from __future__ import annotations

import warnings

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.sparse import coo_array, csr_array, csr_matrix, random_array

import strategies as own
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
from softcosine.matrix.definiteness import smallest_eigenvalue
from softcosine.matrix.term_similarity_matrix import TermSimilarityMatrix
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
    assert smallest_eigenvalue(csr_array((0, 0))) == 1


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
        ({"tea": "coffee"}, {}, "the source is of type dict"),
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
def test_save_then_load_gives_the_same_to_the_bit(tmp_path_factory, S):
    path = tmp_path_factory.mktemp("saved") / "S"
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
    with pytest.raises(AlreadyExistsError, match="ask for overwriting"):
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
    file = tmp_path / "S" / "matrix" / "data.npy"
    content = bytearray(file.read_bytes())
    content[-1] ^= 1
    file.write_bytes(content)
    with pytest.raises(CorruptIndexError, match=r"data\.npy has changed"):
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
