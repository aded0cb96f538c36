"""Few dimensions whose dot products are near the soft ones (theory T11).

Three ways, all of which give a matrix of shape (n_terms, k) to multiply rows by: right singular
vectors of the documents, leading eigenvectors of S, and a random projection.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array, diags_array

from softcosine.errors import InvalidInputError
from softcosine.matrix.reading import is_number
from softcosine.matrix.term_similarity_matrix import TermSimilarityMatrix, checked_similarity
from softcosine.sources.settings import is_whole

__all__ = ["leading_eigenvectors", "right_singular_vectors", "sparse_projection"]

# Up to this order, LAPACK's dense answer is as quick, and finds eigenvalues that occur twice.
_DENSE_ORDER = 200

# A block of documents: any sparse array whose rows are documents.
Blocks = Callable[[], Iterable[csr_array]]


def right_singular_vectors(
    blocks: Blocks,
    n_terms: int,
    *,
    k: int,
    n_iterations: int = 6,
    oversampling: int = 16,
    random_state: int = 0,
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return the first k right singular vectors V of documents that come block by block.

    With ``Y ≈ U Σ Vᵀ``, ``Y @ V`` are the documents in k dimensions (latent semantic analysis). By
    a randomised block power method (Halko, Martinsson & Tropp 2011): each pass over the blocks
    multiplies a basis by YᵀY. The documents need not fit in memory; three arrays of shape
    (n_terms, k + oversampling) do.

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
        one pass suffices.
    random_state : int
        Seed. The same seed and the same blocks give the same vectors; how the documents are cut
        into blocks changes their rounding only.

    Returns
    -------
    V : ndarray of shape (n_terms, k), float64
        Orthonormal columns, each with its entry of greatest size positive. Where Y has a lower
        rank than k, what is missing are columns of zeros at the end.
    sigma : ndarray of shape (k,), float64, descending
        Singular values, which no approximation makes too large; 0 for columns of zeros.

    Raises
    ------
    InvalidInputError
        If a block has another number of columns or holds NaN or infinity, a pass gives another
        number of rows than the first one, or a setting is out of range.

    Examples
    --------
    >>> from scipy.sparse import csr_array
    >>> V, sigma = right_singular_vectors(lambda: [csr_array([[3.0, 4.0]])], 2, k=1)
    >>> V.ravel().round(3), sigma.round(3)
    (array([0.6, 0.8]), array([5.]))
    """
    _check_whole(k=k)
    _check_whole(0, n_terms=n_terms, n_iterations=n_iterations, oversampling=oversampling)
    width = min(k + oversampling, n_terms)
    if width == n_terms:
        basis, n_iterations = np.eye(n_terms), 0
    else:
        generator = np.random.default_rng(random_state)
        basis = np.linalg.qr(generator.standard_normal((n_terms, width)))[0]
    n_docs = None
    for _ in range(n_iterations):
        product = np.zeros((n_terms, width))
        n_rows = 0
        for block in _checked(blocks, n_terms):
            product += block.T @ (block @ basis)
            n_rows += block.shape[0]
        n_docs = _same_rows(n_docs, n_rows)
        basis = np.linalg.qr(product)[0]
    # The triangle of Y @ basis, block by block: its singular values are those of Y @ basis, and
    # unlike a matrix of products it squares none of them.
    triangle = np.zeros((0, width))
    n_rows = 0
    for block in _checked(blocks, n_terms):
        triangle = np.asarray(np.linalg.qr(np.vstack([triangle, block @ basis]), mode="r"))
        n_rows += block.shape[0]
    _same_rows(n_docs, n_rows)
    _, found, rotation = np.linalg.svd(triangle, full_matrices=False)
    rounding = max(n_rows, n_terms) * np.finfo(np.float64).eps * found.max(initial=0.0)
    rank = min(k, int(np.count_nonzero(found > rounding)))
    V, sigma = np.zeros((n_terms, k)), np.zeros(k)
    V[:, :rank] = _signed(basis @ rotation[:rank].T)
    sigma[:rank] = found[:rank]
    return V, sigma


def leading_eigenvectors(
    S: TermSimilarityMatrix, *, k: int, dense_order: int = _DENSE_ORDER
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    r"""Return the k greatest eigenvalues of S that are positive, and their eigenvectors.

    ``U * sqrt(values)`` is the truncated eigenfactor: the dot products of ``W x @ (U *
    sqrt(values))`` differ from the soft inner products by at most :math:`\lvert W x \rvert \lvert W
    y \rvert \lambda`, where λ is the greatest size among the eigenvalues left out (theory T11).

    Groups of terms that are not connected in S are taken apart: small ones by LAPACK, large ones
    by Lanczos.

    Parameters
    ----------
    S : TermSimilarityMatrix
        Symmetric; it may be indefinite, whose negative part is left out.
    k : int
        At least 1.
    dense_order : int
        Groups of at most so many terms are small.

    Returns
    -------
    U : ndarray of shape (n_terms, k), float64
        Orthonormal columns, each with its entry of greatest size positive. Where S has fewer
        positive eigenvalues than k, what is missing are columns of zeros at the end.
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
    _check_whole(k=k)
    matrix = S.to_scipy().astype(np.float64)
    _, groups = connected_components(matrix, directed=False)
    order = np.argsort(groups, kind="stable")
    bounds = np.flatnonzero(np.diff(groups[order], prepend=-1, append=len(groups)))
    # Terms alone have the eigenvalue 1; no more than k of them can be among the greatest.
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
        U[terms, column] = _signed(vector[:, None])[:, 0]
    return U, values


def sparse_projection(
    n_terms: int, *, k: int, density: float | None = None, random_state: int = 0
) -> csr_array:
    r"""Return a random matrix R whose products keep dot products: E[R Rᵀ] = I.

    An entry is :math:`\pm 1/\sqrt{dk}` with probability d/2 each, else 0 (Achlioptas 2003; Li,
    Hastie & Church 2006). The dot product of ``y' @ R`` and ``(Sᵀ W x) @ R`` is the soft inner
    product in the mean, with variance at most :math:`(\lvert a \rvert^2 \lvert b \rvert^2 + (a
    \cdot b)^2 + \sum_i a_i^2 b_i^2 / d) / k` for ``a = y'`` and ``b = Sᵀ W x``.

    Parameters
    ----------
    n_terms : int
    k : int
        At least 1.
    density : float, optional
        d, in (0, 1]; ``1 / sqrt(n_terms)`` by default.
    random_state : int
        Seed.

    Returns
    -------
    csr_array of shape (n_terms, k), float64
    """
    _check_whole(k=k)
    _check_whole(0, n_terms=n_terms)
    if density is None:
        density = 1.0 / np.sqrt(max(n_terms, 1))
    if not (is_number(density) and 0.0 < density <= 1.0):
        raise InvalidInputError(f"density is {density!r}; needed is a number in (0, 1].")
    generator = np.random.default_rng(random_state)
    # So many out of all places, evenly: each place for itself with probability `density`.
    n_places = n_terms * k
    n_filled = int(generator.binomial(n_places, density))
    places = np.sort(generator.choice(n_places, n_filled, replace=False, shuffle=False))
    signs = generator.choice(np.array([-1.0, 1.0]), n_filled)
    rows, columns = np.divmod(places, k)
    values = signs / np.sqrt(density * k)
    return csr_array((values, (rows, columns)), shape=(n_terms, k))


def _checked(blocks: Blocks, n_terms: int) -> Iterable[csr_array]:
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


def _same_rows(before: int | None, now: int) -> int:
    if before not in (None, now):
        raise InvalidInputError(
            f"blocks() gave {before} documents at first and {now} later; it must give the same "
            "ones each time it is called. A generator can be read only once: pass a function that "
            "makes one."
        )
    return now


def _eigen(
    S: csr_array, k: int, dense_order: int
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return the k greatest eigenvalues and their vectors, as columns."""
    n = S.shape[0]
    if n <= max(dense_order, k):
        values, vectors = np.linalg.eigh(S.toarray())
        return values[::-1][:k], vectors[:, ::-1][:, :k]
    from scipy.sparse.linalg import ArpackError, eigsh

    start = np.random.default_rng(0).standard_normal(n)
    # What is similar to nothing but itself moves no eigenvector, and Lanczos converges better.
    shifted = csr_array(S - diags_array(np.ones(n)))
    basis = min(n, max(2 * k + 1, 20))
    for tolerance in (0.0, 1e-6):
        try:
            values, vectors = eigsh(
                shifted, k=k, which="LA", v0=start, ncv=basis, maxiter=300, tol=tolerance
            )
        except ArpackError:  # also where it did not converge
            continue
        order = np.argsort(-values, kind="stable")
        return values[order] + 1.0, np.linalg.qr(vectors[:, order])[0]
    raise InvalidInputError(
        f"Lanczos did not converge on {n} terms; ask for another number of eigenvectors than {k}."
    )


def _signed(vectors: NDArray[np.float64]) -> NDArray[np.float64]:
    """Turn columns so that the first among their entries of greatest size is positive."""
    if not vectors.size:
        return vectors
    sizes = np.abs(vectors)
    # Of entries equal but for rounding, the first counts.
    largest = np.argmax(sizes >= sizes.max(axis=0) * (1 - 1e-6), axis=0)
    signs = np.sign(vectors[largest, np.arange(vectors.shape[1])])
    return np.asarray(vectors * np.where(signs == 0, 1.0, signs) + 0.0)  # no zero is negative


def _check_whole(least: int = 1, **settings: Any) -> None:
    for name, value in settings.items():
        if not is_whole(value) or value < least:
            raise InvalidInputError(f"{name} is {value!r}; needed is {least} or more, whole.")
