"""Terms are similar when a thesaurus says so: synonym lists, and WordNet."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import pairwise
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from softcosine.errors import InvalidInputError
from softcosine.kernels.thesaurus import members_by_concepts, similarities_by_concepts
from softcosine.sources.concepts import Concepts
from softcosine.sources.neighbors import Neighbors, StringOrder
from softcosine.sources.ragged import slices
from softcosine.sources.source import SourceState, check_limit, check_pairs, equal_strings
from softcosine.sources.threads import for_each_chunk

if TYPE_CHECKING:
    pass

__all__ = ["ThesaurusSimilarity"]

_BLOCK_PLACES = 1 << 22  # of neighbours that are found before they are ordered
_CHUNK_TERMS = 256


@dataclass(frozen=True, slots=True)
class _Searched:
    """The known strings of one searched sequence, by the concepts above them."""

    strings: Sequence[str]
    rows: NDArray[np.int32]  # word of each string, or -1
    by_row: NDArray[np.int64]  # positions ordered by their word
    starts: NDArray[np.int64]  # members of concept c are at starts[c]:starts[c + 1]
    members: NDArray[np.int32]  # positions in the sequence, by increasing cost
    costs: NDArray[np.float32]
    keys: NDArray[np.float64]  # concept * span + cost of each member, ascending
    span: float


@dataclass(frozen=True, slots=True)
class _Asked:
    """Known terms, and the members of the concepts above them that can be near enough."""

    searched: _Searched
    rows: NDArray[np.int32]
    starts: NDArray[np.int64]  # entries of asked term i are at starts[i]:starts[i + 1]
    firsts: NDArray[np.int64]  # members to look at
    lasts: NDArray[np.int64]
    costs: NDArray[np.float32]
    weights: NDArray[np.float32]
    room: NDArray[np.int64]  # how many neighbours each term can have at most

    def blocks(self) -> list[slice]:
        """Cut the terms into blocks whose neighbours take a bounded place."""
        before = np.cumsum(self.room)
        cuts = np.searchsorted(before, np.arange(_BLOCK_PLACES, before[-1], _BLOCK_PLACES))
        bounds = np.unique(np.concatenate(([0], cuts, [len(before)])))
        return [slice(int(start), int(stop)) for start, stop in pairwise(bounds)]


class ThesaurusSimilarity:
    r"""Similarity of terms by a thesaurus that people wrote.

    Build it by `load`, from a file of synonyms, or by `from_wordnet`. Both come down to concepts
    that terms stand under: s_ij is the greatest over the common concepts, where it reaches the
    threshold, raised to the exponent (see `softcosine.sources.concepts.Concepts`).

    A term is looked up as it stands, then casefolded; a term of several words is written with
    single spaces between them, as the analyzer writes n-grams.

    Parameters
    ----------
    concepts : Concepts
    name : str
        What the source is called by `repr`.
    threshold : float, default 0.0
        Least similarity that counts, before the exponent, in [0, 1].
    exponent : float, default 1.0
        Above 0; the larger, the less near terms count beside equal ones.
    """

    __slots__ = ("_concepts", "_exponent", "_found", "_name", "_order", "_searched", "_threshold")

    def __init__(
        self, concepts: Concepts, *, name: str, threshold: float = 0.0, exponent: float = 1.0
    ) -> None:
        if not 0.0 <= threshold <= 1.0:
            raise InvalidInputError(f"threshold is {threshold}; needed is a number in [0, 1].")
        if not 0.0 < exponent < np.inf:
            raise InvalidInputError(f"exponent is {exponent}; needed is a number above 0.")
        self._concepts = concepts
        self._name = name
        self._threshold = float(threshold)
        self._exponent = float(exponent)
        self._found = {word: row for row, word in enumerate(concepts.words)}
        self._order = StringOrder()
        self._searched: _Searched | None = None  # the last tuple

    @classmethod
    def load(
        cls,
        path: str | PathLike[str],
        *,
        weight: float = 0.8,
        format: str | None = None,
        progress: Callable[[int, int], None] | None = None,
    ) -> ThesaurusSimilarity:
        r"""Read a file of synonyms; see `softcosine.sources.synonym_files.read_groups`.

        Terms are normalised as the analyzer normalises texts.

        Parameters
        ----------
        path : path
            Solr's and Elasticsearch's rules, tables (CSV, TSV, JSON lines) with or without
            weights, PPDB, or lists of paraphrases; each also gzipped.
        weight : float, default 0.8
            Similarity of the pairs that the file gives no weight, in (0, 1].
        format : str, optional
            ``"solr"``, ``"csv"``, ``"tsv"``, ``"jsonl"``, ``"ppdb"`` or ``"lists"``. By default
            told from the name's ending and the first line.
        progress : callable, optional
            Called as ``progress(done, total)``, in bytes of the file.

        Raises
        ------
        FileNotFoundError
            If there is no such file.
        MalformedFileError
            If a line breaks the format; names the line.

        Examples
        --------
        >>> import pathlib, tempfile
        >>> path = pathlib.Path(tempfile.mkdtemp(), "synonyms.txt")
        >>> _ = path.write_text("# wheels\ntyre, tire\ncar => motor vehicle\n")
        >>> source = ThesaurusSimilarity.load(path, weight=0.75)
        >>> source.similarities(["tyre", "car"], ["Tire", "motor vehicle"]).tolist()
        [0.75, 0.75]
        """
        from softcosine.sources.synonym_files import read_groups
        from softcosine.sources.synonyms import concepts_of_groups

        groups = read_groups(path, weight=weight, format=format, progress=progress)
        return cls(concepts_of_groups(groups), name=Path(path).name)

    @property
    def words(self) -> tuple[str, ...]:
        """The terms that are known."""
        return self._concepts.words

    @property
    def threshold(self) -> float:
        """Least similarity that counts."""
        return self._threshold

    @property
    def exponent(self) -> float:
        """Power that similarities are raised to."""
        return self._exponent

    def __len__(self) -> int:
        """Return the number of words."""
        return len(self._concepts.words)

    def __repr__(self) -> str:
        return f"ThesaurusSimilarity({self._name}, {len(self)} words)"

    def knows(self, terms: Sequence[str]) -> NDArray[np.bool_]:
        """Whether each term is in the thesaurus, shape (n_terms,)."""
        return self._find(terms) >= 0

    def _find(self, terms: Sequence[str]) -> NDArray[np.int32]:
        """Row of each term, or -1."""
        found = self._found
        rows = np.fromiter((found.get(term, -1) for term in terms), np.int32, len(terms))
        for i in np.flatnonzero(rows < 0).tolist():
            rows[i] = found.get(terms[i].casefold(), -1)
        return rows

    def similarities(self, left: Sequence[str], right: Sequence[str]) -> NDArray[np.float32]:
        """Similarity of the pairs ``(left[i], right[i])``, shape (n_pairs,).

        Raises
        ------
        InvalidInputError
            If the two sequences differ in length.
        """
        n_pairs = check_pairs(left, right)
        i, j = self._find(left), self._find(right)
        both = np.flatnonzero((i >= 0) & (j >= 0))
        i, j = i[both], j[both]
        known = np.zeros(len(both), np.float32)
        table = self._concepts

        def work(start: int, stop: int) -> None:
            similarities_by_concepts(
                table.starts,
                table.concepts,
                table.costs,
                table.weights,
                i[start:stop],
                j[start:stop],
                np.float32(self._threshold),
                self._exponent,
                known[start:stop],
            )

        for_each_chunk(work, len(both), chunk=65_536)
        known[i == j] = 1.0
        answer = np.zeros(n_pairs, np.float32)
        answer[both] = known
        answer[equal_strings(left, right)] = 1.0
        return answer

    def neighbors(
        self, terms: Sequence[str], among: Sequence[str], *, max_neighbors: int
    ) -> Neighbors:
        """Return the most similar strings of `among` of every term, exactly.

        Each concept above a term is asked for its members, the nearest first, as far as the
        threshold allows. What is prepared for a tuple is kept for the next call with it.

        Raises
        ------
        InvalidInputError
            If `max_neighbors` is negative.
        """
        check_limit(max_neighbors)
        rows = self._find(terms)
        known = np.flatnonzero(rows >= 0)
        if len(known) == 0 or len(among) == 0 or max_neighbors == 0:
            return Neighbors.none(len(terms))
        searched = self._search(among)
        asked = self._ask(rows[known], searched)
        found = [
            self._of_block([terms[i] for i in known[block].tolist()], asked, block, max_neighbors)
            for block in asked.blocks()
        ]
        counts = np.zeros(len(terms), np.int64)
        counts[known] = np.concatenate([np.diff(part.indptr) for part in found])
        indptr = np.zeros(len(terms) + 1, np.int64)
        np.cumsum(counts, out=indptr[1:])
        return Neighbors(
            indptr,
            np.concatenate([part.indices for part in found]),
            np.concatenate([part.similarities for part in found]),
        )

    def _ask(self, rows: NDArray[np.int32], searched: _Searched) -> _Asked:
        """Which members of which concepts can be near enough to some known terms."""
        table = self._concepts
        of, entries = slices(table.starts, rows)
        concepts, costs = table.concepts[entries], table.costs[entries]
        firsts, lasts = searched.starts[concepts], searched.starts[concepts + 1]
        if self._threshold > 0.0:
            # A little further than the threshold allows: what is too far, the kernel leaves out.
            furthest = 2.000_002 / self._threshold * table.weights[concepts].astype(np.float64)
            ends = np.searchsorted(
                searched.keys, concepts * searched.span + (furthest - costs), side="right"
            )
            lasts = np.clip(ends, firsts, lasts)
        starts = np.searchsorted(of, np.arange(len(rows) + 1))
        before = np.zeros(len(firsts) + 1, np.int64)
        np.cumsum(lasts - firsts, out=before[1:])
        room = np.minimum(np.diff(before[starts]), len(searched.strings))
        return _Asked(searched, rows, starts, firsts, lasts, costs, table.weights[concepts], room)

    def _of_block(
        self, terms: Sequence[str], asked: _Asked, block: slice, max_neighbors: int
    ) -> Neighbors:
        """Neighbours of some of the known terms."""
        searched = asked.searched
        room = asked.room[block]
        places = np.zeros(len(room) + 1, np.int64)
        np.cumsum(room, out=places[1:])
        columns = np.empty(places[-1], np.int32)
        similarities = np.empty(places[-1], np.float32)
        counts = np.zeros(len(room), np.int64)
        rows = np.ascontiguousarray(asked.rows[block])
        starts = asked.starts[block.start : block.stop + 1]

        def work(first: int, last: int) -> None:
            members_by_concepts(
                starts,
                asked.firsts,
                asked.lasts,
                asked.costs,
                asked.weights,
                searched.members,
                searched.costs,
                rows,
                searched.rows,
                places,
                np.float32(self._threshold),
                self._exponent,
                first,
                last,
                columns,
                similarities,
                counts,
            )

        for_each_chunk(work, len(rows), chunk=_CHUNK_TERMS)
        filled = np.arange(places[-1]) - np.repeat(places[:-1], room) < np.repeat(counts, room)
        also_of, also = self._other_names(terms, rows, searched)
        return Neighbors.from_pairs(
            np.concatenate((np.repeat(np.arange(len(rows)), counts), also_of)),
            np.concatenate((columns[filled], also)),
            np.concatenate((similarities[filled], np.ones(len(also), np.float32))),
            n_terms=len(terms),
            among=searched.strings,
            max_neighbors=max_neighbors,
            order=self._order,
        )

    def _other_names(
        self, terms: Sequence[str], rows: NDArray[np.int32], searched: _Searched
    ) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Pairs of a term and a different string that is the same word in another letter case."""
        by_row = searched.rows[searched.by_row]
        bounds = np.stack((np.searchsorted(by_row, rows), np.searchsorted(by_row, rows, "right")))
        of, places = slices(bounds.T.ravel(), 2 * np.arange(len(rows)))
        positions = searched.by_row[places]
        differ = [
            terms[i] != searched.strings[j]
            for i, j in zip(of.tolist(), positions.tolist(), strict=True)
        ]
        return of[differ], positions[differ]

    def _search(self, among: Sequence[str]) -> _Searched:
        if self._searched is not None and self._searched.strings is among:
            return self._searched
        rows = self._find(among)
        by_row = np.argsort(rows, kind="stable")
        by_row = by_row[np.count_nonzero(rows < 0) :]
        of, entries = slices(self._concepts.starts, rows[by_row])
        concepts, costs = self._concepts.concepts[entries], self._concepts.costs[entries]
        span = float(np.floor(self._concepts.costs.max(initial=0.0))) + 1.0  # of costs
        keys = concepts * span + costs
        order = np.argsort(keys, kind="stable")
        starts = np.zeros(len(self._concepts.weights) + 1, np.int64)
        np.cumsum(np.bincount(concepts, minlength=len(starts) - 1), out=starts[1:])
        searched = _Searched(
            among,
            rows,
            by_row,
            starts,
            by_row[of[order]].astype(np.int32),
            costs[order],
            keys[order].astype(np.float64),
            span,
        )
        if isinstance(among, tuple):
            self._searched = searched
        return searched

    def state(self) -> SourceState:
        """Everything that is needed to build an equal source."""
        settings = {
            "name": self._name,
            "threshold": self._threshold,
            "exponent": self._exponent,
        }
        return SourceState("thesaurus", settings, self._concepts.arrays())

    @classmethod
    def from_state(cls, state: SourceState) -> ThesaurusSimilarity:
        """Source that `state` was taken from."""
        return cls(Concepts.from_arrays(state.arrays), **state.settings)
