"""The bundled English table and antonyms are what their card says."""

import io
import json
from importlib.resources import files

import numpy as np
import pytest

DATA = files("softcosine.similarity") / "data"
TABLE = (DATA / "english.npz").read_bytes()


@pytest.fixture(scope="module")
def table():
    with np.load(io.BytesIO(TABLE), allow_pickle=False) as stored:
        return {name: stored[name] for name in stored.files}


@pytest.fixture(scope="module")
def words(table):
    return table["words"].tobytes().decode("utf-8").split("\n")


@pytest.fixture(scope="module")
def antonyms():
    lines = (DATA / "antonyms_en.txt").read_text("utf-8").splitlines()
    return [tuple(line.split("\t")) for line in lines if not line.startswith("#")]


def cosines(table, words, word):
    vectors = table["vectors"].astype(np.float32)
    vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
    return vectors @ vectors[words.index(word)]


def test_the_table_is_below_five_megabytes():
    assert len(TABLE) < 5_000_000


def test_words_are_unique_lower_case_and_in_code_point_order(words):
    assert words == sorted(set(words))
    assert all(word.isascii() and word.isalpha() and word.islower() for word in words)


def test_every_word_has_one_vector_and_none_is_zero(table, words):
    vectors = table["vectors"]
    assert vectors.dtype == np.int8
    assert vectors.shape == (len(words), 128)
    assert vectors.flags.c_contiguous
    assert vectors.any(axis=1).all()


def test_the_table_says_how_it_was_made(table, words):
    about = json.loads(str(table["about"]))
    assert about["n_words"] == len(words)
    assert about["model"] == "sentence-transformers/all-MiniLM-L6-v2"


@pytest.mark.parametrize(
    ("word", "neighbour"),
    [
        ("bicycle", "bike"),
        ("tyre", "tire"),
        ("illness", "disease"),
        ("kitten", "cat"),
        ("burger", "hamburger"),
        ("infinite", "infinity"),
        ("dead", "killed"),
        ("hydrangea", "shrub"),
    ],
)
def test_a_near_word_is_among_the_fifty_nearest(table, words, word, neighbour):
    similarities = cosines(table, words, word)
    nearest = np.argsort(-similarities)[1:51]
    assert neighbour in {words[i] for i in nearest}


def test_unrelated_words_are_far_apart(table, words):
    similarities = cosines(table, words, "bicycle")
    assert all(similarities[words.index(w)] < 0.3 for w in ("theology", "cheese", "sonnet"))


def test_antonyms_are_ordered_pairs_of_two_single_words(antonyms):
    assert len(antonyms) > 3000
    assert antonyms == sorted(set(antonyms))
    for left, right in antonyms:
        assert left < right
        assert f"{left}{right}".isascii()
        assert f"{left}{right}".isalpha()


@pytest.mark.parametrize(
    "pair",
    [("cold", "hot"), ("buy", "sell"), ("buys", "sells"), ("bought", "sold"), ("men", "women")],
)
def test_known_opposites_are_listed(antonyms, pair):
    assert pair in set(antonyms)
