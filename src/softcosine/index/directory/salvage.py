"""Salvage: a new index from the undamaged segments of a damaged one."""

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

_OPTIONAL = ("norms", "coordinates")  # kinds of parts that documents can be without
_MEANING_LOST = " The documents lose their coordinates; `softcosine admin encode` makes them again."
_SOURCE_LOST = (
    " The source of the similarities is lost, so that words that no document has are unknown in "
    "queries and new words are similar to no other; SoftIndex.open(path, source=...) gives it one."
)


@dataclass(frozen=True, slots=True)
class Salvaged:
    """The result of `SoftIndex.salvage`.

    Attributes
    ----------
    n_docs : int
        Number of documents in the new index.
    n_lost : int
        Number of documents in lost segments, deleted ones included.
    damage : tuple of str
        A description of the damage of each part, with the file name.
    """

    n_docs: int
    n_lost: int
    damage: tuple[str, ...]


def salvage(path: str | Path, to: str | Path, *, overwrite: bool) -> Salvaged:
    """Copy all segments without any altered byte to a new index; see `SoftIndex.salvage`.

    Damaged norms and statistics are recomputed; a damaged source of term similarity and damaged
    coordinates are left out. Segments are salvaged completely or not at all, because every document
    needs its id, its metadata and its delete mark.
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
    meaning = settings.meaning if settings.meaning in parts else None
    if settings.meaning is not None and meaning is None:
        damage[settings.meaning] += _MEANING_LOST
    for one in settings.segments:
        if one.coordinates in damage:
            damage[one.coordinates] += _MEANING_LOST
    same_epoch = counted and meaning == settings.meaning  # norms belong to an epoch
    whole = [
        replace(
            segment,
            norms=segment.norms if same_epoch and segment.norms in parts else None,
            coordinates=segment.coordinates if meaning and segment.coordinates in parts else None,
        )
        for segment in settings.segments
        if _is_whole(segment, parts, damage)
    ]
    lost = {one.part: one.n_docs for one in settings.segments}
    for one in whole:
        del lost[one.part]
    left = replace(
        settings, segments=tuple(whole), statistics=settings.statistics if counted else None,
        meaning=meaning,
    )  # fmt: skip
    generation = Commit(
        path, manifest["generation"], left.to_dict(), MappingProxyType(parts),
        manifest["checksum"],
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
    """Open S and its vocabulary if only files of the source are damaged; OSError otherwise."""
    if name not in facts:
        raise CorruptIndexError(f"{path / MANIFEST} does not list the part {name}.")
    part = open_part(path, name, *facts[name], without="source.")
    part.verify()
    return replace(part, settings={**part.settings, "source": None})


def _whole_parts(path: Path, manifest: dict[str, Any]) -> tuple[dict[str, Folder], dict[str, str]]:
    """Return the undamaged parts, and a description of the damage of the others."""
    parts, damage = {}, {}
    for name, (kind, checksum) in part_facts(path, manifest).items():
        try:
            part = open_part(path, name, kind, checksum)
            part.verify()
            parts[name] = part
        except OSError as error:  # including our errors for files, and disk errors
            damage[name] = str(error)
    return parts, damage


def _is_whole(segment: SegmentSettings, parts: dict[str, Folder], damage: dict[str, str]) -> bool:
    needed = {name for name, kind in segment.parts.items() if kind not in _OPTIONAL}
    if not needed <= parts.keys():
        return False
    try:
        read_segment(parts[segment.part])
        if segment.updates is not None:
            read_updates(parts[segment.updates], segment.n_docs)
    except (OSError, KeyError, TypeError, ValueError) as error:
        damage[segment.part] = str(error)
        return False
    return True


def _counted(snapshot: Snapshot) -> Snapshot:
    """Return the snapshot with recomputed statistics."""
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
