"""Updates of an engine after changes of its index."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from softcosine._progress import Report
from softcosine._threads import n_threads
from softcosine.engines.contents import Changes, vectors_of_slots
from softcosine.engines.row_space import RowSpace
from softcosine.engines.state import State, told
from softcosine.engines.subject import Subject
from softcosine.errors import InvalidInputError

__all__ = ["Update", "followed"]


@dataclass(frozen=True, slots=True)
class Update:
    """Result of an update; false if there was nothing to do.

    Attributes
    ----------
    n_added, n_deleted : int
        Numbers of vectors.
    rebuilt : bool
        Whether all vectors were added anew because most had changed, as when weights change.
    """

    n_added: int = 0
    n_deleted: int = 0
    rebuilt: bool = False

    def __bool__(self) -> bool:
        return self.rebuilt or self.n_added > 0 or self.n_deleted > 0


def followed(
    state: State, subject: Subject, *, threads: int | None, progress: Report
) -> tuple[State, Update]:
    """Return the engine's state for the newer index; do not use the old one afterwards.

    Raises
    ------
    InvalidInputError
        If the engine must be built anew instead. The old state stays valid.
    """
    if state.space is None:  # there were no vectors
        made = State.made(state.asked, subject, threads=threads, progress=progress)
        return made, Update(len(made.contents.numbers), 0, made.space is not None)
    if not state.space.route.follows(subject.S):
        raise _anew(state, "S has changed, and with it the basis of all vectors")
    progress("comparing documents", 0, None)
    changes = state.contents.changes(subject.ranked)
    n_added, n_gone = len(changes.added), len(changes.gone)
    able = state.engine.capabilities
    for n, can, what in ((n_added, able.adds, "take in"), (n_gone, able.deletes, "delete")):
        if n and not can:
            raise _anew(state, f"{n:,} documents have changed, and it can {what} none")
    if n_added > changes.contents.n_live // 2 or not _fit(state.space, subject, changes):
        return _refilled(state, subject, changes, threads, progress)
    done, first = 0, len(state.contents.numbers)
    for numbers, rows in subject.ranked.documents():
        chosen = np.isin(numbers, changes.added)
        if chosen.any():
            progress("adding vectors", done, n_added)
            block = state.space.rows(rows[chosen])
            state.engine.add(first + done, block, threads=n_threads(threads))
            done += block.shape[0]
    if n_gone:
        state.engine.delete(changes.gone)
    newer = replace(state, subject=subject, contents=changes.contents)
    return newer, Update(n_added, n_gone)


def _refilled(
    state: State, subject: Subject, changes: Changes, threads: int | None, progress: Report
) -> tuple[State, Update]:
    """Put all documents of the newer state into a new engine of the same route."""
    assert state.space is not None
    engine = state.asked.engine()
    contents = type(state.contents).of(subject.ranked)
    space = RowSpace.of(state.space.route, subject.ranked, engine.capabilities)
    vectors = vectors_of_slots(space, subject.ranked, contents)
    engine.build(told(vectors, progress), threads=n_threads(threads))
    newer = replace(state, subject=subject, contents=contents, space=space, engine=engine)
    return newer, Update(len(changes.added), len(changes.gone), rebuilt=True)


def _fit(space: RowSpace, subject: Subject, changes: Changes) -> bool:
    """Whether the vectors to add fit into the row space."""
    for numbers, rows in subject.ranked.documents() if space.cosine else ():
        if not space.holds(rows[np.isin(numbers, changes.added)]):
            return False
    return True


def _anew(state: State, why: str) -> InvalidInputError:
    name = state.asked.name
    return InvalidInputError(
        f"the engine {name} cannot follow the index: {why}. Build it anew: "
        f"EngineIndex.build(index, {name!r}), or softcosine export INDEX {name}."
    )
