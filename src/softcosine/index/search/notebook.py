"""Tables in notebooks: HTML without scripts and styles of its own, in light and dark themes."""

from __future__ import annotations

import html
from collections.abc import Iterable, Sequence

_LEFT = " style='text-align:left'"
_WIDEST = 120  # pixels of a bar


def escaped(text: str) -> str:
    """Return a text as HTML; characters that could change the direction of others are replaced."""
    return html.escape(
        "".join(c if c.isprintable() or c.isspace() else "\N{REPLACEMENT CHARACTER}" for c in text)
    )


def bars(values: Sequence[float], colors: Sequence[str], greatest: float) -> str:
    """Return bars in a row whose lengths show values; those of negative values are hollow."""
    shown = []
    for value, color in zip(values, colors, strict=True):
        width = round(_WIDEST * min(abs(value) / greatest, 1.0)) if greatest > 0.0 else 0
        fill = f"background:{color}" if value >= 0.0 else f"border:1px solid {color}"
        shown.append(f"<div style='display:inline-block;width:{width}px;height:.7em;{fill}'></div>")
    return "".join(shown)


def html_table(
    caption: str,
    header: Sequence[str],
    rows: Iterable[Sequence[str]],
    *,
    left: Iterable[int] = (),
    foot: Sequence[str] = (),
    notes: Sequence[str] = (),
) -> str:
    """Return a table.

    Parameters
    ----------
    caption : str
        Plain text.
    header, foot : sequence of str
        HTML, one cell for each column.
    rows : iterable of sequences of str
        HTML.
    left : iterable of int
        The left-aligned columns; others are as the notebook aligns them, mostly to the right.
    notes : sequence of str
        Plain text below the table.
    """
    aligned = set(left)

    def row(cells: Sequence[str], tag: str) -> str:
        return "".join(
            f"<{tag}{_LEFT if column in aligned else ''}>{cell}</{tag}>"
            for column, cell in enumerate(cells)
        )

    body = "".join(f"<tr>{row(cells, 'td')}</tr>" for cells in rows)
    last = f"<tfoot><tr>{row(foot, 'th')}</tr></tfoot>" if foot else ""
    below = f"<p>{' '.join(map(escaped, notes))}</p>" if notes else ""
    return (
        f"<table><caption{_LEFT}>{escaped(caption)}</caption>"
        f"<thead><tr>{row(header, 'th')}</tr></thead><tbody>{body}</tbody>{last}</table>{below}"
    )
