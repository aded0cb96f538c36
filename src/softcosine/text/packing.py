"""Packed lists of strings: two flat arrays that can be stored and memory-mapped."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import chain, pairwise
from typing import Any, overload

import numpy as np
from numpy.typing import NDArray

from softcosine._ragged import running_sum, slices
from softcosine.errors import InvalidInputError


def pack_strings(strings: Sequence[str]) -> tuple[NDArray[np.uint8], NDArray[np.int64]]:
    r"""Return the concatenated UTF-8 bytes of strings, and the offset of each.

    Parameters
    ----------
    strings : sequence of str
        Any strings, also empty ones, or with NUL characters or lone surrogates.

    Returns
    -------
    blob : ndarray of shape (n_bytes,), uint8
        All strings in UTF-8; lone surrogates as three bytes each.
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
    offsets = running_sum(map(len, encoded))
    return np.frombuffer(bytearray().join(encoded), dtype=np.uint8), offsets


def unpack_strings(blob: NDArray[np.uint8], offsets: NDArray[np.int64]) -> list[str]:
    """Return the strings packed by `pack_strings`.

    Parameters
    ----------
    blob : ndarray of shape (n_bytes,), uint8
    offsets : ndarray of shape (n_strings + 1,), int64
        From 0 to n_bytes, never decreasing.

    Raises
    ------
    InvalidInputError
        If the offsets do not fit the blob, or a string is not UTF-8.
    """
    _check_ends(blob, offsets)
    if bool(np.any(offsets[1:] < offsets[:-1])):
        raise _no_cuts(blob)
    data = np.ascontiguousarray(blob, dtype=np.uint8).tobytes()
    cuts = offsets.tolist()
    try:
        return [data[start:end].decode("utf-8", "surrogatepass") for start, end in pairwise(cuts)]
    except UnicodeDecodeError as error:
        raise _no_text(error) from error


class PackedStrings(Sequence[str]):
    """Sequence of strings, packed when their bytes are needed, and each decoded when it is read.

    Opening packed ones takes the same time for any number: only the first and the last offset are
    read. `check` reads everything.

    Parameters
    ----------
    blob : ndarray of shape (n_bytes,), uint8
    offsets : ndarray of shape (n_strings + 1,), int64

    Raises
    ------
    InvalidInputError
        If the offsets do not go from 0 to n_bytes. When a string is read: if it is not UTF-8.
    """

    __slots__ = ("_bytes", "_packed", "_starts", "_strings")

    def __init__(self, blob: NDArray[np.uint8], offsets: NDArray[np.int64]) -> None:
        _check_ends(blob, offsets)
        self._strings: tuple[str, ...] | None = None
        self._set(np.ascontiguousarray(blob, np.uint8), np.ascontiguousarray(offsets, np.int64))

    def _set(self, blob: NDArray[np.uint8], offsets: NDArray[np.int64]) -> None:
        # Reading single numbers is many times faster than through NumPy.
        self._bytes = memoryview(blob)  # type: ignore[arg-type]
        self._starts = memoryview(offsets)  # type: ignore[arg-type]
        self._packed: tuple[NDArray[np.uint8], NDArray[np.int64]] | None = blob, offsets

    @classmethod
    def of(cls, strings: Iterable[str]) -> PackedStrings:
        """Return strings that are not packed yet."""
        made = cls.__new__(cls)
        made._strings, made._packed = tuple(strings), None
        return made

    @property
    def is_packed(self) -> bool:
        """Whether the strings are packed already."""
        return self._packed is not None

    @property
    def arrays(self) -> tuple[NDArray[np.uint8], NDArray[np.int64]]:
        """The bytes of all strings, and the offset of each; packed once."""
        if self._packed is None:
            self._set(*pack_strings(self.strings()))
        assert self._packed is not None
        return self._packed

    @property
    def blob(self) -> NDArray[np.uint8]:
        """The bytes of all strings."""
        return self.arrays[0]

    @property
    def offsets(self) -> NDArray[np.int64]:
        """The offset of each string."""
        return self.arrays[1]

    def _encoded(self, i: int) -> bytes:
        return bytes(self._bytes[self._starts[i] : self._starts[i + 1]])

    def strings(self) -> tuple[str, ...]:
        """All strings; decoded once."""
        if self._strings is None:
            self._strings = tuple(unpack_strings(*self.arrays))
        return self._strings

    def check(self) -> None:
        """Decode all strings; raise InvalidInputError if that fails."""
        self.strings()

    def extended(self, strings: Sequence[str]) -> PackedStrings:
        """Return these and further strings; the old bytes are copied unchecked."""
        blob, offsets = pack_strings(strings)
        longer = PackedStrings(
            np.concatenate([self.blob, blob]),
            np.concatenate([self.offsets, offsets[1:] + self.offsets[-1]]),
        )
        if self._strings is not None:
            longer._strings = (*self._strings, *strings)
        return longer

    def starts_with(self, other: PackedStrings) -> bool:
        """Whether another sequence is a prefix of this one."""
        n = len(other)
        if self is other or n > len(self):
            return self is other
        if not (self.is_packed and other.is_packed):
            return self.strings()[:n] == other.strings()
        n_bytes = len(other.blob)
        return (
            n_bytes == self.offsets[n]
            and np.array_equal(self.offsets[: n + 1], other.offsets)
            and np.array_equal(self.blob[:n_bytes], other.blob)
        )

    def __len__(self) -> int:
        return len(self.strings()) if self._packed is None else len(self._packed[1]) - 1

    @overload
    def __getitem__(self, i: int) -> str: ...
    @overload
    def __getitem__(self, i: slice) -> tuple[str, ...]: ...
    def __getitem__(self, i: int | slice) -> str | tuple[str, ...]:
        if isinstance(i, slice) or self._strings is not None:
            return self.strings()[i]
        i = range(len(self))[i]
        try:
            return self._encoded(i).decode("utf-8", "surrogatepass")
        except UnicodeDecodeError as error:
            raise _no_text(error) from error

    def __iter__(self) -> Iterator[str]:
        return iter(self.strings())

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, PackedStrings):
            return NotImplemented
        return len(self) == len(other) and self.starts_with(other)

    __hash__ = None  # type: ignore[assignment]

    def __reduce__(self) -> tuple[Any, ...]:
        return PackedStrings, (self.blob, self.offsets)


class PackedLists:
    """Sequence of packed lists of strings; each is decoded when it is read.

    Parameters
    ----------
    flat : PackedStrings
        The strings of all lists.
    bounds : ndarray of shape (n_lists + 1,), int64
        List ``i`` has the strings from ``bounds[i]`` to ``bounds[i + 1]``.

    Raises
    ------
    InvalidInputError
        If the bounds do not go from 0 to the number of strings.
    """

    __slots__ = ("_lists", "bounds", "flat")

    def __init__(self, flat: PackedStrings, bounds: NDArray[np.int64]) -> None:
        self.flat = flat
        self.bounds = np.asarray(bounds)
        self._lists: tuple[tuple[str, ...], ...] | None = None
        if (
            self.bounds.ndim != 1
            or not np.issubdtype(self.bounds.dtype, np.integer)
            or len(self.bounds) == 0
            or self.bounds[0] != 0
            or self.bounds[-1] != len(flat)
        ):
            raise self._no_bounds()

    @classmethod
    def of(cls, lists: Sequence[Sequence[str]] | PackedLists) -> PackedLists:
        """Pack lists of strings; packed ones stay."""
        if isinstance(lists, PackedLists):
            return lists
        packed = cls(PackedStrings.of(chain.from_iterable(lists)), running_sum(map(len, lists)))
        packed._lists = tuple(map(tuple, lists))
        return packed

    def lists(self) -> tuple[tuple[str, ...], ...]:
        """All lists; decoded once."""
        if self._lists is None:
            bounds = self.bounds.tolist()
            if bool(np.any(self.bounds[1:] < self.bounds[:-1])):
                raise self._no_bounds()
            strings = self.flat.strings()
            self._lists = tuple(strings[start:end] for start, end in pairwise(bounds))
        return self._lists

    def taken(self, numbers: NDArray[np.integer[Any]]) -> PackedLists:
        """Return the lists of some numbers."""
        _, places = slices(self.bounds, numbers)
        strings = self.flat.strings()
        flat = PackedStrings.of([strings[i] for i in places.tolist()])
        return PackedLists(flat, running_sum(np.diff(self.bounds)[numbers]))

    def check(self) -> None:
        """Decode all lists; raise InvalidInputError if that fails."""
        self.lists()

    def extended(self, lists: Sequence[Sequence[str]]) -> PackedLists:
        """Return these and further lists; the old bytes are copied unchecked."""
        flat = self.flat.extended(list(chain.from_iterable(lists)))
        bounds = np.concatenate([self.bounds, running_sum(map(len, lists))[1:] + self.bounds[-1]])
        longer = PackedLists(flat, bounds)
        if self._lists is not None:
            longer._lists = (*self._lists, *map(tuple, lists))
        return longer

    def __len__(self) -> int:
        return len(self.bounds) - 1

    def __getitem__(self, i: int) -> tuple[str, ...]:
        if self._lists is not None:
            return self._lists[i]
        i = range(len(self))[i]
        start, end = self.bounds[i : i + 2].tolist()
        if not 0 <= start <= end <= len(self.flat):
            raise self._no_bounds()
        return tuple(self.flat[j] for j in range(start, end))

    def _no_bounds(self) -> InvalidInputError:
        return InvalidInputError(
            f"the bounds do not divide {len(self.flat)} strings into lists; pass the arrays of "
            "one to_arrays call."
        )

    def __reduce__(self) -> tuple[Any, ...]:
        return PackedLists, (self.flat, self.bounds)


def _check_ends(blob: NDArray[np.uint8], offsets: NDArray[np.int64]) -> None:
    if (
        np.ndim(blob) != 1
        or offsets.ndim != 1
        or not np.issubdtype(offsets.dtype, np.integer)
        or len(offsets) == 0
        or offsets[0] != 0
        or offsets[-1] != len(blob)
    ):
        raise _no_cuts(blob)


def _no_cuts(blob: NDArray[np.uint8]) -> InvalidInputError:
    return InvalidInputError(
        f"the offsets do not cut the {np.size(blob)} bytes into strings: they must be integers "
        f"that rise from 0 to {np.size(blob)}; pass both arrays of one pack_strings call."
    )


def _no_text(error: UnicodeDecodeError) -> InvalidInputError:
    return InvalidInputError(
        f"the packed strings are not UTF-8 ({error}); pass both arrays of one pack_strings call."
    )
