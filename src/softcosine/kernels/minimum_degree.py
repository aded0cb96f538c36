"""Elimination order by approximate minimum degree (theory T7)."""

from __future__ import annotations

import numpy as np

from softcosine.kernels.jit import helper, kernel

__all__ = ["minimum_degree"]

# Kinds of numbers: a variable that is not yet eliminated, an element (the clique that an eliminated
# variable leaves), or neither any more.
_VARIABLE, _ELEMENT, _GONE = np.int8(0), np.int8(1), np.int8(2)


@kernel("void(int64[::1], int32[::1], int32[::1])")
def minimum_degree(indptr, indices, order):  # type: ignore[no-untyped-def]
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
    n_entries = indptr[n]
    # All lists: a variable's elements, then its direct neighbours; an element's variables. Together
    # they never need more space than at the start, so with twice that, plus the largest pivot,
    # compaction is rare.
    lists = np.empty(2 * n_entries + n + 1, np.int32)
    begins = np.empty(n, np.int64)
    lengths = np.empty(n, np.int64)
    n_elements = np.zeros(n, np.int64)
    kinds = np.full(n, _VARIABLE, np.int8)
    # Number of variables that one represents; negative while it belongs to the current pivot.
    weights = np.ones(n, np.int64)
    degrees = np.empty(n, np.int64)
    sizes = np.zeros(n, np.int64)  # per element: variables, by weight
    outside = np.zeros(n, np.int64)  # per element: `tick` + variables outside the pivot
    tick = np.int64(1)
    # Doubly linked lists of variables by degree.
    heads = np.full(n + 1, -1, np.int32)
    following = np.full(n, -1, np.int32)
    preceding = np.full(n, -1, np.int32)
    # Variables that one represents.
    members = np.full(n, -1, np.int32)
    last_members = np.arange(n).astype(np.int32)
    # Variables of the current pivot by a hash of their links, and marks to compare links.
    buckets = np.full(n, -1, np.int32)
    beside = np.full(n, -1, np.int32)
    hashes = np.zeros(n, np.int64)
    marks = np.zeros(n, np.int64)
    mark = np.int64(0)

    free = np.int64(0)
    for i in range(n):
        begins[i] = free
        for p in range(indptr[i], indptr[i + 1]):
            if indices[p] != i:
                lists[free] = indices[p]
                free += 1
        lengths[i] = free - begins[i]
    for i in range(n - 1, -1, -1):  # so that the first variable of a degree is the head
        degrees[i] = lengths[i]
        _link(i, degrees[i], heads, following, preceding)

    placed = 0
    done = np.int64(0)
    least = np.int64(0)
    while placed < n:
        while heads[least] < 0:
            least += 1
        pivot = heads[least]
        if free + n - done > lists.shape[0]:
            lists, free = _compacted(lists, begins, lengths, kinds)
        _unlink(pivot, degrees[pivot], heads, following, preceding)

        # The new element: all neighbours of the pivot, direct or by its elements.
        weight = weights[pivot]
        weights[pivot] = 0
        done += weight
        start = free
        size = np.int64(0)
        begin = begins[pivot]
        split = begin + n_elements[pivot]
        for p in range(begin, split + 1):
            if p < split:
                element = lists[p]
                kinds[element] = _GONE
                first, end = begins[element], begins[element] + lengths[element]
            else:
                first, end = split, begin + lengths[pivot]
            for q in range(first, end):
                i = lists[q]
                if weights[i] > 0:
                    size += weights[i]
                    weights[i] = -weights[i]
                    _unlink(i, degrees[i], heads, following, preceding)
                    lists[free] = i
                    free += 1
        kinds[pivot] = _ELEMENT
        begins[pivot] = start

        # Variables of every other element outside the new one.
        for p in range(start, free):
            i = lists[p]
            for q in range(begins[i], begins[i] + n_elements[i]):
                element = lists[q]
                if kinds[element] == _ELEMENT:
                    if outside[element] < tick:
                        outside[element] = tick + sizes[element]
                    outside[element] += weights[i]  # the weight is negative

        # New lists and degrees of its variables.
        for p in range(start, free):
            i = lists[p]
            begin = begins[i]
            split = begin + n_elements[i]
            end = begin + lengths[i]
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
            kept = place - begin
            for q in range(split, end):
                j = lists[q]
                if weights[j] > 0:
                    degree += weights[j]
                    sum_ += j
                    lists[place] = j
                    place += 1
            if place == begin:
                # Only the pivot links it: no degree can be smaller.
                done -= weights[i]
                size += weights[i]
                weights[i] = 0
                kinds[i] = _GONE
                _join(i, pivot, members, last_members)
                continue
            degrees[i] = min(degrees[i], degree)
            # The pivot or one of its elements has left the list, so there is space.
            lists[place] = lists[begin + kept]
            lists[begin + kept] = pivot
            n_elements[i] = kept + 1
            lengths[i] = place + 1 - begin
            hashes[i] = sum_ % n
            beside[i] = buckets[hashes[i]]
            buckets[hashes[i]] = i
        tick += n + 1

        # Merge variables with equal links.
        for p in range(start, free):
            i = lists[p]
            if weights[i] == 0:
                continue
            one = buckets[hashes[i]]
            buckets[hashes[i]] = -1
            while one >= 0:
                before = one
                other = beside[one]
                if other >= 0:
                    mark += 1
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

        # Put them back into the lists by degree.
        place = start
        for p in range(start, free):
            i = lists[p]
            if weights[i] == 0:
                continue
            weights[i] = -weights[i]
            others = size - weights[i]
            degrees[i] = min(degrees[i] + others, n - done - weights[i])
            _link(i, degrees[i], heads, following, preceding)
            least = min(least, degrees[i])
            lists[place] = i
            place += 1
        free = place
        lengths[pivot] = free - start
        sizes[pivot] = size
        if size == 0:
            kinds[pivot] = _GONE

        member = pivot
        while member >= 0:
            order[placed] = member
            placed += 1
            member = members[member]


@helper
def _link(i, degree, heads, following, preceding):  # type: ignore[no-untyped-def]
    """Put a variable in front of those of its degree."""
    after = heads[degree]
    following[i] = after
    preceding[i] = -1
    if after >= 0:
        preceding[after] = i
    heads[degree] = i


@helper
def _unlink(i, degree, heads, following, preceding):  # type: ignore[no-untyped-def]
    """Remove a variable from those of its degree."""
    before, after = preceding[i], following[i]
    if before >= 0:
        following[before] = after
    else:
        heads[degree] = after
    if after >= 0:
        preceding[after] = before


@helper
def _join(i, to, members, last_members):  # type: ignore[no-untyped-def]
    """Let one variable represent another and its members."""
    members[last_members[to]] = i
    last_members[to] = last_members[i]


@helper
def _compacted(lists, begins, lengths, kinds):  # type: ignore[no-untyped-def]
    """Copy the lists in use next to each other; returns the start of the free space."""
    copy = np.empty_like(lists)
    free = np.int64(0)
    for i in range(begins.shape[0]):
        if kinds[i] != _GONE:
            begin = begins[i]
            begins[i] = free
            for p in range(lengths[i]):
                copy[free] = lists[begin + p]
                free += 1
    return copy, free
