"""Routes of indexes, aliases, tasks, and long changes: similarities, merge."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable
from functools import partial
from typing import Any

from msgspec import to_builtins
from starlette.responses import Response

from softcosine._progress import Report
from softcosine.cluster.opening import EitherIndex
from softcosine.errors import InvalidInputError
from softcosine.index.wire import wire
from softcosine.index.writer.growing import rebuilt
from softcosine.matrix.recipe import SimilarityRecipe
from softcosine.serve import models
from softcosine.serve.json_text import json_bytes, json_response
from softcosine.serve.keys import Scope
from softcosine.serve.problems import Problem
from softcosine.serve.routing import Call, change, matching, route
from softcosine.serve.served_index import EitherWriter, ServedIndex
from softcosine.serve.server import Server, require
from softcosine.similarity.overrides.decision_list import Decision, Decisions
from softcosine.similarity.overrides.decisions import DecidedSimilarity, decided

_log = logging.getLogger(__name__)
_PATH, _ALIAS, _TASK = "/v1/indexes/{i}", "/v1/aliases/{name}", "/v1/tasks/{id}"


@route("GET", "/v1/indexes", answers={200: models.IndexesAnswer})
async def list_indexes(call: Call[None]) -> Response:
    """List the indexes."""
    server = call.server

    def listed() -> dict[str, list[Any]]:
        answer: dict[str, list[Any]] = {"indexes": [], "broken": []}
        for name in server.catalog.names:
            try:
                answer["indexes"].append(index_record(server, server.catalog.get(name)))
            except (OSError, Problem):  # damaged, or deleted meanwhile
                if name in server.catalog:
                    answer["broken"].append(name)
        return answer

    return json_response(await asyncio.to_thread(listed))


@route("GET", _PATH, headers=("If-None-Match",), answers={200: models.IndexAnswer})
async def get_index(call: Call[None]) -> Response:
    """Return the state and the settings of an index."""
    commit = call.served.view.commit
    if call.not_modified(commit):
        return Response(status_code=304, headers={"ETag": f'"{commit}"'})
    record = await asyncio.to_thread(index_record, call.server, call.served)
    return json_response(record, commit=record["commit"])


@route(
    "PUT",
    _PATH,
    "admin",
    changes=True,
    body=models.CreateBody,
    answers={201: models.IndexAnswer},
    opens=False,
)
async def create_index(call: Call[models.CreateBody]) -> Response:
    """Create an index without documents."""
    name, server = call.path["i"], call.server
    # Without defaults.
    options: dict[str, Any] = {"encoder": server.settings.encoder, **to_builtins(call.body)}
    stated = call.body.similarity
    try:
        if stated is not None:
            options["similarity"] = SimilarityRecipe.from_dict(stated, trusted=False)
        served = await asyncio.to_thread(server.catalog.create, name, options)
    except FileNotFoundError as error:
        given = map(str, (stated or {}).get("sources") or ())
        _log.warning("the index %s cannot be created: %s", name, error)
        raise InvalidInputError(
            f"the data of a source ({', '.join(given) or 'default'}) or of the encoder are not "
            "installed on the server; its log names them."
        ) from error
    record = await asyncio.to_thread(index_record, server, served)
    return json_response(
        record, status=201, commit=record["commit"], location=f"/v1/indexes/{name}"
    )


@route("DELETE", _PATH, "admin", changes=True, answers={204: None}, opens=False)
async def delete_index(call: Call[None]) -> Response:
    """Delete an index and its files; searches that run on it finish."""
    await asyncio.to_thread(call.server.catalog.delete, call.path["i"])
    return Response(status_code=204)


@route("GET", "/v1/aliases", answers={200: models.Aliases})
async def list_aliases(call: Call[None]) -> Response:
    """List the aliases and their indexes."""
    return json_response({"aliases": call.server.catalog.aliases})


@route("PUT", _ALIAS, "admin", changes=True, body=models.AliasBody, answers={200: models.Aliases})
async def put_alias(call: Call[models.AliasBody]) -> Response:
    """Point an alias to an index; searches use it at once."""
    await asyncio.to_thread(call.server.catalog.set_alias, call.path["name"], call.body.index)
    return json_response({"aliases": call.server.catalog.aliases})


@route("DELETE", _ALIAS, "admin", changes=True, answers={204: None})
async def delete_alias(call: Call[None]) -> Response:
    """Delete an alias; the index stays."""
    await asyncio.to_thread(call.server.catalog.set_alias, call.path["name"], None)
    return Response(status_code=204)


def index_record(server: Server, served: ServedIndex) -> dict[str, Any]:
    """Return the state and the settings of an index."""
    index = served.view.index
    aliases = [alias for alias, name in server.catalog.aliases.items() if name == served.name]
    return {"name": served.name, "aliases": sorted(aliases), **index.info()}


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


@route("GET", _PATH + "/similarities", answers={200: models.SimilaritiesAnswer})
async def get_similarities(call: Call[None]) -> Response:
    """Return your decisions about words: pinned, forbidden and weighed pairs."""
    index = call.served.view.index
    answer = await call.server.gate.run(lambda: json_bytes(_similarities(index)))
    return json_response(answer, commit=index.commit)


@change(
    "PATCH",
    _PATH + "/similarities",
    body=models.SimilaritiesBody,
    answers={202: models.TaskAnswer},
)
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


@route("POST", _PATH + "/merge", "admin", changes=True, answers={202: models.TaskAnswer})
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
    record = {"decisions": wire(lines), "lines": [str(one) for one in lines]}
    return {**record, "note": index.note, "commit": index.commit}


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
        raise InvalidInputError("the index has no source of term similarity; build it with one.")
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
    progress = partial(report, "finding similar terms")
    S, source = rebuilt(index.S, changed, index.analyzer, progress=progress)
    writer.set_similarity(S, source=source, note=index.snapshot.settings.note)
