"""What is left of an index whose files were altered, cut short or lost."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path
from types import MappingProxyType
from typing import Any

from softcosine.errors import CorruptIndexError, InvalidInputError
from softcosine.index.directory.commit import (
    KIND,
    Commit,
    current_manifest,
    open_part,
    part_facts,
)
from softcosine.index.directory.folder import save
from softcosine.index.directory.manifest import IndexSettings, SegmentSettings
from softcosine.index.directory.snapshot import Snapshot
from softcosine.index.directory.stored import read_segment, read_snapshot, read_updates
from softcosine.index.segment.statistics import FieldStatistics
from softcosine.storage import MANIFEST, Folder, check_target, checked_path

__all__ = ["Salvaged", "salvage"]


_SOURCE_LOST = (
    " The source of the similarities is lost, so that words that no document has are unknown in "
    "queries and new words are similar to no other; SoftIndex.open(path, source=...) gives it one."
)


@dataclass(frozen=True, slots=True)
class Salvaged:
    """What could be read of a damaged index, and what could not.

    Attributes
    ----------
    n_docs : int
        Documents that are left.
    n_lost : int
        Documents of the segments that are not; some of them may have been deleted before.
    damage : tuple of str
        What is wrong with each part, the file named.
    """

    n_docs: int
    n_lost: int
    damage: tuple[str, ...]


def salvage(path: str | Path, to: str | Path, *, overwrite: bool) -> Salvaged:
    """Save all segments of which every byte is as it was written; see `SoftIndex.salvage`.

    Norms and statistics that are damaged are computed anew, and a damaged source of similarities is
    left out. A segment is left out whole, since a
    document must have its id, its metadata, and a mark whether it was deleted.
    """
    target = checked_path(to)
    check_target(target, KIND, overwrite=overwrite)
    if target.resolve() == checked_path(path).resolve():
        raise InvalidInputError(f"{to} is the damaged index itself; save what is left elsewhere.")
    snapshot, report = _read(checked_path(path))
    save(snapshot, target, overwrite=overwrite)
    return report


def _read(path: Path) -> tuple[Snapshot, Salvaged]:
    manifest = current_manifest(path)
    parts, damage = _whole_parts(path, manifest)
    settings = IndexSettings.from_dict(manifest["settings"])
    for name in settings.parts:
        if name not in parts:
            damage.setdefault(name, f"{path / MANIFEST} does not list the part {name}.")
    facts = part_facts(path, manifest)
    if settings.space is not None and settings.space not in parts:
        try:
            parts[settings.space] = _without_source(path, settings.space, facts)
        except OSError as error:
            raise CorruptIndexError(
                f"{path} cannot be salvaged without its vocabulary: {damage[settings.space]}"
            ) from error
        damage[settings.space] += _SOURCE_LOST
    counted = settings.statistics is None or settings.statistics in parts
    whole = [
        replace(segment, norms=segment.norms if counted and segment.norms in parts else None)
        for segment in settings.segments
        if _is_whole(segment, parts, damage)
    ]
    lost = {one.part: one.n_docs for one in settings.segments}
    for one in whole:
        del lost[one.part]
    left = replace(
        settings, segments=tuple(whole), statistics=settings.statistics if counted else None
    )
    generation = Commit(
        path, manifest["generation"], left.to_dict(), MappingProxyType(parts),
        manifest["checksum"], {name: kind for name, (kind, _) in facts.items()},
    )  # fmt: skip
    snapshot = read_snapshot(generation)
    if lost and not snapshot.n_docs:
        raise CorruptIndexError(
            f"nothing can be salvaged of {path}: no document is left, up to {sum(lost.values()):,} "
            f"are lost. {' '.join(damage.values())}"
        )
    if not counted:
        snapshot = _counted(snapshot)
    report = Salvaged(snapshot.n_docs, sum(lost.values()), tuple(damage.values()))
    return snapshot, report


def _without_source(path: Path, name: str, facts: dict[str, tuple[str, str]]) -> Folder:
    """Open S and its vocabulary where files of the source alone are damaged; OSError if not."""
    if name not in facts:
        raise CorruptIndexError(f"{path / MANIFEST} does not list the part {name}.")
    part = open_part(path, name, *facts[name], without="source.")
    part.verify()
    return replace(part, settings={**part.settings, "source": None})


def _whole_parts(path: Path, manifest: dict[str, Any]) -> tuple[dict[str, Folder], dict[str, str]]:
    """Return the parts of which every checksum is right, and what is wrong with the others."""
    parts, damage = {}, {}
    for name, (kind, checksum) in part_facts(path, manifest).items():
        try:
            part = open_part(path, name, kind, checksum)
            part.verify()
            parts[name] = part
        except OSError as error:  # also our own of files, and those of a disk that fails
            damage[name] = str(error)
    return parts, damage


def _is_whole(segment: SegmentSettings, parts: dict[str, Folder], damage: dict[str, str]) -> bool:
    if not all(name in parts for name, kind in segment.parts.items() if kind != "norms"):
        return False
    try:
        read_segment(parts[segment.part], part=segment.part)
        if segment.updates is not None:
            read_updates(parts[segment.updates])
    except (OSError, KeyError, TypeError, ValueError) as error:
        damage[segment.part] = str(error)
        return False
    return True


def _counted(snapshot: Snapshot) -> Snapshot:
    """Return the snapshot with its statistics counted anew."""
    live = [segment.live for segment in snapshot.segments]
    return snapshot.changed(
        statistics=tuple(
            FieldStatistics.of(
                [segment.fields[number] for segment in snapshot.segments], len(snapshot.S),
                live=live,
            )
            for number in range(len(snapshot.fields))
        )
    )  # fmt: skip
