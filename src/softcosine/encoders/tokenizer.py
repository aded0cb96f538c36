"""Tokenizers of ONNX encoders: a text becomes numbers of tokens."""

from __future__ import annotations

import json
import re
import unicodedata
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Protocol

import numpy as np

from softcosine.errors import MalformedFileError
from softcosine.kernels.pieces import likeliest_pieces
from softcosine.storage import NPZ_ERRORS
from softcosine.text.pieces import StringTable


class Tokenizer(Protocol):
    """Protocol of tokenizers."""

    def encode(self, text: str, /) -> tuple[list[int], bool]:
        """Return the numbers of a text's tokens, and whether the limit has cut it short."""
        ...

    def to_json(self) -> Mapping[str, Any]:
        """Return the tokenizer in the format of ``tokenizer.json``."""
        ...


def tokenizer_of(path: Path, max_tokens: int | None) -> Tokenizer:
    """Return the tokenizer of a file ``tokenizer.json``, or of one that `Unigram` reads."""
    return (Unigram if path.suffix == ".npz" else JsonTokenizer)(path, max_tokens)


class JsonTokenizer:
    """Tokenizer of the library tokenizers, from its ``tokenizer.json``."""

    def __init__(self, path: Path, max_tokens: int | None) -> None:
        from tokenizers import Tokenizer

        try:
            self._tokenizer = Tokenizer.from_file(str(path))
        except Exception as error:  # of a damaged file; the package has no class for them
            raise MalformedFileError(path, f"the tokenizer cannot be loaded: {error}") from error
        self._tokenizer.no_padding()
        if max_tokens is None:
            self._tokenizer.no_truncation()
        else:
            self._tokenizer.enable_truncation(max_tokens)

    def encode(self, text: str, /) -> tuple[list[int], bool]:
        """Return the numbers of a text's tokens, and whether the limit has cut it short."""
        encoding = self._tokenizer.encode(text)
        return encoding.ids, bool(encoding.overflowing)

    def to_json(self) -> Mapping[str, Any]:
        """Return the tokenizer in the format of ``tokenizer.json``."""
        parsed: Mapping[str, Any] = json.loads(self._tokenizer.to_str())
        return parsed


_CLASSES = np.arange(256, dtype=np.uint8)
_CLASSES[10] = 0  # line ends separate pieces
_BEGIN, _END, _UNKNOWN = 0, 2, 3  # numbers of <s>, </s>, <unk>
_BELOW = 10.0  # how far the score of an unknown character is below the least
_SPACE = "\u2581"
# What sentencepiece's nmt_nfkc does besides NFKC: controls are dropped, separators are spaces.
_REMOVED = re.compile("[\x00-\x08\x0b\x0e-\x1f\x7f\x8f\x9f]")
_SPACES = re.compile("[\\s\u200b-\u200f\u2581\ufeff\ufffd]+")


class Unigram:
    """Tokenizer of multilingual models: the likeliest pieces of a text, within <s> and </s>.

    A unigram language model of sentencepiece (Kudo 2018, "Subword Regularization", section 3.2),
    which loads in a twentieth of the time that the library tokenizers takes.

    Parameters
    ----------
    path : path
        An ``.npz`` archive: ``pieces``, their UTF-8 with line ends between, in the order of their
        numbers; ``scores``, their logarithms of probability, -inf for special tokens.
    max_tokens : int, optional
    """

    def __init__(self, path: Path, max_tokens: int | None = None) -> None:
        try:
            with np.load(path, allow_pickle=False) as archive:
                pieces, scores = archive["pieces"].tobytes(), archive["scores"]
        except NPZ_ERRORS as error:
            raise MalformedFileError(path, f"the tokenizer cannot be loaded: {error}") from error
        self._scores = scores.astype(np.float64)
        self._max_tokens = max_tokens
        self._table = StringTable(_CLASSES)
        self._table.number([pieces])
        if len(self._table) != len(self._scores):
            raise MalformedFileError(
                path, f"it has {len(self._table)} pieces, but {len(self._scores)} scores."
            )
        self._longest = int(np.diff(self._table.starts[: len(self._table) + 1]).max()) - 1
        self._unknown = float(self._scores[np.isfinite(self._scores)].min()) - _BELOW

    def encode(self, text: str, /) -> tuple[list[int], bool]:
        """Return the numbers of a text's tokens, and whether the limit has cut it short."""
        text = unicodedata.normalize("NFKC", _SPACES.sub(" ", _REMOVED.sub("", text)))
        data = "".join(_SPACE + word for word in text.split()).encode()
        size, table = len(data) + 1, self._table
        numbers, room = np.empty(size, np.int32), (np.empty(size), np.empty(size, np.int64))
        pieces = table.slots, table.starts, table.arena, self._scores, self._longest, self._unknown
        n = likeliest_pieces(np.frombuffer(data, np.uint8), *pieces, *room, numbers)
        most = n if self._max_tokens is None else min(n, self._max_tokens - 2)
        own = numbers[:most]
        own[own < 0] = _UNKNOWN
        return [_BEGIN, *own.tolist(), _END], most < n

    def cut(self, run: str, /) -> list[str]:
        """Return the words of a run of characters without spaces: its pieces, else characters.

        Combining marks belong to what is before them.
        """
        starts, arena = self._table.starts, self._table.arena
        pieces = [
            arena[starts[i] : starts[i + 1] - 1].tobytes().decode() for i in self.encode(run)[0]
        ]
        pieces = "\n".join(pieces[1:-1]).replace(_SPACE, "").split("\n")
        words = list[str]()
        for piece in pieces if "".join(pieces) == run else run:
            if words and unicodedata.category(piece[:1] or "a")[0] == "M":
                words[-1] += piece
            elif piece:
                words.append(piece)
        return words

    def to_json(self) -> Mapping[str, Any]:
        """Return pieces and scores in the format of ``tokenizer.json``."""
        data = self._table.arena[: self._table.starts[len(self._table)]].tobytes().decode()
        pieces = data.split(" ")[:-1]
        special = np.flatnonzero(np.isneginf(self._scores)).tolist()
        return {
            "normalizer": {"type": "NFKC"},
            "added_tokens": [{"id": i, "content": pieces[i], "special": True} for i in special],
            "model": {
                "type": "Unigram",
                "unk_id": _UNKNOWN,
                "vocab": list(zip(pieces, self._scores.tolist(), strict=True)),
            },
        }
