"""Commands of ``softcosine server``: expand, search, compare, learn."""

from __future__ import annotations

import sys
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from softcosine.cli.derived import FromRequest, argument, flag, option
from softcosine.cli.opening import any_index, one_index, open_searchable
from softcosine.cli.options import AnyIndex, Index, Json, Language, Overwrites, Summary
from softcosine.cli.output import console, counted, duration, print_json, printable
from softcosine.cli.progress import Reporter
from softcosine.cli.searching import Answers
from softcosine.index.requests import ExpandRequest, SearchOptions
from softcosine.index.wire import wire
from softcosine.servers import FIELD_OPTIONS

if TYPE_CHECKING:
    from softcosine.servers.field_comparison import FieldComparison


_SHOWN = 12  # words that differ
Url = Annotated[str, argument("URL", "An index of a server: http://host:9200/articles.")]
FieldName = Annotated[str, flag("--field FIELD", "A text field on the server.")]


def expand(
    index: AnyIndex,
    query: Annotated[list[str], argument("WORDS", "The query.")],
    options: Annotated[dict[str, Any], FromRequest(ExpandRequest, ("q",))],
    as_json: Json = False,
) -> None:
    """Print a query as boosted words, for a server that ranks by BM25.

      softcosine server expand faq.index "bicycle tire repair" --to elasticsearch --field body
      softcosine server expand faq.index 'tyre -"car"' --to solr --field body --max-terms 32

    The server needs nothing but the text field that it has. Elasticsearch and OpenSearch get JSON
    for _search, Solr and Lucene their query syntax. Scores are those of soft BM25 if the server
    analyzes words as the index does: check it with 'server compare'. JSON: the query as an object.
    """
    with any_index(index) as opened:
        made = opened.expand(" ".join(query), **options)
    if as_json:
        print_json(wire(made))
        return
    typer.echo(str(made))
    if made.n_negative:
        told = f"{made.n_negative} words of negative weight were left out: servers take none."
        typer.echo(told, file=sys.stderr)


def search(
    index: Index,
    url: Url,
    query: Annotated[list[str], argument("WORDS", "The query.")],
    field: FieldName,
    options: Annotated[dict[str, Any], FromRequest(SearchOptions, only=FIELD_OPTIONS)],
    sent: Annotated[dict[str, Any], FromRequest(ExpandRequest, only=("words",))],
    as_json: Json = False,
) -> None:
    """Search a text field of Elasticsearch or OpenSearch, and score the hits by an index.

      softcosine server search faq.index http://localhost:9200/faq "tire repair" --field body

    The server gets the words of --first-stage [32] as boosted terms, and the index, such as one of
    'server learn', scores the 100 best documents exactly. Documents that it lacks are scored by
    their texts on the server. JSON: as in 'search'.
    """
    from softcosine.servers.field_search import search_field
    from softcosine.servers.text_field import TextField

    opened = one_index(open_searchable(index))
    options |= sent
    found = TextField.open(url, field)
    Answers(opened, {**options, "ask": "words"}, plan=True, as_json=as_json).show(
        partial(search_field, opened, found, " ".join(query), **options),
        partial(opened.explain, " ".join(query)),
    )


def compare_server(
    index: Index,
    url: Url,
    field: FieldName,
    own: str | None = option("--own FIELD", "The field of the index [the first].", None),
    n_sampled: int = option("--sample N", "Compare the words of N documents.", 300, min=1),
    as_json: Summary = False,
) -> None:
    """Compare an index with a text field of Elasticsearch or OpenSearch.

      softcosine server compare faq.index http://localhost:9200/faq --field body

    The command compares how words are analyzed, k1 and b of BM25, the number and lengths of
    documents, and document frequencies, and says what differs and what to do. 'server expand' gives
    the scores of the index only where they agree. Passwords come from ELASTICSEARCH_USER and
    ELASTICSEARCH_PASSWORD, or ELASTICSEARCH_API_KEY (or OPENSEARCH_...).
    """
    from softcosine.index.soft_index import SoftIndex
    from softcosine.servers.field_comparison import compared
    from softcosine.servers.text_field import TextField

    opened = SoftIndex.open(index)
    found = compared(opened.snapshot, TextField.open(url, field), own=own, n_sampled=n_sampled)
    _tell(found, as_json)


def learn_from(
    url: Url,
    field: FieldName,
    output: Path = option("--output -o INDEX", "The folder to write.", ...),
    language: Language = None,
    texts: bool = option("--texts/--no-texts", "Store the texts.", True),
    overwrite: Overwrites = False,
    as_json: Summary = False,
) -> None:
    """Make an index of the texts of a field of a server, for soft search of it.

      softcosine server learn http://localhost:9200/faq --field body -o faq.index
      softcosine server search faq.index http://localhost:9200/faq "tire repair" --field body
      softcosine server expand faq.index "bicycle tire repair" --to elasticsearch --field body

    The index gets the analyzer that is nearest to that of the field, k1 and b of the server, and
    similarities, vocabulary and document frequencies of its texts. Then both are compared.
    """
    from softcosine.servers.field_comparison import compared
    from softcosine.servers.learning import learn_from as learn
    from softcosine.servers.text_field import TextField

    opened = TextField.open(url, field)
    with Reporter() as report:
        how: dict[str, Any] = {"keep_texts": texts, "overwrite": overwrite, "progress": report}
        made = learn(opened, output, language=language or "auto", **how)
    found = compared(made.snapshot, opened, learned=True)
    if not as_json:
        line = f"{counted(len(made), 'document')}, {counted(len(made.vocabulary), 'term')}"
        console().print(printable(f"Wrote {output}: {line}, in {duration(report.seconds)}."))
    _tell(found, as_json)


def _tell(found: FieldComparison, as_json: bool) -> None:
    from dataclasses import asdict

    if as_json:
        print_json(asdict(found))
        return
    out = console()

    def line(text: str, **style: Any) -> None:
        out.print(printable(text), **style)

    line(
        f"Analysis: {found.equal:.1%} of the words have the same tokens on both sides "
        f"({found.n_words:,} words compared; analyzer {found.analyzer})."
    )
    for one in found.differences[:_SHOWN]:
        line(f"  {one.word}: {_shown(one.index)} in the index, {_shown(one.server)} on the server")
    if len(found.differences) > _SHOWN:
        line(f"  and {len(found.differences) - _SHOWN:,} more; --json shows all", style="dim")
    if (facts := found.facts) is not None:
        factor = "with" if facts.k1_factor else "without"
        line(
            f"BM25: k1 {facts.k1:g}, b {facts.b:g} on the server, {factor} the factor k1 + 1; "
            f"k1 {found.k1:g}, b {found.b:g} in the index."
        )
        line(
            f"Documents: {facts.n_docs:,} of {facts.average_length:.4g} words on the server; "
            f"{found.n_docs:,} of {found.average_length:.4g} in the index."
        )
    for term in found.terms:
        line(f"  {term.term}: in {term.server:,} documents on the server, {term.index:,} here")
    for advice in found.advice:
        line(f"! {advice[0].upper()}{advice[1:]}")
    if not found.advice:
        line("Nothing differs: 'server expand' gives the scores of the index.")


def _shown(tokens: tuple[str, ...]) -> str:
    return " ".join(tokens) or "nothing"
