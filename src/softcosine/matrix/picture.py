"""Histograms of the neighbours and similarities of S."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from softcosine.matrix.drawing import Picture

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from softcosine.matrix.entries import Entries

__all__ = ["Histogram", "MatrixPicture", "picture_of"]

_WIDE = 50  # ratio of longest to shortest bar; above it, the axis is logarithmic
_BARS = 12
_WIDTH = 40  # length of the longest text bar, in characters
_EIGHTHS = " ▏▎▍▌▋▊▉"


@dataclass(frozen=True, slots=True)
class Histogram:
    """Counts between consecutive edges.

    Attributes
    ----------
    title, unit : str
        Quantity on the axis of the edges, and unit of the counts.
    edges : tuple of float, of length n_bars + 1
        Increasing. A bar includes its lower edge; the last one also includes its upper edge.
    counts : tuple of int, of length n_bars
    whole : bool
        Whether the quantity is a whole number.
    """

    title: str
    unit: str
    edges: tuple[float, ...]
    counts: tuple[int, ...]
    whole: bool = False

    def labels(self) -> list[str]:
        """Return the label of each bar: ``7``, ``8-15`` for whole numbers, else the lower edge."""
        if self.whole:
            spans = zip(self.edges, (edge - 1 for edge in self.edges[1:]), strict=False)
            return [f"{a:,.0f}" if a == b else f"{a:,.0f}-{b:,.0f}" for a, b in spans]
        return [f"{edge:.2f}" for edge in self.edges[:-1]]

    def lengths(self, longest: float) -> list[float]:
        """Return the length of each bar, given that of the longest."""
        most = max(self.counts, default=0)
        return [longest * count / most if most else 0.0 for count in self.counts]

    def __str__(self) -> str:
        labels, counts = self.labels(), [f"{count:,}" for count in self.counts]
        left = max(map(len, labels), default=0)
        right = max(map(len, counts), default=0)
        lines = [f"{self.title} ({self.unit})"]
        for label, count, length in zip(labels, counts, self.lengths(_WIDTH), strict=True):
            whole, rest = divmod(round(8 * length), 8)
            bar = "█" * whole + (_EIGHTHS[rest] if rest else "")
            lines.append(f"{label:>{left}}  {count:>{right}}  {bar}".rstrip())
        return "\n".join(lines)


@dataclass(frozen=True, slots=True)
class MatrixPicture(Picture):
    """Two histograms of S; `print` shows them as text bars.

    Attributes
    ----------
    neighbors : Histogram
        Terms by the number of their neighbours.
    similarities : Histogram
        Neighbours by their similarity.
    """

    neighbors: Histogram
    similarities: Histogram
    _what: ClassVar[str] = "Drawing a matrix"

    def __str__(self) -> str:
        return f"{self.neighbors}\n\n{self.similarities}"

    def to_dict(self) -> dict[str, Any]:
        """Return edges and counts as JSON types."""
        return {
            name: {"edges": list(histogram.edges), "counts": list(histogram.counts)}
            for name, histogram in (
                ("neighbors", self.neighbors),
                ("similarities", self.similarities),
            )
        }

    @property
    def _size(self) -> tuple[float, float]:
        return 9.0, 3.5

    def _draw(self, figure: Figure) -> None:
        for axes, histogram in zip(
            figure.subplots(1, 2), (self.neighbors, self.similarities), strict=True
        ):
            places = range(len(histogram.counts))
            axes.bar(places, histogram.counts, width=0.9, color="tab:blue")
            axes.set_xticks(list(places), histogram.labels(), rotation=45, ha="right")
            axes.set_xlabel(histogram.title)
            axes.set_ylabel(histogram.unit)
            if max(histogram.counts) > _WIDE * min(filter(None, histogram.counts), default=1):
                axes.set_yscale("log")  # small counts would be invisible
            axes.spines[["top", "right"]].set_visible(False)


def picture_of(S: Entries) -> MatrixPicture:
    """Return the histograms of a matrix."""
    entries = S.to_scipy()
    counts = np.diff(entries.indptr) - 1
    beside = entries.indices != np.repeat(np.arange(len(S)), np.diff(entries.indptr))
    values = entries.data[beside].astype(np.float64)
    most = int(counts.max(initial=0))
    return MatrixPicture(
        neighbors=_histogram("neighbours", "terms", counts, _count_edges(most), whole=True),
        similarities=_histogram("similarity", "neighbours", values, _similarity_edges(values)),
    )


def _histogram(
    title: str, unit: str, values: NDArray[Any], edges: Sequence[float], *, whole: bool = False
) -> Histogram:
    counts, _ = np.histogram(values, np.asarray(edges, np.float64))
    return Histogram(title, unit, tuple(map(float, edges)), tuple(counts.tolist()), whole)


def _count_edges(most: int) -> list[float]:
    """Return the edges for numbers of neighbours: 0, then intervals of equal length."""
    step = max(1, -(-most // _BARS))
    return [0.0, *map(float, range(1, most + step + 1, step))]


def _similarity_edges(values: NDArray[np.float64]) -> list[float]:
    """Return edges from 0 to 1 in steps of 0.05, or over the range of values of an unusual S."""
    low, high = (float(values.min()), float(values.max())) if values.size else (0.0, 1.0)
    low, high = min(0.0, np.floor(10 * low) / 10), max(1.0, np.ceil(10 * high) / 10)
    step = 0.05 if high - low <= 1.0 else (high - low) / 20
    return [low + step * i for i in range(round((high - low) / step))] + [high]
