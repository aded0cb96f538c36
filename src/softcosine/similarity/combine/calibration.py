"""Calibration: the similarities of a source mapped to the scale of human judgements."""

from __future__ import annotations

import json
from collections.abc import Iterable
from functools import cache
from importlib.resources import files
from typing import Any, cast

import numpy as np
from numpy.typing import NDArray

from softcosine.errors import InvalidInputError
from softcosine.similarity.checked_answers import similarities_by
from softcosine.similarity.combine.isotonic import Calibration
from softcosine.similarity.composite import MappedSource
from softcosine.similarity.naming import name_of
from softcosine.similarity.source import (
    SourceState,
    TermSimilaritySource,
    checked_source,
    source_from_state,
    state_of,
)

__all__ = [
    "CalibratedSimilarity",
    "Calibration",
    "calibrated",
    "default_calibration",
    "uncalibrated",
]


class CalibratedSimilarity(MappedSource):
    """A source with its similarities mapped to the scale of human judgements.

    A similarity of 0.3 by a source may correspond to a human judgement of 0.7. A calibration maps
    similarities by an increasing function to human judgements, so that sources can be compared and
    joined. The similarity of a term with itself stays 1; that of different strings stays below 1.
    Neighbours keep their order, except that similarities which become equal in float32 are ordered
    by their strings.

    Examples
    --------
    >>> from softcosine.similarity.embeddings.embedding import EmbeddingSimilarity
    >>> vectors = EmbeddingSimilarity(["tyre", "tire", "sun"], [[3, 4], [4, 3], [5, 1]], exponent=1)
    >>> source = calibrated(vectors, [("tyre", "tire", 1.0), ("tyre", "sun", 0.1)])
    >>> source.similarities(["tyre", "tire"], ["sun", "tire"]).tolist()
    [0.63..., 1.0]
    >>> source.raw is vectors
    True
    """

    __slots__ = ("_calibration",)

    def __init__(self, source: TermSimilaritySource, calibration: Calibration) -> None:
        super().__init__(source)
        self._calibration = calibration

    @property
    def raw(self) -> TermSimilaritySource:
        """The source without calibration."""
        return self._source

    @property
    def calibration(self) -> Calibration:
        """The map of the similarities."""
        return self._calibration

    def __repr__(self) -> str:
        fitted = self._calibration
        told = f", fitted on {fitted.n_pairs:,} {fitted.fitted_on}" if fitted.n_pairs else ""
        return f"calibrated({self._source!r}{told})"

    def _over(self, source: TermSimilaritySource) -> CalibratedSimilarity:
        return CalibratedSimilarity(source, self._calibration)

    def _mapped(self, values: NDArray[np.float32]) -> NDArray[np.float32]:
        return self._calibration(values)

    def state(self) -> SourceState:
        """State from which an equal source can be built."""
        fitted = self._calibration
        settings = {"fitted_on": fitted.fitted_on, "n_pairs": fitted.n_pairs}
        arrays = {"raw": np.array(fitted.raw), "judged": np.array(fitted.judged)}
        return SourceState("calibrated", settings, arrays, (state_of(self._source),))

    @classmethod
    def from_state(cls, state: SourceState) -> CalibratedSimilarity:
        """Build the source from its state."""
        raw, judged = (tuple(state.arrays[name].tolist()) for name in ("raw", "judged"))
        return cls(source_from_state(state.parts[0]), Calibration(raw, judged, **state.settings))


def calibrated(
    source: TermSimilaritySource,
    pairs: Iterable[tuple[str, str, float]] | None = None,
    *,
    fitted_on: str = "pairs that were given",
) -> CalibratedSimilarity:
    """Return the source calibrated to the scale of human judgements.

    Parameters
    ----------
    source : TermSimilaritySource
    pairs : iterable of (str, str, float), optional
        Two words and the human judgement of their similarity, in [0, 1]. By default the bundled
        calibration of this kind of source is used (`default_calibration`).
    fitted_on : str
        Description of the pairs, stored with the calibration.

    Raises
    ------
    InvalidInputError
        If no pairs are given and there is no bundled calibration for the source, or a pair is not
        two words and a number in [0, 1]. The message names the pair.
    """
    if pairs is None:
        return CalibratedSimilarity(source, default_calibration(checked_source(source)))
    left, right, judged = _checked_pairs(pairs)
    raw = similarities_by(checked_source(source), left, right)
    return CalibratedSimilarity(source, Calibration.fit(raw, judged, fitted_on=fitted_on))


def uncalibrated(source: TermSimilaritySource) -> TermSimilaritySource:
    """Return a source without calibration, also of the sources inside it.

    Raises
    ------
    InvalidInputError
        If a source inside has no ``state()``.
    """

    def without(state: SourceState) -> SourceState:
        if state.kind == "calibrated":
            return without(state.parts[0])
        parts = tuple(map(without, state.parts))
        return SourceState(state.kind, state.settings, state.arrays, parts)

    return source_from_state(without(state_of(source)))


def default_calibration(source: TermSimilaritySource) -> Calibration:
    """Return the bundled calibration for this kind of source.

    The calibrations are fitted on the judgements of MEN, WordSim-353, SimLex-999 and the 65 pairs
    of Rubenstein & Goodenough, and on random pairs as not similar. The knots are in
    ``data/calibrations.json`` beside this module; `makers/make_calibrations.py` fits them. The
    bundled English vectors and the three WordNet measures have their own calibrations. Those for
    other vectors and for learned sources were fitted on typical examples with the default settings;
    prefer `calibrated` with your own pairs there. Spelling sources have none.

    Raises
    ------
    InvalidInputError
        If there is none.
    """
    fitted = _defaults().get(name_of(source))
    if fitted is None:
        raise InvalidInputError(
            f"there is no calibration for {source!r}; give pairs of words with what people say of "
            "them: calibrated(source, [('car', 'automobile', 0.98), ...])."
        )
    # The calibration is adapted to the source's exponent.
    exponent = getattr(source, "exponent", None)
    return fitted if exponent in (None, 1.0) else fitted.of_power(float(exponent))


@cache
def _defaults() -> dict[str, Calibration]:
    """Return the bundled calibrations by the names or classes of sources."""
    text = (files("softcosine.similarity") / "data" / "calibrations.json").read_text("utf-8")
    stored = cast("dict[str, Any]", json.loads(text))
    return {
        name: Calibration(
            tuple(one["raw"]), tuple(one["judged"]), stored["fitted_on"], one["n_pairs"]
        )
        for name, one in stored["calibrations"].items()
    }


def _checked_pairs(
    pairs: Iterable[tuple[str, str, float]],
) -> tuple[list[str], list[str], list[float]]:
    """Split pairs of different words with a judgement in [0, 1]."""
    left, right, judged = [], [], []
    for number, pair in enumerate(pairs):
        try:
            a, b, value = pair
            value = float(value)
        except (TypeError, ValueError, OverflowError):
            a, b, value = None, None, np.nan
        if not (isinstance(a, str) and isinstance(b, str) and 0.0 <= value <= 1.0):
            raise InvalidInputError(
                f"pair number {number} is {pair!r}; needed are two words and a number in [0, 1]: "
                "divide judgements by the greatest that their scale has."
            )
        if a != b:
            left.append(a)
            right.append(b)
            judged.append(value)
    return left, right, judged
