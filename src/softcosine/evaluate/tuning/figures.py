"""Values of a measure for settings and queries, computed once."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from softcosine.evaluate.datasets.ranking import RankingSet
from softcosine.evaluate.measures import measured
from softcosine.evaluate.runs import DEPTH, run_of
from softcosine.evaluate.tuning.kept import KeptFigures
from softcosine.evaluate.tuning.settings import Settings
from softcosine.evaluate.tuning.workbench import Workbench


class Figures:
    """Measures settings on the judged queries of a data set, with a cache.

    Parameters
    ----------
    dataset : RankingSet
    measure : str
    workbench : Workbench
        Workbench with the documents.
    kept : KeptFigures
        The cache.
    """

    def __init__(
        self, dataset: RankingSet, measure: str, workbench: Workbench, *, kept: KeptFigures
    ) -> None:
        self.dataset = dataset
        self.measure = measure
        self._workbench = workbench
        self._kept = kept
        _, _, cutoff = measure.partition("@")
        self._depth = int(cutoff) if cutoff.isdecimal() else DEPTH

    def __call__(self, settings: Settings) -> NDArray[np.float64]:
        """Return the value of every judged query, shape (n_queries,)."""
        found = self._kept.get(settings)
        if found is None:
            fitted = self._workbench.fitted(settings)
            run = run_of(self.dataset, fitted, depth=max(self._depth, 1))
            found = measured(self.dataset, run, [self.measure]).per_unit[self.measure]
            self._kept.put(settings, found)
        return found
