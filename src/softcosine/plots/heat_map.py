"""A heat map of a similarity matrix."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from softcosine._validation import check_choice
from softcosine.plots.drawing import Picture, columns, label

if TYPE_CHECKING:
    from matplotlib.figure import Figure

MOST_ROWS = 200

_LABEL = 40  # columns
_FEW = 12  # largest number of rows with numbers in the cells
_NARROW = 60  # number of rows from which columns have no labels
_ORDERS = ("similarity", "given")
_ITSELF = "#d9d9d9"
# ColorBrewer's YlGnBu with white for similarity 0; below 0 the reds of YlOrRd.
_COLORS = [
    "#ffffff", "#edf8b1", "#c7e9b4", "#7fcdbb", "#41b6c4", "#1d91c0", "#225ea8", "#253494",
    "#081d58",
]  # fmt: skip
_BELOW = [
    "#4d0018", "#800026", "#bd0026", "#e31a1c", "#fc4e2a", "#fd8d3c", "#feb24c", "#fed976",
]  # fmt: skip


@dataclass(frozen=True, slots=True, eq=False)
class HeatMap(Picture):
    """A similarity matrix with labels.

    Attributes
    ----------
    labels : tuple of str
        Labels of rows and columns: ids or words.
    values : ndarray of shape (n, n), float64
        Similarity of row and column, in the order of the labels.
    unit : str
        Name of the similarity.
    title : str
    """

    labels: tuple[str, ...]
    values: NDArray[np.float64]
    unit: str
    title: str = ""
    _what: ClassVar[str] = "Drawing a heat map"

    def __len__(self) -> int:
        return len(self.labels)

    def to_dict(self) -> dict[str, Any]:
        """Return labels and values as JSON types."""
        return {
            "title": self.title,
            "unit": self.unit,
            "labels": list(self.labels),
            "values": self.values.tolist(),
        }

    @property
    def _cell(self) -> float:
        """Side of a cell in inches; it depends on the number of rows."""
        return 0.48 if len(self) <= _FEW else max(0.115, min(0.3, 9.0 / len(self)))

    @property
    def _size(self) -> tuple[float, float]:
        side = max(1.6, self._cell * len(self))
        words = 0.085 * max((columns(label(one, _LABEL)) for one in self.labels), default=0)
        above = words if len(self) < _NARROW else 0.0
        return side + words + 1.2, side + above + 0.7

    def _draw(self, figure: Figure) -> None:
        from matplotlib.colors import LinearSegmentedColormap, Normalize

        if self.title:
            figure.suptitle(
                label(self.title, int(self._size[0] / 0.095)), x=0.01, ha="left", fontsize=10,
                parse_math=False,
            )  # fmt: skip
        axes = figure.add_subplot()
        if not len(self):
            axes.set_axis_off()
            axes.text(0.5, 0.5, "nothing to compare", ha="center", va="center")
            return
        # The diagonal, the largest values, would hide the differences between the others.
        others = np.where(np.eye(len(self), dtype=bool), np.nan, self.values)
        low, high = _span(others)
        colors = _COLORS if low == 0 else [*_BELOW, *_COLORS]
        scale: Any = LinearSegmentedColormap.from_list("similarity", colors)
        scale = scale.with_extremes(bad=_ITSELF)
        image = axes.imshow(
            np.ma.masked_invalid(others), cmap=scale, norm=Normalize(low, high),
            interpolation="nearest", aspect="equal",
        )  # fmt: skip
        names = [label(one, _LABEL) for one in self.labels]
        size = min(9.0, 72 * self._cell * 0.8)
        axes.set_yticks(range(len(self)), names, fontsize=size, parse_math=False)
        if len(self) < _NARROW:
            axes.xaxis.tick_top()
            axes.set_xticks(range(len(self)), names, fontsize=size, rotation=90, parse_math=False)
        else:
            axes.set_xticks([])
        axes.tick_params(length=0)
        axes.spines[:].set_visible(False)
        if len(self) <= _FEW:
            _write_numbers(axes, others, high)
        if len(self) > 1:
            bar = figure.colorbar(image, ax=axes, shrink=min(1.0, 4.0 / self._size[1]), pad=0.02)
            bar.set_label(label(self.unit, 60), fontsize=9, parse_math=False)
            bar.ax.tick_params(labelsize=8)
            bar.outline.set_visible(False)


def grouped(values: NDArray[np.float64], linkage: str = "ward") -> NDArray[np.int64]:
    """Return an order in which similar items are adjacent, so that groups are visible.

    The order is that of the leaves of a hierarchical clustering, with the sum of adjacent
    similarities maximal (Bar-Joseph et al. 2001), and the first item in the first half.

    Parameters
    ----------
    values : ndarray of shape (n, n), float64
        Similarities; the mean of both directions counts.
    linkage : str
        ``ward`` makes compact groups and suits texts, which are all a little similar; ``average``
        suits terms, which have few neighbours.

    Returns
    -------
    ndarray of shape (n,), int64
    """
    n = len(values)
    if n < 3:
        return np.arange(n)
    from scipy.cluster import hierarchy

    similar = (values + values.T) / 2
    upper = similar[np.triu_indices(n, 1)]
    tree = hierarchy.linkage(upper.max() - upper, linkage, optimal_ordering=True)
    order = np.array(hierarchy.leaves_list(tree), np.int64)
    return order if 2 * int(np.flatnonzero(order == 0)[0]) < n else order[::-1].copy()


def arranged(
    labels: Sequence[str],
    values: NDArray[np.float64],
    order: str,
    *,
    unit: str,
    title: str,
    linkage: str = "ward",
) -> HeatMap:
    """Return a heat map with rows in the given order or by similarity; see `grouped`.

    Raises
    ------
    InvalidInputError
        If the order is unknown.
    """
    check_choice("order", order, _ORDERS)
    places = grouped(values, linkage) if order == "similarity" else np.arange(len(values))
    return HeatMap(
        tuple(labels[place] for place in places.tolist()),
        values[np.ix_(places, places)],
        unit,
        title,
    )


def _span(values: NDArray[np.float64]) -> tuple[float, float]:
    """Return the range of the colour scale: from 0, or symmetric about 0.

    The upper end is a round number, at least 0.2, so that weak similarities look weak.
    """
    known = values[np.isfinite(values)]
    high = float(np.abs(known).max(initial=0.2))
    high = float(np.ceil(10 * high - 1e-9)) / 10 if high <= 1.0 else high
    return (-high if known.min(initial=0.0) < 0 else 0.0), high


def _write_numbers(axes: Any, values: NDArray[np.float64], high: float) -> None:
    for (row, column), value in np.ndenumerate(values):
        if np.isfinite(value):
            color = "white" if abs(value) > 0.6 * high else "black"
            shown = f"{value:.2f}" if high < 10 else f"{value:.0f}"
            axes.text(column, row, shown, ha="center", va="center", fontsize=8, color=color)
