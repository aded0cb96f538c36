"""Word mover's distance, by the exact solver of POT."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Self

import numpy as np
from numpy.typing import NDArray

from softcosine.evaluate.documents import Documents
from softcosine.evaluate.systems.fitted_transport import (
    FittedTransport,
    TransportSettings,
    TransportTexts,
)
from softcosine.evaluate.systems.settings import optional, setting, whole
from softcosine.evaluate.systems.transport import Movable, Query, Solver, emd, kth, solver

_GROUP = 16  # documents between two updates of the k-th distance
_ROUNDING = 1e-9  # tolerance by which bounds can exceed distances


@dataclass(frozen=True, kw_only=True)
class WMD(TransportSettings):
    """Word mover's distance between unit vectors; a similarity is 1 / (1 + distance).

    Each pair of texts needs the solution of a transport problem, some milliseconds; `note` of the
    fitted system has their number and time.

    Parameters
    ----------
    depth : int or None
        Number of documents to rank, the nearest by the relaxed distance. None ranks all documents,
        and solves only problems whose relaxed distance is small enough. Candidates of a data set
        are always all compared.
    **settings
        See `TransportSettings`.
    """

    called = "wmd"
    depth: int | None = setting(
        100, optional(whole(1)), "documents that are ranked, the nearest by the relaxed distance"
    )

    def fit(self, documents: Documents, *, background: Sequence[str] = ()) -> FittedWMD:
        """Look up the words of the documents; idf includes the background."""
        solve = solver()
        texts = TransportTexts.of(self, documents, background)
        return FittedWMD(texts=texts, movable=texts.documents(), depth=self.depth, solve=solve)


@dataclass(slots=True)
class _Cost:
    """Number of solved problems and their seconds."""

    n_problems: int = 0
    seconds: float = 0.0


@dataclass(frozen=True, kw_only=True)
class FittedWMD(FittedTransport):
    """Ranks by word mover's distance, with pruning by the relaxed distance.

    Attributes
    ----------
    depth : int or None
        See `WMD`.
    solve : callable
        POT's exact solver.
    """

    depth: int | None
    solve: Solver
    _cost: _Cost = field(default_factory=_Cost, repr=False, compare=False)

    @property
    def note(self) -> str:
        """Note on the number of solved transport problems and their time."""
        n, seconds = self._cost.n_problems, self._cost.seconds
        each = seconds / n * 1000 if n else 0.0
        return f"{n:,} transport problems in {seconds:.1f} s, {each:.2f} ms each."

    def distances(self, query: Query, documents: NDArray[np.int64]) -> NDArray[np.float64]:
        """Return the distances from a query to some documents with points."""
        started = time.perf_counter()
        costs = [
            emd(self.solve, query, *self.movable.words_of(number)) for number in documents.tolist()
        ]
        self._cost.n_problems += len(costs)
        self._cost.seconds += time.perf_counter() - started
        return np.array(costs, np.float64)

    def nearest(self, query: Query, k: int) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
        """Return documents that include the k nearest, and their distances."""
        n_docs = max(1, self.movable.shares.shape[0])
        ranked = n_docs if self.depth is None else self.depth
        numbers, bounds = self.movable.relaxed_nearest(query, k=ranked)
        order = np.lexsort((numbers, bounds))[:ranked]
        numbers, bounds = numbers[order], bounds[order]
        costs = np.empty(0)
        for start in range(0, len(numbers), _GROUP):
            if len(costs) >= k and bounds[start] > kth(costs, k) + _ROUNDING:
                break
            group = numbers[start : start + _GROUP]
            costs = np.concatenate([costs, self.distances(query, group)])
        return numbers[: len(costs)], costs

    def over(self, movable: Movable) -> Self:
        """Return the same system over other documents."""
        return replace(self, movable=movable)
