"""From every term's neighbours to a sparse S (theory T6)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Literal, get_args

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array, eye_array

from softcosine.errors import InvalidInputError
from softcosine.kernels.assembly import assemble_symmetric
from softcosine.sources.source import Neighbors
from softcosine.text.vocabulary import Vocabulary

__all__ = ["Order", "Strategy", "assemble"]

Strategy = Literal["symmetric", "dominant", "rows"]
Order = Literal["rare_first", "frequent_first", "vocabulary"]


def assemble(
    neighbors: Neighbors,
    vocabulary: Vocabulary,
    *,
    max_neighbors: int,
    strategy: Strategy = "symmetric",
    order: Order = "rare_first",
) -> csr_array:
    """Sparse S with unit diagonal from the candidates of every term (theory T6).

    Parameters
    ----------
    neighbors : Neighbors
        Candidates of term i in row i: best first, ties by the terms' strings.
    vocabulary : Vocabulary of n_terms
        Its document frequencies decide the order of the columns.
    max_neighbors : int
        The most off-diagonal entries that a column (for ``"rows"``: a row) may hold.
    strategy : {"symmetric", "dominant", "rows"}
        ``"symmetric"`` enters s_ij together with s_ji while neither column is full.
        ``"dominant"`` also keeps each column's sum of absolute off-diagonals below 1, so that S is
        positive definite. ``"rows"`` keeps the best of every row; the result is asymmetric.
    order : {"rare_first", "frequent_first", "vocabulary"}
        Which columns choose first. Equal frequencies are ordered by the terms' strings.

    Returns
    -------
    csr_array of shape (n_terms, n_terms), float32
        Column indices ascending, the diagonal stored.

    Raises
    ------
    InvalidInputError
        If a setting is unknown, or the candidates break the promises of `Neighbors`.
    """
    n = len(vocabulary)
    if len(neighbors) != n:
        raise InvalidInputError(
            f"neighbours of {len(neighbors)} terms were given for a vocabulary of "
            f"{n}; give one row a term, in the vocabulary's order."
        )
    if max_neighbors < 0:
        raise InvalidInputError(f"max_neighbors is {max_neighbors}; it must be 0 or more.")
    if strategy not in get_args(Strategy):
        raise InvalidInputError(
            f"strategy is {strategy!r}; choose one of {', '.join(get_args(Strategy))}."
        )
    sequence = column_order(vocabulary, order)
    _check(neighbors, n)
    S = _STRATEGIES[strategy](neighbors, sequence, max_neighbors) + eye_array(n, dtype=np.float32)
    S = csr_array(S, dtype=np.float32)
    S.sort_indices()
    return S


def _check(neighbors: Neighbors, n: int) -> None:
    """Raise where a source breaks its promises: the kernels trust what it says."""
    indptr, indices, similarities = neighbors.indptr, neighbors.indices, neighbors.similarities
    if (
        indptr[0] != 0
        or np.any(np.diff(indptr) < 0)
        or not indptr[-1] == indices.shape[0] == similarities.shape[0]
    ):
        raise InvalidInputError("the source's indptr does not fit its indices and similarities.")
    if indices.size and not (indices.min() >= 0 and indices.max() < n):
        raise InvalidInputError(
            f"the source names neighbours {indices.min()} to {indices.max()}, and the vocabulary "
            f"has the terms 0 to {n - 1}."
        )
    bad = np.flatnonzero(~((similarities > 0.0) & (similarities <= 1.0)))
    if bad.size:
        raise InvalidInputError(
            f"the source gives a similarity of {similarities[bad[0]]}; similarities of neighbours "
            "lie above 0 and are at most 1."
        )
    rows = neighbors.rows()
    if np.any(rows == indices):
        raise InvalidInputError("the source gives a term as its own neighbour.")
    if np.any((similarities[1:] > similarities[:-1]) & (rows[1:] == rows[:-1])):
        raise InvalidInputError("the source does not give neighbours by decreasing similarity.")


def column_order(vocabulary: Vocabulary, order: Order) -> NDArray[np.int32]:
    """Return the permutation in which columns take their neighbours."""
    if order not in get_args(Order):
        raise InvalidInputError(f"order is {order!r}; choose one of {', '.join(get_args(Order))}.")
    ranks = vocabulary.ranks()
    frequencies = vocabulary.document_frequencies
    if order == "vocabulary" or frequencies is None:
        return np.argsort(ranks, kind="stable").astype(np.int32)
    keys = frequencies if order == "rare_first" else -frequencies
    return np.lexsort((ranks, keys)).astype(np.int32)


def _symmetric(
    neighbors: Neighbors, order: NDArray[np.int32], limit: int, *, dominant: bool = False
) -> csr_array:
    n = order.shape[0]
    # No column can hold more than the candidates that name it or that it names.
    held = np.diff(neighbors.indptr) + np.bincount(neighbors.indices, minlength=n)
    limit = int(min(limit, held.max(initial=0)))
    columns = np.zeros((n, limit), np.int32)
    values = np.zeros((n, limit), np.float32)
    counts = np.zeros(n, np.int32)
    assemble_symmetric(
        np.ascontiguousarray(neighbors.indptr, np.int64),
        np.ascontiguousarray(neighbors.indices, np.int32),
        np.ascontiguousarray(neighbors.similarities, np.float32),
        order, limit, dominant, columns, values, counts,
    )  # fmt: skip
    used = np.arange(limit) < counts[:, None]
    indptr = np.concatenate([[0], np.cumsum(counts, dtype=np.int64)])
    return csr_array((values[used], columns[used], indptr), shape=(n, n))


def _dominant(neighbors: Neighbors, order: NDArray[np.int32], limit: int) -> csr_array:
    return _symmetric(neighbors, order, limit, dominant=True)


def _rows(neighbors: Neighbors, order: NDArray[np.int32], limit: int) -> csr_array:
    n = order.shape[0]
    position = np.arange(neighbors.indices.shape[0]) - np.repeat(
        neighbors.indptr[:-1], np.diff(neighbors.indptr)
    )
    kept = position < limit
    counts = np.minimum(np.diff(neighbors.indptr), limit)
    indptr = np.concatenate([[0], np.cumsum(counts, dtype=np.int64)])
    return csr_array((neighbors.similarities[kept], neighbors.indices[kept], indptr), shape=(n, n))


_STRATEGIES: dict[str, Callable[[Neighbors, NDArray[np.int32], int], csr_array]] = {
    "symmetric": _symmetric,
    "dominant": _dominant,
    "rows": _rows,
}
