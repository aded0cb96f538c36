"""Tables with plain text, Markdown and HTML output."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from html import escape
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from softcosine.evaluate.significance import Interval


@dataclass(frozen=True, slots=True)
class Cell:
    """A cell of a table.

    Attributes
    ----------
    text : str
    best : bool
        Whether to emphasise it: bold, or with an asterisk in plain text.
    note : str
        Small text after it, such as the interval of a difference.
    color : str
        Color on a terminal.
    """

    text: str
    best: bool = False
    note: str = ""
    color: str = ""


Row = Sequence[str | Cell]


@dataclass(frozen=True, slots=True)
class Table:
    """A table with a header.

    Attributes
    ----------
    header : sequence of str
    rows : sequence of sequences of str or Cell
    n_left : int
        Number of left-aligned text columns; the other columns are right-aligned numbers.
    caption : str
    notes : sequence of str
        Notes below the table.
    """

    header: Sequence[str]
    rows: Sequence[Row]
    n_left: int = 1
    caption: str = ""
    notes: Sequence[str] = ()

    @property
    def cells(self) -> list[list[Cell]]:
        """The rows with every value as a `Cell`."""
        return [[Cell(one) if isinstance(one, str) else one for one in row] for row in self.rows]

    def to_text(self) -> str:
        """Return the table as plain text without the notes of cells."""
        marked = any(cell.best for row in self.cells for cell in row)
        lines = [list(self.header)]
        for row in self.cells:
            numbers = [cell.text + ("*" if cell.best else " " * marked) for cell in row]
            lines.append([cell.text for cell in row[: self.n_left]] + numbers[self.n_left :])
        widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
        return "\n".join(
            "  ".join(
                text.ljust(width) if column < self.n_left else text.rjust(width)
                for column, (text, width) in enumerate(zip(line, widths, strict=True))
            ).rstrip()
            for line in lines
        )

    def to_markdown(self) -> str:
        """Return the table, then the notes as a list."""

        def line(texts: Iterable[str]) -> str:
            return f"| {' | '.join(text.replace('|', chr(92) + '|') for text in texts)} |"

        def shown(cell: Cell) -> str:
            text = f"**{cell.text}**" if cell.best else cell.text
            return f"{text} ({cell.note})" if cell.note else text

        n_right = len(self.header) - self.n_left
        lines = [line(self.header), f"|{'---|' * self.n_left}{'---:|' * n_right}"]
        lines += [line(map(shown, row)) for row in self.cells]
        return "\n".join(
            [*lines, "", *(f"- {note}" for note in self.notes), *[""][: len(self.notes)]]
        )

    def to_html(self) -> str:
        """Return the table as HTML for notebooks; the first column has the row headers."""

        def shown(cell: Cell) -> str:
            text = f"<b>{escape(cell.text)}</b>" if cell.best else escape(cell.text)
            return f"{text}<br><small>{escape(cell.note)}</small>" if cell.note else text

        head = "".join(f"<th>{escape(title)}</th>" for title in self.header)
        body = "".join(
            f"<tr><th style='text-align:left'>{shown(first)}</th>"
            f"{''.join(f'<td>{shown(cell)}</td>' for cell in others)}</tr>"
            for first, *others in self.cells
        )
        caption = f"<caption>{escape(self.caption)}</caption>" if self.caption else ""
        notes = "".join(f"<li>{escape(note)}</li>" for note in self.notes)
        return (
            f"<table>{caption}<thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"
            f"{f'<ul>{notes}</ul>' if notes else ''}"
        )


def interval_cells(interval: Interval | None, *, lower_is_better: bool) -> list[Cell]:
    """Return cells of a difference, its interval and its p; green or red if significant."""
    if interval is None:
        return [Cell("")] * 3
    better = (interval.difference > 0.0) != lower_is_better
    color = ("green" if better else "red") if interval.significant else ""
    texts = (
        f"{interval.difference:+.4f}",
        f"[{interval.low:+.4f}, {interval.high:+.4f}]",
        f"{interval.p:.4f}",
    )
    return [Cell(text, color=color) for text in texts]
