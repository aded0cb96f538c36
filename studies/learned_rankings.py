"""What pairs of S learned from judgements bring to queries that were not learned from."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

import softcosine as sc
from softcosine.evaluate.datasets import load
from softcosine.evaluate.datasets.ranking import RankingSet
from softcosine.evaluate.measures import measured
from softcosine.evaluate.runs import Run
from softcosine.evaluate.significance import paired_bootstrap
from softcosine.lab.term_pairs.pair_weights import (
    Preferences,
    bm25_vectors,
    held_out_losses,
    learn_pair_weights,
)

__all__ = ["COLLECTIONS", "rankings_part"]

COLLECTIONS = ("cranfield", "cacm", "npl", "lisa")
EXPONENTS, STRENGTHS = (1.0, 2.0, 4.0), (1.0, 3.0, 10.0, 100.0)
LEARNED = ("terms", "pairs", "both")
_FOLDS, _INNER_FOLDS = 5, 3
_CANDIDATES = 100  # documents that judged ones are to be told from, for each query
_MEASURE = "ndcg@10"

Values = NDArray[np.float64]
Report = Callable[[str], object]


@dataclass(frozen=True, slots=True, eq=False)
class Prepared:
    """A collection as vectors of soft BM25, and S to each exponent; None stands for S = I."""

    dataset: RankingSet
    queries: csr_array
    documents: csr_array
    gains: list[dict[int, float]]
    matrices: dict[float | None, sc.TermSimilarityMatrix]

    def scores(self, S: sc.TermSimilarityMatrix, weights: Values | float = 1.0) -> Values:
        """Return the score of every query with every document."""
        matrix = S.to_scipy().astype(np.float64)
        found = (self.queries * weights) @ matrix @ csr_array(self.documents * weights).T
        return np.asarray(csr_array(found).toarray())

    def figures(self, scores: Values) -> Values:
        """Return nDCG@10 of every query."""
        ids = self.dataset.documents.ids
        best = np.argsort(-scores, axis=1, kind="stable")[:, :10]
        rankings = {
            query: tuple(ids[d] for d in top if row[d] > 0)
            for query, top, row in zip(self.dataset.judged.ids, best, scores, strict=True)
        }
        return measured(self.dataset, Run(rankings), [_MEASURE]).per_unit[_MEASURE]


def rankings_part(folder: Path, names: Sequence[str], report: Report) -> list[dict[str, Any]]:
    """Return a row for every collection and way to make S."""
    rows: list[dict[str, Any]] = []
    for name in names:
        report(f"{name}: similarities")
        prepared = _prepared(folder / "retrieval" / name)
        found, told = _folds(prepared, report)
        base = found["exponent chosen"]
        for way, values in found.items():
            row: dict[str, Any] = {
                "collection": name,
                "S": way,
                "nDCG@10": round(100.0 * float(values.mean()), 2),
                "chosen": told.get(way),
            }
            if way in LEARNED:
                interval = paired_bootstrap(100.0 * values, 100.0 * base)
                row["against exponent chosen"] = (
                    f"{interval.difference:+.2f} [{interval.low:+.2f}, {interval.high:+.2f}]"
                )
            rows.append(row)
            report(f"  {way}: {row['nDCG@10']} ({row['chosen']})")
    return rows


def _prepared(folder: Path) -> Prepared:
    dataset = load(folder)
    assert isinstance(dataset, RankingSet)
    analyzer = sc.Analyzer("english", stop_words="english")
    analyzed = sc.analyze(dataset.documents.texts, analyzer)
    vocabulary = analyzed.vocabulary
    source, _ = sc.SimilarityRecipe().joined(analyzed)
    S = sc.TermSimilarityMatrix.from_source(source, vocabulary, warn=False)
    matrices: dict[float | None, sc.TermSimilarityMatrix] = {
        None: sc.TermSimilarityMatrix.identity(vocabulary)
    }
    for exponent in EXPONENTS:
        powers = S.to_scipy().copy()
        powers.data = powers.data**exponent
        matrices[exponent] = sc.TermSimilarityMatrix.from_matrix(powers, vocabulary, warn=False)
    asked = sc.analyze(dataset.judged.texts, analyzer)
    places = vocabulary.indices(asked.vocabulary.terms)
    kept = np.flatnonzero(places >= 0)
    spread = csr_array((np.ones(len(kept)), (kept, places[kept])), (len(places), len(vocabulary)))
    queries, documents = bm25_vectors(asked.counts() @ spread, analyzed.counts(), k1=1.6, b=0.75)
    numbers = dataset.documents.numbers()
    gains = [
        {numbers[d]: float(gain) for d, gain in dataset.qrels[query].items() if gain > 0}
        for query in dataset.judged.ids
    ]
    return Prepared(dataset, queries, documents, gains, matrices)


def _folds(prepared: Prepared, report: Report) -> tuple[dict[str, Values], dict[str, str]]:
    """Return the figures of every query, chosen and learned on the folds without it."""
    n = len(prepared.gains)
    scores = {exponent: prepared.scores(S) for exponent, S in prepared.matrices.items()}
    figures = {exponent: prepared.figures(values) for exponent, values in scores.items()}
    found = {"I (BM25)": figures[None], "given (default)": figures[1.0]}
    found |= {way: np.zeros(n) for way in ("exponent chosen", *LEARNED)}
    chosen: dict[str, list[str]] = {way: [] for way in ("exponent chosen", *LEARNED)}
    fold_of = np.random.default_rng(0).permutation(n) % _FOLDS
    for fold in range(_FOLDS):
        train, test = np.flatnonzero(fold_of != fold), np.flatnonzero(fold_of == fold)
        exponent = max(EXPONENTS, key=lambda e: float(figures[e][train].mean()))
        chosen["exponent chosen"].append(f"{exponent:g}")
        found["exponent chosen"][test] = figures[exponent][test]
        S = prepared.matrices[exponent]
        candidates = np.argsort(-scores[exponent], axis=1, kind="stable")[:, :_CANDIDATES]
        preferences = Preferences.of(prepared.gains, list(candidates)).of_queries(train)
        operands = (S, prepared.queries, prepared.documents, preferences)
        for learn in LEARNED:
            settings: dict[str, Any] = {"learn": learn, "max_iterations": 60}
            losses = held_out_losses(*operands, strengths=STRENGTHS, folds=_INNER_FOLDS, **settings)
            strength = min(losses, key=lambda s: losses[s])
            learned = learn_pair_weights(*operands, strength=strength, **settings)
            values = prepared.figures(prepared.scores(learned.S, learned.term_weights))
            found[learn][test] = values[test]
            chosen[learn].append(f"{strength:g}")
        report(f"{prepared.dataset.name}: fold {fold + 1} of {_FOLDS}")
    return found, {way: ", ".join(dict.fromkeys(names)) for way, names in chosen.items()}
