"""SNOS as a term similarity source: terms by their documents, or queries by their pages."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from os import PathLike
from pathlib import Path
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import coo_array, csr_array

from softcosine._progress import Progress
from softcosine._textio import comma_cells, numbered_lines, tab_cells
from softcosine._threads import takes_threads
from softcosine._validation import check_choice, check_number, check_type
from softcosine.errors import InvalidInputError, MalformedFileError
from softcosine.lab.learned_pairs import LearnedPairs, best_pairs
from softcosine.lab.snos.learning import snos
from softcosine.lab.snos.scaling import Lambdas
from softcosine.similarity.cooccurrence.counts import frequent
from softcosine.similarity.cooccurrence.names import names_of
from softcosine.similarity.source import check_scale
from softcosine.storage import checked_path
from softcosine.text.analyzer import Analyzer
from softcosine.text.corpus import AnalyzedTexts, analyze

# Possible column names of a header, the clearest first.
_QUERIES = ("query", "cue", "object", "left")
_PAGES = ("page", "url", "document", "label", "entity", "response", "feature", "right")
_CLICKS = ("clicks", "count", "weight", "n")

_SHOWN = 80  # characters of a line in a message


def read_clicks(
    path: str | PathLike[str], *, progress: Progress | None = None
) -> Iterator[tuple[str, str, float]]:
    """Yield the (query, page, clicks) triples of a table.

    Columns are separated by tabs, or by commas in a file whose name ends in ``.csv``. A header line
    with the names ``query`` and ``page``, and perhaps ``clicks``, identifies the columns; others
    are ignored. Without a header the columns are query, page and, in all lines or in none, clicks.
    Without clicks each line counts as one.

    Parameters
    ----------
    path : path
        A UTF-8 file, gzipped or not.
    progress : callable, optional
        Called as ``progress(n_done, n_total)``, in bytes of the file on disk.

    Raises
    ------
    FileNotFoundError
    MalformedFileError
        If a line breaks the format; names the line.
    """
    path = checked_path(path)
    cut = comma_cells if path.name.lower().removesuffix(".gz").endswith(".csv") else tab_cells
    places: tuple[int, int, int | None] | None = None
    narrow = False
    for number, line in numbered_lines(path, progress=progress):
        cells = cut(path, number, line)
        if places is None:
            named = _named(cells)
            places = named or (0, 1, 2 if len(cells) > 2 else None)
            if named is not None:
                continue
            narrow = len(cells) < 3
        if narrow and any(cells[2:]):
            raise MalformedFileError(
                path, "it has more than a query and a page, which the first line has.", line=number
            )
        yield _edge(path, number, cells, places)


def _named(cells: list[str]) -> tuple[int, int, int | None] | None:
    """Return the positions of the columns if the cells are a header."""
    names = [cell.casefold() for cell in cells]
    query, page, clicks = (
        next((names.index(name) for name in choice if name in names), None)
        for choice in (_QUERIES, _PAGES, _CLICKS)
    )
    return None if query is None or page is None else (query, page, clicks)


def _edge(
    path: Path, number: int, cells: list[str], places: tuple[int, int, int | None]
) -> tuple[str, str, float]:
    *ends, counted = (
        None if place is None else cells[place] if place < len(cells) else "" for place in places
    )
    query, page = ends
    if not query or not page:
        raise MalformedFileError(
            path,
            f"{str(cells)[:_SHOWN]} is no query and page; needed are the two and perhaps the "
            "number of clicks, with tabs between (with commas in a .csv file).",
            line=number,
        )
    if counted is None:
        return query, page, 1.0
    try:
        clicks = float(counted)
    except ValueError:
        clicks = float("nan")
    if not 0.0 <= clicks < float("inf"):
        raise MalformedFileError(
            path,
            f"the number of clicks is {counted!r}; needed is a finite number of 0 or more.",
            line=number,
        )
    return query, page, clicks


@dataclass(frozen=True, slots=True)
class NamedGraph:
    """Weights between two kinds of named objects.

    Attributes
    ----------
    left, right : tuple of str
        In order of first occurrence.
    B : csr_array of shape (n_right, n_left)
        The right ones are the features of the left.
    """

    left: tuple[str, ...]
    right: tuple[str, ...]
    B: csr_array


def read_edges(edges: Iterable[tuple[str, str, float]]) -> NamedGraph:
    """Read edges such as (query, page, clicks); weights of repeated edges are added.

    Raises
    ------
    InvalidInputError
        If an edge is not a triple of two strings and a finite non-negative number; names it.
    """
    left: dict[str, int] = {}
    right: dict[str, int] = {}
    rows: list[int] = []
    columns: list[int] = []
    weights: list[float] = []
    for edge in edges:
        a, b, weight = _checked(edge)
        columns.append(left.setdefault(a, len(left)))
        rows.append(right.setdefault(b, len(right)))
        weights.append(weight)
    ends = np.array(rows, np.int64), np.array(columns, np.int64)
    B = coo_array((np.array(weights, np.float64), ends), shape=(len(right), len(left)))
    return NamedGraph(tuple(left), tuple(right), csr_array(B))


def _checked(edge: Any) -> tuple[str, str, float]:
    try:
        a, b, weight = edge
    except (TypeError, ValueError):
        raise InvalidInputError(
            f"{edge!r} is no edge; give (object, feature, weight), such as (query, page, clicks)."
        ) from None
    if not (isinstance(a, str) and isinstance(b, str)):
        raise InvalidInputError(f"the edge ({a!r}, {b!r}) is not between two strings.")
    check_number(f"the weight of {a!r} and {b!r}", weight, least=0)
    return a, b, float(weight)


_BLOCK_ROWS = 1024
_SIDES = ("left", "right")
_WORDS = Analyzer()


class SnosSimilarity(LearnedPairs):
    r"""Similarities that spread over a bipartite graph (SNOS, theory T13).

    Two objects are similar if they have similar features, and features if similar objects have
    them: two queries by their clicked pages, two terms by their documents. The similarity is

    .. math:: s_{ij} = c_{ij}^e \text{ where } c_{ij} \ge t, \quad
        c_{ij} = \frac{b_i^\top S_f \, b_j}{|b_i|_{S_f} |b_j|_{S_f}}

    the soft cosine of their features; the matrix :math:`S_f` is learned with them. Cosines above 1,
    which an indefinite :math:`S_f` can give, count as 1.

    The source covers objects with at least one similar object; terms, with stemming, by all surface
    forms. `fit`, `from_texts`, `from_graph`, `from_clicks` or `load` builds it.

    Examples
    --------
    >>> clicks = [("cheap flights", "air.example", 5), ("low fares", "air.example", 2),
    ...           ("low fares", "rail.example", 3), ("train tickets", "rail.example", 4)]
    >>> source = SnosSimilarity.from_clicks(clicks)
    >>> source.similarities(["cheap flights"] * 2, ["low fares", "train tickets"]).round(2).tolist()
    [0.9100000262260437, 0.7300000190734863]
    """

    __slots__ = ()

    kind: ClassVar[str] = "snos"

    @classmethod
    @takes_threads
    def fit(
        cls,
        corpus: AnalyzedTexts,
        *,
        min_count: int = 5,
        max_terms: int = 30_000,
        lam: str | float | Lambdas = "spectral",
        normalize: str = "both",
        max_neighbors: int = 50,
        threshold: float = 0.1,
        exponent: float = 1.0,
        max_iterations: int = 200,
        tolerance: float = 1e-4,
        threads: int | None = None,
        progress: Progress | None = None,
    ) -> Self:
        """Return the source of terms, learned from the documents that contain them.

        Parameters
        ----------
        corpus : AnalyzedTexts
            Result of `analyze`.
        min_count : int, default 5
            Minimum document frequency of a term.
        max_terms : int, default 30,000
            Of the rest, the terms of highest document frequency; ties by string.
        lam, normalize, max_iterations, tolerance
            See `softcosine.lab.snos.learning.snos`; documents are features, terms objects.
        max_neighbors : int, default 50
            Number of others that each term chooses, during and after the learning; a pair is kept
            if either term chooses it.
        threshold : float, default 0.1
            t above, in [0, 1].
        exponent : float, default 1.0
            e above.
        threads : int, optional
            See `softcosine.using_threads`.
        progress : callable, optional
            Called as ``progress(round, max_iterations)``.

        Returns
        -------
        SnosSimilarity
            The same corpus and settings give the same bits on any number of threads.

        Raises
        ------
        InvalidInputError
            If a setting is out of range, or the iteration diverges.
        """
        check_type("the corpus", corpus, AnalyzedTexts, "call fit(softcosine.analyze(texts))")
        counts = corpus.counts()
        frequencies = np.bincount(counts.indices, minlength=counts.shape[1])
        kept = frequent(frequencies, corpus.vocabulary, min_count=min_count, max_terms=max_terms)
        names, rows = names_of(corpus.vocabulary, kept)
        B = csr_array(counts[:, kept], dtype=np.float64)
        return cls._learned_from(
            B, names, rows, threshold=threshold, exponent=exponent, max_neighbors=max_neighbors,
            lam=lam, normalize=normalize, max_iterations=max_iterations, tolerance=tolerance,
            progress=progress,
        )  # fmt: skip

    @classmethod
    def from_texts(
        cls,
        texts: Iterable[str] | Iterable[Sequence[str]],
        analyzer: Analyzer | None = None,
        **settings: Any,
    ) -> Self:
        """Return the source of the terms of texts; settings as for `fit`."""
        return cls.fit(analyze(texts, analyzer), **settings)

    @classmethod
    @takes_threads
    def from_graph(
        cls,
        edges: Iterable[tuple[str, str, float]],
        *,
        of: str = "left",
        lam: str | float | Lambdas = "spectral",
        normalize: str = "both",
        max_neighbors: int = 50,
        threshold: float = 0.1,
        exponent: float = 1.0,
        max_iterations: int = 200,
        tolerance: float = 1e-4,
        threads: int | None = None,
        progress: Progress | None = None,
    ) -> Self:
        """Return the source of one side of a bipartite graph.

        Parameters
        ----------
        edges : iterable of (str, str, float)
            Left, right, weight; weights of repeated edges are added.
        of : {"left", "right"}
            The side whose similarities to learn.
        lam, normalize, max_neighbors, threshold, exponent, max_iterations, tolerance, progress
            As for `fit`; the other side is the features.

        Raises
        ------
        InvalidInputError
            If an edge is invalid, a setting is out of range, or the iteration diverges.
        """
        check_choice("of", of, _SIDES)
        graph = read_edges(edges)
        names, B = graph.left, graph.B
        if of == "right":
            names, B = graph.right, csr_array(B.T)
        return cls._learned_from(
            B, names, np.arange(len(names), dtype=np.int32), threshold=threshold,
            exponent=exponent, max_neighbors=max_neighbors, lam=lam, normalize=normalize,
            max_iterations=max_iterations, tolerance=tolerance, progress=progress,
        )  # fmt: skip

    @classmethod
    def from_clicks(cls, clicks: Iterable[tuple[str, str, float]], **settings: Any) -> Self:
        """Return the source of queries, learned from (query, page, number of clicks).

        Weights are ln(1 + clicks), because a hundred clicks mean little more than ten. Settings are
        those of `from_graph`; ``of="right"`` gives similarities of pages.
        """
        return cls.from_graph(_damped(clicks), **settings)

    @classmethod
    def load(
        cls,
        path: str | PathLike[str],
        *,
        reading: Progress | None = None,
        **settings: Any,
    ) -> Self:
        """Return the source of queries, learned from a file of clicks like `from_clicks`.

        Queries are normalised like terms: their words, case-folded, separated by spaces. Clicks of
        queries that become equal are added.

        Parameters
        ----------
        path : path
            A table of queries, pages and perhaps clicks; see
            `softcosine.lab.snos.source.read_clicks`.
        reading : callable, optional
            Called as ``reading(n_done, n_total)`` while the file is read, in bytes.
        **settings
            Those of `from_graph`.

        Raises
        ------
        FileNotFoundError
        MalformedFileError
            If the file is empty, or is not a table of clicks.
        InvalidInputError
            As for `from_graph`.
        """
        clicks = [
            (_as_term(query), page, n) for query, page, n in read_clicks(path, progress=reading)
        ]
        if not clicks:
            raise MalformedFileError(
                Path(path),
                "it has no clicks; needed are lines of query, page and "
                "perhaps the number of clicks.",
            )
        return cls.from_clicks(clicks, **settings)

    @classmethod
    def _learned_from(
        cls,
        B: csr_array,
        names: Sequence[str],
        rows: NDArray[np.int32],
        *,
        threshold: float,
        exponent: float,
        max_neighbors: int,
        **settings: Any,
    ) -> Self:
        check_scale(threshold=threshold, exponent=exponent, max_neighbors=max_neighbors)
        result = snos(B, method="sparse", max_neighbors=max_neighbors, **settings)
        S = best_pairs(
            _blocks(csr_array(result.soft_cosines)),
            B.shape[1],
            threshold=threshold,
            exponent=exponent,
            max_neighbors=max_neighbors,
        )
        learned = {
            "lambdas": list(result.lambdas),
            "normalize": result.normalize,
            "exponent": float(exponent),
        }
        return cls(names, rows, S, learned)


def _as_term(query: str) -> str:
    return " ".join(_WORDS.words(query)) or query  # a query of signs only has no words


def _damped(clicks: Iterable[tuple[str, str, float]]) -> Iterator[tuple[str, str, float]]:
    # The logarithm applies to the sum of all clicks of a pair.
    graph = read_edges(clicks)
    entries = graph.B.tocoo()
    rows, columns = entries.coords
    for i, j, n in zip(rows.tolist(), columns.tolist(), entries.data.tolist(), strict=True):
        yield graph.left[j], graph.right[i], float(np.log1p(n))


def _blocks(S: csr_array) -> Iterator[tuple[int, csr_array]]:
    """Yield blocks of rows, without the diagonal."""
    for first in range(0, S.shape[0], _BLOCK_ROWS):
        block = S[first : first + _BLOCK_ROWS].tocoo()
        rows, columns = block.coords
        others = columns != rows + first
        entries = block.data[others], (rows[others], columns[others])
        yield first, csr_array(entries, shape=block.shape)
