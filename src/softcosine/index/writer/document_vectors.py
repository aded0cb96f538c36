"""Coordinates of new documents: read by the encoder, or estimated for want of it."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from softcosine._progress import Report, silent
from softcosine.errors import SoftCosineWarning
from softcosine.index.directory.snapshot import IndexedSegment
from softcosine.index.encoding import IndexEncoder, how_to_get, light_encoder
from softcosine.index.segment.coordinates import Coordinates

if TYPE_CHECKING:
    from softcosine.space.meaning import MeaningSpace
    from softcosine.space.static_correction import StaticCorrection

# Encoded documents: a correction taught by fewer gains nothing, by more hardly anything.
_LEAST, _MOST = 500, 2000


@dataclass(slots=True)
class DocumentEncoder:
    """Reads the texts of new documents.

    Attributes
    ----------
    encoder : IndexEncoder or None
        In place of the installed light one.
    report : callable
    correction : StaticCorrection or None
        Of estimates, once documents are estimated.
    """

    encoder: IndexEncoder | None = None
    report: Report = silent
    correction: StaticCorrection | None = None

    def coordinates(
        self,
        meaning: MeaningSpace | None,
        texts: Sequence[str],
        language: str | None,
        entries: Sequence[IndexedSegment],
    ) -> Coordinates | None:
        """Return the coordinates of texts, estimated if the encoder is not at hand.

        None without a space of meaning or texts, or if they cannot be estimated. The documents of
        `entries` teach the estimates.
        """
        if meaning is None or not texts:
            return None
        if meaning.static:
            return Coordinates.of(meaning.static_coordinates(texts))
        encoder = self.encoder or light_encoder(meaning.encoder)
        if encoder is not None:
            return Coordinates.of(encoder.documents(meaning, texts, language, self.report))
        get = "stay without" if meaning.table is None else "get estimated"
        warnings.warn(
            f"{len(texts)} documents {get} coordinates, since the encoder {meaning.encoder!r} is "
            f"{how_to_get(meaning.encoder)}; `softcosine admin encode` adds those of the encoder "
            "later.",
            SoftCosineWarning,
            stacklevel=4,
        )
        if meaning.table is None:
            return None
        if self.correction is None:
            self.correction = _taught_correction(meaning, entries)
        return Coordinates.of(meaning.static_coordinates(texts, self.correction), True)


def _taught_correction(
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
