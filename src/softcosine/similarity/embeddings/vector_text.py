"""Parser of word vectors in text form, one word with its numbers per line."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from softcosine._threads import Workers
from softcosine.errors import MalformedFileError
from softcosine.kernels.decimal import find_words, parse_rows
from softcosine.similarity.embeddings.word_vectors import WordVectors

_CHUNK_ROWS = 1024  # lines per task of a thread
_LOOKED_AT = 100  # lines used to detect the dimensions, without a header


class GrowingRows:
    """A matrix that grows in place, so that it is never in memory twice."""

    def __init__(self, dimensions: int) -> None:
        self._rows = np.empty((0, dimensions), np.float32)  # the header may be wrong
        self._size = 0

    def add(self, n_rows: int) -> NDArray[np.float32]:
        """Return new rows at the end; fill them before adding more."""
        needed = self._size + n_rows
        if needed > len(self._rows):
            shape = (max(needed, len(self._rows) * 3 // 2), self._rows.shape[1])
            self._rows.resize(shape, refcheck=False)
        rows = self._rows[self._size : needed]
        self._size = needed
        return rows

    def matrix(self) -> NDArray[np.float32]:
        """Return all rows; no more can be added afterwards."""
        self._rows.resize((self._size, self._rows.shape[1]), refcheck=False)
        return self._rows


class TextParser:
    """Parses lines of a word and its numbers.

    Words may contain spaces: the numbers are the last fields of the line. Without a header, the
    dimensions are the most frequent ones of the first lines.

    Parameters
    ----------
    path : Path
        Named in errors.
    keep : frozenset of str or None
        Casefolded words to select; None selects all.
    promised : (int, int) or None
        Number of words and dimensions from the header on line 1.
    workers : Workers
        Threads that parse numbers.
    """

    def __init__(
        self,
        path: Path,
        keep: frozenset[str] | None,
        *,
        promised: tuple[int, int] | None,
        workers: Workers,
    ) -> None:
        self._workers = workers
        self._path = path
        self._keep = keep
        self._promised = promised
        self._line = 0 if promised is None else 1  # lines read
        self._n_words = 0
        self._dimensions = 0
        self._words: list[str] = []
        self._rows: GrowingRows | None = None
        if promised is not None:
            self._begin(promised[1])

    def _begin(self, dimensions: int) -> None:
        self._dimensions = dimensions
        self._rows = GrowingRows(dimensions)

    def feed(self, block: bytes) -> None:
        """Parse some complete lines."""
        if b"\t" in block:
            block = block.replace(b"\t", b" ")
        text = np.frombuffer(bytearray(block), np.uint8)
        ends = np.flatnonzero(text == ord("\n")) + 1
        if len(text) and text[-1] != ord("\n"):
            ends = np.append(ends, len(text))
        starts = np.zeros_like(ends)
        starts[1:] = ends[:-1]
        word_ends, n_spaces = np.empty_like(ends), np.empty(len(ends), np.int32)
        find_words(text, starts, word_ends, ends, n_spaces)
        lines = np.flatnonzero(starts < ends)
        n_lines = len(starts)
        starts, word_ends, ends = starts[lines], word_ends[lines], ends[lines]
        if self._rows is None and len(lines):
            cuts = zip(starts[:_LOOKED_AT].tolist(), ends[:_LOOKED_AT].tolist(), strict=True)
            self._find_dimensions([block[i:j] for i, j in cuts], self._line + int(lines[0]) + 1)
        first_line = self._line + 1
        self._line += n_lines
        self._n_words += len(lines)
        if self._rows is None:
            return
        cuts = zip(starts.tolist(), word_ends.tolist(), strict=True)
        names = [block[i:j] for i, j in cuts]
        starts = word_ends + 1
        # Lines with spaces in the word, or with repeated spaces, are parsed separately.
        behind = bytearray()
        for i in np.flatnonzero(n_spaces[lines] != self._dimensions).tolist():
            line = names[i] + block[word_ends[i] : ends[i]]
            names[i], numbers = self._cut(line, first_line + int(lines[i]))
            starts[i] = len(block) + len(behind)
            behind += numbers
            ends[i] = len(block) + len(behind)
        if behind:
            text = np.concatenate((text, np.frombuffer(behind, np.uint8)))
        words = [name.decode("utf-8", "replace") for name in names]
        if self._keep is not None:
            kept = [i for i, word in enumerate(words) if word.casefold() in self._keep]
            words = [words[i] for i in kept]
            starts, ends, lines = starts[kept], ends[kept], lines[kept]
        self._parse(text, starts, ends, first_line + lines)
        self._words += words

    def _find_dimensions(self, lines: list[bytes], first_line: int) -> None:
        counts = Counter(len(_fields(line)) - 1 for line in lines)
        most = max(counts.values())
        dimensions = min(number for number, times in counts.items() if times == most)
        if dimensions == 0:
            raise MalformedFileError(
                self._path,
                "no numbers stand after the word; needed are a word and its vector on each line.",
                line=first_line,
            )
        self._begin(dimensions)

    def _cut(self, line: bytes, line_number: int) -> tuple[bytes, bytes]:
        """Split a line with spaces in the word, or with repeated spaces, into word and numbers."""
        fields = _fields(line)
        n_extra = len(fields) - 1 - self._dimensions
        if n_extra < 0 or (n_extra > 0 and all(_is_number(field) for field in fields[1:])):
            raise MalformedFileError(
                self._path,
                f"{_shown(fields[0])} has {len(fields) - 1} numbers, but the vectors of this file "
                f"have {self._dimensions} dimensions.",
                line=line_number,
            )
        return b" ".join(fields[: 1 + n_extra]), b" ".join(fields[1 + n_extra :])

    def _parse(
        self,
        text: NDArray[np.uint8],
        starts: NDArray[np.int64],
        ends: NDArray[np.int64],
        lines: NDArray[np.intp],
    ) -> None:
        """Add rows of finite numbers."""
        assert self._rows is not None
        rows = self._rows.add(len(starts))
        n_good = np.empty(len(starts), np.int32)

        def work(first: int, last: int) -> None:
            parse_rows(text, starts, ends, first, last, rows, n_good)

        self._workers.for_each_chunk(work, len(starts), chunk=_CHUNK_ROWS)
        bad = np.flatnonzero(n_good < self._dimensions)
        if len(bad):
            row, column = int(bad[0]), int(n_good[bad[0]])
            fields = _fields(text[starts[row] : ends[row]].tobytes())
            raise MalformedFileError(
                self._path,
                f"{_shown(fields[column])} stands where a finite number is needed "
                f"(number {column + 1} of {self._dimensions}).",
                line=int(lines[row]),
            )

    def table(self) -> WordVectors:
        """Return the parsed table.

        Raises
        ------
        MalformedFileError
            If there are no words, or fewer than the header promises.
        """
        if self._promised is not None and self._promised[0] != self._n_words:
            raise MalformedFileError(
                self._path,
                f"the header promises {self._promised[0]} words, but the file holds "
                f"{self._n_words}; it was cut short, or its header is wrong.",
                line=1,
            )
        if self._rows is None:
            raise MalformedFileError(self._path, "the file holds no word with a vector.")
        return WordVectors(self._words, self._rows.matrix())


def _fields(line: bytes) -> list[bytes]:
    """Split a line at spaces, like the kernel: other white space is part of a word."""
    return [field for field in line.split(b" ") if field]


def _is_number(field: bytes) -> bool:
    try:
        float(field)
    except ValueError:
        return False
    return True


def _shown(field: bytes) -> Any:
    """Return an excerpt of the file for a message."""
    return repr(field[:40].decode("utf-8", "replace"))
