"""Many arrays in one file, each as `np.save` writes it.

An index has hundreds of arrays, most of them small: with one file each, opening, syncing and
listing would take longer than reading. The manifest gives the start of each array in its file.
"""

from __future__ import annotations

import mmap
import os
import re
import sys
from collections.abc import Mapping
from math import prod
from pathlib import Path
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from softcosine.storage.disk import open_regular

__all__ = ["read_arrays", "write_arrays"]

# The np.save header of a numeric array in C order, the only kind stored.
_HEADER = re.compile(
    rb"\x93NUMPY\x01\x00(?P<length>..)\{'descr': '(?P<type>[<>|][biuf][0-9]+)', "
    rb"'fortran_order': False, 'shape': \((?P<shape>|[0-9]+,|[0-9]+(?:, [0-9]+)+)\), \} *\n",
    re.DOTALL,
)
_LONGEST = 256  # limit of the header's length with fewer than ten dimensions
_ALIGNED = 64  # bytes; np.save pads headers to a multiple
# A map stays valid without its file descriptor; many open ones would reach the system's limit.
_UNTRACKED = sys.version_info >= (3, 13) and sys.platform != "win32"
_MAP: dict[str, Any] = {"trackfd": False} if _UNTRACKED else {}


class _Sink(Protocol):
    def write(self, content: bytes, /) -> Any:
        """Write bytes."""
        ...


def write_arrays(stream: _Sink, arrays: Mapping[str, NDArray[Any]]) -> dict[str, int]:
    """Write numeric arrays; return where each begins.

    Raises
    ------
    ValueError
        If an array is not numeric.
    """
    starts, place = {}, 0
    for name, given in arrays.items():
        array = np.asarray(given, order="C")
        if array.dtype.kind not in "biuf":
            raise ValueError(f"the array {name} is of type {array.dtype}, not of numbers")
        counted = _Counted(stream)
        np.save(counted, array, allow_pickle=False)
        padding = -counted.n_bytes % _ALIGNED
        stream.write(bytes(padding))
        starts[name] = place
        place += counted.n_bytes + padding
    return starts


class _Counted:
    """A stream that counts the bytes written."""

    def __init__(self, stream: _Sink) -> None:
        self._stream = stream
        self.n_bytes = 0

    def write(self, content: bytes) -> int:
        """Write bytes."""
        self._stream.write(content)
        self.n_bytes += memoryview(content).nbytes
        return memoryview(content).nbytes


def read_arrays(path: Path, starts: Mapping[str, int], *, mapped: bool) -> dict[str, NDArray[Any]]:
    """Return arrays of a file written by `write_arrays`; they are writable.

    Parameters
    ----------
    path : Path
    starts : mapping of names to int
        Where each begins.
    mapped : bool
        Whether to memory-map the file, copy-on-write: pages are read at first access, and changes
        never reach the file. Otherwise the file is read.

    Raises
    ------
    OSError
        If the file cannot be read.
    ValueError
        If there is no array at a start, or it is shorter than its header says.
    """
    with open_regular(path) as file:
        size = os.fstat(file.fileno()).st_size
        # Writable, because compiled kernels take writable arrays only.
        if mapped and size:
            content = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_COPY, **_MAP)
            buffer = np.frombuffer(content, np.uint8)
        else:
            buffer = np.empty(size, np.uint8)
            if file.readinto(buffer) != size:  # type: ignore[arg-type]  # truncated meanwhile
                raise ValueError("the file ends before its size")
    return {name: _array(buffer, start) for name, start in starts.items()}


def _array(buffer: NDArray[np.uint8], start: int) -> NDArray[Any]:
    """Return a view of the array that begins at a byte."""
    found = _HEADER.match(buffer[start : start + _LONGEST].tobytes())
    if start % _ALIGNED or found is None:
        raise ValueError(f"no array of numbers begins at byte {start}")
    if found.end() != 10 + int.from_bytes(found["length"], "little") or found.end() % _ALIGNED:
        raise ValueError(f"the header at byte {start} does not end where it says")
    shape = tuple(int(n) for n in found["shape"].split(b",") if n)
    dtype = np.dtype(found["type"].decode())
    first = start + found.end()
    stop = first + prod(shape) * dtype.itemsize
    if stop > buffer.shape[0]:
        raise ValueError(f"{buffer.shape[0] - first} bytes follow the header, not {stop - first}")
    if stop == first:
        return np.empty(shape, dtype)
    return buffer[first:stop].view(dtype).reshape(shape)
