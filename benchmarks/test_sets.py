"""Judged collections that the benchmarks rank: documents, queries, and who is relevant to what."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

import softcosine as sc
from measure import data_folder, read_jsonl
from softcosine.index.query.query_vectors import query_vector
from softcosine.index.query.ready_query import ReadyQuery
from softcosine.index.spaces.space import Limits

__all__ = [
    "QUESTIONS",
    "RESAMPLES",
    "RETRIEVAL",
    "TestSet",
    "all_scores",
    "average_precision",
    "gain_interval",
    "load",
    "ndcg",
]

RETRIEVAL = ("cranfield", "cacm", "npl", "lisa")
# English collections of questions in people's own words.
QUESTIONS = (
    *("stackfaq", "medicationqa", "mediqa-chiqa", "covidq", "perlfaq", "tldr-man"),
    *("gnomedesc-en", "bankfaq"),
)
_SEMEVAL_BACKGROUND = ("train-part1", "train-part2")
RESAMPLES = 10_000
# Cleverdon's codes: 1 answers the question completely, 4 is of little interest, -1 none.
_CRANFIELD_GAINS = {1: 4.0, 2: 3.0, 3: 2.0, 4: 1.0, -1: 0.0}


@dataclass(frozen=True)
class TestSet:
    """A collection with judged queries.

    Attributes
    ----------
    name : str
    texts : list of str
    queries : list of str
    gains : list of dict
        For each query, the gain of each relevant document number.
    candidates : list of arrays of document numbers, or None
        Where only some documents are ranked for a query, in their given order.
    measure : {"ndcg", "ap"}
    """

    name: str
    texts: list[str]
    queries: list[str]
    gains: list[dict[int, float]]
    candidates: list[NDArray[np.int64]] | None
    measure: Literal["ndcg", "ap"]

    def score(
        self, scores: NDArray[np.float64], *, measure: Literal["ndcg", "ap"] | None = None
    ) -> NDArray[np.float64]:
        """Measure a matrix of scores (n_queries, n_docs): a figure for each query.

        By the collection's own measure where none is named. A document of score 0 is not found,
        unless it is a candidate.
        """
        results = []
        for query, gains in enumerate(self.gains):
            numbers = (
                np.arange(scores.shape[1]) if self.candidates is None else self.candidates[query]
            )
            values = scores[query, numbers]
            ranked = numbers[np.argsort(-values, kind="stable")]
            if self.candidates is None:
                ranked = ranked[: np.count_nonzero(values > 0)]
            if (measure or self.measure) == "ap":
                results.append(average_precision(ranked, gains))
            else:
                results.append(ndcg(ranked[:10], gains))
        return np.array(results)


def ndcg(ranked: NDArray[np.int64], gains: dict[int, float], *, depth: int = 10) -> float:
    """Discounted cumulative gain over that of the best order, both cut at `depth`."""
    discounts = 1.0 / np.log2(np.arange(2, depth + 2))
    found = sum(gains.get(int(d), 0.0) * w for d, w in zip(ranked, discounts, strict=False))
    best = sum(g * w for g, w in zip(sorted(gains.values(), reverse=True), discounts, strict=False))
    return float(found / best) if best > 0 else 0.0


def average_precision(ranked: NDArray[np.int64], gains: dict[int, float]) -> float:
    """Mean of the precisions at the relevant documents; 0 where nothing is relevant."""
    hits, total = 0, 0.0
    for rank, document in enumerate(ranked, 1):
        if gains.get(int(document), 0.0) > 0:
            hits += 1
            total += hits / rank
    return total / len(gains) if gains else 0.0


def all_scores(
    index: sc.SoftIndex,
    ranking: str,
    test: TestSet,
    *,
    depth: int = 10,
    keep_stop_words: bool = True,
) -> NDArray[np.float64]:
    """Scores of every query and its `depth` best documents, shape (n_queries, n_docs)."""
    words = index.words(ranking)
    ((_, space),) = words.summands
    queries = [
        ReadyQuery((query_vector(parsed, space.ranking, index.S, index.source),))
        for parsed in (index.parse(one, keep_stop_words=keep_stop_words) for one in test.queries)
    ]
    depth = len(index) if test.candidates is not None else depth
    scores = np.zeros((len(test.queries), len(index)))
    for row, top in zip(scores, words.best(queries, Limits(k=depth)), strict=True):
        row[top.documents] = top.scores
    return scores


def gain_interval(
    better: dict[str, NDArray[np.float64]], worse: dict[str, NDArray[np.float64]]
) -> tuple[float, float, float]:
    """Mean gain over collections, and its 95 % paired bootstrap interval."""
    random = np.random.default_rng(0)
    gains, samples = [], np.zeros(RESAMPLES)
    for name, values in better.items():
        difference = values - worse[name]
        gains.append(difference.mean())
        drawn = random.integers(0, len(difference), (RESAMPLES, len(difference)))
        samples += difference[drawn].mean(axis=1) / len(better)
    low, high = np.quantile(samples, [0.025, 0.975])
    return float(np.mean(gains)), float(low), float(high)


def gain_notes(
    figures: Mapping[str, Mapping[str, NDArray[np.float64]]],
    compared: Iterable[tuple[str, str]],
    *,
    decimals: int = 2,
) -> list[str]:
    """Return a line on the gain, in points, of each better system over a worse one.

    `figures` have, for each collection and system, the value of every query.
    """
    notes = []
    for better, worse in compared:
        of_systems = ({name: own[one] for name, own in figures.items()} for one in (better, worse))
        gain, low, high = (f"{100 * one:+.{decimals}f}" for one in gain_interval(*of_systems))
        notes.append(f"{better} against {worse}: {gain} [{low}, {high}].")
    return notes


def load(name: str, *, split: str = "dev") -> TestSet:
    """Load a collection: one of `RETRIEVAL`, ``"adi"`` or ``"semeval"`` (of the given split)."""
    return _semeval(split) if name == "semeval" else _retrieval(name)


def _retrieval(name: str) -> TestSet:
    folder = data_folder() / "retrieval" / name
    documents = list(read_jsonl(folder / "corpus.jsonl.gz"))
    texts = [
        row["text"] if row["text"].startswith(row["title"]) else f"{row['title']} {row['text']}"
        for row in documents
    ]
    number = {row["id"]: position for position, row in enumerate(documents)}
    judged: dict[str, dict[int, float]] = {}
    for line in (folder / "qrels.tsv").read_text().splitlines()[1:]:
        query, document, score = line.split("\t")
        gain = _CRANFIELD_GAINS[int(score)] if name == "cranfield" else float(score)
        if gain > 0 and document in number:
            judged.setdefault(query, {})[number[document]] = gain
    queries = [row for row in read_jsonl(folder / "queries.jsonl.gz") if row["id"] in judged]
    return TestSet(
        name=name,
        texts=texts,
        queries=[row["text"] for row in queries],
        gains=[judged[row["id"]] for row in queries],
        candidates=None,
        measure="ndcg",
    )


def _semeval(split: str) -> TestSet:
    everything = read_jsonl(data_folder() / "semeval" / "question_pairs.jsonl.gz")
    rows = [row for row in everything if row["split"] in (split, *_SEMEVAL_BACKGROUND)]
    texts = [f"{row['rel_subject']} {row['rel_body']}" for row in rows]
    queries: dict[str, str] = {}
    candidates: dict[str, list[int]] = {}
    gains: dict[str, dict[int, float]] = {}
    for number, row in enumerate(rows):
        if row["split"] == split:
            query = row["orgq_id"]
            queries[query] = f"{row['org_subject']} {row['org_body']}"
            candidates.setdefault(query, []).append(number)
            gains.setdefault(query, {})
            if row["relevant"]:
                gains[query][number] = 1.0
    return TestSet(
        name=f"semeval-{split}",
        texts=texts,
        queries=list(queries.values()),
        gains=[gains[query] for query in queries],
        candidates=[np.array(candidates[query]) for query in queries],
        measure="ap",
    )
