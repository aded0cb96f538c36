"""Columns of the metadata of a segment, for fast filters.

A column has the distinct values of one key, and for each document the number (code) of its value.
A filter is evaluated once per distinct value, and looked up by code.
"""

from __future__ import annotations

import sys
import threading
from bisect import bisect_left, bisect_right
from collections import OrderedDict
from collections.abc import Collection, Hashable, Iterable
from enum import Enum
from typing import TYPE_CHECKING, Any, Generic, Protocol, TypeVar

import numpy as np
from numpy.typing import NDArray

from softcosine._deadline import check_deadline

if TYPE_CHECKING:
    from softcosine.index.segment.documents import Documents

Path = tuple[str, ...]
Table = NDArray[np.bool_]

# Values in filters are not nested deeper; deeper values only have to differ from all others.
MAX_DEPTH = 100
_AT_ONCE = 16  # columns of one pass


class _Constant(Enum):
    """Keys of missing values, null and booleans."""

    MISSING = 0
    FALSE = 1
    TRUE = 2


# The value of a key that a document does not have.
MISSING: Any = _Constant.MISSING
_AS_THEY_ARE = frozenset({str, int, _Constant, type(None)})


def is_number(value: object) -> bool:
    """Whether a value is a number; booleans and NaN are not."""
    return isinstance(value, (int, float)) and not isinstance(value, bool) and value == value


def value_at(metadata: dict[str, Any], path: Path) -> Any:
    """Return the value at a path of keys into nested objects, or `MISSING`.

    A key that has the dots in its name comes before a path: of ``("price", "usd")``, the key
    ``price.usd`` before the key ``usd`` of the object ``price``.
    """
    for n in range(len(path), 0, -1):
        value = metadata.get(path[0] if n == 1 else ".".join(path[:n]), MISSING)
        if n < len(path):
            value = value_at(value, path[n:]) if isinstance(value, dict) else MISSING
        if value is not MISSING:
            return value
    return MISSING


def key_of(value: Any, depth: int = 0) -> Hashable:
    """Return a hashable key, equal for equal JSON values only.

    The key of a number or string is the value itself. Equal numbers have equal keys (1 and 1.0),
    which differ from those of booleans. Lists become tuples and objects frozen sets, of the keys
    of their elements.
    """
    if type(value) in _AS_THEY_ARE or is_number(value):
        return value  # type: ignore[no-any-return]
    if isinstance(value, bool):
        return _Constant.TRUE if value else _Constant.FALSE
    if depth <= MAX_DEPTH:
        if isinstance(value, list):
            return tuple([part if type(part) is str else key_of(part, depth + 1) for part in value])
        if isinstance(value, dict):
            return frozenset((name, key_of(part, depth + 1)) for name, part in value.items())
    return object()


def order_of(key: Hashable) -> tuple[int, Any] | None:
    """Return the sort key of a value, given its key; None for values that are not ordered.

    Numbers ascend, then strings in code point order, then false and true.
    """
    if isinstance(key, str):
        return 1, key
    if is_number(key):
        return 0, key
    return (2, key.value) if key in (_Constant.FALSE, _Constant.TRUE) else None


def scalar_of(key: Hashable) -> Any:
    """Return the string, number, boolean or null with the given key; `MISSING` for other keys.

    Integral floats are returned as integers, so the result does not depend on the order of values.
    """
    if isinstance(key, str) or key is None:
        return key
    if isinstance(key, _Constant):
        return MISSING if key is MISSING else key is _Constant.TRUE
    if isinstance(key, float) and key.is_integer():
        return int(key)
    return key if is_number(key) else MISSING


class MetadataColumn:
    """The values of one key in all documents of a segment.

    Order of codes: the missing value, numbers ascending, strings ascending, all others. A *table*,
    of shape (n_codes,), is the result of a filter for each code.

    Parameters
    ----------
    values : iterable
        One per document, in order of number; `MISSING` if the document lacks the key.
    """

    def __init__(self, values: Iterable[Any]) -> None:
        met: dict[Hashable, int] = {}
        first_codes = [
            met.setdefault(value if type(value) is str else key_of(value), len(met))
            for value in values
        ]
        numbers: list[Any] = [key for key in met if is_number(key)]
        strings = [key for key in met if isinstance(key, str)]
        simple = {MISSING, *numbers, *strings}
        others = [key for key in met if key not in simple]
        # Numbers and strings are found by bisection, which needs no further memory.
        self._numbers, self._strings = sorted(numbers), sorted(strings)
        order = [MISSING, *self._numbers, *self._strings, *others]
        self._n_codes = len(order)
        numbering = {key: code for code, key in enumerate(order)}
        self._codes = np.array([numbering[key] for key in met], np.int32)[first_codes]
        first = self._n_codes - len(others)
        self._others: dict[Hashable, int] = {}
        shared: dict[Hashable, Hashable] = {}  # equal list elements are stored once
        for code, key in enumerate(others, first):
            if isinstance(key, tuple):
                key = tuple([shared.setdefault(part, part) for part in key])
            self._others[key] = code
        self._holders: dict[Hashable, NDArray[np.int32]] | None = None

    @property
    def nbytes(self) -> int:
        """Memory in bytes, approximately."""
        strings = sum(map(sys.getsizeof, self._strings))
        # A list takes 8 bytes per element, and 4 among the holders; an object rather more.
        others = sum(
            200 + 12 * len(key) if isinstance(key, tuple) else 100 + sys.getsizeof(key)
            for key in self._others
        )
        return (
            int(self._codes.nbytes) + strings + 8 * self._n_codes + 32 * len(self._numbers) + others
        )

    def mask(self, table: Table) -> NDArray[np.bool_]:
        """Return the documents whose value is true in a table, shape (n_docs,)."""
        return table[self._codes]

    def codes(self, documents: NDArray[np.int64]) -> NDArray[np.int32]:
        """Return the value codes of documents."""
        return self._codes[documents]

    def keys(self, codes: NDArray[np.int32]) -> list[Hashable]:
        """Return the keys of codes; see `key_of`."""
        first_string = 1 + len(self._numbers)
        first_other = first_string + len(self._strings)
        others = list(self._others)  # in the order of their codes
        return [
            MISSING
            if code == 0
            else self._numbers[code - 1]
            if code < first_string
            else self._strings[code - first_string]
            if code < first_other
            else others[code - first_other]
            for code in codes.tolist()
        ]

    def missing(self) -> Table:
        """Return the table that is true for the missing value."""
        return self._table(slice(0, 1))

    def equal(self, values: Iterable[Any]) -> Table:
        """Return the table of values equal to one of the given values."""
        return self._table([code for value in values if (code := self._code(value)) is not None])

    def below(self, value: Any, *, inclusive: bool) -> Table:
        """Return the table of values of the same type below a number or string."""
        first, values = self._of_type(value)
        return self._table(slice(first, first + _place(values, value, inclusive)))

    def above(self, value: Any, *, inclusive: bool) -> Table:
        """Return the table of values of the same type above a number or string."""
        first, values = self._of_type(value)
        begin = first + _place(values, value, not inclusive)
        return self._table(slice(begin, first + len(values)))

    def holding(self, value: Any) -> Table:
        """Return the table of lists that contain a value, and of strings that contain a string."""
        if self._holders is None:  # threads may compute it twice, with the same result
            holders: dict[Hashable, list[int]] = {}
            for key, code in self._others.items():
                for part in key if isinstance(key, tuple) else ():
                    holders.setdefault(part, []).append(code)
            self._holders = {part: np.array(codes, np.int32) for part, codes in holders.items()}
        table = self._table(self._holders.get(key_of(value), []))
        if isinstance(value, str):
            first, strings = self._of_type(value)
            table[first : first + len(strings)] = [value in string for string in strings]
        return table

    def containing_folded(self, text: str) -> Table:
        """Return the table of strings that contain a string, both case-folded."""
        table, folded = self._table([]), text.casefold()
        first, strings = self._of_type(text)
        table[first : first + len(strings)] = [folded in one.casefold() for one in strings]
        return table

    def _table(self, codes: slice | list[int] | NDArray[np.int32]) -> Table:
        table = np.zeros(self._n_codes, np.bool_)
        table[codes] = True
        return table

    def _of_type(self, value: Any) -> tuple[int, list[Any]]:
        """Return the ascending values of the same type, and the code of the first."""
        if isinstance(value, str):
            return 1 + len(self._numbers), self._strings
        return 1, self._numbers

    def _code(self, value: Any) -> int | None:
        key = key_of(value)
        if not isinstance(key, str) and not is_number(key):
            return self._others.get(key)
        first, values = self._of_type(key)
        place = bisect_left(values, key)
        return first + place if place < len(values) and values[place] == key else None


def _place(values: list[Any], value: Any, after: bool) -> int:
    """Return the position of a value among ascending values, before or after an equal one."""
    return bisect_right(values, value) if after else bisect_left(values, value)


class Condition(Protocol):
    """A filter with a cache key and its mask of matching documents."""

    @property
    def key(self) -> str:
        """Under which masks are cached."""

    def mask(self, columns: MetadataColumns) -> NDArray[np.bool_]:
        """Return the matching documents."""


class MetadataColumns:
    """The columns and filter masks of one segment, in caches of limited size.

    The metadata of a segment never change, so cached results stay valid. Thread-safe.

    Parameters
    ----------
    documents : Documents
    max_bytes : int
        Limit for all columns, and again for all masks; the least recently used go first. A mask
        takes one byte per document, a column four, plus its distinct values.
    """

    def __init__(self, documents: Documents, max_bytes: int = 2**25) -> None:
        self._documents = documents
        self._max_bytes = max_bytes
        self._columns: _Recent[Path, MetadataColumn] = _Recent(max_bytes)
        self._masks: _Recent[str, NDArray[np.bool_]] = _Recent(max_bytes)
        self._reading = threading.Lock()

    def __reduce__(self) -> tuple[Any, ...]:
        # The caches are not pickled.
        return MetadataColumns, (self._documents, self._max_bytes)

    @property
    def n_docs(self) -> int:
        """Number of documents."""
        return len(self._documents)

    def mask(self, where: Condition) -> NDArray[np.bool_]:
        """Return the documents that match a filter, shape (n_docs,), read-only.

        Raises
        ------
        CorruptIndexError
            If metadata cannot be read.
        """
        found = self._masks.get(where.key)
        if found is None:
            found = where.mask(self)
            found.flags.writeable = False
            self._masks.put(where.key, found, found.nbytes + sys.getsizeof(where.key))
        return found

    def columns(self, paths: Collection[Path]) -> dict[Path, MetadataColumn]:
        """Return the columns of keys; columns that are not cached are read in one pass."""
        kept = {path: self._columns.get(path) for path in paths}
        if None in kept.values():
            with self._reading:  # so that threads do not read the same columns twice
                kept = {path: self._columns.get(path) for path in paths}
                absent = [path for path, column in kept.items() if column is None]
                for begin in range(0, len(absent), _AT_ONCE):
                    check_deadline()  # not within a pass: what is read is kept
                    some = absent[begin : begin + _AT_ONCE]
                    for path, column in zip(some, self._read(some), strict=True):
                        kept[path] = column
                        self._columns.put(path, column, column.nbytes)
        return {path: column for path, column in kept.items() if column is not None}

    def _read(self, paths: list[Path]) -> list[MetadataColumn]:
        values: list[list[Any]] = [[] for _ in paths]
        for metadata in self._documents.all_metadata():
            for path, column in zip(paths, values, strict=True):
                column.append(value_at(metadata, path))
        return [MetadataColumn(column) for column in values]


_K = TypeVar("_K", bound=Hashable)
_V = TypeVar("_V")


class _Recent(Generic[_K, _V]):
    """A cache of limited size that drops the least recently used entries."""

    def __init__(self, max_bytes: int) -> None:
        self._max_bytes = max_bytes
        self._n_bytes = 0
        self._held: OrderedDict[_K, tuple[_V, int]] = OrderedDict()
        self._lock = threading.Lock()

    def get(self, key: _K) -> _V | None:
        with self._lock:
            if key not in self._held:
                return None
            self._held.move_to_end(key)
            return self._held[key][0]

    def put(self, key: _K, value: _V, n_bytes: int) -> None:
        with self._lock:
            self._n_bytes += n_bytes - self._held.pop(key, (value, 0))[1]
            self._held[key] = (value, n_bytes)
            # The newest entry always stays.
            while self._n_bytes > self._max_bytes and len(self._held) > 1:
                self._n_bytes -= self._held.popitem(last=False)[1][1]
