"""Routes of tasks and of long changes: similarities, merge."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from functools import partial
from typing import Any

from starlette.responses import Response

from softcosine._progress import Report
from softcosine.cluster.opening import EitherIndex
from softcosine.errors import InvalidInputError
from softcosine.index.wire import wire
from softcosine.index.writer.growing import rebuilt
from softcosine.serve import models
from softcosine.serve.json_text import json_bytes, json_response
from softcosine.serve.keys import Scope
from softcosine.serve.routing import CHANGE, Call, matching, route
from softcosine.serve.served_index import EitherWriter
from softcosine.serve.server import require
from softcosine.similarity.overrides.decision_list import Decision, Decisions
from softcosine.similarity.overrides.decisions import DecidedSimilarity, decided

_INDEX, _TASK = "/v1/indexes/{i}", "/v1/tasks/{id}"
# The scope that starts a task also reads and cancels it; "admin" for all others.
_SCOPES: dict[str, Scope] = {"pairs": "search", "dedupe": "search", "similarities": "write"}


@route("GET", _TASK, None, answers={200: models.TaskAnswer})
async def get_task(call: Call[None]) -> Response:
    """Return the state of a task, and its result if it is done."""
    record = await call.server.tasks.get(call.path["id"])
    require(call.request, call.server, _SCOPES.get(record["kind"], "admin"), "search")
    return json_response(await asyncio.to_thread(json_bytes, record))


@route("DELETE", _TASK, None, answers={200: models.TaskAnswer})
async def cancel_task(call: Call[None]) -> Response:
    """Cancel a task: what it has not committed is rolled back."""
    id, tasks = call.path["id"], call.server.tasks
    scope = _SCOPES.get((await tasks.get(id))["kind"], "admin")
    require(call.request, call.server, scope, changes=scope != "search")
    return json_response(await tasks.cancel(id))


async def started(
    call: Call[Any],
    kind: str,
    work: Callable[[Report], Awaitable[dict[str, Any]]],
) -> Response:
    """Start a task, and return its state with the status 202.

    Parameters
    ----------
    call : Call
    kind, work
        See `softcosine.serve.tasks.Tasks.start`.
    """
    record = await call.server.tasks.start(kind, call.served.name, work)
    return json_response(record, status=202, location=f"/v1/tasks/{record['id']}")


@route("GET", _INDEX + "/similarities", answers={200: models.SimilaritiesAnswer})
async def get_similarities(call: Call[None]) -> Response:
    """Return your decisions about words: pinned, forbidden and weighed pairs."""
    index = call.served.view.index
    answer = await call.server.gate.run(lambda: json_bytes(_similarities(index)))
    return json_response(answer, commit=index.commit)


@route(
    "PATCH", _INDEX + "/similarities", "write", changes=True, body=models.SimilaritiesBody,
    headers=CHANGE, answers={202: models.TaskAnswer},
)  # fmt: skip
async def change_similarities(call: Call[models.SimilaritiesBody]) -> Response:
    """Pin, forbid and weigh pairs of words; a task builds the similarities of the index anew.

    Its result is that of ``GET``.
    """
    commit = matching(call)

    async def work(report: Report) -> dict[str, Any]:
        def changed(writer: EitherWriter, index: EitherIndex) -> None:
            _with_decisions(writer, index, call.body, report)

        done = await call.served.change(
            call.server.writers, changed, if_match=commit, progress=report
        )
        return _similarities(done.view.index)

    return await started(call, "similarities", work)


@route("POST", _INDEX + "/merge", "admin", changes=True, answers={202: models.TaskAnswer})
async def merge(call: Call[None]) -> Response:
    """Merge all segments, and free the space of deleted documents."""

    async def work(report: Report) -> dict[str, Any]:
        def merged(writer: EitherWriter, _: EitherIndex) -> None:
            report("merging", 0, None)
            writer.merge()

        done = await call.served.change(call.server.writers, merged, progress=report)
        return {"commit": done.commit}

    return await started(call, "merge", work)


def _decisions_of(index: EitherIndex) -> Decisions:
    """Return the decisions that an index follows."""
    source = index.source
    return source.decisions if isinstance(source, DecidedSimilarity) else Decisions()


def _similarities(index: EitherIndex) -> dict[str, Any]:
    """Return the decisions that an index follows as JSON types."""
    lines = _decisions_of(index).lines
    return {
        "decisions": wire(lines),
        "lines": [str(one) for one in lines],
        "note": index.note,
        "commit": index.commit,
    }


def _with_decisions(
    writer: EitherWriter, index: EitherIndex, body: models.SimilaritiesBody, report: Report
) -> None:
    """Change the decisions of an index, and build S anew from its source.

    Raises
    ------
    InvalidInputError
        If the index has no source to build S from, or decisions contradict each other.
    """
    source = index.source
    if source is None:
        raise InvalidInputError(
            "the index has no source of term similarity, so its similarities cannot be changed one "
            "by one; build it with a source."
        )
    new = [
        *(Decision(one.word, "=", one.other, one.similarity) for one in body.pin),
        *(Decision(one.word, "!", one.other) for one in body.forbid),
        *(Decision(one.word, "*", one.other, one.weight) for one in body.weigh),
    ]
    gone = {Decision(one.word, "!", one.other).key for one in body.remove}
    replaced = gone | {one.key for one in new}
    kept = [line for line in _decisions_of(index).lines if line.key not in replaced]
    inner = source.source if isinstance(source, DecidedSimilarity) else source
    changed = decided(inner, Decisions((*kept, *new)))
    S, source = rebuilt(
        index.S, changed, index.analyzer,
        progress=partial(report, "finding similar terms"),
    )  # fmt: skip
    writer.set_similarity(S, source=source, note=index.snapshot.settings.note)
