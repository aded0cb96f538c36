"""A source of similarity that is a dictionary, S made of plain arrays, searchers of matrices."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import ExitStack, nullcontext
from itertools import pairwise
from unittest.mock import patch

import numpy as np
from scipy.sparse import csr_array

from softcosine.index.query.query_vectors import QueryVector
from softcosine.index.rankings import RankedSegment, prepare
from softcosine.index.segment.segment import Segment
from softcosine.index.segment.statistics import FieldStatistics
from softcosine.index.spaces.expansion import Expansions
from softcosine.index.spaces.frequencies import FrequencySearcher
from softcosine.index.spaces.frequencies import searcher_of as made_searcher
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


def searcher_of(X, S, ranking="soft_cosine", weighting=None, *, cuts=(), live=None):
    """A searcher of the rows of X, inverted in parts that begin at `cuts`; some may be deleted."""
    X = csr_array(X, dtype=float)
    counts = weighting is not None or bool(np.all(X.data == np.rint(X.data)))
    bounds = sorted({0, *cuts, X.shape[0]})
    invert = Segment.from_counts if counts else Segment.from_weights
    ranges = [range(*pair) for pair in pairwise(bounds)]
    segments = [invert(X[rows.start : rows.stop]) for rows in ranges]
    masks = [None if live is None else np.asarray(live)[rows] for rows in ranges]
    statistics = FieldStatistics.of(segments, X.shape[1], live=masks)
    return made_searcher(
        [
            RankedSegment(
                segment, prepare(ranking, segment, S, weighting, statistics), rows.start, mask
            )
            for segment, rows, mask in zip(segments, ranges, masks, strict=True)
        ],
        S,
    )


def slowly():
    """Have every search score all documents in float64."""
    patches = ExitStack()
    patches.enter_context(patch.object(Expansions, "holding", lambda self, *_: [False] * len(self)))
    patches.enter_context(
        patch.object(FrequencySearcher, "approximate_scores", lambda *_: nullcontext())
    )
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
