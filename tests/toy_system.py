"""A system to evaluate with that a person can follow: how many words two texts share."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from softcosine.evaluate.documents import Documents
from softcosine.evaluate.systems.system import Ranked
from softcosine.index.search.explanation import Explanation
from softcosine.index.spaces.part import Part


@dataclass
class Overlap:
    """Scores by shared words, each weighing `weights` or 1; remembers what it was fitted on."""

    name: str = "overlap"
    weights: dict[str, float] = field(default_factory=dict)
    seen: list[tuple[Documents, tuple[str, ...]]] = field(default_factory=list)

    def fit(self, documents: Documents, *, background: Sequence[str] = ()) -> FittedOverlap:
        self.seen.append((documents, tuple(background)))
        return FittedOverlap(documents, self.weights)


@dataclass
class FittedOverlap:
    documents: Documents
    weights: dict[str, float]

    def score(self, left: str, right: str) -> float:
        shared = set(left.split()) & set(right.split())
        return float(sum(self.weights.get(word, 1.0) for word in shared))

    def ranked(self, queries: Documents, *, k: int) -> Ranked:
        texts = self.documents.texts
        numbers = np.full((len(queries), k), -1, np.int64)
        scores = np.zeros((len(queries), k))
        for row, query in enumerate(queries.texts):
            own = np.array([self.score(query, text) for text in texts])
            order = [n for n in np.argsort(-own, kind="stable") if own[n] > 0][:k]
            numbers[row, : len(order)], scores[row, : len(order)] = order, own[order]
        return Ranked(numbers, scores)

    def scored(self, queries, candidates):
        texts = self.documents.texts
        return [
            np.array([self.score(query, texts[number]) for number in numbers], np.float64)
            for query, numbers in zip(queries.texts, candidates, strict=True)
        ]

    def paired(self, left, right):
        return np.array([self.score(a, b) for a, b in zip(left, right, strict=True)])

    def explained(self, query: Documents, number: int) -> Explanation:
        text = self.documents.texts[number]
        shared = sorted(set(query.texts[0].split()) & set(text.split()))
        parts = tuple(
            Part(word, word, 1.0, self.weights.get(word, 1.0), exact=True) for word in shared
        )
        return Explanation(
            query.texts[0], self.documents.ids[number], self.score(query.texts[0], text), parts,
            "inner_product",
        )  # fmt: skip
