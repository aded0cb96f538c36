"""The unigram tokenizer of multilingual encoders, against its definition."""

from __future__ import annotations

import math
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from softcosine.encoders.tokenizer import Unigram, tokenizer_of

SPECIAL = ["<s>", "<pad>", "</s>", "<unk>"]
SCORES = {
    "\u2581": -3.0, "a": -4.0, "b": -4.5, "\u2581a": -3.5, "ab": -5.0, "ba": -6.25,
    "\u2581ab": -7.0, "aba": -9.0, "é": -5.0, "日本": -6.0, "本": -7.5, "日": -8.25, "bb": -20.0,
}  # fmt: skip


@pytest.fixture(scope="module")
def file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("unigram") / "unigram.npz"
    pieces = "\n".join([*SPECIAL, *SCORES])
    scores = [-np.inf] * len(SPECIAL) + list(SCORES.values())
    np.savez(path, pieces=np.frombuffer(pieces.encode(), np.uint8), scores=scores)
    return path


def best(text: str) -> tuple[float, list[str]]:
    """Return the greatest sum of scores of a text, and its pieces; the last is the longest."""
    unknown = min(SCORES.values()) - 10.0
    sums, pieces = [0.0] + [-math.inf] * len(text), [[]] + [[]] * len(text)
    for stop in range(1, len(text) + 1):
        for start in range(stop):
            piece = text[start:stop]
            score = SCORES.get(piece, unknown if stop - start == 1 else -math.inf)
            if sums[start] + score > sums[stop]:
                sums[stop], pieces[stop] = sums[start] + score, [*pieces[start], piece]
    return sums[-1], pieces[-1]


@given(st.text("ab日本é?😀 \t\u200b", max_size=12))
def test_pieces_have_the_greatest_sum(file: Path, text: str) -> None:
    ids, cut = Unigram(file).encode(text)
    words = text.replace("\u200b", " ").split()
    expected = []
    for word in words:
        for piece in best("\u2581" + word)[1]:
            number = 4 + list(SCORES).index(piece) if piece in SCORES else 3
            if (number, expected[-1:]) != (3, [3]):
                expected.append(number)
    assert ids == [0, *expected, 2]
    assert not cut


def test_texts_are_normalised_as_by_sentencepiece(file: Path) -> None:
    tokenizer = Unigram(file)
    plain = tokenizer.encode("a é ab")
    assert tokenizer.encode(" a\u3000e\u0301\u200da\x00b\n") == tokenizer.encode("a é ab")
    assert tokenizer.encode("ａ é\u2581\u2581ab") == plain
    assert tokenizer.encode("") == ([0, 2], False)
    assert tokenizer.encode("<s> a")[0].count(0) == 1  # special tokens are no pieces of text


def test_long_texts_are_cut_to_the_limit(file: Path) -> None:
    whole = Unigram(file).encode("ab " * 2_000)[0]
    assert tokenizer_of(file, 10).encode("ab " * 2_000) == ([*whole[:9], 2], True)


def test_a_damaged_file_is_an_error(tmp_path: Path) -> None:
    path = tmp_path / "unigram.npz"
    np.savez(path, pieces=np.frombuffer(b"a\nb", np.uint8), scores=[-1.0])
    with pytest.raises(ValueError, match="2 pieces, but 1 scores"):
        Unigram(path)


def test_text_without_spaces_is_cut_into_pieces_or_characters(file: Path) -> None:
    tokenizer = Unigram(file, 10)
    assert tokenizer.cut("日本本ab") == ["日本", "本", "ab"]
    assert tokenizer.cut("日か日") == ["日", "か", "日"]  # unknown
    assert tokenizer.cut("日กี่本") == ["日", "กี่", "本"]
    assert tokenizer.cut("日本" * 20) == ["日", "本"] * 20  # longer than the model reads
    assert tokenizer.cut("\u0e35") == ["\u0e35"]
    assert tokenizer.cut("") == []
