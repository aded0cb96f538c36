"""Vector engines that propose candidates for the nearest vectors, scored exactly elsewhere."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from softcosine.errors import InvalidInputError, MissingDependencyError

__all__ = ["FaissProposer", "Proposer", "TorchProposer", "UsearchProposer", "proposer_by_name"]

_DEVICE_CELLS = 1 << 28  # cosines on the device per chunk
_CPU_CELLS = 1 << 22


@runtime_checkable
class Proposer(Protocol):
    """Protocol of engines that propose the nearest columns of rows."""

    @property
    def exact(self) -> bool:
        """Whether complete rows never miss a nearest column."""
        ...

    def build(self, units: NDArray[np.float32]) -> Any:
        """Return an index of unit vectors (n, dimensions) for `propose`."""
        ...

    def propose(
        self, built: Any, units: NDArray[np.float32], k: int, margin: float
    ) -> tuple[NDArray[np.int64], NDArray[np.bool_]]:
        """Return candidate columns for the k nearest, and which rows are complete.

        Parameters
        ----------
        built
            Result of `build`.
        units : ndarray of shape (n_rows, dimensions), float32
        k : int
            At most the number of columns.
        margin : float
            The order of float32 cosines that differ by less than this is uncertain.

        Returns
        -------
        columns : ndarray of shape (n_rows, n), int64
            -1 for no column.
        complete : ndarray of shape (n_rows,), bool
            Other rows must be searched exactly.
        """
        ...


@dataclass(frozen=True, slots=True)
class FaissProposer:
    """Approximate search by Faiss (Douze et al. 2024, "The Faiss library").

    Parameters
    ----------
    factory : str, default "HNSW32"
        Factory string of a Faiss index, such as ``IVF1024,Flat``.
    width : int, default 256
        Search width of a graph (``efSearch``), at least twice the number of neighbours. For an
        inverted file, ``nprobe`` is a sixteenth of it.
    """

    factory: str = "HNSW32"
    width: int = 256
    exact: bool = field(default=False, init=False)

    def build(self, units: NDArray[np.float32]) -> Any:
        """Build the index."""
        faiss = _faiss()
        try:
            index = faiss.index_factory(units.shape[1], self.factory, faiss.METRIC_INNER_PRODUCT)
            if not index.is_trained:
                index.train(units)
            index.add(units)
        except RuntimeError as error:
            raise InvalidInputError(
                f"Faiss cannot build {self.factory!r} of {units.shape[0]} vectors: {error}"
            ) from None
        return index

    def propose(
        self, built: Any, units: NDArray[np.float32], k: int, margin: float
    ) -> tuple[NDArray[np.int64], NDArray[np.bool_]]:
        """Search the index."""
        faiss = _faiss()
        n = min(built.ntotal, k + max(16, k // 4))
        parameters = None
        if isinstance(built, faiss.IndexHNSW):
            parameters = faiss.SearchParametersHNSW(efSearch=max(self.width, 2 * n))
        elif isinstance(built, faiss.IndexIVF):
            parameters = faiss.SearchParametersIVF(nprobe=max(1, self.width // 16))
        _, columns = built.search(units, n, params=parameters)
        return columns, np.ones(len(units), np.bool_)


@dataclass(frozen=True, slots=True)
class UsearchProposer:
    """Approximate search by USearch's graph (Malkov and Yashunin 2018).

    Parameters
    ----------
    connectivity : int, default 32
        Edges per vector.
    width : int, default 256
        Search width of the graph, at least twice the number of neighbours.
    """

    connectivity: int = 32
    width: int = 256
    exact: bool = field(default=False, init=False)

    def build(self, units: NDArray[np.float32]) -> Any:
        """Build the graph."""
        try:
            from usearch.index import Index
        except ImportError as error:
            raise MissingDependencyError(
                "usearch", "usearch", "Approximate search by USearch"
            ) from error
        index = Index(
            ndim=units.shape[1],
            metric="ip",
            dtype="f32",
            connectivity=self.connectivity,
            expansion_add=self.width,
            expansion_search=self.width,
        )
        index.add(np.arange(len(units), dtype=np.uint64), units)
        return index

    def propose(
        self, built: Any, units: NDArray[np.float32], k: int, margin: float
    ) -> tuple[NDArray[np.int64], NDArray[np.bool_]]:
        """Search the graph."""
        n = min(len(built), k + max(16, k // 4))
        built.expansion_search = max(self.width, 2 * n)
        found = built.search(units, n)
        columns = np.asarray(found.keys).astype(np.int64).reshape(len(units), -1)
        counts = np.atleast_1d(np.asarray(getattr(found, "counts", columns.shape[1])))
        columns[np.arange(columns.shape[1]) >= counts.reshape(-1, 1)] = -1
        return columns, np.ones(len(units), np.bool_)


@dataclass(frozen=True, slots=True)
class TorchProposer:
    """Exact search by PyTorch on a device, usually a GPU.

    A float32 product (never less precise) and the device's selection find some more candidates than
    requested. A row is incomplete if more cosines than these lie within the rounding error.

    Parameters
    ----------
    device : str, default "cuda"
        PyTorch's name of the device.
    """

    device: str = "cuda"
    exact: bool = field(default=True, init=False)

    def build(self, units: NDArray[np.float32]) -> Any:
        """Copy the vectors to the device."""
        torch = _torch()
        try:
            return torch.from_numpy(np.array(units)).to(self.device)
        except (RuntimeError, AssertionError) as error:
            raise InvalidInputError(
                f"PyTorch cannot use the device {self.device!r} here: {error}"
            ) from None

    def propose(
        self, built: Any, units: NDArray[np.float32], k: int, margin: float
    ) -> tuple[NDArray[np.int64], NDArray[np.bool_]]:
        """Multiply and select, in chunks of rows."""
        torch = _torch()
        n_columns = len(built)
        n = min(n_columns, k + max(16, k // 4))
        cells = _CPU_CELLS if built.device.type == "cpu" else _DEVICE_CELLS
        step = max(1, cells // n_columns)
        columns = np.empty((len(units), n), np.int64)
        complete = np.empty(len(units), np.bool_)
        precision = torch.get_float32_matmul_precision()
        torch.set_float32_matmul_precision("highest")  # the bound holds for float32 alone
        try:
            for start in range(0, len(units), step):
                part = slice(start, start + step)
                block = torch.from_numpy(np.array(units[part])).to(built.device) @ built.T
                best = torch.topk(block, n, dim=1)
                n_near = (block >= best.values[:, k - 1 : k] - margin).sum(dim=1)
                columns[part] = best.indices.cpu().numpy()
                complete[part] = (n_near <= n).cpu().numpy()
        finally:
            torch.set_float32_matmul_precision(precision)
        return columns, complete


_PROPOSERS = {"faiss": FaissProposer, "usearch": UsearchProposer, "torch": TorchProposer}


def proposer_by_name(name: str) -> Proposer:
    """Return an engine with its default settings.

    Raises
    ------
    InvalidInputError
        If the name is unknown.
    """
    if name not in _PROPOSERS:
        raise InvalidInputError(
            f"engine is {name!r}; it must be one of {', '.join(_PROPOSERS)}, or a proposer."
        )
    proposer: Proposer = _PROPOSERS[name]()
    return proposer


def _faiss() -> Any:
    try:
        import faiss
    except ImportError as error:
        raise MissingDependencyError("faiss-cpu", "faiss", "Approximate search by Faiss") from error
    return faiss


def _torch() -> Any:
    try:
        import torch
    except ImportError as error:
        raise MissingDependencyError("torch", "torch", "Search by PyTorch") from error
    return torch
