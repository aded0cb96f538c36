"""Similarity learned from a corpus, against a dense computation from the definition."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray
from scipy.sparse import csr_array

from softcosine.errors import InvalidInputError
from softcosine.similarity.cooccurrence import counts
from softcosine.similarity.cooccurrence.cooccurrence import CooccurrenceSimilarity, leading_factors
from softcosine.similarity.cooccurrence.counts import cooccurrences, frequent
from softcosine.text.analyzer import Analyzer
from softcosine.text.corpus import analyze
from toys import two_topics

Array = NDArray[np.float64]


def dense_information(
    documents: Sequence[Sequence[str]],
    terms: Sequence[str],
    *,
    window: int,
    shift: float,
    smoothing: float,
) -> Array:
    """Positive pointwise mutual information, term by term."""
    place = {term: i for i, term in enumerate(terms)}
    n = np.zeros((len(terms), len(terms)))
    for document in documents:
        for i, left in enumerate(document):
            for j, right in enumerate(document):
                near = 0 < abs(i - j) <= window and left != right
                if near and left in place and right in place:
                    n[place[left], place[right]] += window + 1 - abs(i - j)
    if n.sum() == 0:
        return n
    p = n.sum(axis=1) / n.sum()
    smoothed = p**smoothing / (p[p > 0] ** smoothing).sum()
    with np.errstate(divide="ignore", invalid="ignore"):
        joint = n / n.sum() / np.sqrt(np.outer(p * smoothed, p * smoothed))
        m = np.where(n > 0, np.log(joint) - np.log(shift), 0.0)
    return np.maximum(m, 0.0)


def dense_cosines(m: Array, dimensions: int) -> Array:
    values, vectors = np.linalg.eigh(m)
    order = np.argsort(-np.abs(values))[:dimensions]
    rows = vectors[:, order] * np.sqrt(np.abs(values[order]))
    norms = np.sqrt((rows**2).sum(axis=1))
    scale = np.outer(norms, norms)
    return np.divide(rows @ rows.T, scale, out=np.zeros_like(m), where=scale > 1e-9)


words = st.sampled_from("abcdefg")
corpora = st.lists(st.lists(words, max_size=9), min_size=1, max_size=8)


@given(corpora, st.integers(1, 4), st.integers(1, 3), st.sampled_from((1.0, 0.75)))
def test_similarity_is_the_shrunken_cosine_of_the_information(
    documents: list[list[str]], window: int, min_count: int, smoothing: float
) -> None:
    # As many dimensions as terms: then the cosines do not hang on how equal eigenvalues are cut.
    evidence = 3.0
    fitted = CooccurrenceSimilarity.fit(
        analyze(documents),
        window=window,
        min_count=min_count,
        smoothing=smoothing,
        shift=1.1,
        evidence=evidence,
        threshold=0.0,
        exponent=1.0,
    )
    running = [word for document in documents for word in document]
    terms = [word for word in sorted(set(running)) if running.count(word) >= min_count]
    m = dense_information(documents, terms, window=window, shift=1.1, smoothing=smoothing)
    counts = np.array([running.count(term) for term in terms], np.float64)
    trust = np.sqrt(counts / (counts + evidence))
    expected = np.maximum(dense_cosines(m, len(terms)), 0.0) * np.outer(trust, trust)
    np.fill_diagonal(expected, 1.0)
    known = fitted.knows(terms)
    assert known.tolist() == (m.any(axis=1)).tolist()
    n = len(terms)
    left = [term for term in terms for _ in range(n)]
    found = fitted.similarities(left, terms * n).reshape(n, n)
    clear = np.outer(known, known)
    np.testing.assert_allclose(found[clear], expected[clear], atol=2e-3)


def test_terms_of_one_topic_are_similar() -> None:
    fitted = CooccurrenceSimilarity.fit(analyze(two_topics()), dimensions=4, exponent=2)
    same = fitted.similarities(["wheel1"] * 5, [f"wheel{i}" for i in range(2, 7)])
    other = fitted.similarities(["wheel1"] * 5, [f"moon{i}" for i in range(2, 7)])
    assert same.min() > 0.05
    assert same.mean() > 0.25
    assert other.max() == 0.0


@given(corpora, st.integers(1, 3), st.integers(1, 3), st.integers(0, 6), st.integers(1, 9))
def test_counts_are_those_of_the_definition(
    documents: list[list[str]], window: int, min_count: int, max_terms: int, at_once: int
) -> None:
    running = [word for document in documents for word in document]
    often = sorted(set(running), key=lambda word: (-running.count(word), word))
    terms = sorted([w for w in often if running.count(w) >= min_count][:max_terms])
    place = {term: i for i, term in enumerate(terms)}
    expected = np.zeros((len(terms), len(terms)), np.int64)
    for document in documents:
        for i, a in enumerate(document):
            for j, b in enumerate(document):
                if a != b and {a, b} <= {*terms} and abs(i - j) <= window:
                    expected[place[a], place[b]] += window + 1 - abs(i - j)
    corpus = analyze(documents)
    occurrences = np.bincount(corpus.tokens, minlength=len(corpus.vocabulary))
    kept = frequent(occurrences, corpus.vocabulary, min_count=min_count, max_terms=max_terms)
    assert [corpus.vocabulary.term(term) for term in kept.tolist()] == terms
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(counts, "_TOKENS", at_once)
        found = cooccurrences(corpus, kept, window)
    assert found.toarray().tolist() == expected.tolist()
    assert found.has_sorted_indices


@pytest.mark.parametrize("n_docs", [1, 2, 3, 10])
def test_words_that_merely_share_a_sentence_are_not_similar(n_docs: int) -> None:
    documents = [
        "the tyre of my bicycle is flat",
        "how do i cook rice without a pot",
        "the moon rose over a quiet lake",
        "rice is cooked with salt and water",
        "a bicycle needs a new tyre at times",
        "the lake is cold in the winter",
        "pots and pans of iron last for long",
        "quiet streets are good for cycling",
        "salt melts the ice in the winter",
        "iron rusts when water meets salt",
    ][:n_docs]
    fitted = CooccurrenceSimilarity.fit(analyze(documents))
    terms = sorted({word for document in documents for word in document.split()})
    assert len(fitted) <= 5
    neighbors = fitted.neighbors(terms, terms, max_neighbors=10)
    assert not (neighbors.similarities > 0.5).any()
    lenient = CooccurrenceSimilarity.fit(analyze(documents), min_count=1)
    neighbors = lenient.neighbors(terms, terms, max_neighbors=10)
    assert not (neighbors.similarities > 0.5).any()


@pytest.mark.parametrize("documents", [[], [""], ["one"], ["same " * 20], ["a b"] * 3])
def test_corpora_without_evidence_teach_nothing(documents: list[str]) -> None:
    fitted = CooccurrenceSimilarity.fit(analyze(documents))
    assert len(fitted) == 0
    assert not fitted.knows(["one", "same"]).any()
    assert fitted.similarities(["one", "one"], ["same", "one"]).tolist() == [0.0, 1.0]


def test_a_document_repeated_is_no_reason_to_fail() -> None:
    fitted = CooccurrenceSimilarity.fit(analyze(["all rights are reserved here"] * 50))
    S = fitted.similarities(["rights"] * 2, ["reserved", "all"])
    assert np.isfinite(S).all()
    assert S.max() <= 50 / 60


def test_under_stemming_all_surface_forms_are_known() -> None:
    texts = ["the runner is running runs", "he runs, is running to a runner"] * 10
    analyzed = analyze(texts, Analyzer(stemmer="english"))
    fitted = CooccurrenceSimilarity.fit(analyzed, dimensions=3)
    assert fitted.knows(["run", "runs", "running", "runner", "walking"]).tolist() == [
        *[True] * 4,
        False,
    ]
    pairs = fitted.similarities(["runs", "running"], ["runner", "runner"])
    assert pairs[0] == pairs[1]


def test_the_most_frequent_terms_are_taken_ties_by_string() -> None:
    documents = [["b", "a", "c", "d", "d"]] * 3
    fitted = CooccurrenceSimilarity.fit(analyze(documents), min_count=1, max_terms=3)
    assert sorted(fitted.words) == ["a", "b", "d"]


def test_progress_counts_to_its_total() -> None:
    calls: list[tuple[int, int]] = []
    CooccurrenceSimilarity.fit(
        analyze(two_topics(10)),
        dimensions=2,
        progress=lambda done, total: calls.append((done, total)),
    )
    assert [done for done, _ in calls] == list(range(1, len(calls) + 1))
    assert calls[-1][0] == calls[-1][1]


def test_a_corpus_that_is_not_analysed_is_refused() -> None:
    with pytest.raises(InvalidInputError, match=r"of type list; call fit\(softcosine\.analyze"):
        CooccurrenceSimilarity.fit(["a b"])  # type: ignore[arg-type]


@pytest.mark.parametrize(
    "setting",
    [
        {"window": 0},
        {"dimensions": 0},
        {"min_count": 0},
        {"max_terms": -1},
        {"shift": 0.5},
        {"smoothing": 0.0},
        {"smoothing": 1.5},
        {"evidence": -1.0},
        {"threshold": 2.0},
        {"exponent": -1.0},
        {"dimensions": "128"},
        {"dimensions": 2.5},
    ],
)
def test_settings_out_of_range_are_refused(setting: dict[str, float]) -> None:
    with pytest.raises(InvalidInputError, match=next(iter(setting))):
        CooccurrenceSimilarity.fit(analyze(["a b c"]), **setting)  # type: ignore[arg-type]


def test_leading_factors_give_the_leading_part_of_a_larger_matrix() -> None:
    random = np.random.default_rng(0)
    base = random.standard_normal((60, 3)) * [4.0, 3.0, 2.0]
    noise = random.standard_normal((60, 60)) * 0.05
    A = base @ np.diag([1.0, -1.0, 1.0]) @ base.T + noise + noise.T
    found = leading_factors(csr_array(A), 3)
    values, vectors = np.linalg.eigh(A)
    order = np.argsort(-np.abs(values))[:3]
    expected = vectors[:, order] * np.sqrt(np.abs(values[order]))
    np.testing.assert_allclose(found @ found.T, expected @ expected.T, atol=1e-4)


def test_leading_factors_of_a_matrix_of_lower_rank_are_whole() -> None:
    base = np.random.default_rng(1).standard_normal((40, 2))
    A = base @ base.T
    found = leading_factors(csr_array(A), 12).astype(np.float64)
    assert found.shape == (40, 12)
    np.testing.assert_allclose(found @ found.T, A, atol=1e-4)
