"""Documents from records: the id, the text fields, and the metadata.

By default, as in BEIR's files, the id is the field ``id`` or ``_id``, else ``docid``, and the text
is ``text``, preceded by ``title`` if there is one.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from decimal import Decimal
from itertools import pairwise
from typing import Any, Self

from softcosine.errors import InvalidInputError
from softcosine.files.column_types import ColumnTypes, parsed_cell
from softcosine.files.records import Record

_IDS = ("id", "_id")  # a record may have both if they are equal
_OTHER_ID = "docid"
_TITLE, _TEXT = "title", "text"
_WRITABLE = str | int | float | date | Decimal  # types of ids and texts
LONGEST_TITLE = 240  # characters of a first text field that is the title


@dataclass(frozen=True, slots=True)
class Fields:
    """Roles of the fields of a record; all other fields are metadata.

    Attributes
    ----------
    id : str or None
        None takes the field of the first record: ``id`` or ``_id``, else ``docid``, else running
        numbers. A record may have both ``id`` and ``_id`` if they are equal.
    text : tuple of str, or None
        A record needs at least one of them. None means ``text``, which every record needs,
        preceded by ``title`` if there is one.
    separate : bool
        Whether each field stays a text of its own; otherwise they are joined by `joined_text`,
        and ``title``, or else the first of several if it is short, is stored in the metadata as
        ``title`` too.
    id_advice, text_advice : str
        End of error messages about these fields: what to do.
    """

    id: str | None = None
    text: tuple[str, ...] | None = None
    separate: bool = False
    id_advice: str = ""
    text_advice: str = ""

    @property
    def names(self) -> tuple[str, ...]:
        """Names of all possible text fields, in order."""
        return (_TITLE, _TEXT) if self.text is None else self.text


@dataclass(frozen=True, slots=True)
class Document:
    """Arguments of `IndexWriter.add` for one document."""

    id: str
    text: str | dict[str, str]
    metadata: dict[str, Any] | None

    @property
    def n_characters(self) -> int:
        """Total number of characters of its texts."""
        texts = (self.text,) if isinstance(self.text, str) else self.text.values()
        return sum(map(len, texts))


class RecordReader:
    """Splits records into id, text and metadata; the first record decides on the id field.

    Parameters
    ----------
    fields : Fields
    types : mapping of str to str
        Types of metadata columns of CSV and TSV; those that are missing are text.
    """

    def __init__(self, fields: Fields, types: Mapping[str, str] | None = None) -> None:
        self._fields, self._types = fields, types or {}
        self._id = fields.id
        self._decided = fields.id is not None
        self._unseen = set(fields.text or ())
        self._known: dict[str, None] = {}

    @property
    def id_name(self) -> str | None:
        """The id field, once the first record has decided; None if the records have none."""
        return self._id

    @classmethod
    def of_part(cls, fields: Fields, types: Mapping[str, str], id_name: str) -> Self:
        """Return the reader of a part of a collection, whose first record decided `id_name`."""
        reader = cls(fields, types)
        reader._decided, reader._id = True, id_name
        return reader

    @property
    def unseen(self) -> frozenset[str]:
        """The text fields given that no record has had yet."""
        return frozenset(self._unseen)

    def id(self, record: Record) -> str | None:
        """Return the id of a record; None if the records have no ids.

        Raises
        ------
        InvalidInputError
            If the id is missing, not a string or number, or there are two different ones.
        """
        if not self._decided:
            self._decided = True
            self._id = id_field(record.values)
            if self._id in self._fields.names:
                self._id = None
        if self._id is None:
            return None
        if self._id not in record.values:
            raise self._missing((self._id,), self._fields.id_advice, record)
        value = record.values[self._id]
        if isinstance(value, bool) or not isinstance(value, _WRITABLE) or value == "":
            raise InvalidInputError(
                f"{place(record)}: the id is {_short(value)}, no text or number."
            )
        if self._fields.id is None and self._id in _IDS:
            self._check_same(record, str(value))
        return str(value)

    def text(self, record: Record) -> str | dict[str, str]:
        """Return the text of a record, or the texts of its fields if they are separate.

        Raises
        ------
        InvalidInputError
            If all fields are missing, or one is not a string.
        """
        parts = {}
        for name in self._fields.names:
            if name not in record.values:
                continue
            self._unseen.discard(name)
            value = record.values[name]
            if isinstance(value, bool) or not isinstance(value, _WRITABLE | None):
                problem = f"the field {_short(name)} is of type {type(value).__name__}"
                raise InvalidInputError(
                    f"{place(record)}: {problem}; a text was needed.{self._fields.text_advice}"
                )
            parts[name] = "" if value is None else str(value)
        needed = (_TEXT,) if self._fields.text is None else self._fields.text
        if not any(name in parts for name in needed):
            raise self._missing(needed, self._fields.text_advice, record)
        self._known.update(dict.fromkeys(record.values) if len(self._known) < 100 else ())
        return parts if self._fields.separate else joined_text([*parts.values()])

    def metadata(self, record: Record) -> dict[str, Any] | None:
        """Return all fields except id and text, but with the title of a joined text.

        Cells of CSV and TSV have the type of their column; empty ones are left out.

        Raises
        ------
        InvalidInputError
            If a cell is not of the type.
        """
        values = self.others(record)
        if record.is_row:
            values = {
                name: self._value(name, cell, record)
                for name, cell in values.items()
                if cell.strip()
            }
        first = str(record.values.get(self._fields.names[0]) or "")
        if not self._fields.separate and self._fields.names[1:] and 0 < len(first) <= LONGEST_TITLE:
            values = {_TITLE: first, **values}
        return values or None

    def others(self, record: Record) -> dict[str, Any]:
        """Return the values of the metadata as they are in the record."""
        taken: set[str | None] = set(self._fields.names)
        if not self._fields.separate and record.values.get(_TITLE):
            taken.discard(_TITLE)
        taken.update(_IDS if self._fields.id is None and self._id in _IDS else {self._id})
        return {name: value for name, value in record.values.items() if name not in taken}

    def _value(self, name: str, cell: str, record: Record) -> Any:
        type = self._types.get(name, "text")
        try:
            return parsed_cell(cell, type)
        except ValueError:
            raise InvalidInputError(
                f"{place(record)}: {_short(cell)} is no {type}, the type of the column "
                f"{_short(name)}; correct it, or let the column be text: --types {name[:40]}=text."
            ) from None

    def check_all_seen(self) -> None:
        """Raise InvalidInputError if a text field occurred in no record."""
        if self._unseen:
            raise InvalidInputError(
                f"no document has a field {' or '.join(map(_short, sorted(self._unseen)))}; "
                f"there are the fields {_listed(self._known)}."
            )

    def _check_same(self, record: Record, id: str) -> None:
        """Raise if another usual id field has a different value."""
        for name in _IDS:
            other = record.values.get(name, id)
            if str(other) != id:
                raise InvalidInputError(
                    f"{place(record)}: the field {_short(self._id)} is {_short(id)} and the field "
                    f"{_short(name)} is {_short(other)}; leave one out.{self._fields.id_advice}"
                )

    def _missing(self, names: Sequence[str], advice: str, record: Record) -> InvalidInputError:
        return InvalidInputError(
            f"{place(record)}: there is no field {' or '.join(map(_short, names))}; "
            f"there are the fields {_listed(record.values) or '(none)'}.{advice}"
        )


def column_types(tables: Iterable[Iterable[Record]], fields: Fields) -> dict[str, str]:
    """Return the inferred types of the metadata columns of tables, see `ColumnTypes`.

    A column that several tables have gets one type.

    Raises
    ------
    InvalidInputError, MalformedFileError
        If a table cannot be read.
    """
    reader, columns = RecordReader(fields), ColumnTypes()
    for table in tables:
        for record in table:
            reader.id(record)  # the first one decides on the id field
            if not columns.read(reader.others(record)):
                break
    return {name: type for name, type in columns.inferred().items() if name not in fields.names}


def id_field(values: Mapping[str, Any]) -> str | None:
    """Return the name of the id field of a record; None if it has no usual one."""
    return next((name for name in (*_IDS, _OTHER_ID) if name in values), None)


def joined_text(texts: Sequence[str]) -> str:
    """Return texts joined by line ends; empty ones are left out.

    A text that is the beginning of the next one is left out, such as a title repeated in an
    abstract.
    """
    return texts[0] if len(texts) == 1 else "\n".join(_said_once(texts))


def _said_once(texts: Sequence[str]) -> Iterator[str]:
    for text, after in pairwise([*texts, ""]):
        own, following = " ".join(text.split()), " ".join(after.split())
        if own and not f"{following} ".startswith(f"{own} "):
            yield text


def place(record: Record) -> str:
    """Return the location of a record, for messages."""
    return record.path if record.line is None else f"{record.path}, line {record.line}"


def _short(value: object) -> str:
    """Return the repr of a value, truncated if long."""
    shown = repr(value[:81] if isinstance(value, str) else value)
    return shown if len(shown) <= 82 else f"{shown[:80]}…"


def _listed(names: Iterable[str]) -> str:
    """Return the first names, long ones truncated."""
    every = [name if len(name) <= 40 else f"{name[:39]}…" for name in names]
    more = f" and {len(every) - 20} more" if len(every) > 20 else ""
    return ", ".join(every[:20]) + more
