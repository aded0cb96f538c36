"""A source of similarity that is a dictionary, S made of plain arrays, searchers of matrices."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from dataclasses import replace
from itertools import pairwise
from unittest.mock import patch

import numpy as np
from scipy.sparse import csr_array

from softcosine.index.query.query_vectors import QueryVector
from softcosine.index.query.ready_query import ReadyQuery
from softcosine.index.rankings import RankedSegment, prepare
from softcosine.index.segment.segment import Segment
from softcosine.index.segment.statistics import FieldStatistics
from softcosine.index.spaces.expansion import Expansions
from softcosine.index.spaces.frequencies import PreparedFrequencies, words_space
from softcosine.index.spaces.space import UNDECIDED, Limits
from softcosine.index.spaces.sum import Sum
from softcosine.matrix.term_similarity_matrix import TermSimilarityMatrix
from softcosine.similarity.neighbors import Neighbors
from softcosine.similarity.source import SourceState
from softcosine.text.vocabulary import Vocabulary


class ToySource:
    """Similarities of pairs of words, looked up either way round."""

    def __init__(self, pairs: Mapping[tuple[str, str], float], *, known: Sequence[str] = ()):
        self.pairs = {}
        for (left, right), similarity in pairs.items():
            self.pairs[left, right] = self.pairs[right, left] = np.float32(similarity)
        self.known = {word for pair in self.pairs for word in pair} | set(known)

    def knows(self, terms):
        return np.array([term in self.known for term in terms], bool)

    def similarities(self, left, right):
        return np.array(
            [
                1.0 if a == b else self.pairs.get((a, b), 0.0)
                for a, b in zip(left, right, strict=True)
            ],
            np.float32,
        )

    def neighbors(self, terms, among, *, max_neighbors):
        found = [
            (i, j, self.pairs[term, other])
            for i, term in enumerate(terms)
            for j, other in enumerate(among)
            if term != other and (term, other) in self.pairs
        ]
        rows, columns, values = zip(*found, strict=True) if found else ((), (), ())
        return Neighbors.from_pairs(
            np.array(rows, np.int64),
            np.array(columns, np.int64),
            np.array(values, np.float32),
            n_terms=len(terms),
            among=among,
            max_neighbors=max_neighbors,
        )


class SavableToySource(ToySource):
    """The same, and it can be saved under the kind ``"tests-toy"``."""

    def state(self):
        return SourceState(
            kind="tests-toy",
            settings={"pairs": [[a, b, float(s)] for (a, b), s in self.pairs.items()]},
            arrays={"numbers": np.arange(3)},
        )

    @classmethod
    def from_state(cls, state):
        assert state.arrays["numbers"].tolist() == [0, 1, 2]
        return cls({(a, b): s for a, b, s in state.settings["pairs"]})


def similarity_matrix(S, vocabulary: Vocabulary | None = None) -> TermSimilarityMatrix:
    """S without the warning about definiteness."""
    return TermSimilarityMatrix.from_matrix(S, vocabulary, warn=False)


class Searcher:
    """Spaces over the rows of matrices, searched by vectors and by the options of `Limits`."""

    def __init__(self, ranking):
        self.ranking = ranking

    @property
    def space(self):
        """The words of the only field."""
        ((_, space),) = self.ranking.summands
        return space

    def search(self, query, **options):
        (top,) = self.search_batch([query], **options)
        return top

    def search_batch(self, queries, *, sharing=False, threads=1, **options):
        """With `sharing`, documents must share a term with the query in some field."""
        limits, queries = Limits(**options, threads=threads), list(map(ready, queries))
        if not sharing:
            return self.ranking.best(queries, limits)
        return [
            self.ranking.best([query], replace(limits, allowed=list(self._sharing(query, limits))))[
                0
            ]
            for query in queries
        ]

    def _sharing(self, query, limits):
        for number, (part, mask) in enumerate(
            zip(self.ranking.segments, limits.masks(self.ranking.segments), strict=True)
        ):
            assert part.segment.n_docs == len(mask)
            held = [
                words.parts[number].segment.documents_of(vector.terms)
                for (_, words), vector in zip(self.ranking.summands, query.vectors, strict=True)
            ]
            yield mask & np.isin(np.arange(len(mask)), np.concatenate(held))

    def scores(self, query, documents):
        return self.ranking.prepare(ready(query)).exact(np.asarray(documents, np.int64))

    def score(self, query, document):
        return self.scores(query, [document])[0]


def ready(query):
    """The query of a vector, of one for each field, or as it is."""
    if isinstance(query, ReadyQuery):
        return query
    return ReadyQuery((query,) if isinstance(query, QueryVector) else tuple(query))


def summed(spaces, weights):
    """The searcher of several spaces over the same documents."""
    return Searcher(Sum(spaces[0].parts, tuple(zip(map(float, weights), spaces, strict=True))))


def searcher_of(*arguments, **options):
    """The searcher of one space of words; see `space_of`."""
    return summed([space_of(*arguments, **options)], [1.0])


def space_of(X, S, ranking="soft_cosine", weighting=None, *, cuts=(), live=None, field=0):
    """The words of the rows of X, inverted in parts that begin at `cuts`; some may be deleted."""
    X = csr_array(X, dtype=float)
    counts = weighting is not None or bool(np.all(X.data == np.rint(X.data)))
    bounds = sorted({0, *cuts, X.shape[0]})
    invert = Segment.from_counts if counts else Segment.from_weights
    ranges = [range(*pair) for pair in pairwise(bounds)]
    segments = [invert(X[rows.start : rows.stop]) for rows in ranges]
    masks = [None if live is None else np.asarray(live)[rows] for rows in ranges]
    statistics = FieldStatistics.of(segments, X.shape[1], live=masks)
    parts = [
        RankedSegment(
            segment, prepare(ranking, segment, S, weighting, statistics), rows.start, mask
        )
        for segment, rows, mask in zip(segments, ranges, masks, strict=True)
    ]
    return words_space(parts, S, field)


def slowly():
    """Have every search score all documents in float64."""
    patches = ExitStack()
    patches.enter_context(patch.object(Expansions, "holding", lambda self, *_: [False] * len(self)))
    patches.enter_context(patch.object(PreparedFrequencies, "bound", UNDECIDED))
    return patches


def statistics_of(segment):
    return FieldStatistics.of([segment], segment.n_terms)


def vector(weights):
    """The query vector of weights by term."""
    weights = np.asarray(weights, np.float64)
    terms = np.flatnonzero(weights)
    return QueryVector(terms.astype(np.int32), weights[terms])


def same(left, right):
    """Whether two results have the same bytes."""
    return (
        left.documents.tobytes() == right.documents.tobytes()
        and left.scores.tobytes() == right.scores.tobytes()
    )


def rows_of(neighbors):
    """The (position, similarity) of the neighbours of each term."""
    return [
        list(zip(*(part.tolist() for part in neighbors.of(i)), strict=True))
        for i in range(len(neighbors))
    ]


def two_topics(n_docs: int = 60, *, seed: int = 0) -> list[list[str]]:
    """Documents of two topics, with words of their own and words in common."""
    random = np.random.default_rng(seed)
    topics = [[f"{name}{i}" for i in range(12)] for name in ("wheel", "moon")]
    common = [f"word{i}" for i in range(6)]
    return [[str(w) for w in random.choice(topics[d % 2] + common, 12)] for d in range(n_docs)]
