"""Qdrant in this process: the engine of the server (qdrant-edge-py) behind its client's calls."""

from __future__ import annotations

import shutil
from collections.abc import Sequence
from importlib.util import find_spec
from pathlib import Path
from types import SimpleNamespace
from typing import Any

from qdrant_client import models

from softcosine.errors import MissingDependencyError

if find_spec("qdrant_edge") is None:
    raise MissingDependencyError("qdrant-edge-py", "qdrant-edge", "Qdrant in this process")

import qdrant_edge as edge

__all__ = ["InProcessClient"]


class InProcessClient:
    """Collections in a folder; has the methods of ``QdrantClient`` that `Qdrant` calls.

    One process at a time may open a collection.

    Parameters
    ----------
    folder : path
    """

    def __init__(self, folder: str | Path) -> None:
        self._folder = Path(folder)
        self._folder.mkdir(parents=True, exist_ok=True)
        self._shards: dict[str, Any] = {}

    def collection_exists(self, name: str) -> bool:
        """Whether there is a collection."""
        return name in self._shards or (self._folder / name).is_dir()

    def create_collection(
        self, name: str, *, vectors_config: dict[str, Any], sparse_vectors_config: dict[str, Any]
    ) -> None:
        """Create a collection."""
        (self._folder / name).mkdir()
        vectors = {
            key: edge.EdgeVectorParams(one.size, edge.Distance.Cosine)
            for key, one in vectors_config.items()
        }
        sparse = {key: edge.EdgeSparseVectorParams() for key in sparse_vectors_config}
        config = edge.EdgeConfig(vectors=vectors, sparse_vectors=sparse)
        self._shards[name] = edge.EdgeShard.create(str(self._folder / name), config)

    def delete_collection(self, name: str) -> None:
        """Delete a collection."""
        self._shard(name).close()
        del self._shards[name]
        shutil.rmtree(self._folder / name)

    def retrieve(self, name: str, ids: Sequence[str]) -> list[Any]:
        """Return points by their ids."""
        return list(self._shard(name).retrieve(list(ids), with_payload=True, with_vector=False))

    def upsert(self, name: str, points: Sequence[models.PointStruct], *, wait: bool) -> None:
        """Add or replace points."""
        made = [edge.Point(one.id, _vectors(one.vector), one.payload) for one in points]
        self._shard(name).update(edge.UpdateOperation.upsert_points(made))
        self._shard(name).flush()

    def delete(self, name: str, ids: Sequence[str], *, wait: bool) -> None:
        """Delete points."""
        self._shard(name).update(edge.UpdateOperation.delete_points(list(ids)))
        self._shard(name).flush()

    def scroll(
        self, name: str, *, limit: int, offset: Any, with_payload: Sequence[str]
    ) -> tuple[list[Any], Any]:
        """Return a page of points, and where the next one begins."""
        request = edge.ScrollRequest(
            limit=limit, offset=offset, with_payload=list(with_payload), with_vector=False
        )
        points, after = self._shard(name).scroll(request)
        return list(points), after

    def query_points(
        self,
        name: str,
        *,
        query: Any,
        using: str,
        limit: int,
        query_filter: models.Filter | None,
        search_params: models.SearchParams | None,
        with_payload: Sequence[str],
        timeout: int | None,
    ) -> Any:
        """Return the best points; there is no time-out."""
        vector = query
        if isinstance(query, models.SparseVector):
            vector = edge.SparseVector(query.indices, query.values)
        request = edge.QueryRequest(
            limit=limit, query=edge.Query.Nearest(vector, using=using),
            filter=None if query_filter is None else _filter(query_filter),
            params=edge.SearchParams(exact=True), with_payload=list(with_payload),
            with_vector=False,
        )  # fmt: skip
        return SimpleNamespace(points=self._shard(name).query(request))

    def close(self) -> None:
        """Close all collections."""
        for shard in self._shards.values():
            shard.close()
        self._shards.clear()

    def _shard(self, name: str) -> Any:
        if name not in self._shards:
            self._shards[name] = edge.EdgeShard.load(str(self._folder / name))
        return self._shards[name]


def _vectors(vectors: Any) -> dict[str, Any]:
    return {
        name: edge.SparseVector(one.indices, one.values)
        if isinstance(one, models.SparseVector)
        else one
        for name, one in vectors.items()
    }


def _filter(given: models.Filter) -> Any:
    """Return a filter of `softcosine.servers.qdrant_filters` in the engine's classes."""

    def part(one: Any) -> Any:
        if isinstance(one, models.Filter):
            return _filter(one)
        if isinstance(one.match, models.MatchAny):
            return edge.FieldCondition(one.key, match=edge.MatchAny(one.match.any))
        limits = one.range.model_dump(exclude_none=True)
        return edge.FieldCondition(one.key, range=edge.RangeFloat(**limits))

    lists: dict[str, Any] = {
        name: [part(one) for one in getattr(given, name) or ()] or None
        for name in ("must", "should", "must_not")
    }
    return edge.Filter(**lists)
