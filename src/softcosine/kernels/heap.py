"""A heap of the greatest values met, for other kernels."""

from __future__ import annotations

from softcosine.kernels.jit import helper


@helper
def push(heap, value):
    """Replace the smallest value, at the root, by a larger one."""
    size = heap.shape[0]
    parent = 0
    while True:
        child = 2 * parent + 1
        if child >= size:
            break
        if child + 1 < size and heap[child + 1] < heap[child]:
            child += 1
        if heap[child] >= value:
            break
        heap[parent] = heap[child]
        parent = child
    heap[parent] = value
