"""The bundled space of meaning: that of all-MiniLM-L6-v2, with a query table."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from importlib.resources import as_file, files
from typing import Any

from softcosine.encoders.loading import MINILM
from softcosine.similarity.bundled import check_reference, reference_to
from softcosine.space.meaning import MeaningSpace
from softcosine.space.meaning_file import load_meaning

__all__ = ["bundled_meaning", "reference", "referred_to"]

_FILE = "meaning.npz"


@cache
def bundled_meaning() -> MeaningSpace:
    """Return the bundled space; read once per process.

    ``data/CARD.md`` of `softcosine.space` describes its origin and licence.
    """
    with as_file(files("softcosine.space") / "data" / _FILE) as path:
        return load_meaning(path)


def reference(meaning: MeaningSpace) -> dict[str, str] | None:
    """Return what an index stores in place of the bundled space; None for another space."""
    known = meaning.encoder == MINILM and meaning == bundled_meaning()
    return reference_to(_FILE) if known else None


def referred_to(stored: Mapping[str, Any]) -> MeaningSpace:
    """Return the bundled space; IndexFormatError if the package has another one."""
    check_reference(stored, _FILE)
    return bundled_meaning()
