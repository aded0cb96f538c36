"""USearch: a hierarchical navigable small-world graph.

Malkov and Yashunin 2018, arXiv:1603.09320.
"""

from __future__ import annotations

import errno
from collections.abc import Callable, Mapping
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from softcosine._validation import check_choice, check_flag
from softcosine.engines.capabilities import Capabilities
from softcosine.engines.engine import Block, EngineMatches, Vectors
from softcosine.engines.settings import check_settings
from softcosine.errors import MissingDependencyError

__all__ = ["Usearch"]

_FILE = "index.usearch"
_DTYPES = ("f32", "f16", "bf16", "i8")


class Usearch:
    """A graph of USearch that ranks by dot product.

    Parameters
    ----------
    links : int, default 32
        Edges per vector (``connectivity``).
    construction : int, default 200
        Candidates during the build (``expansion_add``).
    width : int, default 128
        Candidates of a search (``expansion_search``).
    dtype : {"f32", "f16", "bf16", "i8"}
        Stored type of the coordinates.
    exact : bool, default False
        Whether searches compare all vectors.

    Notes
    -----
    On one thread the same vectors give the same graph.
    """

    def __init__(
        self,
        *,
        links: int = 32,
        construction: int = 200,
        width: int = 128,
        dtype: str = "f32",
        exact: bool = False,
    ) -> None:
        self._kind = _usearch_index()
        check_settings("usearch", links=links, construction=construction, width=width)
        check_choice("usearch: dtype", dtype, _DTYPES)
        check_flag("usearch: exact", exact)
        self.links = links
        self.construction = construction
        self.width = width
        self.dtype = dtype
        self.exact = exact
        self._index: Any = None

    @property
    def capabilities(self) -> Capabilities:
        """With adds and deletes; exact if all vectors are compared at full precision."""
        return Capabilities(exact=self.exact and self.dtype == "f32", adds=True, deletes=True)

    @property
    def settings(self) -> dict[str, Any]:
        """Arguments of the constructor."""
        return {
            "links": int(self.links),
            "construction": int(self.construction),
            "width": int(self.width),
            "dtype": self.dtype,
            "exact": self.exact,
        }

    @property
    def package(self) -> str:
        """Name and version of the package."""
        return f"usearch {version('usearch')}"

    def build(self, vectors: Vectors, *, threads: int) -> None:
        """Build the graph."""
        self._index = self._empty(vectors.n_dimensions)
        first = 0
        for block in vectors.blocks():
            self.add(first, block, threads=threads)
            first += block.shape[0]

    def search(self, queries: Block, k: int, *, width: int | None, threads: int) -> EngineMatches:
        """Search the graph, or all vectors."""
        n_queries = queries.shape[0]
        slots, scores = np.full((n_queries, k), -1, np.int64), np.zeros((n_queries, k), np.float32)
        looked = min(int(self.width if width is None else width), len(self._index))
        self._index.expansion_search = max(looked, k)  # USearch allocates that many
        found = self._index.search(queries, k, threads=threads, exact=self.exact)
        # A single query returns only the results; several also return their number.
        keys = np.atleast_2d(np.asarray(found.keys)).astype(np.int64)
        counts = np.asarray(getattr(found, "counts", [keys.shape[1]])).reshape(-1, 1)
        there = np.arange(keys.shape[1]) < counts
        slots[:, : keys.shape[1]] = np.where(there, keys, -1)
        scores[:, : keys.shape[1]] = 1.0 - np.atleast_2d(np.asarray(found.distances))
        return EngineMatches(slots, scores)

    def add(self, first: int, block: Block, *, threads: int) -> None:
        """Add vectors."""
        numbers = np.arange(first, first + block.shape[0], dtype=np.uint64)
        self._index.add(numbers, block, threads=threads)

    def delete(self, slots: NDArray[np.int64]) -> None:
        """Delete vectors."""
        self._index.remove(slots.astype(np.uint64))

    def files(self) -> Mapping[str, Callable[[Path], None]]:
        """Return the only file, in USearch's own format."""
        return {_FILE: self._write}

    def load(self, folder: Path, *, n_dimensions: int) -> None:
        """Read the graph into memory."""
        self._index = self._empty(n_dimensions)
        self._index.load(str(folder / _FILE))

    def _write(self, path: Path) -> None:
        try:
            self._index.save(str(path))
        except RuntimeError as error:  # for example on a full disk
            raise OSError(errno.ENOSPC, f"could not be written: {error}", str(path)) from error

    def _empty(self, n_dimensions: int) -> Any:
        return self._kind(
            ndim=n_dimensions,
            metric="ip",
            dtype=self.dtype,
            connectivity=int(self.links),
            expansion_add=int(self.construction),
            expansion_search=int(self.width),
        )


def _usearch_index() -> Any:
    try:
        from usearch.index import Index
    except ImportError as error:
        raise MissingDependencyError("usearch", "usearch", "Serving by USearch") from error
    return Index
