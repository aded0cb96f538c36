"""The Markdown of the repository: links lead somewhere, and what merges may double stands once."""

from __future__ import annotations

import ast
import re
from pathlib import Path

import pytest
import typer

from softcosine.cli.app import app

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


def _strings(tree):
    """The strings of a syntax tree, joined where they stand beside each other."""
    for node in ast.walk(tree):
        if isinstance(node, ast.JoinedStr):
            yield "".join(
                one.value if isinstance(one, ast.Constant) else "X" for one in node.values
            )
        elif isinstance(node, ast.Constant) and isinstance(node.value, str):
            yield node.value


def _commands(command, names=()):
    """All commands with their options, by their names."""
    command = getattr(command, "loaded", command)  # of an entry point
    yield names, {name for one in command.params for name in (*one.opts, *one.secondary_opts)}
    if hasattr(command, "list_commands"):
        context = typer.Context(command)
        for name in command.list_commands(context):
            yield from _commands(command.get_command(context, name), (*names, name))


# Words after "softcosine" in sentences that name no command.
_PROSE = {"as", "again", "at", "is", "or", "raises", "reads", "serves", "that"}
_NAMED = re.compile(r"\bsoftcosine((?: [a-z][a-z-]*)+)([^.;\n'`)]*)")


def test_commands_and_options_that_the_library_names_exist():
    commands = dict(_commands(typer.main.get_command(app)))
    groups = {names[:n] for names in commands for n in range(len(names))}
    n_named = 0
    for file in sorted((ROOT / "src").rglob("*.py")):
        for text in _strings(ast.parse(file.read_text("utf-8"))):
            for match in _NAMED.finditer(text):
                words = tuple(match[1].split())
                if words[0] in _PROSE:
                    continue
                names = next(words[:n] for n in (2, 1, 0) if words[:n] in commands)
                assert names, f"{file}: {match[0]}"
                if names in groups:  # prose that names a group, such as "keys", alone
                    continue
                n_named += 1
                for option in re.findall(r"(?<!\S)--[a-z][a-z-]*", match[2]):
                    assert option in commands[names], f"{file}: {match[0]}: {option}"
    assert n_named > 100
