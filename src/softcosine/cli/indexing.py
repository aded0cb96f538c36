"""Commands ``softcosine index``, ``shards plan`` and ``shards build``."""

from __future__ import annotations

import math
import time
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from softcosine._validation import check_choice
from softcosine.cli.completing import names_of
from softcosine.cli.derived import MORE
from softcosine.cli.entry_points import by_entry_point
from softcosine.cli.failures import saying_how_to_go_on
from softcosine.cli.maintenance import bytes_of
from softcosine.cli.matrix_building import decisions_in, document_limit, words_outside
from softcosine.cli.matrix_index import SavedMatrix
from softcosine.cli.opening import facts_of, in_a_folder
from softcosine.cli.options import (
    DecisionsFile,
    Encoder,
    EncoderCache,
    Encoding,
    Format,
    Inputs,
    Join,
    Language,
    MaxNeighbors,
    Meaning,
    MeaningSpace,
    MinDf,
    Overwrites,
    Records,
    Stemmer,
    Summary,
    bytes_in,
)
from softcosine.cli.output import (
    console,
    counted,
    duration,
    print_json,
    print_note,
    printable,
    program,
    size,
)
from softcosine.cli.progress import Reporter
from softcosine.cli.reading import Types, fields_named, types_named
from softcosine.cli.vocabularies import rules_of
from softcosine.errors import InvalidInputError

if TYPE_CHECKING:
    from softcosine.cli.reading import Types
    from softcosine.similarity.overrides.decision_list import Decisions


_NO_WORDS = "The index has no terms, so searches find nothing: "
_NO_WORDS_BY = {
    False: "the texts have no words.",
    True: "the texts have no words, or --min-df, --stop-words or the settings leave them out.",
}


@dataclass(frozen=True)
class Making:
    """How an index is made."""

    fields: Annotated[
        list[str] | None,
        typer.Option(
            "--field",
            metavar="FIELD=WEIGHT",
            help="Instead of --text: a text field with a score of its own, and the weight of that "
            "score, such as title=2; repeatable.",
        ),
    ] = None
    positions: Annotated[
        bool,
        typer.Option(
            "--positions",
            help="Store positions, so that phrases are found without stored texts.",
            rich_help_panel=MORE,
        ),
    ] = False
    texts: Annotated[
        bool, typer.Option("--texts/--no-texts", help="Store the texts.", rich_help_panel=MORE)
    ] = True
    source: Annotated[
        list[str] | None,
        typer.Option(
            "--source",
            metavar="SOURCE",
            autocompletion=names_of("similarity.registry:NAMES"),
            help="Source of term similarity instead of the default (repeatable): a file of word "
            "vectors or synonyms, or a name such as english or edit-distance; see 'similarity "
            "build'.",
        ),
    ] = None
    join: Join = "strongest"
    decisions: DecisionsFile = None
    plain: Annotated[
        bool, typer.Option("--plain", help="Rank by equal words alone: ordinary BM25.")
    ] = False
    language: Language = None
    stemmer: Stemmer = None
    stop_words: Annotated[
        str | None,
        typer.Option(
            metavar="LANGUAGE",
            autocompletion=names_of("text.analyzer:languages", "none"),
            help="Do not index stop words of this language, such as 'the' [none].",
            rich_help_panel=MORE,
        ),
    ] = None
    ranking: Annotated[
        str | None,
        typer.Option(
            autocompletion=names_of("cli.output:RANKINGS"),
            help="Default ranking: soft_cosine, inner_product, expanded_cosine, soft_bm25 or "
            "soft_tf_bm25.",
        ),
    ] = None
    max_neighbors: MaxNeighbors = None
    min_df: MinDf = None
    encoder: Encoder = "auto"
    encoder_cache: EncoderCache = None
    meaning: Meaning = None
    meaning_space: MeaningSpace = None

    def check(self, **others: Any) -> None:
        """Raise InvalidInputError for options that exclude each other."""
        from softcosine.similarity.combine.by_name import JOINS

        check_choice("join", self.join, JOINS)
        check_one(plain=self.plain, source=self.source, **others)
        check_one(plain=self.plain, decisions=self.decisions, **others)
        check_one(plain=self.plain, join=self.join != "strongest", **others)
        check_one(plain=self.plain, max_neighbors=self.max_neighbors is not None)

    def settings(self) -> dict[str, Any]:
        """Return the settings of an index, as `SoftIndex.create` takes them."""
        from softcosine.index.defaults import RANKING
        from softcosine.matrix.recipe import SimilarityRecipe

        stop_words = None if self.stop_words == "none" else self.stop_words
        known, analyzer = rules_of(self.language, self.stemmer, stop_words)
        recipe = SimilarityRecipe(
            sources=() if self.plain else tuple(self.source or ()) or None, combine=self.join,
            overrides=decisions_in(self.decisions), max_neighbors=self.max_neighbors,
        )  # fmt: skip
        return {
            "similarity": recipe, "language": known, "analyzer": analyzer,
            "ranking": self.ranking or RANKING, "fields": field_weights(self.fields),
            "min_df": 1 if self.min_df is None else document_limit(self.min_df),
            "positions": self.positions or None, "keep_texts": self.texts,
            "encoder": None if self.encoder == "none" else self.encoder,
            "encoder_cache": self.encoder_cache, "meaning": self.meaning,
            "meaning_space": self.meaning_space,
        }  # fmt: skip


def index(
    inputs: Inputs,
    output: Annotated[
        Path,
        typer.Option(
            "--output", "-o", metavar="INDEX", help="The folder to write.", callback=in_a_folder
        ),
    ],
    reading: Records,
    making: Making,
    overwrite: Overwrites = False,
    similarity: Annotated[
        Path | None,
        typer.Option(
            metavar="MATRIX",
            help="Term similarity matrix made by 'similarity build', instead of the default.",
        ),
    ] = None,
    settings: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            help="Settings chosen by 'collection tune', instead of sources, matrix, ranking and "
            "fields.",
        ),
    ] = None,
    memory: Annotated[
        str | None,
        typer.Option(
            metavar="SIZE", help="Approximate memory for buffered documents: 512M, 2G [1G]."
        ),
    ] = None,
    as_json: Summary = False,
) -> None:
    """Build an index from files of documents.

      softcosine index faq.jsonl -o faq.index
      softcosine index items.csv -o items.index --id sku --text title --text body
      softcosine index items.csv -o items.index --id sku --field title=2 --field body=1
      softcosine index notes/ -o notes.index
      softcosine index faq.jsonl -o faq.index --source english --source synonyms.txt
      softcosine index faq.jsonl -o faq.index --similarity faq.matrix
      softcosine index faq.jsonl -o faq.index --encoder minilm --encoder-cache faq.cache
      softcosine index faq.jsonl -o faq.index --settings tuned.json
      zcat log.gz | softcosine index - -o log.index --memory 512M --positions --no-texts

    Formats: JSON lines, JSON, CSV and TSV with a header line, plain text with one document per line
    (each also as .gz), parquet, and folders of text files. The default text fields are 'title' and
    'text'; hits show the title. The default id field is 'id', '_id' (as in BEIR's corpus.jsonl) or
    'docid'. All other fields become metadata and are returned with every hit. Columns of CSV and
    TSV are integers, decimals, booleans or dates if all of their cells are, else text. Without
    --source and --similarity, the similar words come from bundled English word vectors if the texts
    are English, else from the texts themselves.

    Files are streamed and may be larger than memory. The index appears under its name when it is
    complete; 'add' and 'delete' change it later.

    --encoder also ranks by meaning: the score is that of words plus --meaning times the cosine of
    query and document in the space of a sentence encoder, which takes milliseconds per document
    here ('admin encode' does it later, too). By default (auto), documents in English get
    coordinates without an encoder, by sums over a bundled table of word pieces (static); none
    leaves them out.

    The summary counts the entries of your synonym lists that are used, with the reasons for
    unused ones.

    JSON: index, documents, terms, bytes, seconds, note (source of the similarities), meaning (null,
    or as in 'info': encoder, dimensions, query_table, encoded, estimated, weights),
    list_use (null without lists): entries, used, in_queries, reasons, unused; types (of columns).
    """
    from softcosine.index.writer.creation import creating
    from softcosine.index.writer.index_writer import IndexWriter
    from softcosine.storage import check_target

    check_target(output, "index", overwrite=overwrite)
    check_one(text=reading.text_fields, field=making.fields)
    making = _checked(making, similarity, settings)
    own = making.settings() if settings is None else _tuned(settings, making, reading.text_fields)
    matrix = None if similarity is None else SavedMatrix.open(similarity, stemmer=making.stemmer)
    if matrix is not None:
        own["analyzer"] = matrix.analyzer or own["analyzer"]
    whole = memory is None and "snos" in own["similarity"].names
    started, columns = time.perf_counter(), Types(types_named(reading.types))
    weights = own["fields"]
    fields = fields_named(reading.id_field, weights or reading.text_fields, separate=bool(weights))
    limit = None if whole else bytes_in(memory or "1G")
    with Reporter() as report, saying_how_to_go_on(making.encoder_cache):
        documents = reading.documents(inputs, fields, report, types=columns)
        with creating(output, overwrite=overwrite, **own) as made:
            with IndexWriter(made[1], memory=limit, builder=matrix, progress=report) as writer:
                for document in documents:
                    writer.add(document.id, document.text, document.metadata)
            del made  # closes all files before the folder is renamed
    limits = (making.min_df, making.stop_words, matrix, settings)
    seconds, decided = time.perf_counter() - started, own["similarity"].overrides
    _show(output, decided, seconds, columns, as_json, limited=limits != (None,) * 4)


def _checked(making: Making, similarity: Path | None, settings: Path | None) -> Making:
    """Return the options, with the encoder that they imply, or raise InvalidInputError."""
    making.check(similarity=similarity)
    if settings is not None:
        given = {
            name: getattr(making, name)
            for name in (
                "fields", "source", "join", "decisions", "plain", "stemmer", "stop_words",
                "meaning", "ranking", "max_neighbors", "min_df",
            )
            if getattr(making, name) != getattr(Making(), name)
        }  # fmt: skip
        named = [f"--{name.replace('_', '-').replace('fields', 'field')}" for name in given]
        if named := [*named, *(["--similarity"] if similarity is not None else [])]:
            raise InvalidInputError(
                f"--settings cannot be combined with {' and '.join(named)}; give one or the other."
            )
    if making.encoder == "auto" and (making.plain or similarity is not None):
        making = replace(making, encoder="none")
    meaning = making.meaning if making.encoder == "none" else None
    of_encoders = (making.encoder_cache, making.meaning_space, meaning)
    if (
        settings is None
        and making.encoder in ("auto", "none")
        and of_encoders != (None, None, None)
    ):
        raise InvalidInputError(
            "--encoder-cache, --meaning and --meaning-space are for an index with an encoder; add "
            "--encoder minilm, or leave them out."
        )
    stop_words = None if making.stop_words == "none" else making.stop_words
    check_one(stop_words=stop_words, similarity=similarity)
    check_one(language=making.language, similarity=similarity)
    if similarity is not None and making.max_neighbors is not None:
        raise InvalidInputError(
            f"--max-neighbors was set when {similarity} was built; leave it out."
        )
    return making


def _tuned(path: Path, making: Making, text_fields: list[str] | None) -> dict[str, Any]:
    """Return the settings of an index by a file of 'collection tune'."""
    chosen, encoder = _settings(path, making.language, text_fields), making.encoder
    if encoder == "auto":
        encoder = (chosen.encoder if chosen.meaning != 0 else None) or "none"
    return {
        **making.settings(),
        "similarity": chosen.similarity, "weighting": chosen.weighting, "ranking": chosen.ranking,
        "fields": None if chosen.fields is None else dict(chosen.fields),
        "language": chosen.language, "analyzer": chosen.analyzer,
        "encoder": None if encoder == "none" else encoder,
        "meaning": None if encoder == "none" else chosen.meaning_by(encoder),
    }  # fmt: skip


def _settings(path: Path, language: str | None, text_fields: list[str] | None) -> Any:
    """Return the settings of a file, for another language if one is given."""
    chosen = by_entry_point("settings", "tuned")(path)
    if chosen.fields is not None and text_fields:
        names = ", ".join(name for name, _ in chosen.fields)
        raise InvalidInputError(f"{path} has weights for the fields {names}; leave --text out.")
    if language is None:
        return chosen
    dropped = None if chosen.stop_words is None else language
    return chosen.changed(language=language, stop_words=dropped)


def field_weights(given: list[str] | None) -> dict[str, float] | None:
    """Return the weight of each field of ``--field``; None without fields."""
    if not given:
        return None
    weights: dict[str, float] = {}
    for one in given:
        name, _, told = one.rpartition("=") if "=" in one else (one, "", "1")
        try:
            weight = float(told)
        except ValueError:
            weight = math.nan
        if not name or not 0 < weight < math.inf:
            raise InvalidInputError(
                f"--field is {one!r}; give a name and a number above 0, such as title=2."
            )
        if name in weights:
            raise InvalidInputError(f"--field names {name!r} twice; name each field once.")
        weights[name] = weight
    return weights


def check_one(**given: Any) -> None:
    """Raise InvalidInputError if more than one of some options is given."""
    named = [f"--{name.replace('_', '-')}" for name, value in given.items() if value]
    if len(named) > 1:
        raise InvalidInputError(f"{' and '.join(named)} exclude each other; give one of them.")


def _show(
    output: Path,
    decisions: Decisions | None,
    seconds: float,
    columns: Types,
    as_json: bool,
    *,
    limited: bool,
) -> None:
    from softcosine.index.soft_index import SoftIndex
    from softcosine.space.meaning import STATIC

    made = SoftIndex.open(output)
    outside = words_outside(decisions, made.vocabulary, analyzer=made.analyzer)
    empty = len(made) and not len(made.vocabulary)
    emptied = _NO_WORDS + _NO_WORDS_BY[limited] if empty else ""
    note = " ".join(filter(None, (made.note, outside, emptied)))
    n_bytes, use, encoded = bytes_of(output), made.list_use, facts_of(made)
    if as_json:
        print_json(
            {
                "index": str(output),
                "documents": len(made),
                "terms": len(made.vocabulary),
                "bytes": n_bytes,
                "seconds": seconds,
                "note": note,
                "meaning": encoded,
                "list_use": None if use is None else use.to_dict(),
                "types": columns.found,
            }
        )
        return
    out, shown = console(), printable(str(output))
    out.print(
        f"Indexed {counted(len(made), 'document')} with {counted(len(made.vocabulary), 'term')} in "
        f"{duration(seconds)}: {shown} ({size(n_bytes)})."
    )
    if encoded is not None:
        n_texts, name = counted(encoded["encoded"], "document"), printable(encoded["encoder"])
        out.print(
            "Ranked by words and meaning, without an encoder (--encoder minilm finds more)."
            if name == STATIC
            else f"Encoded {n_texts} by {name}."
        )
    if str(columns):
        out.print(printable(str(columns)), style="dim")
    print_note(note, made.language, made.analyzer)
    if use is not None:
        out.print(str(use), style="dim", markup=False)
    out.print(f'Search it: {program()} search {shown} "your words" --explain', style="dim")


_Inputs = Annotated[
    list[str],
    typer.Argument(
        metavar="FILE", help="Files of records with ids, or URLs that fsspec reads (s3://...)."
    ),
]
_DocsPerShard = Annotated[
    int, typer.Option(min=1, metavar="N", help="Documents in a shard, about.")
]


def plan_shards(
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


def build_shards(
    inputs: _Inputs,
    output: Annotated[
        Path, typer.Option("--output", "-o", metavar="SHARDS", help="The folder to write.")
    ],
    reading: Records,
    making: Making,
    docs_per_shard: _DocsPerShard = 1_000_000,
    jobs: Annotated[
        int | None, typer.Option(min=1, metavar="N", help="Number of workers [all processors].")
    ] = None,
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
    from softcosine.cluster.plan import ShardPlan

    making.check()
    check_one(text=reading.text_fields, field=making.fields)
    if reading.pattern is not None:
        raise InvalidInputError("--glob is for folders, and shards are built from files.")
    started = time.perf_counter()
    planned = ShardPlan(
        inputs, docs_per_shard=docs_per_shard, id_field=reading.id_field,
        text_fields=reading.text_fields, format=reading.format, encoding=reading.encoding,
        types=types_named(reading.types), **making.settings(),
    )  # fmt: skip
    with Reporter() as report, saying_how_to_go_on(output):
        planned.build(output, jobs=jobs or usable_cpus(), memory=bytes_in(memory), progress=report)
    _show_shards(output, planned.types_, time.perf_counter() - started, as_json)


def _show_shards(output: Path, types: dict[str, str], seconds: float, as_json: bool) -> None:
    from softcosine.cluster.manifest import ShardsManifest
    from softcosine.index.soft_index import SoftIndex

    manifest = ShardsManifest.read(output)
    epoch, n_bytes = SoftIndex.open(output / manifest.epoch_folder), _bytes_of(output)
    n_terms, note = len(epoch.vocabulary), epoch.note
    if as_json:
        sizes = {"shards": manifest.n_shards, "documents": manifest.n_docs, "terms": n_terms}
        own = {"epoch": manifest.epoch, "bytes": n_bytes, "seconds": seconds, "note": note}
        print_json({**sizes, **own, "types": types})
        return
    console().print(
        f"Built {counted(manifest.n_shards, 'shard')} of {counted(manifest.n_docs, 'document')} "
        f"with {counted(n_terms, 'term')} in {duration(seconds)}: "
        f"{printable(str(output))} ({size(n_bytes)})."
    )
    if columns := str(Types(found=types)):
        console().print(printable(columns), style="dim")
    print_note(note, epoch.language, epoch.analyzer)


def _bytes_of(folder: Path) -> int:
    """Return the size on disk of a folder; a file with several names counts once."""
    facts = [path.stat() for path in folder.rglob("*") if path.is_file()]
    return sum({(one.st_dev, one.st_ino): one.st_size for one in facts}.values())
