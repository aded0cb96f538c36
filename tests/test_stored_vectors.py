"""Tables of vectors that were stored: look-ups find what they found before, and read little."""

from __future__ import annotations

from unittest.mock import patch

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from softcosine.errors import CorruptIndexError, InvalidInputError, SoftCosineError
from softcosine.similarity.embeddings.embedding import EmbeddingSimilarity
from softcosine.similarity.embeddings.word_vectors import WordVectors
from softcosine.similarity.registry import source_from_state

# Few letters, in cases that fold one to one and one to two.
WORDS = st.lists(st.text("aAbBßSsİ", max_size=3), max_size=8)


def table_of(words):
    vectors = np.arange(1, 2 * len(words) + 1, dtype=np.float32).reshape(-1, 2)
    return WordVectors(words, vectors[::-1] if len(words) else np.zeros((0, 2), np.float32))


def found_one_by_one(words, terms):
    """Row of the first word that is the term, else casefolds it, else casefolds to it."""
    rows = []
    for term in terms:
        key = term.casefold()
        equal = [i for i, word in enumerate(words) if word == term]
        folded = [i for i, word in enumerate(words) if word == key]
        alike = [i for i, word in enumerate(words) if word.casefold() == key]
        rows.append(next(iter([*equal, *folded, *alike]), -1))
    return rows


@pytest.mark.parametrize("n", [0, 1 << 30])  # all words are never read for a look-up, or always
@given(words=WORDS, others=WORDS)
def test_words_are_found_in_any_letter_case(n, words, others):
    table = table_of(words)
    terms = [*words, *others]
    expected = found_one_by_one(words, terms)
    earlier = table.state()[1]
    del earlier["word_order"], earlier["cased_words"]
    with patch("softcosine.text.terms._READ_MEANWHILE", n):
        for same in (
            table, WordVectors.from_arrays(table.state()[1]), WordVectors.from_arrays(earlier)
        ):  # fmt: skip
            assert same.find(terms).tolist() == expected
            assert [same.find([term]).item() for term in terms] == expected
            assert same.words == tuple(dict.fromkeys(words))
            for name, array in table.state()[1].items():
                np.testing.assert_array_equal(same.state()[1][name], array)


def test_a_look_up_in_a_stored_table_reads_no_other_word():
    table = WordVectors(["Tyre", "moon", "tyre", "Moons"], np.eye(4, dtype=np.float32) + 1)
    arrays = table.state()[1]
    with (
        patch("softcosine.text.terms._READ_MEANWHILE", 0),
        patch("softcosine.text.packing.unpack_strings", side_effect=AssertionError("all read")),
    ):
        opened = WordVectors.from_arrays(arrays)
        assert opened.find(["MOON", "tyre", "moons", "sun"]).tolist() == [1, 2, 3, -1]


def test_a_table_that_begins_with_a_zero_vector_is_kept():
    source = EmbeddingSimilarity(["none", "a", "b"], [[0, 0], [1, 0], [1, 0.1]])
    opened = source_from_state(source.state())
    pairs = (["a", "a", "none", "x"], ["b", "none", "none", "b"])
    expected = source.similarities(*pairs)
    assert opened.similarities(*pairs).tolist() == expected.tolist()
    assert opened.words == ("a", "b")


@pytest.mark.parametrize(
    ("name", "wrong", "message"),
    [
        ("rows", [0, 7], "rows run from 0 to 7, but there are 2 vectors"),
        ("rows", [0], "there are 2 words but rows of shape"),
        ("vectors", [[1, np.nan], [1, 1]], "a vector holds NaN"),
        ("cased_words", [0, 2], "words are called cased that are not there"),
        ("cased_words", [-1], "words are called cased that are not there"),
        ("cased_words", np.array([0.0, 1.0]), "words are called cased that are not there"),
        ("cased_words", [[0], [1]], "words are called cased that are not there"),
        ("word_order", [1, 9], "the stored order of the 2 terms"),
        ("words", [255, 255], "not UTF-8"),
        ("weights", [2.0, 1.0], "weights are at most 1"),
    ],
)
def test_damage_is_told_when_a_vector_is_asked_for(name, wrong, message):
    table = WordVectors(["A", "b"], np.eye(2, dtype=np.float32), weights=[1, 1])
    source = EmbeddingSimilarity.of_table(table)
    state = source.state()
    if not isinstance(wrong, np.ndarray):  # else of another type too
        wrong = np.array(wrong, state.arrays[name].dtype)
    arrays = {**state.arrays, name: wrong}
    opened = source_from_state(type(state)(state.kind, state.settings, arrays))
    with (
        patch("softcosine.text.terms._READ_MEANWHILE", 0),
        pytest.raises((CorruptIndexError, InvalidInputError), match=message) as caught,
    ):
        opened.similarities(["a", "A", "c"], ["b", "b", "b"])
    assert isinstance(caught.value, SoftCosineError)
