"""Copies of a stored object, by content or by hard links; stored files never change in place."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path

from softcosine.errors import CorruptIndexError
from softcosine.storage.disk import linked, sha256, sync
from softcosine.storage.folder import Folder
from softcosine.storage.manifest import MANIFEST

__all__ = ["copy_folder"]


def copy_folder(
    source: Folder,
    target: Path,
    *,
    links: bool,
    verify: bool = True,
    progress: Callable[[str, int, int | None], object] = lambda *_: None,
) -> None:
    """Copy a stored object atomically; the new folders are not synced.

    Parameters
    ----------
    source : Folder
    target : Path
        Must not exist.
    links : bool
        Whether to share files by hard links where the system can.
    verify : bool
        Whether to verify the checksum of every file.
    progress : callable
        Called with (name of the stage, files copied, total).

    Raises
    ------
    CorruptIndexError
        If a file has changed since it was written.
    OSError
    """
    target.mkdir(parents=True)
    try:
        for done, (name, facts) in enumerate(source.files.items()):
            progress(f"copying {target.name}", done, len(source.files))
            _copy(source.path / name, target / name, links)
            if verify and sha256(target / name) != facts["sha256"]:
                raise CorruptIndexError(
                    f"{source.path / name} has changed since it was written, so it is not copied; "
                    "softcosine admin salvage saves what is whole."
                )
        _copy(source.path / MANIFEST, target / MANIFEST, links)
    except BaseException:
        shutil.rmtree(target, ignore_errors=True)
        raise


def _copy(source: Path, target: Path, links: bool) -> None:
    target.parent.mkdir(parents=True, exist_ok=True)
    if not (links and linked(source, target)):
        shutil.copyfile(source, target, follow_symlinks=False)
        sync(target)
