"""Coordinates of new documents: by the encoder of the index, or sums over its query table."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from softcosine._progress import Report, silent
from softcosine.errors import InvalidInputError
from softcosine.index.encoding import IndexEncoder, encoder_at_hand, how_to_get
from softcosine.index.segment.coordinates import Coordinates

if TYPE_CHECKING:
    from softcosine.space.meaning import MeaningSpace


@dataclass(slots=True)
class DocumentEncoder:
    """Reads the texts of new documents.

    Attributes
    ----------
    encoder : IndexEncoder or None
        In place of the installed light one.
    report : callable
    """

    encoder: IndexEncoder | None = None
    report: Report = silent

    def encoder_of(self, meaning: MeaningSpace) -> IndexEncoder | None:
        """Return the encoder of a space; None if its coordinates are sums over the query table.

        Raises
        ------
        InvalidInputError
            If the encoder is not at hand: documents that it has not read rank below the others.
        """
        if meaning.static:
            return None
        encoder = encoder_at_hand(self.encoder, meaning.encoder)
        if encoder is None or encoder.encoder is None:
            raise InvalidInputError(
                f"the encoder {meaning.encoder!r} of this index is {how_to_get(meaning.encoder)}, "
                "and documents that it has not read would rank below the others; add documents "
                "where it is, or make the index anew with another encoder or none."
            )
        return encoder

    def coordinates(
        self,
        meaning: MeaningSpace | None,
        texts: Sequence[str],
        language: str | None,
        report: Report | None = None,
    ) -> Coordinates | None:
        """Return the coordinates of texts; None without a space of meaning or texts."""
        if meaning is None or not texts:
            return None
        encoder = self.encoder_of(meaning)
        if encoder is None:
            return Coordinates.of(meaning.static_coordinates(texts))
        read = encoder.documents(meaning, texts, language, report or self.report)
        return Coordinates.of(read)
