"""Ridge regression of terms on one another, against the closed form and against its definition."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from softcosine.errors import InvalidInputError
from softcosine.lab.regression import source as inverse
from softcosine.lab.regression import source as regression
from softcosine.lab.regression.source import RegressionSimilarity, invert_in_place
from softcosine.text.analyzer import Analyzer
from softcosine.text.corpus import analyze
from toys import two_topics

Array = NDArray[np.float64]


def weights(X: Array, penalty: float) -> Array:
    """Column by column: ridge regression of each on all others."""
    B = np.zeros((X.shape[1], X.shape[1]))
    for j in range(X.shape[1]):
        others = [i for i in range(X.shape[1]) if i != j]
        G = X[:, others].T @ X[:, others] + penalty * np.eye(len(others))
        B[others, j] = np.linalg.solve(G, X[:, others].T @ X[:, j])
    return B


@pytest.fixture
def small_blocks(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(inverse, "BLOCK", 4)
    monkeypatch.setattr(regression, "BLOCK", 4)


@given(
    st.lists(st.lists(st.sampled_from("abcdefg"), max_size=9), max_size=9),
    st.integers(1, 3),
    st.sampled_from((0.1, 1.0, 20.0)),
    st.sampled_from(("single", "double")),
)
def test_similarity_is_the_mean_of_the_positive_weights(
    documents: list[list[str]], min_count: int, penalty: float, precision: str
) -> None:
    threshold = 0.01
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(inverse, "BLOCK", 4)
        patch.setattr(regression, "BLOCK", 4)
        fitted = RegressionSimilarity.fit(
            analyze(documents),
            penalty=penalty,
            min_count=min_count,
            precision=precision,  # type: ignore[arg-type]
            threshold=threshold,
            exponent=0.5,
        )
    running = [w for d in documents for w in set(d)]
    terms = [w for w in sorted(set(running)) if running.count(w) >= min_count]
    X = np.array([[t in d for t in terms] for d in documents], float)
    X = X.reshape(len(documents), len(terms))
    X /= np.linalg.norm(X, axis=0)
    B = np.maximum(weights(X, penalty), 0.0)
    S = np.minimum((1 + penalty) * (B + B.T) / 2, 1.0)
    for i, a in enumerate(terms):
        for j, b in enumerate(terms[:i]):
            if abs(S[i, j] - threshold) < 1e-4:
                continue
            expected = S[i, j] ** 0.5 if S[i, j] > threshold else 0.0
            found = fitted.similarities([a, b], [b, a])
            assert found[0] == found[1]
            assert found[0] == pytest.approx(expected, abs=1e-3)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("n_blocks", [1, 2, 3])
def test_the_inverse_is_the_inverse(dtype: type, n_blocks: int) -> None:
    n = n_blocks * inverse.BLOCK
    X = np.random.default_rng(n).standard_normal((n, n))
    A = X.T @ X / n + np.eye(n)
    found = np.tril(A).astype(dtype)  # what is above the blocks' diagonal is not read
    for j in range(0, n, inverse.BLOCK):
        own = slice(j, j + inverse.BLOCK)
        found[own, own] = A[own, own]
    invert_in_place(found)
    tolerance = 1e-5 if dtype is np.float32 else 1e-12
    np.testing.assert_allclose(found, np.linalg.inv(A), atol=tolerance)


def test_an_indefinite_matrix_is_refused() -> None:
    A = np.zeros((inverse.BLOCK, inverse.BLOCK))
    with pytest.raises(InvalidInputError, match="not positive definite"):
        invert_in_place(A)


_SCRIPT = """
import sys
import numpy as np
from softcosine.lab.regression.source import BLOCK, invert_in_place
found = []
for dtype in (np.float32, np.float64):
    X = np.random.default_rng(0).random((3 * BLOCK, 3 * BLOCK)) < 0.05
    A = X.T.astype(np.int64) @ X
    A = A.astype(dtype) + 3 * np.eye(len(A), dtype=dtype)
    invert_in_place(A)
    found.append(A)
np.savez(sys.argv[1], *found)
"""


def test_the_number_of_threads_changes_last_bits_at_most(tmp_path: Path) -> None:
    answers = []
    for run, n_threads in enumerate("1123"):
        names = ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS")
        environment = {**os.environ, **dict.fromkeys(names, n_threads)}
        file = tmp_path / f"{run}.npz"
        subprocess.check_call([sys.executable, "-c", _SCRIPT, str(file)], env=environment)
        with np.load(file) as found:
            answers.append([found["arr_0"], found["arr_1"]])
    for single, double in answers[1:]:
        np.testing.assert_allclose(single, answers[0][0], atol=1e-5)
        np.testing.assert_allclose(double, answers[0][1], atol=1e-13)
    for one, again in zip(answers[0], answers[1], strict=True):
        assert one.tobytes() == again.tobytes()


def test_terms_that_meet_by_way_of_a_third_are_not_similar() -> None:
    # Both come with "bank" only, each independently of the other.
    random = np.random.default_rng(0)
    documents = []
    for _ in range(400):
        bank = random.random() < 0.4
        own = [w for w in ("river", "money") if bank and random.random() < 0.6]
        documents.append(["bank"] * bank + own + ["filler"])
    fitted = RegressionSimilarity.fit(analyze(documents), penalty=0.05, threshold=0.0)
    river, money, between = fitted.similarities(
        ["river", "money", "river"], ["bank", "bank", "money"]
    )
    assert min(river, money) > 0.3
    assert between < 0.1


@pytest.mark.parametrize("n_docs", [0, 1, 2, 3, 10])
@pytest.mark.usefixtures("small_blocks")
def test_small_corpora_never_fail(n_docs: int) -> None:
    documents = ["", *["a b c", "a b", "c d", "b c d e"] * 3][:n_docs]
    fitted = RegressionSimilarity.fit(analyze(documents), min_count=1)
    terms = ["a", "b", "c", "d", "e"]
    S = fitted.similarities(terms * 5, [t for t in terms for _ in terms]).reshape(5, 5)
    assert np.isfinite(S).all()
    assert (np.diag(S) == 1.0).all()
    assert len(RegressionSimilarity.fit(analyze(documents), min_count=50)) == 0


@pytest.mark.usefixtures("small_blocks")
def test_the_terms_of_most_documents_are_taken() -> None:
    documents = [["a", "b", "c", "c", "c", "d"], ["a", "b", "d"], ["a", "b"]] * 2
    fitted = RegressionSimilarity.fit(analyze(documents), min_count=1, max_terms=3, threshold=0.0)
    assert set(fitted.words) <= {"a", "b", "d"}
    assert {"a", "b"} <= set(fitted.words)


def test_progress_counts_to_its_total() -> None:
    calls: list[tuple[int, int]] = []
    RegressionSimilarity.fit(analyze(two_topics(10)), progress=lambda *call: calls.append(call))
    assert [done for done, _ in calls] == list(range(1, len(calls) + 1))
    assert calls[-1][0] == calls[-1][1]


@pytest.mark.parametrize(
    "setting",
    [
        {"penalty": 0.0},
        {"penalty": float("inf")},
        {"min_count": 0},
        {"max_terms": -1},
        {"precision": "half"},
        {"threshold": 2.0},
        {"exponent": -1.0},
        {"max_neighbors": 0},
        {"penalty": "2"},
    ],
)
def test_settings_out_of_range_are_refused(setting: dict[str, float]) -> None:
    with pytest.raises(InvalidInputError, match=next(iter(setting))):
        RegressionSimilarity.fit(analyze(["a b c"]), **setting)  # type: ignore[arg-type]


def test_a_pair_stays_that_either_of_its_terms_chose() -> None:
    # hub is the best of all others; of its own best only one is kept.
    documents = [["hub", f"spoke{i}"] for i in range(5) for _ in range(5 + i)]
    fitted = RegressionSimilarity.fit(analyze(documents), threshold=0.0, max_neighbors=1)
    assert len(fitted) == 5
    S = fitted.matrix
    assert np.diff(S.indptr).max() == 5
    assert (abs(S - S.T)).nnz == 0


def test_under_stemming_all_surface_forms_are_known() -> None:
    texts = ["the runner runs", "running is fun", "a runner is running"] * 10
    texts += ["nothing here", "no"] * 10
    fitted = RegressionSimilarity.fit(analyze(texts, Analyzer(stemmer="english")))
    known = fitted.knows(["run", "runs", "running", "runner", "walking"])
    assert known.tolist() == [*[True] * 4, False]
    pairs = fitted.similarities(["runs", "running", "runs"], ["runner", "runner", "running"])
    assert pairs[0] == pairs[1] > 0.0
    assert pairs[2] == 1.0


def test_what_it_was_learned_with_is_kept() -> None:
    fitted = RegressionSimilarity.fit(analyze(two_topics()), penalty=3.0)
    assert fitted.learned == {"penalty": 3.0, "exponent": 2.0}
    assert "penalty=3.0, exponent=2.0" in repr(fitted)
