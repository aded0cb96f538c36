"""Cosines of rows of information, against a dense computation."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from softcosine.errors import InvalidInputError
from softcosine.similarity import threads
from softcosine.similarity.cooccurrence import counts as company
from softcosine.similarity.cooccurrence import information, second_order
from softcosine.similarity.cooccurrence.second_order import SecondOrderSimilarity
from softcosine.text.corpus import analyze
from test_association import corpus
from test_cooccurrence import dense_information

corpora = st.lists(st.lists(st.sampled_from("abcdefg"), max_size=9), max_size=8)


@given(corpora, st.integers(1, 4), st.integers(1, 3), st.sampled_from((1.0, 0.75)))
def test_similarity_is_the_shrunken_cosine_of_the_rows(
    documents: list[list[str]], window: int, min_count: int, smoothing: float
) -> None:
    evidence, threshold = 3.0, 0.05
    fitted = SecondOrderSimilarity.fit(
        analyze(documents),
        window=window,
        min_count=min_count,
        smoothing=smoothing,
        shift=1.1,
        evidence=evidence,
        threshold=threshold,
        exponent=2.0,
    )
    running = [word for document in documents for word in document]
    terms = [word for word in sorted(set(running)) if running.count(word) >= min_count]
    m = dense_information(documents, terms, window=window, shift=1.1, smoothing=smoothing)
    counts = np.array([running.count(term) for term in terms], np.float64)
    norms = np.sqrt((m**2).sum(axis=1)) + (m.sum(axis=1) == 0)
    trust = np.sqrt(counts / (counts + evidence)) / norms
    values = m @ m.T * np.outer(trust, trust)
    for i, a in enumerate(terms):
        for j, b in enumerate(terms[:i]):
            if abs(values[i, j] - threshold) < 1e-5:
                continue
            expected = values[i, j] ** 2 if values[i, j] > threshold else 0.0
            found = fitted.similarities([a, b], [b, a])
            assert found[0] == found[1]
            assert found[0] == pytest.approx(expected, abs=1e-5)


def test_the_number_of_threads_and_blocks_change_no_bit(monkeypatch: pytest.MonkeyPatch) -> None:
    analyzed = analyze(corpus(20))
    monkeypatch.setattr(company, "_CHUNK_TERMS", 5)
    monkeypatch.setattr(information, "_CHUNK_TERMS", 5)
    answers = set()
    for n_cpus, rows, chunk in ((1, 1024, 32), (2, 7, 2), (5, 4, 1)):
        monkeypatch.setattr(second_order, "_BLOCK_ROWS", rows)
        monkeypatch.setattr(second_order, "_CHUNK_ROWS", chunk)
        monkeypatch.setattr(threads.os, "cpu_count", lambda n=n_cpus: n)
        state = SecondOrderSimilarity.fit(analyzed, min_count=2, max_neighbors=4).state()
        answers.add(b"".join(array.tobytes() for array in state.arrays.values()))
    assert len(answers) == 1


def test_the_best_are_kept_exactly() -> None:
    analyzed = analyze(corpus(40))
    whole = SecondOrderSimilarity.fit(analyzed, threshold=0.0, max_neighbors=1000)
    few = SecondOrderSimilarity.fit(analyzed, threshold=0.0, max_neighbors=3)
    words = tuple(sorted(whole.words))
    best = whole.neighbors(words, words, max_neighbors=3)
    kept = few.neighbors(words, words, max_neighbors=3)
    assert best.indices.tolist() == kept.indices.tolist()
    assert best.similarities.tolist() == kept.similarities.tolist()
    assert len(few) <= 3 * len(words)


def test_terms_that_never_meet_are_similar_by_their_company() -> None:
    texts = ["a flat tyre here", "a flat tire here", "the new tyre there", "the new tire there"]
    fitted = SecondOrderSimilarity.fit(analyze([*texts, "moon rise over lake"] * 10), shift=1)
    assert fitted.similarities(["tyre"], ["tire"])[0] > 0.125
    assert fitted.similarities(["tyre"], ["moon"])[0] == 0.0


@pytest.mark.parametrize("documents", [[], [""], ["one"], ["same " * 20], ["a b"] * 3, ["a b c"]])
def test_corpora_without_evidence_teach_nothing(documents: list[str]) -> None:
    fitted = SecondOrderSimilarity.fit(analyze(documents))
    assert len(fitted) == 0
    assert fitted.similarities(["one", "one"], ["same", "one"]).tolist() == [0.0, 1.0]
    lenient = SecondOrderSimilarity.fit(analyze(documents), min_count=1)
    terms = ["a", "b", "c"]
    assert not (lenient.neighbors(terms, terms, max_neighbors=3).similarities > 0.3).any()


def test_equal_rows_reach_a_threshold_of_one() -> None:
    documents = [[word, context] for word in "abcd" for context in "xyz"] * 3 + [["x", "q"]] * 5
    fitted = SecondOrderSimilarity.fit(
        analyze(documents), min_count=1, shift=1, evidence=0, threshold=1.0
    )
    # In float64 the cosine of y and z is a little below 1.
    assert fitted.similarities(["a", "b", "y"], ["b", "c", "z"]).tolist() == [1.0] * 3


def test_progress_reaches_its_total() -> None:
    calls: list[tuple[int, int]] = []
    SecondOrderSimilarity.fit(analyze(corpus(10)), progress=lambda *call: calls.append(call))
    assert calls[-1][0] == calls[-1][1] > 0


@pytest.mark.parametrize(
    "setting",
    [
        {"window": 0},
        {"min_count": 0},
        {"max_terms": -1},
        {"shift": 0.5},
        {"smoothing": 0.0},
        {"evidence": -1.0},
        {"threshold": 2.0},
        {"exponent": -1.0},
        {"max_neighbors": 0},
        {"shift": "1"},
        {"window": 2.5},
    ],
)
def test_settings_out_of_range_are_refused(setting: dict[str, float]) -> None:
    with pytest.raises(InvalidInputError, match=next(iter(setting))):
        SecondOrderSimilarity.fit(analyze(["a b c"]), **setting)  # type: ignore[arg-type]
