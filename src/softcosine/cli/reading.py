"""Reader of the documents in the files and folders of a command line."""

from __future__ import annotations

import errno
import os
import sqlite3
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Self

from softcosine.errors import DuplicateIdError, InvalidInputError
from softcosine.files import (
    STANDARD_INPUT,
    TABLES,
    Document,
    Fields,
    Record,
    RecordReader,
    chosen_types,
    column_types,
    format_of,
    opened,
    place,
    read_records,
    type_of,
)

if TYPE_CHECKING:
    from softcosine._progress import Report
    from softcosine.client import RemoteIndex
    from softcosine.index.search.searchable import Searchable

ADVICE = "if it is text in another encoding, name that by --encoding, such as --encoding latin-1"

_REPORTED = 1000  # documents between two reports of progress
_CACHE = 32  # megabytes of ids that stay in memory


def fields_named(
    id: str | None = None, text: Iterable[str] | None = None, *, separate: bool = False
) -> Fields:
    """Return the fields of id and text that ``--id`` and ``--text`` name."""
    advice = " Choose by --id NAME.", " Choose by --text NAME."
    return Fields(id, tuple(text) if text else None, separate, *advice)


_USUAL = fields_named()


def types_named(given: Iterable[str] | None) -> dict[str, str]:
    """Return the type of each column that ``--types`` names."""
    types = {}
    for one in given or ():
        name, _, type = one.rpartition("=")
        if not name:
            raise InvalidInputError(f"--types is {one!r}; write such as words=text.")
        types[name] = type
    return types


@dataclass(slots=True)
class Types:
    """Types of the columns of CSV and TSV files.

    Attributes
    ----------
    given : mapping of str to str
        Types that the user chooses.
    index : Searchable or RemoteIndex, optional
        The index that the documents are for: its metadata keys keep their types.
    found : dict of str to str
        All types, once the first document is read.
    """

    given: Mapping[str, str] = field(default_factory=dict)
    index: Searchable | RemoteIndex | None = None
    found: dict[str, str] = field(default_factory=dict)

    def decide(self, inferred: dict[str, str]) -> dict[str, str]:
        """Return the types that the columns get, given those inferred."""
        held = {} if self.index is None or not inferred else _held(self.index, [*inferred])
        for name, type in held.items():
            if (type, inferred[name]) != ("integer", "decimal"):
                inferred[name] = type
        self.found = chosen_types(inferred, self.given)
        return self.found

    def __str__(self) -> str:
        """Return the columns that are not text; empty if all are."""
        shown = [f"{name[:40]}: {type}" for name, type in self.found.items() if type != "text"]
        more = f" and {len(shown) - 20} more" if len(shown) > 20 else ""
        return f"Types of columns: {', '.join(shown[:20])}{more}; others are text." if shown else ""


def lines_in(path: str, encoding: str = "utf-8", advice: str = ADVICE) -> Iterator[str]:
    """Yield the lines of a file, or of standard input, that are not blank."""
    with opened(path, encoding, advice=advice) as text:
        for _, line in text.lines():
            if line.strip():
                yield line.rstrip("\n")


def each_document(
    inputs: Sequence[str],
    *,
    fields: Fields = _USUAL,
    format: str | None = None,
    encoding: str = "utf-8",
    pattern: str | None = None,
    types: Types | None = None,
    first_number: Callable[[], int] | None = None,
    progress: Report | None = None,
) -> Iterator[Document]:
    """Yield the documents of files and folders.

    Memory does not grow with their number: the ids read so far are in a temporary file. CSV and TSV
    files are read twice, first for the types of their columns; of standard input, a copy on disk.

    Parameters
    ----------
    inputs : sequence of str
        Files, folders of text files, or ``"-"`` for standard input.
    fields : Fields
    format, encoding
        See `softcosine.files.read_records`.
    pattern : str, optional
        Pattern of the file names to read in folders.
    types : Types, optional
        Types of the columns of CSV and TSV; inferred by default.
    first_number : callable, optional
        Returns the first running number for documents without ids; default 1.
    progress : callable, optional
        Called every 1000 documents.

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
    n_read, first = 0, 1
    with ExitStack() as ending:
        seen = ending.enter_context(SeenIds())
        tables = [path for path in inputs if _is_table(path, format)]
        copies = _copies(tables, encoding, ending)

        def records(path: str) -> Iterator[Record]:
            if path != STANDARD_INPUT and Path(path).is_dir():
                return read_folder(path, pattern=pattern, encoding=encoding, advice=ADVICE)
            copy = ending.enter_context(copies[path].open("rb")) if path in copies else None
            own = encoding if copy is None else "utf-8"
            return read_records(path, format=format, encoding=own, advice=ADVICE, stream=copy)

        inferred = column_types(map(records, tables), fields)
        reader = RecordReader(fields, (types or Types()).decide(inferred))
        for record in (record for path in inputs for record in records(path)):
            text, id = reader.text(record), reader.id(record)
            if id is None:
                if n_read == 0 and first_number is not None:
                    first = first_number()
                id = str(first + n_read)
            elif before := seen.add(id, place(record)):
                raise DuplicateIdError(
                    f"{place(record)}: the id {id[:80]!r} was given before, at {before}; ids must "
                    "be unique. Choose another field by --id, or correct the file."
                )
            n_read += 1
            if progress is not None and n_read % _REPORTED == 0:
                progress("reading documents", n_read, None)
            yield Document(id, text, reader.metadata(record))
    if not n_read:
        shown = ("standard input" if path == STANDARD_INPUT else path for path in inputs)
        raise InvalidInputError(f"{', '.join(shown)}: no documents found.")
    reader.check_all_seen()


class SeenIds:
    """Ids and the places where they were read, in a cache and a temporary file.

    A context manager; the file is deleted at the end, also if the process is killed.
    """

    def __init__(self) -> None:
        # A database without a name is a temporary file, written only if SQLite's cache is full.
        self._connection = sqlite3.connect("", isolation_level=None, check_same_thread=False)
        for statement in (
            f"PRAGMA cache_size = {-1000 * _CACHE}",
            "PRAGMA journal_mode = OFF",
            "PRAGMA synchronous = OFF",
            "CREATE TABLE ids (id BLOB PRIMARY KEY, place BLOB) WITHOUT ROWID",
            "BEGIN",
        ):
            self._connection.execute(statement)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exception: object) -> None:
        self._connection.close()

    def add(self, id: str, place: str) -> str | None:
        """Add an id; return the place of an earlier equal id, or None.

        Raises
        ------
        OSError
            If the disk is full.
        """
        key = id.encode("utf-8", "surrogatepass")
        row = (key, place.encode("utf-8", "surrogatepass"))
        try:
            if self._connection.execute("INSERT OR IGNORE INTO ids VALUES (?, ?)", row).rowcount:
                return None
            before = self._connection.execute("SELECT place FROM ids WHERE id = ?", (key,))
        except sqlite3.OperationalError as error:
            raise OSError(errno.ENOSPC, f"cannot write the ids: {error}", "ids") from error
        return str(before.fetchone()[0], "utf-8", "surrogatepass")


def _is_table(path: str, format: str | None) -> bool:
    if path != STANDARD_INPUT and Path(path).is_dir():
        return False
    if path != STANDARD_INPUT and not Path(path).exists():
        raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT), path)
    return (format or format_of(path)) in TABLES


def _copies(tables: Iterable[str], encoding: str, ending: ExitStack) -> dict[str, Path]:
    """Return temporary copies in UTF-8 of the tables that can be read only once."""
    copies = {}
    for path in tables:
        if path == STANDARD_INPUT or not Path(path).is_file():
            copies[path] = Path(ending.enter_context(TemporaryDirectory()), "table")
            with (
                opened(path, encoding, "", advice=ADVICE) as text,
                copies[path].open("w", encoding="utf-8", newline="") as file,
            ):
                file.writelines(line for _, line in text.lines())
    return copies


def _held(index: Searchable | RemoteIndex, names: list[str]) -> dict[str, str]:
    """Return the types of metadata keys in an index, by 100 documents or more that have them.

    A key without documents, or of several types, is left out.
    """
    from softcosine.index.query.filters import spelled_path

    kinds: dict[str, set[str]] = {name: set() for name in names}
    for start in range(0, len(names), 100):
        left = set(names[start : start + 100])
        while left:
            exist = [{spelled_path((name,)): {"exists": True}} for name in sorted(left)]
            met = [
                (name, value)
                for document in index.filter({"any": exist}, k=100)
                for name, value in (document.metadata or {}).items()
                if name in left
            ]
            for name, value in met:
                kinds[name].update(filter(None, [type_of(value)]))
            left = left.difference(name for name, _ in met) if met else set()
    held = {}
    for name, every in kinds.items():
        wide = [type for type, parts in _PARTS.items() if every and every <= parts]
        if wide:
            held[name] = wide[0]
    return held


# Types, from narrow to wide, and the types of the values of such a column.
_PARTS = {
    "integer": {"integer"},
    "decimal": {"integer", "decimal"},
    "boolean": {"boolean"},
    "date": {"date"},
    "text": {"date", "text"},
}


# Text files if no pattern is given.
_TEXT_SUFFIXES = (".txt", ".text", ".md", ".markdown", ".rst", ".adoc", ".org", ".tex")


def read_folder(
    folder: str, *, pattern: str | None = None, encoding: str = "utf-8", advice: str
) -> Iterator[Record]:
    """Yield one record per text file; the id is the path inside the folder.

    Parameters
    ----------
    folder : str
        Read with its subfolders in order of names; hidden files and folders are skipped.
    pattern : str, optional
        Names to read in the folder and its subfolders, such as ``"*.py"`` or ``"notes/*.txt"``;
        default: the endings of plain text and markup.
    encoding : str
    advice : str
        Advice in the error for a text in another encoding.

    Raises
    ------
    InvalidInputError
        If no file matches.
    OSError
        If a subfolder cannot be read.
    """
    root = Path(folder)
    if pattern is not None and (not pattern or Path(pattern).is_absolute()):
        raise InvalidInputError(
            f"--glob is {pattern!r}; it must be a pattern of names in {folder}, such as '*.txt'."
        )
    visible = sorted(_visible(root))
    if pattern is None:
        chosen = [
            name
            for name in visible
            if name.name.lower().removesuffix(".gz").endswith(_TEXT_SUFFIXES)
        ]
    else:
        inside = f"{pattern}/*" if Path(pattern).name == "**" else pattern
        matching = {path.relative_to(root) for path in root.rglob(inside)}
        chosen = [name for name in visible if name in matching]
    if not chosen:
        *most, last = (f"*{suffix}" for suffix in _TEXT_SUFFIXES)
        wanted = pattern or f"{', '.join(most)} or {last}"
        held = f"others, such as {visible[0]}" if visible else "none"
        raise InvalidInputError(
            f"{folder}: no file there is named {wanted}; it holds {held}. Choose files by --glob."
        )
    for name in chosen:
        with opened(root / name, encoding, advice=advice) as text:
            content = "".join(line for _, line in text.lines())
        yield Record({"id": name.as_posix(), "text": content}, str(root / name))


def _visible(root: Path) -> Iterator[Path]:
    """Yield the path inside the folder of every file that is not hidden."""

    def fail(error: OSError) -> None:
        raise error

    for parent, folders, files in os.walk(root, onerror=fail):
        folders[:] = [name for name in folders if not name.startswith(".")]
        for name in files:
            path = Path(parent, name)
            if not name.startswith(".") and path.is_file():
                yield path.relative_to(root)
