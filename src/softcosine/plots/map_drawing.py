"""How a map of documents is drawn: points, what colours them, and the names of its regions."""

from __future__ import annotations

import json
from collections import Counter
from typing import TYPE_CHECKING, Any

import numpy as np

from softcosine._validation import is_number
from softcosine.matrix.drawing import columns, label

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from softcosine.plots.document_map import DocumentMap

__all__ = ["draw_map", "map_size"]

_PLAIN, _MISSING, _OTHERS = "#4878a8", "#d4d4d4", "#8c8c8c"
_MOST_COLORS = 20
_FEW = 30  # documents that are named one by one
_WORD, _ID, _VALUE = 22, 28, 24  # columns of a label
_POINT = 9.0  # height of letters
_WIDE = 9.0  # inches of the axes


def map_size(drawn: DocumentMap) -> tuple[float, float]:
    """Return width and height of the picture in inches: as high as what it shows."""
    wide, high = np.ptp(drawn.places, axis=0).tolist() if len(drawn) else (1.0, 0.5)
    shape = min(max(high / wide, 0.5), 1.0) if wide else 0.5
    return _WIDE + (2.2 if drawn.values else 0.1), _WIDE * shape + 0.4


def draw_map(figure: Figure, drawn: DocumentMap) -> None:
    """Draw a map onto an empty figure."""
    axes = figure.add_subplot()
    axes.set_xticks([])
    axes.set_yticks([])
    axes.spines[:].set_color("#cccccc")
    axes.set_xlabel(drawn.caption, fontsize=8, loc="left", color="#555555")
    if not len(drawn):
        axes.text(0.5, 0.5, "no two documents are alike", ha="center", transform=axes.transAxes)
        return
    axes.set_aspect("equal", adjustable="datalim")
    size = float(np.clip(16000 / len(drawn), 5, 60))
    _draw_points(figure, axes, drawn, size)
    axes.margins(0.04)
    if len(drawn) <= _FEW:
        axes.margins(0.1)
        for id, place in zip(drawn.ids, drawn.places, strict=True):
            axes.annotate(
                label(id, _ID), place, (0, 5), textcoords="offset points", fontsize=_POINT,
                ha="center", parse_math=False,
            )  # fmt: skip
    else:
        _name_regions(axes, drawn)


def _draw_points(figure: Figure, axes: Any, drawn: DocumentMap, size: float) -> None:
    style = {"s": size, "alpha": 0.75, "linewidths": 0}
    if not drawn.values:
        axes.scatter(*drawn.places.T, color=_PLAIN, **style)
        return
    title = label(drawn.color_by or "", _VALUE)
    there = np.array([value is not None for value in drawn.values])
    kinds = Counter(map(_kind, (value for value in drawn.values if value is not None)))
    axes.scatter(*drawn.places[~there].T, color=_MISSING, **style)
    if len(kinds) > _MOST_COLORS and all(
        is_number(value) for value in drawn.values if value is not None
    ):
        numbers = [float(value) for value in drawn.values if value is not None]
        points = axes.scatter(*drawn.places[there].T, c=numbers, cmap="viridis", **style)
        bar = figure.colorbar(points, ax=axes, shrink=0.6, pad=0.02)
        bar.set_label(title, fontsize=9, parse_math=False)
        bar.ax.tick_params(labelsize=8)
        return
    own = np.array([None if value is None else _kind(value) for value in drawn.values], object)
    shown = [kind for kind, _ in kinds.most_common()]
    if len(shown) > _MOST_COLORS:
        shown = shown[: _MOST_COLORS - 1]
    handles = []
    for kind, color in zip(sorted(shown, key=_rank), _palette(len(shown)), strict=True):
        points = axes.scatter(*drawn.places[own == kind].T, color=color, **style)
        points.set_label(label(kind, _VALUE))
        handles.append(points)
    rest = there & ~np.isin(own.astype(str), shown)
    if rest.any():
        handles.append(axes.scatter(*drawn.places[rest].T, color=_OTHERS, **style))
        handles[-1].set_label(f"{len(kinds) - len(shown):,} others")
    if not there.all():
        handles.append(axes.scatter([], [], color=_MISSING, label="none", **style))
    legend = figure.legend(
        handles=handles, title=title, loc="outside right upper", fontsize=8, frameon=False,
        markerscale=float(np.sqrt(40 / size)), title_fontsize=9,
    )  # fmt: skip
    for text in (*legend.get_texts(), legend.get_title()):
        text.set_parse_math(False)


def _kind(value: Any) -> str:
    """Return what stands for a value in the legend; equal ones share it."""
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


def _rank(kind: str) -> tuple[bool, float, str]:
    """Return what sorts the legend: numbers by size, before all else."""
    try:
        number = float(kind)
    except ValueError:
        number = float("nan")
    return (True, 0.0, kind) if number != number else (False, number, kind)


def _palette(n: int) -> list[Any]:
    """Return colours that differ, without grey, which stands for the rest."""
    from matplotlib import colormaps
    from matplotlib.colors import to_hex

    strong = [to_hex(colormaps["tab10"](i)) for i in range(10) if i != 7]
    if n <= len(strong):
        return strong[:n]
    pairs = [to_hex(colormaps["tab20"](i)) for i in range(20) if i not in (14, 15)]
    return [*pairs, "#393b79", "#637939"][:n]


def _name_regions(axes: Any, drawn: DocumentMap) -> None:
    """Write what regions are about, the largest first, where there is room."""
    from matplotlib.patheffects import withStroke

    span = float(np.ptp(drawn.places[:, 0])) * 1.08 / _WIDE  # of an inch
    taken: list[tuple[float, float, float, float]] = []
    for region in drawn.regions:
        lines = [label(word, _WORD) for word in region.words]
        if not lines:
            continue
        width = max(map(columns, lines)) * 0.62 * _POINT / 72 * span
        height = len(lines) * 1.15 * _POINT / 72 * span
        box = (region.x - width / 2, region.x + width / 2,
               region.y - height / 2, region.y + height / 2)  # fmt: skip
        if any(_overlap(box, other) for other in taken):
            continue
        taken.append(box)
        text = axes.text(
            region.x, region.y, "\n".join(lines), ha="center", va="center", fontsize=_POINT,
            color="black", parse_math=False, linespacing=1.1,
        )  # fmt: skip
        text.set_path_effects([withStroke(linewidth=2, foreground="white", alpha=0.85)])


def _overlap(a: tuple[float, float, float, float], b: tuple[float, float, float, float]) -> bool:
    return a[0] < b[1] and b[0] < a[1] and a[2] < b[3] and b[2] < a[3]
