"""Base of the sources that compare vectors of terms by their cosines."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from softcosine._ragged import running_sum
from softcosine._threads import for_each_chunk
from softcosine.kernels.selection import pair_similarities
from softcosine.similarity.embeddings.nearest import Nearest, UnitVectors
from softcosine.similarity.embeddings.vector_table import DeferredTable, UnitRows, VectorTable
from softcosine.similarity.identity_cache import LastTuple
from softcosine.similarity.neighbors import Neighbors
from softcosine.similarity.source import (
    SourceState,
    check_limit,
    check_pairs,
    check_scale,
    equal_strings,
)


@dataclass(frozen=True, slots=True)
class _Prepared:
    """Known strings of a searched sequence, in code point order."""

    found: tuple[UnitRows, NDArray[np.int32]]  # of all strings
    known: list[str]  # positions in the sequence
    order: NDArray[np.intp]  # numbers in `known`, sorted by string, equal ones by position
    positions: NDArray[np.int32]  # positions in the sequence, sorted by string
    vectors: UnitVectors  # by string
    numbers: dict[str, int]  # of the distinct strings


class ComparedVectors:
    """Vectors of terms, compared by their cosines."""

    __slots__ = ("_prepared", "exponent", "table", "threshold")

    kind: ClassVar[str]  # of the stored state
    compares_vectors: ClassVar[bool] = True  # so S is built faster from all terms at once

    def _set(self, table: VectorTable, threshold: float, exponent: float) -> None:
        check_scale(threshold=threshold, exponent=exponent)
        self.table = table
        self.threshold, self.exponent = float(threshold), float(exponent)
        self._prepared = LastTuple[_Prepared]()

    @classmethod
    def of_table(cls, table: VectorTable, *, threshold: float = 0.3, exponent: float = 4.0) -> Self:
        """Return a source over an existing table; the table is shared, not copied."""
        source = cls.__new__(cls)
        source._set(table, threshold, exponent)
        return source

    @property
    def words(self) -> tuple[str, ...]:
        """The words that have their own vector."""
        return self.table.words

    @property
    def dimensions(self) -> int:
        """Number of components of each vector."""
        return self.table.dimensions

    def __len__(self) -> int:
        """Return the number of words."""
        return len(self.table)

    def __repr__(self) -> str:
        return (
            f"{type(self).__name__}({len(self)} words x {self.dimensions}, "
            f"threshold={self.threshold:g}, exponent={self.exponent:g})"
        )

    def knows(self, terms: Sequence[str]) -> NDArray[np.bool_]:
        """Whether each term has a vector, shape (n_terms,)."""
        return self.table.look_up(terms)[1] >= 0

    def similarities(self, left: Sequence[str], right: Sequence[str]) -> NDArray[np.float32]:
        """Similarity of the pairs ``(left[i], right[i])``, shape (n_pairs,).

        Symmetric to the bit, in [0, 1]; 1 for equal strings, else 0 where one is unknown.
        """
        n_pairs = check_pairs(left, right)
        answer = np.zeros(n_pairs, np.float32)
        self._pairs(left, right, answer)
        answer[equal_strings(left, right)] = 1.0
        return answer

    def _pairs(
        self, left: Sequence[str], right: Sequence[str], answer: NDArray[np.float32]
    ) -> None:
        """Write the similarities of pairs from their vectors."""
        n_pairs = len(answer)
        table, rows = self.table.look_up([*left, *right])
        used, places = np.unique(rows, return_inverse=True)
        if not len(used) or used[-1] < 0:
            return
        units, scales = table.units(np.maximum(used, 0))
        if used[0] < 0:
            scales[0] = 0.0
        i, j = places.astype(np.int32).reshape(2, n_pairs)
        threshold = np.float32(self.threshold)

        def work(start: int, stop: int) -> None:
            part = slice(start, stop)
            pair_similarities(
                units, scales, i[part], j[part], threshold, self.exponent, answer[part]
            )

        for_each_chunk(work, n_pairs, chunk=65_536)

    def neighbors(
        self,
        terms: Sequence[str],
        among: Sequence[str],
        *,
        max_neighbors: int,
    ) -> Neighbors:
        """Return the most similar strings of `among` of every term, exactly.

        A float32 matrix product finds the candidates. Their similarities are recomputed in float64
        and rounded to float32, with the same bits as from `similarities`.
        """
        check_limit(max_neighbors)
        prepared = self._searched(among) if terms is among else None
        table, rows = self.table.look_up(terms) if prepared is None else prepared.found
        known = np.flatnonzero(rows >= 0)
        if len(known) == 0 or max_neighbors == 0:
            return Neighbors.none(len(terms))
        prepared = prepared or self._searched(among)
        if len(prepared.vectors) == 0:
            return Neighbors.none(len(terms))
        nearest = Nearest(prepared.vectors, threshold=self.threshold, exponent=self.exponent)
        k = min(max_neighbors, len(prepared.vectors))
        strings = [terms[i] for i in known.tolist()]
        if len(strings) > 1 and strings == prepared.known and nearest.has_room(k):
            answers = nearest.of_each(np.argsort(prepared.order), k)
        else:
            units, scales = table.units(rows[known])
            numbers = (prepared.numbers.get(string, -1) for string in strings)
            asked = UnitVectors(units, scales, np.fromiter(numbers, np.int32, len(strings)))
            answers = nearest.of(asked, k)
        counts, columns, similarities = (
            np.concatenate(parts) for parts in zip(*answers, strict=True)
        )
        found = Neighbors(running_sum(counts), prepared.positions[columns], similarities)
        return found.of_some(known, len(terms))

    def _searched(self, among: Sequence[str]) -> _Prepared:
        return self._prepared.get(among, lambda: self._prepare(among))

    def _prepare(self, among: Sequence[str]) -> _Prepared:
        """Vectors of the known strings of `among`."""
        table, rows = found = self.table.look_up(among)
        positions = np.flatnonzero(rows >= 0)
        known = [among[i] for i in positions.tolist()]
        order = np.array(sorted(range(len(known)), key=known.__getitem__), np.intp)
        units, scales = table.units(rows[positions][order])
        numbers: dict[str, int] = {}
        strings = (numbers.setdefault(known[i], len(numbers)) for i in order.tolist())
        vectors = UnitVectors(units, scales, np.fromiter(strings, np.int32, len(known)))
        places = positions[order].astype(np.int32)
        return _Prepared(found, known, order, places, vectors, numbers)

    def state(self) -> SourceState:
        """State from which an equal source can be built; vectors keep their dtype."""
        settings, arrays = self.table.state()
        scale = {"threshold": self.threshold, "exponent": self.exponent}
        return SourceState(self.kind, {**scale, **settings}, arrays)

    @classmethod
    def from_state(cls, state: SourceState) -> Self:
        """Build the source from its state; vectors are read on first use."""
        settings = dict(state.settings)
        of_table: dict[str, Any] = {
            name: settings.pop(name) for name in ("composed", "table") if name in settings
        }
        return cls.of_table(DeferredTable(of_table, state.arrays), **settings)
