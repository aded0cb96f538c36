"""Results of systems on one data set, the input of tables, charts and comparisons."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from softcosine.evaluate.answering import Seconds
from softcosine.evaluate.datasets.loading import DataSet
from softcosine.evaluate.measures import Answers, Figures
from softcosine.evaluate.neighbors import Choice, Predictions
from softcosine.evaluate.significance import Interval
from softcosine.evaluate.systems.system import FittedSystem


@dataclass(frozen=True, slots=True, repr=False)
class Measured:
    """Outputs and measures of systems on one data set.

    Attributes
    ----------
    dataset : DataSet
    measures : tuple of str
        The first is the main measure.
    figures : dict of str to Figures
        Measures of every system.
    answers : dict of str to Run, Predictions or ndarray
        Output of every system.
    seconds : dict of str to Seconds
        Times of the systems; runs from files have none.
    baseline : str
        The system that the others are compared with.
    intervals : dict of str to dict of str to Interval
        Difference to the baseline of every other system and measure.
    ranges : dict of str to dict of str to (low, high)
        Interval of every value, from the same resamples.
    p_randomized : dict of str to dict of str to float
        p of the randomisation test, for measures that are means.
    confidence, n_resamples, random_state
        Settings of the bootstrap.
    told : dict of str to str
        Notes of systems, such as the source of similarities or the encoding speed; for labels,
        those of the first split.
    fitted : dict of str to FittedSystem
        Fitted systems named in ``keep`` of `evaluate`; for labels, those of the first split.
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
        """Values of every system and measure."""
        return {name: dict(figures.values) for name, figures in self.figures.items()}

    @property
    def choices(self) -> dict[str, tuple[Choice, ...]]:
        """For labels, the chosen voting of every system in every split."""
        return {
            name: answers.choices
            for name, answers in self.answers.items()
            if isinstance(answers, Predictions)
        }
