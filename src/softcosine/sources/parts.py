"""What all sources made of several sources share."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from softcosine.errors import InvalidInputError
from softcosine.sources.source import TermSimilaritySource

__all__ = ["SourceOfSources"]


class SourceOfSources:
    """Base of the sources that join others; knows what any part knows.

    Parameters
    ----------
    sources : sequence of TermSimilaritySource
        One or more.

    Raises
    ------
    InvalidInputError
        If there is none, or something else is among them.
    """

    __slots__ = ("_sources",)

    def __init__(self, sources: Sequence[TermSimilaritySource]) -> None:
        for source in sources:
            if not isinstance(source, TermSimilaritySource):
                raise InvalidInputError(
                    f"{source!r} is not a term similarity source; needed are the methods knows, "
                    "neighbors and similarities."
                )
        if not sources:
            raise InvalidInputError("there are no sources; give one or more.")
        self._sources = tuple(sources)

    @property
    def sources(self) -> tuple[TermSimilaritySource, ...]:
        """The parts."""
        return self._sources

    def knows(self, terms: Sequence[str]) -> NDArray[np.bool_]:
        """Whether any part knows each term, shape (n_terms,)."""
        known = np.zeros(len(terms), np.bool_)
        for source in self._sources:
            known |= source.knows(terms)
        return known
