"""Heat maps of documents, words, and terms of S."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from softcosine._validation import check_choice, check_type, check_whole
from softcosine.errors import InvalidInputError, UnknownTermError
from softcosine.evaluate.plots.drawing import MOST_ROWS, Picture, columns, label
from softcosine.index.directory.snapshot import Snapshot
from softcosine.index.query.query_vectors import OutsideWord
from softcosine.index.requests import TITLES
from softcosine.index.search.execution import compared
from softcosine.index.search.results import Hits
from softcosine.index.search.searchable import Searchable
from softcosine.index.spaces.sum import Sum, words_of
from softcosine.index.spaces.words import Words
from softcosine.matrix.outside import outside_similarities
from softcosine.matrix.term_similarity_matrix import TermSimilarityMatrix, checked_similarity
from softcosine.text.analyzer import shortened

if TYPE_CHECKING:
    from matplotlib.figure import Figure

_LABEL = 40  # columns
_FEW = 12  # largest number of rows with numbers in the cells
_NARROW = 60  # number of rows from which columns have no labels
_ORDERS = ("similarity", "given")
# Rankings that do not depend on which of two documents is the query, as for pairs.
_SYMMETRIC = ("soft_cosine", "inner_product")
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


def similarity_heat_map(
    index: Searchable,
    ids: Iterable[str] | None = None,
    *,
    labels: Sequence[str] | None = None,
    order: str = "similarity",
    ranking: str = "soft_cosine",
    title: str = "",
) -> HeatMap:
    """Return the similarities between documents.

    A value is the score that `SoftIndex.similar` gives for the earlier of two documents; with
    several fields, the weighted sum. A document without words has similarity 0, even with itself.

    Parameters
    ----------
    index : SoftIndex
    ids : iterable of str, optional
        At most 200, without duplicates; all documents of a small index by default.
    labels : sequence of str, optional
        Labels to show instead of the ids, such as titles.
    order : {"similarity", "given"}
        Order of the rows: similar documents together, or in the order of `ids`.
    ranking : {"soft_cosine", "inner_product"}
    title : str, optional

    Raises
    ------
    UnknownDocumentError
        If an id is not in the index.
    InvalidInputError
        If there are more than 200 documents, duplicate ids, or another number of labels than of
        ids, a setting is unknown, or S is asymmetric.

    Examples
    --------
    >>> import softcosine as sc
    >>> index = sc.SoftIndex.from_texts(["a cat", "two cats", "tea"], ids=["a", "b", "c"])
    >>> heat = similarity_heat_map(index, ["a", "c", "b"])
    >>> heat.labels
    ('a', 'b', 'c')
    >>> heat.save("heat.png")  # doctest: +SKIP
    """
    snapshot = _snapshot_of(index)
    words = _compared_words(snapshot, ranking)
    if ids is None:
        _check_number(snapshot.n_docs, "pass the ids of fewer.")
        numbers = snapshot.documents.numbers
        names = [snapshot.documents.id(number) for number in numbers.tolist()]
    else:
        names = _names(ids, "ids")
        _check_number(len(names), "name fewer.")
        numbers = np.array([snapshot.documents.number(id) for id in names], np.int64)
    shown = names if labels is None else _names(labels, "labels")
    if len(shown) != len(names):
        raise InvalidInputError(f"there are {len(shown)} labels for {len(names)} documents.")
    values = np.zeros((len(numbers), len(numbers)))
    by_number = np.argsort(numbers)
    for place, row in enumerate(by_number.tolist()):
        later = by_number[place:]
        if place + 1 < len(numbers) and numbers[row] == numbers[later[1]]:
            raise InvalidInputError(f"the id {shortened(names[row])} comes twice; give it once.")
        scores = compared(snapshot, words, int(numbers[row]), numbers[later])
        values[row, later] = values[later, row] = scores
    unit = _unit_of(snapshot, ranking)
    return arranged(shown, values, order, unit=unit, title=title)


def hits_heat_map(index: Searchable, hits: Hits, like: str | None = None) -> HeatMap:
    """Return the similarities between the documents found, with their ranks.

    Parameters
    ----------
    index : SoftIndex
    hits : Hits
    like : str, optional
        Id of the document of `SoftIndex.similar`; it is drawn too.
    """
    first = [] if like is None else [like]
    ranked = [f"{rank}. {hit.id}" for rank, hit in enumerate(hits, hits.offset + 1)]
    ids, labels = [*first, *hits.ids], [*first, *ranked]
    return similarity_heat_map(index, ids, labels=labels, title=hits.query)


def term_heat_map(
    S: TermSimilarityMatrix,
    terms: Iterable[str],
    *,
    order: str = "similarity",
    title: str = "",
) -> HeatMap:
    """Return the similarities in S between terms.

    Parameters
    ----------
    S : TermSimilarityMatrix
    terms : iterable of str
        Terms of its vocabulary, at most 200, without duplicates. Labels are their words.
    order : {"similarity", "given"}
    title : str, optional

    Raises
    ------
    UnknownTermError
        If a term is not in the vocabulary.
    InvalidInputError

    Examples
    --------
    >>> import softcosine as sc
    >>> S = sc.TermSimilarityMatrix.from_matrix([[1, 0.5], [0.5, 1]], sc.Vocabulary(["a", "b"]))
    >>> term_heat_map(S, ["b", "a"], order="given").values.tolist()
    [[1.0, 0.5], [0.5, 1.0]]
    """
    checked_similarity(S)
    rows = _Rows(S)
    for name in _names(terms, "terms"):
        if not rows.add_term(S.vocabulary.index(name)):
            raise InvalidInputError(f"the term {shortened(name)} comes twice; give it once.")
    return rows.heat_map(order, title)


def word_heat_map(
    index: Searchable,
    words: str | Iterable[str],
    *,
    k: int = 10,
    order: str = "similarity",
    title: str = "",
) -> HeatMap:
    """Return the similarities between words and their nearest neighbours.

    Parameters
    ----------
    index : SoftIndex
        Source of the similarities; the words need not occur in it.
    words : str, or iterable of str
        Single words.
    k : int
        Number of neighbours of each word, at least 1. The map has at most 200 rows.
    order : {"similarity", "given"}
    title : str, optional

    Raises
    ------
    UnknownTermError
        If a word is not in the index and has no known neighbour.
    InvalidInputError
        If a word has several terms or none, or there are too many rows.
    """
    snapshot = _snapshot_of(index)
    check_whole("k", k)
    rows = _Rows(snapshot.S)
    for word in [words] if isinstance(words, str) else _names(words, "words"):
        parsed = index.parse(word)
        if parsed.unknown and not (len(parsed.terms) or parsed.outside):
            raise UnknownTermError(
                f"{shortened(word)} stands in no document, and nothing similar to it is known."
            )
        if len(parsed.terms) + len(parsed.outside) != 1 or parsed.unknown:
            n_terms = len(parsed.terms) + len(parsed.outside) + len(parsed.unknown)
            raise InvalidInputError(
                f"{shortened(word)} holds {n_terms} terms; give single words, several as a list."
            )
        if parsed.outside:
            rows.add_outside(parsed.outside[0], k)
        else:
            rows.add_with_neighbors(int(parsed.terms[0]), k)
        rows.check()
    if not rows.outside:
        return rows.heat_map(order, title)
    assert index.source is not None, "who knows a word outside"
    inner, cross = outside_similarities(
        snapshot.S, rows.outside, np.array(rows.terms, np.int32), index.source
    )
    return rows.heat_map(order, title, inner, cross)


@dataclass(slots=True)
class _Rows:
    """Terms of the vocabulary and words outside it, without duplicates."""

    S: TermSimilarityMatrix
    terms: list[int] = field(default_factory=list)
    outside: list[OutsideWord] = field(default_factory=list)
    places: list[tuple[bool, int]] = field(default_factory=list)  # in order of insertion

    def add_term(self, term: int) -> bool:
        """Add a term; return whether it is new."""
        if term in self.terms:
            return False
        self.places.append((True, len(self.terms)))
        self.terms.append(term)
        return True

    def add_with_neighbors(self, term: int, k: int) -> None:
        vocabulary = self.S.vocabulary
        self.add_term(term)
        for other, _ in self.S.neighbors(vocabulary.term(term), k=k):
            self.add_term(vocabulary.index(other))

    def add_outside(self, word: OutsideWord, k: int) -> None:
        if all(word.word != one.word for one in self.outside):
            self.places.append((False, len(self.outside)))
            self.outside.append(word)
        pairs = zip((-word.similarities).tolist(), word.terms.tolist(), strict=True)
        nearest = sorted((s, self.S.representative(term), term) for s, term in pairs)
        for _, _, term in nearest[:k]:
            self.add_term(term)

    def check(self) -> None:
        _check_number(len(self.places), "take fewer words, or fewer neighbours of each.")

    def heat_map(
        self,
        order: str,
        title: str,
        inner: NDArray[np.float64] | None = None,
        cross: NDArray[np.float64] | None = None,
    ) -> HeatMap:
        """Return all similarities; `inner` and `cross` are those of words outside S."""
        self.check()
        values = _between(self.S, np.array(self.terms, np.int64))
        if inner is not None and cross is not None:
            values = np.block([[values, cross.T], [cross, inner]])
        n_terms = len(self.terms)
        at = [place if inside else n_terms + place for inside, place in self.places]
        labels = [
            self.S.representative(self.terms[place]) if inside else self.outside[place].word
            for inside, place in self.places
        ]
        return arranged(
            labels, values[np.ix_(at, at)], order, unit="similarity of terms", title=title,
            linkage="average",
        )  # fmt: skip


def _between(S: TermSimilarityMatrix, terms: NDArray[np.int64]) -> NDArray[np.float64]:
    """Return the entries of S between terms; no others are read."""
    indptr, indices, data = S.arrays
    ascending = np.argsort(terms)
    values = np.zeros((len(terms), len(terms)))
    for row, term in enumerate(terms.tolist()):
        own = slice(int(indptr[term]), int(indptr[term + 1]))
        columns = np.searchsorted(terms, indices[own], sorter=ascending)
        columns = ascending[np.minimum(columns, len(terms) - 1)]
        there = terms[columns] == indices[own]
        values[row, columns[there]] = data[own][there]
    return values


def _names(given: Iterable[str], what: str) -> list[str]:
    """Return the strings of any iterable except a single string."""
    names = None if isinstance(given, str) or not isinstance(given, Iterable) else list(given)
    if names is None or not all(isinstance(name, str) for name in names):
        raise InvalidInputError(
            f"{what} is of type {type(given).__name__}, or holds something else; pass a list of "
            "strings."
        )
    return names


def _check_number(n: int, advice: str) -> None:
    if n > MOST_ROWS:
        raise InvalidInputError(f"a heat map has at most {MOST_ROWS} rows, not {n:,}; {advice}")


def _snapshot_of(index: Searchable) -> Snapshot:
    """Return the snapshot of an index; InvalidInputError for another object."""
    check_type("the index", index, Searchable, "pass a SoftIndex")
    return index.snapshot


def _compared_words(snapshot: Snapshot, ranking: str) -> Sum[Words]:
    """Return the words by which documents are compared.

    Raises
    ------
    InvalidInputError
        If the ranking or S is not symmetric.
    """
    words = words_of(snapshot, ranking)
    if ranking not in _SYMMETRIC:
        raise InvalidInputError(
            f"documents are compared by {' or '.join(_SYMMETRIC)}; {ranking!r} tells a query from "
            "a document."
        )
    snapshot.S.require_symmetric("comparing documents")
    return words


def _unit_of(snapshot: Snapshot, ranking: str) -> str:
    """Return the name of the similarity; with several fields, of the sum."""
    if len(snapshot.fields) == 1:
        return TITLES[ranking]
    summed = " + ".join(
        field.name if field.weight == 1 else f"{field.weight:g} {field.name}"
        for field in snapshot.fields
    )
    return f"{TITLES[ranking]}: {summed}"
