"""Routes of indexes and aliases: list, read, create, delete."""

from __future__ import annotations

import asyncio
import logging
from typing import Any

from msgspec import to_builtins
from starlette.responses import Response

from softcosine.errors import InvalidInputError
from softcosine.matrix.recipe import SimilarityRecipe
from softcosine.serve import models
from softcosine.serve.json_text import json_response
from softcosine.serve.problems import Problem
from softcosine.serve.routing import Call, route
from softcosine.serve.served_index import ServedIndex
from softcosine.serve.server import Server

__all__: list[str] = []

_log = logging.getLogger(__name__)
_PATH, _ALIAS = "/v1/indexes/{i}", "/v1/aliases/{name}"


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
            f"data of the sources ({', '.join(given) or 'default'}) or of the encoder are not "
            "installed on the server; install them there (its log says which), or name others."
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
    """Let a name stand for an index: searches move to it at once."""
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
