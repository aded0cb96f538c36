"""An engine on disk: its own files beside the state of the index that it holds.

::

    faq.index/engines/faiss/
      manifest.json     engine, settings, route, and the commit of the index it was built from;
                        ranking: null for that of the index
      arrays.npys       numbers, digests, zeros: the document of each vector
      ids.jsonl         the same for other programs: line n is the id of the engine's vector n, as
                        JSON; null if it was deleted; for SoftNeighbors the row
      route.npys        the basis, or the singular vectors
      engine/...        the engine's own files

The folder lies beside the parts of an index, where its writer deletes nothing; replacing the index
replaces the engines too. Engines of another commit are refused: their document numbers would be
wrong.
"""

from __future__ import annotations

import contextlib
import json
from pathlib import Path
from typing import Any

from softcosine._validation import check_choice
from softcosine.engines import registry
from softcosine.engines.contents import Contents
from softcosine.engines.routes import ROUTES, Basis
from softcosine.engines.row_space import RowSpace
from softcosine.engines.state import EngineRequest, State
from softcosine.engines.subject import Owner, Subject, folder_of, subject_of
from softcosine.errors import (
    CorruptIndexError,
    IndexFormatError,
    InvalidInputError,
    SoftCosineError,
)
from softcosine.index.directory.commit import ENGINE_KIND, ENGINE_VERSION, ENGINES
from softcosine.storage import Folder, check_folder, open_folder, write_folder

__all__ = ["opened", "place", "saved"]

_FILES, _IDS = "engine", "ids.jsonl"


def place(owner: Owner, name: str) -> Path:
    """Return the folder of an engine beside an index.

    Raises
    ------
    InvalidInputError
        If the engine is unknown, or the index is in memory only.
    CorruptIndexError
        If the folder is a link, which could lead out of the index.
    """
    check_choice("engine", name, registry.ENGINES)  # the name becomes a path component
    folder = folder_of(owner)
    if folder is None:
        raise InvalidInputError(
            "this index is in memory alone, so that engines have no place beside it; name a "
            "folder, or save the index and open it first."
        )
    target = folder / ENGINES / name
    with contextlib.suppress(FileNotFoundError):
        check_folder(target.parent)
        check_folder(target)
    return target


def saved(state: State, path: str | Path | None, *, overwrite: bool) -> Path:
    """Write an engine atomically; see `EngineIndex.save`."""
    if not state.engine.capabilities.persistent:
        raise InvalidInputError(
            f"the engine {state.asked.name} keeps what it holds by itself; nothing is to be saved."
        )
    if path is None:
        target = place(state.subject.owner, state.asked.name)
        target.parent.mkdir(exist_ok=True)
    else:
        target = Path(path)
    try:
        str(target.absolute()).encode("utf-8")
    except UnicodeEncodeError as error:
        raise InvalidInputError(
            f"the path {str(target)!r} is no UTF-8, which the packages of engines need; choose "
            "another."
        ) from error
    contents, space = state.contents, state.space
    settings: dict[str, Any] = {
        "engine": state.asked.name,
        "engine_settings": dict(state.engine.settings),
        "package": state.engine.package,
        "asked": {
            "route": state.asked.route,
            "n_dimensions": int(state.asked.n_dimensions),
            "max_memory": None if state.asked.max_memory is None else int(state.asked.max_memory),
        },
        "why": state.why,
        "ranking": state.subject.given,
        "generation": state.subject.generation(),
        "content": contents.checksum(state.subject),
        "n_terms": len(state.subject.S),
        "terms": state.subject.terms(len(state.subject.S)),
        "similarity": state.subject.similarity(),
        "route": None if space is None else space.route.name,
        "scale": None if space is None else float(space.scale).hex(),
    }
    arrays = {"numbers": contents.numbers, "digests": contents.digests, "zeros": contents.zeros}
    files = {_IDS: lambda path: _write_ids(state, path)}
    if space is not None:
        arrays |= {f"route/{name}": array for name, array in space.route.arrays().items()}
        files |= {f"{_FILES}/{name}": write for name, write in state.engine.files().items()}
    write_folder(
        target, ENGINE_KIND, settings, arrays, files=files, overwrite=overwrite,
        version=ENGINE_VERSION,
    )  # fmt: skip
    return target


def _write_ids(state: State, path: Path) -> None:
    with path.open("w", encoding="ascii", newline="\n") as file:
        for id in state.document_ids():
            file.write(json.dumps(id) + "\n")


def opened(path: str | Path, owner: Owner, *, stale: bool) -> State:
    """Open an engine; see `EngineIndex.open`.

    Parameters
    ----------
    stale : bool
        Whether an engine of another state is accepted; an update must follow.
    """
    while True:
        folder = open_folder(path, ENGINE_KIND, version=ENGINE_VERSION)
        try:
            # Engines do not check their files: an altered one could crash the process.
            folder.verify()
            state = _opened(folder, owner, stale)
        except OSError:
            if _is_there(path, folder):
                raise
            continue  # the folder was replaced during the read
        if _is_there(path, folder):
            return state


def _is_there(path: str | Path, folder: Folder) -> bool:
    """Whether the path still holds the engine that was opened."""
    return open_folder(path, ENGINE_KIND, version=ENGINE_VERSION).checksum == folder.checksum


def _opened(folder: Folder, owner: Owner, stale: bool) -> State:
    try:
        return _read(folder, owner, stale)
    except (LookupError, TypeError, ValueError, AttributeError) as error:
        if isinstance(error, SoftCosineError):
            raise
        raise CorruptIndexError(
            f"{folder.path} lacks a part of an engine: {error!r}; build it anew."
        ) from error


def _read(folder: Folder, owner: Owner, stale: bool) -> State:
    stated = folder.settings
    name = str(stated["engine"])
    if name not in registry.ENGINES:
        raise IndexFormatError(
            f"{folder.path} was made by the engine {name!r}, which this softcosine does not know; "
            "install a newer one."
        )
    asked = EngineRequest(name, dict(stated["engine_settings"]), **stated["asked"])
    given = stated["ranking"]
    subject = subject_of(owner, None if given is None else str(given))
    contents = Contents(folder.array("numbers"), folder.array("digests"), folder.array("zeros"))
    if not stale:
        _check_fresh(folder, subject, contents)
    contents.check(None if stale else subject.ranked)
    engine, space = asked.engine(), None
    if stated["route"] is not None:
        kind = ROUTES[stated["route"]]
        if stale and not _readable(folder, subject, same=kind is Basis):
            raise _stale(folder, name)
        route = kind.from_arrays(folder.arrays("route"), subject.S)
        cosine = engine.capabilities.measure == "cosine"
        space = RowSpace(route, float.fromhex(stated["scale"]), cosine)
        for file in engine.files():
            folder.file(f"{_FILES}/{file}")  # only files of the manifest are checked
        try:
            engine.load(folder.path / _FILES, n_dimensions=space.n_dimensions)
        except (RuntimeError, OSError) as error:
            raise CorruptIndexError(
                f"{folder.path} cannot be read by {engine.package}; it was written by "
                f"{stated['package']}: {error}. Build it anew."
            ) from error
    return State(asked, subject, contents, space, engine, str(stated["why"]))


def _check_fresh(folder: Folder, subject: Subject, contents: Contents) -> None:
    """Raise if an engine was built from another state of the index, or from another index."""
    generation = subject.generation()
    if folder.settings["generation"] and generation:
        fresh = folder.settings["generation"] == generation
    else:  # built from an index in memory, or opened for one
        own = Contents.of(subject.ranked).checksum(subject)
        fresh = folder.settings["content"] == own
    if not fresh:
        raise _stale(folder, str(folder.settings["engine"]))


def _readable(folder: Folder, subject: Subject, *, same: bool) -> bool:
    """Whether vectors are still valid: terms have the same numbers, and S is the same."""
    stated = folder.settings
    if subject.terms(int(stated["n_terms"])) != stated["terms"]:
        return False
    return not same or subject.similarity() == stated["similarity"]


def _stale(folder: Folder, name: str) -> IndexFormatError:
    return IndexFormatError(
        f"{folder.path} is stale: it was made of another state of the index than the present one. "
        f"Build it anew: softcosine export INDEX {name}, or EngineIndex.build(index, {name!r})."
    )
