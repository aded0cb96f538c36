"""Order of elimination, and the structure of the Cholesky factor without computing it (theory T7).

The matrix has a symmetric structure: each row lists all its columns, in any order, with or without
the diagonal. `order` lists the rows in the order of elimination, `rank` is its inverse: row
``order[k]`` is eliminated k-th. Trees and counts are indexed by k.
"""

from __future__ import annotations

import numpy as np

from softcosine.kernels.jit import helper, inlined, kernel


@kernel("void(int64[::1], int32[::1], int32[::1], int32[::1], int32[::1])")
def elimination_tree(indptr, indices, order, rank, parents):
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
def postorder(parents, sequence):
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
def column_counts(indptr, indices, order, rank, parents, sequence, counts):
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
def _found(sets, node):
    """Return the representative of a node's set, with path compression."""
    top = node
    while sets[top] != top:
        top = sets[top]
    while sets[node] != top and node != top:
        above = sets[node]
        sets[node] = top
        node = above
    return top


# Kinds of numbers: a variable that is not yet eliminated, an element (the clique that an eliminated
# variable leaves), or neither any more.
_VARIABLE, _ELEMENT, _GONE = np.int8(0), np.int8(1), np.int8(2)


@kernel("void(int64[::1], int32[::1], int32[::1])")
def minimum_degree(indptr, indices, order):
    """Write an order that always eliminates a variable with the fewest neighbours.

    The graph of the remaining variables is never formed. An eliminated variable becomes an
    *element*, the list of the variables that it linked to each other, and absorbs the elements that
    contained it. Degrees are the upper bounds of Amestoy, Davis and Duff (An approximate minimum
    degree ordering algorithm, SIAM J. Matrix Anal. Appl. 17(4), 1996), which assume that elements
    overlap only in the latest one. Variables with equal links are eliminated together, and those
    that a pivot leaves without other links follow it at once.

    `indptr` (n + 1,), `indices` read: a symmetric structure, columns in any order, without
    duplicates, the diagonal allowed; `order` (n,) out. Among equal degrees the latest to get that
    degree comes first. O(entries times n) at worst, in practice a few passes over the entries.
    """
    n = order.shape[0]
    # All lists: a variable's elements, then its direct neighbours; an element's variables. Together
    # they never need more space than at the start, so with twice that, plus the largest pivot,
    # compaction is rare.
    lists = np.empty(2 * indptr[n] + n + 1, np.int32)
    begins = np.empty(n, np.int64)
    lengths = np.empty(n, np.int64)
    n_elements = np.zeros(n, np.int64)
    kinds = np.full(n, _VARIABLE, np.int8)
    # Number of variables that one represents; negative while it belongs to the current pivot.
    weights = np.ones(n, np.int64)
    sizes = np.zeros(n, np.int64)  # per element: variables, by weight
    outside = np.zeros(n, np.int64)  # per element: `tick` + variables outside the pivot
    tick = np.int64(1)
    # Variables that one represents.
    members = np.full(n, -1, np.int32)
    last_members = np.arange(n).astype(np.int32)
    # Variables of the current pivot by a hash of their links, and marks to compare links.
    buckets = np.full(n, -1, np.int32)
    beside = np.full(n, -1, np.int32)
    hashes = np.zeros(n, np.int64)
    marks = np.zeros(n, np.int64)
    free = _copy_links(indptr, indices, lists, begins, lengths)
    # Upper bounds of degrees, and doubly linked lists of variables by them.
    degrees = lengths.copy()
    heads = np.full(n, -1, np.int32)
    following = np.full(n, -1, np.int32)
    preceding = np.full(n, -1, np.int32)
    for i in range(n - 1, -1, -1):  # so that the first variable of a degree is the head
        _link(i, degrees[i], heads, following, preceding)

    placed = np.int64(0)
    least = np.int64(0)
    while placed < n:
        while heads[least] < 0:
            least += 1
        pivot = heads[least]
        if free + n - placed > lists.shape[0]:
            free = _compact(lists, begins, lengths, kinds)
        _eliminate(
            pivot, free, lists, begins, lengths, n_elements, kinds, weights, sizes,
            degrees, heads, following, preceding,
        )  # fmt: skip
        _count_outside(
            pivot, tick, outside, lists, begins, lengths, n_elements, kinds, weights, sizes
        )
        _update_lists(
            pivot, tick, outside, lists, begins, lengths, n_elements, kinds, weights, sizes,
            degrees, members, last_members, buckets, beside, hashes,
        )  # fmt: skip
        i = pivot
        while i >= 0:
            order[placed] = i
            placed += 1
            i = members[i]
        _merge_equal(
            pivot, tick, marks, lists, begins, lengths, n_elements, kinds, weights,
            members, last_members, buckets, beside, hashes,
        )  # fmt: skip
        nearest = _put_back(
            pivot, n - placed, lists, begins, lengths, kinds, weights, sizes,
            degrees, heads, following, preceding,
        )  # fmt: skip
        least = min(least, nearest)
        free = begins[pivot] + lengths[pivot]
        tick += n + 1


@helper
def _copy_links(indptr, indices, lists, begins, lengths):
    """Write the direct neighbours of every variable; returns the start of the free space."""
    free = np.int64(0)
    for i in range(begins.shape[0]):
        begins[i] = free
        for p in range(indptr[i], indptr[i + 1]):
            if indices[p] != i:
                lists[free] = indices[p]
                free += 1
        lengths[i] = free - begins[i]
    return free


@helper
def _compact(lists, begins, lengths, kinds):
    """Move the lists in use next to each other; returns the start of the free space."""
    packed = np.empty_like(lists)
    free = np.int64(0)
    for i in range(begins.shape[0]):
        if kinds[i] != _GONE:
            begin = begins[i]
            begins[i] = free
            for p in range(lengths[i]):
                packed[free] = lists[begin + p]
                free += 1
    lists[:free] = packed[:free]
    return free


@inlined
def _eliminate(
    pivot, free, lists, begins, lengths, n_elements, kinds, weights, sizes,
    degrees, heads, following, preceding,
):  # fmt: skip
    """Make the pivot an element: all its neighbours, direct or by its elements, which it absorbs.

    Its list begins at `free`. Its variables leave the lists by degree, with negative weights.
    """
    _unlink(pivot, degrees[pivot], heads, following, preceding)
    weights[pivot] = 0
    size = np.int64(0)
    end = free
    split = begins[pivot] + n_elements[pivot]
    for p in range(begins[pivot], split + 1):
        if p < split:
            element = lists[p]
            kinds[element] = _GONE
            first, last = begins[element], begins[element] + lengths[element]
        else:
            first, last = split, begins[pivot] + lengths[pivot]
        for q in range(first, last):
            i = lists[q]
            if weights[i] > 0:
                size += weights[i]
                weights[i] = -weights[i]
                _unlink(i, degrees[i], heads, following, preceding)
                lists[end] = i
                end += 1
    kinds[pivot] = _ELEMENT
    sizes[pivot] = size
    begins[pivot], lengths[pivot] = free, end - free


@inlined
def _count_outside(pivot, tick, outside, lists, begins, lengths, n_elements, kinds, weights, sizes):
    """Count the variables of every other element outside the pivot's, where the two overlap."""
    for p in range(begins[pivot], begins[pivot] + lengths[pivot]):
        i = lists[p]
        for q in range(begins[i], begins[i] + n_elements[i]):
            element = lists[q]
            if kinds[element] == _ELEMENT:
                if outside[element] < tick:
                    outside[element] = tick + sizes[element]
                outside[element] += weights[i]  # the weight is negative


@inlined
def _update_lists(
    pivot, tick, outside, lists, begins, lengths, n_elements, kinds, weights, sizes,
    degrees, members, last_members, buckets, beside, hashes,
):  # fmt: skip
    """Renew the lists and degrees of the pivot's variables; put them in buckets by other links.

    The degrees do not count the pivot's element yet. Variables without other links join the pivot.
    """
    for p in range(begins[pivot], begins[pivot] + lengths[pivot]):
        i = lists[p]
        begin = begins[i]
        split = begin + n_elements[i]
        place = begin
        degree = np.int64(0)
        sum_ = np.int64(0)
        for q in range(begin, split):
            element = lists[q]
            if kinds[element] == _ELEMENT:
                rest = outside[element] - tick
                if rest > 0:
                    degree += rest
                    sum_ += element
                    lists[place] = element
                    place += 1
                else:
                    kinds[element] = _GONE  # it lies in the new element
        kept = place
        for q in range(split, begin + lengths[i]):
            j = lists[q]
            if weights[j] > 0:
                degree += weights[j]
                sum_ += j
                lists[place] = j
                place += 1
        if place == begin:
            # Only the pivot links it: no degree can be smaller.
            sizes[pivot] += weights[i]  # the weight is negative
            weights[i] = 0
            kinds[i] = _GONE
            _join(i, pivot, members, last_members)
            continue
        degrees[i] = min(degrees[i], degree)
        # The pivot or one of its elements has left the list, so there is space.
        lists[place] = lists[kept]
        lists[kept] = pivot
        n_elements[i] = kept + 1 - begin
        lengths[i] = place + 1 - begin
        sum_ %= weights.shape[0]
        hashes[i] = sum_
        beside[i] = buckets[sum_]
        buckets[sum_] = i


@inlined
def _merge_equal(
    pivot, tick, marks, lists, begins, lengths, n_elements, kinds, weights,
    members, last_members, buckets, beside, hashes,
):  # fmt: skip
    """Merge the variables of the pivot that have equal links; empty the buckets."""
    for p in range(begins[pivot], begins[pivot] + lengths[pivot]):
        i = lists[p]
        if weights[i] == 0:
            continue
        one = buckets[hashes[i]]
        buckets[hashes[i]] = -1
        while one >= 0:
            before = one
            other = beside[one]
            if other >= 0:
                mark = tick + one
                for q in range(begins[one], begins[one] + lengths[one]):
                    marks[lists[q]] = mark
            while other >= 0:
                same = lengths[other] == lengths[one] and n_elements[other] == n_elements[one]
                q = begins[other]
                while same and q < begins[other] + lengths[other]:
                    same = marks[lists[q]] == mark
                    q += 1
                if same:
                    weights[one] += weights[other]
                    weights[other] = 0
                    kinds[other] = _GONE
                    _join(other, one, members, last_members)
                    beside[before] = beside[other]
                else:
                    before = other
                other = beside[other]
            one = beside[one]


@inlined
def _put_back(
    pivot, n_left, lists, begins, lengths, kinds, weights, sizes,
    degrees, heads, following, preceding,
):  # fmt: skip
    """Put the pivot's variables back into the lists by degree; returns the least degree."""
    begin = begins[pivot]
    size = sizes[pivot]
    least = weights.shape[0]
    place = begin
    for p in range(begin, begin + lengths[pivot]):
        i = lists[p]
        if weights[i] == 0:
            continue
        weights[i] = -weights[i]
        degrees[i] = min(degrees[i] + size, n_left) - weights[i]
        _link(i, degrees[i], heads, following, preceding)
        least = min(least, degrees[i])
        lists[place] = i
        place += 1
    lengths[pivot] = place - begin
    if size == 0:
        kinds[pivot] = _GONE
    return least


@helper
def _link(i, degree, heads, following, preceding):
    """Put a variable at the front of the list of its degree."""
    after = heads[degree]
    following[i] = after
    preceding[i] = -1
    if after >= 0:
        preceding[after] = i
    heads[degree] = i


@helper
def _unlink(i, degree, heads, following, preceding):
    """Remove a variable from the list of its degree."""
    before, after = preceding[i], following[i]
    if before >= 0:
        following[before] = after
    else:
        heads[degree] = after
    if after >= 0:
        preceding[after] = before


@helper
def _join(i, to, members, last_members):
    """Merge a variable, and all merged into it, into another."""
    members[last_members[to]] = i
    last_members[to] = last_members[i]
