"""What the library must compute, written densely from the definitions in docs/theory.md.

Nothing is imported from the library. Loops and clarity over speed. Rows are documents; X, Y and Q
are dense float64 arrays of shape (n_docs, n_terms), S (n_terms, n_terms), w (n_terms,).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]


# --- T1-T3, T5: the soft vector space model -----------------------------------------------------


def weighted(X: Array, w: Array) -> Array:
    """X W: every column times its term's weight."""
    return np.asarray(X, dtype=np.float64) * w


def soft_inner_product(X: Array, Y: Array, S: Array) -> Array:
    """<x, y> of every row of X with every row of Y, both weighted already: (n_x, n_y)."""
    return np.array([[x @ S @ y for y in Y] for x in X]).reshape(len(X), len(Y))


def soft_norm(X: Array, S: Array) -> Array:
    """sqrt(xᵀSx) of every row; NaN where it is negative beyond rounding."""
    squares = np.array([x @ S @ x for x in X])
    rounding = 1e-12 * np.array([np.abs(x) @ np.abs(S) @ np.abs(x) for x in X])
    squares = np.where(np.abs(squares) <= rounding, 0.0, squares)
    return np.sqrt(np.where(squares < 0, np.nan, squares))


def every_word(documents: Sequence[set[str]], words: Sequence[Mapping[str, float]]) -> Array:
    """What each document has of all words (T19): the least of each word's greatest value there."""
    values = [
        [max((word[term] for term in word if term in document), default=0.0) for word in words]
        for document in documents
    ]
    return np.array([min(row) if row else 0.0 for row in values])


def above_chance(cosines: Array, mean: float) -> Array:
    """Cosines as part of the way from their mean to 1, where that of the mean is .15 (T19)."""
    return 0.15 + 0.85 * (cosines - mean) / (1.0 - mean)


def soft_cosine(X: Array, Y: Array, S: Array) -> Array:
    """Soft cosine of every row of X with every row of Y; 0 where a norm is 0."""
    return _divided(soft_inner_product(X, Y, S), soft_norm(X, S), soft_norm(Y, S))


def _divided(products: Array, left: Array, right: Array) -> Array:
    result = np.zeros_like(products)
    for i, j in np.ndindex(*products.shape):
        if left[i] != 0 and right[j] != 0:
            result[i, j] = products[i, j] / (left[i] * right[j])
    return result


# --- Weighting ----------------------------------------------------------------------------------


def idf(document_frequencies: NDArray[np.int64], n_docs: int, kind: str) -> Array:
    """Weight of every term."""
    df, n = np.asarray(document_frequencies, dtype=np.float64), float(n_docs)
    if kind == "none":
        return np.ones_like(df)
    if kind == "smooth":
        return np.log((1 + n) / (1 + df)) + 1
    if kind == "probabilistic":
        df = np.where(df == 0, 0.5, df)
        odds = (n - df) / df
        return np.log(np.maximum(odds, 1.0))  # max(0, ln odds), also for odds <= 0
    if kind == "bm25":
        return np.log(1 + (n - df + 0.5) / (df + 0.5))
    raise ValueError(kind)


def tf(counts: Array, kind: str, *, k1: float = 1.2, b: float = 0.75) -> Array:
    """f(tf) of every entry; 0 stays 0. For "bm25" the average length is that of `counts`."""
    counts = np.asarray(counts, dtype=np.float64)
    result = np.zeros_like(counts)
    lengths = counts.sum(axis=1)
    for d, t in zip(*np.nonzero(counts), strict=True):
        n = counts[d, t]
        if kind == "raw":
            result[d, t] = n
        elif kind == "log":
            result[d, t] = 1 + np.log(n)
        elif kind == "binary":
            result[d, t] = 1
        elif kind == "bm25":
            ratio = lengths[d] / lengths.mean()
            result[d, t] = n * (k1 + 1) / (n + k1 * (1 - b + b * ratio))
        else:
            raise ValueError(kind)
    return result


def document_frequencies(counts: Array) -> NDArray[np.int64]:
    """Number of rows that have each term."""
    return np.count_nonzero(counts, axis=0)


# --- T8-T10, T12, T15, T20: search ----------------------------------------------------------------


def expanded(Q: Array, S: Array, w: Array) -> Array:
    """x' = W Sᵀ W x of every query, to be multiplied with raw document coordinates (T8)."""
    W = np.diag(w)
    return np.array([W @ S.T @ W @ x for x in Q]).reshape(Q.shape)


def normalized_documents(Y: Array, S: Array) -> Array:
    """y' = y / |y|_S of weighted documents; zero rows for zero norms (T9)."""
    norms = soft_norm(Y, S)
    return np.array([y / n if n else 0 * y for y, n in zip(Y, norms, strict=True)]).reshape(Y.shape)


def cosine_only_queries(Q: Array, S: Array) -> Array:
    """[Sᵀx / |Sᵀx|, 0] of weighted queries (T10)."""
    rows = [S.T @ x for x in Q]
    rows = [x / np.linalg.norm(x) if x.any() else x for x in rows]
    return np.array([[*x, 0.0] for x in rows]).reshape(len(Q), Q.shape[1] + 1)


def cosine_only_documents(Y: Array, S: Array) -> Array:
    """[y', sqrt(max(0, 1 - |y'|²))] of weighted documents (T10)."""
    rows = normalized_documents(Y, S)
    return np.array([[*y, np.sqrt(max(0.0, 1 - y @ y))] for y in rows]).reshape(len(Y), -1)


def expansion_cosine(Q: Array, Y: Array, S: Array) -> Array:
    """Ordinary cosine of the expanded query Sᵀx with the document, both weighted; 0 for norm 0."""
    expansions = np.array([S.T @ x for x in Q]).reshape(Q.shape)
    return soft_cosine(expansions, Y, np.eye(len(S)))


def soft_bm25(Q: Array, counts: Array, S: Array, *, k1: float = 1.2, b: float = 0.75) -> Array:
    """score(q, d) = Σ_i Σ_j q_i √idf_i s_ij √idf_j sat(tf_jd, dl_d), df and avgdl of `counts`."""
    weights = np.sqrt(idf(document_frequencies(counts), len(counts), "bm25"))
    impacts = tf(counts, "bm25", k1=k1, b=b)
    return soft_inner_product(weighted(Q, weights), weighted(impacts, weights), S)


def soft_tf_bm25(Q: Array, counts: Array, S: Array, *, k1: float = 1.2, b: float = 0.75) -> Array:
    """score(q, d) = Σ_i q_i idf_i (k1 + 1) x / (x + K_d), x = Σ_j s_ij tf_jd idf_j / idf_i > 0."""
    weights, lengths = idf(document_frequencies(counts), len(counts), "bm25"), counts.sum(axis=1)
    ratio = lengths / lengths.mean() if lengths.any() else np.ones(len(counts))
    result = np.zeros((len(Q), len(counts)))
    for q, d, i in np.ndindex(len(Q), *counts.shape):
        x = sum(S[i, j] * counts[d, j] * weights[j] / weights[i] for j in range(len(S)))
        if x > 0:
            saturated = x * (k1 + 1) / (x + k1 * (1 - b + b * ratio[d]))
            result[q, d] += Q[q, i] * weights[i] * saturated
    return result


def top_k(scores: Array, k: int) -> list[int]:
    """The k best rows by (score descending, row ascending), the one total order."""
    return sorted(range(len(scores)), key=lambda row: (-scores[row], row))[:k]


# --- T6: making S sparse ------------------------------------------------------------------------
#
# `candidates[i, j]` is s(i, j), or 0 where no similarity is offered; its diagonal is not looked
# at. Every strategy keeps at most `max_neighbors` = C - 1 entries beside the diagonal.


def by_similarity(candidates: Array, i: int, terms: Sequence[str]) -> list[int]:
    """Neighbours of term i: by decreasing similarity, ties by the neighbour's string."""
    found = [j for j in range(len(terms)) if j != i and candidates[i, j] > 0]
    return sorted(found, key=lambda j: (-candidates[i, j], terms[j]))


def rare_first(frequencies: Sequence[int], terms: Sequence[str]) -> list[int]:
    """Terms by increasing frequency, ties by string."""
    return sorted(range(len(terms)), key=lambda i: (frequencies[i], terms[i]))


def keep_rows(candidates: Array, max_neighbors: int, terms: Sequence[str]) -> Array:
    """T6a: every row keeps its nearest; asymmetric in general."""
    S = np.eye(len(terms))
    for i in range(len(terms)):
        for j in by_similarity(candidates, i, terms)[:max_neighbors]:
            S[i, j] = np.float32(candidates[i, j])
    return S


def keep_symmetric(
    candidates: Array,
    max_neighbors: int,
    terms: Sequence[str],
    order: Sequence[int],
    *,
    dominant: bool = False,
) -> Array:
    """T6b, and T6c if `dominant`: pairs go in greedily, term after term in the given order."""
    S = np.eye(len(terms))
    for i in order:
        for j in by_similarity(candidates, i, terms):
            if S[i, j]:
                continue
            trial = S.copy()
            trial[i, j] = trial[j, i] = np.float32(candidates[i, j])
            beside = trial[[i, j]] - np.eye(len(terms))[[i, j]]
            full = np.count_nonzero(beside, axis=1) > max_neighbors
            if not full.any() and not (dominant and (np.abs(beside).sum(axis=1) >= 1).any()):
                S = trial
    return S


def levenshtein(left: str, right: str) -> int:
    """From the definition: the table of Wagner and Fischer, row by row."""
    row = list(range(len(right) + 1))
    for i, a in enumerate(left, 1):
        previous, row = row, [i]
        for j, b in enumerate(right, 1):
            row.append(min(previous[j] + 1, row[-1] + 1, previous[j - 1] + (a != b)))
    return row[-1]
