"""Command ``softcosine batch``."""

from __future__ import annotations

import time
from functools import partial
from pathlib import Path
from typing import Annotated

import typer

from softcosine.cli.conditions import Conditions
from softcosine.cli.options import (
    Ask,
    Encoding,
    Format,
    IdField,
    Index,
    KnownEncoder,
    Limit,
    Meaning,
    RankingName,
    Summary,
    Syntax,
    TextFields,
    Threads,
)
from softcosine.cli.searching import (
    ExactFirst,
    Fuzzy,
    KeepStopWords,
    MaxTerms,
    MinScore,
    TwoStages,
)

__all__ = ["batch"]


def batch(
    index: Index,
    queries: Annotated[
        str,
        typer.Argument(
            metavar="QUERIES",
            help="File of queries with texts and ids, or - for stdin (JSON lines if the first line "
            "is a JSON object, else lines of text).",
        ),
    ],
    output: Annotated[
        Path,
        typer.Option(
            "--output", "-o", metavar="FILE", help="File to write: .jsonl, .parquet or .run (TREC)."
        ),
    ],
    k: Limit = 10,
    min_score: MinScore = 0.0,
    where: Conditions = None,
    exact_first: ExactFirst = False,
    syntax: Syntax = None,
    max_terms: MaxTerms = 512,
    fuzzy: Fuzzy = False,
    keep_stop_words: KeepStopWords = False,
    ranking: RankingName = None,
    ask: Ask = None,
    meaning: Meaning = None,
    encoder: KnownEncoder = None,
    first_stage: TwoStages = None,
    id_field: IdField = None,
    text_fields: TextFields = None,
    format: Format = None,
    encoding: Encoding = "utf-8",
    threads: Threads = None,
    overwrite: Annotated[
        bool, typer.Option("--overwrite", help="Replace an existing file.")
    ] = False,
    as_json: Summary = False,
) -> None:
    """Search many queries and write their hits to a file.

      softcosine batch faq.index queries.jsonl -o hits.jsonl -k 100
      softcosine batch big.shards queries.parquet -o hits.parquet
      softcosine batch faq.index topics.tsv --no-syntax -o faq.run -k 1000

    A row has the id of the query, rank, id of the document and score, as 'search' ranks with these
    options. A TREC run has scores that descend to 1. Formats of queries are those of documents in
    'index'.

    JSON: queries, seconds, file.
    """
    from softcosine.cli.conditions import read_where
    from softcosine.cli.meaning import MeaningOptions, open_searchable
    from softcosine.cli.output import console, duration, print_json, printable
    from softcosine.cli.progress import Reporter
    from softcosine.cli.reading import ADVICE, fields_named
    from softcosine.index.requests import FirstStage, SearchOptions
    from softcosine.index.search.offline import read_queries, write_hits

    started, opened = time.perf_counter(), open_searchable(index, encoder)
    asked = MeaningOptions.of(opened, ask, meaning, ranking, encoder)
    request = SearchOptions.of(
        k=k, min_score=min_score, where=read_where(where), exact_first=exact_first, syntax=syntax,
        max_terms=max_terms or None, fuzzy=fuzzy, keep_stop_words=keep_stop_words, ranking=ranking,
        ask=asked.ask, meaning=meaning,
        first_stage=None if first_stage is None else FirstStage.parse(first_stage),
    )  # fmt: skip
    given = read_queries(
        queries, fields=fields_named(id_field, text_fields), format=format, encoding=encoding,
        advice=ADVICE,
    )  # fmt: skip
    with Reporter() as report:
        n_queries = write_hits(
            opened._search(request), given, output, threads=threads, overwrite=overwrite,
            progress=partial(report, "searching"),
        )  # fmt: skip
    seconds = time.perf_counter() - started
    if asked.note:
        console(stderr=True).print(printable(asked.note), style="dim")
    if as_json:
        print_json({"queries": n_queries, "seconds": seconds, "file": str(output)})
        return
    console().print(f"Queries: {n_queries:,}, searched in {duration(seconds)}.")
