"""An index as of one commit."""

from __future__ import annotations

import contextlib
import os
import re
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from types import MappingProxyType
from typing import Any, TypeVar

from softcosine.errors import CorruptIndexError
from softcosine.storage import (
    MANIFEST,
    Folder,
    check_folder,
    checksum,
    open_folder,
    parsed_manifest,
    read_manifest,
)

PARTS = "parts"
NEW = f"{MANIFEST}.new"  # the manifest of the next commit, until it is renamed
SHARED = ("space", "statistics", "meaning")  # kinds of parts that all segments share
PART_NAME = re.compile(r"[a-z]+-[0-9a-f]{16}")


KIND, VERSION = "index", 3
_ANEW = (
    "Index its documents anew (softcosine index FILES -o NEW); their texts also stand in "
    f"{PARTS}/segment-*/documents.sqlite, deleted ones too, if the index keeps texts"
)
_PATIENCE = 2.0  # seconds; Windows cannot replace a file that is being read

_T = TypeVar("_T")


@dataclass(frozen=True, slots=True)
class Commit:
    """An index as of one commit, with opened parts.

    Attributes
    ----------
    path : Path
        Of the index.
    number : int
        Number of commits so far.
    settings : dict
    parts : mapping of names to Folder
    checksum : str
        Of the manifest, which covers every file of the index.
    lease : object
        Keeps a copy from object storage on disk as long as it exists.
    """

    path: Path
    number: int
    settings: dict[str, Any]
    parts: Mapping[str, Folder]
    checksum: str = ""
    lease: object = field(default=None, repr=False, compare=False)

    @property
    def epoch(self) -> str:
        """Checksum of everything that scores depend on, except the documents; see `epoch_of`."""
        return epoch_of(self.settings, {name: one.checksum for name, one in self.parts.items()})

    def part(self, name: object) -> Folder:
        """Return a part; CorruptIndexError if the manifest does not name it."""
        if not isinstance(name, str) or name not in self.parts:
            raise CorruptIndexError(f"{self.path / MANIFEST} names no part {name!r}.")
        return self.parts[name]

    def verify(self, progress: Callable[[str, int, int | None], None] | None = None) -> None:
        """Check every checksum; CorruptIndexError names the first file that has changed.

        Parameters
        ----------
        progress : callable, optional
            Called with (task, parts done, all parts).
        """
        for done, (name, part) in enumerate(self.parts.items()):
            if progress is not None:
                progress("comparing checksums", done, len(self.parts))
            open_part(self.path, name, part.kind, part.checksum).verify()


def open_commit(path: Path, manifest: dict[str, Any], known: Mapping[str, Folder]) -> Commit:
    """Open the parts that a manifest names, except known ones.

    Raises
    ------
    CorruptIndexError
        If one is missing or altered; the message names the file.
    """
    facts = part_facts(path, manifest)
    settings = manifest["settings"]
    if manifest.get("epoch") != epoch_of(settings, {name: own for name, (_, own) in facts.items()}):
        raise CorruptIndexError(
            f"{path / MANIFEST} states the epoch {manifest.get('epoch')!r:.80}, which is not that "
            "of its parts and settings; rebuild the index."
        )
    parts = {}
    for name, (kind, stated) in facts.items():
        part = known.get(name)
        if part is None or part.checksum != stated:
            part = open_part(path, name, kind, stated, n_parts=len(facts))
        parts[name] = part
    return Commit(
        path, manifest["generation"], settings, MappingProxyType(parts), manifest["checksum"]
    )


def epoch_of(settings: Mapping[str, Any], checksums: Mapping[str, str]) -> str:
    """Return a short checksum of everything that scores depend on, except the documents.

    It covers S with its vocabulary and source, the statistics, the term weights, the fields, the
    analyzer, and the space of the documents' coordinates. In indexes of one epoch a document has
    the same term numbers and the same score.

    Parameters
    ----------
    settings : mapping
        Of an index.
    checksums : mapping of names to str
        Of its parts.
    """
    shared = {
        name: settings.get(name) for name in ("analyzer", "fields", "weighting", "meaning_weights")
    }
    if (mean := settings.get("mean_cosine")) is not None:  # earlier versions lack it
        shared["mean_cosine"] = mean
    for kind in SHARED:
        name = settings.get(kind)
        shared[kind] = checksums.get(name) if isinstance(name, str) else None
    return checksum(shared)[:16]


def part_facts(path: Path, manifest: Mapping[str, Any]) -> dict[str, tuple[str, str]]:
    """Return the kind and checksum of every part that a manifest names.

    Raises
    ------
    CorruptIndexError
        If it is not the manifest of an index, or the folder of the parts is a link.
    """
    with contextlib.suppress(FileNotFoundError):
        check_folder(path / PARTS)
    parts = manifest.get("parts")
    if type(parts) is not dict or not all(
        type(part) is dict and type(part.get("kind")) is type(part.get("checksum")) is str
        for part in parts.values()
    ):
        raise CorruptIndexError(
            f"{path / MANIFEST} lacks a part of an index: kinds and checksums of its parts; "
            "rebuild the index."
        )
    return {name: (part["kind"], part["checksum"]) for name, part in parts.items()}


def open_part(
    path: Path,
    name: str,
    kind: str,
    checksum: str,
    *,
    n_parts: int = 1,
) -> Folder:
    """Open a part; CorruptIndexError if it is missing or differs from the commit."""
    if not PART_NAME.fullmatch(name):
        raise CorruptIndexError(f"{path / MANIFEST} names a part {name!r}, which is no name.")
    folder = path / PARTS / name
    try:
        check_folder(folder)
        part = open_folder(folder, kind, n_folders=n_parts)
    except (FileNotFoundError, NotADirectoryError) as error:
        raise CorruptIndexError(
            f"{folder} is missing; rebuild the index, or restore the folder from a copy."
        ) from error
    if part.checksum != checksum:
        raise CorruptIndexError(
            f"{folder / MANIFEST} is not the one that the index was committed with; rebuild the "
            "index, or restore the file from a copy."
        )
    return part


def current_manifest(path: Path, name: str = MANIFEST) -> dict[str, Any]:
    """Return the manifest of the last commit; errors as in `softcosine.storage.open_folder`."""
    manifest = patiently(lambda: read_manifest(path, KIND, VERSION, anew=_ANEW, name=name))
    return _with_settings(manifest, path / name)


def parsed_commit(content: bytes, place: str) -> dict[str, Any]:
    """Return the manifest of a commit from the content of its file, in a folder elsewhere."""
    file = f"{place}/{MANIFEST}"
    return _with_settings(parsed_manifest(content, place, file, KIND, VERSION, anew=_ANEW), file)


def _with_settings(manifest: dict[str, Any], file: object) -> dict[str, Any]:
    number = manifest.get("generation")
    if type(number) is not int or number < 0:
        raise CorruptIndexError(
            f"{file} lacks a part of an index: it counts {number!r} commits; rebuild the index."
        )
    if type(manifest.get("settings")) is not dict:
        raise CorruptIndexError(f"{file} holds no settings; rebuild the index.")
    return manifest


def patiently(action: Callable[[], _T]) -> _T:
    """Run an action, retried on Windows while another process has the file open."""
    end = time.monotonic() + _PATIENCE
    while True:
        try:
            return action()
        except PermissionError:
            if os.name != "nt" or time.monotonic() >= end:
                raise
            time.sleep(0.005)
