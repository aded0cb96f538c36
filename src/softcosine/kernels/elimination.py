"""Structure of the Cholesky factor of a sparse matrix, without computing it (theory T7).

The matrix has a symmetric structure: each row lists all its columns, in any order, with or without
the diagonal. `order` lists the rows in the order of elimination, `rank` is its inverse: row
``order[k]`` is eliminated k-th. Trees and counts are indexed by k.
"""

from __future__ import annotations

import numpy as np

from softcosine.kernels.jit import helper, kernel

__all__ = ["column_counts", "elimination_tree", "postorder"]


@kernel("void(int64[::1], int32[::1], int32[::1], int32[::1], int32[::1])")
def elimination_tree(  # type: ignore[no-untyped-def]
    indptr, indices, order, rank, parents
):
    """Parent of every column: the row of the first entry below its diagonal in the factor.

    `indptr` (n + 1,), `indices`, `order`, `rank` (n,) read; `parents` (n,) out, -1 for roots.
    O(entries log n), almost linear. Liu, A compact row storage scheme for Cholesky factors using
    elimination trees, ACM TOMS 12(2), 1986.
    """
    n = order.shape[0]
    # The highest known ancestor: paths are compressed as they are walked.
    highest = np.full(n, -1, np.int32)
    for k in range(n):
        parents[k] = -1
        row = order[k]
        for p in range(indptr[row], indptr[row + 1]):
            j = rank[indices[p]]
            while j < k:
                above = highest[j]
                highest[j] = k
                if above < 0:
                    parents[j] = k
                    break
                j = above


@kernel("void(int32[::1], int32[::1])")
def postorder(parents, sequence):  # type: ignore[no-untyped-def]
    """Nodes of a forest in postorder, children by their numbers.

    Elimination in this order has the same fill-in. `parents` (n,) read, each larger than its child
    or -1; `sequence` (n,) out. O(n).
    """
    n = parents.shape[0]
    first_child = np.full(n, -1, np.int32)
    sibling = np.full(n, -1, np.int32)
    for j in range(n - 1, -1, -1):
        above = parents[j]
        if above >= 0:
            sibling[j] = first_child[above]
            first_child[above] = j
    place = 0
    stack = np.empty(n, np.int32)
    for root in range(n):
        if parents[root] >= 0:
            continue
        depth = 1
        stack[0] = root
        while depth > 0:
            node = stack[depth - 1]
            child = first_child[node]
            if child >= 0:
                first_child[node] = sibling[child]
                stack[depth] = child
                depth += 1
            else:
                sequence[place] = node
                place += 1
                depth -= 1


@kernel("void(int64[::1], int32[::1], int32[::1], int32[::1], int32[::1], int32[::1], int64[::1])")
def column_counts(  # type: ignore[no-untyped-def]
    indptr, indices, order, rank, parents, sequence, counts
):
    """Entries of every column of the factor, including the diagonal and coincidental zeros.

    A row of the factor is a subtree of the elimination tree. A column's count is the number of rows
    whose subtrees contain it. It is the sum, up the tree, of contributions from the leaves of the
    subtrees and the lowest common ancestors of successive leaves.

    `indptr` (n + 1,), `indices`, `order`, `rank`, `parents` and their postorder `sequence` (n,)
    read; `counts` (n,) out. O(entries log n), almost linear. Gilbert, Ng and Peyton, An efficient
    algorithm to compute row and column counts for sparse Cholesky factorization, SIAM J. Matrix
    Anal. Appl. 15(4), 1994.
    """
    n = order.shape[0]
    # Postorder position of the first node below j. The nodes below j follow, up to j itself.
    first = np.full(n, -1, np.int32)
    for position in range(n):
        j = sequence[position]
        counts[j] = 1 if first[j] < 0 else 0
        while j >= 0 and first[j] < 0:
            first[j] = position
            j = parents[j]
    latest_first = np.full(n, -1, np.int32)  # per row, `first` of the last column met
    latest_leaf = np.full(n, -1, np.int32)
    sets = np.arange(n).astype(np.int32)
    for position in range(n):
        j = sequence[position]
        above = parents[j]
        if above >= 0:
            counts[above] -= 1
        column = order[j]
        for p in range(indptr[column], indptr[column + 1]):
            i = rank[indices[p]]
            if i <= j or first[j] <= latest_first[i]:
                continue
            # j is a leaf of row i's subtree: no node below it has occurred in this row.
            latest_first[i] = first[j]
            counts[j] += 1
            if latest_leaf[i] >= 0:
                counts[_found(sets, latest_leaf[i])] -= 1
            latest_leaf[i] = j
        if above >= 0:
            sets[j] = above
    for j in range(n):  # a child's number is smaller than its parent's
        if parents[j] >= 0:
            counts[parents[j]] += counts[j]


@helper
def _found(sets, node):  # type: ignore[no-untyped-def]
    """Return the representative of a node's set, with path compression."""
    top = node
    while sets[top] != top:
        top = sets[top]
    while sets[node] != top and node != top:
        above = sets[node]
        sets[node] = top
        node = above
    return top
