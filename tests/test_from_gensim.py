"""gensim's term similarity matrices, taken as they are: the same numbers by both libraries."""

from __future__ import annotations

import contextlib
import io
import warnings

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.sparse import csc_matrix, csr_array

import softcosine as sc
from softcosine.errors import (
    IndefiniteMatrixWarning,
    InvalidInputError,
    VocabularyMismatchError,
)

corpora = pytest.importorskip("gensim.corpora")
similarities = pytest.importorskip("gensim.similarities")
models = pytest.importorskip("gensim.models")

TERMS = ["bee", "ant", "dog", "cat"]


def dictionary_of(terms=TERMS):
    dictionary = corpora.Dictionary()
    dictionary.token2id = {term: number for number, term in enumerate(terms)}
    dictionary.id2token = dict(enumerate(terms))
    return dictionary


def gensim_matrix(S):
    return similarities.SparseTermSimilarityMatrix(csc_matrix(np.asarray(S)))


@st.composite
def matrices(draw, *, symmetric: bool):
    values = st.sampled_from([0.0, 0.0, 0.1, 0.25, 0.3])
    S = np.array([[draw(values) for _ in TERMS] for _ in TERMS], np.float32)
    if symmetric:
        S = np.triu(S, 1) + np.triu(S, 1).T
    np.fill_diagonal(S, 1.0)
    return S


rows = st.lists(st.sampled_from([0.0, 0.5, 1.0, 2.0]), min_size=4, max_size=4).filter(any)
CORPORA = st.lists(rows, min_size=2, max_size=4)


def bags(X):
    return [[(i, value) for i, value in enumerate(row) if value] for row in X]


@given(matrices(symmetric=True), CORPORA, CORPORA, st.sampled_from([np.float32, np.float64]))
def test_similarities_of_corpora_are_those_of_gensim(S, X, Y, dtype):
    theirs = gensim_matrix(S.astype(dtype))
    ours = sc.TermSimilarityMatrix.from_gensim(theirs, dictionary_of(), warn=False)
    for measure, normalized in (
        (sc.soft_cosine_similarity, (True, True)),
        (sc.soft_inner_product, (False, False)),
    ):
        expected = theirs.inner_product(bags(X), bags(Y), normalized=normalized).toarray()
        np.testing.assert_allclose(measure(X, Y, ours), expected, rtol=3e-6, atol=3e-6)


@given(matrices(symmetric=False), CORPORA, CORPORA)
def test_an_asymmetric_one_has_the_query_in_its_rows(S, X, Y):
    theirs = gensim_matrix(S)
    ours = sc.TermSimilarityMatrix.from_gensim(theirs, dictionary_of(), warn=False)
    assert ours.to_scipy().toarray().tolist() == S.tolist()
    expected = theirs.inner_product(bags(X), bags(Y)).toarray()
    found = (sc.expand_queries(X, ours) @ csr_array(np.array(Y)).T).toarray()
    np.testing.assert_allclose(found, expected, rtol=3e-6, atol=3e-6)


def test_terms_are_those_of_the_dictionary_in_its_order():
    texts = [["ant", "bee"], ["ant", "cat"], ["dog"]]
    dictionary = corpora.Dictionary(texts)
    S = np.eye(4)
    first, second = dictionary.token2id["ant"], dictionary.token2id["dog"]
    S[first, second] = S[second, first] = 0.5
    made = sc.TermSimilarityMatrix.from_gensim(gensim_matrix(S), dictionary)
    assert made.neighbors("ant") == [("dog", 0.5)]
    assert made.vocabulary.terms == tuple(dictionary[i] for i in range(4))
    frequencies = made.vocabulary.document_frequencies
    assert frequencies[made.vocabulary.index("ant")] == 2
    assert sc.TermSimilarityMatrix.from_gensim(csc_matrix(S), dictionary).neighbors("dog")


def test_a_dictionary_that_does_not_fit_is_refused():
    S = gensim_matrix(np.eye(3))
    with pytest.raises(VocabularyMismatchError, match="S has order 3 but the vocabulary has 4"):
        sc.TermSimilarityMatrix.from_gensim(S, dictionary_of())
    dictionary = dictionary_of(TERMS[:3])
    dictionary.token2id["dog"] = 7
    with pytest.raises(InvalidInputError, match="compactify"):
        sc.TermSimilarityMatrix.from_gensim(S, dictionary)
    with pytest.raises(InvalidInputError, match=r"pass a gensim\.corpora\.Dictionary"):
        sc.TermSimilarityMatrix.from_gensim(S, TERMS)


def test_what_gensim_cuts_off_is_warned_of():
    S = np.eye(3)
    for i, j in ((0, 1), (1, 2)):
        S[i, j] = S[j, i] = 0.9
    theirs = gensim_matrix(S)
    with pytest.warns(IndefiniteMatrixWarning, match="not positive semidefinite"):
        ours = sc.TermSimilarityMatrix.from_gensim(theirs, dictionary_of(TERMS[:3]))
    X, Y = [[1.0, 0, 1.0]], [[0.0, 1.0, 0]]
    assert sc.soft_cosine_similarity(X, Y, ours)[0, 0] == pytest.approx(0.9 * np.sqrt(2))
    assert theirs.inner_product(bags(X), bags(Y), normalized=(True, True)).toarray() == [[1.0]]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        sc.TermSimilarityMatrix.from_gensim(theirs, dictionary_of(TERMS[:3]), warn=False)


def test_whoever_takes_a_matrix_takes_gensims_or_says_what_to_do():
    S = np.eye(4)
    S[0, 1] = S[1, 0] = 0.5
    theirs = gensim_matrix(S)
    vocabulary = sc.Vocabulary(TERMS)
    for made in (
        sc.TermSimilarityMatrix(theirs, vocabulary),
        sc.TermSimilarityMatrix.from_matrix(theirs, vocabulary),
    ):
        assert made.neighbors("bee") == [("ant", 0.5)]
    assert sc.TermSimilarityMatrix(theirs).neighbors("0") == [("1", 0.5)]
    said = r"S is of type SparseTermSimilarityMatrix; wrap gensim's by .*from_gensim\(S, dictionary"
    X = np.eye(4)
    for take in (
        lambda: sc.SoftNeighbors(theirs).fit(X),
        lambda: sc.soft_cosine_similarity(X, X, theirs),
        lambda: sc.orthonormal_basis(theirs),
        lambda: sc.SoftIndex.from_texts(["a bee"], S=theirs),
    ):
        with pytest.raises(InvalidInputError, match=said):
            take()


def test_scikit_learns_estimators_say_what_to_do_with_gensims():
    pytest.importorskip("sklearn")
    from softcosine.sklearn import SoftCosineTransformer, SoftNeighborsTransformer

    for estimator in (SoftCosineTransformer, SoftNeighborsTransformer):
        with pytest.raises(InvalidInputError, match="from_gensim"):
            estimator(S=gensim_matrix(np.eye(4))).fit(np.eye(4))


def test_a_query_alone_is_divided_by_a_part_of_the_norm_there_and_by_all_of_it_here():
    # Query {a}, documents {a, b} and {a}, S = I.
    theirs = gensim_matrix(np.eye(2))
    index = similarities.SoftCosineSimilarity([[(0, 1.0), (1, 1.0)], [(0, 1.0)]], theirs)
    query = [(0, 1.0)]
    alone, among = index[query], index[[query, query]][0]
    assert alone[0] == pytest.approx(1.0)  # wrong
    assert among[0] == pytest.approx(np.sqrt(0.5))
    ours = sc.TermSimilarityMatrix.from_gensim(theirs, dictionary_of(TERMS[:2]))
    found = sc.SoftNeighbors(ours).fit([[1, 1], [1, 0]]).search([[1, 0]], k=2)
    assert found.ids[0].tolist() == [1, 0]
    assert found.scores[0].tolist() == pytest.approx(among[[1, 0]])


def test_gensim_limits_columns_and_rows_limits_rows():
    # Every other word is nearest to "hub", and it is nearest to "bee".
    pairs = [("hub", "bee", 0.9), ("hub", "cat", 0.8), ("hub", "ant", 0.7), ("bee", "cat", 0.1)]
    source, terms = sc.PairSimilarity(pairs), ["hub", "bee", "cat", "ant"]

    class Index(similarities.TermSimilarityIndex):
        def most_similar(self, t1, topn=10):
            found = source.neighbors([t1], terms, max_neighbors=topn).of(0)
            return [(terms[i], float(s)) for i, s in zip(*found, strict=True)]

    with contextlib.redirect_stderr(io.StringIO()):
        theirs = similarities.SparseTermSimilarityMatrix(
            Index(), dictionary_of(terms), symmetric=False, nonzero_limit=1
        )
    theirs = sc.TermSimilarityMatrix.from_gensim(theirs, dictionary_of(terms), warn=False)
    ours = sc.TermSimilarityMatrix.from_source(
        source, sc.Vocabulary(terms), max_neighbors=1, strategy="rows", guard=False, warn=False
    )
    assert [word for word, _ in theirs.neighbors("hub")] == ["bee", "cat", "ant"]
    assert [word for word, _ in ours.neighbors("hub")] == ["bee"]
    assert (theirs.to_scipy().toarray() == ours.to_scipy().toarray().T).all()
