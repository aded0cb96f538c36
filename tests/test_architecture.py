"""ARCHITECTURE.md against the folders: what it names exists, and no folder is missing."""

from __future__ import annotations

import re
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
SOURCE = ROOT / "src" / "softcosine"
PAGE = (ROOT / "ARCHITECTURE.md").read_text("utf-8")
NAMES = set(re.findall(r"`((?:\w+/)*(?:\w+/|\w+\.py))`", PAGE))


def test_every_path_exists():
    folders = [SOURCE, *(path for path in SOURCE.rglob("*") if path.is_dir())]
    for name in sorted(NAMES):
        # A file without a folder belongs to the folder of its row or sentence.
        places = [SOURCE, ROOT] if "/" in name else folders
        assert any((place / name).exists() for place in places), name


def mapped():
    """The folders of the first cells of tables."""
    cells = re.findall(r"^\|([^|]*)\|", PAGE, re.MULTILINE)
    return [name for cell in cells for name in re.findall(r"`([\w/]+/)`", cell)]


def test_every_folder_is_on_the_map():
    folders = {
        f"{path.relative_to(SOURCE)}/"
        for pattern in ("*/__init__.py", "index/*/__init__.py", "similarity/*/__init__.py")
        for path in (file.parent for file in SOURCE.glob(pattern))
    }
    assert folders - set(mapped()) == set()


def test_every_path_on_the_map_is_a_folder():
    for name in mapped():
        assert (SOURCE / name).is_dir(), name


def test_names_in_brackets_occur_in_the_file_before_them():
    named = re.findall(r"`((?:\w+/)*\w+\.py)` \(`(\w+)", PAGE)
    assert len(named) >= 4
    for file, name in named:
        assert re.search(rf"\b{name}\b", (SOURCE / file).read_text("utf-8")), (file, name)
