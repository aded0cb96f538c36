"""Command ``softcosine export``, and the option ``--engine`` of ``search``."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import TYPE_CHECKING, Annotated, Any

import typer

from softcosine.cli.completing import names_of
from softcosine.cli.options import Index, Summary, Threads, bytes_in
from softcosine.cli.serving import COLLECTION, Collection, export_to_server
from softcosine.errors import InvalidInputError

if TYPE_CHECKING:
    from softcosine.cli.meaning import MeaningOptions
    from softcosine.engines.engine_index import EngineIndex
    from softcosine.index.search.results import Hits
    from softcosine.index.soft_index import SoftIndex

__all__ = ["asking_engine", "export"]

_K = 10
_RERANK = 100
_SAMPLED = 100


def export(
    index: Index,
    engine: Annotated[
        str,
        typer.Argument(
            metavar="ENGINE|URL",
            autocompletion=names_of("annoy", "faiss", "hnswlib", "usearch"),
            help="faiss, annoy, hnswlib or usearch, or the address of a server: "
            "postgresql://host/database, qdrant://host.",
        ),
    ],
    factory: Annotated[
        str | None,
        typer.Option(
            metavar="STRING", help="Index type of Faiss: Flat, HNSW32, IVF256,Flat, PQ32."
        ),
    ] = None,
    route: Annotated[
        str,
        typer.Option(
            autocompletion=names_of("basis", "lsa", "auto"),
            help="Kind of vectors: basis (lossless), lsa (few dimensions), or auto (basis if it "
            "fits into --memory).",
        ),
    ] = "auto",
    dimensions: Annotated[
        int | None,
        typer.Option(min=1, metavar="N", help="Number of dimensions of the route lsa [256]."),
    ] = None,
    width: Annotated[
        int | None,
        typer.Option(min=1, metavar="N", help="Search width: larger is slower and more exact."),
    ] = None,
    given: Annotated[
        list[str] | None,
        typer.Option(
            "--set", metavar="NAME=VALUE", help="Another setting of the engine; repeatable."
        ),
    ] = None,
    ranking: Annotated[
        str | None,
        typer.Option(
            "--ranking",
            autocompletion=names_of("cli.output:RANKINGS"),
            help="A ranking by words alone, as in 'search' [that of the index, with meaning].",
        ),
    ] = None,
    memory: Annotated[
        str | None,
        typer.Option(metavar="SIZE", help="Maximum size of the vectors of the route basis [1G]."),
    ] = None,
    update: Annotated[
        bool,
        typer.Option("--update", help="Apply the changes of the index to the engine."),
    ] = False,
    collection: Collection = COLLECTION,
    overwrite: Annotated[
        bool, typer.Option("--overwrite", help="Replace the collection on the server.")
    ] = False,
    threads: Threads = None,
    as_json: Summary = False,
) -> None:
    """Export an index to a vector engine for 'search --engine', or a server for 'search --server'.

      softcosine export faq.index faiss --factory HNSW32
      softcosine export faq.index usearch --route lsa --dimensions 512 --set dtype=f16
      softcosine search faq.index "bicycle tire repair" --engine faiss --rerank 100
      softcosine export faq.index faiss --update
      softcosine export faq.index postgresql://user@host/database

    The files of the engine are stored inside the index and replace earlier files of the same
    engine. They hold the documents of the current commit: after a change, export again or use
    --update. Vectors cannot express meaning, nor BM25 of soft frequencies: the engine then finds
    candidates by soft BM25, and the index ranks them by its own ranking. The command measures the
    recall of the engine against the index on words of the documents, with the engine's own scores
    and with 100 candidates that the index ranks (--rerank 100).

    A server takes --collection, --ranking and --overwrite, and no other setting; 'sync' sends it
    later changes. Keep its password in the environment (PGPASSWORD, QDRANT_API_KEY), or in the
    file ~/.pgpass.

    JSON: index, engine, package, settings, route, note, dimensions, documents, ranking, meaning
    (weight; 0 for words alone), vector_ranking (of the engine's own scores), exact, bytes, seconds,
    recall, recall_reranked, path; with --update also added, deleted, rebuilt; of a server, as in
    'sync'.
    """
    if "://" in engine:
        of_engines = (factory, dimensions, width, given, memory, threads)
        if any(one is not None for one in of_engines) or route != "auto" or update:
            raise InvalidInputError(
                "a server takes --collection, --ranking and --overwrite; the other options are "
                "for engines. To send changes: softcosine sync INDEX URL."
            )
        export_to_server(index, engine, collection, ranking, overwrite, as_json)
        return
    if overwrite or collection != COLLECTION:
        raise InvalidInputError(
            f"{engine} is an engine in the folder of the index; --collection and --overwrite are "
            "for servers, whose address is a URL such as postgresql://host/database."
        )
    from softcosine.cli.maintenance import bytes_of
    from softcosine.cli.progress import Reporter
    from softcosine.engines.engine_index import EngineIndex
    from softcosine.engines.route_choice import N_DIMENSIONS
    from softcosine.index.soft_index import SoftIndex

    started = time.perf_counter()
    settings = _settings(engine, given, factory=factory, width=width)
    limit = None if memory is None else bytes_in(memory)
    opened = SoftIndex.open(index)
    with Reporter() as report:
        if update:
            _check_update(settings, route, dimensions, ranking, memory)
            made = EngineIndex.open_in(
                opened, engine, update=True, threads=threads, progress=report
            )
        else:
            made = EngineIndex.build(
                opened, engine, route=route, n_dimensions=dimensions or N_DIMENSIONS,
                max_memory=limit, ranking=ranking, threads=threads, progress=report, **settings,
            )  # fmt: skip
        report("writing", 0, None)
        path = made.save(overwrite=True)
        seconds = time.perf_counter() - started
        report("measuring recall", 0, None)
        recall = made.recall(n_sampled=_SAMPLED, rerank=0, threads=threads)
        reranked = made.recall(n_sampled=_SAMPLED, rerank=_RERANK, threads=threads)
    facts: dict[str, Any] = {
        "index": str(index),
        "engine": made.engine,
        "package": made.package,
        "settings": made.settings,
        "route": made.route,
        "note": made.note,
        "dimensions": made.n_dimensions,
        "documents": len(made),
        "ranking": made.ranking,
        "meaning": _ranked_by(made, opened, _RERANK).factor,
        "vector_ranking": made.vector_ranking,
        "exact": made.capabilities.exact,
        "bytes": bytes_of(path),
        "seconds": seconds,
        "recall": recall,
        "recall_reranked": reranked,
        "path": str(path),
    }
    if update:
        done = made.updated
        facts |= {"added": done.n_added, "deleted": done.n_deleted, "rebuilt": done.rebuilt}
    _tell(facts, as_json)


def asking_engine(
    opened: SoftIndex, engine: str, ranking: str | None, *, rerank: int | None, width: int | None
) -> tuple[Callable[..., Hits], MeaningOptions]:
    """Return the search function of an exported engine, and what ranks its hits."""
    from softcosine.engines.engine_index import EngineIndex

    served = EngineIndex.open_in(opened, engine)
    if ranking not in (None, served.ranking):
        raise InvalidInputError(
            f"the engine {engine} was exported for {served.ranking}; leave --ranking out, or "
            f"export again with --ranking {ranking}."
        )

    def find(query: str, **asked: Any) -> Hits:
        (hits,) = served.hits([query], rerank=rerank, width=width, threads=1, **asked)
        return hits

    return find, _ranked_by(served, opened, rerank)


def _ranked_by(served: EngineIndex, opened: SoftIndex, rerank: int | None) -> MeaningOptions:
    from softcosine.cli.meaning import MeaningOptions

    exactly = not served.linear if rerank is None else rerank > 0
    ranking, ask = served.state.subject.ranked_by(exactly=exactly)
    return MeaningOptions(opened, ask, None, ranking)


def _settings(engine: str, given: list[str] | None, **named: object) -> dict[str, Any]:
    """Return the settings of the engine: those of named options and of ``--set NAME=VALUE``."""
    settings = {name: value for name, value in named.items() if value is not None}
    for one in given or ():
        name, sign, value = one.partition("=")
        name = name.strip()
        if not sign or not name:
            raise InvalidInputError(
                f"--set is {one!r}; write NAME=VALUE, such as --set construction=400."
            )
        if name in settings:
            raise InvalidInputError(f"{engine}: {name} is set twice; set it once.")
        settings[name] = _value(value.strip())
    return settings


def _value(written: str) -> Any:
    """Parse a value: a number, true or false, else text."""
    for read in (int, float):
        try:
            return read(written)
        except ValueError:
            continue
    return {"true": True, "false": False}.get(written.lower(), written)


def _check_update(
    settings: dict[str, Any],
    route: str,
    dimensions: int | None,
    ranking: str | None,
    memory: str | None,
) -> None:
    given = (dimensions, ranking, memory)
    if settings or route != "auto" or any(one is not None for one in given):
        raise InvalidInputError(
            "--update keeps the settings of the engine; leave the settings out, or export again "
            "without --update."
        )


def _tell(facts: dict[str, Any], as_json: bool) -> None:
    from softcosine.cli.calling import program
    from softcosine.cli.output import console, counted, duration, print_json, printable, size
    from softcosine.index.search.rankings import TITLES

    if as_json:
        print_json(facts)
        return
    out = console()
    done = "Exported to"
    if "rebuilt" in facts:
        done = (
            f"Updated ({facts['added']:,} added, {facts['deleted']:,} deleted"
            f"{', rebuilt' if facts['rebuilt'] else ''}):"
        )
    out.print(
        f"{done} {facts['package']}: {counted(facts['documents'], 'document')} of "
        f"{facts['dimensions']:,} dimensions by the route {facts['route']}, "
        f"{size(facts['bytes'])}, in {duration(facts['seconds'])}."
    )
    if facts["note"]:
        out.print(f"Without the route basis: {facts['note']}.", style="dim")
    own, exact = f"{facts['recall']:.1%}", f"{facts['recall_reranked']:.1%}"
    if facts["ranking"] == facts["vector_ranking"] and not facts["meaning"]:
        out.print(
            f"Recall of the {_K} best: {own}; with --rerank {_RERANK} {exact}, with the scores of "
            "the index."
        )
    else:
        meaning = " and meaning" if facts["meaning"] else ""
        out.print(
            f"The engine finds {_RERANK} candidates by {TITLES[facts['vector_ranking']]}, which "
            f"the index ranks by {TITLES[facts['ranking']]}{meaning}. Recall of the {_K} best: "
            f"{exact}; by the engine's own scores (--rerank 0) {own}."
        )
    call = f'{program()} search {facts["index"]} "..." --engine {facts["engine"]}'
    out.print(printable(f"Search it: {call}"), style="dim")
