"""Arrays of a stored object in few files: as `np.save` writes them, one after the other.

An index is hundreds of arrays, of which most are small: a file each would take longer to open, to
sync and to list than to read. The manifest says at which byte of its file each array begins.
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

# What np.save writes for plain numbers in C order, which is all that is ever stored here.
_HEADER = re.compile(
    rb"\x93NUMPY\x01\x00(?P<length>..)\{'descr': '(?P<type>[<>|][biuf][0-9]+)', "
    rb"'fortran_order': False, 'shape': \((?P<shape>|[0-9]+,|[0-9]+(?:, [0-9]+)+)\), \} *\n",
    re.DOTALL,
)
_LONGEST = 256  # no such header of fewer than ten dimensions is longer
_ALIGNED = 64  # bytes; np.save pads headers to as many
# A map needs no file of its own after it is made; many maps would use up what a process may open.
_UNTRACKED = sys.version_info >= (3, 13) and sys.platform != "win32"
_MAP: dict[str, Any] = {"trackfd": False} if _UNTRACKED else {}


class _Sink(Protocol):
    def write(self, content: bytes, /) -> Any:
        """Take some bytes."""
        ...


def write_arrays(stream: _Sink, arrays: Mapping[str, NDArray[Any]]) -> dict[str, int]:
    """Write arrays of numbers; return where each begins.

    Raises
    ------
    ValueError
        If one is not of numbers.
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
    """Counts the bytes that pass through to a stream."""

    def __init__(self, stream: _Sink) -> None:
        self._stream = stream
        self.n_bytes = 0

    def write(self, content: bytes) -> int:
        """Pass bytes on."""
        self._stream.write(content)
        self.n_bytes += memoryview(content).nbytes
        return memoryview(content).nbytes


def read_arrays(path: Path, starts: Mapping[str, int], *, mapped: bool) -> dict[str, NDArray[Any]]:
    """Return some arrays of a file that `write_arrays` filled, writable.

    Parameters
    ----------
    path : Path
    starts : mapping of names to int
        Where each begins.
    mapped : bool
        Whether to map the file: pages are read when they are touched, and what is written to them
        never reaches the file. Otherwise it is read.

    Raises
    ------
    OSError
        If the file cannot be read.
    ValueError
        If it holds no array at some place, or not as many numbers as its header says.
    """
    with open_regular(path) as file:
        size = os.fstat(file.fileno()).st_size
        # Writable, since compiled kernels take writable arrays only.
        if mapped and size:
            content = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_COPY, **_MAP)
            buffer = np.frombuffer(content, np.uint8)
        else:
            buffer = np.empty(size, np.uint8)
            if file.readinto(buffer) != size:  # type: ignore[arg-type]  # cut short since
                raise ValueError("the file ends before its size")
    return {name: _array(buffer, start) for name, start in starts.items()}


def _array(buffer: NDArray[np.uint8], start: int) -> NDArray[Any]:
    """Return the array that begins at some byte, as a view."""
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
