"""What every engine looks like from here.

An engine is one file: a class with the methods of `Engine`, whose constructor takes its settings,
and a line in `softcosine.engines.registry`. The rest, from texts to hits, is the same for all.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol, TypeAlias, runtime_checkable

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from softcosine.engines.capabilities import Capabilities

__all__ = ["Block", "Engine", "EngineMatches", "Vectors"]

# Some vectors as rows: float32 in C order for engines of dense vectors, csr_array for the others.
Block: TypeAlias = NDArray[np.float32] | csr_array


@dataclass(frozen=True, slots=True)
class Vectors:
    """Vectors that an engine is built of, block by block, as often as it wants to see them.

    Attributes
    ----------
    n : int
        At least 1.
    n_dimensions : int
        At least 1.
    blocks : callable
        Gives the vectors anew at each call, the same each time, in the order of their numbers:
        blocks of shape (any, n_dimensions).
    """

    n: int
    n_dimensions: int
    blocks: Callable[[], Iterator[Block]]

    def sample(self, most: int) -> NDArray[np.float32]:
        """Return at most so many dense vectors, at even distances: to train on."""
        step = max(1, -(-self.n // most))
        taken, first = [], 0
        for block in self.blocks():
            taken.append(np.asarray(block[-first % step :: step]))
            first += block.shape[0]
        return np.ascontiguousarray(np.concatenate(taken), np.float32)


@dataclass(frozen=True, slots=True)
class EngineMatches:
    """What an engine finds.

    Attributes
    ----------
    slots : ndarray of shape (n_queries, k), int64
        Numbers of vectors, in any order; -1 where there are fewer.
    scores : ndarray of shape (n_queries, k), float32 or float64
        Dot products or cosines, as its `Capabilities` say; what stands beside -1 is not read.
    """

    slots: NDArray[np.int64]
    scores: NDArray[np.floating[Any]]


@runtime_checkable
class Engine(Protocol):
    """Finds the vectors of greatest dot product, or cosine, with a query.

    Vectors are numbered from 0 in the order in which they are built and added; numbers of deleted
    ones are not given again. A search may run in several threads at once; nothing else does
    meanwhile.
    """

    @property
    def capabilities(self) -> Capabilities:
        """What it can do with its settings."""
        ...

    @property
    def settings(self) -> Mapping[str, Any]:
        """What its constructor takes, in JSON's types; defaults too."""
        ...

    @property
    def package(self) -> str:
        """Name and version of the package that does the work."""
        ...

    def build(self, vectors: Vectors, *, threads: int) -> None:
        """Hold vectors, and no others.

        Raises
        ------
        InvalidInputError
            If the settings do not go with them.
        """
        ...

    def search(self, queries: Block, k: int, *, width: int | None, threads: int) -> EngineMatches:
        """Find k vectors for each query, or more.

        Parameters
        ----------
        queries : array of shape (n_queries, n_dimensions)
        k : int
            At least 1, at most as many as there are vectors.
        width : int, optional
            How broadly to look, in the engine's own measure; that of its settings by default.
        threads : int
        """
        ...

    def add(self, first: int, block: Block, *, threads: int) -> None:
        """Hold more vectors, numbered from `first` on; asked only of engines that add."""
        ...

    def delete(self, slots: NDArray[np.int64]) -> None:
        """Let go of vectors; asked only of engines that delete."""
        ...

    def files(self) -> Mapping[str, Callable[[Path], None]]:
        """Return the files to save, each with what writes it to a path."""
        ...

    def load(self, folder: Path, *, n_dimensions: int) -> None:
        """Read the files of a folder back, in place of `build`; their checksums are right."""
        ...
