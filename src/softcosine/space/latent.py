"""Few dimensions of documents that come block by block (theory T11).

A randomised block power method (Halko, Martinsson & Tropp 2011): each pass over the documents
multiplies a basis of few columns. The documents need not fit in memory.
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

__all__ = ["Blocks", "check_whole", "right_singular_vectors", "signed", "soft_singular_vectors"]

# Gives the documents anew each time it is called: sparse arrays whose rows are documents.
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

    With :math:`Y \approx U_k \Sigma_k V_k^\top`, ``Y @ V`` are the documents in k dimensions.

    Parameters
    ----------
    blocks : callable
        Called once a pass; gives the documents anew, sparse blocks of shape (any, n_terms), the
        same each time. A list `parts` in memory is ``lambda: parts``.
    n_terms : int
    k : int
        At least 1.
    n_iterations : int
        Passes; one more is made in the end. The more, the nearer to the exact vectors where
        singular values decay slowly.
    oversampling : int
        Directions carried beyond k. Where ``k + oversampling >= n_terms`` the answer is exact, and
        one pass suffices. Memory is three arrays of shape (n_terms, k + oversampling).
    random_state : int
        Seed. The same seed and the same blocks give the same vectors; how the documents are cut
        into blocks changes their rounding only.

    Returns
    -------
    V : ndarray of shape (n_terms, k), float64
        Orthonormal columns, each with its entry of greatest size positive. Where Y has a lower
        rank than k, what is missing are columns of zeros at the end.
    sigma : ndarray of shape (k,), float64, descending
        Singular values, which the approximation never makes too large; 0 for columns of zeros.

    Raises
    ------
    InvalidInputError
        If a block has another number of columns, holds NaN or infinity or values whose products
        leave the range of float64, a pass gives another number of rows than the first one, or a
        setting is out of range.

    Examples
    --------
    >>> from scipy.sparse import csr_array
    >>> V, sigma = right_singular_vectors(lambda: [csr_array([[3.0, 4.0]])], 2, k=1)
    >>> V.ravel().round(3), sigma.round(3)
    (array([0.6, 0.8]), array([5.]))
    """
    check_whole("k", k)
    check_whole("n_terms", n_terms, least=0)
    check_whole("n_iterations", n_iterations, least=0)
    check_whole("oversampling", oversampling, least=0)
    return _power_method(
        blocks, n_terms, k, n_iterations, oversampling, random_state,
        image=lambda basis: basis, orthonormal=lambda basis: np.linalg.qr(basis)[0],
    )  # fmt: skip


def soft_singular_vectors(
    blocks: Blocks,
    S: TermSimilarityMatrix,
    *,
    k: int,
    n_iterations: int = 6,
    oversampling: int = 16,
    random_state: int = 0,
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    r"""Return P: ``X @ P`` are the documents in the k best dimensions of the soft vector space.

    Dot products there are soft inner products but for what lies outside the k dimensions. With S
    = E Eᵀ these are the first right singular vectors v of ``Y E`` (theory T7), P = E v; they are
    found as z = E⁻ᵀ v, orthonormal in the inner product of S, P = S z, so that no factor of S is
    needed, whose fill-in would be great. A dot product differs from the soft inner product by at
    most :math:`\lvert x \rvert_S` times the next singular value, if one of the two documents is
    among those given here. With S = I this is `right_singular_vectors`.

    Parameters
    ----------
    blocks, k, n_iterations, oversampling, random_state
        As for `right_singular_vectors`.
    S : TermSimilarityMatrix
        Symmetric and positive semidefinite.

    Returns
    -------
    P : ndarray of shape (n_terms, k), float64
        Where Y E has a lower rank than k, what is missing are columns of zeros at the end.
    sigma : ndarray of shape (k,), float64, descending
        Singular values of Y E.

    Raises
    ------
    InvalidInputError
        As `right_singular_vectors`, and if S is asymmetric.
    IndefiniteMatrixError
        If S proves indefinite among the documents' dimensions.
    """
    checked_similarity(S).require_symmetric("soft singular vectors")
    check_whole("k", k)
    check_whole("n_iterations", n_iterations, least=0)
    check_whole("oversampling", oversampling, least=0)
    matrix = S.to_scipy().astype(np.float64)
    return _power_method(
        blocks, len(S), k, n_iterations, oversampling, random_state,
        image=lambda basis: np.asarray(matrix @ basis),
        orthonormal=lambda basis: _orthonormal(basis, matrix),
    )  # fmt: skip


def _power_method(
    blocks: Blocks,
    n_terms: int,
    k: int,
    n_iterations: int,
    oversampling: int,
    seed: int,
    *,
    image: Callable[[_Dense], _Dense],
    orthonormal: Callable[[_Dense], _Dense],
) -> tuple[_Dense, _Dense]:
    """Return S V and singular values, V orthonormal in the inner product of S; `image` is S."""
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
        # On the way columns need only stay apart, which takes a fifth of an orthonormal basis.
        basis = image((_apart if left else orthonormal)(_in_range(product)))
    # The triangle of Y @ basis, block by block: its singular values are those of Y @ basis, and
    # unlike a matrix of products it squares none of them.
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
    """Return a basis of the same columns whose zᵀ S z are those of the identity."""
    # Orthonormal in the ordinary sense first, or the Gram matrix would square its condition.
    basis = np.linalg.qr(basis)[0]
    gram = basis.T @ (S @ basis)
    values, vectors = np.linalg.eigh((gram + gram.T) / 2.0)
    greatest = np.abs(values).max(initial=0.0)
    # An S whose entries are rounded to float32 is definite up to that.
    if np.any(values < -greatest * S.shape[0] * np.finfo(np.float32).eps):
        raise IndefiniteMatrixError(
            f"x'Sx is {values[0]:.3g} for some x of length 1: S is not positive semidefinite. Use "
            "S.shrunk(), or build S with balanced=True or strategy='dominant'."
        )
    real = values > 1e-11 * greatest
    basis = basis @ (vectors[:, real] / np.sqrt(values[real]))
    if not basis.shape[1]:
        return basis
    # Once more, now that the Gram matrix is near the identity: rounding goes.
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
    """Turn columns so that the first among their entries of greatest size is positive."""
    if not vectors.size:
        return vectors
    sizes = np.abs(vectors)
    # Of entries equal but for rounding, the first counts.
    largest = np.argmax(sizes >= sizes.max(axis=0) * (1 - 1e-6), axis=0)
    signs = np.sign(vectors[largest, np.arange(vectors.shape[1])])
    return np.asarray(vectors * np.where(signs == 0, 1.0, signs) + 0.0)  # no zero is negative
