"""``softcosine index``: from files to an index on disk."""

from __future__ import annotations

import time
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from softcosine.cli.options import (
    DecisionsFile,
    Encoding,
    Join,
    MaxNeighbors,
    MinDf,
    Pattern,
    Stemmer,
    Summary,
    TextFields,
)
from softcosine.errors import AlreadyExistsError, InvalidInputError

if TYPE_CHECKING:
    from softcosine.cli.progress import Reporter
    from softcosine.cli.reading import ReadDocuments
    from softcosine.sources.constraints.decision_list import Decisions

__all__ = ["index"]


def index(
    inputs: Annotated[
        list[str],
        typer.Argument(metavar="FILE", help="Files, folders of text files, or - for stdin."),
    ],
    output: Annotated[
        Path, typer.Option("--output", "-o", metavar="INDEX", help="The folder to write.")
    ],
    overwrite: Annotated[
        bool, typer.Option("--overwrite", help="Replace an index of that name.")
    ] = False,
    id_field: Annotated[
        str | None,
        typer.Option(
            "--id", metavar="FIELD", help="Field of the id; else 'id', else running numbers from 1."
        ),
    ] = None,
    text_fields: TextFields = None,
    format: Annotated[
        str | None,
        typer.Option(help="jsonl, json, csv, tsv, lines, text (a file is a document) or parquet."),
    ] = None,
    encoding: Encoding = "utf-8",
    pattern: Pattern = None,
    source: Annotated[
        list[str] | None,
        typer.Option(
            "--source",
            metavar="SOURCE",
            help="Of similarities, in place of the default (repeatable): a file of word vectors or "
            "of synonyms, or a name, such as english or edit-distance; see 'similarity build'.",
        ),
    ] = None,
    join: Join = "strongest",
    decisions: DecisionsFile = None,
    similarity: Annotated[
        Path | None,
        typer.Option(
            metavar="MATRIX",
            help="A matrix of 'similarity build' in place of the default similarities.",
        ),
    ] = None,
    plain: Annotated[
        bool, typer.Option("--plain", help="Ordinary cosine: no word is like another.")
    ] = False,
    stemmer: Stemmer = None,
    ranking: Annotated[
        str | None,
        typer.Option(help="soft_cosine, inner_product, expanded_cosine or soft_bm25."),
    ] = None,
    max_neighbors: MaxNeighbors = None,
    min_df: MinDf = None,
    as_json: Summary = False,
) -> None:
    """Index documents, so that they can be searched by meaning.

      softcosine index faq.jsonl -o faq.index
      softcosine index items.csv -o items.index --id sku --text title --text body
      softcosine index notes/ -o notes.index
      softcosine index faq.jsonl -o faq.index --source english --source synonyms.txt
      softcosine index faq.jsonl -o faq.index --similarity faq.matrix
      zcat log.gz | softcosine index - -o log.index

    Formats: JSON lines, JSON, CSV and TSV with a header line, plain text with a document a line
    (each also .gz), parquet, and folders of text files. Fields that are neither id nor text become
    metadata and come back with every answer. Without --source and --similarity, similarities come
    from bundled English word vectors, if the text is English, and from the texts themselves.
    """
    if output.exists() and not overwrite:
        raise AlreadyExistsError(
            f"{output} exists already; say --overwrite, or choose another name."
        )
    from softcosine.storage import check_target

    check_target(output, "index", overwrite=overwrite)
    options: dict[str, Any] = {"plain": plain} if plain else {}
    if min_df is not None:
        from softcosine.cli.building import document_limit

        options["min_df"] = document_limit(min_df)
    _check_one_similarity(plain=plain, source=source, similarity=similarity)
    _check_one_similarity(plain=plain, decisions=decisions, similarity=similarity)
    if plain and max_neighbors is not None:
        raise InvalidInputError("--max-neighbors and --plain exclude each other; give one of them.")

    from softcosine.cli.sources import check_sources, decisions_in, words_outside

    check_sources(source or [], join)
    decided = decisions_in(decisions)
    if similarity is not None and max_neighbors is not None:
        raise InvalidInputError(
            f"--max-neighbors was settled when {similarity} was built; leave it out."
        )

    from softcosine.cli.progress import Reporter
    from softcosine.cli.reading import Fields, read_documents

    started = time.perf_counter()
    with Reporter() as report:
        documents = read_documents(
            inputs,
            fields=Fields(id_field, tuple(text_fields or ["text"])),
            format=format,
            encoding=encoding,
            pattern=pattern,
            progress=lambda done: report("reading documents", done, None),
        )
        if similarity is not None:
            from softcosine.cli.matrix_index import index_with_matrix

            made = index_with_matrix(
                similarity,
                documents,
                stemmer=stemmer,
                min_df=options.get("min_df", 1),
                ranking=ranking,
                report=report,
            )
        else:
            from softcosine.index.soft_index import SoftIndex
            from softcosine.text.analyzer import Analyzer

            note = ""
            if stemmer is not None:
                options["analyzer"] = Analyzer(None if stemmer == "none" else stemmer)
            if source or decided is not None:
                chosen, note = _named(
                    source or [], join, decided, documents, stemmer, options.get("min_df", 1),
                    report,
                )  # fmt: skip
                options |= chosen
            if ranking is not None:
                options["ranking"] = ranking
            if max_neighbors is not None:
                options["max_neighbors"] = max_neighbors
            made = SoftIndex.from_texts(
                documents.texts,
                ids=documents.ids,
                metadata=documents.metadata,
                progress=report,
                **options,
            )
            made = made if made.note else made.with_note(note)
        report("writing", 0, None)
        made.save(output, overwrite=overwrite)
    outside = words_outside(decided, made.vocabulary, analyzer=made.analyzer)
    note = " ".join(filter(None, (made.note, outside)))
    _show(made, note, output, time.perf_counter() - started, as_json)


def _check_one_similarity(**given: Any) -> None:
    named = [f"--{name}" for name, value in given.items() if value]
    if len(named) > 1:
        raise InvalidInputError(f"{' and '.join(named)} exclude each other; give one of them.")


def _named(
    names: list[str],
    join: str,
    decisions: Decisions | None,
    documents: ReadDocuments,
    stemmer: str | None,
    min_df: int | float,
    report: Reporter,
) -> tuple[dict[str, Any], str]:
    """Return the sources that were named, as arguments of `SoftIndex.from_texts`, and a note.

    The texts are analysed here only if they are needed before they are indexed.
    """
    from softcosine.cli.sources import (
        SourceSettings,
        finished_source,
        joined_source,
        learn_from_texts,
    )
    from softcosine.index.defaults import default_source

    options: dict[str, Any] = {}
    texts = None
    if decisions is not None or learn_from_texts(names):
        from softcosine.cli.vocabularies import analyzed_texts

        texts, options["analyzer"] = analyzed_texts(
            documents.texts, stemmer, min_df=min_df, report=report
        )
    if names:
        settings = SourceSettings(None, None, texts=texts, words=None, report=report)
        source, note = joined_source(names, join, settings)
        told = names[0] if len(names) == 1 else f"{', '.join(names)}, joined by {join}"
        note = f"Similarities come from {told}." + (f" {note}" if note else "")
    else:
        assert texts is not None  # decisions without sources need them
        chosen = default_source(
            texts, progress=lambda done, total: report("learning from the texts", done, total)
        )
        source, note = chosen.source, chosen.note
    if texts is not None:
        source = finished_source(source, decisions, texts.vocabulary, analyzer=options["analyzer"])
    if decisions is not None:
        n = len(decisions)
        told = "One decision of a person comes" if n == 1 else f"{n} decisions of a person come"
        note += f" {told} before them."
    return {**options, "source": source}, note


def _show(made: Any, note: str, output: Path, seconds: float, as_json: bool) -> None:
    from softcosine.cli.calling import program
    from softcosine.cli.inspecting import bytes_of
    from softcosine.cli.showing import console, duration, print_json, size

    n_bytes = bytes_of(output)
    if as_json:
        print_json(
            {
                "index": str(output),
                "documents": len(made),
                "terms": len(made.vocabulary),
                "bytes": n_bytes,
                "seconds": seconds,
                "note": note,
            }
        )
        return
    out = console()
    out.print(
        f"Indexed {len(made):,} documents of {len(made.vocabulary):,} terms in "
        f"{duration(seconds)}: {output} ({size(n_bytes)})."
    )
    if note:
        out.print(note, style="dim")
    out.print(f'Ask it: {program()} search {output} "your words" --explain', style="dim")
