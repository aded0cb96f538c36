"""Where softcosine keeps what is a user's own, such as texts that were encoded once."""

from __future__ import annotations

import os
import sys
from pathlib import Path

__all__ = ["data_folder", "kept_file"]


def data_folder() -> Path | None:
    """Return where softcosine keeps a user's data; SOFTCOSINE_HOME names another place.

    None where the user has no home folder, as in some containers. It need not be there yet.
    """
    given = os.environ.get("SOFTCOSINE_HOME")
    if given:
        return Path(given)
    try:
        return _users_data()
    except RuntimeError:
        return None


def _users_data() -> Path:
    if sys.platform == "darwin":
        return Path.home() / "Library" / "Application Support" / "softcosine"
    if sys.platform == "win32":
        local = os.environ.get("LOCALAPPDATA")
        return (Path(local) if local else Path.home() / "AppData" / "Local") / "softcosine"
    shared = os.environ.get("XDG_DATA_HOME", "")
    root = Path(shared) if Path(shared).is_absolute() else Path.home() / ".local" / "share"
    return root / "softcosine"


def kept_file(name: str) -> Path | None:
    """Return the place of a file among a user's data, in a folder that is there; else None."""
    folder = data_folder()
    try:
        if folder is not None:
            folder.mkdir(parents=True, exist_ok=True)
            return folder / name
    except OSError:  # a home that cannot be written to
        pass
    return None
