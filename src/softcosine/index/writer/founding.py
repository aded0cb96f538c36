"""The epoch of documents that are counted elsewhere: what the first commit of an index decides.

A plan of shards decides the language by the first documents (`decide`), counts all of them in
parallel, and then makes the index without documents that all shards begin with (`found`).
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import closing
from pathlib import Path
from typing import Any

from softcosine._progress import Report, silent
from softcosine.index.directory.directory import Directory
from softcosine.index.directory.manifest import IndexSettings
from softcosine.index.writer.creation import creating
from softcosine.index.writer.pending_commit import CountedDocuments, PendingCommit

__all__ = ["CountedDocuments", "decide", "found"]


def decide(directory: Directory, texts: Sequence[str], *, memory: int) -> tuple[IndexSettings, str]:
    """Return the settings of an index without documents, as its first documents decide them.

    Parameters
    ----------
    directory : Directory
        Not changed.
    texts : sequence of str
        All fields of the first document, then those of the second, and so on.
    memory : int
        Approximate limit in bytes.

    Returns
    -------
    settings : IndexSettings
    note : str
        On the language.
    """
    with closing(directory.writing(0)) as writer:
        return PendingCommit(writer, memory=memory).decided(texts)


def found(
    path: Path,
    documents: CountedDocuments,
    *,
    memory: int,
    report: Report = silent,
    **given: Any,
) -> None:
    """Make a frozen index without documents under the epoch of some documents.

    Parameters
    ----------
    path : path of a folder
    documents : CountedDocuments
    memory : int
        Approximate limit in bytes.
    report : callable, optional
        Called with (task, done, total); total may be None.
    **given
        As for `SoftIndex.create`.
    """
    with creating(path, **given) as (_, directory), closing(directory.writing(0)) as writer:
        pending = PendingCommit(writer, memory=memory, report=report)
        try:
            pending.found(documents)
        finally:
            pending.close()
