"""The soft cosines of the classification study: sources of S, weights, and how they are chosen."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import product
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array, csr_matrix, eye_array
from sklearn.decomposition import TruncatedSVD
from sklearn.preprocessing import normalize

import softcosine as sc
from softcosine.evaluate.datasets.classification import Split
from softcosine.sklearn.votes import (
    CANDIDATES,
    Neighborhood,
    Voting,
    VotingGrid,
    best_voting,
    voted,
)

__all__ = [
    "LATENT_GRID", "PLAIN", "PLAIN_SETTINGS", "SOFT_SETTINGS", "UNTUNED", "Analyzed", "Predicted",
    "Setting", "Words", "chosen_setting", "predicted", "predicted_with_latent", "weighed_documents",
    "words_of",
]  # fmt: skip

Numbers = NDArray[np.int64]

MAX_NEIGHBORS = 100
_POTION = "vectors/potion_base_4m_int8.npz"


@dataclass(frozen=True, slots=True)
class Setting:
    """A soft cosine: whose similarities, how sharp, how much of them, and what words weigh.

    Attributes
    ----------
    source : str
        ``"none"`` for S = I, ``"english"`` for the bundled table, ``"potion"`` for the table of
        potion-base-4M.
    exponent : float
        Of the cosines, where they are at least .3.
    share : float
        What the similarities are multiplied by.
    tf : str
        Of `softcosine.Weighting`; its idf is ``"smooth"``.
    """

    source: str
    exponent: float
    share: float
    tf: str

    def __str__(self) -> str:
        if self.source == "none":
            return f"S = I, {self.tf}"
        return f"{self.source} ^ {self.exponent:g} × {self.share:g}, {self.tf}"


UNTUNED = Setting("english", 4.0, 1.0, "log")
PLAIN = Setting("none", 1.0, 1.0, "log")
_SIMILAR = (
    ("english", 4.0, 1.0),
    ("english", 4.0, 0.4),
    ("potion", 4.0, 1.0),
    ("potion", 2.0, 1.0),
)
SOFT_SETTINGS = tuple(Setting(*of, tf) for of, tf in product(_SIMILAR, ("log", "bm25")))
PLAIN_SETTINGS = (PLAIN, Setting("none", 1.0, 1.0, "bm25"))


@dataclass(frozen=True, slots=True)
class Words:
    """The texts of a set as counts of stems, and what S says of these.

    S stands over the words of all texts: a word that no training text has is compared through it.
    What words weigh is counted in training texts alone.

    Attributes
    ----------
    counts : csr_array of shape (n_docs, n_terms)
    vocabulary : Vocabulary
    squares : mapping of source to csr_array
        Of every source, the squared cosines.
    """

    counts: csr_array
    vocabulary: sc.Vocabulary
    squares: Mapping[str, csr_array]

    def similarities(self, setting: Setting) -> sc.TermSimilarityMatrix:
        """Return S."""
        if setting.source == "none":
            return sc.TermSimilarityMatrix.identity(self.vocabulary)
        S = self.squares[setting.source].copy()
        S.data = S.data ** np.float32(setting.exponent / 2.0) * np.float32(setting.share)
        n = S.shape[0]
        S = csr_array(S - S.multiply(eye_array(n)) + eye_array(n), dtype=np.float32)
        return sc.TermSimilarityMatrix.from_matrix(S, self.vocabulary, warn=False)


class Analyzed:
    """The words of texts, analysed when they are first asked for."""

    def __init__(self, texts: Sequence[str], data: Path) -> None:
        self._texts, self._data = texts, data

    @cached_property
    def words(self) -> Words:
        """Counts, vocabulary and what both tables say of it."""
        return words_of(self._texts, self._data)


def words_of(texts: Sequence[str], data: Path) -> Words:
    """Analyse texts (English stems, every word kept), and ask both tables about the words."""
    analyzed = sc.analyze(texts, sc.Analyzer("english"))
    sources = {
        "english": sc.EmbeddingSimilarity.english(exponent=2.0),
        "potion": sc.EmbeddingSimilarity.load(data / _POTION, exponent=2.0),
    }
    squares = {
        name: csr_array(
            sc.TermSimilarityMatrix.from_source(
                source, analyzed.vocabulary, max_neighbors=MAX_NEIGHBORS, warn=False
            ).to_scipy()
        )
        for name, source in sources.items()
    }
    return Words(analyzed.counts(), analyzed.vocabulary, squares)


@dataclass(frozen=True, slots=True)
class Predicted:
    """What a soft cosine says of the test documents of a split.

    Attributes
    ----------
    classes : ndarray of shape (n_test,), int64
    voting : Voting
    error : float
        Of leaving one training document out, the one that chose.
    """

    classes: Numbers
    voting: Voting
    error: float


def predicted(
    words: Words,
    setting: Setting,
    split: Split,
    labels: Numbers,
    n_classes: int,
    grids: Sequence[VotingGrid],
    *,
    weights: tuple[csr_array, sc.TermSimilarityMatrix] | None = None,
) -> list[Predicted]:
    """Label a split's test documents, for every grid by the best of its votings in training.

    Parameters
    ----------
    words : Words
    setting : Setting
    split : Split
    labels : ndarray of shape (n_docs,), int64
        Of all documents; only those of training are looked at.
    n_classes : int
    grids : sequence of VotingGrid
    weights : (csr_array of shape (n_docs, n_terms), TermSimilarityMatrix), optional
        Documents weighed already, and their S, in place of those of the setting.
    """
    known = labels[split.train]
    neighbors, documents = _fitted(words, setting, split.train, weights)
    around = _around(neighbors)
    matches = neighbors.search(documents[split.test], k=CANDIDATES)
    found, results = Neighborhood.of(matches.ids, matches.scores), []
    for grid in grids:
        votes, voting, error = voted(around, found, known, n_classes, grid)
        results.append(Predicted(votes.argmax(axis=1), voting, error))
    return results


# Dimensions of the second space, and what its cosine counts beside the soft one.
LATENT_GRID = ((50, 0.3), (50, 0.6), (150, 0.3), (150, 0.6))


def predicted_with_latent(
    words: Words, setting: Setting, split: Split, labels: Numbers, n_classes: int
) -> tuple[Predicted, str]:
    """Label by two spaces: soft cosines, and cosines among what training texts teach.

    The nearest by soft cosine are ranked anew by the sum. The second space is that of the first
    right singular vectors of the weighed training documents; it knows no label.
    """
    known, train = labels[split.train], split.train
    neighbors, documents = _fitted(words, setting, train, None)
    around, found = _around(neighbors), neighbors.search(documents[split.test], k=CANDIDATES)
    near = Neighborhood.of(found.ids, found.scores)
    weighed = weighed_documents(words, setting, train)
    rows = csr_array(normalize(csr_matrix(weighed)))
    n_dimensions = min(max(k for k, _ in LATENT_GRID), rows.shape[1] - 1)
    svd = TruncatedSVD(n_dimensions, n_iter=4, random_state=0).fit(csr_matrix(rows[train]))
    coordinates = svd.transform(csr_matrix(rows))
    best: tuple[Predicted, str] | None = None
    for k, share in LATENT_GRID:
        latent = normalize(coordinates[:, :k])
        own = _summed(around, latent[train], latent[train], share)
        asked = _summed(near, latent[split.test], latent[train], share)
        votes, voting, error = voted(own, asked, known, n_classes, VotingGrid())
        if best is None or error < best[0].error:
            told = f"{k} dimensions × {share:g}"
            best = Predicted(votes.argmax(axis=1), voting, error), told
    assert best is not None
    return best


def weighed_documents(words: Words, setting: Setting, train: Numbers) -> csr_array:
    """Weigh all documents by the statistics of training alone."""
    counts = words.counts[train]
    return csr_array(
        sc.Weighting(setting.tf, "smooth").transform(
            words.counts,
            document_frequencies=counts.astype(bool).sum(axis=0),
            n_docs=len(train),
            average_length=float(counts.sum()) / len(train),
        )
    )


def _summed(
    found: Neighborhood, left: NDArray[np.float64], right: NDArray[np.float64], share: float
) -> Neighborhood:
    latent = np.einsum("ij,ikj->ik", left, right[found.ids])
    return Neighborhood.of(found.ids, (found.scores + share * latent) / (1.0 + share))


def chosen_setting(
    words: Words,
    settings: Sequence[Setting],
    train: Numbers,
    labels: Numbers,
    n_classes: int,
    *,
    sample: int,
    seed: int,
) -> tuple[Setting, dict[str, float]]:
    """Return the best setting among a sample of the training documents, and the errors of all.

    Every setting is measured with its own best vote, by leaving one document of the sample out.
    """
    drawn = np.random.default_rng([7, seed]).permutation(train)[:sample]
    errors: dict[Setting, float] = {}
    for setting in settings:
        neighbors, _ = _fitted(words, setting, drawn, None)
        _, errors[setting] = best_voting(_around(neighbors), labels[drawn], n_classes, VotingGrid())
    best = min(settings, key=lambda setting: errors[setting])
    return best, {str(setting): round(100 * error, 2) for setting, error in errors.items()}


def _fitted(
    words: Words,
    setting: Setting,
    train: Numbers,
    weights: tuple[csr_array, sc.TermSimilarityMatrix] | None,
) -> tuple[sc.SoftNeighbors, csr_array]:
    if weights is not None:
        documents, S = weights
        return sc.SoftNeighbors(S).fit(documents[train]), documents
    weighting = sc.Weighting(setting.tf, "smooth")
    neighbors = sc.SoftNeighbors(words.similarities(setting), weighting=weighting)
    return neighbors.fit(words.counts[train]), words.counts


def _around(neighbors: sc.SoftNeighbors) -> Neighborhood:
    n = min(CANDIDATES, neighbors.n_samples_fit_ - 1)
    found = neighbors.search(k=n)
    return Neighborhood.of(found.ids, found.scores)
