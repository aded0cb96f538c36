r"""Cosines corrected for chance: one scale for all encoders.

Cosines of one encoder lie between 0.7 and 1, those of another between 0 and 1. What counts is how
far a cosine c is above the mean m of cosines between documents, as part of the way to 1, which is
the form of every index that is corrected for chance (Hubert and Arabie, 1985):

.. math:: s = 1 - (1 - u) \frac{1 - c}{1 - m}

Here u is a usual m of all-MiniLM-L6-v2, so that its cosines stay about what they are.
"""

from __future__ import annotations

from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from softcosine.encoders.loading import MINILM, MULTILINGUAL

N_SAMPLED = 256  # documents
_USUAL = 0.15
_OF_ENCODERS = {MINILM: _USUAL, MULTILINGUAL: 0.82}
_FEW, _FEWEST = 30, 10  # documents, whose mean says more of them than of a known encoder, or any
_MOST = 0.9  # of documents that are all alike

_T = TypeVar("_T", NDArray[np.float64], NDArray[np.float32])


def mean_cosine(vectors: NDArray[np.int8], encoder: str) -> float:
    """Return the mean cosine between distinct documents, rounded to thousandths.

    For few documents that of the encoder, or the usual one.

    Parameters
    ----------
    vectors : ndarray of shape (n_docs, dimensions), int8
        Coordinates of a sample; their order changes no bit.
    encoder : str
    """
    rows = np.unique(vectors, axis=0).astype(np.float64)
    rows = rows[rows.any(axis=1)]
    n = len(rows)
    if n < (_FEW if encoder in _OF_ENCODERS else _FEWEST):
        return _OF_ENCODERS.get(encoder, _USUAL)
    products = rows @ rows.T  # of whole numbers, so exact
    lengths = np.sqrt(np.diagonal(products))
    cosines = products / lengths / lengths[:, np.newaxis]
    mean = (float(cosines.sum()) - n) / (n * (n - 1))
    return round(min(max(mean, 0.0), _MOST), 3)


def slope_of(mean: float | None) -> float:
    """Return the factor of 1 - c in 1 - s; 1 for cosines as they are."""
    return 1.0 if mean is None else (1.0 - _USUAL) / (1.0 - mean)


def above_chance(cosines: _T, slope: float, known: NDArray[np.bool_] | NDArray[np.float32]) -> _T:
    """Return s for cosines, given the slope of `slope_of`; 0 where `known` is 0 or false."""
    if slope == 1.0:
        return cosines
    above = 1.0 - slope * (1.0 - cosines)
    above *= known != 0
    return above
