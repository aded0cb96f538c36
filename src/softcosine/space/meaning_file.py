"""Spaces of meaning in files: a projection and a query table, as an ``.npz`` archive."""

from __future__ import annotations

import json
from collections.abc import Mapping
from functools import cache
from importlib.resources import as_file, files
from pathlib import Path
from typing import Any

import numpy as np

from softcosine.encoders.loading import MINILM
from softcosine.errors import MalformedFileError
from softcosine.matrix.stored import source_settings, source_state
from softcosine.similarity.bundled import check_reference, reference_to
from softcosine.space.meaning import STATIC, MeaningSpace
from softcosine.storage.disk import NPZ_ERRORS, checked_path, written_beside

_SETTINGS, _PREFIX = "settings", "meaning"


def save_meaning(space: MeaningSpace, path: str | Path) -> None:
    """Save a space as an ``.npz`` archive; an existing file is replaced."""
    arrays: dict[str, Any] = {}
    settings = source_settings(space.state(), _PREFIX, arrays)
    text = json.dumps(settings, sort_keys=True).encode()
    arrays[_SETTINGS] = np.frombuffer(text, np.uint8)
    with written_beside(checked_path(path)) as new, new.open("wb") as file:
        np.savez(file, **arrays)


def load_meaning(path: str | Path) -> MeaningSpace:
    """Return a saved space.

    Raises
    ------
    MalformedFileError
        If the file is not a space of meaning, is cut short, or was altered.
    """
    path = checked_path(path)
    with path.open("rb") as file:
        try:
            with np.load(file, allow_pickle=False) as archive:
                arrays = {name: np.asarray(archive[name]) for name in archive.files}
        # AttributeError, TypeError: a single array instead of an archive.
        except (AttributeError, TypeError, MemoryError, *NPZ_ERRORS) as error:
            # NumPy takes every other file for a pickle, and suggests to load it.
            other = "a file of another kind, or arrays of Python objects"
            problem = other if "pickle" in str(error) else str(error)
            raise MalformedFileError(path, f"not a readable .npz archive: {problem}") from error
    if _SETTINGS not in arrays:
        held = ", ".join(arrays) or "nothing"
        raise MalformedFileError(path, f"not a space of meaning: the archive holds {held}.")
    try:
        settings = json.loads(arrays.pop(_SETTINGS).tobytes())
        return MeaningSpace.from_state(source_state(settings, f"{_PREFIX}/", arrays))
    # ValueError: also InvalidInputError.
    except (ValueError, LookupError, TypeError, AttributeError, RecursionError) as error:
        raise MalformedFileError(path, f"not a space of meaning: {error}") from None


_FILE = "meaning.npz"


@cache
def bundled_meaning() -> MeaningSpace:
    """Return the bundled space; read once per process.

    ``data/CARD.md`` of `softcosine.space` describes its origin and licence.
    """
    with as_file(files("softcosine.space") / "data" / _FILE) as path:
        return load_meaning(path)


@cache
def bundled_static() -> MeaningSpace:
    """Return the bundled space for documents that are sums over its query table."""
    return MeaningSpace(STATIC, table=bundled_meaning().table)


_BUNDLED = {MINILM: bundled_meaning, STATIC: bundled_static}


def reference(meaning: MeaningSpace) -> dict[str, str] | None:
    """Return what an index stores in place of a bundled space; None for another space."""
    bundled = _BUNDLED.get(meaning.encoder)
    if bundled is None or meaning != bundled():
        return None
    return {**reference_to(_FILE), "encoder": meaning.encoder}


def referred_to(stored: Mapping[str, Any]) -> MeaningSpace:
    """Return a bundled space; IndexFormatError if the package has another one."""
    check_reference(stored, _FILE)
    return _BUNDLED[stored["encoder"]]()
