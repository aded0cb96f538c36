"""`evaluate`: comparison of systems on one data set, with intervals and tests."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from softcosine._progress import Report
from softcosine.errors import InvalidInputError
from softcosine.evaluate.answering import Seconds, answered
from softcosine.evaluate.datasets.loading import DataSet
from softcosine.evaluate.datasets.ranking import RankingSet
from softcosine.evaluate.measured import Measured
from softcosine.evaluate.measures import Answers, Figures, check_measures, measured
from softcosine.evaluate.reports import evaluation_table, text_table
from softcosine.evaluate.runs import DEPTH, Run
from softcosine.evaluate.significance import (
    CONFIDENCE,
    N_RESAMPLES,
    Interval,
    bootstrap,
    check_settings,
    interval_of,
    randomization_test,
)
from softcosine.evaluate.systems.system import FittedSystem, System
from softcosine.evaluate.systems.table import from_spec, split_specs
from softcosine.index.wire import wire

if TYPE_CHECKING:
    import pandas as pd

    from softcosine.evaluate.charts import EvaluationChart
    from softcosine.evaluate.differences import Differences

USUAL_BASELINE = "cosine"


@dataclass(frozen=True, slots=True, repr=False)
class Evaluation(Measured):
    """Result of `evaluate` with tables, charts and JSON; see `Measured` for its attributes."""

    def to_dict(self) -> dict[str, Any]:
        """Return all numbers for JSON; ``["systems"][name][measure]`` is a value."""
        numbers: dict[str, Any] = {
            "dataset": self.dataset.name,
            "n_units": len(next(iter(self.figures.values())).units),
            "measures": self.measures,
            "systems": self.values,
            "baseline": self.baseline,
            "intervals": {
                name: {
                    measure: {
                        **interval.to_dict(),
                        **({"p_randomized": p[measure]} if measure in p else {}),
                    }
                    for measure, interval in own.items()
                }
                for name, own in self.intervals.items()
                for p in [self.p_randomized[name]]
            },
            "ranges": self.ranges,
            "seconds": self.seconds,
            "confidence": self.confidence,
            "n_resamples": self.n_resamples,
            "random_state": self.random_state,
            "notes": self.dataset.notes,
            "told": self.told,
        }
        splits = {
            name: figures.per_split for name, figures in self.figures.items() if figures.per_split
        }
        if splits:
            numbers["splits"] = splits
        if self.choices:
            numbers["neighbors"] = {
                name: [choice.to_dict() for choice in own] for name, own in self.choices.items()
            }
        return {name: wire(own) for name, own in numbers.items()}

    def table(self) -> str:
        """Return the table as plain text; the best value of every measure has an asterisk."""
        return text_table(self)

    def to_markdown(self) -> str:
        """Return the table as Markdown; the best value of every measure is bold."""
        return evaluation_table(self).to_markdown()

    def to_pandas(self) -> pd.DataFrame:
        """Return one row per system and measure: value, difference to baseline, low, high, p."""
        from softcosine.index.frames import data_frame

        rows = [(name, measure) for name in self.figures for measure in self.measures]
        compared = [self.intervals.get(name, {}).get(measure) for name, measure in rows]
        columns: dict[str, list[Any]] = {
            "system": [name for name, _ in rows],
            "measure": [measure for _, measure in rows],
            "value": [self.figures[name].values[measure] for name, measure in rows],
        }
        for key in ("difference", "low", "high", "p"):
            columns[key] = [None if own is None else getattr(own, key) for own in compared]
        return data_frame(columns)

    def differences(
        self,
        system: str,
        *,
        against: str | None = None,
        measure: str | None = None,
        n: int = 5,
    ) -> Differences:
        """Return the largest wins and losses of a system; see `differences.differences`."""
        from softcosine.evaluate.differences import differences

        return differences(self, system, against=against, measure=measure, n=n)

    def chart(self) -> EvaluationChart:
        """Return a chart of the values of every system; see `charts.evaluation_chart`."""
        from softcosine.evaluate.charts import evaluation_chart

        return evaluation_chart(self)

    def __repr__(self) -> str:
        return f"<Evaluation of {', '.join(self.figures)} on {self.dataset.name}>"

    def __str__(self) -> str:
        return self.table()

    def _repr_html_(self) -> str:
        return evaluation_table(self).to_html()


def evaluate(
    dataset: DataSet,
    systems: Sequence[System | str] | str,
    *,
    measures: Sequence[str] | None = None,
    baseline: str | None = None,
    runs: Mapping[str, Run] | None = None,
    depth: int = DEPTH,
    n_resamples: int = N_RESAMPLES,
    confidence: float = CONFIDENCE,
    random_state: int = 0,
    keep: Sequence[str] = (),
    progress: Report | None = None,
) -> Evaluation:
    """Run systems on a data set, measure their outputs, and compare them.

    Every system is fitted on the documents of the data set (and its background), never on
    judgements; for a classification set, on the training documents of every split.

    Parameters
    ----------
    dataset : RankingSet, ClassificationSet or PairSet
        The result of `softcosine.evaluate.datasets.load`.
    systems : sequence of System or str, or str
        Strings are specs, such as ``"cosine"`` or ``"bm25:k1=0.9,b=0.4"``, which are also the
        names of the systems; one string can contain several specs, separated by commas.
    measures : sequence of str, optional
        Default: `default_measures`.
    baseline : str, optional
        Name of the system to compare with; default: ``cosine`` if present, else the first.
    runs : mapping of str to Run, optional
        Rankings from elsewhere by name; only for a `RankingSet`.
    depth : int
        Number of documents ranked per query.
    n_resamples, confidence, random_state
        Settings of the paired bootstrap; see `softcosine.evaluate.significance`.
    keep : sequence of str
        Names of systems to keep fitted, for explanations.
    progress : callable, optional
        Called with the step, the number of systems done, and their total.

    Raises
    ------
    InvalidInputError
        If there is no system, two systems have the same name, or a measure, the baseline or a spec
        is unknown.
    MissingDependencyError
        If a system or measure needs a package that is not installed.

    Examples
    --------
    >>> from softcosine.evaluate.datasets import load
    >>> dataset = load("cranfield")                                     # doctest: +SKIP
    >>> print(evaluate(dataset, ["cosine", "bm25", "soft"]))            # doctest: +SKIP
    """
    given = split_specs(systems) if isinstance(systems, str) else systems
    made = [
        (one, from_spec(one)) if isinstance(one, str) else (one.name, one) for one in given if one
    ]
    names = _checked_names([name for name, _ in made], runs or {}, dataset)
    base = _baseline(names, baseline)
    wanted = check_measures(dataset, measures)
    check_settings(n_resamples, confidence)
    for name in keep:
        if name not in names:
            raise InvalidInputError(
                f"{name!r} is to be kept and is not compared; there are {', '.join(names)}."
            )
    answers: dict[str, Answers] = dict(runs or {})
    figures = {name: measured(dataset, run, wanted) for name, run in answers.items()}
    seconds: dict[str, Seconds] = {}
    told: dict[str, str] = {}
    kept: dict[str, FittedSystem] = {}
    for done, (name, system) in enumerate(made):
        if progress is not None:
            progress(name, done, len(made))
        found = answered(dataset, system, depth=depth)
        answers[name], seconds[name] = found.answers, found.seconds
        figures[name] = measured(dataset, found.answers, wanted)
        if found.note:
            told[name] = found.note
        if name in keep:
            kept[name] = found.fitted
    if progress is not None:
        progress("compare", len(made), len(made))
    intervals, ranges = _compared(figures, base, n_resamples, confidence, random_state)
    return Evaluation(
        dataset=dataset,
        measures=wanted,
        figures={name: figures[name] for name in names},
        answers={name: answers[name] for name in names},
        seconds=seconds,
        baseline=base,
        intervals=intervals,
        ranges=ranges,
        p_randomized=_randomized(figures, base, n_resamples, random_state),
        confidence=confidence,
        n_resamples=n_resamples,
        random_state=random_state,
        told=told,
        fitted=kept,
    )


def _compared(
    figures: Mapping[str, Figures],
    base: str,
    n_resamples: int,
    confidence: float,
    random_state: int,
) -> tuple[dict[str, dict[str, Interval]], dict[str, dict[str, tuple[float, float]]]]:
    """Return the intervals of the differences to the baseline, and of the values."""
    keys = [(name, measure) for name, own in figures.items() for measure in own.values]
    rows = bootstrap(
        [figures[name].statistics[measure] for name, measure in keys],
        n_resamples=n_resamples, random_state=random_state,
    )  # fmt: skip
    drawn = dict(zip(keys, rows, strict=True))
    intervals: dict[str, dict[str, Interval]] = {}
    ranges: dict[str, dict[str, tuple[float, float]]] = {}
    for name, own in figures.items():
        for measure, value in own.values.items():
            alone = interval_of(value, drawn[name, measure], confidence=confidence)
            ranges.setdefault(name, {})[measure] = (alone.low, alone.high)
            if name != base:
                intervals.setdefault(name, {})[measure] = interval_of(
                    value - figures[base].values[measure],
                    drawn[name, measure] - drawn[base, measure],
                    confidence=confidence,
                )
    return intervals, ranges


def _randomized(
    figures: Mapping[str, Figures], base: str, n_resamples: int, random_state: int
) -> dict[str, dict[str, float]]:
    return {
        name: {
            measure: randomization_test(
                values, figures[base].per_unit[measure],
                n_resamples=n_resamples, random_state=random_state,
            )
            for measure, values in own.per_unit.items()
        }
        for name, own in figures.items()
        if name != base
    }  # fmt: skip


def _checked_names(
    systems: Sequence[str], runs: Mapping[str, Run], dataset: DataSet
) -> tuple[str, ...]:
    names = (*systems, *runs)
    if not names:
        raise InvalidInputError("no system was named; compare at least one, such as cosine.")
    for name in names:
        if names.count(name) > 1:
            raise InvalidInputError(f"the system {name!r} is named twice; leave one out.")
    if runs and not isinstance(dataset, RankingSet):
        raise InvalidInputError(f"{dataset.name} has nothing to rank, so runs cannot be measured.")
    known = set(dataset.queries.ids) if isinstance(dataset, RankingSet) else set()
    for name, run in runs.items():
        unknown = [query for query in run.rankings if query not in known]
        if len(unknown) == len(run.rankings):
            raise InvalidInputError(
                f"the run {name!r} answers none of the queries of {dataset.name}; it has "
                f"{', '.join(map(repr, unknown[:3])) or 'none'}."
            )
    return names


def _baseline(names: Sequence[str], asked: str | None) -> str:
    if asked is not None and asked not in names:
        raise InvalidInputError(
            f"the baseline {asked!r} is not among what is compared: {', '.join(names)}."
        )
    return asked or (USUAL_BASELINE if USUAL_BASELINE in names else names[0])
