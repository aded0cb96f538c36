"""The reference of commands, made from the help of the command line."""

from __future__ import annotations

import re
from pathlib import Path
from textwrap import dedent
from typing import Any

from sphinx.application import Sphinx
from typer.main import get_command

from softcosine.cli.app import app as command_line


def prose(text: str) -> str:
    """Return help text as Markdown: indented paragraphs are examples."""
    blocks = re.split(r"\n\n+", text.replace("\b\n", "").strip("\n"))
    return "\n\n".join(
        f"```text\n{dedent(block)}\n```" if block.startswith("  ") else plain(block)
        for block in blocks
    )


def plain(text: str) -> str:
    """Return text without what Markdown would take for markup."""
    return re.sub(r"([\\`*_{}\[\]<>#|$])", r"\\\1", text).replace("\n", " ")


def described(command: Any, parent: Any) -> list[str]:
    """Return the section of a command, and those of its subcommands."""
    command = getattr(command, "loaded", command)  # that of an entry point
    context = command.context_class(command, info_name=command.name, parent=parent)
    usage = " ".join(command.collect_usage_pieces(context))
    lines = [f"## {context.command_path.removeprefix('softcosine ')}", ""]
    lines += [f"```text\n{context.command_path} {usage}\n```", "", prose(command.help or ""), ""]
    records = [one.get_help_record(context) for one in command.get_params(context)]
    if rows := [record for record in records if record]:
        lines += ["| argument or option | what it is |", "|---|---|"]
        for names, text in rows:
            lines.append(f"| `{names.replace('|', chr(92) + '|')}` | {plain(text)} |")
        lines.append("")
    for child in getattr(command, "commands", {}).values():
        lines += described(child, context)
    return lines


def write_page(app: Sphinx) -> None:
    """Write a section for each command."""
    program: Any = get_command(command_line)
    context = program.context_class(program, info_name="softcosine")
    lines = ["# Commands", "", prose(program.help or ""), ""]
    for command in program.commands.values():
        lines += described(command, context)
    folder = Path(app.srcdir, "reference")
    folder.mkdir(exist_ok=True)
    (folder / "commands.md").write_text("\n".join(lines), "utf-8")


def setup(app: Sphinx) -> None:
    """Have the page written before pages are read."""
    app.connect("builder-inited", write_page)
