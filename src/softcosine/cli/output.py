"""Printed results: tables for people, JSON for programs. `progress` shows progress bars."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Mapping, Sequence
from functools import cache
from pathlib import Path
from textwrap import wrap
from typing import TYPE_CHECKING, Any

from softcosine.cli.escaping import is_harmless
from softcosine.cli.escaping import printable as printable
from softcosine.errors import AlreadyExistsError, InvalidInputError
from softcosine.index.wire import wire

if TYPE_CHECKING:
    from rich.console import Console, ConsoleOptions, RenderResult
    from rich.table import Table
    from rich.text import Text

    from softcosine.index.search.explanation import Explanation
    from softcosine.index.search.highlights import Snippet
    from softcosine.index.search.results import Hits
    from softcosine.index.spaces.part import Part


_SHOWN_PARTS = 4
_SHOWN_VALUES = 20
_UNFOLDED = 1_000_000  # columns
_NARROWEST = 30
_WIDEST_ID = 24  # beside a passage; a longer one stands above it
_WIDEST_VALUE = 60  # characters of metadata


@cache
def _console(stream: int) -> Console:
    from softcosine.cli.terminal import SafeConsole

    made = SafeConsole(stderr=stream == 2, highlight=False, emoji=False, markup=False)
    if not made.is_terminal and not os.environ.get("COLUMNS"):
        made.width = _UNFOLDED
    elif made.width < _NARROWEST:
        made.width = _NARROWEST
    return made


def console(*, stderr: bool = False) -> Console:
    """Return the rich console of standard output or error.

    Outside a terminal it prints no styles, and folds no lines unless COLUMNS is set, so that the
    output can be searched.
    """
    return _console(2 if stderr else 1)


def print_table(table: Table) -> None:
    """Print a table, outside a terminal without trailing blanks."""
    out = console()
    if out.is_terminal:
        out.print(table)
        return
    with out.capture() as captured:
        out.print(table)
    for line in captured.get().splitlines():
        out.print(line.rstrip(), soft_wrap=True)


def show_facts(title: str, facts: Mapping[str, str]) -> None:
    """Print names and values below a title; empty values are left out."""
    table = grid({"style": "dim", "no_wrap": True}, {"ratio": 1, "overflow": "fold"})
    for name, value in facts.items():
        if value:
            table.add_row(name, printable(value))
    console().print(printable(title), style="bold")
    print_table(table)


def grid(*columns: Mapping[str, Any]) -> Table:
    """Return a table without header and lines; see ``rich.table.Table.add_column``."""
    from rich.table import Table

    table = Table.grid(padding=(0, 2, 0, 0))
    for settings in columns:
        table.add_column(**settings)
    return table


def print_result(facts: Mapping[str, Any], as_json: bool, told: str, *notes: str) -> None:
    """Print a result as JSON, or as a sentence with notes; empty notes are left out."""
    if as_json:
        print_json(facts)
        return
    console().print(printable(told))
    for note in filter(None, notes):
        console().print(printable(note), style="dim")


def neighbors_told(statistics: Mapping[str, Any]) -> str:
    """Return the statistics of a matrix in words."""
    return (
        f"{statistics['n_terms_with_neighbors']:,} of {statistics['n_terms']:,} terms have some; "
        f"{statistics['mean_neighbors']:.1f} per term on average, {statistics['max_neighbors']} at "
        f"most; mean similarity {statistics['mean_similarity']:.2f}"
    )


def language_hint(note: str) -> str:
    """Return how to choose another language, if a note names the one that was detected."""
    detected = "looks like" in note or "was not recognised" in note
    return "--language NAME or none to override." if detected else ""


def check_file(path: Path | None, *, overwrite: bool) -> None:
    """Check that a file can be written, before any work is done.

    Raises
    ------
    AlreadyExistsError
        If the path is a folder, or exists and `overwrite` is false.
    FileNotFoundError
        If its folder does not exist.
    """
    if path is None:
        return
    if path.is_dir():
        raise AlreadyExistsError(f"{path} is a folder; choose the name of a file.")
    if path.exists() and not overwrite:
        raise AlreadyExistsError(f"{path} already exists; pass --overwrite, or another name.")
    if not path.absolute().parent.is_dir():
        raise FileNotFoundError(f"the folder {path.parent} does not exist; create it first.")


def print_json(value: Any) -> None:
    """Print a value as one line of JSON; on a terminal, control characters are escaped."""
    plain = (sys.stdout.encoding or "").lower().replace("-", "") not in ("utf8", "utf8sig")
    line = json.dumps(value, ensure_ascii=plain)
    if sys.stdout.isatty():
        line = "".join(c if is_harmless(c) else json.dumps(c)[1:-1] for c in line)
    sys.stdout.write(f"{line}\n")


def score_shown(score: float) -> str:
    """Return a score in three decimals; a tiny one in two significant digits."""
    return f"{score:.3f}" if score == 0.0 or abs(score) >= 0.0005 else f"{score:.1e}"


def duration(seconds: float) -> str:
    """Return seconds as text in ms, s or min."""
    if seconds < 0.0995:
        return f"{seconds * 1000:.1f} ms" if seconds < 0.00995 else f"{seconds * 1000:.0f} ms"
    return f"{seconds:.1f} s" if seconds < 99.5 else f"{seconds / 60:.0f} min"


def counted(n: int, what: str) -> str:
    """Return a count with its noun, such as ``1 document`` or ``1,200 documents``."""
    return f"{n:,} {what}{'' if n == 1 else 's'}"


def size(n_bytes: int) -> str:
    """Return a number of bytes as text, such as ``1.5 kB``."""
    from rich.filesize import decimal

    return decimal(n_bytes)


def hits_record(
    hits: Hits, seconds: float, explanations: Sequence[Explanation], meaning: float
) -> dict[str, Any]:
    """Return the results of a query as ``--json`` prints them."""
    record: dict[str, Any] = {**wire(hits), "meaning": meaning, "seconds": seconds}
    for rank, hit in enumerate(record["hits"], hits.offset + 1):
        hit["rank"] = rank
    for hit, explanation in zip(record["hits"], explanations, strict=False):
        hit["parts"] = wire(explanation.parts)
    return record


def show_hits(
    hits: Hits, explanations: Sequence[Explanation], keys: Sequence[tuple[str, ...]] = ()
) -> None:
    """Print hits with rank, score, id, passage and some keys of their metadata, and the facets."""
    from rich.cells import cell_len
    from rich.text import Text

    from softcosine.index.segment.metadata_columns import MISSING, value_at

    out = console()
    right = {"justify": "right", "no_wrap": True}
    table = grid(
        {**right, "style": "dim"},
        {**right, "style": "cyan"},
        {"style": "green", "overflow": "fold"},
        {"overflow": "fold"},
    )
    for place, hit in enumerate(hits):
        rank = str(hits.offset + place + 1)
        found = [rank, score_shown(hit.score), printable(hit.id)]
        if cell_len(found[-1]) > _WIDEST_ID:
            table.add_row(*found[:2], "", Text(found[-1], "green"))
            found = [""] * len(found)
        if hit.heading:
            table.add_row(*found, Text(printable(hit.heading), "italic"))
            found = [""] * len(found)
        table.add_row(*found, marked(hit.snippet))
        values = {".".join(key): value_at(hit.metadata, key) for key in keys}
        facts = [f"{key}: {_value(own)}" for key, own in values.items() if own is not MISSING]
        if facts:
            table.add_row("", "", "", Text(printable(", ".join(facts)), "dim"))
        if explanations:
            why = explanations[place]
            table.add_row("", "", "", sums_shown(why))
            table.add_row("", "", "", _Unbroken(pairs_shown(why.parts), "dim"))
    if len(hits):
        print_table(table)
    for key, counts in hits.facets.items():
        shown = [f"{_value(one.value)} {one.n_docs:,}" for one in counts[:_SHOWN_VALUES]]
        if len(counts) > _SHOWN_VALUES:
            shown.append(f"{len(counts) - _SHOWN_VALUES:,} more values")
        out.print(printable(f"{key}: {', '.join(shown) or 'no values'}"))


def _value(value: Any) -> str:
    """Return a value of metadata on one line; a long one is truncated."""
    line = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
    return line if len(line) <= _WIDEST_VALUE else f"{line[: _WIDEST_VALUE - 1]}…"


def marked(passage: Snippet) -> Text:
    """Return a passage with equal words bold and similar words underlined."""
    from rich.text import Text

    styles = {"": "", "exact": "bold", "near": "underline"}
    return Text.assemble(*((printable(text), styles[kind]) for text, kind in passage.pieces()))


def sums_shown(explanation: Explanation) -> Text:
    """Return what same words, similar words and meaning add, each in its colour."""
    from rich.text import Text

    from softcosine.index.search.explanation import COLORS
    from softcosine.index.spaces.part import SUMS

    colors = dict(zip(SUMS, COLORS, strict=True))
    shown = [Text(f"{name} {_short(own)}", colors[name]) for name, own in explanation.sums.items()]
    return Text(", ").join(shown)


def pairs_shown(parts: Sequence[Part], limit: int = _SHOWN_PARTS) -> list[str]:
    """Return every word, and the largest parts between single words as ``tire ~ tyre .19``."""
    from softcosine.index.spaces.part import SHORT

    every = [f"{SHORT} {_short(one.contribution)}" for one in parts if one.query_word == SHORT]
    named = [part for part in parts if not (part.query_word + part.document_word).startswith("(")]
    meant = any(one.space == "meaning" and one.document_word[0] != "(" for one in named)
    return every + [
        f"{printable(part.query_word)} {part.sign} {printable(part.document_word)} "
        f"{_short(part.contribution)}"
        for part in named[:limit]
        if not (meant and part.document_word.startswith("("))
    ]


class _Unbroken:
    """Comma-separated texts in lines of the available width, broken only between texts."""

    def __init__(self, pieces: Sequence[str], style: str) -> None:
        self._pieces = pieces
        self._style = style

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        from rich.text import Text

        joined = ", ".join(piece.replace(" ", "\xa0") for piece in self._pieces)
        lines = wrap(joined, options.max_width, break_long_words=False, break_on_hyphens=False)
        yield Text("\n".join(lines).replace("\xa0", " "), style=self._style)


def _short(contribution: float) -> str:
    """Return a contribution in two decimals, without the leading zero if it is below 1."""
    shown = f"{contribution:.2f}"
    return shown.replace("0.", ".", 1) if shown.lstrip("-").startswith("0.") else shown


def show_explanation(explanation: Explanation, text: str, *, pairs: bool = False) -> None:
    """Print the contribution of each query word to a score, optionally of all pairs of words."""
    from rich.table import Table

    out = console()
    out.print(printable(explanation.id), style="green", end="  ")
    out.print(text)
    nothing = "No word of the document is similar to a word of the query."
    out.print(sums_shown(explanation) if explanation.parts else nothing)
    columns = ("query", "", "document", "similarity") if pairs else ("query", "in the document")
    rows: list[tuple[str, ...]] = [
        (one.query_word, one.sign, one.document_word, f"{one.similarity:.3f}",
         f"{one.contribution:.4f}")
        for one in explanation.parts
    ] if pairs else [
        (one.word, one.place, f"{one.contribution:.4f}") for one in explanation.words
    ]  # fmt: skip
    table = Table(box=None, padding=(0, 2, 0, 0), show_footer=True, header_style="dim")
    for column in columns:
        table.add_column(column, "score" if column == "query" else "")
    table.add_column("adds", f"{explanation.score:.4f}", justify="right", footer_style="bold cyan")
    for row in rows:
        table.add_row(*map(printable, row))
    print_table(table)
    if explanation.passage:
        out.print(f"Nearest sentence: {printable(explanation.passage)}", style="dim")


def show_neighbors(record: dict[str, Any], origins: bool, as_json: bool) -> None:
    """Print the neighbours of a word, the result of ``term``, optionally with origins."""
    from softcosine.similarity.provenance import Origin

    if origins and "forbidden" not in record:
        raise InvalidInputError("there is no source of term similarity, so origins are unknown.")
    if as_json:
        print_json(record)
        return
    out = console()
    out.print(printable(record["word"]), style="bold", end="")
    out.print("" if record["indexed"] else "  (in no document)", style="yellow")
    table = grid({"no_wrap": True}, {"overflow": "fold"}, {"style": "dim", "overflow": "fold"})
    for one in record["neighbors"]:
        origin = [str(Origin.from_dict(one["origin"]))] if origins else []
        table.add_row(*map(printable, (f"  {one['similarity']:.3f}", one["word"], *origin)))
    if record["neighbors"]:
        print_table(table)
    else:
        several = " " in record["word"].strip()
        rest = " as a whole; 'search' also uses its words" if several else ""
        out.print(f"  no indexed word is similar to it{rest}")
    for one in record["forbidden"] if origins else ():
        line = f"  {one['word']}  {Origin.from_dict(one['origin'])}"
        out.print(printable(line), style="dim")
