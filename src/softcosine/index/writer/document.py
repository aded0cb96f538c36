"""New documents, checked."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from hashlib import blake2b
from itertools import islice, zip_longest
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from softcosine.errors import DuplicateIdError, InvalidInputError
from softcosine.index.directory.lock import FORKED
from softcosine.index.segment.documents import Documents, checked_id
from softcosine.index.segment.metadata_values import Default, metadata_json
from softcosine.text.analyzer import checked_tokens, describe, shortened

# So many characters and documents decide the language, whatever follows and however it is batched.
DECIDING_SIZE = 1 << 22
_DECIDING_DOCS = 10_000


@dataclass(frozen=True, slots=True)
class NewDocument:
    """A new document.

    Attributes
    ----------
    id : str
    texts : tuple of str, or of token lists
        One per field.
    metadata : str or None
        As JSON.
    number : int or None
        In a shard, its number in the order of insertion into all shards.
    """

    id: str
    texts: tuple[Any, ...]
    metadata: str | None
    number: int | None = None

    @property
    def tokenized(self) -> bool:
        """Whether the texts are token lists."""
        return isinstance(self.texts[0], list)

    @property
    def size(self) -> int:
        """Approximate size: characters, those of texts that are not ASCII four times."""
        texts = sum(
            # Without spaces, every character is a token. A token counts with the space after it.
            len(text) * (1 if text.isascii() else 4)
            if isinstance(text, str)
            else sum(map(len, text)) + len(text)
            for text in self.texts
        )
        return len(self.id) + len(self.metadata or "") + texts

    @property
    def shown(self) -> str:
        """The stored text: the texts of the fields, one per line."""
        return "\n".join(text if isinstance(text, str) else " ".join(text) for text in self.texts)


def deciding(documents: Iterable[NewDocument]) -> list[NewDocument]:
    """Return the first documents, which decide the language of an index."""
    first: list[NewDocument] = []
    size = 0
    for document in islice(documents, _DECIDING_DOCS):
        size += document.size
        if first and size > DECIDING_SIZE:
            break
        first.append(document)
    return first


def new_document(
    id: object,
    text: object,
    metadata: object,
    *,
    fields: Sequence[str],
    default: Default | None = None,
) -> NewDocument:
    """Return a checked document.

    Parameters
    ----------
    id : str
    text : str, list of tokens, or mapping of field names to str
        See `IndexWriter.add`.
    metadata : mapping or None
    fields : sequence of str
        Names of the index's fields.
    default : callable, optional
        See `softcosine.index.segment.metadata_values.json_of`.

    Raises
    ------
    InvalidInputError
    """
    checked = checked_id(id)
    texts = _texts(checked, text, fields)
    return NewDocument(checked, texts, metadata_json(shortened(checked), metadata, default))


def _texts(id: str, text: object, fields: Sequence[str]) -> tuple[Any, ...]:
    """Return the text of every field; empty for missing fields."""
    if isinstance(text, Mapping):
        for name, value in text.items():
            if name not in fields:
                raise InvalidInputError(
                    f"document {shortened(id)} has a field {name!r}, and the index has "
                    f"{', '.join(map(repr, fields))}."
                )
            if not isinstance(value, str):
                raise InvalidInputError(
                    f"field {name!r} of document {shortened(id)} is {describe(value)}; it must be "
                    "a string."
                )
        return tuple(text.get(name, "") for name in fields)
    if len(fields) > 1:
        raise InvalidInputError(
            f"the text of document {shortened(id)} is {describe(text)}; this index has the fields "
            f"{', '.join(map(repr, fields))}, so pass a mapping of their names to strings."
        )
    if isinstance(text, str):
        return (text,)
    return (list(map(str, checked_tokens(text, f"the text of document {shortened(id)}"))),)


_MISSING = object()


def from_columns(
    texts: Iterable[Any],
    ids: Iterable[str] | None,
    metadata: Iterable[Any] | None,
    *,
    distinct: bool = False,
) -> Iterator[tuple[str, Any, Any]]:
    """Yield id, text and metadata of documents; each column is read once.

    Parameters
    ----------
    texts : iterable
    ids : iterable of str, optional
        ``"0"``, ``"1"``, ... by default.
    metadata : iterable of mappings or None, optional
    distinct : bool
        Whether ids must be distinct.

    Raises
    ------
    InvalidInputError
        If a column is invalid, or the columns differ in length.
    DuplicateIdError
        If ids must be distinct and are not.
    """
    columns = {"texts": texts, "ids": ids, "metadata": metadata}
    for name, column in columns.items():
        if column is None and name != "texts":
            continue
        single = (str, bytes) if name == "ids" else (str, bytes, Mapping)
        if isinstance(column, single) or not isinstance(column, Iterable):
            raise InvalidInputError(
                f"{name} is a single string; wrap it in a list: [text]."
                if name == "texts" and isinstance(column, str)
                else f"{name} is {describe(column)}; pass a list, one a document."
            )
    return _from_columns(texts, ids, metadata, distinct=distinct and ids is not None)


def _from_columns(
    texts: Iterable[Any],
    ids: Iterable[str] | None,
    metadata: Iterable[Any] | None,
    *,
    distinct: bool,
) -> Iterator[tuple[str, Any, Any]]:
    columns = {"texts": texts, "ids": ids, "metadata": metadata}
    given = {name: column for name, column in columns.items() if column is not None}
    first: dict[str, int] = {}
    for n, row in enumerate(zip_longest(*given.values(), fillvalue=_MISSING)):
        if ended := [name for name, value in zip(given, row, strict=True) if value is _MISSING]:
            fewer = "texts" not in ended
            name = ended[0] if fewer else next(name for name in given if name not in ended)
            raise InvalidInputError(
                f"there are {'fewer' if fewer else 'more'} {name} than documents; give one of each "
                "a document."
            )
        values = iter(row)
        text, id = next(values), str(n) if ids is None else next(values)
        if distinct and (place := first.setdefault(checked_id(id, n), n)) != n:
            raise DuplicateIdError(
                f"documents {place} and {n} have the same id {id!r}; ids must be distinct."
            )
        yield id, text, next(values, None)


# A table of all ids pays if more than one document in so many is looked up.
_TABLE_SHARE = 64


def lasting_hashes(ids: Iterable[str]) -> NDArray[np.uint64]:
    """Return the 64-bit hashes of ids, in order; the same in every process and version.

    The first eight bytes of the BLAKE2b digest of the id in UTF-8, as a big-endian number.
    """
    digests = b"".join(
        blake2b(id.encode("utf-8", "surrogatepass"), digest_size=8).digest() for id in ids
    )
    return np.frombuffer(digests, ">u8").astype(np.uint64)


def hashes_of(ids: Iterable[str]) -> NDArray[np.int64]:
    """Return the hashes of ids, in order; only valid within this process."""
    return np.fromiter(map(hash, ids), np.int64)


class IdTable:
    """Lookup of document numbers by id in a segment, with eight bytes per document in memory.

    Parameters
    ----------
    documents : Documents
    hashes : ndarray of int64, optional
        Of all ids, in any order; read from the file on demand by default.
    """

    def __init__(self, documents: Documents, hashes: NDArray[np.int64] | None = None) -> None:
        self._documents = documents
        self._sorted = None if hashes is None else np.sort(hashes)

    def find(self, ids: Sequence[str], hashes: NDArray[np.int64]) -> dict[str, int]:
        """Return the numbers of those ids that exist, given their hashes."""
        if self._sorted is None:
            if len(ids) * _TABLE_SHARE < len(self._documents):
                return self._documents.numbers(ids)
            self._sorted = np.sort(hashes_of(self._documents.all_ids()))
        if not self._sorted.shape[0]:
            return {}
        places = np.searchsorted(self._sorted, hashes)
        places[places == self._sorted.shape[0]] = 0
        likely = np.flatnonzero(self._sorted[places] == hashes)
        return self._documents.numbers([ids[i] for i in likely.tolist()])


class Writing:
    """What writers of an index, of shards and of an index on a server have in common."""

    _process = 0  # the one that has the writer open; 0 after `close`

    def add(self, id: str, text: Any, metadata: Mapping[str, Any] | None = None) -> None:
        """Add a document, or replace the document with the same id."""
        raise NotImplementedError

    def add_many(
        self,
        ids: Iterable[str],
        texts: Iterable[str | Sequence[str] | Mapping[str, str]],
        metadata: Iterable[Mapping[str, Any] | None] | None = None,
    ) -> None:
        """Add documents in order, each as `add` does; iterables are read once.

        Raises
        ------
        InvalidInputError
            As for `add`, or if the lengths differ. Documents before the error are added.
        """
        self._check_open()
        for id, text, own in from_columns(texts, ids, metadata):
            self.add(id, text, own)

    def _check_open(self) -> None:
        if not self._process:
            raise InvalidInputError("this writer is closed; open another one.")
        if self._process != os.getpid():
            raise InvalidInputError(FORKED)


class Committing(Writing):
    """A writer that commits at the end of its block, unless an exception is raised."""

    def commit(self, refresh: bool | None = None) -> Any:
        """Make the changes visible."""
        raise NotImplementedError

    def close(self) -> None:
        """Undo all changes since the last commit, and release what the writer holds."""
        raise NotImplementedError

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, *exception: object) -> None:
        try:
            if kind is None and self._process:
                self.commit()
        finally:
            self.close()
