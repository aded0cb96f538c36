"""Reader of the documents in the files and folders of a command line."""

from __future__ import annotations

import errno
import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Self

from softcosine.cli.folders import read_folder
from softcosine.cli.seen_ids import SeenIds
from softcosine.errors import DuplicateIdError, InvalidInputError
from softcosine.files import (
    STANDARD_INPUT,
    Document,
    Fields,
    Record,
    RecordReader,
    place,
    read_records,
)

__all__ = ["ADVICE", "ReadDocuments", "each_document", "fields_named", "read_documents"]

ADVICE = "if it is text in another encoding, name that by --encoding, such as --encoding latin-1"

_REPORTED = 1000  # documents between two reports of progress


def fields_named(
    id: str | None = None, text: Iterable[str] | None = None, *, separate: bool = False
) -> Fields:
    """Return the fields of id and text that ``--id`` and ``--text`` name."""
    return Fields(
        id,
        tuple(text) if text else None,
        separate,
        id_advice=" Choose by --id NAME.",
        text_advice=" Choose by --text NAME.",
    )


_USUAL = fields_named()


@dataclass(frozen=True, slots=True)
class ReadDocuments:
    """Documents in order, as `SoftIndex.from_texts` takes them."""

    ids: list[str] = field(default_factory=list)
    texts: list[str] = field(default_factory=list)
    metadata: list[dict[str, Any] | None] = field(default_factory=list)

    @classmethod
    def of(cls, documents: Iterable[Document]) -> Self:
        """Collect documents whose text is one string."""
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
    fields: Fields = _USUAL,
    format: str | None = None,
    encoding: str = "utf-8",
    pattern: str | None = None,
    progress: Callable[[int], None] | None = None,
) -> ReadDocuments:
    """Return all documents of files and folders in memory; see `each_document`."""
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
    fields: Fields = _USUAL,
    format: str | None = None,
    encoding: str = "utf-8",
    pattern: str | None = None,
    first_number: Callable[[], int] | None = None,
    progress: Callable[[int], None] | None = None,
) -> Iterator[Document]:
    """Yield the documents of files and folders.

    Memory does not grow with their number: the ids read so far are in a temporary file.

    Parameters
    ----------
    inputs : sequence of str
        Files, folders of text files, or ``"-"`` for standard input.
    fields : Fields
    format, encoding
        See `softcosine.files.read_records`.
    pattern : str, optional
        Pattern of the file names to read in folders.
    first_number : callable, optional
        Returns the first running number for documents without ids; default 1.
    progress : callable, optional
        Called every 1000 documents with the number of documents read.

    Raises
    ------
    InvalidInputError
        If a field is missing or is not text, or there is no document; the message has the file,
        the line and the existing fields. A text field that is in no document is an error at the
        end.
    DuplicateIdError
        If two documents have the same id; the message has both places.
    MalformedFileError
    """
    reader = RecordReader(fields)
    n_read, first = 0, 1
    with SeenIds() as seen:
        for record in _records(inputs, format, encoding, pattern):
            text, id = reader.text(record), reader.id(record)
            if id is None:
                if n_read == 0 and first_number is not None:
                    first = first_number()
                id = str(first + n_read)
            elif before := seen.add(id, record.path, record.line):
                raise DuplicateIdError(
                    f"{place(record)}: the id {id[:80]!r} was given before, at {before}; "
                    "ids must be unique. Choose another field by --id, or correct the file."
                )
            n_read += 1
            if progress is not None and n_read % _REPORTED == 0:
                progress(n_read)
            yield Document(id, text, reader.metadata(record))
    if not n_read:
        raise InvalidInputError(f"{', '.join(map(_shown, inputs))}: no documents found.")
    reader.check_all_seen()


def _records(
    inputs: Iterable[str], format: str | None, encoding: str, pattern: str | None
) -> Iterator[Record]:
    for path in inputs:
        if path != STANDARD_INPUT and Path(path).is_dir():
            yield from read_folder(path, pattern=pattern, encoding=encoding, advice=ADVICE)
        elif path != STANDARD_INPUT and not Path(path).exists():
            raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT), path)
        else:
            yield from read_records(path, format=format, encoding=encoding, advice=ADVICE)


def _shown(path: str) -> str:
    return "standard input" if path == STANDARD_INPUT else path
