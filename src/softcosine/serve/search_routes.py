"""Routes of searches and of comparisons; those of an index alone are made from `OPERATIONS`."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from itertools import islice
from typing import Any

import msgspec
from starlette.responses import Response

from softcosine._deadline import check_deadline
from softcosine._progress import Progress, Report
from softcosine.cluster.opening import EitherIndex
from softcosine.errors import DeadlineExceededError
from softcosine.index.requests import (
    NeighborsRequest,
    Request,
    ScoringOptions,
    SimilarKeywords,
)
from softcosine.index.search.explanation import Explanation, Part
from softcosine.index.search.results import Hit, Hits
from softcosine.index.search.server_query import ServerQuery
from softcosine.index.wire import form, wire
from softcosine.operations import OPERATIONS
from softcosine.serve.json_text import json_bytes, json_response
from softcosine.serve.models import (
    BODIES,
    MultiSearchAnswer,
    MultiSearchBody,
    NamedSearch,
    SearchAnswer,
    SearchBody,
    SimilarBody,
    SuggestAnswer,
    SuggestBody,
    TaskAnswer,
    TermAnswer,
    TermQuery,
)
from softcosine.serve.problems import Problem, problem_of
from softcosine.serve.routing import Call, route
from softcosine.serve.served_index import ServedIndex, View
from softcosine.serve.server import Server
from softcosine.serve.task_routes import started

_INDEX = "/v1/indexes/{i}"
_ADVICE = (
    "raise min_similarity or lower k, or compare where the index is: softcosine collection pairs "
    "FOLDER."
)


async def answered(call: Call[Any], made: Callable[[], Any]) -> Response:
    """Return the result of a function as JSON, all of it made in a thread."""
    timeout_ms = getattr(call.body, "timeout_ms", None)
    content = await call.server.gate.run(lambda: json_bytes(made()), timeout_ms)
    return Response(content, media_type="application/json")


async def _search(server: Server, served: ServedIndex, body: SearchBody) -> bytes:
    """Return the answer of a search as JSON, all of it made in a thread."""
    served.check(body)
    view = served.view
    return await server.gate.run(lambda: json_bytes(_search_answer(view, body)), body.timeout_ms)


@route("POST", _INDEX + "/search", body=SearchBody, answers={200: SearchAnswer})
async def search(call: Call[SearchBody]) -> Response:
    """Search an index."""
    call.request.state.query = call.body.q
    content = await _search(call.server, call.served, call.body)
    return Response(content, media_type="application/json")


@route("POST", "/v1/search", body=MultiSearchBody, answers={200: MultiSearchAnswer})
async def multi_search(call: Call[MultiSearchBody]) -> Response:
    """Execute several searches; each gets its answer or its problem."""
    started, server, searches = time.perf_counter(), call.server, call.body.searches
    if len(searches) > server.limits.searches:
        raise Problem(
            "over-limit",
            f"these are {len(searches)} searches, and this server allows "
            f"{server.limits.searches} in one request.",
        )

    async def one(search: NamedSearch) -> bytes:
        try:
            return await _search(server, await server.index(search.index), search)
        except Exception as error:
            return json_bytes(problem_of(error).to_dict())

    found = await asyncio.gather(*map(one, searches))
    took = json_bytes(_took(started))
    content = b'{"results":[' + b",".join(found) + b'],"took_ms":' + took + b"}"
    return Response(content, media_type="application/json")


@route("POST", _INDEX + "/similar", body=SimilarBody, answers={200: SearchAnswer})
async def similar(call: Call[SimilarBody]) -> Response:
    """Find the documents most similar to a document of the index, or to a text."""
    body, served = call.body, call.served
    if (body.id is None) == (body.text is None):
        raise Problem("invalid-input", "give the id of a document or a text, one of the two.")
    served.check(body)
    index = served.view.index
    return await answered(call, lambda: _similar_answer(index, body))


async def executed(call: Call[Any], name: str, request: Request) -> Response:
    """Return the answer of an operation, all of it made in a thread."""
    call.served.check(request)
    operation, index = OPERATIONS[name], call.served.view.index

    def made() -> dict[str, Any]:
        result = operation.execute(index, request)
        record = {**operation.record(result), "commit": index.commit}
        if isinstance(result, ServerQuery):
            record |= {"query": str(result), "body": result.body if result.json else None}
        return record

    return await answered(call, made)


def _declare(name: str, **more: Any) -> None:
    """Declare the route of an operation; `more` are fields of its answer."""
    operation = OPERATIONS[name]

    async def ask(call: Call[Any]) -> Response:
        return await executed(call, name, call.body)

    ask.__name__, ask.__doc__ = name, operation.request.__doc__
    answer = operation.answer(f"{name.title().replace('_', '')}Answer", commit=str, **more)
    route("POST", f"{_INDEX}/{operation.path}", body=BODIES[name], answers={200: answer})(ask)


for _name in ("explain", "explain_similar", "scores", "filter"):
    _declare(_name)
_declare("expand", query=str, body=dict[str, Any] | None)


@route("POST", _INDEX + "/suggest", body=SuggestBody, answers={200: SuggestAnswer})
async def suggest(call: Call[SuggestBody]) -> Response:
    """Return the indexed words that begin with a prefix, the most frequent first."""
    call.served.check(call.body)
    view, prefix, k = call.served.view, call.body.prefix.lower(), call.body.k
    words = await call.server.gate.run(lambda: view.completions.of_prefix(prefix, k), None)
    return json_response({"words": wire(words), "commit": view.commit})


@route("GET", _INDEX + "/terms/{t:any_text}", query=TermQuery, answers={200: TermAnswer})
async def term(call: Call[TermQuery]) -> Response:
    """Return the words similar to a word, and where the similarities come from."""
    word, k = call.path["t"], call.body.k
    call.served.check(NeighborsRequest(word=word, k=k))
    index = call.served.view.index
    return await answered(
        call, lambda: {"commit": index.commit, "forbidden": [], **index.term(word, k=k)}
    )


def _declare_comparison(name: str) -> None:
    """Declare the route of an operation that compares all documents, in a task."""
    operation = OPERATIONS[name]

    async def compare(call: Call[Any]) -> Response:
        body, index, most = call.body, call.served.view.index, call.server.limits.pairs
        if getattr(body, "k", None) and body.k * len(index) > most:  # all are kept until the end
            raise _too_many(most)

        def found(progress: Progress) -> dict[str, Any]:
            rows = list(islice(operation.execute(index, body, progress=progress), most + 1))
            if sum(len(getattr(row, "others", " ")) for row in rows) > most:  # pairs have one
                raise _too_many(most)
            return {**operation.record(rows), "commit": index.commit}

        return await _compared(call, name, found)

    compare.__name__, compare.__doc__ = name, operation.request.__doc__
    declared = route(
        "POST", f"{_INDEX}/{operation.path}", body=BODIES[name], answers={202: TaskAnswer},
        headers=("Idempotency-Key",),
    )  # fmt: skip
    declared(compare)


_declare_comparison("pairs")
_declare_comparison("dedupe")


async def _compared(
    call: Call[Any], kind: str, found: Callable[[Progress], dict[str, Any]]
) -> Response:
    """Start a task that compares documents; its result is what `found` returns."""
    comparisons, timeout_ms = call.server.comparisons, call.body.timeout_ms

    async def work(report: Report) -> dict[str, Any]:
        def progress(done: int, total: int | None) -> None:
            check_deadline()
            report("comparing", done, total)

        def compared() -> dict[str, Any]:
            progress(0, None)
            return found(progress)

        try:
            return await comparisons.run(compared, timeout_ms)
        except DeadlineExceededError as error:
            seconds = comparisons.seconds(timeout_ms)
            raise DeadlineExceededError(
                f"the comparison was ended after its deadline of {seconds:g} seconds; {_ADVICE}"
            ) from error

    return await started(call, kind, work, comparisons.check)


def _too_many(most: int) -> Problem:
    return Problem(
        "over-limit",
        f"there are more than {most:,} pairs, and this server allows no more in one result; "
        f"{_ADVICE}",
    )


def _search_answer(view: View, body: SearchBody) -> dict[str, Any]:
    """Return the answer of a search."""
    index = view.plain if body.plain else view.index
    started = time.perf_counter()
    if body.plain:
        body = msgspec.structs.replace(body, ask="words")
    hits: Hits = OPERATIONS["search"].execute(index, body)
    why = None
    if body.explain:
        why = [_explained(index, body, hit.id).parts for hit in hits]
    return {**_hits_record(hits, body, why), "commit": view.commit, "took_ms": _took(started)}


def _similar_answer(index: EitherIndex, body: SimilarBody) -> dict[str, Any]:
    """Return the documents similar to a document or a text."""
    started = time.perf_counter()
    if body.text is None:
        hits: Hits = OPERATIONS["similar"].execute(index, body)
    else:
        options = {name: getattr(body, name) for name in SimilarKeywords.__annotations__}
        hits = index.search(body.text, syntax=False, max_terms=None, **options)
    return {**_hits_record(hits, body), "commit": index.commit, "took_ms": _took(started)}


def _explained(index: EitherIndex, body: SearchBody, id: str) -> Explanation:
    check_deadline()
    scoring = {name: getattr(body, name) for name in ScoringOptions.__struct_fields__}
    return index.explain(body.q, id, **scoring)


def _hits_record(
    hits: Hits, body: SearchBody | SimilarBody, why: Sequence[tuple[Part, ...]] | None = None
) -> dict[str, Any]:
    """Return hits with the parts that a request names, and perhaps with explanations."""
    names = form(Hit).__annotations__
    if body.fields is not None:
        names = ["id", "score", *body.fields]
    if not body.highlight:
        names = [name for name in names if name != "snippet"]
    records = list[dict[str, Any]]()
    for number, hit in enumerate(hits):
        check_deadline()
        records.append({name: wire(getattr(hit, name)) for name in names})
        if why is not None:
            records[-1]["explanation"] = wire(why[number])
    record = {**wire(replace(hits, hits=())), "hits": records}
    last = len(hits) < body.k and (len(hits) or not hits.offset)
    if last and hits.plan.proven and not hits.missing_shards:
        record["total"] = hits.offset + len(hits)
    return record


def _took(started: float) -> float:
    """Return the milliseconds since a time."""
    return round(1000 * (time.perf_counter() - started), 3)
