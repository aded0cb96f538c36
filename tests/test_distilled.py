"""What an encoder taught, against dense computations from the definitions."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray
from scipy.sparse import csr_array

import softcosine as sc
from crafted import patch_array
from softcosine.errors import (
    AlreadyExistsError,
    CorruptIndexError,
    IndexFormatError,
    InvalidInputError,
    VocabularyMismatchError,
)
from softcosine.index.distilled.distilled_index import DistilledIndex
from softcosine.similarity.cooccurrence.distilled import DistilledSimilarity
from softcosine.similarity.cooccurrence.distilled_vectors import distilled_vectors, encoded
from softcosine.similarity.cooccurrence.ridge import ridge_regression
from softcosine.space.distilled_space import DistilledSpace
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
    source = DistilledSimilarity.fit(
        sc.analyze(list(TEXTS), WORDS), D, penalty=penalty, threshold=0.2, exponent=2.0
    )
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
    source = DistilledSimilarity.fit(sc.analyze(["tyres punctured", "the moon"], WORDS), np.eye(2))
    assert source.knows(["tyres", "tyre", "punctured", "sun"]).tolist() == [True, True, True, False]
    assert source.similarities(["tyres"], ["moon"]).item() == 0.0


def test_a_source_is_kept() -> None:
    source = DistilledSimilarity.fit(sc.analyze(list(TEXTS), WORDS), encodings(), exponent=2.0)
    again = DistilledSimilarity.from_state(source.state())
    words = list(source.words)
    assert np.array_equal(
        again.similarities(words, words[::-1]), source.similarities(words, words[::-1])
    )
    assert repr(again) == repr(source)


def test_texts_are_encoded_once_each() -> None:
    asked: list[str] = []

    def model(texts: list[str]) -> Array:
        asked.extend(texts)
        return np.array([[1.0, len(text)] for text in texts])

    vectors = encoded(["b", "aa", "b", " "], model)
    assert sorted(asked) == ["aa", "b"]
    assert vectors.shape == (4, 2)
    assert np.array_equal(vectors[0], vectors[2])
    assert not vectors[3].any()
    source = DistilledSimilarity.from_texts(list(TEXTS), model, analyzer=WORDS)
    assert source.knows(["tyre"])[0]


def test_documents_that_nothing_is_said_of_teach_nothing() -> None:
    D = encodings()
    D[3:] = 0.0
    V = distilled_vectors(sc.analyze(list(TEXTS), WORDS), D)
    _, _, X = tfidf(TEXTS)
    said = D[:3] / np.sqrt((D[:3] ** 2).sum(axis=1, keepdims=True))
    X, Y = X[:3], said - said.mean(axis=0)
    np.testing.assert_allclose(V, np.linalg.solve(X.T @ X + np.eye(X.shape[1]), X.T @ Y), atol=1e-5)


@pytest.mark.parametrize("size", [1e-200, 1.0, 1e200])
def test_the_size_of_encodings_does_not_matter(size: float) -> None:
    V = distilled_vectors(corpus(), encodings() * size)
    np.testing.assert_allclose(V, distilled_vectors(corpus(), encodings()), atol=1e-6)


def test_encodings_that_are_all_alike_teach_nothing() -> None:
    # Their mean is rounded, so that something is left of the difference.
    assert not distilled_vectors(corpus(), np.tile([0.1, 0.7, 0.3], (6, 1))).any()


def dense_scores(query: str, *, share: float, power: float) -> Array:
    """BM25 of the most, plus the soft cosine, from the definitions; S = I among the words."""
    documents = [WORDS.terms(text) for text in TEXTS]
    terms, idf, V = dense_vectors(TEXTS, encodings(), 1.0)
    asked = [term for term in WORDS.terms(query) if term in terms]
    average = np.mean([len(document) for document in documents])
    words = np.zeros(len(TEXTS))
    most = 0.0
    for term in asked:
        df = sum(term in document for document in documents)
        rareness = np.log(1 + (len(TEXTS) - df + 0.5) / (df + 0.5))
        most += 2.2 * rareness
        for i, document in enumerate(documents):
            tf = document.count(term)
            k = 1.2 * (0.25 + 0.75 * len(document) / average)
            words[i] += rareness * tf * 2.2 / (tf + k)
    lengths = np.sqrt((V * V).sum(axis=1))
    S = (V @ V.T) / np.outer(lengths, lengths)
    W = idf * lengths**power

    def weighed(words: Sequence[str]) -> Array:
        return np.array([W[i] * (1 + np.log(words.count(t))) if t in words else 0.0
                         for i, t in enumerate(terms)])  # fmt: skip

    x = weighed(asked)
    meaning = np.zeros(len(TEXTS))
    for i, document in enumerate(documents):
        y = weighed(document)
        norms = (x @ S @ x) * (y @ S @ y)
        meaning[i] = x @ S @ y / np.sqrt(norms) if norms > 1e-12 else 0.0
    return (words / most if most else words) + share * meaning


@pytest.mark.parametrize("query", ["tyre repair", "tyre tyre moon", "bicycle wheel zebra", "zebra"])
@pytest.mark.parametrize(("share", "power"), [(0.5, 0.5), (0.0, 1.0), (2.0, 0.0)])
def test_a_score_is_the_sum_of_two_spaces(query: str, share: float, power: float) -> None:
    index = DistilledIndex.from_texts(TEXTS, encodings=encodings(), share=share, power=power)
    words, meaning = index.scored(query)
    expected = dense_scores(query, share=share, power=power)
    np.testing.assert_allclose(words + share * meaning, expected, atol=1e-5)
    hits = index.search(query, k=4)
    order = [int(hit.id) for hit in hits]
    found = np.flatnonzero(expected > 1e-9)
    assert order == found[np.lexsort((found, -expected[found]))][:4].tolist()
    for hit in hits:
        assert hit.score == hit.words + share * hit.meaning
        assert hit.text == TEXTS[int(hit.id)]


def test_a_share_of_nothing_is_bm25() -> None:
    index = DistilledIndex.from_texts(TEXTS, encodings=encodings(), share=0.0)
    plain = sc.SoftIndex.from_texts(
        TEXTS, plain=True, analyzer=WORDS, ranking="soft_bm25", weighting=sc.Weighting()
    )
    for query in ("tyre repair", "moon sea tides"):
        assert [hit.id for hit in index.search(query)] == [hit.id for hit in plain.search(query)]


def test_equal_scores_rank_by_insertion() -> None:
    index = DistilledIndex.from_texts(["moon tide"] * 5, encodings=np.ones((5, 2)))
    assert [hit.id for hit in index.search("moon", k=3)] == ["0", "1", "2"]


def test_a_source_makes_the_words_soft() -> None:
    source = sc.PairSimilarity([("tyre", "wheel", 0.5)])
    index = DistilledIndex.from_texts(TEXTS, encodings=encodings(), share=0.0, source=source)
    assert {hit.id for hit in index.search("tyre")} == {"0", "1", "2"}


@pytest.mark.parametrize("query", ["tyre repair", "moon tide zebra", "zebra"])
@pytest.mark.parametrize("share", [0.0, 0.5])
def test_the_parts_of_an_explanation_sum_to_the_score(query: str, share: float) -> None:
    index = DistilledIndex.from_texts(TEXTS, encodings=encodings(), share=share)
    words, meaning = index.scored(query)
    for number in range(len(TEXTS)):
        told = index.explain(query, str(number))
        assert told.score == words[number] + share * meaning[number]
        assert sum(part.contribution for part in told.parts) == pytest.approx(told.score, abs=1e-6)
        assert all(abs(part.similarity) <= 1.0 for part in told.parts)
    told = index.explain("tyres", "0")
    pairs = {(part.query_word, part.document_word, part.field) for part in told.parts}
    assert ("tyres", "tyre", "words") in pairs
    assert (("tyres", "bicycle", "meaning") in pairs) == (share > 0.0)


def test_an_index_tells_what_it_is() -> None:
    index = DistilledIndex.from_texts(TEXTS, encodings=encodings(), share=0.25, ids=list("abcdef"))
    assert repr(index) == "DistilledIndex(6 documents x 5, share=0.25)"
    assert len(index) == 6
    assert index.share == 0.25
    assert index.space.dimensions == 5
    assert index.index.vocabulary.index("moon") >= 0
    assert index.search("moon", k=1)[0].id in "de"


@pytest.mark.parametrize("verify", [False, True])
def test_a_saved_index_answers_alike_without_an_encoder(tmp_path: Path, verify: bool) -> None:
    source = sc.PairSimilarity([("tyre", "wheel", 0.5)])
    index = DistilledIndex.from_texts(
        TEXTS, encodings=encodings(), share=0.25, source=source, ids=list("abcdef")
    )
    index.save(tmp_path / "two")
    opened = DistilledIndex.open(tmp_path / "two", verify=verify)
    assert repr(opened) == repr(index)
    for query in ("tyre repair", "moon sea tides", "wheels", ""):
        assert opened.search(query) == index.search(query)
        assert opened.explain(query, "a") == index.explain(query, "a")
    with pytest.raises(AlreadyExistsError):
        index.save(tmp_path / "two")
    DistilledIndex.from_texts(TEXTS[:3], encodings=encodings()[:3]).save(
        tmp_path / "two", overwrite=True
    )
    assert len(DistilledIndex.open(tmp_path / "two")) == 3
    assert opened.search("moon")[0].id in "de"  # what is open stays as it was


def test_what_is_no_saved_index_is_told(tmp_path: Path) -> None:
    index = DistilledIndex.from_texts(TEXTS, encodings=encodings())
    index.save(tmp_path / "two")
    with pytest.raises(FileNotFoundError):
        DistilledIndex.open(tmp_path / "none")
    with pytest.raises(IndexFormatError, match="distilled-index"):
        DistilledIndex.open(tmp_path / "two" / "words")
    with sc.SoftIndex.open(tmp_path / "two" / "words").writer() as writer:
        writer.add("g", "the moon again")
    with pytest.raises(CorruptIndexError, match="make the index again from the texts"):
        DistilledIndex.open(tmp_path / "two")


@pytest.mark.parametrize("n_added", [0, 1])
def test_units_are_never_taken_for_those_of_other_documents(tmp_path: Path, n_added: int) -> None:
    DistilledIndex.from_texts(TEXTS, encodings=encodings()).save(tmp_path / "two")
    opened = DistilledIndex.open(tmp_path / "two")
    before = opened.search("moon"), opened.explain("tyres", "0")
    with opened.index.writer() as writer:
        writer.delete("3")
        for number in range(n_added):
            writer.add(f"new {number}", "the moon again")
    with opened.index.writer() as writer:
        writer.merge()  # now there are as many rows as units, if one was added
    # What is open stays as it was.
    assert (opened.search("moon"), opened.explain("tyres", "0")) == before
    with pytest.raises(CorruptIndexError, match="holds other documents"):
        DistilledIndex.open(tmp_path / "two")


def test_a_document_that_was_deleted_is_not_found(tmp_path: Path) -> None:
    index = DistilledIndex.from_texts(TEXTS, encodings=encodings())
    index.save(tmp_path / "two")
    with sc.SoftIndex.open(tmp_path / "two" / "words").writer() as writer:
        writer.delete("3")
    opened = DistilledIndex.open(tmp_path / "two")
    found = {hit.id for hit in index.search("moon sea")}
    assert {hit.id for hit in opened.search("moon sea")} == found - {"3"}
    opened.save(tmp_path / "again")
    assert DistilledIndex.open(tmp_path / "again").search("moon sea") == opened.search("moon sea")


def test_an_index_stays_as_it_was_made() -> None:
    words = sc.SoftIndex.from_texts(TEXTS, analyzer=WORDS, plain=True, ranking="soft_bm25")
    index = DistilledIndex(words, DistilledSpace.fit(corpus(), encodings()))
    before = index.search("moon tyre")
    words.set_weighting(sc.Weighting(k1=0.1), ranking="soft_cosine")
    assert index.search("moon tyre") == before
    assert index.index is words


def test_a_damaged_file_is_told(tmp_path: Path) -> None:
    DistilledIndex.from_texts(TEXTS, encodings=encodings()).save(tmp_path / "two")
    patch_array(tmp_path / "two", "units")
    with pytest.raises(CorruptIndexError, match=r"arrays\.npys has changed"):
        DistilledIndex.open(tmp_path / "two", verify=True)
    (tmp_path / "two" / "words").rename(tmp_path / "words")
    with pytest.raises(CorruptIndexError, match="words is missing"):
        DistilledIndex.open(tmp_path / "two")


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
        distilled_vectors(given.pop("corpus"), given.pop("encodings"), **given)  # type: ignore[arg-type]


def test_bad_input_to_the_others() -> None:
    with pytest.raises(InvalidInputError, match="threshold is 2"):
        DistilledSimilarity.fit(corpus(), encodings(), threshold=2.0)
    with pytest.raises(InvalidInputError, match=r"power is 1\.5; it must be a number from 0 to 1"):
        DistilledSpace.fit(corpus(), encodings(), power=1.5)
    with pytest.raises(InvalidInputError, match="share is -1; it must be"):
        DistilledIndex.from_texts(TEXTS, encodings=encodings(), share=-1)
    with pytest.raises(InvalidInputError, match="either a model, or the encodings"):
        DistilledIndex.from_texts(TEXTS)
    with pytest.raises(InvalidInputError, match="none of 1 texts has a vector"):
        encoded([" "], lambda texts: np.ones((len(texts), 2)))
    space = DistilledSpace.fit(corpus(), encodings())
    other = sc.SoftIndex.from_texts(["another text"], plain=True, ranking="soft_bm25")
    with pytest.raises(VocabularyMismatchError, match="the space is of 12 terms, the index of 2"):
        DistilledIndex(other, space)
    ranked = sc.SoftIndex.from_texts(TEXTS, plain=True, ranking="soft_cosine")
    with pytest.raises(InvalidInputError, match="ranked by soft_bm25"):
        DistilledIndex(ranked, space)
    words = sc.SoftIndex.from_texts(TEXTS, analyzer=WORDS, plain=True, ranking="soft_bm25")
    for units in (np.zeros((6, 5)), np.zeros((5, 5), np.float32), np.zeros(6, np.float32)):
        with pytest.raises(InvalidInputError, match=r"the index needs \(6, 5\), of float32"):
            DistilledIndex(words, space, units=units)  # type: ignore[arg-type]
