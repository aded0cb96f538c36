"""hnswlib: a hierarchical navigable small-world graph.

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

from softcosine.engines.capabilities import Capabilities
from softcosine.engines.engine import Block, EngineMatches, Vectors
from softcosine.engines.settings import check_settings
from softcosine.errors import MissingDependencyError

__all__ = ["Hnswlib"]

_FILE = "index.hnsw"


class Hnswlib:
    """A graph of hnswlib that ranks by dot product.

    Parameters
    ----------
    links : int, default 32
        Edges per vector (``M``).
    construction : int, default 200
        Candidates during the build (``ef_construction``).
    width : int, default 128
        Candidates of a search (``ef``).
    seed : int, default 1

    Notes
    -----
    On one thread the same vectors give the same graph. Deleted vectors are skipped but keep
    their memory.
    """

    def __init__(
        self, *, links: int = 32, construction: int = 200, width: int = 128, seed: int = 1
    ) -> None:
        self._package = _hnswlib()
        check_settings("hnswlib", links=links, construction=construction, width=width, seed=seed)
        self.links = links
        self.construction = construction
        self.width = width
        self.seed = seed
        self._index: Any = None
        self._n_deleted = 0

    @property
    def capabilities(self) -> Capabilities:
        """Approximate; with adds and deletes."""
        return Capabilities(exact=False, adds=True, deletes=True)

    @property
    def settings(self) -> dict[str, Any]:
        """Arguments of the constructor."""
        names = ("links", "construction", "width", "seed")
        return {name: int(getattr(self, name)) for name in names}

    @property
    def package(self) -> str:
        """Name and version of the package."""
        return f"hnswlib {version('hnswlib')}"

    def build(self, vectors: Vectors, *, threads: int) -> None:
        """Build the graph."""
        self._index = self._package.Index("ip", vectors.n_dimensions)
        self._index.init_index(
            max_elements=vectors.n,
            M=int(self.links),
            ef_construction=int(self.construction),
            random_seed=int(self.seed),
        )
        self._n_deleted = 0
        first = 0
        for block in vectors.blocks():
            self.add(first, block, threads=threads)
            first += block.shape[0]

    def search(self, queries: Block, k: int, *, width: int | None, threads: int) -> EngineMatches:
        """Search the graph."""
        looked = min(int(self.width if width is None else width), self._index.get_current_count())
        self._index.set_ef(max(looked, k))
        slots = np.full((queries.shape[0], k), -1, np.int64)
        scores = np.zeros((queries.shape[0], k), np.float32)
        k = min(k, self._index.get_current_count() - self._n_deleted)
        if k > 0:
            self._fill(queries, k, threads, slots, scores)
        return EngineMatches(slots, scores)

    def add(self, first: int, block: Block, *, threads: int) -> None:
        """Add vectors; a full graph grows by at least half."""
        needed = first + block.shape[0]
        if needed > self._index.get_max_elements():
            self._index.resize_index(max(needed, self._index.get_max_elements() * 3 // 2))
        self._index.add_items(block, np.arange(first, needed), num_threads=threads)

    def delete(self, slots: NDArray[np.int64]) -> None:
        """Mark vectors as deleted; searches skip them."""
        for slot in slots.tolist():
            self._index.mark_deleted(slot)
        self._n_deleted += len(slots)

    def files(self) -> Mapping[str, Callable[[Path], None]]:
        """Return the graph in hnswlib's own format, and the list of deleted slots."""
        return {_FILE: self._write, "deleted": self._write_deleted}

    def load(self, folder: Path, *, n_dimensions: int) -> None:
        """Read the graph into memory."""
        self._index = self._package.Index("ip", n_dimensions)
        self._index.load_index(str(folder / _FILE))
        self._n_deleted = int((folder / "deleted").read_text(encoding="ascii"))

    def _saved(self, path: Path) -> None:
        self._index.save_index(str(path))

    def _write(self, path: Path) -> None:
        self._saved(path)
        # hnswlib raises no error when the disk is full.
        if not path.is_file() or path.stat().st_size != self._index.index_file_size():
            raise OSError(errno.ENOSPC, "could not be written", str(path))

    def _write_deleted(self, path: Path) -> None:
        path.write_text(str(self._n_deleted), encoding="ascii")

    def _fill(
        self,
        queries: Block,
        k: int,
        threads: int,
        slots: NDArray[np.int64],
        scores: NDArray[np.float32],
    ) -> None:
        """Search; a query that reaches fewer than k vectors raises in hnswlib."""
        try:
            found, distances = self._index.knn_query(queries, k=k, num_threads=threads)
        except RuntimeError:
            if k > 1 and queries.shape[0] == 1:
                self._fill(queries, k // 2, threads, slots, scores)
            else:
                for row in range(queries.shape[0]) if queries.shape[0] > 1 else ():
                    part = slice(row, row + 1)
                    self._fill(queries[part], k, threads, slots[part], scores[part])
            return
        slots[:, :k] = found
        scores[:, :k] = 1.0 - distances


def _hnswlib() -> Any:
    try:
        import hnswlib
    except ImportError as error:
        raise MissingDependencyError("hnswlib", "hnswlib", "Serving by hnswlib") from error
    return hnswlib
