"""What the command line finds by entry points: evaluation is never imported from here."""

from __future__ import annotations

from typing import Any

from softcosine.errors import SoftCosineError


def by_entry_point(group: str, name: str) -> Any:
    """Return what an installation has under a name in the group ``softcosine.GROUP``.

    Raises
    ------
    SoftCosineError
        If softcosine is not installed, or was installed before the entry point was added.
    """
    from importlib.metadata import entry_points

    for found in entry_points(group=f"softcosine.{group}", name=name):
        return found.load()
    raise SoftCosineError(f"softcosine.{group} lacks {name}; install softcosine again.")
