"""The folders of the user's data, such as cached encodings of texts, and of the user's caches."""

from __future__ import annotations

import os
import sys
from pathlib import Path


def data_folder() -> Path | None:
    """Return the folder of the user's data; SOFTCOSINE_HOME overrides it.

    None if the user has no home folder, as in some containers. The folder may not exist yet.
    """
    given = os.environ.get("SOFTCOSINE_HOME")
    if given:
        return Path(given)
    try:
        return _folder("XDG_DATA_HOME", ".local/share", "Application Support", "softcosine")
    except RuntimeError:
        return None


def cache_folder() -> Path:
    """Return the folder of what can be fetched again; SOFTCOSINE_CACHE overrides it.

    The folder may not exist yet.

    Raises
    ------
    FileNotFoundError
        If the user has no home folder.
    """
    if given := os.environ.get("SOFTCOSINE_CACHE"):
        return Path(given).absolute()
    if given := os.environ.get("SOFTCOSINE_HOME"):
        return Path(given).absolute() / "cache"
    try:
        return _folder("XDG_CACHE_HOME", ".cache", "Caches", "softcosine/Cache")
    except RuntimeError:
        raise FileNotFoundError("this user has no home folder; set SOFTCOSINE_CACHE.") from None


def _folder(variable: str, linux: str, mac: str, windows: str) -> Path:
    """Return a folder of the user by the customs of the system."""
    if sys.platform == "darwin":
        return Path.home() / "Library" / mac / "softcosine"
    if sys.platform == "win32":
        local = os.environ.get("LOCALAPPDATA")
        return (Path(local) if local else Path.home() / "AppData" / "Local") / windows
    shared = Path(os.environ.get(variable, ""))
    return (shared if shared.is_absolute() else Path.home() / linux) / "softcosine"


def kept_file(name: str) -> Path | None:
    """Return a path in the user's data folder, which is created if needed; None if impossible."""
    folder = data_folder()
    try:
        if folder is not None:
            folder.mkdir(parents=True, exist_ok=True)
            return folder / name
    except OSError:  # an unwritable home
        pass
    return None
