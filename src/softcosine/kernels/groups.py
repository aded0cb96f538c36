"""Groups of near duplicates, from a stream of pairs."""

from __future__ import annotations

from softcosine.kernels.jit import kernel


@kernel("void(int64[::1], int64[::1], int64[::1])")
def unite(parents, first, second):
    """Join the trees of both ends of every pair; the earliest document is the root.

    `parents` (n,), initially each its own, is updated. Nearly O(pairs).
    """
    for p in range(first.shape[0]):
        a, b = first[p], second[p]
        while parents[a] != a:
            parents[a] = parents[parents[a]]
            a = parents[a]
        while parents[b] != b:
            parents[b] = parents[parents[b]]
            b = parents[b]
        if a < b:
            parents[b] = a
        else:
            parents[a] = b


@kernel("void(int64[::1])")
def roots_of(parents):
    """Replace every parent by the root of its tree. Parents come earlier, so one pass is enough."""
    for a in range(parents.shape[0]):
        parents[a] = parents[parents[a]]


@kernel("void(int64[::1], int64[::1], float64[::1], int64[::1], float64[::1])")
def follow(first, second, similarities, leaders, best):
    """Make the second document of each pair follow the first, unless the first is a follower.

    Pairs are sorted by (first, second), so all pairs of a document with earlier ones precede those
    in which it is first.
    `leaders` (n,), initially each its own, and `best` (n,), initially zeros, are updated: a
    follower keeps its most similar leader; ties go to the earliest.
    """
    for p in range(first.shape[0]):
        a, b = first[p], second[p]
        if leaders[a] == a and similarities[p] > best[b]:
            leaders[b] = a
            best[b] = similarities[p]
