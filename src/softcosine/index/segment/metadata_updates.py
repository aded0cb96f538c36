"""Updates of metadata after their segment was written.

A segment never changes. Updated metadata are stored beside it, like deletes, and a merge writes
them into the new segment.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import pairwise
from pathlib import Path
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from softcosine.errors import CorruptIndexError
from softcosine.matrix.ranges import check_array, check_numbers, check_starts


class MetadataUpdates:
    """Updated metadata by document number in a segment; other documents are unchanged.

    Parameters
    ----------
    numbers : ndarray of shape (n,), int64, ascending
    starts : ndarray of shape (n + 1,), int64
        Offset of each document's metadata in `values`.
    values : ndarray, uint8
        JSON in ASCII; empty if the metadata were removed.
    path : Path, optional
        The file of the arrays, for error messages.
    """

    def __init__(
        self,
        numbers: NDArray[np.int64],
        starts: NDArray[np.int64],
        values: NDArray[np.uint8],
        *,
        path: Path | None = None,
    ) -> None:
        self.path = path
        self._numbers = numbers
        self._starts = starts
        self._values = values
        self._recent: dict[int, str | None] = {}

    @classmethod
    def none(cls) -> Self:
        """Return an empty set of updates."""
        return cls(np.empty(0, np.int64), np.zeros(1, np.int64), np.empty(0, np.uint8))

    @classmethod
    def from_arrays(
        cls, arrays: Mapping[str, NDArray[Any]], n_docs: int, *, path: Path | None = None
    ) -> Self:
        """Return updates over the arrays of `to_arrays`; CorruptIndexError if invalid."""
        numbers, starts, values = (arrays[name] for name in ("numbers", "starts", "values"))
        check_array("numbers", numbers, ("int64",))
        check_numbers("numbers", numbers, n_docs)
        if bool((np.diff(numbers) <= 0).any()):
            raise CorruptIndexError("the numbers of documents with new metadata do not ascend.")
        check_array("starts", starts, ("int64",), numbers.shape[0] + 1)
        check_array("values", values, ("uint8",))
        check_starts("starts", starts, values.shape[0])
        return cls(numbers, starts, values, path=path)

    def to_arrays(self) -> dict[str, NDArray[Any]]:
        """Return all updates as arrays, for storage."""
        updates = sorted(self.all().items())
        values = [(metadata or "").encode("ascii") for _, metadata in updates]
        return {
            "numbers": np.array([number for number, _ in updates], np.int64),
            "starts": np.cumsum([0, *map(len, values)], dtype=np.int64),
            "values": np.frombuffer(b"".join(values), np.uint8),
        }

    @property
    def recent(self) -> bool:
        """Whether there are updates that have not been written."""
        return bool(self._recent)

    def __bool__(self) -> bool:
        return bool(self._recent) or self._numbers.shape[0] > 0

    def copy(self) -> Self:
        """Return a copy; additions to it do not change this object."""
        other = type(self)(self._numbers, self._starts, self._values, path=self.path)
        other._recent = dict(self._recent)
        return other

    def put(self, number: int, metadata: str | None) -> None:
        """Set the metadata of a document, as JSON; None removes them."""
        self._recent[number] = metadata

    def all(self) -> dict[int, str | None]:
        """Return all updates."""
        return self._stored(0, self._numbers.shape[0]) | self._recent

    def within(self, first: int, stop: int) -> dict[int, str | None]:
        """Return the updates of the documents in ``range(first, stop)``."""
        begin, end = np.searchsorted(self._numbers, [first, stop]).tolist()
        found = self._stored(begin, end)
        if self._recent:
            found |= {number: own for number, own in self._recent.items() if first <= number < stop}
        return found

    def of(self, numbers: Sequence[int]) -> dict[int, str | None]:
        """Return the updates of some documents."""
        found: dict[int, str | None] = {}
        for number in numbers if self else ():
            if number in self._recent:
                found[number] = self._recent[number]
            else:
                begin, end = np.searchsorted(self._numbers, [number, number + 1]).tolist()
                found |= self._stored(begin, end)
        return found

    def _stored(self, begin: int, end: int) -> dict[int, str | None]:
        """Return the updates at a range of indices in the arrays."""
        bounds = self._starts[begin : end + 1].tolist()
        try:
            metadata = [
                bytes(self._values[start:stop]).decode("ascii") or None
                for start, stop in pairwise(bounds)
            ]
        except UnicodeDecodeError as error:
            raise CorruptIndexError(f"{self.path}: metadata cannot be read: {error}.") from error
        return dict(zip(self._numbers[begin:end].tolist(), metadata, strict=True))
