"""Commands ``softcosine search``, ``similar``, ``explain``, ``terms`` and ``batch``."""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from softcosine.cli.derived import FromRequest, argument, flag, option
from softcosine.cli.failures import in_options
from softcosine.cli.opening import (
    any_index,
    facts_of,
    missing_encoder,
    one_index,
    open_searchable,
    weight_of_meaning,
)
from softcosine.cli.options import (
    AnyIndex,
    Identified,
    Index,
    Json,
    KnownEncoder,
    Limit,
    Overwrites,
    Summary,
    Threads,
)
from softcosine.cli.output import (
    console,
    counted,
    duration,
    hits_record,
    print_json,
    print_result,
    printable,
    show_explanation,
    show_hits,
    show_neighbors,
)
from softcosine.cli.pictures import Picture
from softcosine.cli.progress import Reporter
from softcosine.cli.reading import ADVICE, fields_named, lines_in
from softcosine.errors import InvalidInputError
from softcosine.index.requests import TITLES, ExplainRequest, SearchOptions, SimilarRequest
from softcosine.index.wire import wire

if TYPE_CHECKING:
    from softcosine.client import RemoteIndex
    from softcosine.encoders.encoder import GivenEncoder
    from softcosine.index.search.explanation import Explanation
    from softcosine.index.search.results import Hits
    from softcosine.index.search.searchable import Searchable


_UTF8 = "convert it: iconv -f latin-1 -t utf-8"
_Search = Annotated[dict[str, Any], FromRequest(SearchOptions)]
Explained = Annotated[bool, flag("--explain -e", "Show the pairs of words behind each score.")]


@dataclass(frozen=True)
class Encoders:
    """The encoder of an index, and that of queries, if they are not the usual ones."""

    encoder: KnownEncoder = None
    query_encoder: str | None = option(
        "--query-encoder NAME",
        "Encoder of queries, trained for the space of the index's.",
        None,
        more=True,
    )

    @property
    def pair(self) -> GivenEncoder | None:
        """The encoder, with that of queries if one is given."""
        return self.encoder if self.query_encoder is None else (self.encoder, self.query_encoder)


def search(
    index: AnyIndex,
    words: Annotated[list[str], argument("WORDS", "The query; - reads queries from stdin.")],
    options: _Search,
    picture: Picture,
    encoders: Encoders,
    explain: Explained = False,
    plan: bool = option("--plan", "Show how the search was executed.", False, more=True),
    as_json: Json = False,
) -> None:
    """Find the documents most similar to a query.

      softcosine search faq.index "bicycle tire repair" -k 5 --explain
      softcosine search faq.index '+tyre -car repair^2' --syntax --where lang=en
      softcosine search http://127.0.0.1:8080/faq "bicycle" --json

    Documents must contain "some words" as a phrase, and must not contain -"some words"; --syntax
    adds +word, -word and word^2. JSON: what SoftIndex.search returns, with ranks and seconds; see
    docs/command-line.md.
    """
    if picture.plot is not None and words == ["-"]:
        raise InvalidInputError("--plot draws the answer to one query, not to a list of them.")
    picture.check(rows=options["k"])
    with any_index(index, encoders.pair, plot=picture.plot) as opened:
        answers = Answers(opened, options, explain, plan, encoders.pair, picture, as_json)
        names = set(ExplainRequest.__struct_fields__) & set(options)
        why = {name: options[name] for name in names}
        many = words == ["-"]
        queries = lines_in("-", advice=_UTF8) if many else [" ".join(words)]
        for number, query in enumerate(queries):
            if many and not as_json:
                blank = "\n" if number else ""
                console().print(f"{blank}{printable(query)}", style="bold")
            find, explained = (
                partial(opened.search, query, **options),
                partial(opened.explain, query),
            )
            notes = _signs(query, options.get("syntax"))
            answers.show(find, partial(explained, **why), notes=notes)


def similar(
    index: AnyIndex,
    id: Annotated[str, argument("ID", "Id of a document.")],
    options: Annotated[dict[str, Any], FromRequest(SimilarRequest, ("id",))],
    picture: Picture,
    explain: Explained = False,
    as_json: Json = False,
) -> None:
    """Find the documents most similar to a document of the index.

      softcosine similar faq.index faq-17 --min 0.5 --explain
      softcosine similar faq.index faq-17 --where lang=en

    The score is the soft cosine, from 0 (no similar words) to 1 (equal texts); if the documents are
    encoded, plus --meaning times the cosine of their meanings. --plot draws the similarities
    between the documents found. JSON: as in 'search'.
    """
    picture.check(rows=options["k"] + 1)
    with any_index(index, plot=picture.plot) as opened:
        answers = Answers(opened, options, explain, False, None, picture, as_json)
        why = {name: options[name] for name in ("ranking", "meaning") if name in options}
        find, explained = (
            partial(opened.similar, id, **options),
            partial(opened.explain_similar, id),
        )
        answers.show(find, partial(explained, **why), to=id)


def explain(
    index: AnyIndex,
    query: Annotated[str, argument("QUERY", "The query.")],
    id: Annotated[str, argument("ID", "Id of a document.")],
    options: Annotated[dict[str, Any], FromRequest(ExplainRequest, ("q", "id"))],
    picture: Picture,
    encoders: Encoders,
    pairs: bool = option("--pairs", "Show all pairs of words, not a row for each word.", False),
    as_json: Json = False,
) -> None:
    """Explain the score of a document: what each word of the query adds, and by what.

      softcosine explain faq.index "bicycle tire repair" faq-17
      softcosine explain faq.index "bicycle tire repair" faq-17 --plot why.png

    With --pairs, = joins equal words, ~ similar words, and ≈ what two words share in meaning. The
    contribution of a pair grows with its similarity (0 to 1) and the weights of both words, and
    shrinks with the length of the text.

    JSON: query, id, score, ranking, passage (nearest in meaning), sums, words (a row for each word
    of the query) and parts of query_word, document_word, similarity, contribution, exact, field,
    space (words or meaning).
    """
    picture.check()
    with any_index(index, encoders.pair, plot=picture.plot) as opened:
        found = opened.explain(query, id, **options)
        if as_json:
            print_json(wire(found))
        else:
            (document,) = opened.get([id])
            line = " ".join(document.text.split())
            text = printable(line if len(line) <= 240 else f"{line[:239]}…")
            show_explanation(found, text, pairs=pairs)
            if note := missing_encoder(opened, encoders.pair, found.ranking, options):
                console().print(printable(note), style="dim")
    if picture.plot is not None:
        picture.draw("explanation", found)


def terms(
    index: AnyIndex,
    words: Annotated[list[str], argument("WORD", "Single words.")],
    picture: Picture,
    k: Limit = 10,
    origins: bool = option("--origins -o", "Show the source of each similarity.", False),
    as_json: Json = False,
) -> None:
    """Show the indexed words similar to a word, which need not be indexed itself.

      softcosine terms faq.index tyre puncture --origins
      softcosine terms faq.index tyre puncture --plot words.png

    A similarity from 0 to 1 is the share of its weight with which the other word counts. --origins
    shows the sources of each similarity and their values: english (the bundled vectors), texts
    (learned from the indexed texts), pinned (your decision), and so on; sources in brackets do not
    count. It also lists the pairs that you forbid.

    JSON: word, indexed, neighbors of word, similarity and origin, a tree of name, similarity,
    counts, note and parts, and forbidden, of word and origin.
    """
    picture.check()
    with any_index(index, plot=picture.plot) as opened:
        if picture.plot is not None:
            picture.draw("words", one_index(opened), words, k=k)
        for word in words:
            show_neighbors(opened.term(word, k=k), origins, as_json)


def batch(
    index: Index,
    queries: Annotated[
        str, argument("QUERIES", "File of queries, or - for stdin (JSON lines, or lines of text).")
    ],
    options: Annotated[dict[str, Any], FromRequest(SearchOptions, ("facets", "offset"))],
    reading: Identified,
    encoders: Encoders,
    output: Path = option("--output -o FILE", "The file: .jsonl, .parquet or .run (TREC).", ...),
    threads: Threads = None,
    overwrite: Overwrites = False,
    as_json: Summary = False,
) -> None:
    """Search many queries and write their hits to a file.

      softcosine collection batch faq.index queries.jsonl -o hits.jsonl -k 100
      softcosine collection batch big.shards queries.parquet -o hits.parquet
      softcosine collection batch faq.index topics.tsv --no-syntax -o faq.run -k 1000

    A row has the id of the query, rank, id of the document and score, as 'search' ranks with these
    options. A TREC run has scores that descend to 1. Formats of queries are those of documents in
    'index'.

    JSON: queries, seconds, file.
    """
    from softcosine.index.search.offline import read_queries, write_hits

    fields, encoding = fields_named(reading.id_field, reading.text_fields), reading.encoding
    how: dict[str, Any] = {"format": reading.format, "encoding": encoding, "advice": ADVICE}
    given = read_queries(queries, fields=fields, **how)
    with Reporter() as report:
        opened = open_searchable(index, encoders.pair)
        search, done = opened._search(SearchOptions.of(**options)), partial(report, "searching")
        n_queries = write_hits(
            search, given, output, threads=threads, overwrite=overwrite, progress=done
        )
    seconds = report.seconds
    ranking = options.get("ranking") or opened.ranking
    if note := missing_encoder(opened, encoders.pair, ranking, options):
        console(stderr=True).print(printable(note), style="dim")
    facts = {"queries": n_queries, "seconds": seconds, "file": str(output)}
    print_result(facts, as_json, f"Queries: {n_queries:,}, searched in {duration(seconds)}.")


@dataclass(frozen=True)
class Answers:
    """How the answers of one command are printed; see `search` for the parameters."""

    opened: Searchable | RemoteIndex
    options: dict[str, Any]
    explain: bool = False
    plan: bool = False
    encoder: GivenEncoder | None = None
    picture: Picture = Picture()  # noqa: RUF009  # immutable
    as_json: bool = False

    @cached_property
    def _facts(self) -> dict[str, Any] | None:
        return facts_of(self.opened)

    @cached_property
    def _keys(self) -> tuple[tuple[str, ...], ...]:
        """The keys of ``--sort``, ``--facet`` and ``--where``, which are shown below hits."""
        from softcosine.index.query.filters import Where
        from softcosine.index.requests import key_path
        from softcosine.index.search.sorting import parse_sort

        keys = [key.path for key in parse_sort(self.options.get("sort"))]
        keys += map(key_path, self.options.get("facets", ()))
        where = Where.parse(self.options.get("where") or {})
        keys += [path for _, path, _ in where.required()]
        return tuple(dict.fromkeys(path for path in keys if path != ("title",)))

    def show(
        self,
        find: Callable[[], Hits],
        why: Callable[[str], Explanation],
        *,
        to: str | None = None,
        notes: Sequence[str] = (),
    ) -> None:
        """Search, and print the hits."""
        started = time.perf_counter()
        hits = find()
        seconds = time.perf_counter() - started
        explanations = [why(hit.id) for hit in hits] if self.explain else []
        weight = weight_of_meaning(self._facts, hits.ranking, self.options)
        used = 0.0 if hits.plan.ask == "words" else weight
        if self.picture.plot is not None:
            self.picture.draw("hits", one_index(self.opened), hits, to)
        if self.as_json:
            print_json(hits_record(hits, seconds, explanations, used))
            return
        reason = f"There are at most {counted(hits.offset, 'result')}." if hits.offset else ""
        # Facets count documents where k is 0.
        if not len(hits) and (reason or hits.note or not any(hits.facets.values())):
            console().print(f"Nothing found. {reason}".rstrip())
        show_hits(hits, explanations, self._keys)
        for note in (*map(in_options, hits.notes), *notes):
            console().print(printable(note), style="yellow")
        scale = "" if "bm25" in hits.ranking else f", {TITLES[hits.ranking]}"
        for line in (
            f"{len(hits)} of {len(self.opened):,} documents in {duration(seconds)}, loading "
            f"included; ranked by {hits.plan.ranks}{scale}.",
            ""
            if hits.plan.ask == "encoder"
            else missing_encoder(self.opened, self.encoder, hits.ranking, self.options),
            f"Plan: {hits.plan.method} ({hits.plan.reason})." if self.plan else "",
        ):
            if line:
                console().print(printable(line), style="dim")


def _signs(query: str, syntax: bool | None) -> list[str]:
    """Return a note on words with signs that are text unless ``--syntax`` is given."""
    signs = re.findall(r"(?<!\S)[+-](?=[^\W_])\S+", query)
    if syntax is not None or not signs:
        return []
    return [f"Searched as text: {printable(', '.join(signs))}. --syntax takes signs as operators."]
