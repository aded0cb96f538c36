"""Arguments and options that several commands share."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, get_args

import typer

from softcosine.cli.completing import complete_index
from softcosine.cli.derived import FromRequest, flag, option
from softcosine.cli.opening import in_a_folder
from softcosine.cli.reading import each_document
from softcosine.errors import InvalidInputError
from softcosine.index.options import IndexOptions

if TYPE_CHECKING:
    from softcosine._progress import Report
    from softcosine.files import Document, Fields


Index = Annotated[
    Path,
    typer.Argument(
        metavar="INDEX",
        help="A folder that 'index' wrote.",
        readable=False,
        callback=in_a_folder,
        autocompletion=complete_index,
    ),
]
AnyIndex = Annotated[
    Path,
    typer.Argument(
        metavar="INDEX",
        help="A folder that 'index' wrote, or the address of an index of 'serve': "
        "http://host:8080/faq (SOFTCOSINE_KEY is the key, if it needs one).",
        readable=False,
        autocompletion=complete_index,
    ),
]
Inputs = Annotated[
    list[str],
    typer.Argument(
        metavar="FILE",
        help="Files, folders of text files, or - for stdin (JSON lines if the first line is a JSON "
        "object, else lines of text). --format names another format.",
    ),
]
IdField = Annotated[
    str | None, flag("--id FIELD", "Field of the id ['id' or '_id', else running numbers].")
]
TextFields = Annotated[
    list[str] | None, flag("--text FIELD", "Text field [title and text]; repeatable.")
]
Format = Annotated[
    str | None,
    flag(
        "--format",
        "Input format: jsonl, json, csv, tsv, lines, text (one document per file) or parquet "
        "[by file name].",
        "files:FORMATS",
    ),
]
Encoding = Annotated[str, flag("--encoding", "Encoding of text files.")]
Overwrites = Annotated[bool, flag("--overwrite", "Replace what exists.")]
Json = Annotated[bool, flag("--json", "Print one line of JSON per result.")]
Summary = Annotated[bool, flag("--json", "Print a summary as JSON.")]
Limit = Annotated[int, flag("-k N", "Maximum number of results.")]
_MAKING = {one.name: get_args(one.annotation)[1] for one in FromRequest(IndexOptions).parameters}
Language = Annotated[str | None, _MAKING["language"]]
Stemmer = Annotated[
    str | None,
    flag(
        "--stemmer LANGUAGE",
        "Stemmer, if not that of the language: english, german, none.",
        "text.analyzer:stemmers",
        "none",
    ),
]
Encoder = Annotated[str | None, _MAKING["encoder"]]
KnownEncoder = Annotated[
    str | None,
    flag(
        "--encoder NAME", "Folder or name of the index's encoder, if not minilm.", "minilm",
        more=True,
    ),
]  # fmt: skip
QueryEncoder = Annotated[
    str | None,
    flag(
        "--query-encoder NAME",
        "Folder or name of an encoder for queries, trained for the space of the index's encoder.",
        more=True,
    ),
]
EncoderCache = Annotated[Path | None, _MAKING["encoder_cache"]]
MeaningSpace = Annotated[Path | None, _MAKING["meaning_space"]]
Memory = Annotated[
    str, flag("--memory SIZE", "Approximate memory for buffered documents: 512M, 2G.")
]
Wait = Annotated[float, flag("--wait SECONDS", "Time to wait for another writer.", min=0)]
Refresh = Annotated[
    bool | None,
    flag(
        "--refresh/--no-refresh",
        "Update the term weights [if a tenth of the documents has changed].",
    ),
]
Threads = Annotated[
    int | None, flag("--threads N", "Maximum number of threads [all processors].", min=1)
]


@dataclass(frozen=True)
class Reading:
    """How the files of documents are read."""

    text_fields: TextFields = None
    format: Format = None
    encoding: Encoding = "utf-8"
    pattern: str | None = option("--glob PATTERN", "File names to read in a folder: '*.py'.", None)

    def documents(
        self, inputs: Sequence[str], fields: Fields, report: Report, **options: Any
    ) -> Iterator[Document]:
        """Yield the documents of files and folders; see `softcosine.cli.reading.each_document`."""
        return each_document(
            inputs, fields=fields, format=self.format, encoding=self.encoding, pattern=self.pattern,
            progress=lambda done: report("reading documents", done, None), **options,
        )  # fmt: skip


@dataclass(frozen=True)
class Records(Reading):
    """How the files of documents with ids are read."""

    id_field: IdField = None
    types: list[str] | None = option(
        "--types COLUMN=TYPE",
        "Type of a column of CSV or TSV: integer, decimal, boolean, date or text [inferred from "
        "all of its cells]; repeatable.",
        None,
    )


_SIZE = re.compile(r"(?P<amount>\d+(\.\d*)?|\.\d+)\s*(?P<unit>[kMGT]?)(i?B)?", re.IGNORECASE)
_UNITS = {"": 1, "k": 1 << 10, "m": 1 << 20, "g": 1 << 30, "t": 1 << 40}


def bytes_in(given: str) -> int:
    """Return the bytes of a ``--memory`` value: 512M, 2G, 1.5GiB or 1000000000.

    Raises
    ------
    InvalidInputError
        If the value is not a size, or is less than a megabyte.
    """
    found = _SIZE.fullmatch(given.strip())
    n_bytes = int(float(found["amount"]) * _UNITS[found["unit"].lower()]) if found else 0
    if n_bytes < 1 << 20:
        raise InvalidInputError(f"--memory is {given!r}; give a size of at least 1M, such as 2G.")
    return n_bytes
