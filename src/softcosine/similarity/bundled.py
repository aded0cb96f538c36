"""Data files of the package: indexes refer to them by name and checksum instead of copying them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from softcosine.errors import IndexFormatError
from softcosine.version import __version__

SHA256 = {
    "english.npz": "73d49630732aff1a0183a29001adab6c8acb4b6089368d4d9e20bd40bf8f466d",
    "antonyms_en.txt": "5cc08422ea994ce6f8fb7da106d96ef9e76231376d6b973c9eaf89c4422caf5f",
    "meaning.npz": "4018a9cb95d3c4e5873bec2bb34c5a7a5e08b429e0c2ef457658048996690ec1",
}


def reference_to(name: str) -> dict[str, str]:
    """Return what an index stores in place of a data file: name, checksum, version."""
    return {"name": name, "sha256": SHA256[name], "softcosine": __version__}


def check_reference(reference: Mapping[str, Any], name: str) -> None:
    """Raise IndexFormatError unless the package has the data file that an index refers to."""
    if (reference["name"], reference["sha256"]) != (name, SHA256[name]):
        raise IndexFormatError(
            f"similarities refer to the data file {reference['name']!r:.40} of checksum "
            f"{reference['sha256']!r:.16}, which softcosine {__version__} does not have; run: pip "
            f"install 'softcosine=={reference.get('softcosine')!s:.20}', or build the index anew."
        )
