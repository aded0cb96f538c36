"""Tables of an evaluation for people: plain text, Markdown and HTML."""

from __future__ import annotations

import html
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from softcosine.evaluate.datasets.pairs import PairSet
from softcosine.evaluate.datasets.ranking import RankingSet
from softcosine.evaluate.measures import lower_is_better

if TYPE_CHECKING:
    from softcosine.evaluate.measured import Measured

__all__ = ["Cell", "cells", "html_table", "markdown_table", "notes_of", "text_table", "units_of"]


@dataclass(frozen=True, slots=True)
class Cell:
    """What a table says of one system by one measure.

    Attributes
    ----------
    value : str
    best : bool
        Whether no system of the table is better, and some are worse.
    change : str
        The interval of the difference to the baseline; empty for the baseline itself.
    significant : bool
        Whether that interval leaves out 0.
    better : bool
        Whether the difference is to the better.
    """

    value: str
    best: bool
    change: str = ""
    significant: bool = False
    better: bool = False


def cells(evaluation: Measured) -> dict[str, dict[str, Cell]]:
    """Return a cell for every system and measure."""
    found: dict[str, dict[str, Cell]] = {name: {} for name in evaluation.figures}
    for measure in evaluation.measures:
        sign = -1.0 if lower_is_better(measure) else 1.0
        # As shown: what reads the same is equally good.
        shown = {name: round(own.values[measure], 4) for name, own in evaluation.figures.items()}
        best = max(sign * value for value in shown.values())
        for name, figures in evaluation.figures.items():
            value = f"{shown[name]:.4f}"
            split = figures.per_split.get(measure)
            if split is not None and split.shape[0] > 1:
                value += f" ± {float(split.std(ddof=1)):.4f}"
            interval = evaluation.intervals.get(name, {}).get(measure)
            marked = sign * shown[name] == best and len(set(shown.values())) > 1
            if interval is None:
                found[name][measure] = Cell(value, marked)
                continue
            found[name][measure] = Cell(
                value,
                marked,
                f"{interval.difference:+.4f} [{interval.low:+.4f}, {interval.high:+.4f}]",
                interval.significant,
                sign * interval.difference > 0.0,
            )
    return found


def notes_of(evaluation: Measured) -> list[str]:
    """Return what a reader has to know beside the numbers."""
    first = next(iter(evaluation.figures.values()))
    notes = [f"{evaluation.dataset.name}: {_counted(evaluation, len(first.units))}"]
    if len(evaluation.figures) > 1:
        notes.append(
            f"differences to {evaluation.baseline} have {evaluation.confidence:.0%} intervals "
            f"(paired bootstrap over {units_of(evaluation)}, {evaluation.n_resamples:,} resamples, "
            f"seed {evaluation.random_state})"
        )
    if first.per_split:
        notes.append("± is the standard deviation over splits")
    for name, choices in evaluation.choices.items():
        told = [choice.to_dict() for choice in choices]
        notes.append(
            f"chosen in training for {name}: "
            + ", ".join(f"{what} {_spread([own[what] for own in told])}" for what in told[0])
        )
    notes.extend(f"{name}: {told}" for name, told in evaluation.told.items())
    return [*notes, *evaluation.dataset.notes]


def _spread(values: Sequence[float | None]) -> str:
    """Return the least and the greatest of what was chosen; None, an infinite one, is greatest."""
    ordered = sorted(set(values), key=lambda value: float("inf") if value is None else value)
    ends = ("none" if value is None else f"{value:.3g}" for value in (ordered[0], ordered[-1]))
    return " to ".join(dict.fromkeys(ends))


def text_table(evaluation: Measured) -> str:
    """Return a table for a text terminal; an asterisk marks the best."""
    header = ["system", *evaluation.measures, "seconds"]
    rows = [header]
    for name, own in cells(evaluation).items():
        values = [f"{cell.value}{'*' if cell.best else ' '}" for cell in own.values()]
        rows.append([name, *values, seconds_shown(evaluation, name)])
    widths = [max(len(row[column]) for row in rows) for column in range(len(header))]
    lines = [
        "  ".join(
            text.ljust(width) if not column else text.rjust(width)
            for column, (text, width) in enumerate(zip(row, widths, strict=True))
        ).rstrip()
        for row in rows
    ]
    changes = [
        f"{name} - {evaluation.baseline}: {measure} {own[measure].change}"
        for name, own in cells(evaluation).items()
        for measure in evaluation.measures
        if own[measure].change
    ]
    return "\n".join([*lines, *([""] if changes else []), *changes])


def markdown_table(evaluation: Measured) -> str:
    """Return a table in Markdown, and the notes below it."""
    lines = [
        "| " + " | ".join(["system", *evaluation.measures, "seconds"]) + " |",
        "|" + "|".join(["---", *["---:"] * (len(evaluation.measures) + 1)]) + "|",
    ]
    for name, own in cells(evaluation).items():
        shown = [f"**{cell.value}**" if cell.best else cell.value for cell in own.values()]
        told = [
            f"{text} ({cell.change})" if cell.change else text
            for text, cell in zip(shown, own.values(), strict=True)
        ]
        lines.append("| " + " | ".join([name, *told, seconds_shown(evaluation, name)]) + " |")
    return "\n".join([*lines, "", *(f"- {note}" for note in notes_of(evaluation)), ""])


def html_table(evaluation: Measured) -> str:
    """Return a table for notebooks: bold is the best, the differences stand below the values."""
    header = "".join(f"<th>{html.escape(measure)}</th>" for measure in evaluation.measures)
    rows = []
    for name, own in cells(evaluation).items():
        shown = "".join(
            "<td>"
            + (f"<b>{cell.value}</b>" if cell.best else cell.value)
            + (f"<br><small>{cell.change}</small>" if cell.change else "")
            + "</td>"
            for cell in own.values()
        )
        rows.append(
            f"<tr><th style='text-align:left'>{html.escape(name)}</th>{shown}"
            f"<td>{seconds_shown(evaluation, name)}</td></tr>"
        )
    notes = "".join(f"<li>{html.escape(note)}</li>" for note in notes_of(evaluation))
    return (
        f"<table><caption>{html.escape(evaluation.dataset.name)}</caption><thead><tr><th></th>"
        f"{header}<th>seconds</th></tr></thead><tbody>{''.join(rows)}</tbody></table>"
        f"<ul>{notes}</ul>"
    )


def seconds_shown(evaluation: Measured, name: str) -> str:
    """Return how long a system took in all; nothing for a run made elsewhere."""
    seconds = evaluation.seconds.get(name)
    return "" if seconds is None else f"{seconds.fit + seconds.answer:.1f}"


def units_of(evaluation: Measured) -> str:
    """Return what is averaged over, in a word."""
    if isinstance(evaluation.dataset, RankingSet):
        return "queries"
    return "pairs" if isinstance(evaluation.dataset, PairSet) else "documents"


def _counted(evaluation: Measured, n_units: int) -> str:
    units, n_documents = units_of(evaluation), len(evaluation.dataset.documents)
    if units == "pairs":
        return f"{n_units:,} pairs"
    documents = f"{n_documents:,} document{'s' if n_documents != 1 else ''}"
    if units == "documents":
        return f"{documents}, {n_units:,} tested"
    return f"{documents}, {n_units:,} {'queries' if n_units != 1 else 'query'}"
