"""Updates of metadata after their segment was written.

A segment never changes. Updated metadata are stored beside it, like deletes, and a merge writes
them into the new segment.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
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
    arrays : mapping of str to ndarray, optional
        Of `to_arrays`.
    path : Path, optional
        The file of the arrays, for error messages.
    """

    def __init__(
        self, arrays: Mapping[str, NDArray[Any]] | None = None, *, path: Path | None = None
    ) -> None:
        self.path = path
        self._arrays = arrays
        self._numbers = np.empty(0, np.int64) if arrays is None else arrays["numbers"]
        self._recent: dict[int, str | None] = {}

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
        return cls(arrays, path=path)

    def to_arrays(self) -> dict[str, NDArray[Any]]:
        """Return all updates as arrays, for storage: JSON in ASCII, empty where it was removed."""
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
        return self.recent or self._arrays is not None

    def copy(self) -> Self:
        """Return a copy; additions to it do not change this object."""
        other = type(self)(self._arrays, path=self.path)
        other._recent = dict(self._recent)
        return other

    def put(self, number: int, metadata: str | None) -> None:
        """Set the metadata of a document, as JSON; None removes them."""
        self._recent[number] = metadata

    def all(self) -> dict[int, str | None]:
        """Return all updates."""
        return self.of([*self._numbers.tolist(), *self._recent])

    def of(self, numbers: Iterable[int]) -> dict[int, str | None]:
        """Return the updates of the given documents."""
        if not self:
            return {}
        wanted = np.array(list(numbers), np.int64)
        places = np.searchsorted(self._numbers, wanted)
        stored = places < np.searchsorted(self._numbers, wanted, "right")
        found = dict(zip(wanted[stored].tolist(), map(self._text, places[stored]), strict=True))
        return found | {n: self._recent[n] for n in wanted.tolist() if n in self._recent}

    def _text(self, place: int) -> str | None:
        assert self._arrays is not None
        start, stop = self._arrays["starts"][place : place + 2]
        try:
            return bytes(self._arrays["values"][start:stop]).decode("ascii") or None
        except UnicodeDecodeError as error:
            raise CorruptIndexError(f"{self.path}: metadata cannot be read: {error}.") from error
