"""Printed facts, histograms and differences of term similarity matrices."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any

from softcosine.cli.calling import program
from softcosine.cli.maintenance import bytes_of
from softcosine.cli.output import (
    console,
    duration,
    print_json,
    print_note,
    print_table,
    printable,
    show_table,
    size,
)

if TYPE_CHECKING:
    from softcosine.matrix.difference import MatrixDifference
    from softcosine.matrix.list_use import ListUse
    from softcosine.matrix.picture import Histogram
    from softcosine.matrix.term_similarity_matrix import TermSimilarityMatrix


_BAR_WIDTH = 50


def show_built(
    S: TermSimilarityMatrix,
    note: str,
    use: ListUse | None,
    output: Path,
    seconds: float,
    as_json: bool,
) -> None:
    """Print the summary of a matrix that was built."""
    from softcosine.text.analyzer import Analyzer

    figures = S.statistics(eigenvalue=False)
    shrunk = float(S.settings.get("shrunk", 1.0))
    if as_json:
        names = ("mean_neighbors", "max_neighbors", "mean_similarity", "symmetric", "dominant")
        facts = {"matrix": str(output), "terms": figures.n_terms, "neighbors": figures.n_neighbors}
        facts |= {name: getattr(figures, name) for name in names}
        facts |= {"balanced": S.scales is not None, "shrunk": shrunk}
        facts |= {"sources": _sources(S.settings), "bytes": bytes_of(output), "seconds": seconds}
        print_json({**facts, "note": note, "list_use": None if use is None else use.to_dict()})
        return
    out, shown = console(), printable(str(output))
    out.print(
        f"Found {figures.n_neighbors:,} neighbours of {figures.n_terms:,} terms, "
        f"{figures.mean_neighbors:.1f} per term, in {duration(seconds)}: {shown} "
        f"({size(bytes_of(output))})."
    )
    analyzer = S.settings.get("analyzer")
    print_note(
        note,
        S.settings.get("language"),
        Analyzer() if analyzer is None else Analyzer.from_dict(analyzer),
    )
    if use is not None:
        out.print(str(use), style="dim", markup=False)
    out.print(f"Show it: {program()} similarity show {shown}", style="dim")


def show_facts(S: TermSimilarityMatrix, path: Path, n_bytes: int) -> None:
    """Print the figures of a matrix and how it was made."""
    from rich.table import Table

    figures, settings = S.statistics(eigenvalue=False), S.settings
    limits = [f"at most {settings['max_neighbors']}"] if "max_neighbors" in settings else []
    if settings.get("min_similarity"):
        limits.append(f"at least {settings['min_similarity']:g}")
    if S.scales is not None:
        limits.append("balanced")
    if settings.get("shrunk", 1.0) < 1:
        limits.append(f"all times {settings['shrunk']:.3f}")
    kind = "symmetric" if figures.symmetric else "asymmetric"
    sources = _sources(settings)
    lines = {
        "terms": f"{figures.n_terms:,}",
        "neighbours": (
            f"{figures.n_neighbors:,}: {figures.n_terms_with_neighbors:,} of "
            f"{figures.n_terms:,} terms have some, {figures.mean_neighbors:.1f} per term on "
            f"average, {figures.max_neighbors} at most"
        ),
        "similarity": f"{figures.mean_similarity:.2f} on average",
        "kind": f"{kind}, diagonally dominant" if figures.dominant else kind,
        "limits": ", ".join(limits),
        "order": str(settings.get("order", "")).replace("_", " "),
        "sources": ", ".join(sources),
        "combined by": settings["recipe"]["combine"] if len(sources) > 1 else "",
        "made from": settings.get("source", ""),
        "words": ", ".join(settings.get("vocabulary", ())),
        "extended": ", ".join(f"by {one['terms']:,} terms" for one in settings.get("extended", ())),
        "on disk": size(n_bytes),
    }
    table = Table.grid(padding=(0, 2, 0, 0))
    table.add_column(style="dim", no_wrap=True)
    table.add_column(ratio=1, overflow="fold")
    for name, value in lines.items():
        if value:
            table.add_row(name, printable(value))
    console().print(printable(str(path)), style="bold")
    print_table(table)


def show_histogram(histogram: Histogram) -> None:
    """Print a histogram as horizontal bars."""
    from rich.bar import Bar
    from rich.table import Table

    most = max(histogram.counts, default=0) or 1
    table = Table.grid(padding=(0, 2, 0, 0))
    table.add_column(justify="right", style="dim", no_wrap=True)
    table.add_column(justify="right", no_wrap=True)
    table.add_column()
    for label, count in zip(histogram.labels(), histogram.counts, strict=True):
        table.add_row(label, f"{count:,}", Bar(most, 0, count, width=_BAR_WIDTH, color="cyan"))
    console().print(f"\n{histogram.title} ({histogram.unit})", style="bold")
    print_table(table)


def definiteness_told(facts: dict[str, Any]) -> str:
    """Return a sentence on definiteness from the facts that ``check --json`` prints."""
    if not facts["symmetric"]:
        return "It is asymmetric and only fit for searches; build it with --strategy symmetric."
    lowest = f"its smallest eigenvalue is {facts['smallest_eigenvalue']:.3g}"
    if facts["dominant"]:
        return f"It is strictly diagonally dominant, so positive definite; {lowest}."
    if facts["definite"]:
        return f"It is positive semidefinite: {lowest}, so no soft cosine exceeds 1."
    return (
        f"It is not positive semidefinite: {lowest}, so soft cosines above 1 can occur. "
        f"Build it with --definite to multiply the similarities by {facts['factor']:.3f}."
    )


def difference_record(
    found: MatrixDifference, before: Path, after: Path, limit: int
) -> dict[str, Any]:
    """Return the difference of two matrices as ``diff --json`` prints it."""
    names = ("left", "right", "before", "after", "kind")
    return {
        "before": str(before), "after": str(after), "added_terms": list(found.added_terms),
        "removed_terms": list(found.removed_terms), "counts": found.counts(),
        "changes": [
            {name: getattr(change, name) for name in names} for change in islice(found, limit)
        ],
    }  # fmt: skip


def show_difference(found: MatrixDifference, limit: int) -> None:
    """Print the pairs with the largest changes, the added and removed terms, and a summary."""
    from softcosine.evaluate.tables import Cell, Row, Table

    rows: list[Row] = []
    for change in islice(found, limit):
        pair = f"{change.left} ~ {change.right}"
        values = (f"{value:.3f}" if value else "-" for value in (change.before, change.after))
        rows.append((pair, *values, Cell(change.kind, color="dim")))
    out = console()
    if len(found):
        show_table(Table(("pair", "before", "after", ""), rows))
    if len(found) > limit:
        out.print(f"and {len(found) - limit:,} more pairs; -k shows more.", style="dim")
    for name, terms in (("Added", found.added_terms), ("Removed", found.removed_terms)):
        if terms:
            more = ", ..." if len(terms) > limit else ""
            out.print(f"{name} terms: {', '.join(map(printable, terms[:limit]))}{more}")
    out.print(f"{found.summary()}.")


def _sources(settings: Mapping[str, Any]) -> list[str]:
    """Return the names of the sources of a matrix."""
    recipe = settings.get("recipe")
    return [] if recipe is None else recipe["sources"] or ["default"]
