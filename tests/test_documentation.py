"""The Markdown of the repository: links lead somewhere, and what merges may double stands once."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
PAGES = sorted([*ROOT.glob("*.md"), *ROOT.glob("docs/**/*.md"), *ROOT.glob("src/**/*.md")])


def without_code(page: Path) -> str:
    return re.sub(r"^ *```.*?^ *```", "", page.read_text("utf-8"), flags=re.DOTALL | re.MULTILINE)


def anchors(page: Path) -> set[str]:
    """The names by which GitHub links to the headings of a page."""
    headings = re.findall(r"^#+ (.*)$", without_code(page), flags=re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_links_between_pages_resolve(page):
    for link in re.findall(r"\]\(([^)\s]+)\)", without_code(page)):
        path, _, anchor = link.partition("#")
        if not re.match(r"[a-z]+:", link):
            target = page.parent / path if path else page
            assert target.exists(), link
            assert not anchor or anchor in anchors(target), link


def test_decisions_stand_once_and_in_order():
    headings = re.findall(r"^## (\d+)\. ", (ROOT / "docs/decisions.md").read_text("utf-8"), re.M)
    assert list(map(int, headings)) == sorted(set(map(int, headings)))


def test_nothing_advises_to_install_the_encoder_from_where_it_is_not():
    sources = [
        *ROOT.glob("src/**/*.py"),
        *ROOT.glob("studies/*.py"),
        *ROOT.glob("packages/**/*.md"),
    ]
    for file in {*PAGES, *sources} - {ROOT / "CHANGELOG.md"}:
        assert "pip install 'softcosine[encoder" not in file.read_text("utf-8"), file


def test_no_entry_of_the_changelog_begins_like_another():
    entries = re.findall(r"^- (.{40})", (ROOT / "CHANGELOG.md").read_text("utf-8"), re.M)
    assert sorted({entry for entry in entries if entries.count(entry) > 1}) == []
