"""Assembly of a sparse S from the neighbours of every term (theory T6)."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike
from scipy.sparse import csr_array, eye_array

from softcosine._ragged import running_sum
from softcosine.errors import InvalidInputError
from softcosine.matrix.columns import GrowingColumns
from softcosine.matrix.neighbor_chunks import checked_answer
from softcosine.matrix.rules import Order, Rules, Strategy, column_order
from softcosine.similarity.source import Neighbors
from softcosine.text.vocabulary import Vocabulary

__all__ = ["assemble", "best_of_rows", "with_diagonal"]


def assemble(
    neighbors: Neighbors,
    vocabulary: Vocabulary,
    *,
    max_neighbors: int,
    min_similarity: float = 0.0,
    strategy: Strategy = "symmetric",
    order: Order | ArrayLike = "rare_first",
) -> csr_array:
    """Return a sparse S with unit diagonal from the candidates of every term (theory T6).

    Parameters
    ----------
    neighbors : Neighbors
        Candidates of term i in row i, best first, ties ordered by string. If s_ij and s_ji differ,
        the column that chooses first decides.
    vocabulary : Vocabulary of n_terms
        Its document frequencies determine the order of the columns.
    max_neighbors : int
        Limit of off-diagonal entries per column (for ``"rows"``: per row).
    min_similarity : float
        Lower candidates are dropped; compared as float32.
    strategy : {"symmetric", "dominant", "rows"}
        ``"symmetric"`` enters s_ij and s_ji together while neither column is full. ``"dominant"``
        also keeps the sum of each column's absolute off-diagonals below 1, so that S is positive
        definite. ``"rows"`` keeps the best entries of each row; the result is asymmetric.
    order : {"rare_first", "frequent_first", "idf", "vocabulary"} or array of shape (n_terms,)
        Order in which columns choose, ties ordered by string; ``"vocabulary"`` orders by string
        only. ``"idf"`` (greatest first) equals ``"rare_first"``. With an array, the greatest
        weights choose first.

    Returns
    -------
    csr_array of shape (n_terms, n_terms), float32
        Column indices ascending, diagonal stored.

    Raises
    ------
    InvalidInputError
        If a setting is unknown, or the candidates violate the contract of `Neighbors`.
    """
    n = len(vocabulary)
    rules = Rules(max_neighbors, min_similarity, strategy)
    sequence = column_order(vocabulary, order)
    admitted = rules.admitted(checked_answer(neighbors, n_asked=n, n_among=n, first=0))
    if strategy == "rows":
        return with_diagonal(best_of_rows(admitted, max_neighbors))
    columns = GrowingColumns(n, limit=max_neighbors, dominant=rules.dominant)
    columns.enter(admitted, sequence)
    return columns.to_csr()


def best_of_rows(neighbors: Neighbors, limit: int) -> csr_array:
    """Return the first `limit` candidates of every row.

    Raises
    ------
    InvalidInputError
        If a row contains a candidate twice.
    """
    n = len(neighbors)
    lengths = np.diff(neighbors.indptr)
    place = np.arange(len(neighbors.indices)) - np.repeat(neighbors.indptr[:-1], lengths)
    kept = place < limit
    indptr = running_sum(np.minimum(lengths, limit))
    rows = csr_array((neighbors.similarities[kept], neighbors.indices[kept], indptr), shape=(n, n))
    rows.sort_indices()
    if not rows.has_canonical_format:
        raise InvalidInputError("the source gives a term twice among the neighbours of another.")
    return rows


def with_diagonal(entries: csr_array) -> csr_array:
    """Return the matrix plus the identity, as float32 with ascending column indices."""
    S = csr_array(entries + eye_array(entries.shape[0], dtype=np.float32), dtype=np.float32)
    S.sort_indices()
    return S
