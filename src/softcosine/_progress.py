"""Progress of long work: the callbacks, and how one reaches the sources that do the work.

The protocol of sources has no argument for progress, and a source may be wrapped in several
others. `reporting` sets the callback around a search; the source that does the work calls `report`.
Where work has several stages, ``partial(report, "reading")`` is the `Progress` of one of them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar

__all__ = ["Progress", "Report", "report", "reporting", "silent"]

# Called with how far the work is, and out of how many.
Progress = Callable[[int, int], None]
# Called with what is being done, how far it is, and out of how many or None.
Report = Callable[[str, int, int | None], None]

_listener: ContextVar[Progress | None] = ContextVar("softcosine_progress", default=None)


@contextmanager
def reporting(progress: Progress | None) -> Iterator[None]:
    """Have searches inside the block call ``progress(terms done, terms in all)``.

    They call from the thread that asked. A source made of several counts anew for each.

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
    """Call what `reporting` set, if anything."""
    progress = _listener.get()
    if progress is not None:
        progress(done, total)


def silent(what: str, done: int, total: int | None) -> None:
    """No-op `Report`."""
