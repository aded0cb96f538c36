"""SNOS of the objects only, without forming the similarities of features (theory T13)."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csc_array, csr_array

from softcosine.lab.snos.dense import average_with_transpose
from softcosine.lab.snos.scaling import Lambdas
from softcosine.lab.snos.trace import Change

_BLOCK_BYTES = 1 << 26

Matrix = NDArray[np.float64]


class FactoredLearner:
    r"""Rounds over S_o only; two matrices of its size, for any number of features.

    With G = Bᵀ B and d the diagonal of λ₂ B S_o Bᵀ, a round gives, off the diagonal,

    .. math:: S_o' = \lambda_1 \lambda_2\, G S_o G + \lambda_1 B^\top \mathrm{diag}(1 - d) B

    Parameters
    ----------
    B : csr_array of shape (n_features, n_objects)
    lambdas : (float, float)
    start : ndarray of shape (n_objects, n_objects)
        Symmetric with unit diagonal; overwritten.

    Attributes
    ----------
    S : ndarray of shape (n_objects, n_objects)
    feature_diagonal : ndarray of shape (n_features,)
        d of the last round.
    object_diagonal : ndarray of shape (n_objects,)
    """

    def __init__(self, B: csr_array, lambdas: Lambdas, start: Matrix) -> None:
        self._B, self._BT, self._by_column = B, csr_array(B.T), csc_array(B)
        self._lambdas = lambdas
        self._product = np.empty_like(start)
        self.S = start
        self.feature_diagonal = np.zeros(B.shape[0])
        self.object_diagonal = np.zeros(B.shape[1])

    def round(self) -> Change:
        """Learn the objects once."""
        first, second = self._lambdas
        # G S in one pass, which also gives the diagonal of B S Bᵀ.
        d = second * feature_diagonal(self._B, self.S, into=self._product, BT=self._BT)
        squares, greatest, largest = 0.0, 0.0, 0.0
        own = np.zeros(len(self.S))
        for block in _blocks(self._B):
            # Columns of S G, as S and G are symmetric: the contribution of other features to S_f B,
            # then that of L₂.
            spread = second * (self._B @ self._product[block].T)
            part = self._by_column[:, block].tocoo()
            rows, places = part.coords
            spread[rows, places] += part.data * (1.0 - d)[rows]
            columns = first * (self._BT @ spread)
            diagonal = np.arange(block.start, block.stop), np.arange(columns.shape[1])
            own[block] = columns[diagonal]
            columns[diagonal] = 0.0
            largest = max(largest, float(columns.max(initial=0.0)))
            columns[diagonal] = 1.0
            change = np.abs(columns - self.S[:, block])
            greatest = max(greatest, float(change.max(initial=0.0)))
            squares += float(np.sum(np.square(change)))
            self.S[:, block] = columns
        average_with_transpose(self.S)
        self.feature_diagonal, self.object_diagonal = d, own
        return Change(float(np.sqrt(squares)), greatest, largest)


def feature_diagonal(
    B: csr_array, S: Matrix, *, into: Matrix | None = None, BT: csr_array | None = None
) -> NDArray[np.float64]:
    """Diagonal of B S Bᵀ, shape (n_features,); `into` gets Bᵀ B S."""
    by_column = csc_array(B)
    diagonal = np.zeros(B.shape[0])
    for block in _blocks(B):
        spread = B @ S[:, block]
        part = by_column[:, block].tocoo()
        rows, columns = part.coords
        diagonal += np.bincount(
            rows, weights=part.data * spread[rows, columns], minlength=B.shape[0]
        )
        if into is not None:
            into[:, block] = BT @ spread
    return diagonal


def _blocks(B: csr_array) -> list[slice]:
    """Slices of objects whose features take little memory."""
    n = B.shape[1]
    width = max(1, min(n, _BLOCK_BYTES // (8 * max(1, *B.shape))))
    return [slice(start, min(start + width, n)) for start in range(0, n, width)]
