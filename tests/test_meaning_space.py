"""Spaces of meaning: documents' coordinates, static queries, document frequencies of pieces."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from softcosine.errors import InvalidInputError
from softcosine.similarity.embeddings.word_pieces import WordPieces
from softcosine.space.meaning import MeaningSpace, PieceFrequencies
from softcosine.space.query_table import QueryTable
from softcosine.text.vocabulary import Vocabulary

LETTERS = "abcde"
TOKENS = ["[PAD]", "tea", *LETTERS, *(f"##{c}" for c in LETTERS), ".", "-", "$"]
NUMBER = {token: i for i, token in enumerate(TOKENS)}
PIECES = WordPieces(TOKENS)
D = 6
ROWS = np.random.default_rng(0).standard_normal((len(TOKENS), D))
TABLE = QueryTable.quantized(ROWS, PIECES)
PROJECTION = np.random.default_rng(1).standard_normal((9, D)).astype(np.float32)
SPACE = MeaningSpace("toy", projection=PROJECTION, table=TABLE)
words = st.text(st.sampled_from("abcdeXt"), min_size=1, max_size=4) | st.sampled_from(["tea", "."])
queries = st.lists(st.tuples(words, st.sampled_from([1.0, 0.1, 0.3, 2.5])), max_size=8)


@st.composite
def vocabularies(draw: st.DrawFn) -> tuple[Vocabulary, list[int], int]:
    terms = draw(st.lists(words, unique=True, max_size=8))
    n_docs = draw(st.integers(0, 50))
    df = draw(st.lists(st.integers(0, n_docs), min_size=len(terms), max_size=len(terms)))
    forms = None
    if draw(st.booleans()):
        forms = [tuple(dict.fromkeys([term, *draw(st.lists(words, max_size=2))])) for term in terms]
    return Vocabulary(terms, forms=forms), df, n_docs


def frequencies_of(found: PieceFrequencies) -> dict[int, float]:
    return dict(zip(found.numbers.tolist(), found.frequencies.tolist(), strict=True))


@given(st.integers(0, 2**32), st.integers(1, 9), st.sampled_from([1e-38, 1.0, 1e38]), st.booleans())
def test_coordinates_are_alone_what_they_are_in_a_batch(
    seed: int, n: int, size: float, projected: bool
) -> None:
    rng = np.random.default_rng(seed)
    vectors = (rng.standard_normal((n, 9)).clip(-3, 3) * size).astype(np.float32)
    vectors[rng.random(n) < 0.2] = 0
    space = SPACE if projected else MeaningSpace("toy", encoder_dimensions=9)
    found = space.coordinates(vectors)
    assert found.dtype == np.int8
    assert found.shape == (n, space.dimensions)
    for i in range(n):
        assert space.coordinates(vectors[i : i + 1]).tolist() == [found[i].tolist()]
    assert space.coordinates(np.asfortranarray(vectors)[::-1]).tolist() == found[::-1].tolist()
    exact = vectors.astype(np.float64) @ (PROJECTION.astype(np.float64) if projected else np.eye(9))
    largest = np.abs(exact).max(axis=1, keepdims=True)
    exact = exact / np.where(largest, largest, 1) * 127
    assert np.abs(found - exact).max() <= 0.5 + 1e-9
    assert np.abs(found).max(axis=1).tolist() == [127 if row.any() else 0 for row in vectors]
    for vector, row in zip(vectors, exact, strict=True):
        unit = space.unit(vector)
        np.testing.assert_allclose(unit, row / (np.linalg.norm(row) or 1.0), rtol=0, atol=1e-12)


def test_halves_are_rounded_to_even() -> None:
    space = MeaningSpace("toy", encoder_dimensions=5)
    row = np.array([[127, 0.5, 1.5, -2.5, -0.5]], np.float32)
    assert space.coordinates(row).tolist() == [[127, 0, 2, -2, 0]]
    assert space.coordinates(-2 * row).tolist() == [[-127, 0, -2, 2, 0]]


def test_many_rows_are_projected_in_chunks() -> None:
    vectors = np.random.default_rng(2).standard_normal((5000, 9)).astype(np.float32)
    found = SPACE.coordinates(vectors)
    assert SPACE.coordinates(vectors[4090:4100]).tolist() == found[4090:4100].tolist()
    assert SPACE.coordinates(vectors[:0]).shape == (0, D)


@pytest.mark.parametrize(
    ("vectors", "message"),
    [
        (np.zeros((2, 8), np.float32), r"shape \(2, 8\).*'toy'.*9 dimensions"),
        (np.zeros(9, np.float32), r"shape \(9,\)"),
        (np.zeros((2, 9), np.int64), "int64"),
        (np.array([[0.0] * 9, [math.nan] * 9]), "vector 1 of 2 holds NaN"),
        (np.array([[math.inf] * 9]), "vector 0 of 1"),
        (np.array([[1e39] * 9]), "beyond float32"),
    ],
)
def test_vectors_of_another_shape_or_not_finite_are_refused(
    vectors: np.ndarray, message: str
) -> None:
    with pytest.raises(InvalidInputError, match=message):
        SPACE.coordinates(vectors)


def test_parts_that_do_not_fit_are_refused() -> None:
    for settings, message in (
        ({}, "encoder_dimensions is needed"),
        ({"projection": np.zeros((3, 4)), "table": TABLE}, "table has 6 dimensions but the .* 4"),
        ({"projection": np.zeros((3, 4)), "encoder_dimensions": 5}, "for an encoder of 3"),
        ({"projection": np.full((3, 4), np.nan)}, "finite matrix"),
        ({"projection": np.zeros(3)}, r"shape \(3,\)"),
        ({"table": "x"}, "type str"),
    ):
        with pytest.raises(InvalidInputError, match=message):
            MeaningSpace("toy", **settings)
    assert MeaningSpace("toy", table=TABLE).encoder_dimensions == D
    bare = MeaningSpace("toy", projection=PROJECTION)
    with pytest.raises(InvalidInputError, match="no query table for the encoder 'toy'"):
        bare.static_query([("tea", 1.0)], PieceFrequencies(np.empty(0, np.int32), np.empty(0), 0))


def by_definition(
    query: Sequence[tuple[str, float]], df: dict[int, float], n_docs: int
) -> np.ndarray:
    tf: dict[int, float] = {}
    for text, weight in query:
        for piece in TABLE.piece_numbers(text):
            tf[piece] = tf.get(piece, 0.0) + weight
    u = np.zeros(D)
    for piece, count in tf.items():
        idf = math.log(1 + n_docs / max(df.get(piece, 0.0), 0.5))
        u = u + count * math.sqrt(idf) * TABLE.coordinates([piece])[0]
    return u / np.linalg.norm(u)


@given(queries, vocabularies(), st.randoms())
def test_a_static_query_is_the_sum_of_its_words(query, collection, random) -> None:
    frequencies = SPACE.piece_frequencies(*collection)
    found = SPACE.static_query(query, frequencies)
    if not collection[2] or not any(TABLE.piece_numbers(text) for text, _ in query):
        assert found is None
        return
    assert found is not None
    expected = by_definition(query, frequencies_of(frequencies), collection[2])
    np.testing.assert_allclose(found.vector, expected, rtol=0, atol=1e-12)
    words = [word for text, _ in query for word, _ in TABLE.words_of(text)]
    assert found.words == tuple(words)
    assert found.shares.shape == (len(words), D)
    np.testing.assert_allclose(found.shares.sum(axis=0), found.vector, rtol=0, atol=1e-12)
    shuffled = random.sample(query, len(query))
    again = SPACE.static_query(shuffled, frequencies)
    assert again is not None
    assert again.vector.tolist() == found.vector.tolist()
    assert not any(share.any() for share, word in zip(found.shares, words, strict=True)
                   if not TABLE.piece_numbers(word))  # fmt: skip


def test_a_query_without_sum_has_no_coordinates() -> None:
    frequencies = SPACE.piece_frequencies(Vocabulary([]), [], 0)
    assert SPACE.static_query([], frequencies) is None
    assert SPACE.static_query([("xyz", 1.0)], frequencies) is None
    assert SPACE.static_query([("tea", 0.0)], frequencies) is None
    assert SPACE.static_query([("tea", 1.0), ("tea", -1.0)], frequencies) is None


@given(vocabularies(), st.randoms())
def test_piece_frequencies_are_those_of_independent_terms(collection, random) -> None:
    vocabulary, df, n_docs = collection
    found = SPACE.piece_frequencies(vocabulary, df, n_docs)
    assert found.numbers.dtype == np.int32
    assert (np.diff(found.numbers) > 0).all()
    by_piece: dict[int, list[int]] = {}
    for i, term in enumerate(vocabulary.terms):
        forms = (vocabulary.forms_of(i) or (term,)) if vocabulary.has_forms else (term,)
        for piece in {piece for form in forms for piece in TABLE.piece_numbers(form)}:
            by_piece.setdefault(piece, []).append(df[i])
    frequencies = frequencies_of(found)
    for mark in (NUMBER["."], NUMBER["-"], NUMBER["$"]):
        by_piece.setdefault(mark, []).append(n_docs)
    assert {piece for piece, of in by_piece.items() if any(of)} <= frequencies.keys()
    for piece, of in by_piece.items():
        own = frequencies.get(piece, 0.0)
        assert max(of) * (1 - 1e-12) <= own <= min(n_docs, sum(of) * (1 + 1e-12))
        expected = n_docs * (1 - math.prod(1 - d / n_docs for d in of)) if n_docs else 0.0
        assert own == pytest.approx(expected, abs=1e-9)
    assert not n_docs or (found.idf(np.arange(len(TOKENS))) > 0).all()
    # Renumbered terms, and unknown document frequencies of others, change no bit.
    order = random.sample(range(len(vocabulary)), len(vocabulary))
    renumbered = Vocabulary(
        [vocabulary.terms[i] for i in order],
        forms=[vocabulary.forms_of(i) for i in order] if vocabulary.has_forms else None,
    )
    again = SPACE.piece_frequencies(renumbered, [df[i] for i in order], n_docs)
    assert frequencies_of(again) == frequencies


def test_ngrams_add_nothing_to_the_pieces_of_their_words() -> None:
    words_only = SPACE.piece_frequencies(Vocabulary(["a", "tea"]), [3, 2], 9)
    with_ngrams = SPACE.piece_frequencies(Vocabulary(["a", "a tea", "tea"]), [3, 1, 2], 9)
    assert frequencies_of(with_ngrams) == frequencies_of(words_only)


@pytest.mark.parametrize("df", [[1], [1, 6], [-1, 2], [1, math.nan]])
def test_document_frequencies_that_cannot_be_are_refused(df: list[float]) -> None:
    with pytest.raises(InvalidInputError, match="one from 0 to 5 for each of the 2 terms"):
        SPACE.piece_frequencies(Vocabulary(["a", "b"]), df, 5)


def test_a_stored_space_is_equal_and_others_are_not() -> None:
    spaces = [
        SPACE,
        MeaningSpace("other", projection=PROJECTION, table=TABLE),
        MeaningSpace("toy", projection=PROJECTION),
        MeaningSpace("toy", projection=-PROJECTION, table=TABLE),
        MeaningSpace("toy", projection=PROJECTION, table=QueryTable.quantized(-ROWS, PIECES)),
        MeaningSpace("toy", table=TABLE),
        MeaningSpace("toy", encoder_dimensions=D),
    ]
    for i, space in enumerate(spaces):
        stored = MeaningSpace.from_state(space.state())
        assert [stored == other for other in spaces] == [i == j for j in range(len(spaces))]
        assert hash(stored) == hash(space)
        assert (stored.dimensions, stored.encoder) == (space.dimensions, space.encoder)
    assert len({space.identity for space in spaces}) == len(spaces)
    vectors = np.random.default_rng(3).standard_normal((4, 9))
    stored = MeaningSpace.from_state(SPACE.state())
    assert stored.coordinates(vectors).tolist() == SPACE.coordinates(vectors).tolist()
