"""Word vectors written as text, one word and its numbers a line, read block by block."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import Any, NoReturn

import numpy as np
from numpy.typing import NDArray

from softcosine.errors import MalformedFileError
from softcosine.kernels.decimal import parse_decimals
from softcosine.sources.word_vectors import WordVectors

__all__ = ["GrowingRows", "TextParser"]

_LOOKED_AT = 100  # lines that the number of dimensions is taken from, where no header tells it


class GrowingRows:
    """A matrix that rows are added to; grows in place, so that it is never held twice."""

    def __init__(self, dimensions: int) -> None:
        self._rows = np.empty((1024, dimensions), np.float32)
        self._size = 0

    def add(self, rows: NDArray[np.float32]) -> None:
        """Copy rows behind the last one."""
        needed = self._size + len(rows)
        if needed > len(self._rows):
            shape = (max(needed, len(self._rows) * 3 // 2), self._rows.shape[1])
            self._rows.resize(shape, refcheck=False)
        self._rows[self._size : needed] = rows
        self._size = needed

    def matrix(self) -> NDArray[np.float32]:
        """Return all rows; none can be added any more."""
        self._rows.resize((self._size, self._rows.shape[1]), refcheck=False)
        return self._rows


class TextParser:
    """Reads lines of a word and its numbers.

    Words may hold spaces: the numbers are the last of the line. Where no header tells how many
    they are, it is what most of the first lines hold.

    Parameters
    ----------
    path : Path
        Named in errors.
    keep : frozenset of str or None
        Casefolded words to keep; None keeps all.
    promised : (int, int) or None
        Number of words and dimensions, as the header on line 1 gives them.
    """

    def __init__(
        self, path: Path, keep: frozenset[str] | None, *, promised: tuple[int, int] | None
    ) -> None:
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
        """Read some whole lines."""
        if b"\t" in block:
            block = block.replace(b"\t", b" ")
        lines = block.split(b"\n")
        if lines[-1] == b"":
            lines.pop()
        if self._rows is None:
            self._find_dimensions(lines)
        if self._rows is None:
            self._line += len(lines)
            return
        numbers: list[bytes] = []
        words: list[str] = []
        places: list[int] = []
        keep = self._keep
        n_spaces = self._dimensions - 1
        for line_number, line in enumerate(lines, start=self._line + 1):
            line = line.strip(b" \r")
            if not line:
                continue
            self._n_words += 1
            name, _, rest = line.partition(b" ")
            if rest.count(b" ") != n_spaces or b"  " in rest:
                name, rest = self._cut(line, line_number)
            word = name.decode("utf-8", "replace")
            if keep is None or word.casefold() in keep:
                words.append(word)
                numbers.append(rest)
                places.append(line_number)
        self._line += len(lines)
        if words:
            self._rows.add(self._parse(numbers, places))
            self._words += words

    def _find_dimensions(self, lines: list[bytes]) -> None:
        counts = Counter(
            n_fields - 1 for line in lines[:_LOOKED_AT] if (n_fields := len(line.split()))
        )
        if not counts:
            return
        most = max(counts.values())
        dimensions = min(number for number, times in counts.items() if times == most)
        if dimensions == 0:
            first = next(number for number, line in enumerate(lines, start=1) if line.strip())
            raise MalformedFileError(
                self._path,
                "no numbers stand after the word; needed are a word and its vector on each line.",
                line=self._line + first,
            )
        self._begin(dimensions)

    def _cut(self, line: bytes, line_number: int) -> tuple[bytes, bytes]:
        """Word and numbers of a line whose word holds spaces, or with several spaces in a row."""
        fields = line.split()
        n_extra = len(fields) - 1 - self._dimensions
        if n_extra < 0 or (n_extra > 0 and all(_is_number(field) for field in fields[1:])):
            raise MalformedFileError(
                self._path,
                f"{_shown(fields[0])} has {len(fields) - 1} numbers, but the vectors of this file "
                f"have {self._dimensions} dimensions.",
                line=line_number,
            )
        return line.rsplit(None, self._dimensions)[0], b" ".join(fields[1 + n_extra :])

    def _parse(self, numbers: list[bytes], places: list[int]) -> NDArray[np.float32]:
        """Rows of numbers, all of them finite."""
        rows = np.empty((len(numbers), self._dimensions), np.float32)
        text = np.frombuffer(bytearray(b" ").join(numbers), np.uint8)
        n_good = parse_decimals(text, rows.reshape(-1))
        finite = np.isfinite(rows.reshape(-1)[:n_good])
        if not finite.all():
            n_good = int(np.argmin(finite))
        if n_good < rows.size:
            self._refuse(numbers, places, n_good)
        return rows

    def _refuse(self, numbers: list[bytes], places: list[int], n_good: int) -> NoReturn:
        row, column = divmod(n_good, self._dimensions)
        raise MalformedFileError(
            self._path,
            f"{_shown(numbers[row].split()[column])} stands where a finite number is needed "
            f"(number {column + 1} of {self._dimensions}).",
            line=places[row],
        )

    def table(self) -> WordVectors:
        """Return what was read.

        Raises
        ------
        MalformedFileError
            If there was nothing, or not as much as the header promises.
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


def _is_number(field: bytes) -> bool:
    try:
        float(field)
    except ValueError:
        return False
    return True


def _shown(field: bytes) -> Any:
    """Give a piece of the file as it is put into a message."""
    return repr(field[:40].decode("utf-8", "replace"))
