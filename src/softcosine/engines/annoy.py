"""Annoy: a forest of random projection trees, in one memory-mapped file."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from importlib.metadata import version
from pathlib import Path
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from softcosine._threads import in_threads
from softcosine._validation import check_choice
from softcosine.engines.capabilities import Capabilities
from softcosine.engines.engine import Block, EngineMatches, Vectors
from softcosine.engines.settings import check_settings
from softcosine.errors import MissingDependencyError

__all__ = ["Annoy"]

_FILE = "index.annoy"


class Annoy:
    """A forest of Annoy; it cannot change once it is built.

    Parameters
    ----------
    metric : {"angular", "dot"}
        ``angular`` ranks by cosine; vectors get the extra coordinate of theory T10. ``dot`` ranks
        by dot product.
    trees : int, default 50
    width : int, optional
        Number of vectors to inspect (``search_k``); trees times k by default.
    seed : int, default 1
    """

    def __init__(
        self,
        metric: Literal["angular", "dot"] = "angular",
        *,
        trees: int = 50,
        width: int | None = None,
        seed: int = 1,
    ) -> None:
        self._kind = _annoy_index()
        check_choice("annoy: metric", metric, ("angular", "dot"))
        check_settings("annoy", trees=trees, width=width, seed=seed)
        self.metric = metric
        self.trees = trees
        self.width = width
        self.seed = seed
        self._index: Any = None

    @property
    def capabilities(self) -> Capabilities:
        """Approximate; without adds and deletes."""
        return Capabilities(
            exact=False, measure="cosine" if self.metric == "angular" else "dot product"
        )

    @property
    def settings(self) -> dict[str, Any]:
        """Arguments of the constructor."""
        return {
            "metric": self.metric,
            "trees": int(self.trees),
            "width": None if self.width is None else int(self.width),
            "seed": int(self.seed),
        }

    @property
    def package(self) -> str:
        """Name and version of the package."""
        return f"annoy {version('annoy')}"

    def build(self, vectors: Vectors, *, threads: int) -> None:
        """Add all vectors and build the trees."""
        index = self._kind(vectors.n_dimensions, self.metric)
        index.set_seed(int(self.seed))
        number = 0
        for block in vectors.blocks():
            for row in block:
                index.add_item(number, row)
                number += 1
        index.build(int(self.trees), n_jobs=threads)
        self._index = index

    def search(self, queries: Block, k: int, *, width: int | None, threads: int) -> EngineMatches:
        """Search the forest, one query per task, on several threads."""
        look = self.width if width is None else width
        search_k = -1 if look is None else int(look)
        slots = np.full((queries.shape[0], k), -1, np.int64)
        scores = np.zeros((queries.shape[0], k))

        def one(number: int) -> None:
            found, measured = self._index.get_nns_by_vector(
                queries[number], k, search_k=search_k, include_distances=True
            )
            slots[number, : len(found)] = found
            scores[number, : len(found)] = measured

        in_threads(one, range(queries.shape[0]), threads)
        if self.metric == "angular":  # a distance: sqrt(2 - 2 cos)
            scores = 1.0 - scores * scores / 2.0
        return EngineMatches(slots, scores)

    def add(self, first: int, block: Block, *, threads: int) -> None:
        """Raise: Annoy cannot add vectors."""
        raise NotImplementedError

    def delete(self, slots: NDArray[np.int64]) -> None:
        """Raise: Annoy cannot delete vectors."""
        raise NotImplementedError

    def files(self) -> Mapping[str, Callable[[Path], None]]:
        """Return the only file, in Annoy's own format."""
        return {_FILE: lambda path: self._index.save(str(path))}

    def load(self, folder: Path, *, n_dimensions: int) -> None:
        """Memory-map the file."""
        index = self._kind(n_dimensions, self.metric)
        index.load(str(folder / _FILE))
        self._index = index


def _annoy_index() -> Any:
    try:
        from annoy import AnnoyIndex
    except ImportError as error:
        raise MissingDependencyError("annoy", "annoy", "Serving by Annoy") from error
    return AnnoyIndex
