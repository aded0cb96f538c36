"""From files to documents: which fields are the id and the text, and the rest as metadata."""

from __future__ import annotations

import errno
import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from softcosine.cli.folders import read_folder
from softcosine.cli.formats import STANDARD_INPUT, Record, read_records
from softcosine.errors import DuplicateIdError, InvalidInputError

__all__ = ["Fields", "ReadDocuments", "read_documents"]

_REPORTED = 1000  # documents between two reports of progress


@dataclass(frozen=True, slots=True)
class Fields:
    """Which fields of a record are what; all others are metadata.

    Attributes
    ----------
    id : str or None
        None takes the field ``id`` if the first record has it, and running numbers otherwise.
    text : tuple of str
        Joined by line breaks. A record needs one of them.
    """

    id: str | None = None
    text: tuple[str, ...] = ("text",)


@dataclass(frozen=True, slots=True)
class ReadDocuments:
    """Documents in order, as `SoftIndex.from_texts` takes them."""

    ids: list[str] = field(default_factory=list)
    texts: list[str] = field(default_factory=list)
    metadata: list[dict[str, Any] | None] = field(default_factory=list)


def read_documents(
    inputs: Sequence[str],
    *,
    fields: Fields = Fields(),
    format: str | None = None,
    encoding: str = "utf-8",
    pattern: str | None = None,
    progress: Callable[[int], None] | None = None,
) -> ReadDocuments:
    """Read all documents of some files and folders, each once.

    Parameters
    ----------
    inputs : sequence of str
        Files, folders of text files, or ``"-"`` for standard input.
    fields : Fields
    format, encoding
        See `softcosine.cli.formats.read_records`.
    pattern : str, optional
        Which files of a folder are read.
    progress : callable, optional
        Called now and then with the number of documents read.

    Raises
    ------
    InvalidInputError
        If a field is missing or holds no text, or there is no document; names file and line, and
        the fields that there are.
    DuplicateIdError
        If two documents have one id; names both places.
    MalformedFileError
    """
    documents = ReadDocuments()
    places: dict[str, str] = {}
    names = _Names(fields)
    for record in _records(inputs, format, encoding, pattern):
        text = names.text(record)
        id = names.id(record, len(documents.ids))
        if id in places:
            raise DuplicateIdError(
                f"{_place(record)}: the id {_short(id)} was given before, at {places[id]}; "
                "ids must be distinct. Choose another field by --id, or correct the file."
            )
        places[id] = _place(record)
        documents.ids.append(id)
        documents.texts.append(text)
        documents.metadata.append(names.metadata(record))
        if progress is not None and len(documents.ids) % _REPORTED == 0:
            progress(len(documents.ids))
    if not documents.ids:
        raise InvalidInputError(f"{', '.join(map(_shown, inputs))}: there are no documents in it.")
    names.check_all_seen()
    return documents


class _Names:
    """Takes records apart by the names of their fields."""

    def __init__(self, fields: Fields) -> None:
        self._fields = fields
        self._id: str | None = fields.id
        self._decided = fields.id is not None
        self._unseen = set(fields.text)
        self._known: dict[str, None] = {}

    def text(self, record: Record) -> str:
        parts = []
        found = False
        for name in self._fields.text:
            if name not in record.values:
                continue
            found = True
            self._unseen.discard(name)
            value = record.values[name]
            if isinstance(value, bool) or not isinstance(value, str | int | float | None):
                raise InvalidInputError(
                    f"{_place(record)}: the field {_short(name)} is of type "
                    f"{type(value).__name__}; a text was needed. Choose other fields by --text."
                )
            if value is not None and value != "":
                parts.append(str(value))
        if not found:
            raise self._missing(self._fields.text, "--text", record)
        self._known.update(dict.fromkeys(record.values) if len(self._known) < 100 else ())
        return "\n".join(parts)

    def id(self, record: Record, number: int) -> str:
        if not self._decided:
            self._decided = True
            self._id = "id" if "id" in record.values and "id" not in self._fields.text else None
        if self._id is None:
            return str(number + 1)
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
