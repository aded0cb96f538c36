"""Terms are similar when a corpus uses them in the same company."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from softcosine.errors import InvalidInputError
from softcosine.kernels.cooccurrence import (
    context_sizes,
    fill_information,
    lay_out,
    sort_positions,
)
from softcosine.sources.embedding import EmbeddingSimilarity
from softcosine.sources.factors import SparseRows, leading_factors
from softcosine.sources.neighbors import Neighbors
from softcosine.sources.source import SourceState
from softcosine.sources.threads import for_each_chunk
from softcosine.sources.word_vectors import WordVectors

if TYPE_CHECKING:
    from softcosine.text.corpus import AnalyzedTexts
    from softcosine.text.vocabulary import Vocabulary

__all__ = ["CooccurrenceSimilarity"]

_CHUNK_TERMS = 256


class CooccurrenceSimilarity:
    r"""Similarity learned from which terms stand near which in a corpus.

    Every term is described by its positive pointwise mutual information with the terms within
    `window` places of it,

    .. math:: m_{ij} = \max\left(0, \ln \frac{n_{ij}}{N \sqrt{p_i p'_i p_j p'_j}} - \ln k\right)

    where n_ij sums ``window + 1 - distance`` over all places where i and j stand together, N is
    the sum of all n_ij, p_i the share of term i in it, and p'_i the share of its power
    `smoothing`, which keeps rare terms from weighing too much (Levy, Goldberg & Dagan 2015; here
    from both sides, so that m is symmetric). The leading `dimensions` eigenvectors of m, times
    the square roots of the eigenvalues' sizes, are the terms' vectors; their cosines are the
    similarities,

    .. math:: s_{ij} = \left(\sqrt{r_i r_j} \cos(v_i, v_j)\right)^e \ge t^e, \quad
        r_i = \frac{n_i}{n_i + \kappa}

    with n_i the occurrences of term i: two terms that were seen a few times only, and happened to
    share a sentence, are not similar for that. A tiny corpus knows few terms or none.

    The source knows the terms of the vocabulary, and under stemming all surface forms of each.
    Build it by `fit`.
    """

    __slots__ = ("_space",)

    def __init__(self, space: EmbeddingSimilarity) -> None:
        self._space = space

    @classmethod
    def fit(
        cls,
        analyzed: AnalyzedTexts,
        *,
        window: int = 5,
        dimensions: int = 128,
        min_count: int = 5,
        max_terms: int = 30_000,
        shift: float = 1.0,
        smoothing: float = 0.75,
        evidence: float = 10.0,
        threshold: float = 0.3,
        exponent: float = 2.0,
        progress: Callable[[int, int], None] | None = None,
    ) -> CooccurrenceSimilarity:
        """Learn from a corpus.

        Parameters
        ----------
        analyzed : AnalyzedTexts
        window : int, default 5
            How many places apart two terms of a document may stand to count as together.
        dimensions : int, default 128
            Length of the terms' vectors.
        min_count : int, default 5
            Terms with fewer occurrences are left out.
        max_terms : int, default 30,000
            Of the rest, the most frequent are taken, ties by their strings.
        shift : float, default 1.0
            k above: information has to exceed ln k. At least 1.
        smoothing : float, default 0.75
            In (0, 1]; 1 is the plain pointwise mutual information.
        evidence : float, default 10.0
            kappa above: at so many occurrences a term's r is one half. 0 takes every cosine as it
            is.
        threshold, exponent : float
            As for EmbeddingSimilarity.
        progress : callable, optional
            Called as ``progress(done, total)``, in steps of about equal length.

        Returns
        -------
        CooccurrenceSimilarity
            The same bits for the same corpus and settings, on any number of threads.

        Raises
        ------
        InvalidInputError
            If a setting is out of range.

        Notes
        -----
        20 Newsgroups (2.8 million running terms, 30,000 of them taken) takes some seconds.
        """
        settings = _Settings(window, dimensions, min_count, max_terms, shift, smoothing, evidence)
        vocabulary = analyzed.vocabulary
        occurrences = np.bincount(analyzed.tokens[analyzed.tokens >= 0], minlength=len(vocabulary))
        terms = _frequent(occurrences, min_count=min_count, max_terms=max_terms)
        information = _information(analyzed, terms, settings)
        vectors = leading_factors(information, settings.dimensions, progress=progress)
        counts = occurrences[terms]
        names, rows = _names(vocabulary, terms)
        table = WordVectors(
            names,
            _compact(vectors),
            rows=rows,
            weights=np.sqrt(counts / (counts + settings.evidence)),
        )
        return cls(EmbeddingSimilarity.of_table(table, threshold=threshold, exponent=exponent))

    @property
    def words(self) -> tuple[str, ...]:
        """Terms and surface forms that are known."""
        return self._space.words

    @property
    def threshold(self) -> float:
        """Least cosine that counts."""
        return self._space.threshold

    @property
    def exponent(self) -> float:
        """Power that cosines are raised to."""
        return self._space.exponent

    def __len__(self) -> int:
        """Return the number of terms and surface forms that are known."""
        return len(self._space)

    def __repr__(self) -> str:
        return (
            f"CooccurrenceSimilarity({len(self)} words x {self._space.dimensions}, "
            f"threshold={self.threshold:g}, exponent={self.exponent:g})"
        )

    def knows(self, terms: Sequence[str]) -> NDArray[np.bool_]:
        """Whether the corpus told enough of each term, shape (n_terms,)."""
        return self._space.knows(terms)

    def similarities(self, left: Sequence[str], right: Sequence[str]) -> NDArray[np.float32]:
        """Similarity of the pairs ``(left[i], right[i])``; 1 for equal strings, 0 for unknown."""
        return self._space.similarities(left, right)

    def neighbors(
        self, terms: Sequence[str], among: Sequence[str], *, max_neighbors: int
    ) -> Neighbors:
        """Return the most similar strings of `among` of every term, exactly."""
        return self._space.neighbors(terms, among, max_neighbors=max_neighbors)

    def state(self) -> SourceState:
        """Everything that is needed to build an equal source."""
        inner = self._space.state()
        return SourceState("cooccurrence", inner.settings, inner.arrays)

    @classmethod
    def from_state(cls, state: SourceState) -> CooccurrenceSimilarity:
        """Source that `state` was taken from."""
        return cls(EmbeddingSimilarity.from_state(state))


@dataclass(frozen=True, slots=True)
class _Settings:
    """What `fit` was asked for, checked."""

    window: int
    dimensions: int
    min_count: int
    max_terms: int
    shift: float
    smoothing: float
    evidence: float

    def __post_init__(self) -> None:
        for name, least in (("window", 1), ("dimensions", 1), ("min_count", 1), ("max_terms", 0)):
            if getattr(self, name) < least:
                raise InvalidInputError(
                    f"{name} is {getattr(self, name)}; needed is {least} or more."
                )
        if not 1.0 <= self.shift < np.inf:
            raise InvalidInputError(f"shift is {self.shift}; needed is 1 or more.")
        if not 0.0 < self.smoothing <= 1.0:
            raise InvalidInputError(f"smoothing is {self.smoothing}; needed is a power in (0, 1].")
        if not 0.0 <= self.evidence < np.inf:
            raise InvalidInputError(f"evidence is {self.evidence}; needed is 0 or more.")


def _frequent(
    occurrences: NDArray[np.int64], *, min_count: int, max_terms: int
) -> NDArray[np.int64]:
    """Terms that are frequent enough, in the vocabulary's order."""
    enough = np.flatnonzero(occurrences >= min_count)
    by_frequency = np.argsort(-occurrences[enough], kind="stable")
    return np.sort(enough[by_frequency[:max_terms]])


def _information(
    analyzed: AnalyzedTexts, terms: NDArray[np.int64], settings: _Settings
) -> SparseRows:
    """Positive pointwise mutual information of every two terms that stand together."""
    n_terms = len(terms)
    numbers = np.full(len(analyzed.vocabulary), -1, np.int32)
    numbers[terms] = np.arange(n_terms, dtype=np.int32)
    n_docs = len(analyzed.offsets) - 1
    stream = np.empty(len(analyzed.tokens) + n_docs + 1, np.int32)
    tokens, offsets = np.array(analyzed.tokens), np.array(analyzed.offsets)
    lay_out(tokens, offsets, numbers, stream)
    starts = np.zeros(n_terms + 1, np.int64)
    np.cumsum(np.bincount(stream[stream >= 0], minlength=n_terms), out=starts[1:])
    positions = np.empty(starts[-1], np.int64)
    sort_positions(stream, starts[:-1].copy(), positions)

    sizes = np.zeros(n_terms, np.int64)
    totals = np.zeros(n_terms, np.int64)

    def measure(first: int, last: int) -> None:
        context_sizes(stream, positions, starts, settings.window, first, last, sizes, totals)

    for_each_chunk(measure, n_terms, chunk=_CHUNK_TERMS)
    row_starts = np.zeros(n_terms + 1, np.int64)
    np.cumsum(sizes, out=row_starts[1:])
    rows = SparseRows(
        row_starts,
        row_starts[:-1].copy(),
        np.empty(row_starts[-1], np.int32),
        np.empty(row_starts[-1], np.float32),
    )
    surprise = _surprise(totals, settings.smoothing)

    def fill(first: int, last: int) -> None:
        fill_information(
            stream,
            positions,
            starts,
            settings.window,
            surprise,
            float(np.log(settings.shift)),
            first,
            last,
            rows.starts,
            rows.columns,
            rows.values,
            rows.ends,
        )

    for_each_chunk(fill, n_terms, chunk=_CHUNK_TERMS)
    return rows


def _surprise(totals: NDArray[np.int64], smoothing: float) -> NDArray[np.float64]:
    """Each term's own part of the information: minus ln sqrt(N p p'), infinite nowhere."""
    whole = float(totals.sum())
    if whole == 0.0:
        return np.zeros(len(totals))
    shares = np.maximum(totals, 1) / whole
    powers = shares**smoothing
    smoothed = powers / powers[totals > 0].sum()
    return np.asarray(-0.5 * (np.log(shares) + np.log(smoothed) + np.log(whole)))


def _compact(vectors: NDArray[np.float32]) -> NDArray[np.float16]:
    """Vectors of unit length as float16: half the size, and cosines within 0.001."""
    lengths = np.sqrt((vectors * vectors).sum(axis=1, keepdims=True))
    return (vectors / np.where(lengths > 0.0, lengths, 1.0)).astype(np.float16)


def _names(vocabulary: Vocabulary, terms: NDArray[np.int64]) -> tuple[list[str], NDArray[np.int32]]:
    """Everything that a term is called, and the number of its vector.

    A string that is one term's surface form and another's stem means the term that it is a form
    of: forms are what texts and queries are made of.
    """
    names: list[str] = []
    rows: list[int] = []
    if vocabulary.forms is not None:
        for row, term in enumerate(terms.tolist()):
            names += vocabulary.forms[term]
            rows += [row] * len(vocabulary.forms[term])
    names += [vocabulary.terms[term] for term in terms.tolist()]
    rows += range(len(terms))
    return names, np.array(rows, np.int32)
