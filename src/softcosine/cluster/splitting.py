"""Inputs as chunks: byte ranges of JSON lines, row groups of parquet files, other files whole."""

from __future__ import annotations

import errno
import io
from collections.abc import Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Any, BinaryIO

from softcosine._textio import unpacked
from softcosine.errors import needing
from softcosine.files import Record, format_of, read_records
from softcosine.files.parquet import opened_parquet

# Chunks of a small collection are smaller, so that several workers share them.
_LEAST_BYTES, _MOST_BYTES = 1 << 20, 1 << 26
_CHUNKS = 64
_BLOCK = 1 << 16
_SAMPLED = 10_000  # records
_SPLIT_ENCODINGS = ("utf-8", "utf8", "ascii", "latin-1")  # no byte of a character is a line end


@dataclass(frozen=True, slots=True)
class Input:
    """A file of records, as of the plan.

    Attributes
    ----------
    path : str
        Absolute path, or URL of fsspec.
    n_bytes : int
    stamp : str
        Changes if the file is written again: time of the last change, or what the store of a URL
        says of the object.
    """

    path: str
    n_bytes: int
    stamp: str


@dataclass(frozen=True, slots=True)
class Chunk:
    """Consecutive records of a file.

    Attributes
    ----------
    path : str
        See `Input`.
    format, encoding : str
        See `softcosine.files.read_records`.
    start, stop : int or None
        Bytes of JSON lines or row groups of a parquet file; None for the whole file.
    """

    path: str
    format: str
    encoding: str
    start: int | None = None
    stop: int | None = None

    @property
    def name(self) -> str:
        """Name for messages about its records; lines count from the start of the chunk."""
        inside = self.start and self.format != "parquet"
        return f"{self.path} from byte {self.start}" if inside else self.path

    def records(self) -> Iterator[Record]:
        """Yield the records.

        Raises
        ------
        MalformedFileError, FileNotFoundError, MissingDependencyError
        """
        with closing(_open(self.path)) as file:
            yield from self._records(file)

    def _records(self, file: BinaryIO) -> Iterator[Record]:
        stream, groups = file, None
        if self.format == "parquet" and self.start is not None and self.stop is not None:
            groups = range(self.start, self.stop)
        elif self.start is not None and self.stop is not None:
            file.seek(self.start)
            content = io.BytesIO(file.read(self.stop - self.start))
            stream = io.BufferedReader(content)
        how = {"format": self.format, "encoding": self.encoding}
        yield from read_records(self.name, **how, stream=stream, row_groups=groups)


def inputs_at(paths: Sequence[str | Path]) -> list[Input]:
    """Return the inputs at some paths.

    Raises
    ------
    FileNotFoundError, IsADirectoryError
        If a path is no file.
    MissingDependencyError
        If one is a URL and fsspec is not installed.
    """
    found = []
    for given in map(str, paths):
        if "://" in given:
            system, path = _file_system(given)
            system.invalidate_cache()
            found.append(Input(given, int(system.size(path)), str(system.checksum(path))))
            continue
        if Path(given).is_dir():
            raise IsADirectoryError(errno.EISDIR, "this is a folder; name its files", given)
        with open(given, "rb"):  # noqa: PTH123  (the usual errors)
            facts = Path(given).stat()
        found.append(Input(str(Path(given).absolute()), facts.st_size, str(facts.st_mtime_ns)))
    return found


def split(inputs: Sequence[Input], format: str | None, encoding: str) -> list[Chunk]:
    """Return the chunks of the inputs, in order.

    Parameters
    ----------
    inputs : sequence of Input
    format, encoding
        See `softcosine.files.read_records`.
    """
    total = sum(one.n_bytes for one in inputs)
    size = min(max(total // _CHUNKS, _LEAST_BYTES), _MOST_BYTES)
    chunks: list[Chunk] = []
    for one in inputs:
        whole = Chunk(one.path, format or format_of(one.path), encoding)
        bounds: list[int] = []
        if whole.format == "parquet":
            bounds = _row_groups(one.path, size)
        elif whole.format == "jsonl" and encoding.lower() in _SPLIT_ENCODINGS:
            bounds = _line_starts(one, size)
        chunks += [
            Chunk(one.path, whole.format, encoding, start, stop) for start, stop in pairwise(bounds)
        ] or [whole]
    return chunks


def _line_starts(one: Input, size: int) -> list[int]:
    """Return starts of lines, about `size` bytes apart, and the end; empty if compressed."""
    with closing(_open(one.path)) as file:
        if unpacked(file) is not file:
            return []
        bounds = [0]
        while (place := bounds[-1] + size) < one.n_bytes:
            file.seek(place - 1)  # a line may start here
            while block := file.read(_BLOCK):
                if (end := block.find(b"\n")) >= 0:
                    place += end
                    break
                place += len(block)
            if not block or place >= one.n_bytes:
                break
            bounds.append(place)
    return [*bounds, one.n_bytes]


def _row_groups(path: str, size: int) -> list[int]:
    """Return numbers of row groups, about `size` bytes apart, and their number."""
    with closing(_open(path)) as file, opened_parquet(path, file) as rows:
        facts = rows.metadata
    bounds, n_bytes = [0], 0
    for number in range(facts.num_row_groups):
        n_bytes += facts.row_group(number).total_byte_size
        if n_bytes >= size or number == facts.num_row_groups - 1:
            bounds.append(number + 1)
            n_bytes = 0
    return bounds


def _open(path: str) -> BinaryIO:
    if "://" not in path:
        return Path(path).open("rb")
    system, own = _file_system(path)
    return io.BufferedReader(system.open(own, "rb"))


def _file_system(url: str) -> tuple[Any, str]:
    with needing("fsspec", "shards", f"Reading {url}"):
        from fsspec.core import url_to_fs
    found: tuple[Any, str] = url_to_fs(url)
    return found
