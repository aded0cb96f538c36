"""What systems reach on one data set: the figures that tables, charts and comparisons show."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from softcosine.evaluate.answering import Seconds
from softcosine.evaluate.datasets.loading import DataSet
from softcosine.evaluate.measures import Answers, Figures
from softcosine.evaluate.neighbors import Choice, Predictions
from softcosine.evaluate.significance import Interval
from softcosine.evaluate.systems.system import FittedSystem

__all__ = ["Measured"]


@dataclass(frozen=True, slots=True, repr=False)
class Measured:
    """What systems reach on one data set, and by what answers.

    Attributes
    ----------
    dataset : DataSet
    measures : tuple of str
        The first is what matters most.
    figures : dict of str to Figures
        Of every system, by its name.
    answers : dict of str to Run, Predictions or ndarray
        What every system gave.
    seconds : dict of str to Seconds
        Of the systems that were run here.
    baseline : str
        What the others are compared with.
    intervals : dict of str to dict of str to Interval
        For every other system and every measure, the difference to the baseline.
    ranges : dict of str to dict of str to (low, high)
        Of every system's own value, by the same resamples.
    p_randomized : dict of str to dict of str to float
        Of the randomisation test, for measures that are means.
    confidence, n_resamples, random_state
        Of the intervals.
    told : dict of str to str
        What a system tells of itself, such as where its similarities come from or how quickly it
        encoded; of labels, in the first split. Systems without such a note are left out.
    fitted : dict of str to FittedSystem
        Those that were asked to be kept; of labels, that of the first split.
    """

    dataset: DataSet
    measures: tuple[str, ...]
    figures: Mapping[str, Figures]
    answers: Mapping[str, Answers]
    seconds: Mapping[str, Seconds]
    baseline: str
    intervals: Mapping[str, Mapping[str, Interval]]
    ranges: Mapping[str, Mapping[str, tuple[float, float]]]
    p_randomized: Mapping[str, Mapping[str, float]]
    confidence: float
    n_resamples: int
    random_state: int
    told: Mapping[str, str] = field(default_factory=dict)
    fitted: Mapping[str, FittedSystem] = field(default_factory=dict, repr=False)

    @property
    def values(self) -> dict[str, dict[str, float]]:
        """What every system reaches, by the names of the measures."""
        return {name: dict(figures.values) for name, figures in self.figures.items()}

    @property
    def choices(self) -> dict[str, tuple[Choice, ...]]:
        """For labels, how many neighbours every system lets vote, and how, in every split."""
        return {
            name: answers.choices
            for name, answers in self.answers.items()
            if isinstance(answers, Predictions)
        }
