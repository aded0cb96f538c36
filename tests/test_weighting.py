"""Weighting schemes against a dense statement of their formulas."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from scipy.sparse import coo_array, csc_array, csr_array

from softcosine.errors import InvalidInputError, VocabularyMismatchError
from softcosine.text.weighting import Weighting

TF = ("raw", "log", "binary", "bm25")
IDF = ("none", "smooth", "probabilistic", "bm25")


def oracle(X, *, tf, idf, k1, b, df, n, average):
    """Weight by weight, from the definitions."""
    out = np.zeros(X.shape)
    for d, row in enumerate(X):
        for t, f in enumerate(row):
            if f == 0:
                continue
            norm = k1 * (1 - b + b * sum(row) / average)
            weight = {
                "raw": f,
                "log": 1 + math.log(f) if f >= 1 else f,
                "binary": 1,
                "bm25": f * (k1 + 1) / (f + norm),
            }[tf]
            seen = df[t] or 0.5
            odds = (n - seen) / seen
            out[d, t] = (
                weight
                * {
                    "none": 1,
                    "smooth": math.log((1 + n) / (1 + df[t])) + 1,
                    "probabilistic": math.log(odds) if odds > 1 else 0,
                    "bm25": math.log(1 + (n - df[t] + 0.5) / (df[t] + 0.5)),
                }[idf]
            )
    return out


matrices = hnp.arrays(
    np.float64,
    hnp.array_shapes(min_dims=2, max_dims=2, max_side=5),
    elements=st.sampled_from([0, 0, 0.25, 1, 1, 2, 7]),
)


@pytest.mark.parametrize("idf", IDF)
@pytest.mark.parametrize("tf", TF)
@given(X=matrices, k1=st.sampled_from([0.0, 0.9, 1.2]), b=st.sampled_from([0.0, 0.75, 1.0]))
def test_every_combination_agrees_with_its_formula(tf, idf, X, k1, b):
    scheme = Weighting(tf, idf, k1=k1, b=b)
    df = (X > 0).sum(axis=0)
    average = X.sum() / len(X) or 1.0
    found = scheme.transform(csr_array(X))
    expected = oracle(X, tf=tf, idf=idf, k1=k1, b=b, df=df, n=len(X), average=average)
    np.testing.assert_allclose(found.toarray(), expected, rtol=1e-12, atol=1e-12)
    assert found.dtype == np.float64
    assert found.has_canonical_format
    assert (found.data >= 0).all()


@pytest.mark.parametrize("idf", IDF)
@pytest.mark.parametrize("tf", TF)
@given(X=matrices)
def test_statistics_of_another_corpus_can_be_given(tf, idf, X):
    df = np.arange(X.shape[1])
    scheme = Weighting(tf, idf)
    found = scheme.transform(X, document_frequencies=df, n_docs=9, average_length=2.5)
    expected = oracle(X, tf=tf, idf=idf, k1=1.2, b=0.75, df=df, n=9, average=2.5)
    np.testing.assert_allclose(found.toarray(), expected, rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("idf", IDF)
@given(n=st.integers(0, 20), data=st.data())
def test_term_weights_are_finite_and_not_negative(idf, n, data):
    df = data.draw(st.lists(st.integers(0, n), max_size=5))
    weights = Weighting("raw", idf).term_weights(df, n)
    assert np.isfinite(weights).all()
    assert (weights >= 0).all()


def test_smooth_idf_is_that_of_scikit_learn():
    text = pytest.importorskip("sklearn.feature_extraction.text")
    X = csr_array(np.array([[1, 0, 3], [2, 1, 0], [1, 0, 0]]))
    expected = text.TfidfTransformer(norm=None, sublinear_tf=True).fit_transform(X)
    np.testing.assert_allclose(Weighting().transform(X).toarray(), expected.toarray())


def test_the_input_stays_and_any_sparse_format_will_do():
    counts = csr_array(([1, 2, 0, 4], [2, 0, 1, 2], [0, 3, 4]), shape=(2, 3))
    before = counts.data.copy(), counts.indices.copy()
    expected = Weighting("raw", "none").transform(counts)
    assert np.array_equal(counts.data, before[0])
    assert np.array_equal(counts.indices, before[1])
    assert expected.nnz == 3
    for other in (
        csc_array(counts),
        coo_array(counts),
        counts.toarray(),
        counts.toarray().tolist(),
    ):
        assert (Weighting("raw", "none").transform(other) != expected).nnz == 0
    twice = coo_array(([1, 1], ([0, 0], [0, 0])), shape=(1, 1))
    assert Weighting("raw", "none").transform(twice).toarray() == [[2]]


@pytest.mark.parametrize("shape", [(0, 3), (3, 0), (0, 0), (2, 2)])
@pytest.mark.parametrize("tf", TF)
def test_empty_matrices_stay_empty(tf, shape):
    found = Weighting(tf, "bm25").transform(csr_array(shape))
    assert found.shape == shape
    assert found.nnz == 0


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: Weighting("tf"), "tf is 'tf'; it must be one of raw, log"),
        (lambda: Weighting(idf="idf"), "idf is 'idf'"),
        (lambda: Weighting(k1=-1), "k1 is -1"),
        (lambda: Weighting(k1=math.inf), "k1 is inf"),
        (lambda: Weighting(b=math.nan), "b is nan"),
        (lambda: Weighting().transform(csr_array([[-1.0]])), "X.data has -1.0"),
        (lambda: Weighting().transform([[1, math.nan]]), r"X has nan at position \(0, 1\)"),
        (lambda: Weighting().transform([[math.inf]]), "X has inf"),
        (lambda: Weighting().transform([1, 2]), "1 dimensions"),
        (lambda: Weighting().transform([["tea"]]), "other than numbers"),
        (lambda: Weighting().transform([[1]], document_frequencies=[1]), "without n_docs"),
        (lambda: Weighting("bm25").transform([[1]], average_length=0), "average_length is 0"),
        (lambda: Weighting().frequencies([1, 2], [1, 2, 3]), r"shape \(2,\)"),
        (lambda: Weighting().frequencies([-1]), "tf has -1.0"),
        (lambda: Weighting().term_weights([1, 5], 4), "term 1 stands in 5 documents of only 4"),
        (lambda: Weighting().term_weights([math.nan], 4), "nan"),
        (lambda: Weighting().term_weights([[1]], 4), "one dimension"),
        (lambda: Weighting().term_weights([0], -1), "n_docs is -1"),
        (lambda: Weighting.from_dict({"tf": "raw"}), "has the settings"),
    ],
)
def test_errors_say_what_is_wrong(call, message):
    with pytest.raises(InvalidInputError, match=message):
        call()


def test_frequencies_of_other_terms_are_a_vocabulary_mismatch():
    with pytest.raises(VocabularyMismatchError, match="X has 2 terms"):
        Weighting().transform([[1, 2]], document_frequencies=[1], n_docs=1)


def test_settings_survive_storing():
    scheme = Weighting("bm25", "bm25", k1=2, b=0.5)
    assert Weighting.from_dict(scheme.to_dict()) == scheme
    assert scheme.depends_on_length
    assert not Weighting("bm25", b=0).depends_on_length
    assert not Weighting("log").depends_on_length
