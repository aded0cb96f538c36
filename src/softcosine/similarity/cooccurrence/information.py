"""Positive pointwise mutual information of co-occurring terms."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from softcosine._ragged import running_sum
from softcosine._threads import for_each_chunk
from softcosine._validation import check_number
from softcosine.kernels.cooccurrence import positive_information
from softcosine.similarity.cooccurrence.factors import SparseRows
from softcosine.similarity.cooccurrence.pair_counts import PairCounts

__all__ = ["check_information", "information"]

_CHUNK_TERMS = 256


def check_information(*, shift: float, smoothing: float, evidence: float) -> None:
    """Raise InvalidInputError if a setting is out of range."""
    check_number("shift", shift, least=1)
    check_number("smoothing", smoothing, above=0, most=1)
    check_number("evidence", evidence, least=0)


def information(pairs: PairCounts, *, shift: float, smoothing: float) -> SparseRows:
    r"""Return the positive pointwise mutual information of every pair of terms.

    .. math:: m_{ij} = \max\left(0, \ln \frac{n_{ij}}{N \sqrt{p_i p'_i p_j p'_j}} - \ln k\right)

    with the symbols of `CooccurrenceSimilarity`. Zero entries are dropped; column indices are
    sorted.

    Parameters
    ----------
    pairs : PairCounts
    shift : float
        k in the formula.
    smoothing : float
        Exponent of the smoothed shares p'.
    """
    surprise = _surprise(pairs.totals, smoothing)
    lengths = np.zeros(len(pairs), np.int64)
    columns: list[NDArray[np.int32]] = [np.empty(0, np.int32)]
    values: list[NDArray[np.float32]] = [np.empty(0, np.float32)]
    for first, last, block in pairs.blocks():
        starts = block.indptr.astype(np.int64)
        weighed = _weighed(block, starts, first, surprise, float(np.log(shift)))
        positive = weighed > 0.0
        before = running_sum(positive)
        lengths[first:last] = np.diff(before[starts])
        columns.append(block.indices[positive])
        values.append(weighed[positive])
    bounds = running_sum(lengths)
    return SparseRows(bounds, bounds[1:].copy(), np.concatenate(columns), np.concatenate(values))


def _weighed(
    block: csr_array,
    starts: NDArray[np.int64],
    row: int,
    surprise: NDArray[np.float64],
    shift: float,
) -> NDArray[np.float32]:
    """Information of the entries of some rows; `row` is the first."""
    values = np.empty(block.nnz, np.float32)

    def work(first: int, last: int) -> None:
        positive_information(
            starts, block.indices, block.data, row, surprise, shift, first, last, values
        )

    for_each_chunk(work, len(starts) - 1, chunk=_CHUNK_TERMS)
    return values


def _surprise(totals: NDArray[np.int64], smoothing: float) -> NDArray[np.float64]:
    """Term-dependent summand of the information: -ln sqrt(N p p'), always finite."""
    whole = float(totals.sum())
    if whole == 0.0:
        return np.zeros(len(totals))
    shares = np.maximum(totals, 1) / whole
    powers = shares**smoothing
    smoothed = powers / powers[totals > 0].sum()
    return np.asarray(-0.5 * (np.log(shares) + np.log(smoothed) + np.log(whole)))
