"""Nearest-neighbour error on five related newsgroups, by how much there is to learn from."""

from __future__ import annotations

import gzip
import json
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array, diags_array
from scipy.sparse.linalg import svds

from softcosine.lab.snos.graph import largest_singular_value, normalized
from softcosine.lab.snos.learning import snos
from softcosine.text.corpus import analyze

__all__ = ["SHARES", "error_by_share"]

# Share of the training messages, and how many seeded draws of it.
SHARES = {0.02: 5, 0.05: 5, 0.1: 5, 0.25: 3, 0.5: 2, 1.0: 1}
DIMENSIONS = (25, 50, 100, 200, 400)
# How B is scaled, and how far λ₁ = λ₂ reach towards the spectral bound: 0 would be the cosine.
STRENGTHS = {"length": (0.03, 0.1, 0.3, 0.9), "both": (0.3,)}

Labels = NDArray[np.int64]
Matrix = NDArray[np.float64]
# Similarities of training messages with one another, and of test messages with them.
Compared = tuple[Any, Any]


@dataclass(frozen=True, slots=True)
class Messages:
    """Counts of terms and groups of messages."""

    counts: csr_array
    labels: Labels
    train: Labels
    test: Labels


def error_by_share(folder: Path, report: Callable[[str], object]) -> list[dict[str, Any]]:
    """Measure the error of the nearest neighbour, per share and draw; one row each."""
    messages = _read(folder / "classification" / "20news_bydate.jsonl.gz")
    rows = []
    for share, n_draws in SHARES.items():
        for draw in range(n_draws):
            random = np.random.default_rng([draw, round(1000 * share)])
            drawn = _drawn(messages, share, random)
            rows.append(
                {"share": share, "draw": draw, "messages": len(drawn), **_errors(messages, drawn)}
            )
            report(f"comp.*: {rows[-1]}")
    return rows


def _errors(messages: Messages, drawn: Labels) -> dict[str, Any]:
    """Errors in percent; what a system has to choose is chosen on the drawn messages alone."""
    X, Y = _weighed(messages.counts, drawn, messages.test)
    labels, truth = messages.labels[drawn], messages.labels[messages.test]
    errors: dict[str, Any] = {}
    for system, candidates in (("cosine", _cosine), ("LSI", _lsi), ("SNOS", _snos)):
        best = None
        for name, (among, across) in candidates(X, Y):
            left_out = _error(
                np.where(np.eye(len(labels), dtype=bool), -1.0, among), labels, labels
            )
            found = left_out, name, _error(across, labels, truth)
            errors[f"{system} {name}".strip()] = found[2]
            if best is None or left_out < best[0]:
                best = found
        assert best is not None
        errors[system], errors[f"{system} chose"] = best[2], best[1]
    return errors


def _cosine(X: csr_array, Y: csr_array) -> Iterator[tuple[str, Compared]]:
    yield "", ((X @ X.T).toarray(), (Y @ X.T).toarray())


def _lsi(X: csr_array, Y: csr_array) -> Iterator[tuple[str, Compared]]:
    largest = max(k for k in DIMENSIONS if k < min(X.shape))
    _, values, right = svds(X, k=largest, v0=np.ones(min(X.shape)))
    right = right[np.argsort(-values)]
    for k in DIMENSIONS:
        if k <= largest:
            left, others = _units(X @ right[:k].T), _units(Y @ right[:k].T)
            yield f"k={k}", (left @ left.T, others @ left.T)


def _snos(X: csr_array, Y: csr_array) -> Iterator[tuple[str, Compared]]:
    B = csr_array(X.T)
    for normalize, strengths in STRENGTHS.items():
        bound = largest_singular_value(normalized(B, normalize)) ** -2
        for strength in strengths:
            result = snos(
                B, lam=strength * bound, normalize=normalize, method="factored", tolerance=1e-3
            )
            yield f"{normalize} {strength}", (result.soft_cosines, result.cosines(Y))
            if strength == max(strengths):
                # The entries of S_o, as the paper compares objects.
                yield f"{normalize} {strength} S_o", (result.S_o, result.products(Y)[0])


def _weighed(counts: csr_array, drawn: Labels, test: Labels) -> tuple[csr_array, csr_array]:
    """Return unit vectors of (1 + ln tf) idf over the terms of at least two drawn messages."""
    X = csr_array(counts[drawn], dtype=np.float64)
    frequencies = np.bincount(X.indices, minlength=X.shape[1])
    kept = np.flatnonzero(frequencies >= 2)
    idf = np.log((1 + len(drawn)) / (1 + frequencies[kept])) + 1

    def weighed(part: csr_array) -> csr_array:
        part = csr_array(part[:, kept], dtype=np.float64)
        part.data = 1.0 + np.log(part.data)
        part = csr_array(part @ diags_array(idf))
        lengths = np.sqrt(np.asarray((part * part).sum(axis=1)))
        return csr_array(diags_array(1.0 / np.where(lengths > 0, lengths, 1.0)) @ part)

    return weighed(X), weighed(counts[test])


def _units(vectors: Matrix) -> Matrix:
    lengths = np.linalg.norm(vectors, axis=1, keepdims=True)
    units: Matrix = vectors / np.where(lengths > 0, lengths, 1.0)
    return units


def _error(similarities: Matrix, labels: Labels, truth: Labels) -> float:
    nearest = np.argmax(similarities, axis=1)  # of equal ones the first
    return round(100.0 * float(np.mean(labels[nearest] != truth)), 2)


def _drawn(messages: Messages, share: float, random: np.random.Generator) -> Labels:
    """Draw training messages, as many of each group as its share."""
    parts = []
    for label in np.unique(messages.labels):
        group = messages.train[messages.labels[messages.train] == label]
        parts.append(random.permutation(group)[: max(2, round(share * len(group)))])
    return np.sort(np.concatenate(parts))


def _read(path: Path) -> Messages:
    """Read the five groups; of the headers only the subject counts."""
    texts, labels, splits = [], [], []
    with gzip.open(path, "rt", encoding="utf-8") as lines:
        for line in lines:
            message = json.loads(line)
            if message["label"].startswith("comp."):
                head, _, body = message["text"].partition("\n\n")
                subject = [row[8:] for row in head.splitlines() if row.startswith("Subject:")]
                texts.append("\n".join([*subject, body]))
                labels.append(message["label"])
                splits.append(message["split"])
    names = sorted(set(labels))
    split = np.array(splits)
    return Messages(
        analyze(texts, min_df=2).counts(),
        np.array([names.index(label) for label in labels], np.int64),
        np.flatnonzero(split == "train"),
        np.flatnonzero(split == "test"),
    )
