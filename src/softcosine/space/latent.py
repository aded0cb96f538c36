"""Few dimensions of documents that arrive block by block (theory T11).

A randomised block power method (Halko, Martinsson & Tropp 2011): each pass over the documents
multiplies a narrow basis by them. The documents need not fit in memory.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import lu, solve_triangular
from scipy.sparse import csr_array

from softcosine._validation import check_whole
from softcosine.errors import IndefiniteMatrixError, InvalidInputError
from softcosine.matrix.term_similarity_matrix import TermSimilarityMatrix, checked_similarity

# Yields all documents anew at each call: sparse arrays, one document a row.
Blocks = Callable[[], Iterable[csr_array]]

_Dense = NDArray[np.float64]


def right_singular_vectors(
    blocks: Blocks,
    n_terms: int,
    *,
    k: int,
    n_iterations: int = 6,
    oversampling: int = 16,
    random_state: int = 0,
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    r"""Return the first k right singular vectors of documents: latent semantic analysis.

    With :math:`Y \approx U_k \Sigma_k V_k^\top`, ``Y @ V`` holds the documents in k dimensions.

    Parameters
    ----------
    blocks : callable
        Called once per pass; yields the same documents each time, as sparse blocks of shape
        (any, n_terms). For a list ``chunks`` in memory pass ``lambda: chunks``.
    n_terms : int
    k : int
        At least 1.
    n_iterations : int
        Number of passes, besides a final one. More passes are more precise where singular values
        decay slowly.
    oversampling : int
        Extra directions beyond k. If ``k + oversampling >= n_terms``, the answer is exact after
        one pass. Memory is three arrays of shape (n_terms, k + oversampling).
    random_state : int
        Seed. The same seed and blocks give the same vectors; another division into blocks changes
        only the rounding.

    Returns
    -------
    V : ndarray of shape (n_terms, k), float64
        Orthonormal columns, each with its largest entry in absolute value positive. If Y has a
        lower rank than k, the last columns are zeros.
    sigma : ndarray of shape (k,), float64, descending
        Singular values, never overestimated; 0 for columns of zeros.

    Raises
    ------
    InvalidInputError
        If a block has another number of columns, holds NaN, infinity or values whose products
        overflow float64, a pass has another number of rows than the first one, or a setting is
        out of range.

    Examples
    --------
    >>> from scipy.sparse import csr_array
    >>> V, sigma = right_singular_vectors(lambda: [csr_array([[3.0, 4.0]])], 2, k=1)
    >>> V.ravel().round(3), sigma.round(3)
    (array([0.6, 0.8]), array([5.]))
    """
    check_whole("n_terms", n_terms, least=0)
    return _power_method(blocks, n_terms, None, k, n_iterations, oversampling, random_state)


def soft_singular_vectors(
    blocks: Blocks,
    S: TermSimilarityMatrix,
    *,
    k: int,
    n_iterations: int = 6,
    oversampling: int = 16,
    random_state: int = 0,
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    r"""Return the projection to the k best dimensions of the soft vector space: use ``X @ P``.

    Dot products there are soft inner products, up to the components outside the k dimensions. With
    S = E Eᵀ, v the first right singular vectors of ``Y E`` (theory T7), P = E v. They are
    computed as z = E⁻ᵀ v, orthonormal in the inner product of S, with P = S z: this needs no factor
    of S, which could have much fill-in. A dot product differs from the soft inner product by at
    most :math:`\lvert x \rvert_S` times the next singular value, if one of the two documents is in
    `blocks`. With S = I this is `right_singular_vectors`.

    Parameters
    ----------
    blocks, k, n_iterations, oversampling, random_state
        As for `right_singular_vectors`.
    S : TermSimilarityMatrix
        Symmetric and positive semidefinite.

    Returns
    -------
    P : ndarray of shape (n_terms, k), float64
        If Y E has a lower rank than k, the last columns are zeros.
    sigma : ndarray of shape (k,), float64, descending
        Singular values of Y E.

    Raises
    ------
    InvalidInputError
        As `right_singular_vectors`, and if S is asymmetric.
    IndefiniteMatrixError
        If S is indefinite in the subspace of the documents.
    """
    checked_similarity(S).require_symmetric("soft singular vectors")
    matrix = S.to_scipy().astype(np.float64)
    return _power_method(blocks, len(S), matrix, k, n_iterations, oversampling, random_state)


def _power_method(
    blocks: Blocks,
    n_terms: int,
    S: csr_array | None,
    k: int,
    n_iterations: int,
    oversampling: int,
    seed: int,
) -> tuple[_Dense, _Dense]:
    """Return S V and the singular values, V orthonormal in the inner product of S (None: I)."""

    def image(basis: _Dense) -> _Dense:
        return basis if S is None else np.asarray(S @ basis)

    def orthonormal(basis: _Dense) -> _Dense:
        return np.linalg.qr(basis)[0] if S is None else _orthonormal(basis, S)

    check_whole("k", k)
    check_whole("n_iterations", n_iterations, least=0)
    check_whole("oversampling", oversampling, least=0)
    width = min(k + oversampling, n_terms)
    if width == n_terms:
        start, n_iterations = np.eye(n_terms), 0
    else:
        start = np.random.default_rng(seed).standard_normal((n_terms, width))
    basis = image(orthonormal(start) if n_iterations == 0 else start)
    n_docs = None
    for left in reversed(range(n_iterations)):
        product = np.zeros((n_terms, basis.shape[1]))
        n_rows = 0
        for block in _checked(blocks, n_terms):
            product += _in_range(block.T @ _in_range(block @ basis))
            n_rows += block.shape[0]
        n_docs = _same_rows(n_docs, n_rows)
        # Between passes columns need only be independent: a fifth of the cost of orthonormal ones.
        basis = image((_apart if left else orthonormal)(_in_range(product)))
    # The triangular factor of Y @ basis, block by block, has the same singular values; unlike a
    # Gram matrix it does not square them.
    triangle = np.zeros((0, basis.shape[1]))
    n_rows = 0
    for block in _checked(blocks, n_terms):
        projected = _in_range(block @ basis)
        triangle = np.asarray(np.linalg.qr(np.vstack([triangle, projected]), mode="r"))
        n_rows += block.shape[0]
    _same_rows(n_docs, n_rows)
    _, found, rotation = np.linalg.svd(triangle, full_matrices=False)
    rounding = max(n_rows, n_terms) * np.finfo(np.float64).eps * found.max(initial=0.0)
    rank = min(k, int(np.count_nonzero(found > rounding)))
    vectors, sigma = np.zeros((n_terms, k)), np.zeros(k)
    vectors[:, :rank] = signed(basis @ rotation[:rank].T)
    sigma[:rank] = found[:rank]
    return vectors, sigma


def _apart(basis: _Dense) -> _Dense:
    """Return well-conditioned columns that span the same space: the unit lower factor of LU."""
    return np.asarray(lu(basis, permute_l=True, check_finite=False)[0])


def _orthonormal(basis: _Dense, S: csr_array) -> _Dense:
    """Return a basis of the same columns with zᵀ S z = I."""
    # Orthonormal in the ordinary sense first; otherwise the Gram matrix squares the condition.
    basis = np.linalg.qr(basis)[0]
    gram = basis.T @ (S @ basis)
    values, vectors = np.linalg.eigh((gram + gram.T) / 2.0)
    greatest = np.abs(values).max(initial=0.0)
    # An S with entries rounded to float32 is definite up to that rounding.
    if np.any(values < -greatest * S.shape[0] * np.finfo(np.float32).eps):
        raise IndefiniteMatrixError(
            f"x'Sx is {values[0]:.3g} for some x of length 1: S is not positive semidefinite. Use "
            "S.shrunk(), or build S with balanced=True or strategy='dominant'."
        )
    real = values > 1e-11 * greatest
    basis = basis @ (vectors[:, real] / np.sqrt(values[real]))
    if not basis.shape[1]:
        return basis
    # A second time, now with a Gram matrix near the identity, to remove rounding errors.
    triangle = np.linalg.cholesky(basis.T @ (S @ basis))
    return np.asarray(solve_triangular(triangle, basis.T, lower=True).T)


def _checked(blocks: Blocks, n_terms: int) -> Iterator[csr_array]:
    for block in blocks():
        if block.ndim != 2 or block.shape[1] != n_terms:
            raise InvalidInputError(
                f"a block of documents has shape {block.shape}; needed are {n_terms} columns, "
                "one a term."
            )
        block = csr_array(block, dtype=np.float64)
        if not np.all(np.isfinite(block.data)):
            raise InvalidInputError(
                "a block of documents holds NaN or infinity; every value must be finite."
            )
        yield block


def _in_range(product: _Dense) -> _Dense:
    if not np.all(np.isfinite(product)):
        raise InvalidInputError(
            "products of the documents leave the range of float64; scale the documents down."
        )
    return product


def _same_rows(before: int | None, now: int) -> int:
    if before not in (None, now):
        raise InvalidInputError(
            f"blocks() gave {before} documents at first and {now} later; it must give the same "
            "ones each time it is called. A generator can be read only once: pass a function that "
            "makes one."
        )
    return now


def signed(vectors: NDArray[np.float64]) -> NDArray[np.float64]:
    """Flip columns so that the first of their entries of largest absolute value is positive."""
    if not vectors.size:
        return vectors
    sizes = np.abs(vectors)
    # Among entries equal up to rounding, the first decides.
    largest = np.argmax(sizes >= sizes.max(axis=0) * (1 - 1e-6), axis=0)
    signs = np.sign(vectors[largest, np.arange(vectors.shape[1])])
    return np.asarray(vectors * np.where(signs == 0, 1.0, signs) + 0.0)  # turns -0.0 into 0.0
