"""Panels of expanded documents, each compared with all later documents.

**Bounds.** Let x' = W S W x be the expansion of a document, c its factor, u = max x' / 255, and
r_t = ceil(x'_t / u) the entries of the panel: integers from 0 to 255 with
x'_t <= u r_t <= x'_t + u, and r_t = 0 where x'_t = 0. Let v_t >= 0 be the values of a later
document, h its factor, and s = c h sum_t x'_t v_t the similarity (theory, "Exactness of the
two-stage search"). Then

    u c h (sum_t r_t v_t - sum_t v_t)  <=  s  <=  u c h sum_t r_t v_t .

The integer sums are exact, because at most 256 entries are added in 16 bits. The other operations
round in float32, a few units per distinct value, relative to sums without negative summands; the
slack of `softcosine.index.spaces.bounds` covers this. So a pair whose upper bound is below slack
times a similarity is below that similarity. If k pairs of a document have lower bounds that reach
a similarity, no pair below slack times it is among the k best of that document. All other pairs are
scored in float64. If x' has a negative entry, or the numbers leave the range of float32, every pair
of the document is scored in float64.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from softcosine._ragged import running_sum
from softcosine.errors import InvalidInputError
from softcosine.index.rankings import RankedSegment
from softcosine.index.spaces.bounds import slack
from softcosine.kernels.all_pairs import (
    PANEL,
    expand_documents,
    gather_pairs,
    order_values,
    scan_panel,
)
from softcosine.kernels.documents import score_pairs, soft_norms_squared
from softcosine.matrix.term_similarity_matrix import TermSimilarityMatrix
from softcosine.space.norms import roots

_SMALLEST, _LARGEST = 1e-30, 1e30  # range in which float32 neither underflows nor overflows
_TINY = np.finfo(np.float32).tiny  # the lowest threshold: every positive value reaches it
_ROOM = 2**16  # pairs that a scan can find before they are scored

Scored = Callable[[int, "ScoredPairs"], None]


@dataclass(frozen=True, slots=True)
class ScoredPairs:
    """Scored pairs of a panel: column q has the entries starts[q] to starts[q + 1].

    Attributes
    ----------
    starts : ndarray of shape (n_columns + 1,), int64
    documents : ndarray, uint32
        Place of the later document of each pair.
    scores : ndarray, float64
    """

    starts: NDArray[np.int64]
    documents: NDArray[np.uint32]
    scores: NDArray[np.float64]

    @property
    def columns(self) -> NDArray[np.int64]:
        """The column of each pair."""
        return np.repeat(np.arange(len(self.starts) - 1), np.diff(self.starts))


@dataclass(frozen=True, slots=True)
class Bars:
    """Thresholds of similarity, on the scale of the bounds.

    Attributes
    ----------
    floor : float32
        For every pair.
    documents : ndarray of shape (n,), float32
        For the later document of a pair; infinite if the pair is not needed for it.
    best : ndarray of shape (n, k), float64
        The largest similarities of each document so far, zeros first; k = 0 if all pairs count.
    lock : Lock
        Held while thresholds rise or `best` is read.
    """

    floor: np.float32
    documents: NDArray[np.float32]
    best: NDArray[np.float64]
    lock: threading.Lock = field(default_factory=threading.Lock)

    @classmethod
    def at(cls, minimum: float, n: int, k: int, slack: float) -> Bars:
        """Return the initial thresholds of `n` documents and their `k` best (0: all pairs)."""
        least = min(minimum, _LARGEST) * slack if minimum > 0 else 0.0
        floor = max(np.float32(least), _TINY)
        return cls(floor, np.full(n, floor if k else np.inf, np.float32), np.zeros((n, k)))


class ScoredDocuments(Protocol):
    """Documents in order of number; their index here is their *place*."""

    @property
    def numbers(self) -> NDArray[np.int64]:
        """Document numbers in the index, ascending."""
        ...

    def pair_scores(self, first: int, others: NDArray[np.integer]) -> NDArray[np.float64]:
        """Return exact similarities of a document with others, by ascending place."""
        ...


class Comparison(ScoredDocuments, Protocol):
    """Documents to compare."""

    @property
    def panels(self) -> Sequence[tuple[int, int]]:
        """First place and end of each panel."""
        ...

    @property
    def slack(self) -> float:
        """Factor of the thresholds."""
        ...

    def keys(self) -> Iterator[bytes]:
        """Yield a key for each document; all similarities of documents of one key are equal."""
        ...

    def meet(self, panel: int, bars: Bars, scored: Scored) -> None:
        """Compare the documents of a panel with all later documents.

        Parameters
        ----------
        panel : int
            Index in `panels`.
        bars : Bars
            Can rise during the call.
        scored : callable
            Called any number of times with the first place of the panel and exactly scored pairs,
            each once; these include all pairs that reach the thresholds.
        """
        ...


class PairDocuments:
    """Documents compared by words: a `Comparison`.

    Deleted documents and documents of norm 0 have no place. Takes some 5 bytes per posting beside
    the index (10 for real weights).

    Parameters
    ----------
    parts : sequence of RankedSegment
        Prepared segments in order of document numbers, for one symmetric ranking.
    S : TermSimilarityMatrix
        Symmetric.
    others : sequence of ndarray of shape (n_docs,), bool, optional
        For each segment, documents that have a place even if their norm is 0.

    Attributes
    ----------
    chosen : list of ndarray, int64
        The documents of each segment that have a place, ascending.
    """

    def __init__(
        self,
        parts: Sequence[RankedSegment],
        S: TermSimilarityMatrix,
        others: Sequence[NDArray[np.bool_]] | None = None,
    ) -> None:
        self.S = S
        self.parts = tuple(parts)
        self._idle: list[PanelSpace] = []
        wanted = [None] * len(self.parts) if others is None else others
        self.chosen = [_active(*pair) for pair in zip(self.parts, wanted, strict=True)]
        sizes = [local.shape[0] for local in self.chosen]
        self._bounds = running_sum(sizes)
        self.n = int(self._bounds[-1])
        self.local = np.concatenate(self.chosen)
        self.numbers = self.local + np.repeat([part.first for part in self.parts], sizes)
        ordered = [_ordered(*pair, S) for pair in zip(self.parts, self.chosen, strict=True)]
        self.terms, self.run_values, self.run_sizes, self._reach, factors, lengths, n_runs = map(
            np.concatenate, zip(*ordered, strict=True)
        )
        self.starts, self.run_starts = running_sum(lengths), running_sum(n_runs)
        with np.errstate(over="ignore", under="ignore"):
            self.factors = factors.astype(np.float32)
        self._sizes = self._norm_sizes()
        longest = int(np.diff(self.starts).max(initial=0))
        self.slack = slack(longest, half=False)
        values = self.run_values
        self._least = min(1.0, float(values.min(initial=1.0)))
        self._least *= min(1.0, float(factors[factors > 0].min(initial=1.0)))
        # In Python floats: infinity fails the test below.
        self._most = 255.0 * longest * max(1.0, float(values.max(initial=1.0)))
        self._most *= max(1.0, float(factors.max(initial=1.0)))
        self.panels = [
            (int(first), int(min(first + PANEL, end)))
            for begin, end in zip(self._bounds[:-1], self._bounds[1:], strict=True)
            for first in range(begin, end, PANEL)
        ]

    def keys(self) -> Iterator[bytes]:
        """Yield a key for each document, of its terms, values and factor; see `Comparison`."""
        for part, chosen in zip(self.parts, self.chosen, strict=True):
            for local in chosen.tolist():
                arrays = (*part.coordinates(local, local + 1), part.ranking.factors[local])
                yield b"".join(array.tobytes() for array in arrays)

    def meet(self, panel: int, bars: Bars, scored: Scored) -> None:
        """Compare a panel; see `Comparison`."""
        begin, end = self.panels[panel]
        space = self.space()
        factors = self.expand(space, begin, end)
        units, own_bars = self.own(space, factors, bars)
        heaps = self._heaps(bars, begin, end)
        if heaps.shape[1]:  # a negative threshold (no bounds) stays
            np.maximum(own_bars, heaps[:, 0] * self.slack, out=own_bars, where=own_bars > 0)
        block = begin + 1, self.n
        for n in self.candidates(space, begin, block, units, own_bars, bars.documents, heaps):
            later = space.ordered[:n]
            scores = self.scores(space, factors, begin, later)
            scored(begin, ScoredPairs(space.starts, later, scores))
        self.release(space)

    def candidates(
        self,
        space: PanelSpace,
        begin: int,
        block: tuple[int, int],
        units: NDArray[np.float32],
        own_bars: NDArray[np.float32],
        bars: NDArray[np.float32],
        heaps: NDArray[np.float32],
    ) -> Iterator[int]:
        """Yield the number of pairs of an expanded panel with a block of later documents.

        The pairs are in `space.starts` and `space.ordered`; they include all that reach the
        thresholds of the columns, `own_bars`, or of the documents, `bars`.
        """
        at, stop = block
        while at < stop:
            n = scan_panel(
                self.starts, self.terms, self.run_starts, self.run_values, self.run_sizes,
                self.factors, space.panel, at, stop, begin, units, own_bars, bars,
                heaps, self.slack, space.columns, space.documents, space.bounds, space.state,
            )  # fmt: skip
            at = int(space.state[0])
            n = gather_pairs(
                space.columns, space.documents, space.bounds, n, own_bars, bars,
                space.starts, space.ordered,
            )  # fmt: skip
            if n:
                yield n

    def space(self) -> PanelSpace:
        """Return scratch arrays; `release` them for the next use."""
        try:
            return self._idle.pop()  # atomic
        except IndexError:
            return PanelSpace(len(self.S))

    def release(self, space: PanelSpace) -> None:
        """Clear the panel of scratch arrays, and keep them."""
        space.panel[:] = 0
        self._idle.append(space)

    def _heaps(self, bars: Bars, begin: int, end: int) -> NDArray[np.float32]:
        """Return lower bounds of the k best similarities of each document of a panel, as heaps."""
        heaps = np.zeros((PANEL, bars.best.shape[1]), np.float32)
        with bars.lock:
            best = bars.best[begin:end].copy()
        # Ascending rows are heaps. Rounded down, and limited to the range of float32.
        heaps[: end - begin] = np.minimum(np.sort(best, axis=1), _LARGEST) * (1.0 - 1e-6)
        return heaps

    def pair_scores(self, first: int, others: NDArray[np.integer]) -> NDArray[np.float64]:
        """Return exact similarities of a document with others, by ascending place."""
        space = self.space()
        factors = self.expand(space, first, first + 1)
        space.starts[0], space.starts[1:] = 0, others.shape[0]
        scores = self.scores(space, factors, first, others.astype(np.uint32))
        space.panel[space.kept_terms[: space.kept_starts[1]], 0] = 0
        self._idle.append(space)
        return scores

    def expand(self, space: PanelSpace, begin: int, end: int) -> NDArray[np.float64]:
        """Expand documents of one segment into the panel; return their factors as queries."""
        part = self.parts[int(np.searchsorted(self._bounds, begin, "right")) - 1]
        ranking = part.ranking
        space.keep(int(self._reach[begin:end].sum()))
        scales = part.segment.scales
        if ranking.normalization != "none":  # cosines do not depend on the factors
            scales = np.ones_like(scales)
        expand_documents(
            *_values(part), scales, self.local[begin:end], *self.S.arrays, ranking.term_weights,
            space.expansion, space.kept_starts, space.kept_terms, space.kept_weights,
            space.facts, space.panel,
        )  # fmt: skip
        largest, _, squares, infinite = space.facts[: end - begin].T
        factors = np.ones(end - begin)
        with np.errstate(over="ignore", divide="ignore", invalid="ignore"):
            if ranking.normalization != "none":
                sizes = np.abs(squares) if self._sizes is None else self._sizes[begin:end]
                norms = roots(squares, sizes, first_row=int(self.numbers[begin]))
                factors = np.where(norms > 0, 1.0 / norms, 0.0)
            reach = largest * self._most * np.maximum(factors, 1.0)
        if infinite.any() or not np.isfinite(reach).all():
            raise InvalidInputError(
                "the similarities of some documents may leave the range of float64; scale the "
                "documents or the entries of S down."
            )
        return factors

    def own(
        self, space: PanelSpace, factors: NDArray[np.float64], bars: Bars
    ) -> tuple[NDArray[np.float32], NDArray[np.float32]]:
        """Return the unit and the threshold of each column of the panel."""
        n = factors.shape[0]
        largest, n_negative = space.facts[:n, 0], space.facts[:n, 1]
        wanted = largest / 255.0 * factors
        holds = (np.minimum(wanted, 1.0) * self._least >= _SMALLEST) & (
            np.maximum(wanted, 1.0) * self._most <= _LARGEST
        )
        units, own = np.zeros(PANEL, np.float32), np.full(PANEL, np.inf, np.float32)
        by_bounds = holds & (n_negative == 0)
        units[:n][by_bounds] = wanted[by_bounds]
        own[:n] = np.where(by_bounds, bars.floor, -1.0)
        # A document without an expansion has no similar documents.
        own[:n][(factors == 0) | (largest == 0)] = np.inf
        return units, own

    def scores(
        self,
        space: PanelSpace,
        factors: NDArray[np.float64],
        begin: int,
        documents: NDArray[np.uint32],
    ) -> NDArray[np.float64]:
        """Return the exact scores of pairs of an expanded panel; `space.starts` has its columns."""
        scores = np.empty(documents.shape[0])
        earliest = int(documents.min(initial=begin))
        first = int(np.searchsorted(self._bounds, earliest, "right")) - 1
        for number in range(first, len(self.parts)):
            part = self.parts[number]
            score_pairs(
                *_values(part), part.ranking.factors, part.ranking.rounded_one, self.local,
                int(self._bounds[number]), int(self._bounds[number + 1]), space.kept_starts,
                space.kept_terms, space.kept_weights, factors, space.starts, documents,
                space.expansion, scores,
            )  # fmt: skip
        return scores

    def _norm_sizes(self) -> NDArray[np.float64] | None:
        """Return x'W|S|Wx of each document, the scale of the rounding error of its norm."""
        if self.S.non_negative:
            return None
        indptr, indices, data = self.S.arrays
        sizes = []
        for part, local in zip(self.parts, self.chosen, strict=True):
            out = np.zeros(part.segment.n_docs)
            soft_norms_squared(
                *_values(part), part.ranking.term_weights, indptr, indices, np.abs(data),
                0, out.shape[0], np.zeros(len(self.S)), out,
            )  # fmt: skip
            sizes.append(out[local])
        return np.concatenate(sizes)


class PanelSpace:
    """Scratch arrays of one thread; the panel is zero between uses."""

    def __init__(self, n_terms: int) -> None:
        self.panel = np.zeros((n_terms, PANEL), np.uint8)
        self.expansion = np.zeros(n_terms)
        self.facts = np.zeros((PANEL, 4))
        self.kept_starts = np.zeros(PANEL + 1, np.int64)
        self.kept_terms = np.empty(0, np.int32)
        self.kept_weights = np.empty(0)
        self.columns = np.empty(_ROOM, np.uint8)
        self.documents = np.empty(_ROOM, np.uint32)
        self.bounds = np.empty(_ROOM, np.float32)
        self.starts = np.zeros(PANEL + 1, np.int64)
        self.ordered = np.empty(_ROOM, np.uint32)
        self.state = np.zeros(1, np.int64)

    def keep(self, n: int) -> None:
        """Make room for expansions of `n` entries, plus one."""
        if self.kept_terms.shape[0] <= n:
            self.kept_terms = np.empty(n + 1, np.int32)
            self.kept_weights = np.empty(n + 1)


def _active(part: RankedSegment, others: NDArray[np.bool_] | None) -> NDArray[np.int64]:
    """Split the live documents of a segment into those that can be similar to any, and the rest."""
    active = (part.ranking.factors > 0) & (np.diff(part.segment.pointers) > 0)
    if others is not None:
        active |= others
    if part.live is not None:
        active &= part.live
    return np.flatnonzero(active)


def _ordered(
    part: RankedSegment, local: NDArray[np.int64], S: TermSimilarityMatrix
) -> tuple[NDArray[Any], ...]:
    """Return the terms of documents ordered by value, and numbers of each document.

    Returns
    -------
    terms, run_values, run_sizes : ndarray
        See `softcosine.kernels.all_pairs.order_values`.
    reach, factors, lengths, n_runs : ndarray of shape (n_docs,)
        Of each document: entries of S in the rows of its terms, factor, terms, runs.
    """
    pointers = part.segment.pointers
    lengths = np.diff(pointers)[local]
    n = int(lengths.sum())
    starts, run_starts = np.empty_like(local), np.empty_like(local)
    terms, run_values = np.empty(n, np.uint32), np.empty(n, np.float32)
    run_sizes = np.empty(n, np.uint16)
    with np.errstate(over="ignore", under="ignore"):
        n_runs = order_values(
            *_values(part), local, np.zeros(part.ranking.table.shape[0], np.int64),
            terms, starts, run_values, run_sizes, run_starts,
        )  # fmt: skip
    entries = running_sum(np.diff(S.arrays[0])[part.segment.terms])
    reach = entries[pointers[local + 1]] - entries[pointers[local]]
    return (
        terms, run_values[:n_runs].copy(), run_sizes[:n_runs].copy(), reach,
        part.ranking.factors[local], lengths, np.diff(run_starts, append=n_runs),
    )  # fmt: skip


def _values(part: RankedSegment) -> tuple[Any, ...]:
    """Return the kernel arguments for the values of documents."""
    segment, ranking = part.segment, part.ranking
    return (
        ranking.kind, *segment.forward, ranking.table,
        ranking.saturation, ranking.k1, segment.reals,
    )  # fmt: skip
