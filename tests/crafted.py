"""Stored folders that somebody altered, with every checksum computed again.

Checksums are plain SHA-256: whoever can change a file can sign it anew. Each function here changes
something of an index folder, or of another stored folder, and then signs all of it, so that what
opens the folder meets the change and not a wrong checksum.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import sqlite3
from collections.abc import Callable
from contextlib import closing
from io import BytesIO
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from softcosine.index.directory.commit import epoch_of

__all__ = [
    "array_at",
    "array_names",
    "array_of",
    "npy",
    "part_folder",
    "patch_array",
    "read_array",
    "rewrite_array",
    "rewrite_index_manifest",
    "rewrite_manifest",
    "rewrite_raw_array",
    "rewrite_settings",
    "rewrite_sql",
    "set_array",
    "sign",
]

MANIFEST = "manifest.json"

Manifest = dict[str, Any]


def part_folder(folder: Path, part: str) -> Path:
    """Return the folder of a part of an index, given its name or its kind if it is the only one.

    An empty `part` is the folder itself, as of a saved matrix.
    """
    if not part:
        return Path(folder)
    found = sorted((Path(folder) / "parts").glob(part if "-" in part else f"{part}-*"))
    if len(found) != 1:
        raise LookupError(f"{folder} has {len(found)} parts {part!r}")
    return found[0]


def read_array(folder: Path, part: str, name: str) -> np.ndarray:
    """Return an array of a part, such as ``"0/entries"``, for changing."""
    return array_of(part_folder(folder, part), name)


def array_at(stored: Path, name: str) -> tuple[Path, int, int]:
    """Return the file of an array in a stored folder, and where its numbers begin and end."""
    file, start = _place(stored, name)
    with file.open("rb") as stream:
        stream.seek(start)
        np.load(stream)
        stop = stream.tell()
        stream.seek(start + 8)
        return file, start + 10 + int.from_bytes(stream.read(2), "little"), stop


def array_of(stored: Path, name: str) -> np.ndarray:
    """Return an array of a stored folder."""
    file, start = _place(stored, name)
    with file.open("rb") as stream:
        stream.seek(start)
        return np.load(stream, allow_pickle=False)


def array_names(stored: Path) -> list[str]:
    """Return the names of all arrays of a stored folder."""
    manifest = json.loads((Path(stored) / MANIFEST).read_text())
    return [name for facts in manifest["files"].values() for name in facts.get("arrays", {})]


def patch_array(
    stored: Path, name: str, change: Callable[[bytearray, int], object] | np.ndarray | None = None
) -> Path:
    """Change the bytes of an array in place, its last one by default, and sign nothing.

    Returns its file.
    """
    file, first, stop = array_at(stored, name)
    content = bytearray(file.read_bytes())
    own = content[first:stop]
    if isinstance(change, np.ndarray):
        own[:] = change.tobytes()
    elif change is None:
        own[-1] ^= 1
    else:
        change(own, 0)
    content[first:stop] = own
    file.write_bytes(content)
    return file


def set_array(stored: Path, name: str, content: bytes) -> None:
    """Have a manifest say that an array is other bytes, behind those that are there."""
    file, _ = _place(stored, name)
    whole = file.read_bytes()
    start = -(-len(whole) // 64) * 64
    file.write_bytes(whole.ljust(start, b"\0") + content)

    def move(manifest: Manifest) -> None:
        manifest["files"][file.name]["arrays"][name] = start

    _rewrite(Path(stored) / MANIFEST, move)


def npy(array: ArrayLike) -> bytes:
    """Return what np.save writes."""
    stream = BytesIO()
    np.save(stream, np.asarray(array), allow_pickle=True)
    return stream.getvalue()


def _place(stored: Path, name: str) -> tuple[Path, int]:
    manifest = json.loads((Path(stored) / MANIFEST).read_text())
    for file, facts in manifest["files"].items():
        if name in facts.get("arrays", {}):
            return Path(stored) / file, facts["arrays"][name]
    raise LookupError(f"{stored} has no array {name}")


def rewrite_array(folder: Path, part: str, name: str, array: ArrayLike) -> None:
    """Write another array, of any type and shape, and sign everything."""
    rewrite_raw_array(folder, part, name, npy(array))


def rewrite_raw_array(folder: Path, part: str, name: str, content: bytes) -> None:
    """Write other bytes in place of an array, header and all, and sign everything."""
    set_array(part_folder(folder, part), name, content)
    sign(folder)


def rewrite_sql(folder: Path, part: str, *statements: str) -> None:
    """Run SQL on a part's ``documents.sqlite`` and sign everything."""
    with closing(sqlite3.connect(part_folder(folder, part) / "documents.sqlite")) as connection:
        for statement in statements:
            connection.execute(statement)
        connection.commit()
    sign(folder)


def rewrite_manifest(folder: Path, part: str, change: Callable[[Manifest], None]) -> None:
    """Change the manifest of a part in place, as it is read from JSON, and sign everything.

    What the change says of files stays as it says.
    """
    _rewrite(part_folder(folder, part) / MANIFEST, change)
    _sign_index(Path(folder))


def rewrite_settings(folder: Path, part: str, **settings: Any) -> None:
    """Give some settings of a part other values and sign everything."""
    rewrite_manifest(folder, part, lambda manifest: manifest["settings"].update(settings))


def rewrite_index_manifest(folder: Path, change: Callable[[Manifest], None]) -> None:
    """Change the manifest of an index in place and sign it, and all that records its epoch."""
    stated = json.loads((Path(folder) / MANIFEST).read_text()).get("epoch")
    _rewrite(Path(folder) / MANIFEST, change)
    if json.loads((Path(folder) / MANIFEST).read_text()).get("epoch") == stated:
        _sign_epoch(Path(folder))


def sign(folder: Path) -> None:
    """Compute sizes and checksums of all files that manifests name, and of the manifests."""
    folder = Path(folder)
    for part in _part_folders(folder):
        _rewrite(part / MANIFEST, lambda manifest, part=part: _measure(part, manifest))
    _sign_index(folder)


def _part_folders(folder: Path) -> list[Path]:
    """Return the folders of the parts of an index; of another stored object the folder itself."""
    names = json.loads((folder / MANIFEST).read_text()).get("parts")
    return [folder] if names is None else [folder / "parts" / name for name in names]


def _sign_index(folder: Path) -> None:
    def take_checksums(manifest: Manifest) -> None:
        for name, facts in manifest.get("parts", {}).items():
            part = folder / "parts" / name / MANIFEST
            facts["checksum"] = json.loads(part.read_text())["checksum"]

    _rewrite(folder / MANIFEST, take_checksums)
    _sign_epoch(folder)


def _sign_epoch(folder: Path) -> None:
    """Have the manifest of an index, and the norms that were of its epoch, state the epoch."""

    def take_epoch(manifest: Manifest) -> None:
        stated, parts = manifest.get("epoch"), manifest["parts"]
        checksums = {name: facts["checksum"] for name, facts in parts.items()}
        manifest["epoch"] = epoch_of(manifest["settings"], checksums)
        for name in parts:
            norms = folder / "parts" / name / MANIFEST
            if name.startswith("norms-") and norms.is_file():
                own = json.loads(norms.read_text())
                if (own["settings"]["epoch"], own["checksum"]) == (stated, checksums[name]):
                    _rewrite(norms, lambda own: own["settings"].update(epoch=manifest["epoch"]))
                    parts[name]["checksum"] = json.loads(norms.read_text())["checksum"]

    # What was made of the manifests may be no index.
    with contextlib.suppress(AttributeError, LookupError, TypeError):
        _rewrite(folder / MANIFEST, take_epoch)


def _measure(part: Path, manifest: Manifest) -> None:
    for name, facts in manifest["files"].items():
        if (part / name).is_file():
            content = (part / name).read_bytes()
            facts.update(bytes=len(content), sha256=hashlib.sha256(content).hexdigest())


def _rewrite(file: Path, change: Callable[[Manifest], None]) -> None:
    manifest = json.loads(file.read_text())
    change(manifest)
    manifest.pop("checksum", None)
    text = json.dumps(manifest, sort_keys=True)
    manifest["checksum"] = hashlib.sha256(text.encode()).hexdigest()
    file.write_text(json.dumps(manifest, sort_keys=True))


def all_ones(content, start):
    content[start:] = b"\xff" * (len(content) - start)


def random(content, start):
    content[start:] = np.random.default_rng(0).bytes(len(content) - start)


def first_byte(content, start):
    if len(content) > start:
        content[start] ^= 0x40
