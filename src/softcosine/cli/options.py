"""Options that ``softcosine index`` and ``softcosine similarity build`` have in common."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

__all__ = [
    "DecisionsFile",
    "Encoding",
    "Join",
    "MaxNeighbors",
    "MinDf",
    "Pattern",
    "Stemmer",
    "Summary",
    "TextFields",
]

TextFields = Annotated[
    list[str] | None,
    typer.Option("--text", metavar="FIELD", help="Field of the text ('text'); repeatable."),
]
Encoding = Annotated[str, typer.Option(help="Encoding of text files.")]
Pattern = Annotated[
    str | None, typer.Option("--glob", metavar="PATTERN", help="Files of a folder: '*.py'.")
]
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
Stemmer = Annotated[
    str | None, typer.Option(metavar="LANGUAGE", help="Such as english, german, or none.")
]
MinDf = Annotated[
    str | None,
    typer.Option(metavar="N", help="Leave out words of fewer documents: 2, or 0.001 of all."),
]
Summary = Annotated[bool, typer.Option("--json", help="Print a summary as JSON.")]
