"""Tables of an evaluation."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from softcosine.evaluate.datasets.pairs import PairSet
from softcosine.evaluate.datasets.ranking import RankingSet
from softcosine.evaluate.measures import lower_is_better
from softcosine.evaluate.tables import Cell, Row, Table, interval_cells

if TYPE_CHECKING:
    from softcosine.evaluate.measured import Measured


def evaluation_table(evaluation: Measured) -> Table:
    """Return the values of every system and measure, and its seconds.

    The best value of a measure is marked unless all are equal. The note of a cell is the difference
    to the baseline with its interval.
    """
    columns = [_column(evaluation, measure) for measure in evaluation.measures]
    rows: list[Row] = [
        (name, *(column[place] for column in columns), _seconds(evaluation, name))
        for place, name in enumerate(evaluation.figures)
    ]
    header = ("system", *evaluation.measures, "seconds")
    return Table(header, rows, caption=evaluation.dataset.name, notes=_notes(evaluation))


def _column(evaluation: Measured, measure: str) -> list[Cell]:
    """Return the cells of one measure, one per system."""
    sign = -1.0 if lower_is_better(measure) else 1.0
    # Compared as printed: equal numbers are equally good.
    values = [sign * round(own.values[measure], 4) for own in evaluation.figures.values()]
    cells = []
    for (name, figures), value in zip(evaluation.figures.items(), values, strict=True):
        text = f"{sign * value:.4f}"
        split = figures.per_split.get(measure)
        if split is not None and split.shape[0] > 1:
            text += f" ± {float(split.std(ddof=1)):.4f}"
        interval = evaluation.intervals.get(name, {}).get(measure)
        difference, reach, _ = interval_cells(interval, lower_is_better=False)
        note = f"{difference.text} {reach.text}".strip()
        cells.append(Cell(text, value == max(values) and len(set(values)) > 1, note))
    return cells


def intervals_table(evaluation: Measured) -> Table:
    """Return the differences to the baseline, one per row."""
    rows: list[Row] = [
        ("" if place else name, measure,
         *interval_cells(interval, lower_is_better=lower_is_better(measure)))
        for name, own in evaluation.intervals.items()
        for place, (measure, interval) in enumerate(own.items())
    ]  # fmt: skip
    header = ("", "", f"to {evaluation.baseline}", f"{evaluation.confidence:.0%} interval", "p")
    return Table(header, rows, n_left=2)


def _notes(evaluation: Measured) -> list[str]:
    """Return the notes of the table."""
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
    """Return the smallest and the largest chosen value as text; None stands for infinity."""
    ordered = sorted(set(values), key=lambda value: float("inf") if value is None else value)
    ends = ("none" if value is None else f"{value:.3g}" for value in (ordered[0], ordered[-1]))
    return " to ".join(dict.fromkeys(ends))


def text_table(evaluation: Measured) -> str:
    """Return the table as plain text, then the differences to the baseline, one per line."""
    table = evaluation_table(evaluation)
    changes = [
        f"{name} - {evaluation.baseline}: {measure} {cell.note}"
        for name, row in zip(evaluation.figures, table.cells, strict=True)
        for measure, cell in zip(evaluation.measures, row[1:], strict=False)
        if cell.note
    ]
    return "\n".join([table.to_text(), *([""] if changes else []), *changes])


def _seconds(evaluation: Measured, name: str) -> str:
    """Return the total seconds of a system as text; empty for a run from elsewhere."""
    seconds = evaluation.seconds.get(name)
    return "" if seconds is None else f"{seconds.fit + seconds.answer:.1f}"


def units_of(evaluation: Measured) -> str:
    """Return the plural noun of the units that are averaged over."""
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
