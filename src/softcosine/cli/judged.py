"""Options by which commands name judged texts, and how these are read."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from softcosine.errors import InvalidInputError

if TYPE_CHECKING:
    from softcosine.evaluate.datasets import RankingSet

__all__ = [
    "Grades",
    "JudgedDocuments",
    "JudgedQrels",
    "JudgedQueries",
    "TopicFields",
    "check_named",
    "names_in",
    "read_parts",
]

JudgedDocuments = Annotated[
    list[Path] | None,
    typer.Option("--documents", metavar="FILE", help="In place of DATASET: documents; repeatable."),
]
JudgedQueries = Annotated[
    list[Path] | None,
    typer.Option("--queries", metavar="FILE", help="In place of DATASET: queries or TREC topics."),
]
JudgedQrels = Annotated[
    list[Path] | None,
    typer.Option("--qrels", metavar="FILE", help="In place of DATASET: judgements."),
]
TopicFields = Annotated[
    str,
    typer.Option(
        metavar="NAMES", help="Of TREC topics: title (query), description (question), narrative."
    ),
]
Grades = Annotated[
    str | None,
    typer.Option(help="What judgements hold: gains, or cleverdon (Cranfield) [by its name]."),
]


def names_in(given: str) -> list[str]:
    """Return the names in a text that has commas between them."""
    return [name.strip() for name in given.split(",") if name.strip()]


def check_named(whole: bool, parts: Sequence[Sequence[Path]]) -> None:
    """Raise InvalidInputError unless a data set is named whole, or by its three parts."""
    if whole == any(parts):
        raise InvalidInputError(
            "name the data set, a folder or file, or --documents, --queries and --qrels in its "
            "place; --help says what can be read."
        )
    if any(parts) and not all(parts):
        raise InvalidInputError("--documents, --queries and --qrels are needed together.")


def read_parts(
    parts: Sequence[Sequence[Path]], *, grades: str | None, topic_fields: str, encoding: str
) -> RankingSet:
    """Read documents, queries and judgements that were named one by one."""
    from softcosine.evaluate.datasets import read_collection

    documents, queries, qrels = parts
    return read_collection(
        documents, queries, qrels, name=documents[0].absolute().parent.name, grades=grades,
        topic_fields=names_in(topic_fields), encoding=encoding,
    )  # fmt: skip
