"""Values of a measure for settings and queries, computed once."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import cast

import numpy as np
from numpy.typing import NDArray

from softcosine.evaluate.datasets.ranking import RankingSet
from softcosine.evaluate.documents import Documents
from softcosine.evaluate.measures import measured
from softcosine.evaluate.runs import DEPTH, run_of
from softcosine.evaluate.systems.system import FittedSystem, Ranked
from softcosine.evaluate.tuning.kept import KeptFigures
from softcosine.evaluate.tuning.settings import Settings
from softcosine.evaluate.tuning.workbench import Workbench

__all__ = ["Figures"]


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
    told : callable, optional
        Called after each new measurement.
    """

    def __init__(
        self,
        dataset: RankingSet,
        measure: str,
        workbench: Workbench,
        *,
        kept: KeptFigures,
        told: Callable[[], None] | None = None,
    ) -> None:
        self.dataset = dataset
        self.measure = measure
        self._workbench = workbench
        self._kept = kept
        self._told = told
        _, _, cutoff = measure.partition("@")
        self._depth = int(cutoff) if cutoff.isdecimal() else DEPTH

    def __call__(self, settings: Settings) -> NDArray[np.float64]:
        """Return the value of every judged query, shape (n_queries,)."""
        found = self._kept.get(settings)
        if found is None:
            fitted = cast(FittedSystem, _ByWorkbench(self._workbench, settings))
            run = run_of(self.dataset, fitted, depth=max(self._depth, 1))
            found = measured(self.dataset, run, [self.measure]).per_unit[self.measure]
            self._kept.put(settings, found)
            if self._told is not None:
                self._told()
        return found


@dataclass(frozen=True, slots=True)
class _ByWorkbench:
    """A workbench with settings as a fitted system for `run_of`."""

    workbench: Workbench
    settings: Settings

    def ranked(self, queries: Documents, *, k: int) -> Ranked:
        return self.workbench.ranked(queries, self.settings, k=k)

    def scored(
        self, queries: Documents, candidates: Sequence[NDArray[np.int64]]
    ) -> list[NDArray[np.float64]]:
        return self.workbench.scored(queries, candidates, self.settings)
