"""What a metric learned from labels (theory T16) brings to nearest neighbours."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array
from sklearn.preprocessing import normalize

import softcosine as sc
from softcosine.evaluate.datasets import load
from softcosine.evaluate.datasets.classification import ClassificationSet, Split
from softcosine.evaluate.significance import paired_bootstrap
from softcosine.sklearn.metric import SoftMetric

__all__ = ["SETS", "classes_part"]

SETS = ("r8", "20news_bydate", "ohsumed23", "classic4", "amazon", "twitter")
SIZES = (1, 3, 5, 9, 15, 25)
TEMPERATURES, STRENGTHS = (0.1, 0.2), (1.0, 3.0, 10.0)
_SHARE = 4  # one training document in four chooses the settings
_SPLITS = 3  # of the ten seeded ones, where no split is given

Report = Callable[[str], object]
Labels = NDArray[np.int64]
Truths = NDArray[np.bool_]


@dataclass(frozen=True, slots=True, eq=False)
class Vectors:
    """Documents of one split as rows of tf-idf of length 1, and their labels."""

    train: csr_array
    test: csr_array
    train_labels: Labels
    test_labels: Labels
    S: sc.TermSimilarityMatrix


Fit = Callable[[csr_array, Labels], tuple[sc.TermSimilarityMatrix, NDArray[np.float64]]]


def classes_part(folder: Path, names: Sequence[str], report: Report) -> list[dict[str, Any]]:
    """Return a row for every data set and way to compare documents."""
    rows: list[dict[str, Any]] = []
    for name in names:
        dataset = load(folder / "classification" / f"{name}.jsonl.gz")
        assert isinstance(dataset, ClassificationSet)
        splits = dataset.splits[:_SPLITS]
        wrong: dict[str, list[Truths]] = {}
        chosen: dict[str, list[str]] = {}
        for number, split in enumerate(splits):
            report(f"{name}, split {number + 1} of {len(splits)}")
            for way, (failed, setting) in _compared(_vectors(dataset, split)).items():
                wrong.setdefault(way, []).append(failed)
                chosen.setdefault(way, []).append(setting)
        plain = np.concatenate(wrong["cosine"])
        for way, parts in wrong.items():
            errors = [100.0 * float(part.mean()) for part in parts]
            row: dict[str, Any] = {
                "data set": name,
                "compared by": way,
                "error %": round(float(np.mean(errors)), 2),
                "sd": round(float(np.std(errors)), 2) if len(errors) > 1 else None,
                "chosen": "; ".join(dict.fromkeys(chosen[way])),
            }
            if way != "cosine":
                interval = paired_bootstrap(100.0 * np.concatenate(parts), 100.0 * plain)
                row["against cosine"] = (
                    f"{interval.difference:+.2f} [{interval.low:+.2f}, {interval.high:+.2f}]"
                )
            rows.append(row)
            report(f"  {way}: {row['error %']} ({row['chosen']})")
    return rows


def _vectors(dataset: ClassificationSet, split: Split) -> Vectors:
    texts, labels = dataset.documents.texts, dataset.label_numbers
    analyzer, weighting = sc.Analyzer("english"), sc.Weighting("log", "smooth")
    known = sc.analyze([texts[i] for i in split.train], analyzer, min_df=2)
    vocabulary = known.vocabulary
    found = sc.analyze([texts[i] for i in split.test], analyzer)
    places = vocabulary.indices(found.vocabulary.terms)
    kept = np.flatnonzero(places >= 0)
    spread = csr_array((np.ones(len(kept)), (kept, places[kept])), (len(places), len(vocabulary)))
    test = weighting.transform(
        found.counts() @ spread, document_frequencies=vocabulary.document_frequencies,
        n_docs=len(split.train),
    )  # fmt: skip
    S = sc.TermSimilarityMatrix.from_source(
        sc.EmbeddingSimilarity.english(exponent=2.0), vocabulary, max_neighbors=20, balanced=True,
        warn=False,
    )  # fmt: skip
    return Vectors(
        csr_array(normalize(weighting.transform(known.counts()))), csr_array(normalize(test)),
        labels[split.train], labels[split.test], S,
    )  # fmt: skip


def _compared(vectors: Vectors) -> dict[str, tuple[Truths, str]]:
    """Return which test documents each way gets wrong, and the settings that it chose."""
    order = np.random.default_rng(0).permutation(vectors.train.shape[0])
    n_held = len(order) // _SHARE
    held, rest = order[:n_held], order[n_held:]
    inner = Vectors(
        csr_array(vectors.train[rest]), csr_array(vectors.train[held]),
        vectors.train_labels[rest], vectors.train_labels[held], vectors.S,
    )  # fmt: skip
    identity = sc.TermSimilarityMatrix.identity(vectors.S.vocabulary)

    def given(S: sc.TermSimilarityMatrix) -> Fit:
        return lambda _X, _y: (S, np.ones(len(S)))

    def learned(**settings: Any) -> Fit:
        def fit(X: csr_array, y: Labels) -> tuple[sc.TermSimilarityMatrix, NDArray[np.float64]]:
            metric = SoftMetric(max_iterations=60, **settings).fit(X, y)
            return metric.S_, metric.term_weights_

        return fit

    found: dict[str, tuple[Truths, str]] = {}

    def choose(way: str, settings: dict[str, Fit]) -> str:
        errors = {
            (name, k): float(failed.mean())
            for name, fit in settings.items()
            for k, failed in _failed(inner, fit).items()
        }
        name, k = min(errors, key=lambda key: errors[key])
        found[way] = (_failed(vectors, settings[name])[k], f"{name}k = {k}")
        return name

    choose("cosine", {"": given(identity)})
    choose("soft cosine, given S", {"": given(vectors.S)})
    grid = {
        f"temperature {t:g}, strength {s:g}, ": {"temperature": t, "strength": s}
        for t in TEMPERATURES
        for s in STRENGTHS
    }
    best = choose("learned weights", {name: learned(**values) for name, values in grid.items()})
    same = {
        name: learned(S=vectors.S, learn="both", **values)
        for name, values in grid.items()
        if values["temperature"] == grid[best]["temperature"]
    }
    choose("learned weights and pairs", same)
    return found


def _failed(vectors: Vectors, fit: Fit) -> dict[int, Truths]:
    """Return, for each number of neighbours, which test documents are given a wrong label."""
    S, weights = fit(vectors.train, vectors.train_labels)
    neighbors = sc.SoftNeighbors(S).fit(csr_array(vectors.train * weights))
    k = min(max(SIZES), vectors.train.shape[0])
    found = neighbors.search(csr_array(vectors.test * weights), k=k)
    labels = vectors.train_labels[found.ids]
    n_classes = int(vectors.train_labels.max()) + 1
    failed = {}
    for size in SIZES:
        votes = np.zeros((len(labels), n_classes))
        for place in range(min(size, k)):
            votes[np.arange(len(labels)), labels[:, place]] += found.scores[:, place]
        failed[size] = votes.argmax(axis=1) != vectors.test_labels
    return failed
