"""Result of `tune`: the settings and their estimated gain."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from html import escape
from typing import TYPE_CHECKING, Any

from softcosine.evaluate.significance import Interval
from softcosine.evaluate.tables import Table
from softcosine.evaluate.tuning.settings import Settings, shown
from softcosine.evaluate.tuning.space import DIMENSIONS

if TYPE_CHECKING:
    import pandas as pd

_SHOWN_TRIALS = 15


@dataclass(frozen=True, slots=True)
class Trial:
    """Settings that were tried, with their means.

    Attributes
    ----------
    settings : Settings
    mean : float
        Mean over all training queries.
    folds : tuple of float
        Mean of every fold.
    """

    settings: Settings
    mean: float
    folds: tuple[float, ...]

    def to_dict(self) -> dict[str, Any]:
        """Return the attributes for JSON."""
        return {"settings": self.settings.to_dict(), "mean": self.mean, "folds": list(self.folds)}


@dataclass(frozen=True, slots=True)
class FoldChoice:
    """Settings chosen without one fold, with the means on that fold.

    Attributes
    ----------
    settings : Settings
    default, chosen : float
        Means over the fold.
    n_queries : int
    """

    settings: Settings
    default: float
    chosen: float
    n_queries: int

    def to_dict(self) -> dict[str, Any]:
        """Return the attributes for JSON."""
        return {
            "settings": self.settings.to_dict(),
            "default": self.default,
            "chosen": self.chosen,
            "queries": self.n_queries,
        }


@dataclass(frozen=True, slots=True)
class TestScore:
    """Score on the test queries.

    Attributes
    ----------
    n_queries : int
    default, settings : float
        Means of the default and of the settings to use.
    gain : Interval
        Their difference.
    """

    __test__ = False  # not a test class of pytest

    n_queries: int
    default: float
    settings: float
    gain: Interval

    def to_dict(self) -> dict[str, Any]:
        """Return the attributes for JSON."""
        return {
            "queries": self.n_queries,
            "default": self.default,
            "settings": self.settings,
            "gain": self.gain.to_dict(),
        }


@dataclass(frozen=True, slots=True)
class Tuned:
    """Result of `tune`.

    Attributes
    ----------
    dataset, measure : str
    n_queries : int
        Number of training queries.
    parts : str
        Description of training and test queries.
    rule : str
    budget : int
    random_state : int
    default, chosen : Trial
        The default, and the choice of the rule on all training queries. The mean of `chosen` is
        biased upwards by the choice; `gain` is not.
    trials : tuple of Trial
        All settings that the search on these queries tried, the best first.
    by_fold : tuple of FoldChoice
        The choice without each fold (nested cross-validation).
    gain : Interval or None
        Gain over the default on unseen queries; None if tuning was interrupted before.
    against : mapping of str to Interval
        Gain on unseen queries over BM25, and with an encoder over the same settings without
        meaning; of the settings chosen without each fold.
    complete : bool
        Whether tuning was not interrupted.
    exhausted : bool
        Whether the budget ended a search.
    test : TestScore or None
    """

    dataset: str
    measure: str
    n_queries: int
    parts: str
    rule: str
    budget: int
    random_state: int
    default: Trial
    chosen: Trial
    trials: tuple[Trial, ...]
    by_fold: tuple[FoldChoice, ...]
    gain: Interval | None
    complete: bool
    exhausted: bool
    test: TestScore | None = None
    against: Mapping[str, Interval] = field(default_factory=dict)

    @property
    def certain(self) -> bool:
        """Whether the gain is significant: its interval is above 0."""
        return self.gain is not None and self.gain.low > 0.0

    @property
    def settings(self) -> Settings:
        """The settings to use: the chosen ones if the gain is significant, else the default.

        After an interruption, the best settings so far, whose gain is unknown.
        """
        if self.gain is None:
            return self.chosen.settings
        return self.chosen.settings if self.certain else self.default.settings

    @property
    def verdict(self) -> str:
        """Summary of the result in one or two sentences."""
        if self.gain is None:
            return (
                "Interrupted: these are the best settings so far; their gain on unseen queries is "
                "unknown."
            )
        told = gain_told(self.gain, self.measure)
        if self.chosen.settings == self.default.settings:
            return (
                "Tuning chose the default. On unseen queries, the settings chosen without a fold "
                f"change {told}."
            )
        if not self.certain:
            return (
                f"The gain of tuning on unseen queries is not significant: {told}. The default is "
                "kept."
            )
        return f"On unseen queries, tuning gains {told} over the default."

    def effects(self) -> dict[str, list[tuple[Any, float]]]:
        """Return for every setting the tried values, with all other settings as chosen.

        Returns
        -------
        dict of str to list of (value, mean)
            The best first; settings with a single tried value are left out.
        """
        chosen = self.chosen.settings.values()
        found: dict[str, list[tuple[Any, float]]] = {}
        for trial in self.trials:
            other = trial.settings.differences(self.chosen.settings)
            if set(other) <= {"sources", "combine"} and other:
                found.setdefault("sources", []).append((_sources_told(trial.settings), trial.mean))
            elif len(other) == 1:
                ((name, value),) = other.items()
                found.setdefault(name, []).append((value, trial.mean))
        effects = {}
        for name in DIMENSIONS:
            if name in found:
                own = chosen[name] if name != "sources" else _sources_told(self.chosen.settings)
                values = [(own, self.chosen.mean), *found[name]]
                effects[name] = sorted(values, key=lambda one: -one[1])
        return effects

    def to_dict(self) -> dict[str, Any]:
        """Return all results for JSON."""
        return {
            "dataset": self.dataset,
            "measure": self.measure,
            "queries": self.n_queries,
            "parts": self.parts,
            "folds": len(self.default.folds),
            "rule": self.rule,
            "budget": self.budget,
            "random_state": self.random_state,
            "complete": self.complete,
            "exhausted": self.exhausted,
            "verdict": self.verdict,
            "certain": self.certain,
            "settings": self.settings.to_dict(),
            "gain": None if self.gain is None else self.gain.to_dict(),
            "against": {name: gain.to_dict() for name, gain in self.against.items()},
            "default": self.default.to_dict(),
            "chosen": self.chosen.to_dict(),
            "by_fold": [one.to_dict() for one in self.by_fold],
            "test": None if self.test is None else self.test.to_dict(),
            "trials": [trial.to_dict() for trial in self.trials],
        }

    def to_pandas(self) -> pd.DataFrame:
        """Return the settings that were tried as a table, the best first.

        Raises
        ------
        MissingDependencyError
            If pandas is not installed.
        """
        from softcosine.index.frames import data_frame

        rows = [trial.settings.values() for trial in self.trials]
        columns: dict[str, Any] = {name: [row[name] for row in rows] for name in rows[0]}
        columns["sources"] = [shown(names) for names in columns["sources"]]
        return data_frame({"mean": [trial.mean for trial in self.trials], **columns})

    def report(self, commands: Sequence[str] = ()) -> str:
        """Return a Markdown report of the settings, their gain and the method.

        Parameters
        ----------
        commands : sequence of str
            Shell commands that use the settings, printed at the end.
        """
        return _report(self, commands)

    def _repr_html_(self) -> str:
        rows = [
            (f"{one.mean:.4f}", one.settings.told(self.default.settings)) for one in self.trials
        ]
        table = Table((self.measure, "against the default"), rows[:10])
        return f"<p>{escape(self.verdict)}</p>{table.to_html()}"


def gain_told(gain: Interval, measure: str = "") -> str:
    """Return a difference with its interval."""
    unit = f" {measure}" if measure else ""
    return f"{gain.difference:+.4f}{unit} [{gain.low:+.4f}, {gain.high:+.4f}]"


def _sources_told(settings: Settings) -> str:
    names = settings.values()["sources"]
    return shown(names) + (f" by {settings.similarity.combine}" if len(names) > 1 else "")


def _report(tuned: Tuned, commands: Sequence[str] = ()) -> str:
    """Return the report; see `Tuned.report`."""
    measure, default = tuned.measure, tuned.default.settings
    lines = [f"# Settings tuned on {tuned.dataset}", "", tuned.verdict, ""]
    lines += [
        f"{measure} of {tuned.n_queries} judged queries, in {len(tuned.default.folds)} folds; "
        f"{tuned.parts}. Each search tried at most {tuned.budget} settings"
        f"{', and the budget ended one of them' if tuned.exhausted else ''}; the rule "
        f"was {tuned.rule}, the seed {tuned.random_state}.",
        "",
    ]
    lines += ["## Settings", ""]
    used, chosen = tuned.settings.values(), tuned.chosen.settings.values()
    rows: list[tuple[str, ...]] = [
        (name, shown(value), shown(chosen[name]), shown(used[name]))
        for name, value in default.values().items()
    ]
    lines += _table(("setting", "default", "chosen", "to be used"), rows)
    lines += _table(
        ("", measure),
        [
            ("default, on all queries", f"{tuned.default.mean:.4f}"),
            ("chosen, on all queries (biased by the choice)", f"{tuned.chosen.mean:.4f}"),
        ],
    )
    if tuned.against:
        lines += ["## Gain on unseen queries", ""]
        rows = [(f"over {name}", gain_told(gain)) for name, gain in tuned.against.items()]
        lines += _table(("", measure), rows)
    if tuned.by_fold:
        lines += ["## Settings chosen without each fold, measured on the fold", ""]
        rows = [
            (str(one.n_queries), f"{one.default:.4f}", f"{one.chosen:.4f}",
             one.settings.told(default))
            for one in tuned.by_fold
        ]  # fmt: skip
        lines += _table(("queries", "default", "chosen", "chosen settings"), rows)
    if tuned.test is not None:
        gain = tuned.test.gain
        lines += ["## Test", ""]
        lines += _table(
            ("queries", "default", "settings to be used", "difference"),
            [
                (str(tuned.test.n_queries), f"{tuned.test.default:.4f}",
                 f"{tuned.test.settings:.4f}",
                 gain_told(gain))
            ],
        )  # fmt: skip
    lines += ["## Each setting, with all others as chosen", ""]
    rows = [
        (name, ", ".join(f"{shown(value)} {mean:.4f}" for value, mean in values))
        for name, values in tuned.effects().items()
    ]
    lines += _table(("setting", f"values and {measure} on all queries"), rows)
    lines += [f"## The best of {len(tuned.trials)} tried settings", ""]
    rows = [
        (f"{trial.mean:.4f}", trial.settings.told(default))
        for trial in tuned.trials[:_SHOWN_TRIALS]
    ]
    lines += _table((measure, "against the default"), rows)
    if commands:
        lines += ["## Use the settings", "", *(f"    {command}" for command in commands), ""]
    return "\n".join(lines)


def _table(header: Sequence[str], rows: Sequence[Sequence[str]]) -> list[str]:
    return [Table(header, rows, n_left=len(header)).to_markdown()]
