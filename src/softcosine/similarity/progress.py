"""How far a long search has come, told to whoever waits for it.

The protocol of sources has no word for progress, and a source may be wrapped in several others.
Who asks says so around the question; the source that does the work reports.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar

__all__ = ["Progress", "Report", "report", "reporting", "silent"]

Progress = Callable[[int, int], None]
# What is being done, how far, and out of how many or None.
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
    """Tell the one who waits, if there is one."""
    progress = _listener.get()
    if progress is not None:
        progress(done, total)


def silent(what: str, done: int, total: int | None) -> None:
    """No-op `Report`."""
