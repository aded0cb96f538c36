"""Counts of pairs of terms in bounded memory."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import dataclass
from functools import reduce
from operator import add
from tempfile import TemporaryFile, gettempdir
from typing import IO

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from softcosine.storage import naming_a_full_disk

_ENTRY_BYTES = 12  # a column and a count
_MAX_RUNS = 16

# Rows ``first`` to ``last`` of the counts.
CountedRows = tuple[int, int, csr_array]


@dataclass(slots=True)
class _MemoryRun:
    """Counts in memory; row ``i`` is at ``starts[i]:starts[i + 1]``."""

    starts: NDArray[np.int64]
    columns: NDArray[np.int32]
    counts: NDArray[np.int64]

    def read(self, start: int, stop: int) -> tuple[NDArray[np.int32], NDArray[np.int64]]:
        return self.columns[start:stop], self.counts[start:stop]


class _FileRun:
    """Counts in two temporary files without a name."""

    __slots__ = ("_columns", "_counts", "starts")

    def __init__(self, n_terms: int, files: ExitStack) -> None:
        self.starts = np.zeros(n_terms + 1, np.int64)
        columns, counts = TemporaryFile(buffering=0), TemporaryFile(buffering=0)  # noqa: SIM115
        self._columns: IO[bytes] = files.enter_context(columns)
        self._counts: IO[bytes] = files.enter_context(counts)

    def append(self, rows: CountedRows) -> None:
        """Write the next rows."""
        first, last, block = rows
        self.starts[first + 1 : last + 1] = self.starts[first] + block.indptr[1:]
        for file, values in ((self._columns, block.indices), (self._counts, block.data)):
            file.seek(0, 2)
            # Not tofile, which does not report an incomplete write.
            content = np.ascontiguousarray(values).view(np.uint8).data
            with naming_a_full_disk(gettempdir()):
                while len(content):
                    content = content[file.write(content) :]

    def read(self, start: int, stop: int) -> tuple[NDArray[np.int32], NDArray[np.int64]]:
        self._columns.seek(4 * start)
        self._counts.seek(8 * start)
        columns = np.fromfile(self._columns, np.int32, stop - start)
        counts = np.fromfile(self._counts, np.int64, stop - start)
        return columns, counts

    def close(self) -> None:
        self._columns.close()
        self._counts.close()


# Counts of one chunk of the corpus, or of several merged ones.
_Run = _MemoryRun | _FileRun


class PairCounts:
    """Symmetric counts of pairs, as the sum of the counts of chunks of a corpus.

    The counts are integers, so the sum does not depend on the chunks. Counts beyond the memory
    limit go to temporary files without names, which are removed when the process ends. Close it, or
    use it in a ``with`` statement.

    Parameters
    ----------
    n_terms : int
    memory : int
        Approximate limit in bytes.
    """

    __slots__ = ("_files", "_kept", "_memory", "_n_terms", "_runs", "totals")

    totals: NDArray[np.int64]  # sum of each term's counts, shape (n_terms,)

    def __init__(self, n_terms: int, *, memory: int) -> None:
        self._n_terms = n_terms
        self._memory = memory
        self._runs: list[_Run] = []
        self._files = ExitStack()
        self._kept: NDArray[np.int64] | None = None
        self.totals = np.zeros(n_terms, np.int64)

    def __len__(self) -> int:
        """Return the number of terms."""
        return len(self.totals)

    def __enter__(self) -> PairCounts:
        return self

    def __exit__(self, *exception: object) -> None:
        self.close()

    def close(self) -> None:
        """Drop all counts and files."""
        self._runs = []
        self._files.close()

    @property
    def block_entries(self) -> int:
        """Number of entries per block."""
        return max(1, self._memory // (8 * _ENTRY_BYTES))

    def add(self, blocks: Iterator[CountedRows], totals: NDArray[np.int64], size: int) -> None:
        """Add the counts of a further chunk of the corpus.

        Parameters
        ----------
        blocks : iterator of (int, int, csr_array)
            First row, last row (exclusive) and counts of consecutive rows, columns sorted, int64.
        totals : ndarray of shape (n_terms,), int64
            Sums of the rows.
        size : int
            Number of entries of all blocks.
        """
        self.totals += totals
        held = sum(len(run.columns) for run in self._runs if isinstance(run, _MemoryRun))
        if _ENTRY_BYTES * (size + held) <= self._memory // 2:
            self._runs.append(_in_memory(blocks, self._n_terms, size))
        else:
            run = _FileRun(self._n_terms, self._files)
            for rows in blocks:
                run.append(rows)
            self._runs.append(run)
        if len(self._runs) == _MAX_RUNS:
            self._merge_runs()

    def _merge_runs(self) -> None:
        merged = _FileRun(self._n_terms, self._files)
        for rows in self._merged():
            merged.append(rows)
        for run in self._runs:
            if isinstance(run, _FileRun):
                run.close()
        self._runs = [merged]

    def restrict(self, kept: NDArray[np.int64]) -> None:
        """Keep only some terms, given by their numbers in ascending order."""
        self._kept = kept
        self.totals = np.zeros(len(kept), np.int64)
        for first, last, block in self.blocks():
            self.totals[first:last] = block.sum(axis=1)

    def blocks(self) -> Iterator[CountedRows]:
        """Yield all counts in blocks of consecutive rows.

        Yields
        ------
        first, last : int
            The rows of the terms `first` to `last` (exclusive).
        counts : csr_array of shape (last - first, n_terms), int64
            Column indices sorted, empty diagonal.
        """
        if self._kept is None:
            yield from self._merged()
            return
        done = 0
        for first, last, block in self._merged():
            rows = self._kept[(self._kept >= first) & (self._kept < last)] - first
            if len(rows):
                yield done, done + len(rows), block[rows][:, self._kept]
                done += len(rows)

    def _merged(self) -> Iterator[CountedRows]:
        n = self._n_terms
        sizes = np.zeros(n + 1, np.int64)
        for run in self._runs:
            sizes += run.starts
        for first, last in row_blocks(sizes, self.block_entries):
            parts = []
            for run in self._runs:
                starts = run.starts[first : last + 1]
                columns, counts = run.read(int(starts[0]), int(starts[-1]))
                indptr = (starts - starts[0]).astype(np.int32)
                parts.append(csr_array((counts, columns, indptr), shape=(last - first, n)))
            yield first, last, reduce(add, parts) if parts else csr_array((last - first, n))


def _in_memory(blocks: Iterator[CountedRows], n_terms: int, size: int) -> _MemoryRun:
    run = _MemoryRun(
        np.zeros(n_terms + 1, np.int64), np.empty(size, np.int32), np.empty(size, np.int64)
    )
    for first, last, block in blocks:
        start = run.starts[first]
        run.starts[first + 1 : last + 1] = start + block.indptr[1:]
        run.columns[start : start + block.nnz] = block.indices
        run.counts[start : start + block.nnz] = block.data
    return run


def row_blocks(starts: NDArray[np.int64], most: int) -> Iterator[tuple[int, int]]:
    """Divide rows into blocks of limited entries; a row with more entries is a block by itself."""
    first, n_rows = 0, len(starts) - 1
    while first < n_rows:
        last = int(np.searchsorted(starts, starts[first] + most, side="right")) - 1
        last = min(max(last, first + 1), n_rows)
        yield first, last
        first = last
