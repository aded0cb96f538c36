"""Phrases in kept positions and in texts: one answer, that of looking at every place."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

import strategies as own
from conftest import JIT
from softcosine.errors import CorruptIndexError
from softcosine.index.query.constraints import all_of, mask_of
from softcosine.index.query.phrases import (
    holds_phrase,
    phrase_mask_of_texts,
    phrase_words,
    running_words,
    token_numbers,
)
from softcosine.index.segment.positions import (
    LEFT_OUT,
    UNKNOWN,
    Positions,
)
from softcosine.text.analyzer import Analyzer
from softcosine.text.vocabulary import Vocabulary
from softcosine.text.words import JOINED

# Two terms and left-out words: phrases repeat in themselves, and nearly match.
tokens = st.sampled_from([0, 0, 0, 0, 1, 1, LEFT_OUT, UNKNOWN])
rows = st.lists(tokens, max_size=12)
documents = st.lists(rows, max_size=6)
phrases = st.lists(st.sampled_from([0, 0, 0, 1, 1, LEFT_OUT]), max_size=6) | st.lists(
    st.sampled_from([0, UNKNOWN]), max_size=3
)
ANALYZERS = (
    Analyzer(),
    Analyzer("english", stop_words="english"),
    Analyzer(min_length=2, max_ngram=3),
)


def masks(n):
    return st.lists(st.booleans(), min_size=n, max_size=n).map(lambda row: np.array(row, bool))


def there(row, phrase):
    """Whether a phrase begins at some place of a row."""
    return UNKNOWN not in phrase and any(
        all(i + j < len(row) and row[i + j] == wanted for j, wanted in enumerate(phrase))
        for i in range(len(row) + 1)
    )


@given(documents, phrases, st.data())
@example([[0, 0, 1, 0, 0, 0, 1, 1]], [0, 0, 0, 1, 1], None)
@example([[0, 1, 0, 1, 0, 0]], [0, 1, 0, 0], None)
def test_a_phrase_is_found_where_it_stands(rows, phrase, data):
    positions = Positions.from_documents(rows)
    candidates = np.ones(len(rows), bool) if data is None else data.draw(masks(len(rows)))
    found = positions.mask(candidates, phrase)
    assert found.dtype == np.bool_
    expected = [bool(c) and there(row, phrase) for c, row in zip(candidates, rows, strict=True)]
    assert found.tolist() == expected
    if UNKNOWN not in phrase:
        plain = [holds_phrase(row, phrase) for row in rows]
        assert (candidates & np.array(plain, bool)).tolist() == expected


@given(documents.filter(len), st.data())
def test_every_stretch_of_a_document_is_a_phrase_of_it(rows, data):
    d = data.draw(st.integers(0, len(rows) - 1))
    first = data.draw(st.integers(0, len(rows[d])))
    last = data.draw(st.integers(first, len(rows[d])))
    positions = Positions.from_documents(rows)
    stretch = rows[d][first:last]
    assert positions.mask(np.ones(len(rows), bool), stretch)[d] == (UNKNOWN not in stretch)


@given(own.corpora(6), st.data(), st.sampled_from(ANALYZERS))
def test_positions_and_texts_give_the_same_answer(texts, data, analyzer):
    words = [running_words(text, analyzer) for text in texts]
    known = sorted({word for row in words for word in row if word is not None})
    if known:  # too rare to be indexed
        known.pop(data.draw(st.integers(0, len(known) - 1)))
    vocabulary = Vocabulary(known)
    positions = Positions.from_documents([token_numbers(row, vocabulary) for row in words])
    positions.check(len(known))
    drawn = own.sentences(3)
    if any(texts):  # a stretch of a text, cut anywhere
        text = data.draw(st.sampled_from([text for text in texts if text]))
        first = data.draw(st.integers(0, len(text) - 1))
        drawn |= st.integers(first, len(text)).map(lambda last: text[first:last])
    phrase = phrase_words(data.draw(drawn), analyzer)
    candidates = data.draw(masks(len(texts)))
    terms = token_numbers(phrase, vocabulary)
    if UNKNOWN in terms:
        assert not positions.mask(candidates, terms).any()
        candidates[:] = False  # no document holds all words of the phrase
    by_texts = phrase_mask_of_texts(texts.__getitem__, analyzer, candidates, phrase)
    assert positions.mask(candidates, terms).tolist() == by_texts.tolist()
    if not phrase:
        assert by_texts.tolist() == candidates.tolist()


@given(own.sentences(), st.sampled_from(ANALYZERS))
def test_running_words_are_the_terms_with_what_is_left_out(text, analyzer):
    words = running_words(text, analyzer)
    assert len(words) == len(analyzer.words(text))
    kept = [word for word in words if word is not None]
    assert kept == [term for term in analyzer.terms(text) if " " not in term and term[0] != JOINED]
    phrase = phrase_words(text, analyzer)
    assert [word for word in phrase if word is not None] == kept
    assert holds_phrase(words, phrase)
    assert not phrase or None not in (phrase[0], phrase[-1])


def test_words_left_out_keep_their_place():
    analyzer = Analyzer("english", stop_words="english")
    text = running_words("The king of Spain and the other kings", analyzer)
    for phrase, found in [
        ("king of Spain", True),
        ("kings in spain", True),
        ("the king", True),
        ("the king of", True),
        ("king Spain", False),
        ("king of the Spain", False),
        ("Spain king", False),
        ("of the", True),
        ("", True),
    ]:
        assert holds_phrase(text, phrase_words(phrase, analyzer)) == found, phrase


def test_tokens_are_taken_as_they_are():
    assert running_words(["New York", "the"], Analyzer(stop_words=["the"])) == ["New York", None]


@given(st.lists(documents, max_size=4), st.data())
def test_merged_positions_are_those_of_the_live_documents(segments, data):
    live = [data.draw(st.none() | masks(len(rows))) for rows in segments]
    merged = Positions.merge([Positions.from_documents(rows) for rows in segments], live)
    kept = [
        row
        for rows, mask in zip(segments, live, strict=True)
        for number, row in enumerate(rows)
        if mask is None or mask[number]
    ]
    expected = Positions.from_documents(kept)
    for name, array in expected.to_arrays().items():
        np.testing.assert_array_equal(merged.to_arrays()[name], array)
        assert merged.to_arrays()[name].dtype == array.dtype


@given(documents)
def test_arrays_are_taken_back(rows):
    positions = Positions.from_documents(rows)
    again = Positions.from_arrays(positions.to_arrays(), len(rows))
    again.check(2)
    assert again.n_docs == len(rows)
    for name, array in positions.to_arrays().items():
        np.testing.assert_array_equal(again.to_arrays()[name], array)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"tokens": None}, "lack their arrays tokens"),
        ({"token_offsets": None}, "lack their arrays token_offsets"),
        ({"tokens": np.zeros(3, np.int64)}, "array tokens is of type int64"),
        ({"tokens": np.zeros(2, np.int32)}, "array tokens is of type int32 and shape"),
        ({"token_offsets": np.array([0, 3])}, "array token_offsets is of type int64 and shape"),
        ({"token_offsets": np.array([0, 1, -3])}, "array tokens"),
    ],
)
def test_arrays_that_were_not_written_are_refused(change, message):
    arrays = Positions.from_documents([[0], [1, 0]]).to_arrays() | change
    arrays = {name: array for name, array in arrays.items() if array is not None}
    with pytest.raises(CorruptIndexError, match=message):
        Positions.from_arrays(arrays, 2)


@pytest.mark.parametrize(
    "change",
    [
        {"tokens": np.array([0, 2, 0], np.int32)},
        {"tokens": np.array([0, -3, 0], np.int32)},
        {"tokens": np.array([0, 2**31 - 1, 0], np.int32)},
        {"token_offsets": np.array([1, 1, 3])},
        {"token_offsets": np.array([0, 4, 3])},
    ],
)
def test_altered_numbers_are_found_by_check(change):
    arrays = Positions.from_documents([[0], [1, 0]]).to_arrays() | change
    with pytest.raises(CorruptIndexError, match="a file has changed"):
        Positions.from_arrays(arrays, 2).check(2)


@given(
    st.lists(st.integers(-5, 9) | st.sampled_from([2**62, -(2**62)]), min_size=5, max_size=5),
    phrases,
)
def test_altered_offsets_lead_no_search_out_of_bounds(offsets, phrase):
    positions = Positions(np.array([0, 1, 0, 0], np.int32), np.array(offsets, np.int64))
    found = positions.mask(np.ones(4, bool), phrase)
    if phrase:
        for d, holds in enumerate(found):
            sound = 0 <= offsets[d] <= offsets[d + 1] <= 4
            row = positions.tokens[offsets[d] : offsets[d + 1]].tolist() if sound else []
            assert holds == there(row, phrase)


def test_a_phrase_that_nearly_repeats_is_found_in_linear_time():
    n = 200_000 if JIT else 2_000
    positions = Positions.from_documents([[0] * n, [0] * n + [1], [*([0] * n), 1, *([0] * n)]])
    found = positions.mask(np.ones(3, bool), [*([0] * (n // 2)), 1])
    assert found.tolist() == [False, True, True]


@given(
    st.integers(1, 6).flatmap(
        lambda n: st.tuples(
            st.lists(st.none() | masks(n), max_size=3), st.lists(masks(n), max_size=3)
        )
    )
)
def test_sets_are_joined_as_sets(drawn):
    inside, outside = drawn
    given_sets = [mask for mask in (*inside, *outside) if mask is not None]
    before = [mask.copy() for mask in given_sets]
    result = all_of(inside, outside)
    if not given_sets:
        assert result is None
        return
    for d in range(len(given_sets[0])):
        wanted = all(mask is None or mask[d] for mask in inside)
        assert result[d] == (wanted and not any(mask[d] for mask in outside))
    assert not any(result is mask for mask in given_sets)
    np.testing.assert_array_equal(given_sets, before)


def test_read_only_arrays_are_searched():
    positions = Positions.from_documents([[0, 1], [1, 0]])
    candidates = np.ones(2, bool)
    for array in (*positions.to_arrays().values(), candidates):
        array.flags.writeable = False
    assert positions.mask(candidates, (1, 0)).tolist() == [False, True]
    strided = Positions(np.array([0, 5, 1, 5], np.int32)[::2], np.array([0, 7, 2, 7])[::2])
    assert strided.mask(np.array([True, False])[::2], (0, 1)).tolist() == [True]


@given(st.lists(st.integers(0, 5), unique=True), st.sampled_from([np.uint16, np.uint32, np.int64]))
def test_a_set_holds_its_documents(numbers, dtype):
    mask = mask_of(np.array(sorted(numbers), dtype), 6)
    assert np.flatnonzero(mask).tolist() == sorted(numbers)
