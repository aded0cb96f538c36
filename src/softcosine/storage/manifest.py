"""The manifest of a stored object: its kind, version, content and own checksum."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from softcosine.errors import CorruptIndexError, IndexFormatError, InvalidInputError
from softcosine.storage.disk import open_regular

_ANEW = "Build it anew with this one"
_SHARDS = " Open it with ShardedIndex.open, or open a single shard, such as {}/shard-0000."
FORMAT_VERSION = 2  # version of kinds that name no other
MANIFEST = "manifest.json"


def signed_manifest(kind: str, version: int, content: Mapping[str, Any]) -> dict[str, Any]:
    """Return a manifest with its checksum; InvalidInputError if it is not JSON-serialisable."""
    manifest = {"format": f"softcosine-{kind}", "version": version, **content}
    try:
        manifest["checksum"] = checksum(manifest)
    except (TypeError, ValueError) as error:
        told = f"settings of this {kind} cannot be written as JSON: {error}."
        raise InvalidInputError(told) from error
    return manifest


def write_manifest(manifest: Mapping[str, Any], file: Path) -> None:
    """Write the result of `signed_manifest` to a new file, replacing any of that name."""
    text = json.dumps(manifest, ensure_ascii=True, indent=1, sort_keys=True)
    file.unlink(missing_ok=True)  # it could be a link
    with file.open("x", encoding="utf-8") as stream:
        stream.write(text + "\n")


def read_manifest(
    folder: Path,
    kind: str,
    version: int,
    *,
    anew: str = _ANEW,
    name: str = MANIFEST,
) -> dict[str, Any]:
    """Return the manifest of a folder, checked; `anew` is the advice for an older version.

    Raises
    ------
    FileNotFoundError
        If `folder` does not exist.
    IndexFormatError
        If it is not a stored object of this kind, or has an unreadable version.
    CorruptIndexError
        If the manifest is altered, or is a link.
    """
    file = folder / name
    try:
        with open_regular(file) as stream:
            content = stream.read()
    except (FileNotFoundError, NotADirectoryError, IsADirectoryError):
        if not folder.exists():
            raise FileNotFoundError(f"there is no {named(kind)} at {folder}.") from None
        raise IndexFormatError(
            f"{folder} is no softcosine {named(kind)}: it has no {name}."
        ) from None
    return parsed_manifest(content, folder, file, kind, version, anew=anew)


def parsed_manifest(
    content: bytes, folder: object, file: object, kind: str, version: int, *, anew: str = _ANEW
) -> dict[str, Any]:
    """Return the manifest in a file's content, checked; the errors name the folder and the file."""
    try:
        manifest, own = _parsed(content)
        found, given = manifest["format"], manifest["version"]
    except (ValueError, TypeError, KeyError, RecursionError) as error:
        reason = f"it has no {error}" if isinstance(error, KeyError) else error
        raise CorruptIndexError(f"{file} is not a readable manifest: {reason}.") from error
    if found != f"softcosine-{kind}":
        held = named(str(found).removeprefix("softcosine-"))
        shards = (found, kind) == ("softcosine-shards", "index")
        raise IndexFormatError(
            f"{folder} holds a softcosine {held}; a softcosine {named(kind)} was needed."
            + (_SHARDS.format(folder) if shards else "")
        )
    if given != version:
        newer = isinstance(given, int) and given > version
        raise IndexFormatError(
            f"{folder} has format version {given}; this softcosine reads version {version}. "
            + ("Install a newer softcosine" if newer else anew)
            + ", or use the softcosine that wrote it."
        )
    if manifest.get("checksum") != own:
        raise CorruptIndexError(f"{file} has changed since it was written.")
    return manifest


def named(kind: str) -> str:
    """Return the name of a kind of stored object in messages."""
    return "sharded index" if kind == "shards" else kind


def is_stored(path: Path, kind: str) -> bool:
    """Whether a path holds a stored object of this kind, of any version, damaged or not."""
    try:
        with open_regular(path / MANIFEST) as stream:
            return is_manifest(stream.read(), kind)
    except (OSError, ValueError):  # such as a path with a NUL character
        return False


def is_manifest(content: bytes, kind: str) -> bool:
    """Whether the content of a file is a manifest of this kind, of any version, or damaged."""
    try:
        return bool(_parsed(content)[0]["format"] == f"softcosine-{kind}")
    except (ValueError, TypeError, KeyError, RecursionError):
        return False


def _parsed(content: bytes) -> tuple[dict[str, Any], str]:
    """Return a manifest, and the checksum that it should have."""
    manifest = dict(json.loads(content))
    return manifest, checksum(manifest)


def checksum(manifest: Mapping[str, Any]) -> str:
    """Return the checksum of a manifest without its own checksum entry."""
    content = {name: value for name, value in manifest.items() if name != "checksum"}
    return hashlib.sha256(json.dumps(content, sort_keys=True).encode()).hexdigest()
