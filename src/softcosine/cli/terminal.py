"""A rich console that escapes control characters in texts."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from rich.console import Console
from rich.segment import Segment

from softcosine.cli.escaping import printable


class SafeConsole(Console):
    """A console that escapes the same characters as `printable`, except line breaks.

    Apply `printable` yourself to texts whose width matters, such as table cells.
    """

    def render(self, *arguments: Any, **options: Any) -> Iterable[Segment]:
        """Render with rich, then escape."""
        for segment in super().render(*arguments, **options):
            if segment.control or segment.text.isprintable():
                yield segment
            else:
                lines = map(printable, segment.text.split("\n"))
                yield Segment("\n".join(lines), segment.style)
