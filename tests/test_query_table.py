"""Query tables: rounding to four bits, pieces of texts, files."""

from __future__ import annotations

import json
import zipfile
from collections import Counter
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from softcosine.errors import InvalidInputError, MalformedFileError
from softcosine.similarity.embeddings.word_pieces import WordPieces
from softcosine.space import query_table
from softcosine.space.meaning import MeaningSpace
from softcosine.space.meaning_file import load_meaning, save_meaning
from softcosine.space.query_table import QueryTable

CHARACTERS = "abcdeé日本한\U0002b830.,'-$€+°_²"
TOKENS = [
    "[PAD]", "[UNK]", "tea", "pot", "##pot", "##s", *CHARACTERS, *(f"##{c}" for c in CHARACTERS),
]  # fmt: skip
PIECES = WordPieces(TOKENS)
BERT = {
    "normalizer": {
        "type": "BertNormalizer", "clean_text": True, "handle_chinese_chars": True,
        "strip_accents": None, "lowercase": True,
    },
    "pre_tokenizer": {"type": "BertPreTokenizer"},
}  # fmt: skip
texts = st.text(
    st.sampled_from("teapots abcDEÉ日本한\U0002b830.,'-$€+°_² \t\n\r\x1c\u2028\u200b\u0301ß!¿")
    | st.characters(
        max_codepoint=0x4FF, categories=["Lu", "Ll", "Lo", "Mn", "Nd", "No", "Pd", "Po", "Sc"]
    ),
    max_size=30,
)


def random_table(seed: int = 0, dimensions: int = 6) -> QueryTable:
    rows = np.random.default_rng(seed).standard_normal((len(TOKENS), dimensions))
    rows[2] = 0
    return QueryTable.quantized(rows, PIECES)


@given(
    st.integers(0, 2**32), st.sampled_from([2, 6, 64]), st.sampled_from([1e-45, 1e-30, 1.0, 1e38])
)
def test_rounding_errs_by_at_most_the_scale(seed: int, dimensions: int, size: float) -> None:
    rng = np.random.default_rng(seed)
    rows = (rng.standard_normal((len(TOKENS), dimensions)).clip(-3, 3) * size).astype(np.float32)
    table = QueryTable.quantized(rows, PIECES)
    found = table.coordinates(np.arange(len(TOKENS)))
    largest = np.abs(rows).astype(np.float64).max(axis=1)
    plain = largest / 7
    rounded = np.rint(rows / np.where(plain, plain, 1)[:, np.newaxis]) * plain[:, np.newaxis]
    if size > 1e-38:  # subnormal scales have few bits
        # The first scale tried errs by at most one eighth of the largest value.
        ours, theirs = (np.square((x - rows) / size).sum(axis=1) for x in (found, rounded))
        assert (ours <= dimensions * np.square(largest / size * 0.1251)).all()
        assert ours.sum() <= theirs.sum() or dimensions < 64
    assert (np.abs(found) <= largest[:, np.newaxis] * (1 + 1e-6) + 2e-45).all()


@given(st.integers(0, 2**32))
def test_coordinates_are_codes_times_scales(seed: int) -> None:
    rng = np.random.default_rng(seed)
    codes = rng.integers(0, 256, (len(TOKENS), 3)).astype(np.uint8)
    scales = rng.standard_normal(len(TOKENS)).astype(np.float32)
    table = QueryTable(PIECES, codes, scales)
    numbers = rng.integers(0, len(TOKENS), rng.integers(0, 9))
    expected = [
        [
            (code - 8) * float(scales[n])
            for byte in codes[n].tolist()
            for code in (byte & 15, byte >> 4)
        ]
        for n in numbers.tolist()
    ]
    assert table.coordinates(numbers).shape == (len(numbers), 6)
    assert table.coordinates(numbers).tolist() == expected


@given(texts)
def test_pieces_are_those_of_the_tokenizers_library(text: str) -> None:
    tokenizers = pytest.importorskip("tokenizers")
    if "Σ" in text:
        return  # Python knows the sigma that ends a word
    file = {
        "version": "1.0", "truncation": None, "padding": None, "added_tokens": [], **BERT,
        "post_processor": None, "decoder": None,
        "model": {
            "type": "WordPiece", "unk_token": "[UNK]", "continuing_subword_prefix": "##",
            "max_input_chars_per_word": 10, "vocab": {token: i for i, token in enumerate(TOKENS)},
        },
    }  # fmt: skip
    theirs = tokenizers.Tokenizer.from_str(json.dumps(file)).encode(text, add_special_tokens=False)
    pieces = WordPieces(TOKENS, BERT, max_characters=10)
    table = QueryTable.quantized(np.ones((len(TOKENS), 2)), pieces)
    for _ in range(2):  # the second time from the cache
        assert table.piece_numbers(text) == [number for number in theirs.ids if number != 1]
    assert pieces.pieces([text])[1].tolist() == table.piece_numbers(text)


@given(texts)
def test_words_of_a_text_have_its_pieces(text: str) -> None:
    table = random_table()
    words = table.words_of(text)
    assert [n for _, numbers in words for n in numbers] == table.piece_numbers(text)
    assert all(word and not word.isspace() for word, _ in words)


@given(st.lists(texts, max_size=8), st.integers(0, 9))
def test_sums_are_added_by_ascending_piece(given: list[str], seed: int) -> None:
    table = random_table(seed)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(query_table, "_CHUNK_ROWS", 3)
        sums = table.sums(given)
    for text, row in zip(given, sums, strict=True):
        expected = np.zeros(table.dimensions)
        for piece, count in sorted(Counter(table.piece_numbers(text)).items()):
            expected += count * table.coordinates([piece])[0]
        assert row.tobytes() == expected.tobytes() == table.sums([text]).tobytes()


def test_long_words_and_scripts_without_spaces() -> None:
    table = random_table()
    number = {token: i for i, token in enumerate(TOKENS)}
    a, rest = number["a"], number["##a"]
    assert table.piece_numbers("a" * 100) == [a] + [rest] * 99
    assert table.words_of(f"tea {'a' * 101}") == [("tea", (2,)), ("a" * 101, ())]
    assert table.piece_numbers("日本a") == [number["日"], number["本"], a]
    assert table.words_of("Tea-pots!") == [
        ("tea", (2,)), ("-", (number["-"],)), ("pots", (3, 5)), ("!", ()),
    ]  # fmt: skip
    marks = [TOKENS[i] for i in random_table().marks]
    assert marks == [prefix + mark for prefix in ("", "##") for mark in ".,'-$€+°_"]


def table_in(path: Path) -> QueryTable:
    """The query table of a saved space."""
    table = load_meaning(path).table
    assert table is not None
    return table


def test_a_saved_table_is_equal(tmp_path: Path) -> None:
    table = random_table()
    for _ in range(2):
        save_meaning(MeaningSpace("toy", table=table), tmp_path / "table.npz")
    assert [path.name for path in tmp_path.iterdir()] == ["table.npz"]
    for other in (
        table_in(tmp_path / "table.npz"), QueryTable.from_state(table.state()),
    ):  # fmt: skip
        assert other == table
        assert hash(other) == hash(table)
        assert other.piece_numbers("teapots") == [2, 4, 5]
        assert other.coordinates([4]).tolist() == table.coordinates([4]).tolist()
    assert random_table(1) != table
    other_pieces = WordPieces([*TOKENS[:-1], "x"])
    assert QueryTable(other_pieces, table.codes, table.scales) != table


def test_a_damaged_file_is_named(tmp_path: Path) -> None:
    path = tmp_path / "table.npz"
    save_meaning(MeaningSpace("toy", table=random_table()), path)
    content = path.read_bytes()
    for cut in (0, 10, len(content) // 2, len(content) - 1):
        path.write_bytes(content[:cut])
        with pytest.raises(MalformedFileError, match=r"table\.npz: not a readable .npz archive"):
            table_in(path)
    place = content.index(random_table().codes.tobytes())
    path.write_bytes(content[:place] + bytes([content[place] ^ 1]) + content[place + 1 :])
    with pytest.raises(MalformedFileError, match="CRC"):
        table_in(path)
    with path.open("wb") as file:
        np.save(file, np.zeros(3))
    with pytest.raises(MalformedFileError, match="not a readable"):
        table_in(path)
    with pytest.raises(FileNotFoundError):
        table_in(tmp_path / "none.npz")


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"scales": np.full(len(TOKENS), np.nan, np.float32)}, "scales hold NaN"),
        ({"scales": np.ones(len(TOKENS))}, "scales are float64"),
        ({"scales": np.ones(3, np.float32)}, r"scales are float32 of the shape \(3,\)"),
        ({"codes": np.zeros((3, 3), np.uint8)}, r"codes are uint8 of the shape \(3, 3\)"),
        ({"codes": np.zeros((len(TOKENS), 0), np.uint8)}, "codes are uint8 of the shape"),
        ({"codes": np.zeros((len(TOKENS), 3))}, "codes are float64"),
        ({"codes": None}, "meaning/0/codes"),
        ({"settings": None}, "not a space of meaning: the archive holds meaning/0"),
        ({"settings": np.frombuffer(b"[1]", np.uint8)}, "not a space of meaning"),
        ({"settings": np.frombuffer(b'{"a": 1}', np.uint8)}, "not a space of meaning: 'kind'"),
        ({"settings": np.frombuffer(b"{", np.uint8)}, "not a space of meaning"),
        ({"settings": np.frombuffer(b"\xff\xfe\xff", np.uint8)}, "not a space of meaning"),
        ({"words": np.zeros((2, 2))}, "not a space of meaning: the offsets"),
        ({"codes": np.array([{}], object)}, "a file of another kind, or arrays of Python objects"),
    ],
)
def test_contents_that_do_not_fit_are_named(
    changes: dict[str, np.ndarray | None], message: str, tmp_path: Path
) -> None:
    path = tmp_path / "table.npz"
    save_meaning(MeaningSpace("toy", table=random_table()), path)
    with np.load(path) as archive:
        arrays = {**archive}
    for name, array in changes.items():
        arrays["settings" if name == "settings" else f"meaning/0/{name}"] = array
    np.savez(path, **{name: array for name, array in arrays.items() if array is not None})
    with pytest.raises(MalformedFileError, match=message):
        table_in(path)


def test_a_member_that_promises_too_much_is_named(tmp_path: Path) -> None:
    path = tmp_path / "table.npz"
    header = b"{'descr': '|u1', 'fortran_order': False, 'shape': (20000000, 128), }"
    header = b"\x93NUMPY\x01\x00" + (len(header) + 1).to_bytes(2, "little") + header + b"\n"
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("codes.npy", header + bytes(1000))
    with pytest.raises(MalformedFileError, match="not a readable"):
        table_in(path)


def test_coordinates_that_cannot_be_rounded_are_refused() -> None:
    for rows, message in (
        (np.zeros((len(TOKENS), 3)), "even number"), (np.zeros(4), "even number"),
        (np.full((len(TOKENS), 2), np.nan), "NaN"), (np.zeros((3, 2)), r"codes are uint8 of the"),
    ):  # fmt: skip
        with pytest.raises(InvalidInputError, match=message):
            QueryTable.quantized(rows, PIECES)
