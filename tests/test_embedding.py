"""Similarity by word vectors, against cosines computed from the definition."""

from __future__ import annotations

import hashlib
from importlib.resources import files

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from softcosine import SoftIndex
from softcosine.errors import IndexFormatError, InvalidInputError
from softcosine.similarity.bundled import SHA256
from softcosine.similarity.embeddings import nearest
from softcosine.similarity.embeddings.embedding import EmbeddingSimilarity
from softcosine.similarity.embeddings.english import english_share, english_table
from softcosine.similarity.embeddings.word_vectors import WordVectors
from softcosine.similarity.registry import source_from_state
from softcosine.similarity.source import SourceState, state_of
from softcosine.text.corpus import analyze

# Few distinct components, so that cosines tie and vectors repeat; the empty and the tiny occur.
components = st.sampled_from((0.0, 0.0, 1.0, 1.0, -1.0, 0.5, 3.0, 1e-3))


@st.composite
def tables(draw: st.DrawFn) -> NDArray[np.float64]:
    n, d = draw(st.integers(1, 12)), draw(st.integers(1, 11))
    rows = st.lists(components, min_size=d, max_size=d)
    return np.array(draw(st.lists(rows, min_size=n, max_size=n)))


def names(n: int) -> list[str]:
    """Words whose order is not that of their numbers."""
    return [f"{'dbca'[i % 4]}{i}" for i in range(n)]


def cosines(vectors: NDArray[np.float64]) -> NDArray[np.float64]:
    norms = np.sqrt((vectors**2).sum(axis=1))
    products = vectors @ vectors.T
    scale = np.outer(norms, norms)
    return np.divide(products, scale, out=np.zeros_like(products), where=scale > 0)


def all_pairs(source: EmbeddingSimilarity, words: list[str]) -> NDArray[np.float32]:
    n = len(words)
    left = [words[i] for i in range(n) for _ in range(n)]
    return source.similarities(left, words * n).reshape(n, n)


@given(tables(), st.sampled_from((0.0, 0.3, 0.55)), st.sampled_from((1.0, 2.0, 0.5, 3.7)))
def test_similarity_is_the_power_of_the_cosine_above_the_threshold(
    vectors: NDArray[np.float64], threshold: float, exponent: float
) -> None:
    words = names(len(vectors))
    source = EmbeddingSimilarity(words, vectors, threshold=threshold, exponent=exponent)
    C = cosines(vectors)
    expected = np.where((threshold <= C) & (C > 0), np.maximum(C, 0.0) ** exponent, 0.0)
    np.fill_diagonal(expected, 1.0)
    clear = np.abs(C - threshold) > 1e-6
    np.testing.assert_allclose(all_pairs(source, words)[clear], expected[clear], atol=1e-6)
    assert source.knows(words).tolist() == vectors.any(axis=1).tolist()


@given(tables(), st.integers(1, 13))
def test_fewer_neighbors_are_the_first_of_more(vectors: NDArray[np.float64], k: int) -> None:
    words = names(len(vectors))
    source = EmbeddingSimilarity(words, vectors, threshold=0.0)
    S = all_pairs(source, words)
    neighbors = source.neighbors(words, words, max_neighbors=k)
    for i in range(len(words)):
        order = sorted(range(len(words)), key=lambda j, i=i: (-S[i, j], words[j]))
        expected = [j for j in order if j != i and S[i, j] > 0][:k]
        indices, similarities = neighbors.of(i)
        assert indices.tolist() == expected
        assert similarities.tolist() == S[i, expected].tolist()


@pytest.mark.parametrize("exponent", [0.05, 1.0, 2.0, 9.0])
def test_neighbors_are_exact_where_cosines_differ_by_less_than_float32_tells(
    exponent: float,
) -> None:
    random = np.random.default_rng(0)
    near = 1.0 + random.standard_normal((200, 24)) * 1e-4
    words = names(200)
    source = EmbeddingSimilarity(words, near, exponent=exponent)
    S = all_pairs(source, words)
    neighbors = source.neighbors(words, words, max_neighbors=3)
    for i in range(0, 200, 7):
        order = sorted(set(range(200)) - {i}, key=lambda j, i=i: (-S[i, j], words[j]))
        assert neighbors.of(i)[0].tolist() == order[:3]


def test_neither_the_block_nor_the_threads_change_a_bit(monkeypatch: pytest.MonkeyPatch) -> None:
    random = np.random.default_rng(1)
    words = names(150)
    source = EmbeddingSimilarity(words, random.standard_normal((150, 20)), threshold=0.05)
    answers = set()
    for block_rows, n_cpus in ((2048, 4), (2048, 1), (7, 3), (1, 2)):
        monkeypatch.setattr(nearest, "_BLOCK_ROWS", block_rows)
        monkeypatch.setenv("SOFTCOSINE_THREADS", str(n_cpus))
        found = source.neighbors(words, words, max_neighbors=5)
        answers.add(found.indices.tobytes() + found.similarities.tobytes())
    assert len(answers) == 1


def test_equal_directions_are_wholly_similar() -> None:
    random = np.random.default_rng(2)
    vectors = random.standard_normal((20, 300))
    source = EmbeddingSimilarity(names(40), np.vstack((vectors, 3.0 * vectors)))
    words = names(40)
    assert source.similarities(words[:20], words[20:]).tolist() == [1.0] * 20


@pytest.mark.parametrize("size", [1e-300, 1e-30, 1e30, 1e300])
def test_the_length_of_a_vector_does_not_matter(size: float) -> None:
    source = EmbeddingSimilarity(["a", "b"], np.array([[3.0, 4.0], [4.0, 3.0]]) * size)
    assert source.similarities(["a"], ["b"]).item() == pytest.approx(0.96**4)


def test_of_a_word_given_twice_the_first_counts() -> None:
    source = EmbeddingSimilarity(["a", "b", "a"], [[1, 0], [1, 0], [0, 1]])
    assert source.words == ("a", "b")
    assert source.similarities(["a"], ["b"]).item() == 1.0


def test_a_word_is_found_as_it_stands_then_without_regard_to_case() -> None:
    words = ["US", "us", "Paris", "straße", "x"]
    source = EmbeddingSimilarity(words, np.eye(5))
    asked = ["US", "us", "Us", "paris", "PARIS", "STRASSE", "pari"]
    found = [source.similarities([term] * 5, words).tolist() for term in asked]
    assert [row.index(1.0) if 1.0 in row else None for row in found] == [0, 1, 1, 2, 2, 3, None]


def test_a_zero_vector_is_no_vector() -> None:
    source = EmbeddingSimilarity(["a", "b", "c"], [[0.0, 0.0], [1.0, 0.0], [-0.0, 0.0]])
    assert source.knows(["a", "b", "c"]).tolist() == [False, True, False]
    assert source.words == ("b",)


@pytest.mark.parametrize("dtype", ["int8", "float16", "float32"])
def test_compact_types_are_kept(dtype: str) -> None:
    vectors = np.array([[1, 2], [2, 1], [0, 0]], dtype=dtype)
    source = EmbeddingSimilarity(["a", "b", "c"], vectors)
    state = source.state()
    assert state.arrays["vectors"].dtype == dtype
    again = source_from_state(state)
    assert again.similarities(["a"], ["b"]).item() == pytest.approx(0.8**4)


@pytest.mark.parametrize(
    ("words", "vectors", "message"),
    [
        (["a", "b"], [[1.0, 2.0]], "2 words but 1 vectors"),
        (["a", "b"], [[1.0, 2.0], [1.0]], "different numbers of components"),
        (["a", "b"], [1.0, 2.0], r"shape \(2,\)"),
        (["a", "b"], [[1.0, 2.0], [np.nan, 1.0]], "vector of 'b' .* NaN or infinity"),
        (["a", "b"], [[1.0, np.inf], [1.0, 1.0]], "vector of 'a' .* NaN or infinity"),
        (["a"], [["x", "y"]], "needed are real numbers"),
        (["a"], [[1j, 2.0]], "needed are real numbers"),
    ],
)
def test_unusable_vectors_are_refused(words: list[str], vectors: object, message: str) -> None:
    with pytest.raises(InvalidInputError, match=message):
        EmbeddingSimilarity(words, vectors)


@pytest.mark.parametrize(
    "setting", [{"threshold": -0.1}, {"threshold": 1.1}, {"threshold": np.nan}, {"exponent": 0.0}]
)
def test_settings_out_of_range_are_refused(setting: dict[str, float]) -> None:
    with pytest.raises(InvalidInputError, match=next(iter(setting))):
        EmbeddingSimilarity(["a"], [[1.0]], **setting)


def test_the_english_table_is_read_once_and_shared() -> None:
    source = EmbeddingSimilarity.english(threshold=0.4)
    assert len(source) > 20_000
    assert source.dimensions == 128
    assert english_table().state()[1]["vectors"].dtype == np.int8
    assert english_table() is english_table()
    near = source.similarities(["bicycle", "bicycle"], ["bike", "parliament"])
    assert near[0] > 0.5 > near[1]


@pytest.mark.parametrize("name", sorted(SHA256.keys() - {"meaning.npz"}))  # which is elsewhere
def test_checksums_of_data_files_are_right(name: str) -> None:
    path = files("softcosine.similarity") / "data" / name
    assert hashlib.sha256(path.read_bytes()).hexdigest() == SHA256[name]


def test_the_english_table_is_kept_by_reference() -> None:
    source = EmbeddingSimilarity.english(threshold=0.4, exponent=3)
    state = source.state()
    assert not state.arrays
    again = source_from_state(state)
    words = ["bicycle", "bike", "parliament", "xyzzy"]
    assert again.similarities(words, words[::-1]).tolist() == (
        source.similarities(words, words[::-1]).tolist()
    )
    assert state_of(again) == state
    other = {**state.settings["table"], "sha256": "0" * 64, "softcosine": "9.9"}
    with pytest.raises(IndexFormatError, match=r"pip install 'softcosine==9.9'"):
        source_from_state(SourceState("embedding", {**state.settings, "table": other}))


def test_english_is_told_by_its_longer_words() -> None:
    english = "the quick brown foxes jumped over lazily resting animals"
    german = "der schnelle braune Fuchs springt gestern über Zäune"
    assert english_share(analyze([english]).vocabulary) > 0.6
    assert english_share(analyze([german]).vocabulary) < 0.6
    assert english_share(analyze(["12345 3.11"]).vocabulary) == 0.0
    assert english_share(analyze([]).vocabulary) == 0.0


def test_english_is_told_by_short_words_where_there_are_no_others() -> None:
    assert english_share(analyze(["the cat, the dog, tea"]).vocabulary) > 0.6


def test_words_of_many_documents_outvote_the_names_in_few() -> None:
    names = " ".join(f"xqzvw{letter}" for letter in "abcdefghij")
    assert english_share(analyze([names, *["green water"] * 20]).vocabulary) > 0.6


def test_scales_beyond_the_range_of_float32_keep_directions() -> None:
    for size in (1e-38, 1e38):
        table = WordVectors(["a", "b"], np.array([[9, 12], [12, 9]], np.int8), scales=[size, size])
        source = EmbeddingSimilarity.of_table(table, exponent=1.0)
        assert source.similarities(["a"], ["b"]).item() == pytest.approx(0.96)


def test_weights_above_1_are_refused() -> None:
    with pytest.raises(InvalidInputError, match="weights are at most 1; the greatest given is 2"):
        WordVectors(["a", "b"], np.eye(2), weights=[1.0, 2.0])


def test_vectors_beyond_the_range_of_float32_keep_their_directions() -> None:
    words = names(4)
    vectors = np.array([[1e300, 1e300], [3.0, 3.0], [1e-300, 1e-300], [1e300, 0.0]])
    S = all_pairs(EmbeddingSimilarity(words, vectors, exponent=1.0), words)
    expected = cosines(vectors / np.abs(vectors).max(axis=1, keepdims=True))
    np.testing.assert_allclose(S, expected, atol=1e-6)


def test_words_with_accents_are_found_without_them():
    source = EmbeddingSimilarity(["cafe", "coffee", "Cote"], [[3, 4], [4, 3], [0, 1]], threshold=0)
    assert source.knows(["café", "CAFÉ", "côte", "thé"]).tolist() == [True, True, True, False]
    pairs = ["café"] * 3, ["cafe", "café", "coffee"]
    expected = source.similarities(["cafe"] * 3, ["cafe", "cafe", "coffee"])
    assert source.similarities(*pairs).tolist() == pytest.approx(expected.tolist())


def test_an_english_index_finds_words_with_accents_and_without():
    index = SoftIndex.from_texts(["a café in Paris", "naïve bayes is a classifier", "the cat sat"])
    assert index.language == "english"
    assert index.search("cafe", ask="words").ids == ["0"]
    assert index.search("naive", ask="words").ids == ["1"]
