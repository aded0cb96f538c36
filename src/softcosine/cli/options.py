"""Options that several commands have in common."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Annotated

import typer

from softcosine.errors import InvalidInputError

__all__ = [
    "DecisionsFile",
    "Encoding",
    "Format",
    "IdField",
    "Index",
    "Inputs",
    "Join",
    "Json",
    "Language",
    "Limit",
    "MaxNeighbors",
    "Memory",
    "MinDf",
    "Pattern",
    "Refresh",
    "Stemmer",
    "Summary",
    "TextFields",
    "Threads",
    "Wait",
    "bytes_in",
]

Index = Annotated[
    Path, typer.Argument(metavar="INDEX", help="A folder that 'index' wrote.", readable=False)
]
Inputs = Annotated[
    list[str],
    typer.Argument(
        metavar="FILE",
        help="Files, folders of text files, or - for stdin: lines of text, or JSON lines where the "
        "first is a JSON object; --format for others.",
    ),
]
IdField = Annotated[
    str | None,
    typer.Option(
        "--id", metavar="FIELD", help="Field of the id; else 'id' or '_id', else running numbers."
    ),
]
Format = Annotated[
    str | None,
    typer.Option(help="jsonl, json, csv, tsv, lines, text (a file is a document) or parquet."),
]

TextFields = Annotated[
    list[str] | None,
    typer.Option("--text", metavar="FIELD", help="Field of the text [title and text]; repeatable."),
]
Encoding = Annotated[str, typer.Option(help="Encoding of text files.")]
Pattern = Annotated[
    str | None, typer.Option("--glob", metavar="PATTERN", help="Files of a folder: '*.py'.")
]
Json = Annotated[bool, typer.Option("--json", help="One line of JSON for each answer.")]
Limit = Annotated[int, typer.Option("-k", min=1, metavar="N", help="Most answers.")]
Join = Annotated[str, typer.Option(help="Of several sources: strongest, mean, noisy-or or first.")]
DecisionsFile = Annotated[
    Path | None,
    typer.Option(metavar="FILE", help="Pairs that a person pins, forbids or weighs."),
]
MaxNeighbors = Annotated[
    int | None,
    typer.Option(
        min=0, help="Most similar words that a word has [100; 10 where texts alone teach]."
    ),
]
Language = Annotated[
    str | None,
    typer.Option(
        metavar="LANGUAGE",
        help="Language of the texts, such as german, or none: chooses stems, segmenter and vectors "
        "[recognised].",
    ),
]
Stemmer = Annotated[
    str | None,
    typer.Option(metavar="LANGUAGE", help="Of the stems alone: such as english, german, or none."),
]
MinDf = Annotated[
    str | None,
    typer.Option(metavar="N", help="Leave out words of fewer documents: 2, or 0.001 of all."),
]
Summary = Annotated[bool, typer.Option("--json", help="Print a summary as JSON.")]
Memory = Annotated[
    str,
    typer.Option(metavar="SIZE", help="About how much memory documents in work take: 512M, 2G."),
]
Wait = Annotated[
    float,
    typer.Option(min=0, metavar="SECONDS", help="How long to wait for another writer."),
]
Refresh = Annotated[
    bool | None,
    typer.Option(
        "--refresh/--no-refresh",
        help="Count words anew for their weights [where a tenth of the documents has changed].",
    ),
]
Threads = Annotated[
    int | None, typer.Option(min=1, metavar="N", help="At most so many [all processors].")
]

_SIZE = re.compile(r"(?P<amount>\d+(\.\d*)?|\.\d+)\s*(?P<unit>[kMGT]?)(i?B)?", re.IGNORECASE)
_UNITS = {"": 1, "k": 1 << 10, "m": 1 << 20, "g": 1 << 30, "t": 1 << 40}


def bytes_in(given: str) -> int:
    """Return how many bytes ``--memory`` means: 512M, 2G, 1.5GiB or 1000000000.

    Raises
    ------
    InvalidInputError
        If it is no size, or one of less than a megabyte.
    """
    found = _SIZE.fullmatch(given.strip())
    n_bytes = int(float(found["amount"]) * _UNITS[found["unit"].lower()]) if found else 0
    if n_bytes < 1 << 20:
        raise InvalidInputError(f"--memory is {given!r}; needed is a size from 1M, such as 2G.")
    return n_bytes
