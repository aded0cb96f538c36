"""Terms are similar that stand in similar documents, queries that lead to similar pages."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from os import PathLike
from pathlib import Path
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from softcosine._progress import Progress
from softcosine._threads import takes_threads
from softcosine._validation import check_choice
from softcosine.errors import InvalidInputError, MalformedFileError
from softcosine.lab.learned_pairs import LearnedPairs, best_pairs
from softcosine.lab.snos.click_files import read_clicks
from softcosine.lab.snos.edges import read_edges
from softcosine.lab.snos.learning import snos
from softcosine.lab.snos.scaling import Lambdas
from softcosine.similarity.cooccurrence.counts import Nearness
from softcosine.similarity.cooccurrence.learned_vectors import check_scale
from softcosine.similarity.cooccurrence.names import names_of
from softcosine.text.analyzer import Analyzer
from softcosine.text.corpus import AnalyzedTexts, analyze

__all__ = ["SnosSimilarity"]

_BLOCK_ROWS = 1024
_SIDES = ("left", "right")
_WORDS = Analyzer()


class SnosSimilarity(LearnedPairs):
    r"""Similarities that spread over a bipartite graph (SNOS, theory T13).

    Two objects are similar when they have similar features, and features when similar objects have
    them: two queries by the pages that were clicked for them, two terms by the documents that they
    stand in. The similarity is

    .. math:: s_{ij} = c_{ij}^e \text{ where } c_{ij} \ge t, \quad
        c_{ij} = \frac{b_i^\top S_f \, b_j}{|b_i|_{S_f} |b_j|_{S_f}}

    the soft cosine of their features; the matrix :math:`S_f` is learned with them. Cosines above 1,
    which an indefinite :math:`S_f` can give, count as 1.

    The source knows what is similar to some other, and terms under stemming by all their surface
    forms. Build it by `fit`, `from_texts`, `from_graph`, `from_clicks` or `load`.

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
        """Learn similarities of terms from the documents that have them.

        Parameters
        ----------
        corpus : AnalyzedTexts
            What `analyze` gave.
        min_count : int, default 5
            Terms in fewer documents are left out.
        max_terms : int, default 30,000
            Of the rest, those in most documents are taken, ties by their strings.
        lam, normalize, max_iterations, tolerance
            See `softcosine.lab.snos.learning.snos`; documents are features, terms objects.
        max_neighbors : int, default 50
            How many others each term chooses, while similarities are learned and afterwards; a
            pair stays that either of its terms chose.
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
            The same bits for the same corpus and settings, on any number of threads.

        Raises
        ------
        InvalidInputError
            If a setting is out of range, or the iteration diverges.
        """
        if not isinstance(corpus, AnalyzedTexts):
            raise InvalidInputError(
                f"the corpus is of type {type(corpus).__name__}; call "
                "fit(softcosine.analyze(texts)), or from_texts(texts)."
            )
        nearness = Nearness(None, min_count=min_count, max_terms=max_terms)
        counts = corpus.counts()
        frequencies = np.bincount(counts.indices, minlength=counts.shape[1])
        kept = nearness.frequent(frequencies, corpus.vocabulary)
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
        """Learn similarities of the terms of texts; settings are those of `fit`."""
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
        """Learn similarities of one side of a bipartite graph.

        Parameters
        ----------
        edges : iterable of (str, str, float)
            Left, right, weight; the weights of an edge that is given twice are added.
        of : {"left", "right"}
            Whose similarities are wanted.
        lam, normalize, max_neighbors, threshold, exponent, max_iterations, tolerance, progress
            As for `fit`; the other side are the features.

        Raises
        ------
        InvalidInputError
            If an edge is none, a setting is out of range, or the iteration diverges.
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
        """Learn similarities of queries from (query, page, number of clicks).

        A hundred clicks say little more than ten: their logarithm, ln(1 + clicks), is the weight.
        Settings are those of `from_graph`; ``of="right"`` gives similar pages.
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
        """Learn similarities of queries from a file of clicks, as `from_clicks` does.

        Queries are written as terms are: their words in one case, with a blank between. The clicks
        of those that are then equal are added.

        Parameters
        ----------
        path : path
            A table of queries, pages and perhaps clicks; see
            `softcosine.lab.snos.click_files.read_clicks`.
        reading : callable, optional
            Called as ``reading(done, total)`` while the file is read, in bytes.
        **settings
            Those of `from_graph`.

        Raises
        ------
        FileNotFoundError
        MalformedFileError
            If the file is empty, or none of clicks.
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
        return cls._of(names, rows, S, learned)


def _as_term(query: str) -> str:
    return " ".join(_WORDS.words(query)) or query  # of signs alone there are no words


def _damped(clicks: Iterable[tuple[str, str, float]]) -> Iterator[tuple[str, str, float]]:
    # Of all clicks of one pair, however often it is given.
    graph = read_edges(clicks)
    entries = graph.B.tocoo()
    rows, columns = entries.coords
    for i, j, n in zip(rows.tolist(), columns.tolist(), entries.data.tolist(), strict=True):
        yield graph.left[j], graph.right[i], float(np.log1p(n))


def _blocks(S: csr_array) -> Iterator[tuple[int, csr_array]]:
    """Yield some rows at a time, without the diagonal."""
    for first in range(0, S.shape[0], _BLOCK_ROWS):
        block = S[first : first + _BLOCK_ROWS].tocoo()
        rows, columns = block.coords
        others = columns != rows + first
        entries = block.data[others], (rows[others], columns[others])
        yield first, csr_array(entries, shape=block.shape)
