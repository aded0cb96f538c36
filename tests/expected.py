"""What whole searches must give, by the oracle's definitions."""

from __future__ import annotations

import numpy as np

import oracle

RANKINGS = ("soft_cosine", "inner_product", "expanded_cosine", "soft_bm25", "soft_tf_bm25")
TF = ("raw", "log", "binary", "bm25")
IDF = ("none", "smooth", "probabilistic", "bm25")


def query_tf(Q, kind, average, *, k1=1.2, b=0.75):
    """f(tf) of queries, whose lengths are judged by the documents' average."""
    if kind != "bm25":
        return oracle.tf(Q, kind)
    ratio = Q.sum(axis=1, keepdims=True) / average if average else np.ones((len(Q), 1))
    return np.where(Q > 0, Q * (k1 + 1) / (np.maximum(Q, 1) + k1 * (1 - b + b * ratio)), 0.0)


def scores(ranking, Q, counts, S, *, tf="raw", idf="none", k1=1.2, b=0.75):
    """Score of every document for every query: (n_queries, n_docs)."""
    if ranking == "soft_bm25":
        return oracle.soft_bm25(Q, counts, S, k1=k1, b=b)
    if ranking == "soft_tf_bm25":
        return oracle.soft_tf_bm25(Q, counts, S, k1=k1, b=b)
    weights = oracle.idf(oracle.document_frequencies(counts), len(counts), idf)
    Y = oracle.weighted(oracle.tf(counts, tf, k1=k1, b=b), weights)
    X = oracle.weighted(query_tf(Q, tf, counts.sum(axis=1).mean(), k1=k1, b=b), weights)
    measure = {
        "soft_cosine": oracle.soft_cosine,
        "inner_product": oracle.soft_inner_product,
        "expanded_cosine": oracle.expansion_cosine,
    }[ranking]
    return measure(X, Y, S)


def assert_ranked(ids, found, truth, *, k, tolerance=1e-9):
    """The k best of `truth`, best first; ties to rounding may stand either way round.

    Where two true scores differ by rounding alone, only the library can say which it put first.
    """
    scale = max(1.0, np.abs(truth).max(initial=0))
    assert len(ids) == len(set(ids)) == len(found) == min(k, len(truth))
    np.testing.assert_allclose(found, np.asarray(truth)[list(ids)], atol=tolerance * scale)
    best = np.sort(truth)[::-1][: len(ids)]
    np.testing.assert_allclose(found, best, atol=tolerance * scale)
    pairs = list(zip(found, ids, strict=True))
    assert pairs == sorted(pairs, key=lambda pair: (-pair[0], pair[1]))
