"""Commands ``softcosine index`` and ``shards build``."""

from __future__ import annotations

import time
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import msgspec

from softcosine._validation import check_choice
from softcosine.cli.derived import FromRequest, argument, flag_name, option
from softcosine.cli.entry_points import by_entry_point
from softcosine.cli.failures import saying_how_to_go_on
from softcosine.cli.maintenance import bytes_of
from softcosine.cli.opening import better, facts_of, in_a_folder
from softcosine.cli.options import (
    Inputs,
    Overwrites,
    Records,
    Stemmer,
    Summary,
    bytes_in,
)
from softcosine.cli.output import (
    counted,
    duration,
    language_hint,
    print_result,
    size,
)
from softcosine.cli.progress import Reporter
from softcosine.cli.reading import Types, fields_named, types_named
from softcosine.errors import InvalidInputError
from softcosine.index.options import IndexOptions
from softcosine.index.wire import wire
from softcosine.similarity.registry import JOINS, NAMES, PREFIXES

if TYPE_CHECKING:
    from softcosine.matrix.recipe import SimilarityRecipe
    from softcosine.text.analyzer import Analyzer

_NO_WORDS = (
    "The index has no terms, so searches find nothing: the texts have no words, or --min-df, "
    "--stop-words or the settings leave them out."
)
# Options that leave no choice for others.
_EXCLUDED = {
    "settings": (
        "fields", "source", "join", "decisions", "plain", "stemmer", "stop_words",
        "meaning", "ranking", "max_neighbors", "min_df",
    ),
    "plain": ("source", "join", "decisions", "max_neighbors"),
    "fields": ("text",),
}  # fmt: skip
_OPTIONS = FromRequest(IndexOptions, without=("similarity", "source", "S", "analyzer", "weighting"))


@dataclass(frozen=True)
class Making:
    """What a recipe and an analyzer are made of."""

    source: list[str] | None = option(
        "--source SOURCE",
        "Source of term similarity (repeatable): a file of synonyms, which stands before the "
        "default (only:FILE: in its place), or instead of the default a file of word vectors, a "
        f"name ({', '.join(NAMES)}), or KIND:PLACE ({', '.join(PREFIXES)}); docs/lab.md "
        "lists more.",
        None, "similarity.registry:NAMES",
    )  # fmt: skip
    join: str = option(
        "--join", "How to combine several sources: strongest, noisy-or or first.",
        "strongest", "similarity.registry:JOINS",
    )  # fmt: skip
    decisions: Path | None = option(
        "--decisions FILE", "File of pairs of words that you pin, forbid or weight.", None
    )
    stemmer: Stemmer = None
    stop_words: str | None = option(
        "--stop-words LANGUAGE",
        "Do not index stop words of this language, such as 'the' [none].",
        None, "text.analyzer:languages", "none", more=True,
    )  # fmt: skip

    def options(self, given: dict[str, Any], **others: Any) -> dict[str, Any]:
        """Return the options of an index; InvalidInputError for some that exclude each other."""
        usual = {own.name: own.default for own in msgspec.structs.fields(IndexOptions)}
        given = {name: own for name, own in given.items() if own != usual[name]}
        stated, usual = {**vars(self), **given, **others}, vars(Making())
        names = {name for name, own in stated.items() if own not in (None, usual.get(name))}
        for name, excluded in _EXCLUDED.items():
            clash = [flag_name(one) for one in excluded if one in names]
            if name in names and clash:
                raise InvalidInputError(
                    f"{flag_name(name)} excludes {' and '.join(clash)}; give one or the other."
                )
        if not given.get("plain"):
            given["similarity"] = self._recipe(given.pop("max_neighbors", None))
        return {**given, "analyzer": self._analyzer(given.get("language", "auto"))}

    def _analyzer(self, language: str) -> Analyzer | None:
        """Return an analyzer if a stemmer or stop words are given."""
        from softcosine.text.analyzer import Analyzer

        stop_words = None if self.stop_words == "none" else self.stop_words
        if self.stemmer is None and stop_words is None:
            return None
        settings: dict[str, Any] = {} if stop_words is None else {"stop_words": stop_words}
        Analyzer(**settings)  # raises for an unknown language
        if self.stemmer is not None:
            settings["stemmer"] = None if self.stemmer == "none" else self.stemmer
        base = (stop_words or "none") if language == "auto" else language
        return Analyzer.for_language(base, **settings)

    def _recipe(self, max_neighbors: int | None) -> SimilarityRecipe:
        from softcosine.matrix.recipe import SimilarityRecipe
        from softcosine.similarity.overrides.decision_files import read_decisions

        check_choice("join", self.join, JOINS)
        return SimilarityRecipe(
            sources=self.source or None, combine=self.join, max_neighbors=max_neighbors,
            overrides=None if self.decisions is None else read_decisions(self.decisions),
        )  # fmt: skip


def _tuned(path: Path, given: dict[str, Any], text_fields: list[str] | None) -> dict[str, Any]:
    """Return the options of an index by a file of 'collection tune'."""
    chosen = by_entry_point("settings", "tuned")(path)
    if chosen.fields is not None and text_fields:
        names = ", ".join(name for name, _ in chosen.fields)
        raise InvalidInputError(f"{path} has weights for the fields {names}; leave --text out.")
    if (language := given.get("language")) is not None:
        dropped = None if chosen.stop_words is None else language
        chosen = chosen.changed(language=language, stop_words=dropped)
    encoder = given.get("encoder", chosen.encoder if chosen.meaning != 0 else None)
    return {**given, **chosen.options(None if encoder == "none" else encoder)}


def index(
    inputs: Inputs,
    reading: Records,
    making: Making,
    options: Annotated[dict[str, Any], _OPTIONS],
    output: Path = option("--output -o INDEX", "The folder to write.", ..., callback=in_a_folder),
    overwrite: Overwrites = False,
    settings: Path | None = option(
        "--settings FILE",
        "Settings chosen by 'collection tune', instead of sources, ranking and fields.",
        None,
    ),
    memory: str | None = option(
        "--memory SIZE", "Approximate memory for buffered documents: 512M, 2G [1G].", None
    ),
    as_json: Summary = False,
) -> None:
    """Build an index from files of documents.

      softcosine index faq.jsonl -o faq.index
      softcosine index items.csv -o items.index --id sku --text title --text body
      softcosine index items.csv -o items.index --id sku --field title=0.5 --field body=1
      softcosine index notes/ -o notes.index
      softcosine index faq.jsonl -o faq.index --source english --source synonyms.txt
      softcosine index faq.jsonl -o faq.index --encoder minilm --encoder-cache faq.cache
      softcosine index faq.jsonl -o faq.index --settings tuned.json
      zcat log.gz | softcosine index - -o log.index --memory 512M --positions --no-texts

    Formats: JSON lines, JSON, CSV and TSV with a header line, plain text with one document per line
    (each also as .gz), parquet, and folders of text files. The default text fields are 'title' and
    'text'; hits show the title. The default id field is 'id', '_id' (as in BEIR's corpus.jsonl) or
    'docid'. All other fields become metadata and are returned with every hit. Columns of CSV and
    TSV are integers, decimals, booleans or dates if all of their cells are, else text. Without
    --source, the similar words come from bundled English word vectors if the texts are English,
    else from the spelling of words; --source with nothing but synonyms adds to them.

    Files are streamed and may be larger than memory. The index appears under its name when it is
    complete; 'add' and 'delete' change it later.

    --encoder also ranks by meaning: the score is that of words plus --meaning times the cosine of
    query and document in the space of a sentence encoder, which takes milliseconds per document
    here ('admin encode' does it later, too). By default (auto), minilm reads documents in English
    if it is installed and they are at most 5,000 with 500,000 word pieces; else a bundled table of
    word pieces gives them coordinates (static). The index stores the choice, which later documents
    do not change. none leaves meaning out; another encoder is named by its folder or name, or
    hub:NAME. --meaning and --encoder-cache are for either choice. --meaning-space static is the
    query table of the package softcosine-multilingual; that of minilm is bundled.

    Rankings are soft_tf_bm25, soft_bm25, soft_cosine, inner_product and expanded_cosine.

    The summary counts the entries of your synonym lists that are used, with the reasons for
    unused ones.

    JSON: index, documents, terms, epoch, bytes, seconds, note (source of the similarities), meaning
    and list_use as in 'info', types (of columns).
    """
    from softcosine.index.writer.creation import creating
    from softcosine.index.writer.index_writer import IndexWriter
    from softcosine.storage import check_target

    check_target(output, "index", overwrite=overwrite)
    given = making.options(options, settings=settings, text=reading.text_fields)
    if settings is not None:
        given = _tuned(settings, given, reading.text_fields)
    chosen = IndexOptions.of(**given)
    whole = memory is None and "snos" in chosen.similarity.names
    started, columns = time.perf_counter(), Types(types_named(reading.types))
    weights, records = given.get("fields"), {"id": reading.id_field, "text": reading.text_fields}
    fields = fields_named(reading.id_field, weights or reading.text_fields, separate=bool(weights))
    limit = None if whole else bytes_in(memory or "1G")
    with Reporter() as report, saying_how_to_go_on(options.get("encoder_cache")):
        documents = reading.documents(inputs, fields, report, types=columns)
        with creating(output, chosen, overwrite=overwrite, records=records) as made:
            with IndexWriter(made[1], memory=limit, progress=report) as writer:
                for document in documents:
                    writer.add(document.id, document.text, document.metadata)
            del made  # closes all files before the folder is renamed
    _show(output, started, columns, as_json, auto=options["encoder"] == "auto")


def _show(output: Path, started: float, columns: Types, as_json: bool, *, auto: bool) -> None:
    """Print the summary of an index, or of a sharded one."""
    from softcosine.cluster.manifest import ShardsManifest
    from softcosine.cluster.opening import open_epoch
    from softcosine.space.meaning import STATIC
    from softcosine.storage.remote import is_sharded

    made, n_bytes, shards = open_epoch(output), bytes_of(output), None
    use, encoded, n_docs, n_terms = made.list_use, facts_of(made), len(made), len(made.vocabulary)
    if is_sharded(output):
        shards = ShardsManifest.read(output)
        encoded, n_docs = None, shards.n_docs
    notes = [made.snapshot.settings.note, _NO_WORDS if n_docs and not n_terms else ""]
    note, ranked, gain = " ".join(filter(None, notes)), made.snapshot.read_by, ""
    seconds = time.perf_counter() - started
    facts = {
        "index": str(output), "documents": n_docs, "terms": n_terms, "epoch": made.epoch,
        "bytes": n_bytes, "seconds": seconds, "note": f"{note} {ranked}".strip(),
        "meaning": encoded, "list_use": wire(use), "types": columns.found,
    }  # fmt: skip
    parts = ""
    if shards is not None:
        facts["shards"], parts = shards.n_shards, f" in {counted(shards.n_shards, 'shard')}"
    if encoded is not None and encoded["encoder"] != STATIC:
        ranked = f"Encoded {counted(encoded['encoded'], 'document')} by {encoded['encoder']}."
    elif encoded is not None and auto:
        gain = better(made, str(output)) if made.language == "english" else ""
    print_result(
        facts, as_json,
        f"Indexed {counted(n_docs, 'document')}{parts} with {counted(n_terms, 'term')} in "
        f"{duration(seconds)}: {output} ({size(n_bytes)}).",
        ranked, gain, str(columns), note, language_hint(note), "" if use is None else str(use),
        f'Search it: softcosine search {output} "your words" --explain',
    )  # fmt: skip


_Inputs = Annotated[
    list[str],
    argument("FILE", "Files of records with ids, or URLs that fsspec reads (s3://...)."),
]


def build_shards(
    inputs: _Inputs,
    reading: Records,
    making: Making,
    options: Annotated[dict[str, Any], _OPTIONS],
    output: Path = option("--output -o SHARDS", "The folder to write.", ...),
    docs_per_shard: int = option(
        "--docs-per-shard N", "Documents in a shard, about.", 1_000_000, min=1
    ),
    jobs: int | None = option("--jobs N", "Number of workers [all processors].", None, min=1),
    memory: str = option("--memory SIZE", "Approximate memory of a worker: 512M, 2G.", "1G"),
    as_json: Summary = False,
) -> None:
    """Build shards from files of documents: several indexes that answer as one.

      softcosine shards build big-*.jsonl.gz -o big.shards
      softcosine shards build s3://bucket/all.parquet -o all.shards --docs-per-shard 2000000
      softcosine info big.shards

    For tens of millions of documents; below, 'index' is simpler and faster. Every shard has the
    words, similarities and weights of all documents, so that its scores are those of one index.
    Options and formats are those of 'index', but --encoder auto is static; every record needs an
    id, which decides on its shard.

    If the command is stopped, start it again with the same arguments: it continues where it was.

    JSON: as of 'index', and shards (their number).
    """
    from softcosine._threads import usable_cpus
    from softcosine.cluster.plan import ShardPlan

    given = making.options(options, text=reading.text_fields)
    if reading.pattern is not None:
        raise InvalidInputError("--glob is for folders, and shards are built from files.")
    started = time.perf_counter()
    planned = ShardPlan(
        inputs, docs_per_shard=docs_per_shard, id_field=reading.id_field,
        text_fields=reading.text_fields, format=reading.format, encoding=reading.encoding,
        types=types_named(reading.types), **given,
    )  # fmt: skip
    with Reporter() as report, saying_how_to_go_on(output):
        planned.build(output, jobs=jobs or usable_cpus(), memory=bytes_in(memory), progress=report)
    auto = options["encoder"] == "auto"
    _show(output, started, Types(found=planned.types_), as_json, auto=auto)
