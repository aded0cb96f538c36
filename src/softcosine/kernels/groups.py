"""Groups of near duplicates from a stream of pairs."""

from __future__ import annotations

from softcosine.kernels.jit import kernel

__all__ = ["follow", "roots_of", "unite"]


@kernel("void(int64[::1], int64[::1], int64[::1])")
def unite(parents, first, second):  # type: ignore[no-untyped-def]
    """Join the trees of both ends of every pair; the earliest of a tree is its root.

    `parents` (n,), each itself at first, is updated. Nearly O(pairs).
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
def roots_of(parents):  # type: ignore[no-untyped-def]
    """Replace every parent by the root of its tree. Parents are earlier, so that one pass does."""
    for a in range(parents.shape[0]):
        parents[a] = parents[parents[a]]


@kernel("void(int64[::1], int64[::1], float64[::1], int64[::1], float64[::1])")
def follow(first, second, similarities, leaders, best):  # type: ignore[no-untyped-def]
    """Let every pair's second document follow the first, if that follows none itself.

    The pairs stand by (first, second), so a document has met all earlier ones when it comes
    first. `leaders` (n,), each itself at first, and `best` (n,), zeros at first, are updated: a
    follower keeps its most similar leader, the earliest of equals.
    """
    for p in range(first.shape[0]):
        a, b = first[p], second[p]
        if leaders[a] == a and similarities[p] > best[b]:
            leaders[b] = a
            best[b] = similarities[p]
