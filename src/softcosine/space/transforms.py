"""Vectors whose ordinary dot product or cosine ranks like the soft cosine (theory T8-T10).

With them any vector store can serve the ranking. `X` holds the documents' coordinates before the
term weights W, `term_weights` the diagonal of W; pass ones if the coordinates are weighted already.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.sparse import csr_array, hstack

from softcosine.errors import InvalidInputError
from softcosine.matrix.term_similarity_matrix import TermSimilarityMatrix, checked_similarity
from softcosine.space.norms import (
    balanced,
    checked_matrix,
    checked_weights,
    column_terms,
    reciprocal,
    row_sums,
    scaled_rows,
    soft_norms,
)


def expand_queries(
    Q: ArrayLike | csr_array,
    S: TermSimilarityMatrix,
    *,
    term_weights: ArrayLike | None = None,
    raw_documents: bool = False,
) -> csr_array:
    r"""Expand queries: their dot product with documents is the soft inner product (theory T8).

    .. math:: x' = S^\top W x, \quad x'^\top (W y) = \langle x, y \rangle

    Parameters
    ----------
    Q : array or sparse array of shape (n_queries, n_terms)
    S : TermSimilarityMatrix of order n_terms
        It may be asymmetric or indefinite.
    term_weights : array of shape (n_terms,), optional
        The diagonal of W; ones by default.
    raw_documents : bool
        Whether the store holds raw y instead of W y. Then ``x' = W Sᵀ W x``, and S and W may
        change without an update of the store.

    Returns
    -------
    csr_array of shape (n_queries, n_terms), float64

    Raises
    ------
    InvalidInputError, VocabularyMismatchError
    """
    Q = checked_matrix(Q, len(checked_similarity(S)), "Q", column_terms(S, Q))
    weights = checked_weights(term_weights, len(S))
    with np.errstate(over="ignore", invalid="ignore"):
        expanded = (Q * weights[None, :]) @ S.to_scipy().astype(np.float64)
        expanded = csr_array(expanded * weights[None, :] if raw_documents else expanded)
    if not np.all(np.isfinite(expanded.data)):
        raise InvalidInputError("an expanded query leaves the range of float64; scale Q down.")
    return expanded


def unit_documents(
    X: ArrayLike | csr_array, S: TermSimilarityMatrix, *, term_weights: ArrayLike | None = None
) -> csr_array:
    r"""Documents whose dot products with expanded queries rank like the soft cosine (theory T9).

    .. math:: y' = W y / \lVert y \rVert_S

    Returns
    -------
    csr_array of shape (n_docs, n_terms), float64
        Zero rows for documents of norm 0.

    Raises
    ------
    IndefiniteMatrixError
        If some document has y'Sy < 0.
    """
    checked_similarity(S).require_symmetric("a document form")
    X = checked_matrix(X, len(S), "X", column_terms(S, X))
    weights = _balanced_weights(term_weights, len(S))
    weighted = balanced(csr_array(balanced(X)[0] * weights[None, :]))[0]
    matrix = S.to_scipy().astype(np.float64)
    return scaled_rows(reciprocal(soft_norms(weighted, weighted @ matrix, matrix)), weighted)


def cosine_documents(
    X: ArrayLike | csr_array, S: TermSimilarityMatrix, *, term_weights: ArrayLike | None = None
) -> csr_array:
    r"""Return unit documents for stores with cosine only, with an extra coordinate (theory T10).

    .. math:: y'' = [\, y', \sqrt{\max(0, 1 - \lVert y' \rVert^2)} \,]

    If S, W and X are non-negative, \|y'\| <= 1, and the cosine with `cosine_queries` ranks like the
    soft cosine.

    Returns
    -------
    csr_array of shape (n_docs, n_terms + 1), float64

    Raises
    ------
    InvalidInputError
        If S or X has a negative entry.
    """
    _require_non_negative(X, S)
    unit = unit_documents(X, S, term_weights=term_weights)
    squares = row_sums(unit * unit)
    rest = np.sqrt(np.maximum(0.0, 1.0 - squares))
    return csr_array(hstack([unit, csr_array(rest[:, None])], format="csr"))


def cosine_queries(
    Q: ArrayLike | csr_array, S: TermSimilarityMatrix, *, term_weights: ArrayLike | None = None
) -> csr_array:
    r"""Return unit queries for `cosine_documents`: expanded, with a last coordinate 0 (theory T10).

    .. math:: x'' = [\, x' / \lVert x' \rVert, 0 \,]

    Returns
    -------
    csr_array of shape (n_queries, n_terms + 1), float64
        Zero rows for queries without any term in S.
    """
    _require_non_negative(Q, S)
    Q = balanced(checked_matrix(Q, len(S), "Q", column_terms(S, Q)))[0]
    weights = _balanced_weights(term_weights, len(S))
    expanded = balanced(expand_queries(Q, S, term_weights=weights))[0]
    lengths = np.sqrt(row_sums(expanded * expanded))
    unit = scaled_rows(reciprocal(lengths), expanded)
    return csr_array(hstack([unit, csr_array((unit.shape[0], 1))], format="csr"))


def _balanced_weights(term_weights: ArrayLike | None, n_terms: int) -> NDArray[np.float64]:
    """Term weights divided by a power of two: cosines do not change, and nothing overflows."""
    weights = checked_weights(term_weights, n_terms)
    return np.asarray(np.ldexp(weights, 1 - np.frexp(weights.max(initial=0.0))[1]), np.float64)


def _require_non_negative(X: ArrayLike | csr_array, S: TermSimilarityMatrix) -> None:
    if not checked_similarity(S).non_negative or np.any(checked_matrix(X, len(S), "X").data < 0):
        raise InvalidInputError(
            "S and the documents must not have negative entries here (theory T10); use "
            "unit_documents with a store that ranks by dot product."
        )
