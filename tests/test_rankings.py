"""Prepared rankings: what each one divides by, and what cannot be ranked."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from scipy.sparse import csr_array

import oracle
import strategies as own
from expected import RANKINGS
from softcosine.errors import IndefiniteMatrixError, InvalidInputError
from softcosine.index.rankings import PreparedRanking, prepare
from softcosine.index.segment.segment import Segment
from softcosine.text.weighting import Weighting
from toys import similarity_matrix, statistics_of


def prepared(name, X, S, weighting=None) -> PreparedRanking:
    X = csr_array(np.asarray(X, float))
    whole = bool(np.all(X.data == np.rint(X.data)))
    segment = Segment.from_counts(X) if whole else Segment.from_weights(X)
    return prepare(name, segment, similarity_matrix(S), weighting, statistics_of(segment))


@given(own.collections(matrices=own.similarity_matrices))
def test_factors_are_reciprocal_norms(c):
    with np.errstate(divide="ignore"):
        for name, norms in (
            ("soft_cosine", oracle.soft_norm(c.counts, c.S)),
            ("expanded_cosine", np.linalg.norm(c.counts, axis=1)),
            ("inner_product", np.ones(c.n_docs)),
            ("soft_bm25", np.ones(c.n_docs)),
        ):
            factors = prepared(name, c.counts, c.S).factors
            np.testing.assert_allclose(factors, np.where(norms > 0, 1 / norms, 0), rtol=1e-12)


@given(own.collections(matrices=own.asymmetric_matrices))
def test_asymmetric_similarities_have_norms_too(c):
    norms = oracle.soft_norm(c.counts, c.S)
    factors = prepared("soft_cosine", c.counts, c.S).factors
    np.testing.assert_allclose(factors * norms, (norms > 0).astype(float), rtol=1e-12)


def test_soft_bm25_takes_k1_and_b_of_the_weighting_alone():
    X, S = [[1, 2], [0, 1]], np.eye(2)
    ranking = prepared("soft_bm25", X, S, Weighting("raw", "none", k1=0.9, b=0.4))
    assert ranking.k1 == 0.9
    np.testing.assert_allclose(ranking.saturation, 0.9 * (0.6 + 0.4 * np.array([3, 1]) / 2))
    np.testing.assert_allclose(ranking.term_weights**2, oracle.idf(np.array([1, 2]), 2, "bm25"))
    assert ranking.absent_weight == pytest.approx(np.sqrt(np.log(1 + 2.5 / 0.5)))
    assert prepared("soft_bm25", X, S).k1 == 1.2


def test_documents_without_a_norm_are_named():
    with pytest.raises(IndefiniteMatrixError, match=r"for document 1 \(1 of 2 are negative\)"):
        prepared("soft_cosine", [[1, 0, 0], [1, 1, 1]], np.eye(3) - 0.9 * (1 - np.eye(3)))
    for name in ("inner_product", "expanded_cosine", "soft_bm25"):
        prepared(name, [[1, 0, 0], [1, 1, 1]], np.eye(3) - 0.9 * (1 - np.eye(3)))


def test_a_norm_that_is_rounding_alone_is_none():
    S = np.eye(3) - 0.5 * (1 - np.eye(3))
    factors = prepared("soft_cosine", [[1, 1, 1], [300, 300, 300], [1, 0, 0]], S).factors
    assert factors.tolist() == [0, 0, 1]
    assert prepared("soft_cosine", [[0.1, 0.1, 0.1], [0.3, 0, 0]], S).factors[0] == 0


def test_unknown_rankings_name_the_known_ones():
    for name in ("cosine", "", None, 3, ["soft_cosine"]):
        with pytest.raises(InvalidInputError, match=f"it must be one of {', '.join(RANKINGS)}"):
            prepared(name, [[1]], [[1]])


def test_bm25_needs_counts():
    with pytest.raises(InvalidInputError, match="soft_bm25 needs counts"):
        prepared("soft_bm25", [[0.5]], [[1]])
    assert prepared("soft_bm25", [[0.0]], [[1]]).factors.tolist() == [1]


@pytest.mark.parametrize("k1", [0.0, 1e-300, 1e30, 1e200])
@pytest.mark.parametrize("name", RANKINGS)
def test_any_saturation_is_finite(name, k1):
    ranking = prepared(name, [[1, 2], [0, 1]], np.eye(2), Weighting("bm25", "bm25", k1=k1))
    assert np.isfinite(ranking.factors).all()
    assert ranking.least >= 0
    assert not np.isnan(ranking.most)
