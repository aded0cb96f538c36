"""What an encoder taught, against dense computations from the definitions."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray
from scipy.sparse import csr_array

import softcosine as sc
from softcosine.errors import InvalidInputError
from softcosine.lab import TaughtVectors
from softcosine.lab.text_pairs.ridge import ridge_regression
from softcosine.text.corpus import AnalyzedTexts

Array = NDArray[np.float64]
TEXTS = (
    "a flat tyre of a bicycle",
    "the wheel of a bicycle was punctured",
    "tyre repair and wheel repair",
    "the moon rises over the sea",
    "sea tides follow the moon",
    "",
)
WORDS = sc.Analyzer("english", stop_words="english")


def taught_vectors(
    corpus: AnalyzedTexts, encodings: Array, *, penalty: float = 1.0
) -> TaughtVectors:
    return TaughtVectors.fit(
        corpus, encodings, weighting=sc.Weighting(tf="log", idf="smooth"), penalty=penalty
    )


def encodings(n: int = len(TEXTS), *, seed: int = 0) -> Array:
    return np.random.default_rng(seed).normal(size=(n, 5))


def tfidf(texts: Sequence[str]) -> tuple[list[str], Array, Array]:
    """Terms, idf and tf-idf rows of unit length, one document at a time."""
    documents = [WORDS.terms(text) for text in texts]
    terms = sorted({term for document in documents for term in document})
    frequencies = [sum(term in document for document in documents) for term in terms]
    idf = np.log((1 + len(texts)) / (1 + np.array(frequencies, float))) + 1
    rows = np.zeros((len(texts), len(terms)))
    for row, document in zip(rows, documents, strict=True):
        for i, term in enumerate(terms):
            if term in document:
                row[i] = (1 + np.log(document.count(term))) * idf[i]
        if row.any():
            row /= np.sqrt(row @ row)
    return terms, idf, rows


def dense_vectors(texts: Sequence[str], D: Array, penalty: float) -> tuple[list[str], Array, Array]:
    terms, idf, X = tfidf(texts)
    D = D / np.sqrt((D * D).sum(axis=1, keepdims=True))
    D = D - D.mean(axis=0)
    return terms, idf, np.linalg.solve(X.T @ X + penalty * np.eye(len(terms)), X.T @ D)


@given(
    st.integers(0, 9),
    st.integers(1, 9),
    st.integers(1, 70),
    st.floats(0.01, 10),
    st.integers(0, 99),
)
def test_ridge_regression_solves_its_equations(
    n_rows: int, n_features: int, n_targets: int, penalty: float, seed: int
) -> None:
    random = np.random.default_rng(seed)
    X = random.integers(-2, 3, (n_rows, n_features)) * random.integers(0, 2, (n_rows, n_features))
    Y = random.normal(size=(n_rows, n_targets))
    B = ridge_regression(csr_array(X.astype(float)), Y, penalty=penalty)
    expected = np.linalg.solve(X.T @ X + penalty * np.eye(n_features), X.T @ Y)
    np.testing.assert_allclose(B, expected, atol=1e-4 / penalty)


def test_ridge_regression_tells_how_far_it_is() -> None:
    told: list[tuple[int, int]] = []
    ridge_regression(
        csr_array(np.eye(3)), np.ones((3, 70)), penalty=1.0, progress=lambda *at: told.append(at)
    )
    assert told == [(64, 70), (70, 70)]


@pytest.mark.parametrize("penalty", [0.3, 3.0])
def test_similarities_are_cosines_of_the_vectors(penalty: float) -> None:
    D = encodings()
    taught = taught_vectors(corpus(), D, penalty=penalty)
    source = taught.similarity(threshold=0.2, exponent=2.0)
    terms, _, V = dense_vectors(TEXTS, D, penalty)
    U = V / np.sqrt((V * V).sum(axis=1, keepdims=True))
    cosines = U @ U.T
    expected = np.where(cosines >= 0.2, cosines, 0.0) ** 2
    np.fill_diagonal(expected, 1.0)
    n = len(terms)
    found = source.similarities([t for t in terms for _ in range(n)], terms * n).reshape(n, n)
    clear = np.abs(cosines - 0.2) > 0.01
    np.testing.assert_allclose(found[clear], expected[clear], atol=3e-3)


def test_forms_of_a_stem_are_known() -> None:
    source = taught_vectors(
        sc.analyze(["tyres punctured", "the moon"], WORDS), np.eye(2)
    ).similarity()
    assert source.knows(["tyres", "tyre", "punctured", "sun"]).tolist() == [True, True, True, False]
    assert source.similarities(["tyres"], ["moon"]).item() == 0.0


def test_documents_that_nothing_is_said_of_teach_nothing() -> None:
    D = encodings()
    D[3:] = 0.0
    V = taught_vectors(corpus(), D).vectors
    _, _, X = tfidf(TEXTS)
    said = D[:3] / np.sqrt((D[:3] ** 2).sum(axis=1, keepdims=True))
    X, Y = X[:3], said - said.mean(axis=0)
    np.testing.assert_allclose(V, np.linalg.solve(X.T @ X + np.eye(X.shape[1]), X.T @ Y), atol=1e-5)


@pytest.mark.parametrize("size", [1e-200, 1.0, 1e200])
def test_the_size_of_encodings_does_not_matter(size: float) -> None:
    V = taught_vectors(corpus(), encodings() * size).vectors
    np.testing.assert_allclose(V, taught_vectors(corpus(), encodings()).vectors, atol=1e-6)


def test_encodings_that_are_all_alike_teach_nothing() -> None:
    # Their mean is rounded, so that something is left of the difference.
    source = taught_vectors(corpus(), np.tile([0.1, 0.7, 0.3], (6, 1))).similarity()
    assert source.words == ()


def corpus() -> AnalyzedTexts:
    return sc.analyze(list(TEXTS), WORDS)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"penalty": 0.0}, "penalty is 0.0; it must be a finite number above 0"),
        ({"penalty": "1"}, "penalty is '1'"),
        ({"encodings": np.ones((2, 3))}, r"the shape \(2, 3\); needed is \(6, dimensions\)"),
        ({"encodings": np.ones((6, 0))}, "needed is"),
        ({"encodings": [["a"] * 2] * 6}, "no array of numbers"),
        ({"encodings": np.full((6, 2), np.nan)}, "row 0 of encodings holds NaN"),
        (
            {"encodings": np.full((6, 2), 1e301)},
            "encodings holds 1e[+]301; scale it down to 1e[+]300",
        ),
        ({"corpus": list(TEXTS)}, "of type list; pass softcosine.analyze"),
    ],
)
def test_bad_input_to_vectors(change: dict[str, object], message: str) -> None:
    given: dict[str, object] = {"corpus": corpus(), "encodings": encodings(), **change}
    with pytest.raises(InvalidInputError, match=message):
        taught_vectors(given.pop("corpus"), given.pop("encodings"), **given)  # type: ignore[arg-type]
