"""Rows beside soft cosine: metrics learned from labels, and other systems through evaluate."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from importlib.util import find_spec
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import block_diag, csr_array, csr_matrix, diags_array, eye_array, hstack
from sklearn.linear_model import Ridge
from sklearn.preprocessing import normalize

import softcosine as sc
from classification_recipes import (
    SOFT_SETTINGS,
    UNTUNED,
    Analyzed,
    Predicted,
    Setting,
    Words,
    predicted,
    predicted_with_latent,
    weighed_documents,
)
from softcosine.evaluate.datasets.classification import ClassificationSet, Split
from softcosine.evaluate.neighbors import classified
from softcosine.evaluate.systems import from_spec
from softcosine.sklearn.metric import SoftMetric
from softcosine.sklearn.votes import VotingGrid

__all__ = [
    "CHOSEN",
    "FEW_SPLITS",
    "LEARNED_WEIGHTS",
    "WITH_LATENT",
    "latent_rows",
    "learned_rows",
    "other_rows",
]

Row = dict[str, Any]
Report = Callable[[str], object]
Numbers = NDArray[np.int64]
Weighed = tuple[csr_array, sc.TermSimilarityMatrix]

CHOSEN = "soft cosine, chosen"
WITH_LATENT = "soft cosine and latent space"
LEARNED_WEIGHTS = "learned: weights of terms"
_AFFINITIES = "learned: affinities to classes joined"
FEW_SPLITS = 3  # of the seeded ones, where a row is dear
_STRENGTHS = (1.0, 3.0, 10.0)
_SHARES = (0.5, 1.0)
_RIDGE = 1.0
_SAMPLE = 3000
_MIN_DF = 3  # of terms whose weights are learned
_N_FOLDS = 5

_OTHERS = {
    "cosine, evaluate": "cosine",
    "BM25": "bm25",
    "LSI, 200 dimensions": "lsi:n_components=200",
    "mean of English vectors": "mean_vector",
}
_TOPICS = ("LDA, 100 topics", "lda:online=true")
_ENCODER = ("all-MiniLM-L6-v2", "encoder")
_ENCODED = ("twitter", "r8", "classic4", "amazon")  # sets that the encoder reads within minutes
_MOST_FOR_TOPICS = 8000  # documents
_MOVED = {"WMD, sample": "wmd:depth=30", "relaxed WMD, sample": "rwmd"}
_MOVED_TEST, _MOVED_TRAIN = 200, 2000
# To rank the training documents for each other, as the choice of a vote needs, is too dear by WMD.
_NINE = VotingGrid((9,), (np.inf,), (0.0,), (0.0,))


def learned_rows(
    dataset: ClassificationSet, analyzed: Analyzed, report: Report, kept: Mapping[str, Any]
) -> Iterator[tuple[str, int, Row]]:
    """Give (row, split, what it got wrong) of metrics learned from the labels of training.

    They start from the soft cosine that was chosen in the same training part.
    """
    words, labels, n_classes = analyzed.words, dataset.label_numbers, len(dataset.classes)
    for number, split in enumerate(dataset.splits[:FEW_SPLITS]):
        setting = _start(kept, number)
        for row, learn in ((LEARNED_WEIGHTS, _by_weights), (_AFFINITIES, _by_affinities)):
            report(f"{dataset.name}, split {number + 1}: {row}")
            started = time.process_time()
            found, how = learn(words, setting, split, labels, n_classes, number)
            yield row, number, _told(found, labels[split.test], f"{setting}; {how}", started)


def latent_rows(
    dataset: ClassificationSet, analyzed: Analyzed, report: Report, kept: Mapping[str, Any]
) -> Iterator[tuple[str, int, Row]]:
    """Give (row, split, what it got wrong) of soft cosine and a latent space of training texts."""
    words, labels, n_classes = analyzed.words, dataset.label_numbers, len(dataset.classes)
    for number, split in enumerate(dataset.splits):
        report(f"{dataset.name}, split {number + 1}: {WITH_LATENT}")
        started = time.process_time()
        setting = _start(kept, number)
        found, how = predicted_with_latent(words, setting, split, labels, n_classes)
        yield WITH_LATENT, number, _told(found, labels[split.test], f"{setting}; {how}", started)


def _start(kept: Mapping[str, Any], number: int) -> Setting:
    """Return the setting that was chosen in a split's training part, if it was."""
    told = kept.get(CHOSEN, {}).get(str(number), {}).get("setting")
    return {str(setting): setting for setting in SOFT_SETTINGS}.get(told, UNTUNED)


def _told(found: Predicted, labels: Numbers, setting: str, started: float) -> Row:
    voting = found.voting
    temperature = None if np.isinf(voting.temperature) else voting.temperature
    return {
        "wrong": [int(place) for place in np.flatnonzero(found.classes != labels)],
        "n": len(labels),
        "setting": setting,
        "voting": [voting.n_neighbors, temperature, voting.hubness, voting.balance],
        "training error": round(100 * found.error, 2),
        "cpu seconds": round(time.process_time() - started, 1),
    }


def _by_weights(
    words: Words, setting: Setting, split: Split, labels: Numbers, n_classes: int, seed: int
) -> tuple[Predicted, str]:
    """Term weights by `SoftMetric` (theory T16), its strength chosen on a part of training."""
    S = words.similarities(setting)

    def labelled(part: Split, strength: float) -> Predicted:
        X = weighed_documents(words, setting, part.train)
        frequencies = words.counts[part.train].astype(bool).sum(axis=0)
        kept = np.flatnonzero(frequencies >= _MIN_DF)
        metric = SoftMetric(learn="terms", strength=strength, max_iterations=40)
        rows = csr_array(normalize(csr_matrix(X[part.train][:, kept])))
        metric.fit(rows, labels[part.train])
        weights = np.ones(X.shape[1])
        weights[kept] = metric.term_weights_
        learned = csr_array(X @ diags_array(weights))
        return predicted(
            words, setting, part, labels, n_classes, [VotingGrid()], weights=(learned, S)
        )[0]

    drawn = np.random.default_rng([11, seed]).permutation(split.train)[:_SAMPLE]
    cut = int(0.7 * len(drawn))
    inner = Split(np.sort(drawn[:cut]), np.sort(drawn[cut:]))
    errors = {
        strength: float(np.mean(labelled(inner, strength).classes != labels[inner.test]))
        for strength in _STRENGTHS
    }
    best = min(_STRENGTHS, key=lambda strength: errors[strength])
    return labelled(split, best), f"strength {best:g}"


def _by_affinities(
    words: Words, setting: Setting, split: Split, labels: Numbers, n_classes: int, seed: int
) -> tuple[Predicted, str]:
    """Every class as a term of its own, which a document has as ridge regression says.

    A training document's affinities are those that the other folds' documents teach, so that they
    are like those of texts never seen. How much they count is chosen in training.
    """
    X, S = weighed_documents(words, setting, split.train), words.similarities(setting)
    lengths = sc.soft_norm(X, S)
    unit = csr_array(diags_array(1.0 / np.where(lengths > 0.0, lengths, 1.0)) @ X)
    plain, classes = csr_matrix(normalize(csr_matrix(X))), np.eye(n_classes)[labels]

    def taught(by: Numbers, of: Numbers) -> NDArray[np.float64]:
        ridge = Ridge(alpha=_RIDGE, solver="sparse_cg", tol=1e-3).fit(plain[by], classes[by])
        scores = ridge.predict(plain[of]).reshape(len(of), n_classes)
        return np.asarray(np.maximum(scores, 0.0))

    affinities = np.zeros((len(labels), n_classes))
    affinities[split.test] = taught(split.train, split.test)
    folds = np.random.default_rng([13, seed]).permutation(len(split.train)) % _N_FOLDS
    for fold in range(_N_FOLDS):
        own = split.train[folds == fold]
        affinities[own] = taught(split.train[folds != fold], own)
    joined = sc.TermSimilarityMatrix.from_matrix(
        csr_array(block_diag([S.to_scipy(), eye_array(n_classes)])), warn=False
    )
    found: dict[float, Predicted] = {}
    for share in _SHARES:
        extra = csr_array(np.sqrt(share) * normalize(affinities))
        weights = (csr_array(hstack([unit, extra])), joined)
        found[share] = predicted(
            words, setting, split, labels, n_classes, [VotingGrid()], weights=weights
        )[0]
    best = min(_SHARES, key=lambda share: found[share].error)
    return found[best], f"share {best:g}"


def other_rows(
    dataset: ClassificationSet, analyzed: Analyzed, report: Report, kept: Mapping[str, Any]
) -> Iterator[tuple[str, int, Row]]:
    """Give (row, split, what it got wrong) of other systems; k and votes as evaluate chooses."""
    few = replace(dataset, splits=dataset.splits[:FEW_SPLITS])
    wanted = [(row, spec, few) for row, spec in _OTHERS.items()]
    first = replace(dataset, splits=dataset.splits[:1])
    if len(dataset.documents) <= _MOST_FOR_TOPICS:
        wanted.append((*_TOPICS, first))
    if dataset.name in _ENCODED and find_spec("softcosine_minilm") and find_spec("onnxruntime"):
        wanted.append((*_ENCODER, few))
    for row, spec, part in wanted:
        if row in kept:
            continue
        yield from _classified(row, spec, part, report)
    small = replace(dataset, splits=(_sampled(dataset.splits[0]),))
    for row, spec in {"cosine, sample": "cosine", **_MOVED}.items():
        if row not in kept:
            yield from _classified(row, spec, small, report, _NINE)


def _sampled(split: Split) -> Split:
    random = np.random.default_rng(17)
    return Split(
        np.sort(random.permutation(split.train)[:_MOVED_TRAIN]),
        np.sort(random.permutation(split.test)[:_MOVED_TEST]),
    )


def _classified(
    row: str,
    spec: str,
    dataset: ClassificationSet,
    report: Report,
    grid: VotingGrid | None = None,
) -> Iterator[tuple[str, int, Row]]:
    report(f"{dataset.name}: {row}")
    notes: list[str] = []

    def fitted(_: int, system: Any) -> None:
        kept.append(system)

    kept: list[Any] = []
    started = time.process_time()
    found = classified(dataset, from_spec(spec), grid=grid, fitted=fitted)
    seconds = (time.process_time() - started) / len(dataset.splits)
    for system in kept[:1]:
        note = getattr(system, "note", None)
        notes += [note] if isinstance(note, str) else []
    labels = dataset.label_numbers
    for number, (split, own, choice) in enumerate(
        zip(dataset.splits, found.labels, found.choices, strict=True)
    ):
        missed = np.flatnonzero(own != labels[split.test])
        yield row, number, {
            "wrong": [int(place) for place in missed],
            "n": len(split.test),
            "setting": spec,
            "voting": list(choice.to_dict().values()),
            "cpu seconds": round(seconds, 1),
            "note": "; ".join(notes),
        }  # fmt: skip
