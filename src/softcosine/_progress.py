"""Progress of long work: the callbacks, and how sources of term similarity reach them.

The protocol of sources has no argument for progress, and one source may wrap several others.
`reporting` sets the callback around a search; the source that does the work calls `report`.
For work in several stages, ``partial(report, "reading")`` is the `Progress` of one stage.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar

# Called with the work done and the total.
Progress = Callable[[int, int], None]
# Called with the name of the stage, the work done, and the total or None.
Report = Callable[[str, int, int | None], None]

_listener: ContextVar[Progress | None] = ContextVar("softcosine_progress", default=None)


@contextmanager
def reporting(progress: Progress | None) -> Iterator[None]:
    """Call ``progress(n_done, n_total)`` from searches inside the block.

    The calls come from the calling thread. A source made of several sources counts anew for each.

    Examples
    --------
    >>> from softcosine.similarity.embeddings.embedding import EmbeddingSimilarity
    >>> source = EmbeddingSimilarity(["tyre", "tire"], [[3, 4], [4, 3]])
    >>> with reporting(lambda done, total: print(f"{done} of {total}")):
    ...     _ = source.neighbors(source.words, source.words, max_neighbors=1)
    2 of 2
    """
    token = _listener.set(progress)
    try:
        yield
    finally:
        _listener.reset(token)


def report(done: int, total: int) -> None:
    """Call the callback that `reporting` set, if any."""
    progress = _listener.get()
    if progress is not None:
        progress(done, total)


def silent(what: str, done: int, total: int | None) -> None:
    """No-op `Report`."""
