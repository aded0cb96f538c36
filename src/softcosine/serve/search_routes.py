"""Routes of searches and of comparisons; those of an index alone are made from `OPERATIONS`."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from dataclasses import replace
from itertools import islice
from typing import Any

import msgspec
from starlette.responses import Response

from softcosine._deadline import check_deadline
from softcosine._progress import Report
from softcosine.errors import DeadlineExceededError
from softcosine.index.requests import (
    NeighborsRequest,
    Request,
    ScoringOptions,
)
from softcosine.index.search.results import Hit, Hits
from softcosine.index.search.server_query import ServerQuery
from softcosine.index.segment.documents import reading
from softcosine.index.wire import form, wire
from softcosine.operations import OPERATIONS
from softcosine.serve import models
from softcosine.serve.gate import Budget
from softcosine.serve.index_routes import started
from softcosine.serve.json_text import json_bytes, json_response
from softcosine.serve.problems import Problem, problem_of
from softcosine.serve.routing import Call, route
from softcosine.serve.served_index import ServedIndex, View
from softcosine.serve.server import Server

_INDEX = "/v1/indexes/{i}"
_PART = 200  # bytes of a part of an explanation, about
_ADVICE = "raise min_similarity, lower k, or run softcosine collection pairs FOLDER."


async def answered(
    call: Call[Any],
    made: Callable[[], Any],
    *,
    budget: Budget | None = None,
    commit: str | None = None,
) -> Response:
    """Return the result of a function as JSON, all of it made in a thread."""
    timeout_ms = getattr(call.body, "timeout_ms", None)
    content = await call.server.gate.run(lambda: json_bytes(made()), timeout_ms, budget)
    return json_response(content, commit=commit)


async def _search(
    server: Server, served: ServedIndex, name: str, body: Any, budget: Budget | None = None
) -> bytes:
    """Return the hits of an operation as JSON, all of it made in a thread."""
    served.check(body)
    view = served.view
    return await server.gate.run(
        lambda: json_bytes(_hits(view, name, body)), body.timeout_ms, budget
    )


@route("POST", _INDEX + "/search", body=models.SearchBody, answers={200: models.SearchAnswer})
async def search(call: Call[models.SearchBody]) -> Response:
    """Search an index."""
    call.request.state.query = call.body.q
    return json_response(await _search(call.server, call.served, "search", call.body))


@route("POST", "/v1/search", body=models.MultiSearchBody, answers={200: models.MultiSearchAnswer})
async def multi_search(call: Call[models.MultiSearchBody]) -> Response:
    """Execute several searches, each with its answer or its problem, within one limit of bytes."""
    started, server, searches = time.perf_counter(), call.server, call.body.searches
    budget = Budget(server.limits.answer_bytes)
    if len(searches) > server.limits.searches:
        raise Problem(
            "over-limit",
            f"these are {len(searches)} searches; {server.limits.searches} are allowed.",
        )

    async def one(search: models.NamedSearch) -> bytes:
        try:
            served = await server.index(search.index)
            return await _search(server, served, "search", search, budget)
        except Exception as error:
            return json_bytes(problem_of(error).to_dict())

    found = await asyncio.gather(*map(one, searches))

    def joined() -> bytes:
        took = json_bytes(_took(started))
        return b'{"results":[' + b",".join(found) + b'],"took_ms":' + took + b"}"

    return json_response(await asyncio.to_thread(joined))


@route(
    "POST", _INDEX + "/similar", body=models.BODIES["similar"], answers={200: models.SearchAnswer}
)
async def similar(call: Call[Any]) -> Response:
    """Find the documents most similar to a document of the index."""
    return json_response(await _search(call.server, call.served, "similar", call.body))


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
    path, body = f"{_INDEX}/{operation.path}", models.BODIES[name]
    route("POST", path, body=body, answers={200: answer})(ask)


for _name in ("explain", "explain_similar", "scores", "filter"):
    _declare(_name)
_declare("expand", query=str, body=dict[str, Any] | None)


@route("POST", _INDEX + "/suggest", body=models.SuggestBody, answers={200: models.SuggestAnswer})
async def suggest(call: Call[models.SuggestBody]) -> Response:
    """Return the indexed words that begin with a prefix, the most frequent first."""
    call.served.check(call.body)
    view, prefix, k = call.served.view, call.body.prefix.lower(), call.body.k

    def made() -> dict[str, Any]:
        return {"words": wire(view.completions.of_prefix(prefix, k)), "commit": view.commit}

    return await answered(call, made)


@route(
    "GET", _INDEX + "/terms/{t:any_text}", query=models.TermQuery, answers={200: models.TermAnswer}
)
async def term(call: Call[models.TermQuery]) -> Response:
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
        comparisons = call.server.comparisons
        if getattr(body, "k", None) and body.k * len(index) > most:  # all are kept until the end
            raise _too_many(most)

        async def work(report: Report) -> dict[str, Any]:
            def progress(done: int, total: int | None) -> None:
                check_deadline()
                report("comparing", done, total)

            def compared() -> dict[str, Any]:
                report("comparing", 0, None)
                found = operation.execute(index, body, progress=progress)
                rows = list(islice(found, most + 1))
                if sum(len(getattr(row, "others", " ")) for row in rows) > most:  # pairs have one
                    raise _too_many(most)
                return {**operation.record(rows), "commit": index.commit}

            try:
                return await comparisons.run(compared, body.timeout_ms)
            except DeadlineExceededError as error:
                raise DeadlineExceededError(
                    "the comparison was ended after its deadline of "
                    f"{comparisons.seconds(body.timeout_ms):g} seconds; {_ADVICE}"
                ) from error

        comparisons.check()
        return await started(call, name, work)

    compare.__name__, compare.__doc__ = name, operation.request.__doc__
    answers = {202: models.TaskAnswer}
    route("POST", f"{_INDEX}/{operation.path}", body=models.BODIES[name], answers=answers)(compare)


_declare_comparison("pairs")
_declare_comparison("dedupe")


def _too_many(most: int) -> Problem:
    return Problem(
        "over-limit", f"there are more than {most:,} pairs, the limit of this server; {_ADVICE}"
    )


def _hits(view: View, name: str, body: Any) -> dict[str, Any]:
    """Return the answer of a search, with the parts of hits that it names, for `json_bytes`."""
    index, started = view.index, time.perf_counter()
    if getattr(body, "plain", False):
        index, body = view.plain, msgspec.structs.replace(body, ask="words")
    names = form(Hit).__annotations__
    if body.fields is not None:
        names = ["id", "score", *body.fields]
    if not body.highlight:
        names = [name for name in names if name != "snippet"]
    budget = reading.get()
    reading.set(replace(budget, texts=not {"text", "title", "snippet"}.isdisjoint(names)))
    hits: Hits = OPERATIONS[name].execute(index, body)
    records = list[dict[str, Any]]()
    for hit in hits:
        check_deadline()
        records.append({name: getattr(hit, name) for name in names})
        if getattr(body, "explain", False):
            scoring = {name: getattr(body, name) for name in ScoringOptions.__struct_fields__}
            parts = index.explain(body.q, hit.id, **scoring).parts
            budget.count(_PART * len(parts))
            records[-1]["explanation"] = wire(parts)
    record = {**wire(replace(hits, hits=())), "hits": records, "commit": view.commit}
    last = len(hits) < body.k and (len(hits) or not hits.offset)
    if last and hits.plan.proven and not hits.missing_shards:
        record["total"] = hits.offset + len(hits)
    return {**record, "took_ms": _took(started)}


def _took(started: float) -> float:
    """Return the milliseconds since a time."""
    return round(1000 * (time.perf_counter() - started), 3)
