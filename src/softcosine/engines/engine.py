"""The protocol of vector engines.

An engine is one file: a class with the methods of `Engine`, whose constructor takes its settings,
and a line in `softcosine.engines.registry`. All other code, from texts to hits, is shared.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol, TypeAlias, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from softcosine.engines.capabilities import Capabilities

__all__ = ["Block", "Engine", "EngineMatches", "Vectors"]

Block: TypeAlias = NDArray[np.float32]  # vectors as rows, in C order


@dataclass(frozen=True, slots=True)
class Vectors:
    """Vectors to build an engine of, block by block; they can be read several times.

    Attributes
    ----------
    n : int
        Number of vectors, at least 1.
    n_dimensions : int
        At least 1.
    blocks : callable
        Yields the same vectors at each call, in the order of their numbers, as blocks of shape
        (any, n_dimensions).
    """

    n: int
    n_dimensions: int
    blocks: Callable[[], Iterator[Block]]

    def sample(self, most: int) -> NDArray[np.float32]:
        """Return at most that many vectors, evenly spaced, as a training sample."""
        step = max(1, -(-self.n // most))
        taken, first = [], 0
        for block in self.blocks():
            taken.append(np.asarray(block[-first % step :: step]))
            first += block.shape[0]
        return np.ascontiguousarray(np.concatenate(taken), np.float32)


@dataclass(frozen=True, slots=True)
class EngineMatches:
    """Result of an engine's search.

    Attributes
    ----------
    slots : ndarray of shape (n_queries, k), int64
        Numbers of vectors, in any order; -1 if fewer than k were found.
    scores : ndarray of shape (n_queries, k), float32 or float64
        Dot products or cosines, as the `Capabilities` say; ignored beside -1.
    """

    slots: NDArray[np.int64]
    scores: NDArray[np.floating[Any]]


@runtime_checkable
class Engine(Protocol):
    """Searches the vectors of largest dot product, or cosine, with a query.

    Vectors are numbered from 0 in the order of build and add; numbers of deleted vectors are not
    reused. Several threads may search at once; no other method runs during a search.
    """

    @property
    def capabilities(self) -> Capabilities:
        """Capabilities with these settings."""
        ...

    @property
    def settings(self) -> Mapping[str, Any]:
        """Arguments of the constructor, with defaults, as JSON types."""
        ...

    @property
    def package(self) -> str:
        """Name and version of the package behind the engine."""
        ...

    def build(self, vectors: Vectors, *, threads: int) -> None:
        """Replace the contents by these vectors.

        Raises
        ------
        InvalidInputError
            If the settings do not fit the vectors.
        """
        ...

    def search(self, queries: Block, k: int, *, width: int | None, threads: int) -> EngineMatches:
        """Return at least k vectors for each query.

        Parameters
        ----------
        queries : array of shape (n_queries, n_dimensions)
        k : int
            At least 1, at most the number of vectors.
        width : int, optional
            Search width in the engine's own unit; its setting by default.
        threads : int
        """
        ...

    def add(self, first: int, block: Block, *, threads: int) -> None:
        """Add vectors, numbered from `first`; called only if the capabilities include adds."""
        ...

    def delete(self, slots: NDArray[np.int64]) -> None:
        """Delete vectors; called only if the capabilities include deletes."""
        ...

    def files(self) -> Mapping[str, Callable[[Path], None]]:
        """Return the files to save, each with a function that writes it to a path."""
        ...

    def load(self, folder: Path, *, n_dimensions: int) -> None:
        """Load the files of a folder instead of `build`; their checksums are already verified."""
        ...
