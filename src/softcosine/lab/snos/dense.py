"""SNOS with all similarities of all kinds in memory."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from softcosine.lab.snos.kinds import Kind
from softcosine.lab.snos.trace import Change

_TILE = 1024

Matrix = NDArray[np.float64]


class DenseLearner:
    """Rounds over dense matrices.

    Parameters
    ----------
    kinds : sequence of Kind
        Learned in this order, each from the current state of the others.
    start : sequence of ndarray
        Similarities of each kind, symmetric with unit diagonal; overwritten.

    Attributes
    ----------
    S : list of ndarray
    diagonals : list of ndarray
        Each diagonal before it was set to 1.
    """

    def __init__(self, kinds: Sequence[Kind], start: Sequence[Matrix]) -> None:
        self._kinds = kinds
        self.S = list(start)
        self.diagonals = [np.zeros(kind.n) for kind in kinds]

    def round(self) -> Change:
        """Learn every kind once."""
        squares, greatest, largest = 0.0, 0.0, 0.0
        for number, kind in enumerate(self._kinds):
            new = np.zeros((kind.n, kind.n))
            for influence in kind.influences:
                new += influence.C @ (influence.C @ self.S[influence.of]).T
            average_with_transpose(new)
            self.diagonals[number] = np.diagonal(new).copy()
            np.fill_diagonal(new, 0.0)
            if kind.n and kind.measured:
                largest = max(largest, float(new.max()))
            np.fill_diagonal(new, 1.0)
            if kind.measured:
                norm, step = difference(new, self.S[number])
                squares, greatest = squares + norm**2, max(greatest, step)
            self.S[number] = new
        return Change(float(np.sqrt(squares)), greatest, largest, affine=len(self._kinds) == 2)


def average_with_transpose(S: Matrix) -> None:
    """Remove the asymmetry of rounding from a matrix, tile by tile."""
    n = len(S)
    for i in range(0, n, _TILE):
        rows = slice(i, i + _TILE)
        for j in range(i, n, _TILE):
            columns = slice(j, j + _TILE)
            mean = (S[rows, columns] + S[columns, rows].T) / 2.0
            S[rows, columns] = mean
            S[columns, rows] = mean.T


def difference(new: Matrix, old: Matrix) -> tuple[float, float]:
    """Frobenius norm and largest absolute entry of new - old, computed in blocks of rows."""
    squares, greatest = 0.0, 0.0
    for i in range(0, len(new), _TILE):
        part = np.abs(new[i : i + _TILE] - old[i : i + _TILE])
        greatest = max(greatest, float(part.max(initial=0.0)))
        squares += float(np.sum(np.square(part)))
    return float(np.sqrt(squares)), greatest
