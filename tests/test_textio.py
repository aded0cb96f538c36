"""Text files, compressed or not."""

from __future__ import annotations

import gzip
import lzma
from pathlib import Path

import pytest

from softcosine import _textio
from softcosine._textio import numbered_lines, opened
from softcosine.errors import MalformedFileError

TEXT = "\ufeffgreen tea\r\n\n caf\u00e9 \n"


@pytest.mark.parametrize("packed", [bytes, gzip.compress, lzma.compress])
def test_lines_are_read_whatever_packed_them(tmp_path: Path, packed) -> None:
    file = tmp_path / "a.txt"
    file.write_bytes(packed(TEXT.encode()))
    assert list(numbered_lines(file)) == [(1, "green tea"), (3, " caf\u00e9 ")]
    with opened(file) as text:
        assert list(text.lines()) == [(1, "green tea\n"), (2, "\n"), (3, " caf\u00e9 \n")]


def test_progress_ends_with_the_file(tmp_path: Path) -> None:
    file = tmp_path / "a.txt"
    file.write_text("tea\n" * 70_000)
    calls: list[tuple[int, int]] = []
    assert len(list(numbered_lines(file, progress=lambda *far: calls.append(far)))) == 70_000
    assert len(calls) == 2
    assert calls[-1] == (280_000, 280_000)


@pytest.mark.parametrize("packed", [gzip.compress, lzma.compress])
def test_a_file_cut_short_is_named_with_the_line(tmp_path: Path, packed) -> None:
    file = tmp_path / "a.txt"
    file.write_bytes(packed(TEXT.encode())[:-9])
    with pytest.raises(MalformedFileError, match=r"a\.txt.*cut short or damaged"):
        list(numbered_lines(file))


def test_what_to_do_about_an_encoding_depends_on_who_can_name_one(tmp_path: Path) -> None:
    file = tmp_path / "a.txt"
    file.write_bytes("tea\ncaf\u00e9\n".encode("latin-1"))
    with pytest.raises(MalformedFileError, match=r"line 2: this is not utf-8; convert it: iconv"):
        list(numbered_lines(file))
    with pytest.raises(MalformedFileError, match=r"line 2: this is not utf-8; name the encoding"):
        list(numbered_lines(file, encoding="utf-8"))
    assert list(numbered_lines(file, encoding="latin-1"))[1] == (2, "caf\u00e9")


@pytest.mark.parametrize(
    ("encoding", "lines"),
    [
        ("latin-1", ["tea", "caf\u00e9", "th\u00e9 \u00ab 5 \u00a3 \u00bb"]),
        ("cp1252", ["caf\u00e9 first", "it\u2019s 5 \u20ac \u2026 \u2013 \u2122"]),
        ("cp850", ["caf\u00e9", "gr\u00fcn"]),
    ],
)
def test_the_encoding_that_is_proposed_reads_the_text_as_it_is(tmp_path: Path, encoding, lines):
    file = tmp_path / "a.txt"
    file.write_bytes("\n".join(lines).encode(encoding))
    for options, proposal in (({}, "iconv -f "), ({"encoding": "utf-8"}, "such as ")):
        with pytest.raises(MalformedFileError, match=f"{proposal}{encoding}"):
            list(numbered_lines(file, **options))
    assert [line for _, line in numbered_lines(file, encoding=encoding)] == lines


def test_a_line_without_end_is_an_error_before_it_fills_the_memory(tmp_path: Path, monkeypatch):
    file = tmp_path / "a.txt"
    for content, line in (("tea\n" + "x" * 3_000_000, 2), ("\0" * 3_000_000, 1)):
        file.write_text(content)
        assert len(list(numbered_lines(file))) == 2 if line == 2 else True
        monkeypatch.setattr(_textio, "_LONGEST", 1 << 21)
        message = "exceeds 2,097,152 characters" if line == 2 else "it holds NUL"
        with pytest.raises(MalformedFileError, match=f"line {line}: .*{message}"):
            list(numbered_lines(file))
    with opened("/dev/zero") as text, pytest.raises(MalformedFileError, match="NUL"):
        list(text.lines())
