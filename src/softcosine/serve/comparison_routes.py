"""Routes of given documents: their scores, why two are similar, all similar pairs, groups."""

from __future__ import annotations

from collections.abc import Callable
from itertools import islice
from typing import Any

from fastapi import APIRouter, Request
from starlette.responses import Response

from softcosine._deadline import check_deadline
from softcosine._progress import Progress, Report
from softcosine.errors import DeadlineExceededError
from softcosine.index.wire import wire
from softcosine.serve.checked_route import CheckedRoute
from softcosine.serve.models import (
    DedupeBody,
    ExplainSimilarBody,
    ExplanationAnswer,
    PairsBody,
    ScoresAnswer,
    ScoresBody,
    TaskAnswer,
    returns,
)
from softcosine.serve.problems import Problem
from softcosine.serve.repeats import IdempotencyKey
from softcosine.serve.search_routes import json_answer
from softcosine.serve.served_index import ServedIndex
from softcosine.serve.server import Served, Server, Shared, may
from softcosine.serve.task_routes import started

__all__ = ["router"]

_INDEX = "/indexes/{i}"
_ADVICE = (
    "raise min_similarity or lower k, or compare where the index is: softcosine collection pairs "
    "FOLDER."
)

router = APIRouter(
    prefix="/v1", tags=["search"], route_class=CheckedRoute, dependencies=[may("search")]
)


@router.post(_INDEX + "/scores", responses=returns(ScoresAnswer))
async def scores(server: Shared, served: Served, body: ScoresBody) -> Response:
    """Return the scores of documents, such as the hits of another engine."""
    served.check_query(body.q)
    if len(body.ids) > server.limits.k:
        raise Problem(
            "over-limit",
            f"these are {len(body.ids):,} ids, and this server allows {server.limits.k:,} in one "
            "request.",
        )
    index = served.view.index

    def scored() -> dict[str, Any]:
        found = index.scores(
            body.q, body.ids, ranking=body.ranking, syntax=body.syntax, max_terms=body.max_terms,
            fuzzy=body.fuzzy, keep_stop_words=body.keep_stop_words, ask=body.ask,
            meaning=body.meaning,
        )  # fmt: skip
        return {"scores": found.tolist(), "commit": index.commit}

    return await json_answer(server, scored, body.timeout_ms)


@router.post(_INDEX + "/explain-similar", responses=returns(ExplanationAnswer))
async def explain_similar(server: Shared, served: Served, body: ExplainSimilarBody) -> Response:
    """Explain the similarity of two documents by pairs of words that sum to it."""
    index = served.view.index

    def explained() -> dict[str, Any]:
        found = index.explain_similar(
            body.id, body.other, ranking=body.ranking, meaning=body.meaning
        )
        return {**wire(found), "commit": index.commit}

    return await json_answer(server, explained, body.timeout_ms)


@router.post(_INDEX + "/pairs", responses=returns(TaskAnswer, 202), status_code=202)
async def pairs(
    request: Request,
    server: Shared,
    served: Served,
    body: PairsBody,
    idempotency_key: IdempotencyKey = None,
) -> Response:
    """Find all pairs of similar documents, or the nearest documents of each, in a task."""
    index, most = served.view.index, server.limits.pairs
    if body.k is not None and body.k * len(index) > most:  # all are kept until the end
        raise _too_many(most)

    def found(progress: Progress) -> dict[str, Any]:
        compared = index.pairs(
            min_similarity=body.min_similarity, k=body.k, by=body.by, ranking=body.ranking,
            progress=progress,
        )  # fmt: skip
        rows = list(islice(compared, most + 1))
        if len(rows) > most:
            raise _too_many(most)
        return {"pairs": wire(rows), "commit": index.commit}

    return await _compared(request, server, served, body, idempotency_key, "pairs", found)


@router.post(_INDEX + "/dedupe", responses=returns(TaskAnswer, 202), status_code=202)
async def dedupe(
    request: Request,
    server: Shared,
    served: Served,
    body: DedupeBody,
    idempotency_key: IdempotencyKey = None,
) -> Response:
    """Find groups of near duplicates, each led by its earliest document, in a task."""
    index, most = served.view.index, server.limits.pairs

    def found(progress: Progress) -> dict[str, Any]:
        groups = index.dedupe(
            min_similarity=body.min_similarity, method=body.method, by=body.by, progress=progress
        )
        if sum(len(group.others) for group in groups) > most:
            raise _too_many(most)
        return {"groups": wire(groups), "commit": index.commit}

    return await _compared(request, server, served, body, idempotency_key, "dedupe", found)


async def _compared(
    request: Request,
    server: Server,
    served: ServedIndex,
    body: PairsBody | DedupeBody,
    key: str | None,
    kind: str,
    found: Callable[[Progress], dict[str, Any]],
) -> Response:
    """Start a task that compares documents; its result is what `found` returns."""

    async def work(report: Report) -> dict[str, Any]:
        def progress(done: int, total: int | None) -> None:
            check_deadline()
            report("comparing", done, total)

        def compared() -> dict[str, Any]:
            progress(0, None)
            return found(progress)

        try:
            return await server.comparisons.run(compared, body.timeout_ms)
        except DeadlineExceededError as error:
            seconds = server.comparisons.seconds(body.timeout_ms)
            raise DeadlineExceededError(
                f"the comparison was ended after its deadline of {seconds:g} seconds; {_ADVICE}"
            ) from error

    return await started(request, server, key, kind, served.name, work, server.comparisons.check)


def _too_many(most: int) -> Problem:
    return Problem(
        "over-limit",
        f"there are more than {most:,} pairs, and this server allows no more in one result; "
        f"{_ADVICE}",
    )
