"""Options for judged collections, and their reader."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from softcosine.cli.completing import names_of
from softcosine.errors import InvalidInputError

if TYPE_CHECKING:
    from softcosine.evaluate.datasets import RankingSet


JudgedDocuments = Annotated[
    list[Path] | None,
    typer.Option("--documents", metavar="FILE", help="Documents, instead of DATASET; repeatable."),
]
JudgedQueries = Annotated[
    list[Path] | None,
    typer.Option("--queries", metavar="FILE", help="Queries or TREC topics, instead of DATASET."),
]
JudgedQrels = Annotated[
    list[Path] | None,
    typer.Option("--qrels", metavar="FILE", help="Judgements, instead of DATASET."),
]
TopicFields = Annotated[
    str,
    typer.Option(
        metavar="NAMES", help="Fields of TREC topics to use: title, description, narrative."
    ),
]
Grades = Annotated[
    str | None,
    typer.Option(
        autocompletion=names_of("gains", "cleverdon"),
        help="Scale of judgements: gains, or cleverdon (Cranfield) [by the name].",
    ),
]


def names_in(given: str) -> list[str]:
    """Return the names in a comma-separated text."""
    return [name.strip() for name in given.split(",") if name.strip()]


def check_named(whole: bool, parts: Sequence[Sequence[Path]]) -> None:
    """Raise InvalidInputError unless a data set is given as a whole, or by its three files."""
    if whole == any(parts):
        raise InvalidInputError(
            "give the data set, a folder or file, or --documents, --queries and --qrels instead; "
            "--help describes the formats."
        )
    if any(parts) and not all(parts):
        raise InvalidInputError("--documents, --queries and --qrels are needed together.")


def read_parts(
    parts: Sequence[Sequence[Path]], *, grades: str | None, topic_fields: str, encoding: str
) -> RankingSet:
    """Read a collection from files of documents, queries and judgements."""
    from softcosine.evaluate.datasets import read_collection

    documents, queries, qrels = parts
    return read_collection(
        documents, queries, qrels, name=documents[0].absolute().parent.name, grades=grades,
        topic_fields=names_in(topic_fields), encoding=encoding,
    )  # fmt: skip
