"""Routes of indexes: list, read, create, delete."""

from __future__ import annotations

import asyncio
from typing import Any

from fastapi import APIRouter
from starlette.responses import Response

from softcosine.errors import InvalidInputError
from softcosine.matrix.recipe import SimilarityRecipe
from softcosine.serve.checked_route import CheckedRoute
from softcosine.serve.json_text import json_response
from softcosine.serve.models import CreateBody, IndexAnswer, IndexesAnswer, returns
from softcosine.serve.problems import Problem
from softcosine.serve.served_index import ServedIndex
from softcosine.serve.server import Served, Server, Shared, may
from softcosine.serve.tags import IfNoneMatch, not_modified
from softcosine.similarity.registry import needs_nothing

__all__ = ["router"]

_PATH = "/indexes/{i}"

router = APIRouter(prefix="/v1", tags=["indexes"], route_class=CheckedRoute)


@router.get("/indexes", responses=returns(IndexesAnswer), dependencies=[may("search")])
async def list_indexes(server: Shared) -> Response:
    """List the indexes."""

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


@router.get(_PATH, responses=returns(IndexAnswer), dependencies=[may("search")])
async def get_index(server: Shared, served: Served, if_none_match: IfNoneMatch = None) -> Response:
    """Return the state and the settings of an index."""
    commit = served.view.commit
    if not_modified(if_none_match, commit):
        return Response(status_code=304, headers={"ETag": f'"{commit}"'})
    record = await asyncio.to_thread(index_record, server, served)
    return json_response(record, commit=record["commit"])


@router.put(
    _PATH,
    responses=returns(IndexAnswer, 201),
    status_code=201,
    dependencies=[may("admin", changes=True)],
)  # fmt: skip
async def create_index(server: Shared, i: str, body: CreateBody) -> Response:
    """Create an index without documents."""
    arguments: dict[str, Any] = {
        name: getattr(body, name) for name in body.model_fields_set - {"similarity"}
    }
    if body.similarity is not None:
        arguments["similarity"] = _recipe(body.similarity)
    served = await asyncio.to_thread(server.catalog.create, i, arguments)
    record = await asyncio.to_thread(index_record, server, served)
    return json_response(record, status=201, commit=record["commit"], location=f"/v1/indexes/{i}")


@router.delete(_PATH, status_code=204, dependencies=[may("admin", changes=True)])
async def delete_index(server: Shared, i: str) -> Response:
    """Delete an index and its files; searches that run on it finish."""
    await asyncio.to_thread(server.catalog.delete, i)
    return Response(status_code=204)


def index_record(server: Server, served: ServedIndex) -> dict[str, Any]:
    """Return the state and the settings of an index."""
    index = served.view.index
    snapshot = index.snapshot
    statistics = index.S.statistics(eigenvalue=False).to_dict()
    del statistics["smallest_eigenvalue"]
    meaning = snapshot.meaning
    return {
        "name": served.name,
        "aliases": sorted(
            alias for alias, name in server.catalog.aliases.items() if name == served.name
        ),
        "documents": len(index),
        "terms": len(index.vocabulary),
        "segments": snapshot.n_segments,
        "generation": snapshot.generation,
        "commit": index.commit,
        "epoch": index.epoch,
        "frozen": index.frozen,
        "ranking": index.ranking,
        "weighting": index.weighting.to_dict(),
        "language": index.language,
        "fields": [{"name": field.name, "weight": field.weight} for field in index.fields],
        "note": index.note,
        "similarity": statistics,
        "meaning": None
        if meaning is None
        else {
            "encoder": meaning.encoder,
            "dimensions": meaning.dimensions,
            "query_table": meaning.table is not None,
            "encoded": snapshot.n_encoded,
            "estimated": snapshot.n_estimated,
            "weights": dict(snapshot.settings.meaning_weights),
        },
    }


def _recipe(given: dict[str, Any]) -> SimilarityRecipe:
    """Return a recipe that reads no file of the server."""
    sources = given.get("sources")
    for source in sources if isinstance(sources, list) else ():
        if isinstance(source, str) and not needs_nothing(source):
            raise InvalidInputError(
                f"the source {source!r:.100} is a file or a model, which requests cannot name; use "
                "sources of the library, such as english, texts and edit-distance, or make the "
                "index by 'softcosine index' in the folder of the server."
            )
    return SimilarityRecipe.from_dict(given)
