"""The bundled spaces of meaning: that of all-MiniLM-L6-v2, and that of its query table alone."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from importlib.resources import as_file, files
from typing import Any

from softcosine.encoders.loading import MINILM
from softcosine.similarity.bundled import check_reference, reference_to
from softcosine.space.meaning import STATIC, MeaningSpace
from softcosine.space.meaning_file import load_meaning

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
