"""Direct co-occurrence, against the formulas written densely."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from softcosine.errors import InvalidInputError
from softcosine.similarity import threads
from softcosine.similarity.cooccurrence import counts as company
from softcosine.similarity.cooccurrence import pair_counts
from softcosine.similarity.cooccurrence.association import MEASURES, AssociationSimilarity
from softcosine.similarity.cooccurrence.learned import LearnedPairs
from softcosine.text.analyzer import Analyzer
from softcosine.text.corpus import analyze

Array = NDArray[np.float64]


def counted(
    documents: Sequence[Sequence[str]], terms: Sequence[str], window: int | None
) -> tuple[Array, Array, float]:
    """n_ij, n_i and N from the definitions."""
    n = np.zeros((len(terms), len(terms)))
    place = {term: i for i, term in enumerate(terms)}
    if window is None:
        X = np.array([[t in d for t in terms] for d in documents], float)
        X = X.reshape(len(documents), len(terms))
        n = X.T @ X
        single = np.diag(n).copy()
        np.fill_diagonal(n, 0.0)
        return n, single, float(len(documents))
    for document in documents:
        for i, a in enumerate(document):
            for j, b in enumerate(document):
                if a in place and b in place and a != b and abs(i - j) <= window:
                    n[place[a], place[b]] += 1
    return n, n.sum(axis=1), n.sum()


def value(measure: str, both: float, a: float, b: float, whole: float) -> float:
    if measure == "npmi":
        joint = both / whole
        if joint == 1.0:
            return 0.0
        return np.log(joint / (a / whole * b / whole)) / -np.log(joint)
    p_ab, p_ba = both / a, both / b
    if measure == "conditional":
        return np.sqrt(p_ab * p_ba)
    if measure == "confidence":
        return min(p_ab, p_ba)
    if measure == "dice":
        return 2 / (1 / p_ab + 1 / p_ba)
    assert measure == "jaccard"
    return both / (a + b - both)


@given(
    st.lists(st.lists(st.sampled_from("abcdef"), max_size=8), max_size=8),
    st.sampled_from(sorted(MEASURES)),
    st.sampled_from((None, 1, 3)),
    st.integers(1, 3),
    st.sampled_from((0.0, 2.0)),
    st.sampled_from((0.0, 0.3)),
    st.sampled_from((1.0, 2.0)),
)
def test_similarities_are_those_of_the_definition(
    documents: list[list[str]],
    measure: str,
    window: int | None,
    min_count: int,
    evidence: float,
    threshold: float,
    exponent: float,
) -> None:
    fitted = AssociationSimilarity.fit(
        analyze(documents),
        measure=measure,
        window=window,
        min_count=min_count,
        evidence=evidence,
        threshold=threshold,
        exponent=exponent,
    )
    running = [w for d in documents for w in (d if window else set(d))]
    terms = [w for w in sorted(set(running)) if running.count(w) >= min_count]
    n, single, whole = counted(documents, terms, window)
    for i, a in enumerate(terms):
        for j, b in enumerate(terms[:i]):
            expected = 0.0
            if n[i, j]:
                expected = max(0.0, value(measure, n[i, j], single[i], single[j], whole))
                expected *= n[i, j] / (n[i, j] + evidence)
            if abs(expected - threshold) < 1e-6:
                continue
            expected = expected**exponent if expected >= threshold else 0.0
            found = fitted.similarities([a, b], [b, a])
            assert found[0] == found[1]
            assert found[0] == pytest.approx(expected, abs=1e-6)
            assert expected == 0.0 or fitted.knows([a, b]).all()


def corpus(n_docs: int = 60, *, seed: int = 0) -> list[list[str]]:
    """Documents of two topics, with words of their own and words in common."""
    random = np.random.default_rng(seed)
    topics = [[f"{name}{i}" for i in range(12)] for name in ("wheel", "moon")]
    common = [f"word{i}" for i in range(6)]
    return [[str(w) for w in random.choice(topics[d % 2] + common, 12)] for d in range(n_docs)]


@pytest.mark.parametrize("measure", MEASURES)
def test_terms_of_one_topic_are_more_similar(measure: str) -> None:
    fitted = AssociationSimilarity.fit(
        analyze(corpus()), measure=measure, threshold=0.0, exponent=1
    )
    same = fitted.similarities(["wheel1"] * 5, [f"wheel{i}" for i in range(2, 7)])
    other = fitted.similarities(["wheel1"] * 5, [f"moon{i}" for i in range(2, 7)])
    assert same.mean() > 0.1
    assert other.max() == 0.0


def test_the_number_of_threads_and_blocks_change_no_bit(monkeypatch: pytest.MonkeyPatch) -> None:
    analyzed = analyze(corpus(20))
    answers = set()
    for n_cpus, memory in ((1, 1 << 30), (2, 1 << 12), (5, 1 << 9)):
        monkeypatch.setattr(company, "_CHUNK_TERMS", 5)
        monkeypatch.setattr(company, "_MEMORY", memory)
        monkeypatch.setattr(threads.os, "cpu_count", lambda n=n_cpus: n)
        state = AssociationSimilarity.fit(analyzed, min_count=2).state()
        answers.add(b"".join(array.tobytes() for array in state.arrays.values()))
    assert len(answers) == 1
    assert pair_counts.PairCounts(1, memory=1 << 9).block_entries < 10


def test_a_pair_stays_that_either_of_its_terms_chose() -> None:
    # hub is the best of all others; of its own best only one is kept.
    documents = [["hub", f"spoke{i}"] for i in range(5) for _ in range(5 + i)]
    fitted = AssociationSimilarity.fit(
        analyze(documents), measure="conditional", threshold=0.0, max_neighbors=1
    )
    assert len(fitted) == 5
    S = fitted.matrix
    assert np.diff(S.indptr).max() == 5
    assert (abs(S - S.T)).nnz == 0


@pytest.mark.parametrize("n_docs", [0, 1, 2, 3, 10])
@pytest.mark.parametrize("window", [None, 5])
def test_small_corpora_teach_little_and_never_fail(n_docs: int, window: int | None) -> None:
    documents = [
        "the tyre of my bicycle is flat",
        "how do i cook rice without a pot",
        "",
        "the moon rose over a quiet lake",
        "rice is cooked with salt and water",
        "a bicycle needs a new tyre at times",
        "the lake is cold in the winter",
        "pots and pans of iron last for long",
        "salt melts the ice in the winter",
        "iron rusts when water meets salt",
    ][:n_docs]
    fitted = AssociationSimilarity.fit(analyze(documents), window=window)
    assert len(fitted) == 0
    assert fitted.similarities(["rice", "rice"], ["salt", "rice"]).tolist() == [0.0, 1.0]
    lenient = AssociationSimilarity.fit(analyze(documents), window=window, min_count=1)
    terms = sorted({word for document in documents for word in document.split()})
    found = lenient.neighbors(terms, terms, max_neighbors=10)
    assert not (found.similarities > 0.5).any()


def test_under_stemming_all_surface_forms_are_known() -> None:
    texts = ["the runner runs", "running is fun", "a runner is running"] * 10
    texts += ["nothing here", "no"] * 10
    fitted = AssociationSimilarity.fit(analyze(texts, Analyzer(stemmer="english")))
    assert fitted.knows(["run", "runs", "running", "runner", "walking"]).tolist() == [
        *[True] * 4,
        False,
    ]
    pairs = fitted.similarities(["runs", "running", "runs"], ["runner", "runner", "running"])
    assert pairs[0] == pairs[1] > 0.0
    assert pairs[2] == 1.0


def test_progress_reaches_its_total() -> None:
    calls: list[tuple[int, int]] = []
    AssociationSimilarity.fit(analyze(corpus(10)), progress=lambda *call: calls.append(call))
    assert calls[-1][0] == calls[-1][1] > 0


@pytest.mark.parametrize(
    "setting",
    [
        {"measure": "luck"},
        {"window": 0},
        {"min_count": 0},
        {"max_terms": -1},
        {"evidence": -1.0},
        {"threshold": 2.0},
        {"exponent": 0.0},
        {"max_neighbors": 0},
        {"evidence": "5"},
        {"window": 2.5},
    ],
)
def test_settings_out_of_range_are_refused(setting: dict[str, float]) -> None:
    with pytest.raises(InvalidInputError, match=next(iter(setting))):
        AssociationSimilarity.fit(analyze(["a b c"]), **setting)  # type: ignore[arg-type]


def test_what_it_was_learned_with_is_kept() -> None:
    fitted = AssociationSimilarity.fit(analyze(corpus()), window=3)
    assert isinstance(fitted, LearnedPairs)
    assert fitted.learned == {"measure": "npmi", "window": 3, "exponent": 3.0}
    assert "measure='npmi', window=3" in repr(fitted)
