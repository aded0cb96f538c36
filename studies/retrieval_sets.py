"""What the studies of retrieval share: the five collections, figures, choices left out."""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol, TypeVar, cast

import numpy as np
from numpy.typing import NDArray

from softcosine.evaluate.datasets import load
from softcosine.evaluate.datasets.ranking import RankingSet
from softcosine.evaluate.documents import Documents
from softcosine.evaluate.measures import measured
from softcosine.evaluate.runs import run_of
from softcosine.evaluate.significance import Interval, paired_bootstrap_of_collections
from softcosine.evaluate.systems.system import FittedSystem, Ranked
from softcosine.lab import TaughtVectors
from softcosine.similarity.source import TermSimilaritySource
from softcosine.text.corpus import AnalyzedTexts
from softcosine.text.weighting import Weighting
from study import Encode

__all__ = [
    "COLLECTIONS",
    "Collection",
    "best_without",
    "figures_of",
    "gain",
    "ndcg_of",
    "read",
    "taught_similarity",
]

COLLECTIONS = ("cranfield", "cacm", "npl", "lisa", "adi")
DEPTH = 10
_MEASURE = "ndcg@10"

Values = NDArray[np.float64]
Setting = TypeVar("Setting", bound=Hashable)


@dataclass(frozen=True, slots=True)
class Collection:
    """A judged collection, its documents and judged queries encoded.

    Attributes
    ----------
    dataset : RankingSet
    documents, queries : ndarray of shape (n, dimensions), or None
        Encodings of unit length; None where there is no encoder.
    """

    dataset: RankingSet
    documents: Values | None
    queries: Values | None

    @property
    def name(self) -> str:
        """The collection's name."""
        return self.dataset.name


def read(folder: Path, name: str, encode: Encode | None) -> Collection:
    """Read a collection, and encode it."""
    dataset = load(folder / "retrieval" / name)
    assert isinstance(dataset, RankingSet)
    if encode is None:
        return Collection(dataset, None, None)
    return Collection(dataset, encode(dataset.documents.texts), encode(dataset.judged.texts))


class Ranking(Protocol):
    """What ranks documents for queries, as every fitted system does."""

    def ranked(self, queries: Documents, *, k: int) -> Ranked:
        """Return the best documents for each query."""
        ...


def figures_of(dataset: RankingSet, fitted: Ranking) -> Values:
    """Return nDCG@10 of every judged query."""
    found = measured(dataset, run_of(dataset, cast(FittedSystem, fitted), depth=DEPTH), [_MEASURE])
    return found.per_unit[_MEASURE]


def ndcg_of(dataset: RankingSet, scores: Values) -> Values:
    """Return nDCG@10 of every judged query by a matrix of scores: the same as `figures_of`, faster.

    Parameters
    ----------
    dataset : RankingSet
    scores : ndarray of shape (n_queries, n_docs)
        What is 0 or less is not found.
    """
    numbers = dataset.documents.numbers()
    discounts = 1.0 / np.log2(np.arange(2, DEPTH + 2))
    found = np.zeros(len(scores))
    for query, id in enumerate(dataset.judged.ids):
        gains = np.zeros(scores.shape[1])
        for document, gain in dataset.qrels[id].items():
            gains[numbers[document]] = max(gain, 0)
        own = scores[query]
        least = np.partition(own, -min(DEPTH, len(own)))[-min(DEPTH, len(own))]
        among = np.flatnonzero((own >= least) & (own > 0.0))
        best = among[np.argsort(-own[among], kind="stable")[:DEPTH]]
        most = np.sort(gains)[::-1][:DEPTH] @ discounts[: len(gains)]
        if most > 0.0:
            found[query] = gains[best] @ discounts[: len(best)] / most
    return found


def best_without(figures: Mapping[Setting, Mapping[str, Values]], left_out: str | None) -> Setting:
    """Return the setting of the largest mean over all collections but one; of equal ones the first.

    Parameters
    ----------
    figures : mapping of setting to mapping of collection to ndarray
        Of every query.
    left_out : str or None
        None leaves none out.
    """

    def mean(setting: Setting) -> float:
        own = figures[setting]
        return float(np.mean([values.mean() for name, values in own.items() if name != left_out]))

    return max(figures, key=mean)


def gain(
    ours: Mapping[str, Values], theirs: Mapping[str, Values], *, relative: bool = True
) -> Interval:
    """Return the mean gain over collections and its 95 % paired bootstrap interval."""
    names = list(ours)
    return paired_bootstrap_of_collections(
        [ours[name] for name in names], [theirs[name] for name in names], relative=relative
    )


def taught_similarity(
    corpus: AnalyzedTexts, encodings: NDArray[np.floating[Any]]
) -> TermSimilaritySource:
    """Return the similarities of terms that an encoder's vectors of the documents teach."""
    weighting = Weighting(tf="log", idf="smooth")
    taught = TaughtVectors.fit(corpus, encodings, weighting=weighting, penalty=1.0)
    return taught.similarity(threshold=0.0, exponent=1.0)
