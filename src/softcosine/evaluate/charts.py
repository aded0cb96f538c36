"""Chart of an evaluation: values with intervals, and changes per query."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from softcosine.evaluate.measures import lower_is_better
from softcosine.evaluate.plots.drawing import Picture, label
from softcosine.evaluate.reports import units_of

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from softcosine.evaluate.measured import Measured

_BASE, _EVEN, _UP, _DOWN = "#8a8f98", "#1f5fa8", "#2a8c4a", "#c0392b"
_COLORS = {1: _UP, 0: _EVEN, -1: _DOWN}
_NAME, _TITLE = 40, 60  # columns of a label
_MOST_UNITS = 2000  # drawn one by one


@dataclass(frozen=True, slots=True)
class EvaluationChart(Picture):
    """Chart of values with intervals for every measure, and of changes against the baseline.

    Attributes
    ----------
    dataset, baseline : str
    units : str
        Units that are averaged over: queries, documents or pairs.
    measures : tuple of str
    systems : tuple of str
    values : dict of str to tuple of float
        For every measure, the values of the systems.
    ranges : dict of str to tuple of (low, high)
        Interval of each value.
    verdicts : dict of str to tuple of int
        For every measure and system: 1 if it is significantly better than the baseline, -1 if
        worse, else 0.
    changed : str
        The measure whose changes are drawn; empty if none is a mean.
    changes : dict of str to tuple of float
        For every system but the baseline, the changes of the units in descending order; positive
        is better.
    """

    dataset: str
    baseline: str
    units: str
    measures: tuple[str, ...]
    systems: tuple[str, ...]
    values: dict[str, tuple[float, ...]]
    ranges: dict[str, tuple[tuple[float, float], ...]]
    verdicts: dict[str, tuple[int, ...]]
    changed: str
    changes: dict[str, tuple[float, ...]]
    _what: ClassVar[str] = "Drawing an evaluation"

    @property
    def _size(self) -> tuple[float, float]:
        width = 2.5 + 2.6 * max(len(self.measures), 2 if self.changes else 1)
        return width, 1.0 + sum(self._heights)

    @property
    def _heights(self) -> list[float]:
        """Heights of the rows in inches."""
        return [max(1.8, 0.9 + 0.3 * len(self.systems)), *([2.4] if self.changes else [])]

    def _draw(self, figure: Figure) -> None:
        figure.suptitle(label(self.dataset, _TITLE), x=0.01, ha="left", parse_math=False)
        heights = self._heights
        grid = figure.add_gridspec(len(heights), len(self.measures), height_ratios=heights)
        for column, measure in enumerate(self.measures):
            self._draw_values(figure.add_subplot(grid[0, column]), measure, first=not column)
        if self.changes:
            self._draw_changes(figure.add_subplot(grid[1, :]))
        if len(self.systems) > 1:
            figure.supxlabel(
                f"Lines: the interval of each value. Green or red: the difference to "
                f"{label(self.baseline, _NAME)}, query by query, is more than chance.",
                fontsize=8, parse_math=False,
            )  # fmt: skip

    def _draw_values(self, axes: Any, measure: str, *, first: bool) -> None:
        places, values = range(len(self.systems)), self.values[measure]
        colors = [
            _BASE if name == self.baseline else _COLORS[verdict]
            for name, verdict in zip(self.systems, self.verdicts[measure], strict=True)
        ]
        # A percentile interval need not contain the value itself.
        reach = np.array(
            [
                [max(value - low, 0.0), max(high - value, 0.0)]
                for value, (low, high) in zip(values, self.ranges[measure], strict=True)
            ]
        ).T
        # Points instead of bars, because bars need an axis from 0, which hides differences.
        for place, value, ends, color in zip(places, values, reach.T, colors, strict=True):
            axes.errorbar(
                value, place, xerr=ends[:, None], fmt="o", color=color, capsize=3, markersize=5
            )
        names = [label(name, _NAME) for name in self.systems] if first else []
        axes.set_yticks(places, names or [""] * len(values), fontsize=9, parse_math=False)
        better = " (lower is better)" if lower_is_better(measure) else ""
        axes.set_title(f"{measure}{better}", fontsize=9, parse_math=False)
        axes.spines[["top", "right"]].set_visible(False)
        axes.set_ylim(len(values) - 0.5, -0.5)
        axes.grid(axis="x", linewidth=0.4)

    def _draw_changes(self, axes: Any) -> None:
        for name, changes in self.changes.items():
            share = (np.arange(len(changes)) + 0.5) / len(changes)
            axes.step(share, changes, where="mid", label=label(name, _NAME), linewidth=1.4)
        only = next(iter(self.changes.values()))
        if len(self.changes) == 1 and len(only) <= _MOST_UNITS:
            share, values = (np.arange(len(only)) + 0.5) / len(only), np.array(only)
            for wanted, color in ((values > 0, _UP), (values < 0, _DOWN)):
                axes.bar(share[wanted], values[wanted], width=1.0 / len(only), color=color)
        axes.axhline(0.0, color="black", linewidth=0.8)
        axes.set_xlim(0.0, 1.0)
        axes.set_xlabel(f"share of {self.units}, the largest gain first", fontsize=9)
        axes.set_ylabel(
            f"gain in {self.changed}\nover {label(self.baseline, _NAME)}",
            fontsize=9, parse_math=False,
        )  # fmt: skip
        axes.spines[["top", "right"]].set_visible(False)
        legend = axes.legend(fontsize=8, frameon=False)
        for text in legend.get_texts():
            text.set_parse_math(False)


def evaluation_chart(evaluation: Measured) -> EvaluationChart:
    """Return a chart of the values of every system.

    Examples
    --------
    >>> evaluation_chart(evaluation).save("evaluation.png")  # doctest: +SKIP
    """
    names, base = tuple(evaluation.figures), evaluation.baseline
    changed = next(
        (name for name in evaluation.measures if name in evaluation.figures[base].per_unit), ""
    )
    changes: dict[str, tuple[float, ...]] = {}
    if changed:
        sign = -1.0 if lower_is_better(changed) else 1.0
        theirs = evaluation.figures[base].per_unit[changed]
        for name in names:
            if name != base:
                gain = sign * (evaluation.figures[name].per_unit[changed] - theirs)
                changes[name] = tuple(np.sort(gain)[::-1].tolist())
    return EvaluationChart(
        dataset=evaluation.dataset.name,
        baseline=base,
        units=units_of(evaluation),
        measures=evaluation.measures,
        systems=names,
        values={
            measure: tuple(evaluation.figures[name].values[measure] for name in names)
            for measure in evaluation.measures
        },
        ranges={
            measure: tuple(evaluation.ranges[name][measure] for name in names)
            for measure in evaluation.measures
        },
        verdicts={
            measure: tuple(_verdict(evaluation, name, measure) for name in names)
            for measure in evaluation.measures
        },
        changed=changed if changes else "",
        changes=changes,
    )


def _verdict(evaluation: Measured, name: str, measure: str) -> int:
    interval = evaluation.intervals.get(name, {}).get(measure)
    if interval is None or not interval.significant:
        return 0
    return -1 if (interval.difference > 0.0) == lower_is_better(measure) else 1
