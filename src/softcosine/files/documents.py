"""From records to documents: which field is the id, which are the text, and the rest as metadata.

Without other names, as in BEIR's files, the id stands in ``id`` or ``_id``, else in ``docid``, and
the text in ``text``, which a ``title`` precedes where there is one.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from itertools import pairwise
from typing import Any

from softcosine.errors import InvalidInputError
from softcosine.files.records import Record

__all__ = ["Document", "Fields", "RecordReader", "id_field", "joined_text", "place"]

_IDS = ("id", "_id")  # where both are there, they are the same
_OTHER_ID = "docid"
_TITLE, _TEXT = "title", "text"


@dataclass(frozen=True, slots=True)
class Fields:
    """Which fields of a record are what; all others are metadata.

    Attributes
    ----------
    id : str or None
        None takes what the first record has: ``id`` or ``_id``, else ``docid``, else running
        numbers. A record may have both of the first two where they say the same.
    text : tuple of str, or None
        A record needs one of them. None takes ``text``, which every record needs, and the ``title``
        before it where there is one.
    separate : bool
        Whether each is a text of its own; otherwise they are joined, see `joined_text`, and a
        ``title`` stays in the metadata too, so that it can be shown.
    id_advice, text_advice : str
        What to do about fields that cannot be taken so; put at the end of messages as it stands.
    """

    id: str | None = None
    text: tuple[str, ...] | None = None
    separate: bool = False
    id_advice: str = ""
    text_advice: str = ""

    @property
    def names(self) -> tuple[str, ...]:
        """Names of all fields that may hold text, in order."""
        return (_TITLE, _TEXT) if self.text is None else self.text


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


class RecordReader:
    """Takes records apart by the names of their fields; the first record decides about the ids."""

    def __init__(self, fields: Fields) -> None:
        self._fields = fields
        self._id = fields.id
        self._decided = fields.id is not None
        self._unseen = set(fields.text or ())
        self._known: dict[str, None] = {}

    def id(self, record: Record) -> str | None:
        """Return the id of a record; None if the records have none.

        Raises
        ------
        InvalidInputError
            If this record has none, none that is a text or a number, or two different ones.
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
        if (
            isinstance(value, bool)
            or not isinstance(value, str | int | float | date)
            or value == ""
        ):
            raise InvalidInputError(
                f"{place(record)}: the id is {_short(value)}; a text or a number was needed."
            )
        if self._fields.id is None and self._id in _IDS:
            self._check_same(record, str(value))
        return str(value)

    def text(self, record: Record) -> str | dict[str, str]:
        """Return the text of a record, or those of its fields where they stay apart.

        Raises
        ------
        InvalidInputError
            If none of the fields is there, or one holds no text.
        """
        parts = {}
        for name in self._fields.names:
            if name not in record.values:
                continue
            self._unseen.discard(name)
            value = record.values[name]
            if isinstance(value, bool) or not isinstance(value, str | int | float | date | None):
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
        """Return what is neither id nor text, and a title beside a joined text."""
        taken: set[str | None] = set(self._fields.names)
        if not self._fields.separate and record.values.get(_TITLE):
            taken.discard(_TITLE)
        taken.update(_IDS if self._fields.id is None and self._id in _IDS else {self._id})
        return {name: value for name, value in record.values.items() if name not in taken} or None

    def check_all_seen(self) -> None:
        """Raise InvalidInputError if a field of the text was in no record."""
        if self._unseen:
            raise InvalidInputError(
                f"no document has a field {' or '.join(map(_short, sorted(self._unseen)))}; "
                f"there are the fields {_listed(self._known)}."
            )

    def _check_same(self, record: Record, id: str) -> None:
        """Raise where another usual field of ids says something else."""
        for name in _IDS:
            other = record.values.get(name, id)
            if str(other) != id:
                raise InvalidInputError(
                    f"{place(record)}: the field {_short(self._id)} is {_short(id)} and the field "
                    f"{_short(name)} is {_short(other)}; either may be the id, so leave one out."
                    f"{self._fields.id_advice}"
                )

    def _missing(self, names: Sequence[str], advice: str, record: Record) -> InvalidInputError:
        return InvalidInputError(
            f"{place(record)}: there is no field {' or '.join(map(_short, names))}; "
            f"there are the fields {_listed(record.values) or '(none)'}.{advice}"
        )


def id_field(values: Mapping[str, Any]) -> str | None:
    """Return the name of the field that holds a record's id; None if no usual one is there."""
    return next((name for name in (*_IDS, _OTHER_ID) if name in values), None)


def joined_text(texts: Sequence[str]) -> str:
    """Return texts as one, each on a line; empty ones are left out.

    A text that the next one begins with is said once, as where an abstract repeats its title.
    """
    return texts[0] if len(texts) == 1 else "\n".join(_said_once(texts))


def _said_once(texts: Sequence[str]) -> Iterator[str]:
    for text, after in pairwise([*texts, ""]):
        own, following = " ".join(text.split()), " ".join(after.split())
        if own and not f"{following} ".startswith(f"{own} "):
            yield text


def place(record: Record) -> str:
    """Return where a record stands, for messages."""
    return record.path if record.line is None else f"{record.path}, line {record.line}"


def _short(value: object) -> str:
    """Return a value as Python writes it, a long one cut."""
    shown = repr(value[:81] if isinstance(value, str) else value)
    return shown if len(shown) <= 82 else f"{shown[:80]}…"


def _listed(names: Iterable[str]) -> str:
    """Return the first names, each cut if it is long."""
    every = [name if len(name) <= 40 else f"{name[:39]}…" for name in names]
    more = f" and {len(every) - 20} more" if len(every) > 20 else ""
    return ", ".join(every[:20]) + more
