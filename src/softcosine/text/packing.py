"""Lists of strings as two flat arrays, the form in which they are stored and mapped."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from softcosine.errors import InvalidInputError

__all__ = ["pack_strings", "unpack_strings"]


def pack_strings(strings: Sequence[str]) -> tuple[NDArray[np.uint8], NDArray[np.int64]]:
    r"""Strings laid end to end, and where each begins.

    Parameters
    ----------
    strings : sequence of str
        Any strings: empty ones, NUL characters and lone surrogates are kept.

    Returns
    -------
    blob : ndarray of shape (n_bytes,), uint8
        All strings in UTF-8, one after the other; lone surrogates as three bytes each.
    offsets : ndarray of shape (n_strings + 1,), int64
        String ``i`` is ``blob[offsets[i]:offsets[i + 1]]``.

    Examples
    --------
    >>> blob, offsets = pack_strings(["tea", "\u00e9t\u00e9"])
    >>> offsets.tolist()
    [0, 3, 8]
    >>> unpack_strings(blob, offsets)
    ['tea', 'été']
    """
    encoded = [string.encode("utf-8", "surrogatepass") for string in strings]
    offsets = np.zeros(len(encoded) + 1, dtype=np.int64)
    np.cumsum(np.fromiter(map(len, encoded), np.int64, len(encoded)), out=offsets[1:])
    return np.frombuffer(b"".join(encoded), dtype=np.uint8), offsets


def unpack_strings(blob: NDArray[np.uint8], offsets: NDArray[np.int64]) -> list[str]:
    """Return the strings that ``pack_strings`` laid out.

    Parameters
    ----------
    blob : ndarray of shape (n_bytes,), uint8
    offsets : ndarray of shape (n_strings + 1,), int64
        From 0 to n_bytes, never decreasing.

    Returns
    -------
    list of str

    Raises
    ------
    InvalidInputError
        If the offsets do not cut the blob into pieces, or a piece is not UTF-8.
    """
    bounds = np.asarray(offsets)
    if (
        bounds.ndim != 1
        or not np.issubdtype(bounds.dtype, np.integer)
        or len(bounds) == 0
        or bounds[0] != 0
        or bounds[-1] != np.size(blob)
        or bool(np.any(bounds[1:] < bounds[:-1]))
    ):
        raise InvalidInputError(
            f"the offsets do not cut the {np.size(blob)} bytes into strings: they must be integers "
            f"that rise from 0 to {np.size(blob)}; pass both arrays of one pack_strings call."
        )
    data = np.ascontiguousarray(blob, dtype=np.uint8).tobytes()
    cuts = bounds.tolist()
    try:
        return [data[start:end].decode("utf-8", "surrogatepass") for start, end in pairwise(cuts)]
    except UnicodeDecodeError as error:
        raise InvalidInputError(
            f"the packed strings are not UTF-8 ({error}); pass both arrays of one pack_strings "
            "call."
        ) from error
