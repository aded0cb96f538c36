"""Values of options and arguments for the completion of a shell.

Names come from the tables that check the values, if a light module has them: a shell waits for each
completion. Others are written out where the option is, and compared with their tables by a test.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from importlib import import_module
from pathlib import Path
from typing import Any


def names_of(*tables: str) -> Callable[[str], list[str]]:
    """Return the function that completes a name.

    Parameters
    ----------
    *tables : str
        Names themselves, or ``module:NAME`` of a mapping or sequence of names, or of a function
        that returns names, in a module that imports no NumPy.
    """

    def complete(incomplete: str) -> list[str]:
        names = dict.fromkeys(name for table in tables for name in _names_in(table))
        return [name for name in names if name.startswith(incomplete)]

    return complete


def complete_index(incomplete: str) -> list[str]:
    """Return the indexes whose paths begin like this; without any, a shell completes files."""
    head, slash, start = incomplete.rpartition("/")
    try:
        inside = list(Path(f"{head}{slash}" or ".").iterdir())
    except OSError:
        return []
    named = [path for path in inside if path.name.startswith(start)]
    return sorted(f"{head}{slash}{path.name}" for path in named if _is_index(path))


def complete_named_index(incomplete: str) -> list[str]:
    """Return the indexes for ``NAME=FOLDER``."""
    name, equals, folder = incomplete.rpartition("=")
    return [f"{name}{equals}{path}" for path in complete_index(folder)]


def _is_index(path: Path) -> bool:
    try:
        manifest = json.loads((path / "manifest.json").read_text(encoding="utf-8"))
        return manifest["format"] in ("softcosine-index", "softcosine-shards")
    except (OSError, ValueError, TypeError, KeyError):
        return False


def _names_in(table: str) -> tuple[str, ...]:
    module, colon, name = table.partition(":")
    if not colon:
        return (table,)
    found: Any = getattr(import_module(f"softcosine.{module}"), name)
    return tuple(found() if callable(found) else found)
