"""The leading eigenvectors of S: few dimensions, independent of any documents (theory T11)."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array, diags_array

from softcosine._validation import check_whole
from softcosine.errors import InvalidInputError
from softcosine.matrix.term_similarity_matrix import TermSimilarityMatrix, checked_similarity
from softcosine.space.latent import signed

__all__ = ["leading_eigenvectors"]

# Up to this order, LAPACK's dense solver is as fast, and it finds repeated eigenvalues.
_DENSE_ORDER = 200


def leading_eigenvectors(
    S: TermSimilarityMatrix, *, k: int, dense_order: int = _DENSE_ORDER
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    r"""Return the k largest positive eigenvalues of S and their eigenvectors.

    ``U * sqrt(values)`` is the truncated eigenfactor: the dot products of ``W x @ (U *
    sqrt(values))`` differ from the soft inner products by at most :math:`\lvert W x \rvert \lvert W
    y \rvert \lambda`, where λ is the largest absolute value of an omitted eigenvalue (theory T11).

    Connected components of S are solved separately: small ones by LAPACK, large ones by Lanczos.

    Parameters
    ----------
    S : TermSimilarityMatrix
        Symmetric. The negative part of an indefinite S is left out.
    k : int
        At least 1.
    dense_order : int
        Largest number of terms of a small component.

    Returns
    -------
    U : ndarray of shape (n_terms, k), float64
        Orthonormal columns, each with its largest entry in absolute value positive. If S has
        fewer than k positive eigenvalues, the last columns are zeros.
    values : ndarray of shape (k,), float64, descending
        0 for columns of zeros.

    Raises
    ------
    InvalidInputError
        If S is asymmetric, `k` is out of range, or Lanczos does not converge.

    Examples
    --------
    >>> import softcosine as sc
    >>> S = sc.TermSimilarityMatrix.from_matrix([[1, 0.5, 0], [0.5, 1, 0], [0, 0, 1]])
    >>> U, values = leading_eigenvectors(S, k=2)
    >>> values.round(3), U.T.round(3)
    (array([1.5, 1. ]), array([[0.707, 0.707, 0.   ],
           [0.   , 0.   , 1.   ]]))
    """
    from scipy.sparse.csgraph import connected_components

    checked_similarity(S).require_symmetric("an eigenfactor")
    check_whole("k", k)
    matrix = S.to_scipy().astype(np.float64)
    _, groups = connected_components(matrix, directed=False)
    order = np.argsort(groups, kind="stable")
    bounds = np.flatnonzero(np.diff(groups[order], prepend=-1, append=len(groups)))
    # Isolated terms have the eigenvalue 1; at most k of them can be among the largest.
    alone = np.flatnonzero(np.diff(bounds) == 1)[:k]
    found = [(1.0, order[bounds[group]][None], np.ones(1)) for group in alone]
    for group in np.flatnonzero(np.diff(bounds) > 1):
        terms = order[bounds[group] : bounds[group + 1]]
        part = csr_array(matrix[terms][:, terms])
        values, vectors = _eigen(part, min(k, len(terms)), dense_order)
        found += [(value, terms, vector) for value, vector in zip(values, vectors.T, strict=True)]
    found.sort(key=lambda one: (-one[0], int(one[1][0])))
    rounding = len(S) * np.finfo(np.float32).eps
    U, values = np.zeros((len(S), k)), np.zeros(k)
    for column, (value, terms, vector) in enumerate(found[:k]):
        if value <= rounding:
            break
        values[column] = value
        U[terms, column] = signed(vector[:, None])[:, 0]
    return U, values


def _eigen(
    S: csr_array, k: int, dense_order: int
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return the k largest eigenvalues and their eigenvectors, as columns."""
    n = S.shape[0]
    if n <= max(dense_order, k):
        values, vectors = np.linalg.eigh(S.toarray())
        return values[::-1][:k], vectors[:, ::-1][:, :k]
    from scipy.sparse.linalg import ArpackError, eigsh

    generator = np.random.default_rng(0)
    # Terms without neighbours change no eigenvector; Lanczos converges better without them.
    shifted = csr_array(S - diags_array(np.ones(n)))
    basis = max(2 * k + 1, 20)
    for tolerance, width in ((1e-9, basis), (1e-6, basis), (1e-6, max(2 * basis, 200))):
        try:
            values, vectors = eigsh(
                shifted, k=k, which="LA", v0=generator.standard_normal(n), ncv=min(n, width),
                maxiter=300, tol=tolerance,
            )  # fmt: skip
        except ArpackError:  # includes failure to converge
            continue
        values, vectors = _with_multiples(shifted, values, vectors, generator)
        order = np.argsort(-values, kind="stable")[:k]
        return values[order] + 1.0, np.linalg.qr(vectors[:, order])[0]
    raise InvalidInputError(
        f"Lanczos did not converge on {n} terms; ask for another number of eigenvectors than {k}."
    )


def _with_multiples(
    A: csr_array,
    values: NDArray[np.float64],
    vectors: NDArray[np.float64],
    generator: np.random.Generator,
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Add eigenvectors that Lanczos has missed: one start finds one per repeated eigenvalue.

    Deflate A by the eigenvectors found and compute the largest eigenvalue of the rest from another
    start, until it is not among the k largest.
    """
    from scipy.sparse.linalg import ArpackError, LinearOperator, eigsh

    n, k = A.shape[0], len(values)
    low = -float(abs(A).sum(axis=1).max())  # lower bound of the eigenvalues of A

    def rest(x: NDArray[np.float64]) -> NDArray[np.float64]:
        x = x.ravel()
        return np.asarray(A @ x - vectors @ ((values - low) * (vectors.T @ x)))

    while len(values) < min(2 * k, n - 1):
        try:
            value, vector = eigsh(
                LinearOperator((n, n), matvec=rest, dtype=np.float64), k=1, which="LA",
                v0=generator.standard_normal(n), ncv=min(n, 40), maxiter=300, tol=1e-9,
            )  # fmt: skip
        except ArpackError:  # many eigenvalues lie close together; none is clearly larger
            break
        if value[0] <= np.sort(values)[-k] + 1e-8:
            break
        values = np.append(values, value)
        vectors = np.linalg.qr(np.hstack([vectors, vector]))[0]
    return values, vectors
