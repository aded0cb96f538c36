"""Receipts: what writers stored with the last commits of an index or of a sharded index."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

from softcosine.errors import CorruptIndexError

__all__ = ["Receipt", "receipts_of", "with_receipt"]

_MOST = 64  # that a manifest has


@dataclass(frozen=True, slots=True)
class Receipt:
    """What a writer stored with a commit, to find out later whether the commit was made.

    Attributes
    ----------
    key : str
    value : object
        JSON values.
    commit : str
        Checksum of the commit; empty before it.
    """

    key: str
    value: Any
    commit: str = ""


def receipts_of(manifest: Mapping[str, Any], file: str | Path) -> dict[str, Receipt]:
    """Return the receipts of a manifest by key; a manifest cannot name its own checksum."""
    try:
        stated = [Receipt(**one) for one in manifest.get("receipts", ())]
        if not all(type(one.key) is type(one.commit) is str for one in stated):
            raise TypeError("a key or commit is no string")
    except TypeError as error:
        raise CorruptIndexError(f"{file} has invalid receipts: {error}.") from error
    return {
        one.key: one if one.commit else replace(one, commit=manifest["checksum"]) for one in stated
    }


def with_receipt(receipts: Mapping[str, Receipt], new: Receipt | None) -> list[dict[str, Any]]:
    """Return the last receipts for the next manifest, as JSON values."""
    kept = dict(receipts)
    if new is not None:
        kept.pop(new.key, None)
        kept[new.key] = new  # the last
    return [asdict(one) for one in list(kept.values())[-_MOST:]]
