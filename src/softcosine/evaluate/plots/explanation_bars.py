"""Bars of what each pair of words adds to a score."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

import numpy as np
from numpy.typing import NDArray

from softcosine._validation import check_type, check_whole
from softcosine.evaluate.plots.drawing import Picture, columns, label
from softcosine.index.requests import TITLES
from softcosine.index.search.explanation import COLORS, Explanation
from softcosine.index.spaces.part import SUMS, Part

if TYPE_CHECKING:
    from matplotlib.figure import Figure

_MOST = 200
_KINDS = tuple(zip(COLORS, SUMS, strict=True))
_WORD, _ID, _QUERY = 24, 48, 80  # columns of a label


@dataclass(frozen=True, slots=True)
class ExplanationBars(Picture):
    """The summands of a score, largest first, as horizontal bars whose lengths sum to it.

    Attributes
    ----------
    query, id : str
        The query, and the document id.
    score : float
    ranking : str
        Name of the score.
    parts : tuple of Part
        The summands with a bar each.
    n_rest : int
        Number of smaller summands that share one bar.
    rest_exact, rest_near, rest_meaning : float
        Sums of the smaller summands of same words, of similar words and of meaning.
    """

    query: str
    id: str
    score: float
    ranking: str
    parts: tuple[Part, ...]
    n_rest: int = 0
    rest_exact: float = 0.0
    rest_near: float = 0.0
    rest_meaning: float = 0.0
    _what: ClassVar[str] = "Drawing an explanation"

    @property
    def _size(self) -> tuple[float, float]:
        words = 0.085 * max((columns(_name(part)) for part in self.parts), default=0)
        return max(8.0, 5.0 + words), 1.5 + 0.26 * max(3, len(self.parts) + (self.n_rest > 0))

    def _draw(self, figure: Figure) -> None:
        axes = figure.add_subplot()
        meaning = any(part.kind == 2 for part in self.parts) or self.rest_meaning
        title = f"{TITLES[self.ranking]} + meaning" if meaning else TITLES[self.ranking]
        figure.suptitle(
            f"{label(self.id, _ID)} scores {self.score:.4f} ({title})\n"
            f"{label(self.query, _QUERY)}",
            x=0.01, ha="left", fontsize=10, parse_math=False,
        )  # fmt: skip
        axes.spines[["top", "right", "left"]].set_visible(False)
        if not self.parts:
            axes.set_axis_off()
            axes.text(0.5, 0.5, "no word of it is like a word of the query", ha="center")
            return
        names = [*map(_name, self.parts), *([f"{self.n_rest:,} more"] if self.n_rest else [])]
        lengths = self._lengths()
        # The kinds are stacked in one bar, those above and those below 0 apart.
        for kind, (color, name) in enumerate(_KINDS):
            own = lengths[:, kind]
            before = np.where(lengths[:, :kind] * own[:, None] > 0, lengths[:, :kind], 0.0)
            if kind < 2 or own.any():
                axes.barh(
                    range(len(own)), own, left=before.sum(axis=1), height=0.75, color=color,
                    label=name,
                )  # fmt: skip
        axes.axvline(0.0, color="black", linewidth=0.8)
        above = np.maximum(lengths, 0.0).sum(axis=1)
        for place, total in enumerate(lengths.sum(axis=1)):
            end = above[place] or total
            axes.annotate(
                f"{total:.4f}", (end, place), (3 if end >= 0 else -3, 0),
                textcoords="offset points", va="center", fontsize=8,
                ha="left" if end >= 0 else "right",
            )  # fmt: skip
        axes.set_yticks(range(len(names)), names, fontsize=9, parse_math=False)
        axes.tick_params(axis="y", length=0)
        axes.margins(x=0.12, y=0.01)
        axes.invert_yaxis()
        if lengths.min() >= 0:
            axes.set_xlim(left=0.0)
        axes.set_xlabel(f"adds to the score; all together {self.score:.4f}", fontsize=9)
        figure.legend(loc="outside lower right", ncols=3, fontsize=8, frameon=False)

    def _lengths(self) -> NDArray[np.float64]:
        """Return the length of each bar for each kind, shape (n_bars, 3)."""
        lengths = np.zeros((len(self.parts) + (self.n_rest > 0), len(_KINDS)))
        for place, part in enumerate(self.parts):
            lengths[place, part.kind] = part.contribution
        if self.n_rest:
            lengths[-1] = self.rest_exact, self.rest_near, self.rest_meaning
        return lengths


def _name(part: Part) -> str:
    pair = (part.query_word, part.document_word)
    first, second = (label(word, _WORD) for word in pair)
    name = f"{first} {part.sign} {second}"
    if not part.exact:
        name += f"  {part.similarity:.2f}"
    return f"{name}  in {label(part.field, _WORD)}" if part.field else name


def explanation_bars(explanation: Explanation, *, max_parts: int = 20) -> ExplanationBars:
    """Return the summands of a score as bars.

    Parameters
    ----------
    explanation : Explanation
        Result of `SoftIndex.explain` or `SoftIndex.explain_similar`.
    max_parts : int
        Number of summands with a bar each, from 1 to 200; one more bar holds the rest.

    Raises
    ------
    InvalidInputError

    Examples
    --------
    >>> import softcosine as sc
    >>> index = sc.SoftIndex.from_texts(["a flat tyre", "a pot of tea"], ids=["bike", "tea"])
    >>> bars = explanation_bars(index.explain("puncture of a tyre", "bike"))
    >>> bars.parts[0].query_word, bars.parts[0].document_word
    ('tyre', 'tyre')
    >>> bars.save("why.png")  # doctest: +SKIP
    """
    check_type("the explanation", explanation, Explanation, "pass index.explain(query, id)")
    check_whole("max_parts", max_parts, most=_MOST)
    rest = [0.0] * len(_KINDS)
    for part in explanation.parts[max_parts:]:
        rest[part.kind] += part.contribution
    return ExplanationBars(
        query=explanation.query,
        id=explanation.id,
        score=explanation.score,
        ranking=explanation.ranking,
        parts=explanation.parts[:max_parts],
        n_rest=max(len(explanation.parts) - max_parts, 0),
        rest_exact=rest[0],
        rest_near=rest[1],
        rest_meaning=rest[2],
    )
