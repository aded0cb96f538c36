"""Commands ``softcosine search``, ``similar``, ``explain`` and ``terms``."""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from softcosine.cli.completing import names_of
from softcosine.cli.conditions import Conditions
from softcosine.cli.options import (
    AnyIndex,
    Ask,
    Json,
    KnownEncoder,
    Limit,
    Meaning,
    RankingName,
    Replicas,
    ShardEngine,
    ShardTimeout,
    Syntax,
)
from softcosine.cli.pictures import Overwrite, Plot, check_plot, draw_hits
from softcosine.cli.remote import is_served, served_index, show_served_hits, weight_of_meaning
from softcosine.cli.server_fields import SentWords, asking_field
from softcosine.errors import InvalidInputError, UnknownTermError

if TYPE_CHECKING:
    from softcosine.cli.meaning import MeaningOptions
    from softcosine.client import RemoteIndex
    from softcosine.index.search.explanation import Explanation
    from softcosine.index.search.results import Hits
    from softcosine.index.search.searchable import Searchable
    from softcosine.similarity.provenance import Origin

__all__ = ["explain", "search", "similar", "terms"]

MinScore = Annotated[
    float, typer.Option("--min", metavar="SCORE", help="Leave out documents of a lower score.")
]
Explained = Annotated[
    bool, typer.Option("--explain", "-e", help="Show the pairs of words behind each score.")
]
Fuzzy = Annotated[
    bool,
    typer.Option("--fuzzy", help="Replace unknown words by indexed words of similar spelling."),
]
KeepStopWords = Annotated[
    bool,
    typer.Option("--keep-stop-words", help="Also use words such as 'how' and 'the' of the query."),
]
ExactFirst = Annotated[
    bool,
    typer.Option("--exact-first", help="Rank documents with every word of the query first."),
]
MaxTerms = Annotated[
    int,
    typer.Option(
        min=0,
        metavar="N",
        help="Use only the N words of the query with the highest weights; 0 for all.",
    ),
]
TwoStages = Annotated[
    str | None,
    typer.Option(
        "--first-stage",
        metavar="TERMS[:N]",
        help="Find N candidates by TERMS terms, or all, and score these exactly: 32, all:1000.",
    ),
]


def search(
    index: AnyIndex,
    words: Annotated[
        list[str],
        typer.Argument(metavar="WORDS", help="The query; - reads one query per line from stdin."),
    ],
    k: Limit = 10,
    offset: Annotated[
        int | None,
        typer.Option(min=0, metavar="N", help="Skip the N best results."),
    ] = None,
    page: Annotated[
        int | None, typer.Option(min=1, metavar="N", help="Show the Nth page of -k results.")
    ] = None,
    min_score: MinScore = 0.0,
    where: Conditions = None,
    exact_first: ExactFirst = False,
    syntax: Syntax = None,
    max_terms: MaxTerms = 512,
    fuzzy: Fuzzy = False,
    keep_stop_words: KeepStopWords = False,
    fill: Annotated[
        bool,
        typer.Option("--fill", help="Append documents of score 0 in order of insertion."),
    ] = False,
    mmr: Annotated[
        float | None,
        typer.Option(
            "--mmr",
            metavar="SHARE",
            help="Diversify the results: from 1 (by score alone) to 0 (by diversity alone).",
        ),
    ] = None,
    sort: Annotated[
        list[str] | None,
        typer.Option("--sort", metavar="KEY", help="Sort by metadata: year, or -year; repeatable."),
    ] = None,
    facets: Annotated[
        list[str] | None,
        typer.Option(
            "--facet", metavar="KEY", help="Count the values of a metadata key; repeatable."
        ),
    ] = None,
    explain: Explained = False,
    plan: Annotated[
        bool, typer.Option("--plan", help="Show how the search was executed, and why.")
    ] = False,
    ranking: RankingName = None,
    ask: Ask = None,
    meaning: Meaning = None,
    encoder: KnownEncoder = None,
    first_stage: TwoStages = None,
    engine: ShardEngine = None,
    server: Annotated[
        str | None,
        typer.Option(
            "--server",
            metavar="URL",
            help="Search the text field --field of an index of Elasticsearch or OpenSearch.",
        ),
    ] = None,
    field: Annotated[
        str | None,
        typer.Option("--field", metavar="FIELD", help="The text field on the --server."),
    ] = None,
    sent_words: SentWords = "terms",
    replicas: Replicas = None,
    shard_timeout: ShardTimeout = None,
    plot: Plot = None,
    overwrite: Overwrite = False,
    as_json: Json = False,
) -> None:
    """Find the documents most similar to a query.

      softcosine search faq.index "bicycle tire repair" -k 5 --explain
      softcosine search faq.index 'what does "ls -l" do' --page 2
      softcosine search faq.index '+tyre -car "flat tyre" repair^2' --syntax
      softcosine search faq.index "tire repair" --where lang=en --where 'year>=2020'
      softcosine search faq.index "bycicle tire repair" --fuzzy --mmr 0.7
      softcosine search faq.index "tire repair" --sort -year --facet lang
      softcosine search faq.index "what helps against a flat tire" --ask static --meaning 20
      softcosine search faq.index "tire repair" --server http://localhost:9200/faq --field body
      softcosine search faq.index "bicycle tire repair" --json | jq -r '.hits[].id'
      softcosine search faq.index - --json < queries.txt > answers.jsonl
      softcosine search http://127.0.0.1:8080/faq "bicycle tire repair"

    Query syntax: documents must contain "some words" as a phrase, and must not contain -"some
    words"; all else is text. With --syntax, documents must also contain +word and must not contain
    -word, and word^2 doubles the weight of a word. Put the query in single quotes, so that the
    shell keeps the operators; with a minus at its start, write -- before it. Stop words such as
    'how' and 'the' do not count beside other words, unless they have an operator.

    The results show words of the query in bold and similar words underlined, and name the ranking.
    A soft BM25 score has no upper bound and compares documents of one query only; a soft cosine
    lies between 0 and 1. Both are 0 if no words are similar.

    For unknown words, the command suggests indexed words of similar spelling; --fuzzy searches for
    them. Words with an operator and in quotes must match exactly. --mmr 0.5 orders the best
    documents so that each one also differs from those before it.

    --plot draws the soft cosines between the documents found, with similar documents side by side.

    --sort and --facet cover all matching documents, not only the best: --facet lang counts the
    documents per language.

    If the documents are encoded ('index --encoder', or 'encode'), the score is that of words plus
    --meaning times the cosine of query and document in the space of the encoder, and documents
    without any word of the query are found too. --facet counts documents found by words alone.

    --first-stage 32 is faster on large indexes: the own words and the 32 heaviest terms beside them
    find 100 candidates, or 1,000 where meaning counts, whose scores are then exact. --plan says
    whether a better document can be missing.

    --server http://host:9200/articles --field body searches a text field that is there: the server
    gets the words of --first-stage [32] as boosted terms, and the
    index, such as one of 'learn-from', scores the 100 best documents exactly. Documents that it
    lacks are scored by their texts or term vectors on the server; --explain cannot explain them.

    INDEX can be a sharded index, as 'shards build' makes it, but for --server and --plot. --engine
    ray searches its shards in actors of Ray, and another of the --replicas answers for one that
    died.

    JSON: query, ranking, ask (words, static or encoder), meaning (weight; 0 for words alone),
    seconds, outside (words in no document), unknown and left_out (words not used), required and
    excluded (by operators), suggestions of word and candidates {word, distance, n_docs}, offset,
    with --plan also plan {method, reason, proven}, with --facet also facets (for each key a list of
    value and documents), and hits of rank, id, score, title (or null), text, metadata, snippet
    {text, marks}, with --explain also parts of query_word, document_word, similarity, contribution,
    exact, spelled and space (words or meaning), which sum to the score.
    """
    from softcosine.cli.conditions import read_where
    from softcosine.cli.meaning import MeaningOptions, one_index, open_searchable
    from softcosine.index.requests import FirstStage

    if plot is not None and words == ["-"]:
        raise InvalidInputError("--plot draws the answer to one query, not to a list of them.")
    check_plot(plot, overwrite=overwrite, rows=k)
    if offset is not None and page is not None:
        raise InvalidInputError("--offset and --page exclude each other; give one of them.")
    passed = (page - 1) * k if page is not None else offset or 0
    only, most = read_where(where), max_terms or None
    stage = None if first_stage is None else FirstStage.parse(first_stage)
    page_of: dict[str, Any] = {
        "k": k, "offset": passed, "min_score": min_score, "syntax": syntax, "max_terms": most
    }  # fmt: skip
    own_options: dict[str, Any] = {
        "where": only, "exact_first": exact_first, "ranking": ranking, "fuzzy": fuzzy, "fill": fill,
        "keep_stop_words": keep_stop_words, "mmr": mmr, "sort": sort, "facets": facets or (),
        "ask": ask, "meaning": meaning, "first_stage": stage,
    }  # fmt: skip
    why_options: dict[str, Any] = {
        "ranking": ranking, "syntax": syntax, "max_terms": most, "fuzzy": fuzzy,
        "keep_stop_words": keep_stop_words, "ask": ask, "meaning": meaning,
    }  # fmt: skip
    if is_served(index):
        with served_index(
            index, engine=engine, server=server, field=field,
            words=None if sent_words == "terms" else sent_words, encoder=encoder, plot=plot,
            replicas=replicas, shard_timeout=shard_timeout,
        ) as served:  # fmt: skip
            facts = served.info()
            notes = [] if as_json else _unknown_keys(served, sort, facets)
            for number, query in enumerate(_queries(words)):
                if words == ["-"] and not as_json:
                    _show_query(query, first=number == 0)
                show_served_hits(
                    facts, partial(served.search, query, **own_options, **page_of),
                    partial(served.explain, query, **why_options) if explain else None,
                    meaning=meaning, plan=plan, more=[*notes, *_signs(query, syntax)],
                    as_json=as_json,
                )  # fmt: skip
        return
    opened = open_searchable(
        index, encoder, engine=engine, replicas=replicas, shard_timeout=shard_timeout
    )
    asked = MeaningOptions.of(opened, ask, meaning, ranking, encoder)
    find: Callable[..., Hits] = partial(opened.search, **own_options)
    if (server is None) != (field is None):
        raise InvalidInputError(
            "--server and --field name a text field on a server; give both, or none of them."
        )
    if server is not None and field is not None:
        of_meaning = ask not in (None, "words") or bool(meaning) or encoder is not None
        if exact_first or fill or mmr is not None or sort or facets or fuzzy or of_meaning:
            raise InvalidInputError(
                "--exact-first, --fill, --mmr, --sort, --facet, --fuzzy, --ask, --meaning and "
                "--encoder are for the index's own search; leave --server and --field out."
            )
        limits = {} if stage is None else {"first_stage": stage}
        find, ranking = asking_field(
            one_index(opened), server, field, sent_words, ranking, where=only,
            keep_stop_words=keep_stop_words, **limits,
        )  # fmt: skip
        asked = MeaningOptions(opened, "words")
    elif sent_words != "terms":
        raise InvalidInputError("--words is for the text field of a server; name it by --field.")
    notes = _unknown_keys(opened, sort, facets) if not as_json else []
    for number, query in enumerate(_queries(words)):
        if words == ["-"] and not as_json:
            _show_query(query, first=number == 0)
        search_it = partial(find, query, **page_of)
        why = partial(
            opened.explain, query, **{**why_options, "ranking": ranking, "ask": asked.ask}
        )
        _answer(
            asked, search_it, why, explain=explain, plan=plan, as_json=as_json, where=only,
            syntax=syntax, plot=plot, notes=[*notes, *_signs(query, syntax)],
            countable=server is None,
        )  # fmt: skip


def similar(
    index: AnyIndex,
    id: Annotated[str, typer.Argument(metavar="ID", help="Id of a document.")],
    k: Limit = 10,
    min_score: MinScore = 0.0,
    where: Conditions = None,
    explain: Explained = False,
    ranking: Annotated[
        str,
        typer.Option(
            "--ranking",
            autocompletion=names_of("cli.output:RANKINGS"),
            help="As in 'search', without the default of the index.",
        ),
    ] = "soft_cosine",
    meaning: Meaning = None,
    engine: ShardEngine = None,
    replicas: Replicas = None,
    shard_timeout: ShardTimeout = None,
    plot: Plot = None,
    overwrite: Overwrite = False,
    as_json: Json = False,
) -> None:
    """Find the documents most similar to a document of the index.

      softcosine similar faq.index faq-17 --min 0.5 --explain
      softcosine similar faq.index faq-17 --where lang=en

    The score is the soft cosine, from 0 (no similar words) to 1 (equal texts); if the documents are
    encoded, plus --meaning times the cosine of their meanings. --plot draws the similarities
    between the documents found. JSON: as in 'search'.
    """
    from softcosine.cli.conditions import read_where
    from softcosine.cli.meaning import MeaningOptions, open_searchable

    check_plot(plot, overwrite=overwrite, rows=k + 1)
    only = read_where(where)
    if is_served(index):
        with served_index(
            index, plot=plot, engine=engine, replicas=replicas, shard_timeout=shard_timeout
        ) as served:
            options: dict[str, Any] = {"ranking": ranking, "meaning": meaning}
            show_served_hits(
                served.info(),
                partial(served.similar, id, k=k, min_score=min_score, where=only, **options),
                partial(served.explain_similar, id, **options) if explain else None,
                meaning=meaning, as_json=as_json,
            )  # fmt: skip
        return
    opened = open_searchable(index, engine=engine, replicas=replicas, shard_timeout=shard_timeout)
    find = partial(
        opened.similar, id, k=k, min_score=min_score, where=only, ranking=ranking, meaning=meaning
    )
    why = partial(opened.explain_similar, id, ranking=ranking, meaning=meaning)
    asked = MeaningOptions.of(opened, "encoder", meaning, ranking, None)
    _answer(
        asked, find, why, explain=explain, as_json=as_json, where=only, plot=plot, to=id,
        notes=asked.lacking(id, index),
    )  # fmt: skip


def explain(
    index: AnyIndex,
    query: Annotated[str, typer.Argument(metavar="QUERY", help="The query.")],
    id: Annotated[str, typer.Argument(metavar="ID", help="Id of a document.")],
    ranking: RankingName = None,
    syntax: Syntax = None,
    fuzzy: Fuzzy = False,
    keep_stop_words: KeepStopWords = False,
    ask: Ask = None,
    meaning: Meaning = None,
    encoder: KnownEncoder = None,
    engine: ShardEngine = None,
    replicas: Replicas = None,
    shard_timeout: ShardTimeout = None,
    plot: Plot = None,
    overwrite: Overwrite = False,
    as_json: Json = False,
) -> None:
    """Explain the score of a document by pairs of words that sum to it.

      softcosine explain faq.index "bicycle tire repair" faq-17
      softcosine explain faq.index "bicycle tire repair" faq-17 --plot why.png

    = joins equal words, ~ similar words. The contribution of a pair grows with its similarity (0 to
    1) and the weights of both words, and shrinks with the length of the text. ≈ is the share of two
    words in the cosine of meanings; the rest of the cosine is not due to single words.

    JSON: query, id, score, ranking, parts of query_word, document_word, similarity, contribution,
    exact, spelled (similar by spelling only), space (words or meaning).
    """
    from softcosine.cli.meaning import MeaningOptions, open_searchable

    check_plot(plot, overwrite=overwrite)
    options: dict[str, Any] = {
        "ranking": ranking, "syntax": syntax, "fuzzy": fuzzy, "keep_stop_words": keep_stop_words,
        "ask": ask, "meaning": meaning,
    }  # fmt: skip
    if is_served(index):
        with served_index(
            index, encoder=encoder, plot=plot, engine=engine, replicas=replicas,
            shard_timeout=shard_timeout,
        ) as served:  # fmt: skip
            found = served.explain(query, id, **options)
            (document,) = served.get([id])
            by_meaning = any(part.space == "meaning" for part in found.parts)
            weight = weight_of_meaning(served.info(), found.ranking, meaning) if by_meaning else 0.0
        _show_explanation(found, document.text, weight, "", as_json)
        return
    opened = open_searchable(
        index, encoder, engine=engine, replicas=replicas, shard_timeout=shard_timeout
    )
    asked = MeaningOptions.of(opened, ask, meaning, ranking, encoder)
    found = opened.explain(query, id, **options)
    if plot is not None:
        from softcosine.plots.explanation_bars import explanation_bars

        explanation_bars(found).save(plot)
    text = opened.documents.text(opened.documents.number(id))
    _show_explanation(found, text, asked.factor, asked.note, as_json)


def terms(
    index: AnyIndex,
    words: Annotated[list[str], typer.Argument(metavar="WORD", help="Single words.")],
    k: Limit = 10,
    origins: Annotated[
        bool, typer.Option("--origins", "-o", help="Show the source of each similarity.")
    ] = False,
    plot: Plot = None,
    overwrite: Overwrite = False,
    as_json: Json = False,
) -> None:
    """Show the indexed words similar to a word, which need not be indexed itself.

      softcosine terms faq.index tyre puncture --origins
      softcosine terms faq.index tyre puncture --plot words.png

    A similarity from 0 to 1 is the share of its weight with which the other word counts. --origins
    shows the sources of each similarity and their values: english (the bundled vectors), texts
    (learned from the indexed texts), pinned (your decision), and so on; sources in brackets do not
    count. It also lists the pairs that you forbid.

    JSON: word, indexed, and neighbors of word and similarity; with --origins also of origin, a
    tree of name, similarity, counts, note and parts; and forbidden, of word and origin.
    """
    from softcosine.cli.meaning import open_searchable

    check_plot(plot, overwrite=overwrite)
    if is_served(index):
        with served_index(index, plot=plot) as served:
            for word in words:
                _show_term(served.term(word, k=k), origins, as_json)
        return
    opened = open_searchable(index)
    if plot is not None:
        from softcosine.plots.heat_maps import word_heat_map

        word_heat_map(opened, words, k=k).save(plot)
    for word in words:
        _show_neighbors(opened, word, k, origins, as_json)


def _show_explanation(
    found: Explanation, text: str, meaning: float, way: str, as_json: bool
) -> None:
    from softcosine.cli.output import explanation_record, print_json, printable, show_explanation

    if as_json:
        print_json(explanation_record(found))
        return
    line = " ".join(text.split())
    passage = printable(line if len(line) <= 240 else f"{line[:239]}…")
    show_explanation(found, passage, meaning=meaning, way=way)


def _queries(words: list[str]) -> Iterator[str]:
    if words != ["-"]:
        yield " ".join(words)
        return
    from softcosine.files import STANDARD_INPUT, opened

    with opened(STANDARD_INPUT, "utf-8", advice="convert it: iconv -f latin-1 -t utf-8") as text:
        for _, line in text.lines():
            if line.strip():
                yield line.rstrip("\n")


def _answer(
    asked: MeaningOptions,
    find: Callable[..., Hits],
    why: Callable[[str], Explanation],
    *,
    explain: bool,
    as_json: bool,
    where: dict[str, Any] | None,
    plan: bool = False,
    syntax: bool | None = None,
    plot: Path | None = None,
    to: str | None = None,
    notes: Sequence[str] = (),
    countable: bool = True,
) -> None:
    from softcosine.cli.meaning import one_index
    from softcosine.cli.output import hits_record, print_json, show_hits

    started, opened = time.perf_counter(), asked.opened
    hits = find()
    seconds = time.perf_counter() - started
    explanations = [why(hit.id) for hit in hits] if explain else []
    if plot is not None:
        draw_hits(one_index(opened), hits, plot, to)
    if as_json:
        print_json(hits_record(hits, seconds, explanations, plan=plan, meaning=asked.factor))
        return
    note = _beyond(hits, find if countable else None) or _note(opened, hits, where, syntax=syntax)
    show_hits(
        hits, len(opened), seconds, explanations, note=note, plan=plan, more=notes,
        meaning=asked.factor, way=asked.note,
    )  # fmt: skip


def _beyond(hits: Hits, find: Callable[..., Hits] | None) -> str:
    """Return a note for a page after the last result, with the number of results if countable."""
    from softcosine.cli.output import counted

    if len(hits) or not hits.offset:
        return ""
    if find is None:
        return f"There are at most {counted(hits.offset, 'result')}."
    n_hits = len(find(k=hits.offset, offset=0))
    verb = "is" if n_hits == 1 else "are"
    there = f"There {verb} only {counted(n_hits, 'result')}, and {hits.offset:,} were skipped."
    return there if n_hits else ""


def _unknown_keys(
    index: Searchable | RemoteIndex, sort: list[str] | None, facets: list[str] | None
) -> list[str]:
    """Return a note for each key of ``--sort`` and ``--facet`` that no document has."""
    from softcosine.cli.output import printable
    from softcosine.index.query.filters import key_path, spelled_path
    from softcosine.index.search.sorting import parse_sort

    paths = [("--sort", key.path) for key in parse_sort(sort)]
    paths += [("--facet", key_path(key)) for key in facets or ()]
    return [
        f"No document has the key {printable('.'.join(path))}; {option} ignores it."
        for option, path in paths
        if not index.count({spelled_path(path): {"exists": True}})
    ]


def _show_query(query: str, *, first: bool) -> None:
    """Print one of several queries as a heading above its results."""
    from softcosine.cli.output import console, printable

    if not first:
        console().print()
    console().print(printable(query), style="bold")


def _signs(query: str, syntax: bool | None) -> list[str]:
    """Return a note on words with signs that are text unless ``--syntax`` is given."""
    from softcosine.cli.output import printable

    signs = re.findall(r"(?<!\S)[+-](?=[^\W_])\S+", query)
    if syntax is not None or not signs:
        return []
    return [f"Searched as text: {printable(', '.join(signs))}. --syntax takes signs as operators."]


def _note(
    opened: Searchable, hits: Hits, where: dict[str, Any] | None, *, syntax: bool | None
) -> str:
    """Return why nothing was found, if the filter or the query cannot match anything."""
    from softcosine.cli.conditions import why_none_passes
    from softcosine.index.query.parser import parse_syntax

    if len(hits):
        return ""
    if none_passes := why_none_passes(opened, where):
        return none_passes
    if hits.outside or hits.unknown or hits.query.startswith("like "):
        return ""
    if not opened.analyzer.words(hits.query):
        return "The query has no words."
    if not opened.analyzer.terms(hits.query):
        return "The query has only stop words."
    if all(one.kind == "must_not" for one in parse_syntax(hits.query, syntax).clauses):
        return "The query only excludes words; add words to search for."
    return ""


def _show_neighbors(opened: Searchable, word: str, k: int, origins: bool, as_json: bool) -> None:
    from softcosine.text.analyzer import shortened

    parsed = opened.parse_word(word)
    n_terms = len(parsed.terms) + len(parsed.outside) + len(parsed.unknown)
    if n_terms != 1:
        raise InvalidInputError(
            f"{shortened(word)} has {n_terms} terms; give each word as an argument of its own."
        )
    if parsed.unknown:
        raise UnknownTermError(
            f"{shortened(word)} is in no document, and no source has similar words for it."
        )
    neighbors = opened.neighbors(word, k=k)
    record: dict[str, Any] = {"word": word, "indexed": not parsed.outside}
    record["neighbors"] = [{"word": other, "similarity": s} for other, s in neighbors]
    if origins:
        # Sources know words, so the representative of the term is looked up.
        asked = opened.S.representatives[parsed.terms[0]] if not parsed.outside else None
        asked = parsed.outside[0].word if asked is None else asked
        found, kept_off = _origins(opened, asked, [other for other, _ in neighbors])
        for one, origin in zip(record["neighbors"], found, strict=True):
            one["origin"] = origin.to_dict()
        record["forbidden"] = [{"word": w, "origin": o.to_dict()} for w, o in kept_off.items()]
    _show_term(record, origins, as_json)


def _show_term(given: dict[str, Any], origins: bool, as_json: bool) -> None:
    """Print the neighbors of a word, with the origins of the record if they are asked for."""
    from softcosine.cli.output import print_json, show_neighbors
    from softcosine.similarity.provenance import Origin

    shown = ("word", "similarity", "origin") if origins else ("word", "similarity")
    record: dict[str, Any] = {"word": given["word"], "indexed": given["indexed"]}
    record["neighbors"] = [
        {key: one[key] for key in shown if key in one} for one in given["neighbors"]
    ]
    if origins:
        record["forbidden"] = given["forbidden"]
    if as_json:
        print_json(record)
        return

    def told(one: dict[str, Any]) -> str:
        return str(Origin.from_dict(one["origin"])) if "origin" in one else ""

    forbidden = [f"{one['word']}  {told(one)}" for one in record.get("forbidden", ())]
    show_neighbors(record, list(map(told, record["neighbors"])), forbidden)


def _origins(
    opened: Searchable, word: str, others: list[str]
) -> tuple[list[Origin], dict[str, Origin]]:
    """Return the origin of each similarity, and the words forbidden beside the word."""
    from softcosine.similarity.provenance import origins, overruled

    if opened.source is None:
        raise InvalidInputError(
            "the index has no source of term similarity, so the origins are unknown; build it with "
            "a source that can be saved."
        )
    kept_off = overruled(opened.source, word)
    found = origins(opened.source, [word] * len(others + kept_off), others + kept_off)
    return found[: len(others)], dict(zip(kept_off, found[len(others) :], strict=True))
