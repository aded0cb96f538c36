"""From files to documents: which fields are the id and the text, and the rest as metadata."""

from __future__ import annotations

import errno
import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Self

from softcosine.cli.folders import read_folder
from softcosine.cli.formats import STANDARD_INPUT, Record, read_records
from softcosine.cli.seen_ids import SeenIds
from softcosine.errors import DuplicateIdError, InvalidInputError

__all__ = ["Document", "Fields", "ReadDocuments", "each_document", "read_documents"]

_REPORTED = 1000  # documents between two reports of progress


@dataclass(frozen=True, slots=True)
class Fields:
    """Which fields of a record are what; all others are metadata.

    Attributes
    ----------
    id : str or None
        None takes the field ``id`` if the first record has it, and running numbers otherwise.
    text : tuple of str
        A record needs one of them.
    separate : bool
        Whether each is a space of its own; otherwise they are joined by line breaks.
    """

    id: str | None = None
    text: tuple[str, ...] = ("text",)
    separate: bool = False


@dataclass(frozen=True, slots=True)
class Document:
    """A document as `IndexWriter.add` takes it."""

    id: str
    text: str | dict[str, str]
    metadata: dict[str, Any] | None

    @property
    def n_characters(self) -> int:
        """How long its texts are together."""
        texts = (self.text,) if isinstance(self.text, str) else self.text.values()
        return sum(map(len, texts))


@dataclass(frozen=True, slots=True)
class ReadDocuments:
    """Documents in order, as `SoftIndex.from_texts` takes them."""

    ids: list[str] = field(default_factory=list)
    texts: list[str] = field(default_factory=list)
    metadata: list[dict[str, Any] | None] = field(default_factory=list)

    @classmethod
    def of(cls, documents: Iterable[Document]) -> Self:
        """Take documents of joined fields."""
        read = cls()
        for document in documents:
            assert isinstance(document.text, str)
            read.ids.append(document.id)
            read.texts.append(document.text)
            read.metadata.append(document.metadata)
        return read


def read_documents(
    inputs: Sequence[str],
    *,
    fields: Fields = Fields(),
    format: str | None = None,
    encoding: str = "utf-8",
    pattern: str | None = None,
    progress: Callable[[int], None] | None = None,
) -> ReadDocuments:
    """Read all documents of some files and folders at once; see `each_document`."""
    return ReadDocuments.of(
        each_document(
            inputs,
            fields=fields,
            format=format,
            encoding=encoding,
            pattern=pattern,
            progress=progress,
        )
    )


def each_document(
    inputs: Sequence[str],
    *,
    fields: Fields = Fields(),
    format: str | None = None,
    encoding: str = "utf-8",
    pattern: str | None = None,
    first_number: Callable[[], int] | None = None,
    progress: Callable[[int], None] | None = None,
) -> Iterator[Document]:
    """Read the documents of some files and folders one after the other, each once.

    Memory does not grow with their number: ids that were seen lie in a temporary file.

    Parameters
    ----------
    inputs : sequence of str
        Files, folders of text files, or ``"-"`` for standard input.
    fields : Fields
    format, encoding
        See `softcosine.cli.formats.read_records`.
    pattern : str, optional
        Which files of a folder are read.
    first_number : callable, optional
        Says where running numbers begin, if documents are to have them; 1 by default.
    progress : callable, optional
        Called now and then with the number of documents read.

    Raises
    ------
    InvalidInputError
        If a field is missing or holds no text, or there is no document; names file and line, and
        the fields that there are. That a text field is in no document is found at the end.
    DuplicateIdError
        If two documents have one id; names both places.
    MalformedFileError
    """
    names = _Names(fields)
    n_read, first = 0, 1
    with SeenIds() as seen:
        for record in _records(inputs, format, encoding, pattern):
            text = names.text(record)
            if n_read == 0:
                names.decide(record)
                if names.numbered and first_number is not None:
                    first = first_number()
            id = str(first + n_read) if names.numbered else names.id(record)
            if not names.numbered and (place := seen.add(id, record.path, record.line)):
                raise DuplicateIdError(
                    f"{_place(record)}: the id {_short(id)} was given before, at {place}; "
                    "ids must be distinct. Choose another field by --id, or correct the file."
                )
            n_read += 1
            if progress is not None and n_read % _REPORTED == 0:
                progress(n_read)
            yield Document(id, text, names.metadata(record))
    if not n_read:
        raise InvalidInputError(f"{', '.join(map(_shown, inputs))}: there are no documents in it.")
    names.check_all_seen()


class _Names:
    """Takes records apart by the names of their fields."""

    def __init__(self, fields: Fields) -> None:
        self._fields = fields
        self._id: str | None = fields.id
        self._unseen = set(fields.text)
        self._known: dict[str, None] = {}

    @property
    def numbered(self) -> bool:
        """Whether ids are running numbers."""
        return self._id is None

    def decide(self, first: Record) -> None:
        """Choose the field of the ids, if none was named, by the first record."""
        if self._id is None and "id" in first.values and "id" not in self._fields.text:
            self._id = "id"

    def text(self, record: Record) -> str | dict[str, str]:
        parts = {}
        for name in self._fields.text:
            if name not in record.values:
                continue
            self._unseen.discard(name)
            value = record.values[name]
            if isinstance(value, bool) or not isinstance(value, str | int | float | None):
                raise InvalidInputError(
                    f"{_place(record)}: the field {_short(name)} is of type "
                    f"{type(value).__name__}; a text was needed. Choose other fields by --text."
                )
            parts[name] = "" if value is None else str(value)
        if not parts:
            raise self._missing(self._fields.text, "--text", record)
        self._known.update(dict.fromkeys(record.values) if len(self._known) < 100 else ())
        return parts if self._fields.separate else "\n".join(filter(None, parts.values()))

    def id(self, record: Record) -> str:
        assert self._id is not None
        if self._id not in record.values:
            raise self._missing((self._id,), "--id", record)
        value = record.values[self._id]
        if isinstance(value, bool) or not isinstance(value, str | int | float) or value == "":
            raise InvalidInputError(
                f"{_place(record)}: the id is {_short(value)}; a text or a number was needed."
            )
        return str(value)

    def metadata(self, record: Record) -> dict[str, Any] | None:
        taken = {self._id, *self._fields.text}
        return {name: value for name, value in record.values.items() if name not in taken} or None

    def check_all_seen(self) -> None:
        if self._unseen:
            raise InvalidInputError(
                f"no document has a field {' or '.join(map(_short, sorted(self._unseen)))}; "
                f"there are the fields {_listed(self._known)}."
            )

    def _missing(self, names: tuple[str, ...], option: str, record: Record) -> InvalidInputError:
        return InvalidInputError(
            f"{_place(record)}: there is no field {' or '.join(map(_short, names))}; "
            f"there are the fields {_listed(record.values) or '(none)'}. "
            f"Choose by {option} NAME."
        )


def _records(
    inputs: Iterable[str], format: str | None, encoding: str, pattern: str | None
) -> Iterator[Record]:
    for path in inputs:
        if path != STANDARD_INPUT and Path(path).is_dir():
            yield from read_folder(path, pattern=pattern, encoding=encoding)
        elif path != STANDARD_INPUT and not Path(path).exists():
            raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT), path)
        else:
            yield from read_records(path, format=format, encoding=encoding)


def _short(value: object) -> str:
    """Return a value as Python writes it, a long one cut."""
    shown = repr(value[:81] if isinstance(value, str) else value)
    return shown if len(shown) <= 82 else f"{shown[:80]}…"


def _listed(names: Iterable[str]) -> str:
    """Return the first names, each cut if it is long."""
    every = [name if len(name) <= 40 else f"{name[:39]}…" for name in names]
    more = f" and {len(every) - 20} more" if len(every) > 20 else ""
    return ", ".join(every[:20]) + more


def _place(record: Record) -> str:
    return record.path if record.line is None else f"{record.path}, line {record.line}"


def _shown(path: str) -> str:
    return "standard input" if path == STANDARD_INPUT else path
