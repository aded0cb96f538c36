"""Arguments and options that several commands share."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, get_args

from softcosine._validation import size_in
from softcosine.cli.completing import complete_index
from softcosine.cli.derived import FromRequest, argument, flag, option
from softcosine.cli.opening import in_a_folder
from softcosine.cli.reading import each_document
from softcosine.errors import InvalidInputError
from softcosine.index.options import IndexOptions

if TYPE_CHECKING:
    from softcosine._progress import Report
    from softcosine.files import Document, Fields


_PATHS: dict[str, Any] = {"readable": False, "autocompletion": complete_index}
Index = Annotated[
    Path, argument("INDEX", "A folder that 'index' wrote.", callback=in_a_folder, **_PATHS)
]
AnyIndex = Annotated[
    Path,
    argument(
        "INDEX",
        "A folder that 'index' wrote, or http://host:8080/faq (SOFTCOSINE_KEY is the key).",
        **_PATHS,
    ),
]
Inputs = Annotated[
    list[str],
    argument(
        "FILE", "Files, folders of text files, or - for stdin (JSON lines, or lines of text)."
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
    flag("--stemmer LANGUAGE", "Stemmer, or none [by language].", "text.analyzer:stemmers", "none"),
]
Encoder = Annotated[str | None, _MAKING["encoder"]]
KnownEncoder = Annotated[
    str | None,
    flag("--encoder NAME", "Encoder of the index, if not minilm.", "minilm", more=True),
]
EncoderCache = Annotated[Path | None, _MAKING["encoder_cache"]]
MeaningSpace = Annotated[Path | None, _MAKING["meaning_space"]]
Memory = Annotated[
    str, flag("--memory SIZE", "Approximate memory for buffered documents: 512M, 2G.")
]
Wait = Annotated[float, flag("--wait SECONDS", "Time to wait for another writer.", min=0)]
Refresh = Annotated[
    bool | None,
    flag("--refresh/--no-refresh", "Update the term weights [after changes of a tenth]."),
]
Threads = Annotated[
    int | None, flag("--threads N", "Maximum number of threads [all processors].", min=1)
]


@dataclass(frozen=True)
class Texts:
    """How the texts of files are read."""

    text_fields: list[str] | None = option(
        "--text FIELD", "Text field [title and text]; repeatable.", None
    )
    format: str | None = option(
        "--format",
        "Input format: jsonl, json, csv, tsv, lines, text (one document per file) or parquet "
        "[by file name].",
        None,
        "files:FORMATS",
    )
    encoding: Encoding = "utf-8"


@dataclass(frozen=True)
class Identified(Texts):
    """How texts with ids are read."""

    id_field: str | None = option(
        "--id FIELD", "Field of the id ['id' or '_id', else running numbers].", None
    )


@dataclass(frozen=True)
class Reading(Texts):
    """How the files of documents are read."""

    pattern: str | None = option("--glob PATTERN", "File names to read in a folder: '*.py'.", None)

    def documents(
        self, inputs: Sequence[str], fields: Fields, report: Report, **options: Any
    ) -> Iterator[Document]:
        """Yield the documents of files and folders; see `softcosine.cli.reading.each_document`."""
        options |= {"format": self.format, "encoding": self.encoding, "pattern": self.pattern}
        return each_document(inputs, fields=fields, progress=report, **options)


@dataclass(frozen=True)
class Records(Reading, Identified):
    """How the files of documents with ids are read."""

    types: list[str] | None = option(
        "--types COLUMN=TYPE",
        "Type of a column of CSV or TSV [inferred]: integer, decimal, boolean, date or text; "
        "repeatable.",
        None,
    )


def bytes_in(given: str, option: str = "--memory") -> int:
    """Return the bytes of a size that an option has: 512M, 2G, 1.5GiB or 1000000000.

    Raises
    ------
    InvalidInputError
        If the value is not a size, or is less than a megabyte.
    """
    n_bytes = size_in(given)
    if n_bytes is None or n_bytes < 1 << 20:
        raise InvalidInputError(f"{option} is {given!r}; give a size of at least 1M, such as 2G.")
    return n_bytes
