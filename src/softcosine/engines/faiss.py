"""Faiss: flat indexes, graphs, inverted lists and product quantisation, by a factory string.

Douze et al. 2024, "The Faiss library", arXiv:2401.08281.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from softcosine._validation import check_type
from softcosine.engines.capabilities import Capabilities
from softcosine.engines.engine import Block, EngineMatches, Vectors
from softcosine.engines.settings import check_settings
from softcosine.errors import InvalidInputError, MissingDependencyError

__all__ = ["Faiss"]

_FILE = "index.faiss"
_CANDIDATES, _LISTS = 128, 16  # default widths of graphs and of inverted lists


_NO_GRAPH = re.compile(r"HNSW0*[01](?!\d)")


class Faiss:
    """An index of Faiss that ranks by dot product.

    Parameters
    ----------
    factory : str, default "HNSW32"
        Faiss factory string: ``Flat`` (exact), ``HNSW32`` (a graph),
        ``IVF256,Flat`` (inverted lists), ``PQ32`` (32 bytes per vector), ``OPQ32,IVF256,PQ32``.
    width : int, optional
        Candidates of a graph (``efSearch``; 128 by default; use at least k, or `rerank`), or
        inverted lists to inspect (``nprobe``; 16 by default).
    construction : int, default 200
        Candidates during the build of a graph (``efConstruction``).
    trained_on : int, default 100_000
        Maximum number of vectors to train quantisers and lists on.

    Notes
    -----
    On one thread the same vectors give the same index; graphs that several threads build differ
    from run to run.
    """

    def __init__(
        self,
        factory: str = "HNSW32",
        *,
        width: int | None = None,
        construction: int = 200,
        trained_on: int = 100_000,
    ) -> None:
        self._faiss = _faiss()
        check_type("faiss: factory", factory, str, "pass a string")
        check_settings("faiss", width=width, construction=construction, trained_on=trained_on)
        self.factory = factory
        self.width = width
        self.construction = construction
        self.trained_on = trained_on
        self._index: Any = None

    @property
    def capabilities(self) -> Capabilities:
        """Depend on the factory string, and are known only after the build."""
        faiss, core = self._faiss, self._core()
        deletes = isinstance(core, faiss.IndexFlatCodes | faiss.IndexIVF)
        return Capabilities(
            exact=isinstance(self._bare(), faiss.IndexFlat),
            adds=deletes or isinstance(core, faiss.IndexHNSW),
            deletes=deletes,
        )

    @property
    def settings(self) -> dict[str, Any]:
        """Arguments of the constructor."""
        return {
            "factory": self.factory,
            "width": None if self.width is None else int(self.width),
            "construction": int(self.construction),
            "trained_on": int(self.trained_on),
        }

    @property
    def package(self) -> str:
        """Name and version of the package."""
        return f"faiss {self._faiss.__version__}"

    def build(self, vectors: Vectors, *, threads: int) -> None:
        """Train on a sample if the index needs training, and add all vectors."""
        try:
            index = self._made(vectors.n_dimensions)
            with self._on(threads):
                if not index.is_trained:
                    index.train(vectors.sample(int(self.trained_on)))
                self._index = index
                first = 0
                for block in vectors.blocks():
                    self.add(first, block, threads=threads)
                    first += block.shape[0]
        except RuntimeError as error:
            self._index = None
            raise InvalidInputError(
                f"Faiss cannot make {self.factory!r} of {vectors.n:,} vectors of "
                f"{vectors.n_dimensions:,} dimensions: {_reason(error)}"
            ) from None

    def search(self, queries: Block, k: int, *, width: int | None, threads: int) -> EngineMatches:
        """Search by dot product."""
        parameters = self._parameters(self._index, self.width if width is None else width)
        with self._on(threads):
            scores, slots = self._index.search(queries, k, params=parameters)
        return EngineMatches(slots, scores)

    def add(self, first: int, block: Block, *, threads: int) -> None:
        """Add vectors."""
        with self._on(threads):
            if isinstance(self._core(), self._faiss.IndexIVF | self._faiss.IndexFlatCodes):
                numbers = np.arange(first, first + block.shape[0], dtype=np.int64)
                self._index.add_with_ids(block, numbers)
            else:
                self._index.add(block)  # Faiss numbers them from its current size

    def delete(self, slots: NDArray[np.int64]) -> None:
        """Delete vectors."""
        self._index.remove_ids(slots)

    def files(self) -> Mapping[str, Callable[[Path], None]]:
        """Return the only file, in Faiss's own format."""
        return {_FILE: self._write}

    def load(self, folder: Path, *, n_dimensions: int) -> None:
        """Read the index into memory."""
        # By Python's file objects, which accept all paths on all systems.
        with (folder / _FILE).open("rb") as file:
            self._index = self._faiss.read_index(self._faiss.PyCallbackIOReader(file.read))

    def _write(self, path: Path) -> None:
        with path.open("wb") as file:
            self._faiss.write_index(self._index, self._faiss.PyCallbackIOWriter(file.write))

    def _made(self, n_dimensions: int) -> Any:
        """Return an empty index that ranks by dot product."""
        faiss = self._faiss
        if _NO_GRAPH.search(self.factory):  # crashes Faiss
            raise RuntimeError("a graph needs 2 links or more")
        index = faiss.index_factory(n_dimensions, self.factory, faiss.METRIC_INNER_PRODUCT)
        # Some combinations drop the requested metric and rank by distance.
        if index.metric_type != faiss.METRIC_INNER_PRODUCT:
            raise RuntimeError("it does not rank by dot product")
        if isinstance(index, faiss.IndexRefine):  # does not pass a width on
            raise RuntimeError("leave the refining out, and re-rank by rerank, which is exact")
        self._index = index
        core = self._core()
        if isinstance(index, faiss.IndexPreTransform):
            for number in range(index.chain.size()):
                self._check_transform(faiss.downcast_VectorTransform(index.chain.at(number)))
        # Faiss prints a warning if clusters have few points; `recall` measures their quality.
        for owner in [core, getattr(core, "pq", core)]:
            if hasattr(owner, "cp"):
                owner.cp.min_points_per_centroid = 1
        if isinstance(core, faiss.IndexHNSW):
            core.hnsw.efConstruction = int(self.construction)
        # Indexes without ids of their own get an id map, so that vectors can be deleted.
        if isinstance(core, faiss.IndexFlatCodes) and not isinstance(index, faiss.IndexIDMap):
            return faiss.IndexIDMap2(index)
        return index

    def _check_transform(self, transform: Any) -> None:
        """Raise for transforms that change dot products: centring, whitening, normalisation."""
        faiss = self._faiss
        kept = (faiss.OPQMatrix, faiss.RandomRotationMatrix, faiss.RemapDimensionsTransform)
        if not isinstance(transform, kept):
            raise RuntimeError(
                f"{type(transform).__name__} changes dot products; leave it out, or take the "
                "route lsa with fewer dimensions"
            )

    def _bare(self) -> Any:
        """Return the index without its id map."""
        index, faiss = self._index, self._faiss
        if isinstance(index, faiss.IndexIDMap):
            return faiss.downcast_index(index.index)
        return index

    def _core(self) -> Any:
        """Return the index that holds the vectors, behind id maps and transforms."""
        index = self._bare()
        while isinstance(index, self._faiss.IndexPreTransform):
            index = self._faiss.downcast_index(index.index)
        return index

    def _parameters(self, index: Any, width: int | None) -> Any:
        """Return the parameters of a search that set its width; None if the index has none."""
        faiss = self._faiss
        if isinstance(index, faiss.IndexIDMap):
            return self._parameters(faiss.downcast_index(index.index), width)
        if isinstance(index, faiss.IndexPreTransform):
            inner = self._parameters(faiss.downcast_index(index.index), width)
            if inner is None:
                return None
            return faiss.SearchParametersPreTransform(index_params=inner)
        if isinstance(index, faiss.IndexHNSW):
            return faiss.SearchParametersHNSW(efSearch=int(width or _CANDIDATES))
        if isinstance(index, faiss.IndexIVF):
            return faiss.SearchParametersIVF(nprobe=min(int(width or _LISTS), index.nlist))
        return None

    @contextmanager
    def _on(self, threads: int) -> Iterator[None]:
        """Set the number of threads of Faiss, which is one number for the whole process."""
        before = self._faiss.omp_get_max_threads()
        if before != threads:
            self._faiss.omp_set_num_threads(threads)
        try:
            yield
        finally:
            if before != threads:
                self._faiss.omp_set_num_threads(before)


def _faiss() -> Any:
    try:
        import faiss
    except ImportError as error:
        raise MissingDependencyError("faiss", "faiss", "Serving by Faiss") from error
    return faiss


def _reason(error: RuntimeError) -> str:
    """Return the last sentence of an error, without the position in Faiss's code."""
    return " ".join(str(error).rpartition(": ")[2].split()).rstrip(".") + "."
