"""Command ``softcosine index``."""

from __future__ import annotations

import math
import time
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from softcosine._validation import check_choice
from softcosine.cli.completing import names_of
from softcosine.cli.options import (
    DecisionsFile,
    Encoder,
    EncoderCache,
    Encoding,
    Format,
    IdField,
    Inputs,
    Join,
    Language,
    MaxNeighbors,
    Meaning,
    MeaningSpace,
    MinDf,
    Pattern,
    Stemmer,
    Summary,
    TextFields,
    TypesOfColumns,
)
from softcosine.cli.remote import in_a_folder
from softcosine.errors import InvalidInputError

if TYPE_CHECKING:
    from softcosine.cli.reading import Types
    from softcosine.evaluate.tuning.settings import Settings
    from softcosine.similarity.overrides.decision_list import Decisions

__all__ = ["check_one", "field_weights", "index"]

_NO_WORDS = "The index has no terms, so searches find nothing: "
_NO_WORDS_BY = {
    False: "the texts have no words.",
    True: "the texts have no words, or --min-df, --stop-words or the settings leave them out.",
}


def index(
    inputs: Inputs,
    output: Annotated[
        Path,
        typer.Option(
            "--output", "-o", metavar="INDEX", help="The folder to write.", callback=in_a_folder
        ),
    ],
    overwrite: Annotated[
        bool, typer.Option("--overwrite", help="Replace an existing index.")
    ] = False,
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
    pattern: Pattern = None,
    positions: Annotated[
        bool,
        typer.Option(
            "--positions", help="Store positions, so that phrases are found without stored texts."
        ),
    ] = False,
    texts: Annotated[bool, typer.Option("--texts/--no-texts", help="Store the texts.")] = True,
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
    ] = None,
    join: Join = "strongest",
    decisions: DecisionsFile = None,
    similarity: Annotated[
        Path | None,
        typer.Option(
            metavar="MATRIX",
            help="Term similarity matrix made by 'similarity build', instead of the default.",
        ),
    ] = None,
    plain: Annotated[
        bool, typer.Option("--plain", help="Rank by equal words alone: ordinary BM25.")
    ] = False,
    settings: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            help="Settings chosen by 'tune', instead of sources, matrix, ranking and fields.",
        ),
    ] = None,
    language: Language = None,
    stemmer: Stemmer = None,
    stop_words: Annotated[
        str | None,
        typer.Option(
            metavar="LANGUAGE",
            autocompletion=names_of("text.analyzer:languages", "none"),
            help="Do not index stop words of this language, such as 'the' [none].",
        ),
    ] = None,
    ranking: Annotated[
        str | None,
        typer.Option(
            autocompletion=names_of("cli.output:RANKINGS"),
            help="Default ranking: soft_cosine, inner_product, expanded_cosine, soft_bm25 or "
            "soft_tf_bm25.",
        ),
    ] = None,
    max_neighbors: MaxNeighbors = None,
    min_df: MinDf = None,
    encoder: Encoder = "auto",
    encoder_cache: EncoderCache = None,
    meaning: Meaning = None,
    meaning_space: MeaningSpace = None,
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
    here ('encode' does it later, too). By default (auto), documents in English get coordinates
    without an encoder, by sums over a bundled table of word pieces (static); none leaves them out.

    The summary counts the entries of your synonym lists that are used, with the reasons for
    unused ones.

    JSON: index, documents, terms, bytes, seconds, note (source of the similarities), meaning (null,
    or as in 'info': encoder, dimensions, query_table, encoded, estimated, weights),
    list_use (null without lists): entries, used, in_queries, reasons, unused; types (of columns).
    """
    from softcosine.similarity.combine.by_name import JOINS
    from softcosine.storage import check_target

    check_target(output, "index", overwrite=overwrite)
    check_one(plain=plain, source=source, similarity=similarity)
    check_one(plain=plain, decisions=decisions, similarity=similarity)
    check_choice("join", join, JOINS)
    check_one(plain=plain, join=join != "strongest", similarity=similarity)
    check_one(text=text_fields, field=fields)
    if settings is not None:
        others = {
            "--field": fields, "--source": source, "--join": join != "strongest",
            "--decisions": decisions, "--similarity": similarity, "--plain": plain,
            "--stemmer": stemmer, "--stop-words": stop_words, "--meaning": meaning,
            "--ranking": ranking, "--max-neighbors": max_neighbors, "--min-df": min_df,
        }  # fmt: skip
        named = [name for name, given in others.items() if given not in (None, False)]
        if named:
            raise InvalidInputError(
                f"--settings cannot be combined with {' and '.join(named)}; give one or the other."
            )
    if encoder == "auto" and (plain or similarity is not None):
        encoder = "none"
    of_encoders = (encoder_cache, meaning_space, meaning if encoder == "none" else None)
    if settings is None and encoder in ("auto", "none") and of_encoders != (None, None, None):
        raise InvalidInputError(
            "--encoder-cache, --meaning and --meaning-space are for an index with an encoder; add "
            "--encoder minilm, or leave them out."
        )
    stop_words = None if stop_words == "none" else stop_words
    check_one(stop_words=stop_words, similarity=similarity)
    check_one(language=language, similarity=similarity)
    if plain and max_neighbors is not None:
        raise InvalidInputError("--max-neighbors and --plain exclude each other; give one of them.")
    if similarity is not None and max_neighbors is not None:
        raise InvalidInputError(
            f"--max-neighbors was set when {similarity} was built; leave it out."
        )

    from softcosine.cli.failures import saying_how_to_go_on
    from softcosine.cli.matrix_building import document_limit
    from softcosine.cli.matrix_index import SavedMatrix
    from softcosine.cli.options import bytes_in
    from softcosine.cli.progress import Reporter
    from softcosine.cli.reading import Types, each_document, fields_named, types_named
    from softcosine.cli.sources import decisions_in
    from softcosine.cli.vocabularies import rules_of
    from softcosine.index.defaults import RANKING, WEIGHTING
    from softcosine.index.soft_index import SoftIndex
    from softcosine.index.writer.creation import creating
    from softcosine.index.writer.index_writer import IndexWriter
    from softcosine.matrix.recipe import SimilarityRecipe

    decided, weighting = decisions_in(decisions), WEIGHTING
    if settings is None:
        recipe = SimilarityRecipe(
            sources=() if plain else tuple(source or ()) or None, combine=join, overrides=decided,
            max_neighbors=max_neighbors,
        )  # fmt: skip
        weights = field_weights(fields)
        known, analyzer = rules_of(language, stemmer, stop_words)
    else:
        chosen = _settings(settings, language, text_fields)
        recipe, weighting, ranking = chosen.similarity, chosen.weighting, chosen.ranking
        weights = None if chosen.fields is None else dict(chosen.fields)
        known, analyzer = chosen.language, chosen.analyzer
        if encoder == "auto":
            encoder = (chosen.encoder if chosen.meaning != 0 else None) or "none"
        meaning = None if encoder == "none" else chosen.meaning_by(encoder)
    matrix = None if similarity is None else SavedMatrix.open(similarity, stemmer=stemmer)
    if matrix is not None:
        analyzer = matrix.analyzer or analyzer
    limit = None if memory is None and "snos" in recipe.names else bytes_in(memory or "1G")
    started, columns = time.perf_counter(), Types(types_named(types))
    with Reporter() as report, saying_how_to_go_on(encoder_cache):
        documents = each_document(
            inputs,
            fields=fields_named(id_field, weights or text_fields, separate=bool(weights)),
            format=format,
            encoding=encoding,
            pattern=pattern,
            types=columns,
            progress=lambda done: report("reading documents", done, None),
        )
        with creating(
            output, overwrite=overwrite, similarity=recipe, language=known, analyzer=analyzer,
            weighting=weighting, ranking=ranking or RANKING, fields=weights,
            min_df=1 if min_df is None else document_limit(min_df),
            positions=positions or None, keep_texts=texts,
            encoder=None if encoder == "none" else encoder,
            encoder_cache=encoder_cache, meaning=meaning, meaning_space=meaning_space,
        ) as made:  # fmt: skip
            with IndexWriter(made[1], memory=limit, builder=matrix, progress=report) as writer:
                for document in documents:
                    writer.add(document.id, document.text, document.metadata)
            del made  # closes all files before the folder is renamed
    note = SoftIndex.open(output).note
    limited = any(one is not None for one in (min_df, stop_words, matrix, settings))
    seconds = time.perf_counter() - started
    _show(output, decided, note, seconds, columns, as_json, limited=limited)


def _settings(path: Path, language: str | None, text_fields: list[str] | None) -> Settings:
    """Return the settings of a file, for another language if one is given."""
    from softcosine.evaluate.tuning.settings import Settings

    chosen = Settings.load(path)
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
    note: str,
    seconds: float,
    columns: Types,
    as_json: bool,
    *,
    limited: bool,
) -> None:
    from softcosine.cli.calling import program
    from softcosine.cli.maintenance import bytes_of
    from softcosine.cli.meaning import facts_of
    from softcosine.cli.output import (
        console,
        counted,
        duration,
        print_json,
        print_note,
        printable,
        size,
    )
    from softcosine.cli.sources import words_outside
    from softcosine.index.soft_index import SoftIndex
    from softcosine.space.meaning import STATIC

    made = SoftIndex.open(output)
    outside = words_outside(decisions, made.vocabulary, analyzer=made.analyzer)
    empty = len(made) and not len(made.vocabulary)
    emptied = _NO_WORDS + _NO_WORDS_BY[limited] if empty else ""
    note = " ".join(filter(None, (note, outside, emptied)))
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
