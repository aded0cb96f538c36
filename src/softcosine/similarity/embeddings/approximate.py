"""Embedding neighbours proposed by a vector engine, with exact similarities."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from softcosine._threads import for_each_chunk
from softcosine._validation import check_type, check_whole
from softcosine.errors import InvalidInputError
from softcosine.kernels.selection import pair_similarities
from softcosine.similarity.embeddings.embedding import EmbeddingSimilarity
from softcosine.similarity.embeddings.encoder import EncoderSimilarity
from softcosine.similarity.embeddings.proposers import Proposer, proposer_by_name
from softcosine.similarity.neighbors import Neighbors, StringOrder
from softcosine.similarity.source import SourceState, check_limit

__all__ = ["ApproximateSimilarity"]

_BLOCK_ROWS = 4096
_CHUNK_PAIRS = 65_536
_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class _Prepared:
    """Known strings of a searched tuple, and the engine's index of them."""

    strings: tuple[str, ...]
    positions: NDArray[np.int32]
    units: NDArray[np.float32]
    scales: NDArray[np.float64]
    numbers: dict[str, int]  # of the distinct strings
    of: NDArray[np.int64]  # string number of each column
    most_equal: int  # columns of each string
    built: Any


class ApproximateSimilarity:
    """An embedding source whose neighbours a vector engine proposes.

    Proposals are scored exactly: similarities have the same bits as those of `source`, and
    neighbours the same order. An approximate engine (Faiss, USearch) may miss some neighbours. For
    each new searched tuple, the recall is measured on a sample, logged, and stored in `recall`.
    PyTorch is exact; use it on a GPU.

    Only tuples get an index of the engine, because building it is slow; other sequences are
    searched exactly.

    Parameters
    ----------
    source : EmbeddingSimilarity or EncoderSimilarity
    engine : {"faiss", "usearch", "torch"} or Proposer, default "faiss"
        See `softcosine.similarity.embeddings.proposers` for their settings.
    sampled : int, default 200
        Number of terms for the measurement of recall; 0 disables it.

    Raises
    ------
    InvalidInputError
        If the engine is unknown, the source has no vectors, or `sampled` is negative.
    MissingDependencyError
        At the first search, if the engine's package is not installed.

    Examples
    --------
    >>> from softcosine.similarity.embeddings.approximate import ApproximateSimilarity
    >>> source = EmbeddingSimilarity(["tyre", "tire", "moon"], [[3, 4], [4, 3], [-4, 3]])
    >>> fast = ApproximateSimilarity(source, "faiss")
    >>> fast.similarities(["tyre"], ["tire"]) == source.similarities(["tyre"], ["tire"])
    array([ True])
    """

    __slots__ = ("_prepared", "_proposer", "_recall", "_sampled", "_source")

    def __init__(
        self,
        source: EmbeddingSimilarity | EncoderSimilarity,
        engine: str | Proposer = "faiss",
        *,
        sampled: int = 200,
    ) -> None:
        if not isinstance(source, EmbeddingSimilarity | EncoderSimilarity):
            raise InvalidInputError(
                f"the source is of type {type(source).__name__}; engines search vectors: pass an "
                "EmbeddingSimilarity or EncoderSimilarity, and join the outcome with others."
            )
        check_whole("sampled", sampled, least=0)
        proposer = proposer_by_name(engine) if isinstance(engine, str) else engine
        check_type("the engine", proposer, Proposer, "pass its name, or a proposer")
        self._source = source
        self._proposer = proposer
        self._sampled = sampled
        self._recall: float | None = 1.0 if self._proposer.exact else None
        self._prepared: _Prepared | None = None

    @property
    def source(self) -> EmbeddingSimilarity | EncoderSimilarity:
        """The embedding source."""
        return self._source

    @property
    def recall(self) -> float | None:
        """Share of the exact neighbours found in the last measurement; None before it."""
        return self._recall

    def __repr__(self) -> str:
        return f"ApproximateSimilarity({self._source!r}, {self._proposer!r})"

    def knows(self, terms: Sequence[str]) -> NDArray[np.bool_]:
        """Whether each term has a vector, shape (n_terms,)."""
        return self._source.knows(terms)

    def similarities(self, left: Sequence[str], right: Sequence[str]) -> NDArray[np.float32]:
        """Exact similarity of the pairs ``(left[i], right[i])``, shape (n_pairs,)."""
        return self._source.similarities(left, right)

    def neighbors(
        self, terms: Sequence[str], among: Sequence[str], *, max_neighbors: int
    ) -> Neighbors:
        """Return the most similar strings of `among` that the engine finds."""
        check_limit(max_neighbors)
        if not isinstance(among, tuple) or not len(terms) or not max_neighbors:
            return self._source.neighbors(terms, among, max_neighbors=max_neighbors)
        prepared = self._prepared
        if prepared is None or prepared.strings is not among:
            prepared = self._prepare(among)
            if not self._proposer.exact and self._sampled and len(prepared.positions):
                self._recall = self._measured(prepared, max_neighbors)
            self._prepared = prepared
        return self._search(terms, prepared, max_neighbors)

    def _prepare(self, among: tuple[str, ...]) -> _Prepared:
        table, rows = self._source.table.look_up(among)
        positions = np.flatnonzero(rows >= 0).astype(np.int32)
        units, scales = table.units(rows[positions])
        strings = [among[i] for i in positions.tolist()]
        numbers = {string: number for number, string in enumerate(dict.fromkeys(strings))}
        of = np.fromiter((numbers[string] for string in strings), np.int64, len(strings))
        most_equal = int(np.bincount(of).max()) if len(of) else 0
        built = self._proposer.build(units) if len(of) else None
        return _Prepared(among, positions, units, scales, numbers, of, most_equal, built)

    def _search(self, terms: Sequence[str], prepared: _Prepared, k: int) -> Neighbors:
        table, rows = self._source.table.look_up(terms)
        known = np.flatnonzero(rows >= 0)
        if not len(known) or not len(prepared.positions):
            return Neighbors.none(len(terms))
        order = StringOrder()
        found = []
        for start in range(0, len(known), _BLOCK_ROWS):
            block = known[start : start + _BLOCK_ROWS]
            strings = [terms[i] for i in block.tolist()]
            found.append(self._block(strings, *table.units(rows[block]), prepared, k, order))
        return Neighbors.concatenated(found).of_some(known, len(terms))

    def _block(
        self,
        strings: list[str],
        units: NDArray[np.float32],
        scales: NDArray[np.float64],
        prepared: _Prepared,
        k: int,
        order: StringOrder,
    ) -> Neighbors:
        """Neighbours of some of the known terms."""
        # Cosines that float32 products, or their powers, cannot distinguish.
        error = (units.shape[1] + 8) * 2.0**-24
        margin = 2.0 * error + 2.0**-21 / min(self._source.exponent, 1.0)
        enough = min(k + prepared.most_equal, len(prepared.positions))
        proposed, complete = self._proposer.propose(prepared.built, units, enough, margin)
        proposed[~complete] = -1
        rows, places = np.nonzero(proposed >= 0)
        columns = proposed[rows, places]
        own = np.fromiter((prepared.numbers.get(s, -1) for s in strings), np.int64, len(strings))
        other = own[rows] != prepared.of[columns]
        rows, columns = rows[other], columns[other]
        found = Neighbors.from_pairs(
            rows,
            prepared.positions[columns],
            self._scores(units, scales, prepared, rows, columns),
            n_terms=len(strings),
            among=prepared.strings,
            max_neighbors=k,
            order=order,
        )
        if complete.all():
            return found
        left = np.flatnonzero(~complete)
        rest = self._source.neighbors(
            [strings[i] for i in left.tolist()], prepared.strings, max_neighbors=k
        )
        return Neighbors.from_pairs(
            np.concatenate((found.rows(), left[rest.rows()])),
            np.concatenate((found.indices, rest.indices)),
            np.concatenate((found.similarities, rest.similarities)),
            n_terms=len(strings),
            among=prepared.strings,
            max_neighbors=k,
            order=order,
        )

    def _scores(
        self,
        units: NDArray[np.float32],
        scales: NDArray[np.float64],
        prepared: _Prepared,
        rows: NDArray[np.intp],
        columns: NDArray[np.int64],
    ) -> NDArray[np.float32]:
        """Exact similarities of pairs of rows and columns."""
        used, right = np.unique(columns, return_inverse=True)
        both = np.concatenate((units, prepared.units[used]))
        both_scales = np.concatenate((scales, prepared.scales[used]))
        left = rows.astype(np.int32)
        right = (right + len(units)).astype(np.int32)
        scores = np.empty(len(rows), np.float32)

        def work(start: int, stop: int) -> None:
            pair_similarities(
                both, both_scales, left[start:stop], right[start:stop],
                np.float32(self._source.threshold), self._source.exponent, scores[start:stop],
            )  # fmt: skip

        for_each_chunk(work, len(rows), chunk=_CHUNK_PAIRS)
        return scores

    def _measured(self, prepared: _Prepared, k: int) -> float:
        """Share of the exact neighbours of a sample that the engine finds."""
        step = max(1, len(prepared.positions) // self._sampled)
        asked = [prepared.strings[i] for i in prepared.positions[::step][: self._sampled].tolist()]
        exact = self._source.neighbors(asked, prepared.strings, max_neighbors=k)
        found = self._search(asked, prepared, k)
        n_found = 0
        for i in range(len(asked)):
            theirs = exact.of(i)[1]
            if len(theirs):  # any of equally similar strings is right
                n_found += int((found.of(i)[1] >= theirs[-1]).sum())
        recall = n_found / len(exact.indices) if len(exact.indices) else 1.0
        _log.info(
            "%s finds %.4f of the %d nearest of %d terms among %d.",
            type(self._proposer).__name__, recall, k, len(asked), len(prepared.positions),
        )  # fmt: skip
        return recall

    def state(self) -> SourceState:
        """State of the embedding source only; the engine depends on the machine."""
        return self._source.state()
