"""Texts as numbers of words: a fast compiled split into chunks, each of which is split once.

A chunk (called piece in the code) is the text between two characters that no word contains, such as
spaces and commas. A corpus has few distinct chunks compared with its length, and the words of a
text are the words of its chunks, so the rules for words are applied once to each distinct chunk.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from itertools import chain, count, islice
from typing import Any

import numpy as np
from numpy.typing import NDArray

from softcosine._ragged import running_sum
from softcosine.kernels.counting import expand
from softcosine.kernels.pieces import number_pieces, reinsert, split_pieces
from softcosine.text.words import (
    JOINED,
    LONGEST_JOINED,
    MAX_WORD_LENGTH,
    MOST_PARTS,
    Segmenter,
    cuttable,
    find_words,
    has_unspaced,
)

# Map of each UTF-8 byte: ASCII letters are lower-cased; ASCII characters that no word contains
# separate.
_CLASSES = np.array(
    [
        ord(chr(byte).lower()) if byte > 127 or chr(byte).isalnum() or chr(byte) in "'.+#" else 0
        for byte in range(128)
    ]
    + list(range(128, 256)),
    dtype=np.uint8,
)
_CLASSES_WITH_JOINTS = _CLASSES.copy()  # where joints do not separate
_CLASSES_WITH_JOINTS[list(b"-/&_")] = list(b"-/&-")
_CLASSES_OF_WORDS = np.arange(256, dtype=np.uint8)
_CLASSES_OF_WORDS[ord(" ")] = 0
_MARK = np.array([*JOINED.encode()], np.uint8)


class StringTable:
    """The distinct byte strings between separators, numbered by first occurrence.

    Parameters
    ----------
    classes : ndarray of shape (256,), uint8
        Class of each byte, as for `number_pieces`.

    Attributes
    ----------
    slots, starts, arena : ndarray
        The hash table, as in `number_pieces`.
    """

    def __init__(self, classes: NDArray[np.uint8]) -> None:
        self._classes = classes
        self.slots = np.full(1 << 12, -1, dtype=np.int64)
        self.starts = np.zeros((1 << 11) + 1, dtype=np.int64)
        self.arena = np.empty(1 << 14, dtype=np.uint8)
        self._n_strings = 0

    def __len__(self) -> int:
        """Return the number of distinct strings."""
        return self._n_strings

    def number(self, texts: Sequence[bytes]) -> tuple[NDArray[np.int32], NDArray[np.int64]]:
        """Return the numbers of the strings of some texts, and how many each text has.

        Returns
        -------
        numbers : ndarray of shape (n_running_strings,), int32
        lengths : ndarray of shape (n_texts,), int64
        """
        text = np.frombuffer(bytearray().join(texts), dtype=np.uint8)
        ends = np.cumsum([len(data) for data in texts], dtype=np.int64)
        numbers = np.empty(len(text), dtype=np.int32)
        number_ends = np.zeros(len(texts), dtype=np.int64)
        state = np.array([0, 0, self._n_strings, 0], dtype=np.int64)
        while True:
            table = self._classes, self.slots, self.starts, self.arena
            number_pieces(text, ends, *table, numbers, number_ends, state)
            self._n_strings = int(state[2])
            if state[0] == len(texts):
                return numbers[: state[3]], np.diff(number_ends, prepend=0)
            self._grow(len(text))

    def strings(self, first: int) -> list[str]:
        """Return the strings from number `first` on."""
        data = self.arena[self.starts[first] : self.starts[len(self)]].tobytes()
        return data.decode("utf-8", "surrogatepass").split(" ")[:-1]

    def _grow(self, n_bytes: int) -> None:
        """Make room: more slots if half of them are used, else more bytes in the arena."""
        if 2 * self._n_strings >= len(self.slots) - 1:
            entries = self.slots[self.slots >= 0]
            self.slots = np.full(4 * len(self.slots), -1, dtype=np.int64)
            reinsert(entries, self.slots)
            self.starts = _lengthened(self.starts, len(self.slots) // 2 + 1)
        else:
            self.arena = _lengthened(self.arena, 2 * len(self.arena) + n_bytes)


class PieceTable:
    """The distinct chunks of texts, numbered by first occurrence.

    Parameters
    ----------
    segmenter : callable, optional
        For text without spaces; see `find_words`.
    joints : bool
        Whether joined words follow their parts; see `find_words`.
    """

    def __init__(self, segmenter: Segmenter | None = None, *, joints: bool = False) -> None:
        self._segmenter = segmenter
        self._joints = joints
        self._table = StringTable(_CLASSES_WITH_JOINTS if joints else _CLASSES)
        self._words = StringTable(_CLASSES_OF_WORDS)
        self._starts = np.zeros(1, np.int64)  # where the words of each chunk begin
        self._running = np.empty(0, np.int32)  # words of the first chunk, of the second, and so on

    def __len__(self) -> int:
        """Return the number of distinct chunks."""
        return len(self._table)

    def number(self, texts: Sequence[str]) -> tuple[NDArray[np.int32], NDArray[np.int64]]:
        """Return the word numbers of some texts, not normalised, and the number of each text."""
        chunks, n_chunks = self._table.number([
            cuttable(text, self._segmenter).encode("utf-8", "surrogatepass") for text in texts
        ])  # fmt: skip
        self._split_new()
        words = np.empty(np.diff(self._starts)[chunks].sum(), np.int32)
        ends = np.empty(len(texts) + 1, np.int64)
        expand(chunks, running_sum(n_chunks), self._starts, self._running, words, ends)
        return words, np.diff(ends)

    def words(self, first: int) -> list[str]:
        """Return the distinct words from number `first` on."""
        return self._words.strings(first)

    def _split_new(self) -> None:
        """Split the chunks that were not there before into words."""
        starts = self._table.starts[len(self._starts) - 1 : len(self) + 1]
        arena, starts = self._table.arena[starts[0] : starts[-1]], starts - starts[0]
        n_words = np.empty(len(starts) - 1, np.int64)
        words = np.empty((3 + len(_MARK)) * len(arena), np.uint8)
        longest = LONGEST_JOINED if self._joints else 0
        n_bytes = split_pieces(
            arena, starts, MAX_WORD_LENGTH, MOST_PARTS, longest, _MARK, words, n_words
        )
        rest = n_words < 0
        found = []
        for i in np.flatnonzero(rest).tolist():
            piece = arena[starts[i] : starts[i + 1] - 1].tobytes().decode("utf-8", "surrogatepass")
            # A segmented word is final; segmented again by itself, it might be split further.
            segmented = self._segmenter is not None and has_unspaced(piece)
            found.append([piece] if segmented else find_words(piece, joints=self._joints))
        n_words[rest] = list(map(len, found))
        further = " ".join(chain.from_iterable(found)).encode("utf-8", "surrogatepass")
        numbers, (n_ascii, _) = self._words.number([words[:n_bytes].tobytes(), further])
        running, in_rest = np.empty(len(numbers), np.int32), np.repeat(rest, n_words)
        running[~in_rest], running[in_rest] = numbers[:n_ascii], numbers[n_ascii:]
        ends = self._starts[-1] + np.cumsum(n_words)
        self._starts = np.concatenate([self._starts, ends])
        self._running = np.concatenate([self._running, running])


class TokenTable:
    """The distinct tokens of documents given as token lists; each token is one word."""

    def __init__(self) -> None:
        self._numbers: defaultdict[str, int] = defaultdict(count().__next__)

    def __len__(self) -> int:
        """Return the number of distinct tokens."""
        return len(self._numbers)

    def number(
        self, documents: Sequence[Sequence[str]]
    ) -> tuple[NDArray[np.int32], NDArray[np.int64]]:
        """Return the token numbers of some documents, and the number of tokens of each."""
        lengths = np.fromiter(map(len, documents), np.int64, len(documents))
        numbers = map(self._numbers.__getitem__, chain.from_iterable(documents))
        return np.fromiter(numbers, np.int32, int(lengths.sum())), lengths

    def words(self, first: int) -> list[str]:
        """Return the distinct tokens from number `first` on."""
        return list(map(str, islice(self._numbers, first, None)))


def _lengthened(array: NDArray[Any], length: int) -> NDArray[Any]:
    longer = np.empty(length, dtype=array.dtype)
    longer[: len(array)] = array
    return longer
