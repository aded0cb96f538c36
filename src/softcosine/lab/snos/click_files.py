"""Reader for files of clicks and other weighted pairs."""

from __future__ import annotations

from collections.abc import Iterator
from os import PathLike
from pathlib import Path

from softcosine._progress import Progress
from softcosine._textio import comma_cells, numbered_lines, tab_cells
from softcosine.errors import MalformedFileError
from softcosine.storage import checked_path

# Possible column names of a header, the clearest first.
_QUERIES = ("query", "cue", "object", "left")
_PAGES = ("page", "url", "document", "label", "entity", "response", "feature", "right")
_CLICKS = ("clicks", "count", "weight", "n")

_SHOWN = 80  # characters of a line in a message


def read_clicks(
    path: str | PathLike[str], *, progress: Progress | None = None
) -> Iterator[tuple[str, str, float]]:
    """Yield the (query, page, clicks) triples of a table.

    Columns are separated by tabs, or by commas in a file whose name ends in ``.csv``. A header line
    with the names ``query`` and ``page``, and perhaps ``clicks``, identifies the columns; others
    are ignored. Without a header the columns are query, page and, in all lines or in none, clicks.
    Without clicks each line counts as one.

    Parameters
    ----------
    path : path
        A UTF-8 file, gzipped or not.
    progress : callable, optional
        Called as ``progress(n_done, n_total)``, in bytes of the file on disk.

    Raises
    ------
    FileNotFoundError
    MalformedFileError
        If a line breaks the format; names the line.
    """
    path = checked_path(path)
    cut = comma_cells if path.name.lower().removesuffix(".gz").endswith(".csv") else tab_cells
    places: tuple[int, int, int | None] | None = None
    narrow = False
    for number, line in numbered_lines(path, progress=progress):
        cells = cut(path, number, line)
        if places is None:
            named = _named(cells)
            places = named or (0, 1, 2 if len(cells) > 2 else None)
            if named is not None:
                continue
            narrow = len(cells) < 3
        if narrow and any(cells[2:]):
            raise MalformedFileError(
                path, "it has more than a query and a page, which the first line has.", line=number
            )
        yield _edge(path, number, cells, places)


def _named(cells: list[str]) -> tuple[int, int, int | None] | None:
    """Return the positions of the columns if the cells are a header."""
    names = [cell.casefold() for cell in cells]
    query, page, clicks = (
        next((names.index(name) for name in choice if name in names), None)
        for choice in (_QUERIES, _PAGES, _CLICKS)
    )
    return None if query is None or page is None else (query, page, clicks)


def _edge(
    path: Path, number: int, cells: list[str], places: tuple[int, int, int | None]
) -> tuple[str, str, float]:
    *ends, counted = (
        None if place is None else cells[place] if place < len(cells) else "" for place in places
    )
    query, page = ends
    if not query or not page:
        raise MalformedFileError(
            path,
            f"{str(cells)[:_SHOWN]} is no query and page; needed are the two and perhaps the "
            "number of clicks, with tabs between (with commas in a .csv file).",
            line=number,
        )
    if counted is None:
        return query, page, 1.0
    try:
        clicks = float(counted)
    except ValueError:
        clicks = float("nan")
    if not 0.0 <= clicks < float("inf"):
        raise MalformedFileError(
            path,
            f"the number of clicks is {counted!r}; needed is a finite number of 0 or more.",
            line=number,
        )
    return query, page, clicks
