"""Estimates of documents' coordinates, taught by the encoded documents of an index."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from softcosine.index.directory.snapshot import IndexedSegment

if TYPE_CHECKING:
    from softcosine.space.meaning import MeaningSpace
    from softcosine.space.static_correction import StaticCorrection

# Encoded documents: a correction taught by fewer gains nothing, by more hardly anything.
_LEAST, _MOST = 500, 2000


def taught_correction(
    meaning: MeaningSpace, entries: Sequence[IndexedSegment]
) -> StaticCorrection | None:
    """Return the correction of static sums that the encoded documents of segments teach.

    Documents are taken at equal distances. None if there are too few, or if no texts are stored.
    """
    from softcosine.space.static_correction import StaticCorrection

    read = [
        (entry.documents, own.vectors, np.flatnonzero(own.encoded & entry.mask))
        for entry in entries
        if (own := entry.coordinates) is not None
    ]
    ends = np.cumsum([0, *(len(numbers) for _, _, numbers in read)])
    if ends[-1] < _LEAST or meaning.table is None:
        return None
    texts, encoded = [], []
    for place in np.linspace(0, ends[-1] - 1, min(ends[-1], _MOST), dtype=np.int64).tolist():
        owner = int(np.searchsorted(ends, place, side="right")) - 1
        documents, vectors, numbers = read[owner]
        local = int(numbers[place - ends[owner]])
        texts.append(documents.text(local))
        encoded.append(vectors[local])
    sums = meaning.table.sums(texts)
    known = sums.any(axis=1)
    if np.count_nonzero(known) < _LEAST:
        return None
    return StaticCorrection.fitted(sums[known], np.stack(encoded)[known])
