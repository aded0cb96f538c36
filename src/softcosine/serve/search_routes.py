"""Routes of searching: search, similar, explain, expand, suggest, terms."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any, get_type_hints

from fastapi import APIRouter, Query, Request
from starlette.responses import Response

from softcosine._deadline import check_deadline
from softcosine.cluster.opening import EitherIndex
from softcosine.errors import InvalidInputError, UnknownTermError
from softcosine.index.requests import FirstStage, ScoringKeywords, SearchKeywords
from softcosine.index.search.explanation import Explanation, Part
from softcosine.index.search.results import Hit, Hits
from softcosine.index.wire import form, wire
from softcosine.serve.checked_route import CheckedRoute
from softcosine.serve.json_text import json_bytes, json_response
from softcosine.serve.models import (
    ExpandAnswer,
    ExpandBody,
    ExplainBody,
    ExplanationAnswer,
    FirstStageBody,
    MultiSearchAnswer,
    MultiSearchBody,
    NamedSearch,
    SearchAnswer,
    SearchBody,
    SimilarBody,
    SuggestAnswer,
    SuggestBody,
    TermAnswer,
    returns,
)
from softcosine.serve.problems import Problem, problem_of
from softcosine.serve.served_index import ServedIndex, View
from softcosine.serve.server import Served, Server, Shared, may
from softcosine.similarity.provenance import origins, overruled
from softcosine.text.analyzer import shortened

__all__ = ["json_answer", "router"]

router = APIRouter(
    prefix="/v1", tags=["search"], route_class=CheckedRoute, dependencies=[may("search")]
)


async def _search(server: Server, served: ServedIndex, body: SearchBody) -> bytes:
    """Return the answer of a search as JSON, all of it made in a thread."""
    served.check_query(body.q)
    served.check_page(body.k, body.offset)
    view = served.view
    return await server.gate.run(lambda: json_bytes(_search_answer(view, body)), body.timeout_ms)


async def json_answer(server: Server, made: Callable[[], Any], timeout_ms: int | None) -> Response:
    """Return the result of a function as JSON, all of it made in a thread."""
    content = await server.gate.run(lambda: json_bytes(made()), timeout_ms)
    return Response(content, media_type="application/json")


@router.post("/indexes/{i}/search", responses=returns(SearchAnswer))
async def search(request: Request, server: Shared, served: Served, body: SearchBody) -> Response:
    """Search an index."""
    request.state.query = body.q
    content = await _search(server, served, body)
    return Response(content, media_type="application/json")


@router.post("/search", responses=returns(MultiSearchAnswer))
async def multi_search(server: Shared, body: MultiSearchBody) -> Response:
    """Execute several searches; each gets its answer or its problem."""
    started = time.perf_counter()
    if len(body.searches) > server.limits.searches:
        raise Problem(
            "over-limit",
            f"these are {len(body.searches)} searches, and this server allows "
            f"{server.limits.searches} in one request.",
        )

    async def one(search: NamedSearch) -> bytes:
        try:
            return await _search(server, await server.index(search.index), search)
        except Exception as error:
            return json_bytes(problem_of(error).to_dict())

    found = await asyncio.gather(*map(one, body.searches))
    took = json_bytes(_took(started))
    content = b'{"results":[' + b",".join(found) + b'],"took_ms":' + took + b"}"
    return Response(content, media_type="application/json")


@router.post("/indexes/{i}/similar", responses=returns(SearchAnswer))
async def similar(server: Shared, served: Served, body: SimilarBody) -> Response:
    """Find the documents most similar to a document of the index, or to a text."""
    if (body.id is None) == (body.text is None):
        raise Problem("invalid-input", "give the id of a document or a text, one of the two.")
    served.check_page(body.k)
    if body.text is not None:
        served.check_query(body.text)
    index = served.view.index
    return await json_answer(server, lambda: _similar_answer(index, body), body.timeout_ms)


@router.post("/indexes/{i}/explain", responses=returns(ExplanationAnswer))
async def explain(server: Shared, served: Served, body: ExplainBody) -> Response:
    """Explain the score of a document by pairs of words that sum to it."""
    served.check_query(body.q)
    index = served.view.index

    def explained() -> dict[str, Any]:
        scoring = {name: getattr(body, name) for name in get_type_hints(ScoringKeywords)}
        found = _explained(index, body.q, body.id, scoring)
        return {**wire(found), "commit": index.commit}

    return await json_answer(server, explained, body.timeout_ms)


@router.post("/indexes/{i}/expand", responses=returns(ExpandAnswer))
async def expand(server: Shared, served: Served, body: ExpandBody) -> Response:
    """Return a query as boosted words for a server that ranks by BM25."""
    served.check_query(body.q)
    index = served.view.index

    def expanded() -> dict[str, Any]:
        found = index.expand(
            body.q, to=body.to, field=body.field, max_terms=body.max_terms, words=body.words,
            k1_factor=body.k1_factor, syntax=body.syntax, keep_stop_words=body.keep_stop_words,
        )  # fmt: skip
        takes_json = body.to in ("elasticsearch", "opensearch")
        return {
            **wire(found),
            "query": str(found),
            "body": found.body if takes_json else None,
            "commit": index.commit,
        }

    return await json_answer(server, expanded, body.timeout_ms)


@router.post("/indexes/{i}/suggest", responses=returns(SuggestAnswer))
async def suggest(server: Shared, served: Served, body: SuggestBody) -> Response:
    """Return the indexed words that begin with a prefix, the most frequent first."""
    served.check_page(body.k)
    view = served.view
    words = await server.gate.run(
        lambda: view.completions.of_prefix(body.prefix.lower(), body.k), None
    )
    return json_response({"words": wire(words), "commit": view.commit})


@router.get("/indexes/{i}/terms/{t:any_text}", responses=returns(TermAnswer))
async def term(server: Shared, served: Served, t: str, k: int = Query(10, ge=1)) -> Response:
    """Return the words similar to a word, and where the similarities come from."""
    served.check_query(t)
    served.check_page(k)
    index = served.view.index
    return await json_answer(server, lambda: _neighbors(index, t, k), None)


def _neighbors(index: EitherIndex, word: str, k: int) -> dict[str, Any]:
    parsed = index.parse_word(word)
    n_terms = len(parsed.terms) + len(parsed.outside) + len(parsed.unknown)
    if n_terms != 1:
        raise InvalidInputError(f"{shortened(word)} has {n_terms} terms; ask for one word.")
    if parsed.unknown:
        raise UnknownTermError(
            f"{shortened(word)} is in no document, and no source has similar words for it."
        )
    found = index.neighbors(word, k=k)
    neighbors: list[dict[str, Any]] = [
        {"word": other, "similarity": similarity} for other, similarity in found
    ]
    forbidden: list[dict[str, Any]] = []
    if (source := index.source) is not None:
        # Sources know words, so the representative of the term is looked up.
        asked = (
            parsed.outside[0].word if parsed.outside else index.S.representatives[parsed.terms[0]]
        )
        kept_off = overruled(source, asked)
        others = [other for other, _ in found] + kept_off
        told = [origin.to_dict() for origin in origins(source, [asked] * len(others), others)]
        for one, origin in zip(neighbors, told, strict=False):
            one["origin"] = origin
        forbidden = [
            {"word": other, "origin": origin}
            for other, origin in zip(kept_off, told[len(found) :], strict=True)
        ]
    return {
        "word": word,
        "indexed": not parsed.outside,
        "neighbors": neighbors,
        "forbidden": forbidden,
        "commit": index.commit,
    }


def _search_answer(view: View, body: SearchBody) -> dict[str, Any]:
    """Return the answer of a search."""
    index = view.plain if body.plain else view.index
    started = time.perf_counter()
    options: dict[str, Any] = {name: getattr(body, name) for name in get_type_hints(SearchKeywords)}
    stage = body.first_stage
    if isinstance(stage, FirstStageBody):
        options["first_stage"] = FirstStage(stage.terms, stage.candidates)
    if body.plain:
        options["ask"] = "words"
    hits = index.search(body.q, **options)
    why = None
    if body.explain:
        scoring = {name: options[name] for name in get_type_hints(ScoringKeywords)}
        why = [_explained(index, body.q, hit.id, scoring).parts for hit in hits]
    return {**_hits_record(hits, body, why), "commit": view.commit, "took_ms": _took(started)}


def _similar_answer(index: EitherIndex, body: SimilarBody) -> dict[str, Any]:
    """Return the documents similar to a document or a text."""
    started = time.perf_counter()
    options: dict[str, Any] = {
        "k": body.k, "where": body.where, "min_score": body.min_score, "ranking": body.ranking,
        "meaning": body.meaning,
    }  # fmt: skip
    if body.id is not None:
        hits = index.similar(body.id, **options)
    else:
        hits = index.search(body.text or "", **options, syntax=False, max_terms=None)
    return {**_hits_record(hits, body), "commit": index.commit, "took_ms": _took(started)}


def _explained(index: EitherIndex, q: Any, id: str, scoring: dict[str, Any]) -> Explanation:
    check_deadline()
    return index.explain(q, id, **scoring)


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
