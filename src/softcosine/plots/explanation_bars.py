"""Bars of what each pair of words adds to a score."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any, ClassVar

from softcosine._validation import check_type, check_whole
from softcosine.index.search.explanation import Explanation, Part
from softcosine.index.search.rankings import TITLES
from softcosine.matrix.drawing import Picture, columns, label

if TYPE_CHECKING:
    from matplotlib.figure import Figure

__all__ = ["ExplanationBars", "explanation_bars"]

_MOST = 200
_EXACT, _NEAR = "#1f5fa8", "#e08a1e"
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
    rest : float
        Sum of the smaller summands.
    """

    query: str
    id: str
    score: float
    ranking: str
    parts: tuple[Part, ...]
    n_rest: int = 0
    rest_exact: float = 0.0
    rest_near: float = 0.0
    _what: ClassVar[str] = "Drawing an explanation"

    def to_dict(self) -> dict[str, Any]:
        """Return the summands as JSON types; they sum to the score."""
        return {
            "query": self.query,
            "id": self.id,
            "score": self.score,
            "ranking": self.ranking,
            "parts": [asdict(part) for part in self.parts],
            "n_rest": self.n_rest,
            "rest_exact": self.rest_exact,
            "rest_near": self.rest_near,
        }

    @property
    def _size(self) -> tuple[float, float]:
        words = 0.085 * max((columns(_name(part)) for part in self.parts), default=0)
        return max(8.0, 5.0 + words), 1.5 + 0.26 * max(3, len(self.parts) + (self.n_rest > 0))

    def _draw(self, figure: Figure) -> None:
        axes = figure.add_subplot()
        figure.suptitle(
            f"{label(self.id, _ID)} scores {self.score:.4f} ({TITLES[self.ranking]})\n"
            f"{label(self.query, _QUERY)}",
            x=0.01, ha="left", fontsize=10, parse_math=False,
        )  # fmt: skip
        axes.spines[["top", "right", "left"]].set_visible(False)
        if not self.parts:
            axes.set_axis_off()
            axes.text(0.5, 0.5, "no word of it is like a word of the query", ha="center")
            return
        names = [*map(_name, self.parts), *([f"{self.n_rest:,} more"] if self.n_rest else [])]
        same, near = self._lengths()
        axes.barh(range(len(same)), same, height=0.75, color=_EXACT, label="same word (=)")
        # Same and similar words are stacked in one bar; each may be negative.
        begin = [a if a * b > 0 else 0.0 for a, b in zip(same, near, strict=True)]
        axes.barh(
            range(len(near)), near, left=begin, height=0.75, color=_NEAR, label="similar word (~)"
        )
        axes.axvline(0.0, color="black", linewidth=0.8)
        for place, (a, b) in enumerate(zip(same, near, strict=True)):
            total, end = a + b, a + b if a * b >= 0 else max(a, b)
            axes.annotate(
                f"{total:.4f}", (end, place), (3 if end >= 0 else -3, 0),
                textcoords="offset points", va="center", fontsize=8,
                ha="left" if end >= 0 else "right",
            )  # fmt: skip
        axes.set_yticks(range(len(names)), names, fontsize=9, parse_math=False)
        axes.tick_params(axis="y", length=0)
        axes.margins(x=0.12, y=0.01)
        axes.invert_yaxis()
        if min(*same, *near) >= 0:
            axes.set_xlim(left=0.0)
        axes.set_xlabel(f"adds to the score; all together {self.score:.4f}", fontsize=9)
        figure.legend(loc="outside lower right", ncols=2, fontsize=8, frameon=False)

    def _lengths(self) -> tuple[list[float], list[float]]:
        """Return the length of each bar for the same words, and for similar words."""
        same = [part.contribution if part.exact else 0.0 for part in self.parts]
        near = [0.0 if part.exact else part.contribution for part in self.parts]
        if self.n_rest:
            same.append(self.rest_exact)
            near.append(self.rest_near)
        return same, near


def _name(part: Part) -> str:
    name = f"{label(part.query_word, _WORD)} {part.sign} {label(part.document_word, _WORD)}"
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
    rest = explanation.parts[max_parts:]
    return ExplanationBars(
        query=explanation.query,
        id=explanation.id,
        score=explanation.score,
        ranking=explanation.ranking,
        parts=explanation.parts[:max_parts],
        n_rest=len(rest),
        rest_exact=sum(part.contribution for part in rest if part.exact),
        rest_near=sum(part.contribution for part in rest if not part.exact),
    )
