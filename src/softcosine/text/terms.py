"""Look-up of distinct strings by number, and of numbers by string, without reading all strings."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import pairwise, repeat

import numpy as np
from numpy.typing import NDArray

from softcosine.errors import InvalidInputError
from softcosine.kernels.packed_strings import find_strings
from softcosine.text.packing import PackedStrings, pack_strings

# A dictionary, in which single look-ups take a tenth of the time, is made when more than this part
# of the strings is looked up, or added, at once.
_READ_MEANWHILE = 32


class Terms:
    """Distinct strings in a fixed order.

    Look-up by string uses a dictionary of all strings. If there is none yet, and the code point
    order of the packed strings is known, a kernel bisects the bytes: a microsecond per string, and
    nothing is read in advance. Thread-safe; caches that two threads build are equal.

    Parameters
    ----------
    strings : PackedStrings
        Distinct.
    order : ndarray of shape (n_strings,), int32, optional
        The numbers of the strings in code point order.
    """

    __slots__ = ("_numbers", "_order", "_table", "packed")

    def __init__(self, strings: PackedStrings, order: NDArray[np.int32] | None = None) -> None:
        self.packed = strings
        self._numbers: dict[str, int] | None = None
        self._order: NDArray[np.int32] | None = None
        self._table: NDArray[np.int64] | None = None
        if order is not None:
            if order.shape != (len(strings),) or order.dtype != np.int32:
                raise _no_order(len(strings))
            self._order = np.ascontiguousarray(order)

    def __len__(self) -> int:
        return len(self.packed)

    def __getitem__(self, number: int) -> str:
        return self.packed[number]

    def strings(self) -> tuple[str, ...]:
        """All strings; decoded once."""
        return self.packed.strings()

    def order(self) -> NDArray[np.int32]:
        """Numbers in code point order, shape (n_strings,), read-only; sorted once."""
        if self._order is None:
            strings = self.strings()
            order = np.array(sorted(range(len(strings)), key=strings.__getitem__), np.int32)
            order.flags.writeable = False
            self._order = order
        return self._order

    def ranks(self) -> NDArray[np.int32]:
        """Rank of each string in code point order, shape (n_strings,)."""
        order = self.order()
        ranks = np.zeros(len(order), np.int32)
        if len(order) and not 0 <= int(order.min()) <= int(order.max()) < len(order):
            raise _no_order(len(order))
        ranks[order] = np.arange(len(order), dtype=np.int32)
        return ranks

    def get(self, string: object) -> int:
        """Return the number of a string, or -1 if it is absent."""
        if not isinstance(string, str):
            return -1
        return int(self.indices([string])[0])

    def indices(self, strings: Iterable[str]) -> NDArray[np.int32]:
        """Return the numbers of several strings, int32, -1 for absent ones."""
        asked = strings if isinstance(strings, Sequence) else list(strings)
        bisects = self._numbers is None and self._order is not None and self.packed.is_packed
        if bisects and len(asked) * _READ_MEANWHILE <= len(self):
            numbers: NDArray[np.int32] = self._bisected(asked)[1].astype(np.int32)
            return numbers
        found = map(self._by_string().get, asked, repeat(-1))
        return np.fromiter(found, np.int32, len(asked))

    def extended(self, strings: Sequence[str]) -> Terms:
        """Return these and further strings, which must be distinct and new (not checked).

        The old strings are copied without decoding, unless there are many new ones.
        """
        if not strings:
            return self
        order = None
        if self._order is not None and len(strings) * _READ_MEANWHILE <= len(self):
            order = self._order_with(strings)
        longer = Terms(self.packed.extended(strings), order)
        if self._numbers is not None:
            longer._numbers = {**self._numbers}
            longer._numbers.update(zip(strings, range(len(self), len(longer)), strict=True))
        return longer

    def starts_with(self, other: Terms) -> bool:
        """Whether another sequence is a prefix of this one."""
        return self.packed.starts_with(other.packed)

    def check(self) -> None:
        """Read all strings; raise InvalidInputError on duplicates or a wrong order."""
        strings = self.strings()
        if self._order is None:
            if len(set(strings)) != len(strings):
                raise InvalidInputError("a term is there twice; terms must be distinct.")
            return
        order = self._order.tolist()
        if order and not 0 <= min(order) <= max(order) < len(order):
            raise _no_order(len(order))
        # Strictly ascending strings are distinct, so the numbers are a permutation.
        if not all(strings[a] < strings[b] for a, b in pairwise(order)):
            raise _no_order(len(order))

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Terms):
            return NotImplemented
        return self.packed == other.packed

    def __hash__(self) -> int:
        # A few strings suffice to distinguish vocabularies, and reading them is cheap.
        n = len(self)
        return hash((n, *(self[i * n // 8] for i in range(min(n, 8)))))

    def _by_string(self) -> dict[str, int]:
        if self._numbers is None:
            self._numbers = {string: number for number, string in enumerate(self.strings())}
        return self._numbers

    def _bisected(self, strings: Sequence[str]) -> NDArray[np.int64]:
        """Return how many terms are before each string, and its number or -1, shape (2, n)."""
        if self._table is None:
            arrays = (*self.packed.arrays, self.order())
            facts = [fact for one in arrays for fact in (one.ctypes.data, len(one))]
            self._table = np.array(facts, np.int64)
        places, numbers = found = np.empty((2, len(strings)), np.int64)
        if find_strings(self._table, *pack_strings(strings), places, numbers) < 0:
            raise _no_order(len(self))
        return found

    def _order_with(self, strings: Sequence[str]) -> NDArray[np.int32]:
        """Insert the numbers of further strings into the order of the old ones."""
        order = self.order()
        news = sorted(range(len(strings)), key=strings.__getitem__)
        places, _ = self._bisected([strings[i] for i in news])
        return np.insert(order, places, np.array(news, np.int32) + np.int32(len(order)))

    def __reduce__(self) -> tuple[type[Terms], tuple[PackedStrings, NDArray[np.int32] | None]]:
        return Terms, (self.packed, self._order)


def _no_order(n: int) -> InvalidInputError:
    return InvalidInputError(
        f"the stored order of the {n} terms is not their order; pass the arrays of one to_arrays "
        "call."
    )
