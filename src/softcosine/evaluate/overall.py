"""`overall`: means of several evaluations, with equal weight per data set."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from softcosine.errors import InvalidInputError
from softcosine.evaluate.datasets.loading import DataSet
from softcosine.evaluate.evaluation import Evaluation
from softcosine.evaluate.measures import check_measures, lower_is_better
from softcosine.evaluate.significance import Interval, bootstrap, interval_of, relative_gains
from softcosine.evaluate.tables import Cell, Row, Table, interval_cells
from softcosine.index.wire import wire


@dataclass(frozen=True, slots=True, repr=False)
class Overall:
    """Means over data sets, and their differences to the baseline.

    Attributes
    ----------
    evaluations : tuple of Evaluation
    measures : tuple of str
        Measures that all evaluations have.
    values : dict of str to dict of str to float
        Mean over the data sets for every system and measure.
    intervals : dict of str to dict of str to Interval
        Mean difference of every system to the baseline; every data set is resampled separately.
    gains : dict of str to dict of str to Interval
        Mean relative gain, such as 0.04 for 4 %; missing for measures with a baseline of 0 or less
        on some data set.
    """

    evaluations: tuple[Evaluation, ...]
    measures: tuple[str, ...]
    values: Mapping[str, Mapping[str, float]]
    intervals: Mapping[str, Mapping[str, Interval]]
    gains: Mapping[str, Mapping[str, Interval]]

    @property
    def baseline(self) -> str:
        """Name of the system that the others are compared with."""
        return self.evaluations[0].baseline

    def to_dict(self) -> dict[str, Any]:
        """Return all numbers for JSON; ``datasets`` has each evaluation by name."""
        return {
            "measures": list(self.measures),
            "systems": wire(self.values),
            "baseline": self.baseline,
            "intervals": wire(self.intervals),
            "gains": wire(self.gains),
            "datasets": {one.dataset.name: one.to_dict() for one in self.evaluations},
        }

    @property
    def title(self) -> str:
        """Title with the names of the data sets."""
        sets = ", ".join(one.dataset.name for one in self.evaluations)
        return f"Means over {len(self.evaluations)} data sets ({sets}), each counting the same"

    def table(self) -> Table:
        """Return the means, their differences to the baseline and relative gains."""
        reach = f"{self.evaluations[0].confidence:.0%} interval"
        header = ("system", "measure", "mean", f"to {self.baseline}", reach, "p", "gain", reach)
        rows: list[Row] = []
        for name, own in self.values.items():
            for place, (measure, value) in enumerate(own.items()):
                cells = interval_cells(
                    self.intervals.get(name, {}).get(measure),
                    lower_is_better=lower_is_better(measure),
                )
                gain = self.gains.get(name, {}).get(measure)
                told = (
                    [f"{gain.difference:+.1%}", f"[{gain.low:+.1%}, {gain.high:+.1%}]"]
                    if gain
                    else ["", ""]
                )
                told_cells = [Cell(text, color=cells[0].color) for text in told]
                rows.append(["" if place else name, measure, f"{value:.4f}", *cells, *told_cells])
        return Table(header, rows, n_left=2)

    def to_markdown(self) -> str:
        """Return the table as Markdown."""
        return f"{self.title}:\n\n{self.table().to_markdown()}"

    def __str__(self) -> str:
        return self.to_markdown()

    def __repr__(self) -> str:
        sets = ", ".join(one.dataset.name for one in self.evaluations)
        return f"<Overall of {', '.join(self.values)} on {sets}>"


def overall(evaluations: Sequence[Evaluation]) -> Overall:
    """Return the means over evaluations of the same systems.

    Parameters
    ----------
    evaluations : sequence of Evaluation
        At least two; the first one sets the resamples and the seed.

    Raises
    ------
    InvalidInputError
        If there are fewer than two evaluations, they differ in systems, baseline or confidence,
        have no common measure, or two data sets have the same name.
    """
    _check(evaluations)
    first = evaluations[0]
    names, base = tuple(first.figures), first.baseline
    measures = _common([one.dataset for one in evaluations], [one.measures for one in evaluations])
    keys = [(name, measure) for name in names for measure in measures]
    shape = (len(evaluations), len(keys), first.n_resamples)
    drawn = np.empty(shape)
    values = np.empty(shape[:2])
    for position, one in enumerate(evaluations):
        drawn[position] = bootstrap(
            [one.figures[name].statistics[measure] for name, measure in keys],
            n_resamples=first.n_resamples, random_state=(first.random_state, position),
        )  # fmt: skip
        values[position] = [one.figures[name].values[measure] for name, measure in keys]
    intervals: dict[str, dict[str, Interval]] = {}
    gains: dict[str, dict[str, Interval]] = {}
    for row, (name, measure) in enumerate(keys):
        if name == base:
            continue
        other = keys.index((base, measure))
        ours, theirs = (values[:, row], values[:, other]), (drawn[:, row], drawn[:, other])
        intervals.setdefault(name, {})[measure] = interval_of(
            float(np.mean(ours[0] - ours[1])),
            (theirs[0] - theirs[1]).mean(axis=0),
            confidence=first.confidence,
        )
        if (ours[1] > 0.0).all():
            gains.setdefault(name, {})[measure] = interval_of(
                float(relative_gains(*ours).mean()),
                relative_gains(*theirs).mean(axis=0),
                confidence=first.confidence,
            )
    means = dict(zip(keys, values.mean(axis=0).tolist(), strict=True))
    return Overall(
        tuple(evaluations),
        measures,
        {name: {measure: means[name, measure] for measure in measures} for name in names},
        intervals,
        gains,
    )


def check_together(datasets: Sequence[DataSet], measures: Sequence[str] | None) -> None:
    """Raise the errors of `overall` for evaluations of these data sets before running them."""
    _common(datasets, [check_measures(one, measures) for one in datasets])


def _common(datasets: Sequence[DataSet], measures: Sequence[Sequence[str]]) -> tuple[str, ...]:
    """Return the measures that all data sets have."""
    names = [one.name for one in datasets]
    for name in names:
        if names.count(name) > 1:
            raise InvalidInputError(f"two data sets are called {name!r}; leave one out.")
    common = tuple(name for name in measures[0] if all(name in own for own in measures))
    if not common:
        raise InvalidInputError(
            f"{', '.join(names)} have no measure in common, as they are of different kinds; "
            "evaluate them apart."
        )
    return common


def _check(evaluations: Sequence[Evaluation]) -> None:
    if len(evaluations) < 2:
        raise InvalidInputError(f"{len(evaluations)} evaluations were given; two were needed.")
    first = evaluations[0]
    for one in evaluations[1:]:
        if (tuple(one.figures), one.baseline) != (tuple(first.figures), first.baseline):
            raise InvalidInputError(
                f"{first.dataset.name} and {one.dataset.name} compare different systems or "
                "baselines; compare the same ones everywhere."
            )
        if one.confidence != first.confidence:
            raise InvalidInputError(
                f"{first.dataset.name} and {one.dataset.name} have intervals of different "
                "confidence; take one for all."
            )
