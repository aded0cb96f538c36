"""Files of word vectors: every format read, every break of it named."""

from __future__ import annotations

import contextlib
import gzip
import io
import tracemalloc
import zipfile
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from softcosine.errors import InvalidInputError, MalformedFileError
from softcosine.kernels.decimal import parse_rows
from softcosine.similarity.embeddings import vector_files, vector_text
from softcosine.similarity.embeddings.embedding import EmbeddingSimilarity
from softcosine.similarity.embeddings.vector_files import read_vectors
from softcosine.similarity.embeddings.word_vectors import WordVectors

WORDS = ["the", "Straße", "日本", "l'été", "7"]
VECTORS = np.array(
    [[0.25, -1.5, 3e-3], [1, 0, 0], [-0.125, 2.0, 1e2], [5, 6, 7], [0.1, 0.2, 0.3]], np.float32
)


def as_text(words: list[str] = WORDS, *, header: bool = False, end: str = "\n") -> bytes:
    lines = [f"{len(words)} 3"] if header else []
    lines += [
        " ".join([word, *map(str, row.tolist())]) for word, row in zip(words, VECTORS, strict=True)
    ]
    return (end.join(lines) + end).encode()


def as_binary(*, newlines: bool = False) -> bytes:
    rows = [
        word.encode() + b" " + row.astype("<f4").tobytes()
        for word, row in zip(WORDS, VECTORS, strict=True)
    ]
    return b"5 3\n" + (b"\n" if newlines else b"").join(rows) + (b"\n" if newlines else b"")


def as_npz(**arrays: object) -> bytes:
    file = io.BytesIO()
    np.savez(file, **(arrays or {"words": np.array(WORDS), "vectors": VECTORS}))
    return file.getvalue()


def as_zip(**files: bytes) -> bytes:
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w") as archive:
        for name, content in files.items():
            archive.writestr(name, content)
    return file.getvalue()


def encrypted(archive: bytes) -> bytes:
    """Say of each file of an archive that it is encrypted."""
    content = bytearray(archive)
    for magic, flags in ((b"PK\x03\x04", 6), (b"PK\x01\x02", 8)):
        place = content.find(magic)
        while place >= 0:
            content[place + flags] |= 1
            place = content.find(magic, place + 1)
    return bytes(content)


FORMATS: dict[str, Callable[[], bytes]] = {
    "GloVe text": as_text,
    "GloVe text without a last newline": lambda: as_text().rstrip(b"\n"),
    "word2vec text": lambda: as_text(header=True),
    "fastText with a space at line ends": lambda: as_text(header=True, end=" \n"),
    "fastText .vec": lambda: b"5 3\n" + as_text(end=" \n"),
    "Windows line ends": lambda: as_text(header=True, end="\r\n"),
    "tabs": lambda: as_text().replace(b" ", b"\t"),
    "several spaces": lambda: as_text().replace(b" ", b"   "),
    "byte order mark": lambda: b"\xef\xbb\xbf" + as_text(),
    "byte order mark before a header": lambda: b"\xef\xbb\xbf" + as_text(header=True),
    "blank lines": lambda: b"\n" + as_text(end="\n\n") + b"\n",
    "gzipped text": lambda: gzip.compress(as_text(header=True)),
    "word2vec binary": as_binary,
    "word2vec binary with newlines": lambda: as_binary(newlines=True),
    "gzipped binary": lambda: gzip.compress(as_binary()),
    "npz": as_npz,
    "npz of bytes": lambda: as_npz(
        labels=np.array([word.encode() for word in WORDS]), matrix=VECTORS
    ),
    "npz of a text": lambda: as_npz(
        tokens=np.frombuffer("\n".join(WORDS).encode(), np.uint8), v=VECTORS
    ),
}


def check(table: WordVectors, words: list[str] = WORDS) -> None:
    assert table.words == tuple(words)
    rows = [WORDS.index(word) for word in words]
    assert table.state()[1]["vectors"].tolist() == VECTORS[rows].tolist()


@pytest.mark.parametrize("name", FORMATS)
@pytest.mark.parametrize("piece", [1, 7, 1 << 20])
def test_every_format_is_told_by_its_content(
    name: str, piece: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(vector_files, "_PIECE", piece)
    monkeypatch.setattr(vector_files, "_SAMPLE", 64)
    path = tmp_path / "vectors.any"
    path.write_bytes(FORMATS[name]())
    check(read_vectors(path))


@pytest.mark.parametrize("name", FORMATS)
def test_only_the_wanted_words_are_kept_in_any_case(name: str, tmp_path: Path) -> None:
    path = tmp_path / "vectors"
    path.write_bytes(FORMATS[name]())
    source = EmbeddingSimilarity.load(path, words=["THE", "STRASSE", "absent"], threshold=0.4)
    assert source.words == ("the", "Straße")
    assert source.threshold == 0.4


def test_small_integers_come_with_their_scales(tmp_path: Path) -> None:
    path = tmp_path / "small.npz"
    vectors = np.array([[1, 1], [1, -1]], np.int8)
    np.savez(path, words=np.array(["a", "b"]), vectors=vectors, scales=np.array([1.0, 3.0]))
    table = read_vectors(path)
    assert table.state()[1]["vectors"].dtype == np.int8
    cosine = EmbeddingSimilarity.of_table(table, threshold=0.0, exponent=1.0)
    assert cosine.similarities(["a"], ["b"]).item() == 0.0
    assert read_vectors(path, words=["B"]).words == ("b",)


def test_words_may_hold_spaces(tmp_path: Path) -> None:
    path = tmp_path / "glove.840B.txt"
    path.write_bytes(b"a 1 2\n. . . 3 4\nat name@domain.com 5 6\n")
    table = read_vectors(path)
    assert table.words == ("a", ". . .", "at name@domain.com")
    assert table.state()[1]["vectors"].tolist() == [[1, 2], [3, 4], [5, 6]]


def test_white_space_other_than_spaces_is_part_of_a_word(tmp_path: Path) -> None:
    path = tmp_path / "odd.txt"
    path.write_bytes("a\u00a0b 1 2\nc\x0bd 3 4\nnew york  5 6\n".encode())
    assert read_vectors(path).words == ("a\u00a0b", "c\x0bd", "new york")


def test_a_word_may_begin_as_an_archive_does(tmp_path: Path) -> None:
    path = tmp_path / "genes.txt"
    path.write_bytes(b"PKD1 1 2\nPKD2 3 4\n")
    assert read_vectors(path).words == ("PKD1", "PKD2")


def test_words_in_long_scripts_are_no_binary_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "long.txt"
    words = [letter * 40 for letter in "日本語"]
    path.write_bytes(as_text(words + WORDS[:2], header=True))
    for sample in range(100, 110):  # whose end falls within a character
        monkeypatch.setattr(vector_files, "_SAMPLE", sample)
        assert read_vectors(path).words == (*words, *WORDS[:2])


def test_bytes_that_are_not_utf8_are_replaced(tmp_path: Path) -> None:
    path = tmp_path / "latin1.txt"
    path.write_bytes("été 1.25 2.5\nnuit 3.0 4.5\n".encode("latin-1"))
    assert read_vectors(path).words == ("\ufffdt\ufffd", "nuit")


def test_progress_ends_at_the_size_of_the_file(tmp_path: Path) -> None:
    path = tmp_path / "vectors.txt"
    path.write_bytes(as_text())
    calls: list[tuple[int, int]] = []
    read_vectors(path, progress=lambda done, total: calls.append((done, total)))
    size = path.stat().st_size
    assert calls[-1] == (size, size)
    assert calls == sorted(calls)


BROKEN = {
    "empty": (b"", "the file is empty", None),
    "blank": (b"\n \n", "no word with a vector", None),
    "words only": (b"one\ntwo\n", "no numbers stand after the word", 1),
    "prose": (b"Call me Ishmael.\nSome years ago,\n", "'me' stands where a finite number", 1),
    "too few numbers": (b"a 1 2 3\nb 1 2\nc 1 2 3\n", "'b' has 2 numbers.* 3 dimensions", 2),
    "too many numbers": (b"a 1 2\nb 1 2\nc 1 2 3\n", "'c' has 3 numbers.* 2 dimensions", 3),
    "not a number": (b"2 2\na 1 2\nb 1 x2\n", "'x2' stands .*number 2 of 2", 3),
    "NaN": (b"a 1 2\n\nb nan 2\n", "'nan' stands", 3),
    "infinity": (b"a 1 2\nb 1 1e39\n", "'1e39' stands", 2),
    "underscore": (b"a 1 2\nb 1 1_0\n", "'1_0' stands", 2),
    "two points": (b"a 1 2\nb 1 1.0.1\n", "'1.0.1' stands", 2),
    "bare exponent": (b"a 1 2\nb 1 1e\n", "'1e' stands", 2),
    "promises more": (b"3 2\na 1 2\nb 1 2\n", "promises 3 words, but the file holds 2", 1),
    "promises fewer": (b"1 2\na 1 2\nb 1 2\n", "promises 1 words, but the file holds 2", 1),
    "promises other dimensions": (b"2 3\na 1 2\nb 1 2\n", "'a' has 2 numbers", 2),
    "nothing but form feeds": (b"\x0c\n\x0c\n", "no numbers stand after the word", 1),
    "a form feed": (b"a 1 2\n\x0c\nb 1 2\n", r"has 0 numbers", 2),
    "a vertical tab for a number": (b"a 1 2\nb 1 \x0b\n", r"'\\x0b' stands .*number 2 of 2", 2),
    "promises a monstrous size": (b"1 999999999\na 1\n", "'a' has 1 numbers", 2),
    "binary of a monstrous size": (b"1 999999999\na " + bytes(8), "ends after 0", None),
    "promises none": (b"2 0\na\nb\n", "0 dimensions", 1),
    "binary cut short": (as_binary()[:-5], "promises 5 words of 3 .* ends after 4", None),
    "binary goes on": (as_binary() + b"more", "goes on after them", None),
    "binary holds NaN": (
        b"1 2\na " + np.array([1, np.nan], "<f4").tobytes(),
        "vector of 'a' .* NaN",
        None,
    ),
    "PNG": (b"\x89PNG\r\n\x1a\n\x00\x00\x00\rIHDR", "neither text nor a known format", None),
    "UTF-16": ("a 1 2\n".encode("utf-16"), "it is UTF-16 text; convert it", None),
    "gzip cut short": (gzip.compress(as_text() * 99)[:-20], "compressed file is damaged", None),
    "gzip of nothing": (gzip.compress(b""), "no word with a vector", None),
    "gzip altered": (gzip.compress(as_text())[:-8] + bytes(8), "compressed file is damaged", None),
    "zip cut short": (as_npz()[:200], "not a readable .npz", None),
    "npz of other files": (
        as_zip(words=b"a\nb", vectors=b"1 2"),
        r"'words' is of type \|S3 and shape \(\)",
        None,
    ),
    "encrypted zip": (encrypted(as_npz()), "not a readable .npz archive: .*encrypted", None),
    "npz without words": (as_npz(vectors=VECTORS, x=[1]), "holds vectors, x; needed is", None),
    "npz of objects": (
        as_npz(words=np.array(["a", None], object), vectors=VECTORS),
        "Python objects.* array of strings",
        None,
    ),
    "npz with numbers for words": (
        as_npz(words=np.arange(5), vectors=VECTORS),
        "'words' is of type int64",
        None,
    ),
    "npz that does not fit": (
        as_npz(words=np.array(["a"]), vectors=VECTORS),
        "1 words but 5 vectors",
        None,
    ),
    "npz with wrong scales": (
        as_npz(words=np.array(WORDS), vectors=VECTORS, scales=np.ones(2)),
        "one number for each component, 3",
        None,
    ),
    "npy": (b"\x93NUMPY\x01\x00", "neither text nor a known format", None),
}


@pytest.mark.parametrize("name", BROKEN)
def test_a_broken_file_is_named_with_its_line(name: str, tmp_path: Path) -> None:
    content, message, line = BROKEN[name]
    path = tmp_path / "broken"
    path.write_bytes(content)
    with pytest.raises(MalformedFileError, match=message) as raised:
        read_vectors(path)
    assert raised.value.line == line
    assert str(raised.value).startswith(f"{path}, line {line}:" if line else f"{path}:")


@pytest.mark.parametrize("name", FORMATS)
def test_a_file_with_altered_bytes_is_read_or_named(name: str, tmp_path: Path) -> None:
    content = FORMATS[name]()
    random = np.random.default_rng(0)
    for _ in range(60):
        altered = bytearray(content)
        for place in random.integers(0, len(content), random.integers(1, 4)).tolist():
            altered[place] = random.choice([0, 10, 32, 45, 57, 127, 255, altered[place] ^ 4])
        path = tmp_path / "v.any"
        path.write_bytes(
            altered[: random.integers(1, len(content)) if random.random() < 0.2 else None]
        )
        with contextlib.suppress(MalformedFileError):
            source = EmbeddingSimilarity.load(path)
            assert np.isfinite(source.similarities(WORDS, WORDS[::-1])).all()


def test_a_line_without_end_is_no_table(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(vector_files, "_PIECE", 100)
    monkeypatch.setattr(vector_files, "_LONGEST", 1000)
    path = tmp_path / "one.json"
    path.write_bytes(b'{"a": [' + b"1, " * 9000)
    with pytest.raises(MalformedFileError, match="a line is longer than 1000 bytes"):
        read_vectors(path)
    path.write_bytes(b"9 9\n" + bytes(20_000))
    with pytest.raises(MalformedFileError, match="word 1 and its vector are longer than 1000"):
        read_vectors(path)


def test_wanted_words_are_no_single_string(tmp_path: Path) -> None:
    (tmp_path / "v.txt").write_bytes(as_text())
    with pytest.raises(InvalidInputError, match="words is a single string"):
        read_vectors(tmp_path / "v.txt", words="tyre")


def test_settings_are_looked_at_before_the_file(tmp_path: Path) -> None:
    for settings in ({"threshold": 7}, {"exponent": "much"}):
        with pytest.raises(InvalidInputError, match=next(iter(settings))):
            EmbeddingSimilarity.load(tmp_path / "nowhere.txt", **settings)  # type: ignore[arg-type]
        with pytest.raises(InvalidInputError, match=next(iter(settings))):
            EmbeddingSimilarity.from_pretrained("no/such", **settings)  # type: ignore[arg-type]


def test_words_that_are_not_wanted_take_no_memory(tmp_path: Path) -> None:
    path = tmp_path / "many.txt"
    numbers = " ".join(["0.125"] * 100)
    path.write_text("".join(f"word{i} {numbers}\n" for i in range(30_000)))
    wanted = [f"WORD{i}" for i in range(0, 30_000, 300)]
    read_vectors(path, words=["warm up"])
    tracemalloc.start()
    try:
        table = read_vectors(path, words=wanted)
        kept, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert len(table) == 100
    # All vectors would take 12 MB; a piece of the file and what is cut out of it take the most.
    assert kept < 400_000
    assert peak < 8 * vector_files._PIECE


def test_threads_do_not_change_a_bit(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "many.txt"
    rows = np.random.default_rng(0).standard_normal((5000, 3))
    path.write_text("".join(f"w{i} {a} {b} {c}\n" for i, (a, b, c) in enumerate(rows.tolist())))
    answers = set()
    for n_cpus, chunk in ((1, 1024), (3, 7), (2, 1)):
        monkeypatch.setenv("SOFTCOSINE_THREADS", str(n_cpus))
        monkeypatch.setattr(vector_text, "_CHUNK_ROWS", chunk)
        answers.add(read_vectors(path).state()[1]["vectors"].tobytes())
    assert answers == {rows.astype(np.float32).tobytes()}


def test_a_missing_file_is_just_that(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError):
        read_vectors(tmp_path / "nowhere.txt")


def parsed(text: str, n: int) -> tuple[int, NDArray[np.float32]]:
    numbers = np.zeros((1, n), np.float32)
    content = np.frombuffer(bytearray(text.encode()), np.uint8)
    n_good = np.zeros(1, np.int32)
    parse_rows(content, np.zeros(1, np.int64), np.array([len(content)]), 0, 1, numbers, n_good)
    return n_good.item(), numbers[0]


@given(st.lists(st.floats(width=32, allow_nan=False, allow_infinity=False), min_size=1))
def test_the_shortest_decimals_are_read_back_to_the_bit(values: list[float]) -> None:
    expected = np.array(values, np.float32)
    text = " ".join(np.format_float_scientific(value, trim="-") for value in expected)
    n_good, numbers = parsed(text, len(values))
    assert n_good == len(values)
    assert numbers.tobytes() == expected.tobytes()


@given(
    st.from_regex(
        r"[-+]?([0-9]{1,25}\.?[0-9]{0,25}|\.[0-9]{1,25})([eE][-+]?[0-9]{1,3})?", fullmatch=True
    )
)
def test_every_way_to_write_a_number_is_read(text: str) -> None:
    n_good, numbers = parsed(text, 1)
    with np.errstate(over="ignore"):
        expected = np.float32(float(text))
    if n_good:
        assert abs(np.float64(numbers[0]) - expected) <= np.spacing(np.abs(expected))
    else:
        assert abs(float(text)) > 3.4e38


@pytest.mark.parametrize("text", ["", "-", ".", "e5", "1e", "1 ", "0x10", "1,5", "inf", "1-"])
def test_what_is_not_a_number_is_not_read(text: str) -> None:
    assert parsed(text, 2)[0] < 2
