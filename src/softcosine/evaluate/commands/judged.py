"""Options for judged collections, and their reader."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from softcosine.cli.derived import option
from softcosine.cli.options import Encoding
from softcosine.errors import InvalidInputError

if TYPE_CHECKING:
    from softcosine.evaluate.datasets import DataSet


@dataclass(frozen=True)
class Judged:
    """How judged collections are read."""

    documents: list[Path] | None = option(
        "--documents FILE", "Documents, instead of DATASET; repeatable.", None
    )
    queries: list[Path] | None = option(
        "--queries FILE", "Queries or TREC topics, instead of DATASET.", None
    )
    qrels: list[Path] | None = option("--qrels FILE", "Judgements, instead of DATASET.", None)
    kind: str | None = option(
        "--kind",
        "Kind of data set: retrieval, questions, classification, pairs or words [by its files].",
        None, "retrieval", "questions", "classification", "pairs", "words",
    )  # fmt: skip
    grades: str | None = option(
        "--grades", "Scale of judgements: gains, or cleverdon (Cranfield) [by the name].", None,
        "gains", "cleverdon",
    )  # fmt: skip
    topic_fields: str = option(
        "--topic-fields NAMES",
        "Fields of TREC topics to use: title, description, narrative.", "title",
    )  # fmt: skip
    encoding: Encoding = "utf-8"

    @property
    def parts(self) -> dict[str, list[Path]]:
        """The files of documents, queries and judgements."""
        return {name: getattr(self, name) or [] for name in ("documents", "queries", "qrels")}

    def read(self, paths: Sequence[Path], split: str | None = None) -> list[DataSet]:
        """Return the data sets, or the one given by three kinds of files."""
        from softcosine.evaluate.datasets import load, read_collection

        parts, topic_fields = [*self.parts.values()], names_in(self.topic_fields)
        if bool(paths) == any(parts):
            raise InvalidInputError(
                "give the data set, a folder or file, or --documents, --queries and --qrels "
                "instead; --help describes the formats."
            )
        if any(parts) and not all(parts):
            raise InvalidInputError("--documents, --queries and --qrels are needed together.")
        if paths:
            return [
                load(
                    path, kind=self.kind, split=split, grades=self.grades,
                    topic_fields=topic_fields, encoding=self.encoding,
                )
                for path in paths
            ]  # fmt: skip
        whole = read_collection(
            *parts, name=parts[0][0].absolute().parent.name, grades=self.grades,
            topic_fields=topic_fields, encoding=self.encoding,
        )  # fmt: skip
        return [whole if split is None else whole.part(split)]


def names_in(given: str) -> list[str]:
    """Return the names in a comma-separated text."""
    return [name.strip() for name in given.split(",") if name.strip()]
