"""A ranking: the weighted sum of spaces, which is a space itself (theory T19).

A search has two passes. Approximate scores in float32 keep every document that can be among the
best, given proven bounds of their errors (theory, "Exactness of sums of spaces"); one float64
routine of each space scores these. Spaces are added in the order of the ranking.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Generic, TypeVar

import numpy as np
from numpy.typing import NDArray

from softcosine._deadline import check_deadline
from softcosine._threads import in_threads, n_threads
from softcosine.index.directory.snapshot import Snapshot
from softcosine.index.query.constraints import Mask
from softcosine.index.query.ready_query import ReadyQuery
from softcosine.index.rankings import RankedSegment, check_ranking, prepare
from softcosine.index.segment.segment import MAX_DOCS
from softcosine.index.spaces.bounds import TINY
from softcosine.index.spaces.frequencies import words_space
from softcosine.index.spaces.meaning import Meaning
from softcosine.index.spaces.part import Part
from softcosine.index.spaces.plan import (
    ALL,
    ALONE,
    FIELDS,
    MEANING,
    MEANING_ALL,
    MEANING_ALONE,
    Plan,
)
from softcosine.index.spaces.space import (
    NO_DOCUMENTS,
    UNDECIDED,
    Bound,
    Limits,
    Prepared,
    Space,
    Top,
    documents_in,
)
from softcosine.index.spaces.words import Linear, PreparedLinear, Words
from softcosine.kernels.meaning import select_sums
from softcosine.space.chance import slope_of

_S = TypeVar("_S", bound=Space)

_FEW = 1 << 17  # documents that one thread scores before another has started
_AHEAD = 4  # runs of segments for each thread that are scored before they are used


@dataclass(frozen=True, slots=True)
class Sum(Generic[_S]):
    """A weighted sum of spaces over the documents of some segments.

    Attributes
    ----------
    segments : sequence of RankedSegment
        In order of document numbers.
    summands : tuple of (float, Space)
        Positive weights, and spaces.
    """

    segments: Sequence[RankedSegment]
    summands: tuple[tuple[float, _S], ...]

    @property
    def weights(self) -> list[float]:
        """Of the spaces."""
        return [weight for weight, _ in self.summands]

    def prepare(self, query: ReadyQuery) -> PreparedSum:
        """Return a query in every space; errors are those of the spaces."""
        pairs = [(weight, space.prepare(query)) for weight, space in self.summands]
        return PreparedSum(self.segments, tuple(pairs))

    def best(self, queries: Sequence[ReadyQuery], limits: Limits) -> list[Top]:
        """Return the k best documents of each query; results do not depend on the batch."""
        (weight, space), *others = self.summands
        if not others and weight == 1.0 and isinstance(space, Sum | Linear):
            return space.best(queries, limits)
        inside = limits.inside(len(queries))
        # Prepared one by one: what documents get for every word takes four bytes for each.
        return in_threads(lambda query: self.prepare(query).best(inside), queries, limits.threads)


@dataclass(frozen=True)
class PreparedSum:
    """A query in every space of a sum."""

    segments: Sequence[RankedSegment]
    summands: tuple[tuple[float, Prepared], ...]
    floor = 0.0

    @property
    def words(self) -> PreparedSum:
        """Of a ranking: its first summand, the words of all fields."""
        words = self.summands[0][1]
        assert isinstance(words, PreparedSum)
        return words

    @cached_property
    def active(self) -> tuple[tuple[float, Prepared], ...]:
        """The summands by which a document can have a score."""
        return tuple([pair for pair in self.summands if pair[1].bound.scale])

    @cached_property
    def bound(self) -> Bound:
        """Of summands that are not negative: relative errors do not grow in a sum."""
        bounds = [prepared.bound for _, prepared in self.active]
        if not bounds:
            return Bound()
        scales = [weight * prepared.bound.scale for weight, prepared in self.active]
        scale = max(scales)
        if not (0.0 < scale < np.inf and all(bound.decides for bound in bounds)):
            return UNDECIDED
        # Scores of a field of small weight must not underflow in float32.
        pairs = zip(scales, bounds, strict=True)
        least = min(own / scale * bound.least for own, bound in pairs)
        if least < TINY:
            return UNDECIDED
        # A share is rounded and multiplied with a score; the product is added to those before.
        n_roundings = max(bound.n_roundings for bound in bounds) + 2 + len(bounds)
        return Bound(scale, least, n_roundings, any(bound.half for bound in bounds))

    def add(self, run: slice, weight: np.float32, total: NDArray[np.float32]) -> None:
        """Add weight times the approximate scores of a run of segments to an array."""
        for factor, prepared in self.active:
            share = np.float32(factor * prepared.bound.scale / self.bound.scale)
            prepared.add(run, weight * share, total)

    def exact(self, documents: NDArray[np.int64]) -> NDArray[np.float64]:
        """Return the scores of documents, in the given order, bit-identical to a search."""
        return self.scored(documents)[0]

    def scored(self, documents: NDArray[np.int64]) -> tuple[NDArray[np.float64], NDArray[np.bool_]]:
        """Return the scores of documents, and which of them some space makes hits."""
        scores, hits = np.zeros(len(documents)), np.zeros(len(documents), np.bool_)
        for weight, prepared in self.active:
            exact = prepared.exact(documents)
            scores += weight * exact
            hits |= (exact > 0.0) & (exact >= prepared.floor)
        return scores, hits

    def parts(self, document: int) -> list[Part]:
        """Return what sums to the exact score, up to rounding."""
        return [
            part.times(weight)
            for weight, prepared in self.active
            for part in prepared.parts(document)
        ]

    def best(self, limits: Limits) -> Top:
        """Return the k best documents.

        A document is a hit if the sum is positive, and the score of some space is positive and
        reaches its floor.
        """
        if limits.positive and not self.active:
            return NO_DOCUMENTS
        if len(self.active) == 1 and self.active[0][0] == 1.0:
            prepared = self.active[0][1]
            if isinstance(prepared, PreparedSum | PreparedLinear):
                return prepared.best(limits)
        limits = limits.within(sum(part.segment.n_docs for part in self.segments))
        decides = limits.positive and self._decides()
        masks = limits.masks(self.segments)
        documents = (
            np.concatenate(self._candidates(limits, masks))
            if decides
            else documents_in(self.segments, masks)
        )
        scores, hits = self.scored(documents)
        if limits.positive:
            documents, scores = documents[hits], scores[hits]
        return limits.best(documents, scores, self._plan(decides=decides))

    def _decides(self) -> bool:
        """Whether float32 can tell the best."""
        return all(prepared.bound.decides for _, prepared in self.active)

    def _plan(self, *, decides: bool) -> Plan:
        if not any(prepared.bound.absolute for _, prepared in self.active):
            alone = len(self.summands) == 1 and self.summands[0][0] == 1.0
            return (ALONE if alone else FIELDS) if decides else ALL
        if not decides:
            return MEANING_ALL
        return MEANING if len(self.active) > 1 else MEANING_ALONE

    def _candidates(self, limits: Limits, masks: Sequence[Mask]) -> list[NDArray[np.int64]]:
        """Return, for each run of segments, every document that can be among the k best."""
        bounds = [prepared.bound for _, prepared in self.active]
        facts = np.array([
            [weight, bound.scale, bound.relative, bound.absolute, prepared.floor]
            for (weight, prepared), bound in zip(self.active, bounds, strict=True)
        ])  # fmt: skip
        heap, chosen = np.full(limits.k, -np.inf), [np.empty(0, np.int64)]
        for run, scores in self._approximate(limits.threads):
            mask = masks[run.start] if run.stop == run.start + 1 else np.concatenate(masks[run])
            candidates = np.empty(scores.shape[1], np.uint32)
            n = select_sums(scores, facts, mask.view(np.uint8), limits.minimum, heap, candidates)
            chosen.append(candidates[:n].astype(np.int64) + self.segments[run.start].first)
        return chosen

    def _approximate(self, threads: int | None) -> Iterator[tuple[slice, NDArray[np.float32]]]:
        """Yield runs of segments and the approximate scores of each space, some runs ahead."""
        runs, n_docs = list(_runs(self.segments)), sum(one.segment.n_docs for one in self.segments)

        def scored(run: slice) -> tuple[slice, NDArray[np.float32]]:
            check_deadline()
            n = sum(part.segment.n_docs for part in self.segments[run])
            scores = np.zeros((len(self.active), n), np.float32)
            for row, (_, prepared) in zip(scores, self.active, strict=True):
                prepared.add(run, np.float32(1.0), row)
            return run, scores

        threads = n_threads(threads) if n_docs > _FEW else 1
        ahead = _AHEAD * threads
        for first in range(0, len(runs), ahead):
            yield from in_threads(scored, runs[first : first + ahead], threads)


def _runs(parts: Sequence[RankedSegment]) -> Iterator[slice]:
    """Yield runs of adjacent segments; small segments share a run."""
    begin, n_docs = 0, 0
    for end, part in enumerate(parts, 1):
        n_docs += part.segment.n_docs
        if n_docs >= MAX_DOCS or end == len(parts):
            yield slice(begin, end)
            begin, n_docs = end, 0


def words_of(snapshot: Snapshot, ranking: str | None = None) -> Sum[Words]:
    """Return the words of every field by a ranking, by default that of the index; made once."""
    name = snapshot.ranking if ranking is None else check_ranking(ranking)
    return snapshot.once(name, lambda: _words(snapshot, name))


def _words(snapshot: Snapshot, name: str) -> Sum[Words]:
    summands = list[tuple[float, Words]]()
    segments = snapshot.normed if name == "soft_cosine" else snapshot.segments
    for number, (field, statistics) in enumerate(
        zip(snapshot.fields, snapshot.statistics, strict=True)
    ):
        parts: list[RankedSegment] = []
        for segment, first in zip(segments, snapshot.documents.firsts, strict=True):
            ranking = prepare(
                name, segment.fields[number], snapshot.S, snapshot.settings.weighting, statistics,
                norms=None if segment.norms is None else segment.norms[number],
                like=parts[0].ranking if parts else None, live=segment.live, first=first,
            )  # fmt: skip
            parts.append(RankedSegment(segment.fields[number], ranking, first, segment.live))
        shown = field.name if len(snapshot.fields) > 1 else ""
        summands.append((float(field.weight), words_space(parts, snapshot.S, number, shown)))
    return Sum(summands[0][1].parts, tuple(summands))


def meaning_of(snapshot: Snapshot) -> Meaning:
    """Return the space of the documents' coordinates; made once."""
    return snapshot.once(
        Meaning,
        lambda: Meaning(
            [segment.fields for segment in snapshot.segments],
            snapshot.documents.firsts,
            [segment.coordinates for segment in snapshot.segments],
            slope_of(snapshot.settings.mean_cosine),
        ),
    )


def ranking_of(snapshot: Snapshot, ranking: str | None, weight: float) -> Sum[Space]:
    """Return the summands of a score: words first, then, for a weight above 0, meaning."""
    words = words_of(snapshot, ranking)
    summands: list[tuple[float, Space]] = [(1.0, words)]
    if weight:
        summands.append((weight, meaning_of(snapshot)))
    return Sum(words.segments, tuple(summands))
