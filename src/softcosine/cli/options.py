"""Arguments and options that several commands share."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from softcosine.cli.completing import complete_index, names_of
from softcosine.cli.derived import MORE
from softcosine.cli.opening import in_a_folder
from softcosine.cli.reading import each_document
from softcosine.errors import InvalidInputError

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
    str | None,
    typer.Option(
        "--id", metavar="FIELD", help="Field of the id ['id' or '_id', else running numbers]."
    ),
]
Format = Annotated[
    str | None,
    typer.Option(
        autocompletion=names_of("files:FORMATS"),
        help="Input format: jsonl, json, csv, tsv, lines, text (one document per file) or parquet "
        "[by file name].",
    ),
]

TextFields = Annotated[
    list[str] | None,
    typer.Option("--text", metavar="FIELD", help="Text field [title and text]; repeatable."),
]
TypesOfColumns = Annotated[
    list[str] | None,
    typer.Option(
        "--types",
        metavar="COLUMN=TYPE",
        help="Type of a column of CSV or TSV: integer, decimal, boolean, date or text [inferred "
        "from all of its cells]; repeatable.",
    ),
]
Encoding = Annotated[str, typer.Option(help="Encoding of text files.")]
Pattern = Annotated[
    str | None,
    typer.Option("--glob", metavar="PATTERN", help="File names to read in a folder: '*.py'."),
]


@dataclass(frozen=True)
class Reading:
    """How the files of documents are read."""

    text_fields: TextFields = None
    format: Format = None
    encoding: Encoding = "utf-8"
    pattern: Pattern = None

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
    types: TypesOfColumns = None


Overwrites = Annotated[bool, typer.Option("--overwrite", help="Replace what exists.")]
Json = Annotated[bool, typer.Option("--json", help="Print one line of JSON per result.")]
Limit = Annotated[int, typer.Option("-k", metavar="N", help="Maximum number of results.")]
Join = Annotated[
    str,
    typer.Option(
        autocompletion=names_of("similarity.combine.by_name:JOINS"),
        help="How to combine several sources: strongest, mean, noisy-or or first.",
    ),
]
DecisionsFile = Annotated[
    Path | None,
    typer.Option(metavar="FILE", help="File of pairs of words that you pin, forbid or weight."),
]
MaxNeighbors = Annotated[
    int | None,
    typer.Option(
        min=0,
        help="Maximum number of similar words per word [100; 10 if the texts are the only source].",
    ),
]
Language = Annotated[
    str | None,
    typer.Option(
        metavar="LANGUAGE",
        autocompletion=names_of("text.analyzer:languages", "none"),
        help="Language of the texts, such as german, or none; sets the stemmer, the segmenter and "
        "the word vectors [detected].",
    ),
]
Stemmer = Annotated[
    str | None,
    typer.Option(
        metavar="LANGUAGE",
        autocompletion=names_of("text.analyzer:stemmers", "none"),
        help="Stemmer, if not that of the language: english, german, none.",
    ),
]
MinDf = Annotated[
    str | None,
    typer.Option(metavar="N", help="Drop words in fewer documents: a number, or a share: 0.001."),
]
Encoder = Annotated[
    str | None,
    typer.Option(
        metavar="NAME",
        autocompletion=names_of("minilm", "static", "none"),
        help="Sentence encoder that reads each document once, so that searches also rank by "
        "meaning: minilm (English), or the folder or name of another, or hub:NAME; static for a "
        "bundled table of English word pieces in place of one; none for words alone.",
    ),
]
KnownEncoder = Annotated[
    str | None,
    typer.Option(
        "--encoder",
        metavar="NAME",
        autocompletion=names_of("minilm"),
        help="Folder or name of the index's encoder, if not minilm.",
        rich_help_panel=MORE,
    ),
]
EncoderCache = Annotated[
    Path | None,
    typer.Option(
        metavar="FILE", help="File of encoded texts, so that no text is encoded twice; may be new."
    ),
]
Meaning = Annotated[
    float | None,
    typer.Option(
        metavar="WEIGHT",
        help="Weight of meaning in the score; 0 for words alone [that of the index].",
    ),
]
MeaningSpace = Annotated[
    Path | None,
    typer.Option(
        metavar="FILE",
        help="Query table of the encoder, made by 'admin teach'; that of minilm is bundled.",
    ),
]
Summary = Annotated[bool, typer.Option("--json", help="Print a summary as JSON.")]
Memory = Annotated[
    str,
    typer.Option(metavar="SIZE", help="Approximate memory for buffered documents: 512M, 2G."),
]
Wait = Annotated[
    float,
    typer.Option(min=0, metavar="SECONDS", help="Time to wait for another writer."),
]
Refresh = Annotated[
    bool | None,
    typer.Option(
        "--refresh/--no-refresh",
        help="Update the term weights [if a tenth of the documents has changed].",
    ),
]
Threads = Annotated[
    int | None, typer.Option(min=1, metavar="N", help="Maximum number of threads [all processors].")
]

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
