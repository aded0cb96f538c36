"""Which shard owns an id: by the hash of the id, for building and for changes alike."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
from numpy.typing import NDArray

from softcosine.index.writer.document import lasting_hashes

_HALF = np.uint64(32)
_LOW = np.uint64(0xFFFFFFFF)


def owner_of(hashes: NDArray[np.uint64], n_shards: int) -> NDArray[np.int64]:
    """Return the shards that own hashes: ``hash * n_shards / 2**64``, rounded down.

    A shard owns a range of hashes, so documents sorted by hash are sorted by shard, for any
    number of shards.

    Parameters
    ----------
    hashes : ndarray of uint64
    n_shards : int
        At least 1, less than 2**31.

    Examples
    --------
    >>> owner_of(np.array([0, 2**63 - 1, 2**63, 2**64 - 1], np.uint64), 2).tolist()
    [0, 0, 1, 1]
    """
    n = np.uint64(n_shards)
    low = ((hashes & _LOW) * n) >> _HALF  # the 128-bit product in two halves
    return (((hashes >> _HALF) * n + low) >> _HALF).astype(np.int64)


def owners_of(ids: Iterable[str], n_shards: int) -> NDArray[np.int64]:
    """Return the shards that own ids, in order; see `owner_of`."""
    return owner_of(lasting_hashes(ids), n_shards)


def owned(hashes: NDArray[np.uint64], shard: int, n_shards: int) -> slice:
    """Return the places of the hashes that a shard owns, among ascending ones."""
    ends = []
    for number in (shard, shard + 1):
        first = -(-(number << 64) // n_shards)  # the least hash of a shard
        ends.append(
            len(hashes) if number == n_shards else int(np.searchsorted(hashes, np.uint64(first)))
        )
    return slice(*ends)
