"""A console whose output cannot disturb a terminal, whatever the texts hold; needs rich."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from rich.console import Console
from rich.segment import Segment

from softcosine.cli.escaping import printable

__all__ = ["SafeConsole"]


class SafeConsole(Console):
    """Escapes what `printable` escapes in everything that it prints, but for ends of lines.

    Texts whose width counts, such as cells of tables, are best made printable before.
    """

    def render(self, *arguments: Any, **options: Any) -> Iterable[Segment]:
        """Render as rich does, and escape."""
        for segment in super().render(*arguments, **options):
            if segment.control or segment.text.isprintable():
                yield segment
            else:
                lines = map(printable, segment.text.split("\n"))
                yield Segment("\n".join(lines), segment.style)
