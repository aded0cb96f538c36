"""The nine titles on which latent semantic indexing was introduced, and SNOS after it."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from softcosine.lab.snos.graph import NORMALIZATIONS
from softcosine.lab.snos.learning import snos

__all__ = ["nine_titles"]

Matrix = NDArray[np.float64]

TERMS = (
    *("human", "interface", "computer", "user", "system", "response"),
    *("time", "eps", "survey", "trees", "graph", "minors"),
)
TITLES = {
    "c1": "human machine interface for lab abc computer applications",
    "c2": "a survey of user opinion of computer system response time",
    "c3": "the eps user interface management system",
    "c4": "system and human system engineering testing of eps",
    "c5": "relation of user perceived response time to error measurement",
    "m1": "the generation of random binary unordered trees",
    "m2": "the intersection graph of paths in trees",
    "m3": "graph minors iv widths of trees and well quasi ordering",
    "m4": "graph minors a survey",
}
RULES = ("paper", "norm", "spectral", "search")


def nine_titles() -> list[dict[str, Any]]:
    """Similarity of c1 to every title, by all variants; one row each."""
    counts = np.array(
        [[title.split().count(term) for title in TITLES.values()] for term in TERMS], np.float64
    )
    rows = [{"system": "the paper, as printed", **_cells([1, 0.5, 0.4, 0.2, 0.1, 0, 0, 0, 0])}]
    rows += [_row(name, similar) for name, similar in _others(counts)]
    rows += [row for normalize in NORMALIZATIONS for row in _learned(counts, normalize)]
    return rows


def _learned(counts: Matrix, normalize: str) -> Iterator[dict[str, Any]]:
    for rule in RULES:
        result = snos(
            counts, lam=rule, normalize=normalize, allow_divergence=True, max_iterations=500
        )
        name = f"SNOS, B {normalize}, λ {rule}"
        setting = {
            "λ₁, λ₂": "{:.3g}, {:.3g}".format(*result.lambdas),
            "rounds": len(result.trace),
        }
        if result.diverged:
            yield {"system": name, **setting, "order": "diverges"}
        else:
            yield {**_row(name, result.S_o[0]), **setting}


def _others(counts: Matrix) -> Iterator[tuple[str, Matrix]]:
    yield "cosine of counts", _cosines(counts.T)
    frequencies = (counts > 0).sum(axis=1)
    yield "cosine of tf-idf", _cosines((counts * np.log(9 / frequencies)[:, None]).T)
    _, values, right = np.linalg.svd(counts, full_matrices=False)
    for k in range(2, 9):
        yield f"LSI of counts, k = {k}", _cosines(right[:k].T * values[:k])


def _cosines(vectors: Matrix) -> Matrix:
    units = vectors / np.linalg.norm(vectors, axis=1, keepdims=True)
    similar: Matrix = units @ units[0]
    return similar


def _row(name: str, similar: Any) -> dict[str, Any]:
    return {"system": name, **_cells(similar), "order": "yes" if _in_order(similar) else "no"}


def _in_order(similar: Any) -> bool:
    """Whether c2 > c3 > c4 > c5 > every m."""
    return bool(similar[1] > similar[2] > similar[3] > similar[4] > max(similar[5:]))


def _cells(similar: Any) -> dict[str, float]:
    return {
        title: round(float(value), 3) + 0.0 for title, value in zip(TITLES, similar, strict=True)
    }
