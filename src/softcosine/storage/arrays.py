"""Arrays opened quickly: an index is hundreds of them, and NumPy takes long over each header."""

from __future__ import annotations

import mmap
import os
import re
import sys
from math import prod
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from softcosine.storage.disk import open_regular

__all__ = ["read_array"]

# What np.save writes for plain numbers in C order, which is all that is ever stored here.
_HEADER = re.compile(
    rb"\x93NUMPY\x01\x00(?P<length>..)\{'descr': '(?P<type>[<>|][biuf][0-9]+)', "
    rb"'fortran_order': False, 'shape': \((?P<shape>|[0-9]+,|[0-9]+(?:, [0-9]+)+)\), \} *\n",
    re.DOTALL,
)
_LONGEST = 256  # no such header of fewer than ten dimensions is longer
_PREFIX = 10  # bytes of a header that its length does not count
# A map needs no file of its own after it is made; many maps would use up what a process may open.
_UNTRACKED = sys.version_info >= (3, 13) and sys.platform != "win32"
_MAP: dict[str, Any] = {"trackfd": False} if _UNTRACKED else {}


def read_array(path: Path, *, mapped: bool) -> NDArray[Any]:
    """Return the array of a ``.npy`` file, writable.

    Parameters
    ----------
    path : Path
    mapped : bool
        Whether to map it: pages are read when they are touched, and what is written to them never
        reaches the file. Otherwise it is read.

    Raises
    ------
    OSError
        If the file cannot be read.
    ValueError
        If it holds no array, one of Python objects, or not as many numbers as its header says.

    Notes
    -----
    A tenth of the time of np.load, which parses the header as Python source and looks the path up
    again. Other arrays than of numbers in C order are read by NumPy; archives, which np.load opens
    too, never.
    """
    with open_regular(path) as file:
        head = file.read(_LONGEST)
        found = _HEADER.match(head)
        if found is None:
            file.seek(0)
            return np.lib.format.read_array(file, allow_pickle=False)
        offset = _PREFIX + int.from_bytes(found["length"], "little")
        shape = tuple(int(n) for n in found["shape"].split(b",") if n)
        dtype = np.dtype(found["type"].decode())
        count = prod(shape)
        if found.end() != offset:
            raise ValueError("the header of the array does not end where it says")
        n_bytes = os.fstat(file.fileno()).st_size - offset
        if n_bytes != count * dtype.itemsize:
            raise ValueError(f"{n_bytes} bytes follow the header, not {count * dtype.itemsize}")
        if count == 0:
            return np.empty(shape, dtype)
        # Writable, since compiled kernels take writable arrays only.
        if mapped:
            content = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_COPY, **_MAP)
            return np.frombuffer(content, dtype, count, offset).reshape(shape)
        array = np.empty(count, dtype)
        file.seek(offset)
        n_read = file.readinto(array.view(np.uint8))  # type: ignore[arg-type]
        if n_read != array.nbytes:  # cut short since
            raise ValueError(f"the file ends after {n_read} of {array.nbytes} bytes")
        return array.reshape(shape)
