"""Commands ``softcosine shards plan`` and ``build``."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Annotated

import typer

from softcosine.cli.options import (
    DecisionsFile,
    Encoder,
    EncoderCache,
    Encoding,
    Format,
    IdField,
    Join,
    Language,
    MaxNeighbors,
    Meaning,
    MeaningSpace,
    MinDf,
    Stemmer,
    Summary,
    TextFields,
    TypesOfColumns,
)

__all__ = ["build", "plan"]


_Inputs = Annotated[
    list[str],
    typer.Argument(
        metavar="FILE", help="Files of records with ids, or URLs that fsspec reads (s3://...)."
    ),
]
_DocsPerShard = Annotated[
    int, typer.Option(min=1, metavar="N", help="Documents in a shard, about.")
]


def plan(
    inputs: _Inputs,
    docs_per_shard: _DocsPerShard = 1_000_000,
    format: Format = None,
    encoding: Encoding = "utf-8",
    as_json: Summary = False,
) -> None:
    """Show how many documents and shards some files give, about, and write nothing.

      softcosine shards plan big-*.jsonl --docs-per-shard 500000

    The number of documents is estimated from the beginning of each file.

    JSON: documents, shards, chunks (tasks that read the files), bytes.
    """
    from softcosine.cli.output import console, counted, print_json, size
    from softcosine.cluster.plan import ShardPlan

    found = ShardPlan(
        inputs, docs_per_shard=docs_per_shard, format=format, encoding=encoding, plain=True
    ).estimate()
    if as_json:
        facts = {"documents": found.n_docs, "shards": found.n_shards}
        print_json({**facts, "chunks": found.n_chunks, "bytes": found.n_bytes})
        return
    console().print(
        f"About {counted(found.n_docs, 'document')} in {counted(found.n_shards, 'shard')}, read "
        f"in {counted(found.n_chunks, 'chunk')} of {size(found.n_bytes)} together."
    )


def build(
    inputs: _Inputs,
    output: Annotated[
        Path, typer.Option("--output", "-o", metavar="SHARDS", help="The folder to write.")
    ],
    docs_per_shard: _DocsPerShard = 1_000_000,
    jobs: Annotated[
        int | None, typer.Option(min=1, metavar="N", help="Number of workers [all processors].")
    ] = None,
    id_field: IdField = None,
    text_fields: TextFields = None,
    fields: Annotated[
        list[str] | None,
        typer.Option(
            "--field",
            metavar="FIELD=WEIGHT",
            help="Instead of --text: a text field with a score of its own, and the weight of that "
            "score, such as title=2; repeatable.",
        ),
    ] = None,
    format: Format = None,
    types: TypesOfColumns = None,
    encoding: Encoding = "utf-8",
    positions: Annotated[
        bool,
        typer.Option(
            "--positions", help="Store positions, so that phrases are found without stored texts."
        ),
    ] = False,
    texts: Annotated[bool, typer.Option("--texts/--no-texts", help="Store the texts.")] = True,
    source: Annotated[
        list[str] | None,
        typer.Option("--source", metavar="SOURCE", help="As in 'index' (repeatable)."),
    ] = None,
    join: Join = "strongest",
    decisions: DecisionsFile = None,
    plain: Annotated[
        bool, typer.Option("--plain", help="Rank by equal words alone: ordinary BM25.")
    ] = False,
    language: Language = None,
    stemmer: Stemmer = None,
    stop_words: Annotated[
        str | None,
        typer.Option(
            metavar="LANGUAGE",
            help="Do not index stop words of this language, such as 'the' [none].",
        ),
    ] = None,
    ranking: Annotated[str | None, typer.Option(help="Default ranking, as in 'index'.")] = None,
    max_neighbors: MaxNeighbors = None,
    min_df: MinDf = None,
    encoder: Encoder = "auto",
    encoder_cache: EncoderCache = None,
    meaning: Meaning = None,
    meaning_space: MeaningSpace = None,
    memory: Annotated[
        str,
        typer.Option(metavar="SIZE", help="Approximate memory of a worker: 512M, 2G."),
    ] = "1G",
    as_json: Summary = False,
) -> None:
    """Build shards from files of documents: several indexes that answer as one.

      softcosine shards build big-*.jsonl.gz -o big.shards
      softcosine shards build s3://bucket/all.parquet -o all.shards --docs-per-shard 2000000
      softcosine info big.shards

    For tens of millions of documents; below, 'index' is simpler and faster. Every shard has the
    words, similarities and weights of all documents, so that its scores are those of one index.
    Options and formats are those of 'index'; every record needs an id, which decides on its shard.

    If the command is stopped, start it again with the same arguments: it continues where it was.

    JSON: shards, documents, terms, epoch, bytes, seconds, note (source of the similarities), types
    (of columns).
    """
    from softcosine._threads import usable_cpus
    from softcosine.cli.failures import saying_how_to_go_on
    from softcosine.cli.indexing import check_one, field_weights
    from softcosine.cli.matrix_building import document_limit
    from softcosine.cli.options import bytes_in
    from softcosine.cli.output import (
        console,
        counted,
        duration,
        print_json,
        print_note,
        printable,
        size,
    )
    from softcosine.cli.progress import Reporter
    from softcosine.cli.reading import Types, types_named
    from softcosine.cli.sources import decisions_in
    from softcosine.cli.vocabularies import rules_of
    from softcosine.cluster.manifest import ShardsManifest
    from softcosine.cluster.plan import ShardPlan
    from softcosine.index.defaults import RANKING
    from softcosine.index.soft_index import SoftIndex
    from softcosine.matrix.recipe import SimilarityRecipe

    check_one(plain=plain, source=source)
    check_one(plain=plain, decisions=decisions)
    check_one(plain=plain, max_neighbors=max_neighbors is not None)
    check_one(text=text_fields, field=fields)
    started = time.perf_counter()
    recipe = SimilarityRecipe(
        sources=() if plain else tuple(source or ()) or None, combine=join,
        overrides=decisions_in(decisions), max_neighbors=max_neighbors,
    )  # fmt: skip
    known, analyzer = rules_of(language, stemmer, None if stop_words == "none" else stop_words)
    planned = ShardPlan(
        inputs, docs_per_shard=docs_per_shard, id_field=id_field, text_fields=text_fields,
        format=format, types=types_named(types), encoding=encoding, similarity=recipe,
        language=known, analyzer=analyzer, ranking=ranking or RANKING, fields=field_weights(fields),
        min_df=1 if min_df is None else document_limit(min_df),
        positions=positions or None, keep_texts=texts,
        encoder=None if encoder == "none" else encoder,
        encoder_cache=encoder_cache, meaning=meaning, meaning_space=meaning_space,
    )  # fmt: skip
    with Reporter() as report, saying_how_to_go_on(output):
        planned.build(output, jobs=jobs or usable_cpus(), memory=bytes_in(memory), progress=report)
    seconds, manifest = time.perf_counter() - started, ShardsManifest.read(output)
    epoch, n_bytes = SoftIndex.open(output / manifest.epoch_folder), _bytes_of(output)
    if as_json:
        print_json(
            {
                "shards": manifest.n_shards,
                "documents": manifest.n_docs,
                "terms": len(epoch.vocabulary),
                "epoch": manifest.epoch,
                "bytes": n_bytes,
                "seconds": seconds,
                "note": epoch.note,
                "types": planned.types_,
            }
        )
        return
    console().print(
        f"Built {counted(manifest.n_shards, 'shard')} of {counted(manifest.n_docs, 'document')} "
        f"with {counted(len(epoch.vocabulary), 'term')} in {duration(seconds)}: "
        f"{printable(str(output))} ({size(n_bytes)})."
    )
    if columns := str(Types(found=planned.types_)):
        console().print(printable(columns), style="dim")
    print_note(epoch.note, epoch.language, epoch.analyzer)


def _bytes_of(folder: Path) -> int:
    """Return the size on disk of a folder; a file with several names counts once."""
    facts = [path.stat() for path in folder.rglob("*") if path.is_file()]
    return sum({(one.st_dev, one.st_ino): one.st_size for one in facts}.values())
