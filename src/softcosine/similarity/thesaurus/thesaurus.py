"""Term similarity by a thesaurus: synonym lists and WordNet."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import combinations, pairwise
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from softcosine._progress import Progress
from softcosine._ragged import running_sum, slices
from softcosine._threads import for_each_chunk
from softcosine.errors import SoftCosineWarning
from softcosine.kernels.thesaurus import members_by_concepts, similarities_by_concepts
from softcosine.similarity.deferred import Deferred
from softcosine.similarity.identity_cache import LastTuple
from softcosine.similarity.in_terms import PersonsList
from softcosine.similarity.neighbors import Neighbors, StringOrder
from softcosine.similarity.source import (
    SourceState,
    check_limit,
    check_pairs,
    check_scale,
    equal_strings,
    rows_of,
)
from softcosine.similarity.thesaurus.concepts import Concepts

if TYPE_CHECKING:
    from softcosine.similarity.thesaurus.synonym_files import Group

_BLOCK_PLACES = 1 << 22  # unsorted neighbours per block


@dataclass(frozen=True, slots=True)
class ConceptMembers:
    """Known strings of a searched sequence, grouped by concept.

    Attributes
    ----------
    strings : sequence of str
    rows : ndarray of shape (n_strings,), int32
        Word of each string, or -1.
    by_row : ndarray of shape (n_known,), int64
        Positions of the known strings, ordered by their word.
    starts : ndarray of shape (n_concepts + 1,), int64
        Members of concept c are at ``starts[c]:starts[c + 1]``, in order of increasing cost.
    members : ndarray of shape (n_members,), int32
        Positions in the searched sequence.
    costs : ndarray of shape (n_members,), float32
    keys : ndarray of shape (n_members,), float64
        Concept times `span` plus cost, ascending.
    span : float
        More than any cost.
    """

    strings: Sequence[str]
    rows: NDArray[np.int32]
    by_row: NDArray[np.int64]
    starts: NDArray[np.int64]
    members: NDArray[np.int32]
    costs: NDArray[np.float32]
    keys: NDArray[np.float64]
    span: float

    @classmethod
    def of(cls, table: Concepts, strings: Sequence[str], rows: NDArray[np.int32]) -> ConceptMembers:
        """Group strings by the concepts of their words."""
        by_row = np.argsort(rows, kind="stable")
        by_row = by_row[np.count_nonzero(rows < 0) :]
        of, entries = slices(table.starts, rows[by_row])
        concepts, costs = table.concepts[entries], table.costs[entries]
        span = float(np.floor(table.costs.max(initial=0.0))) + 1.0
        keys = concepts * span + costs
        order = np.argsort(keys, kind="stable")
        starts = running_sum(np.bincount(concepts, minlength=len(table.weights)))
        members = by_row[of[order]].astype(np.int32)
        return cls(
            strings,
            rows,
            by_row,
            starts,
            members,
            costs[order],
            keys[order].astype(np.float64),
            span,
        )

    def other_names(
        self, terms: Sequence[str], rows: NDArray[np.int32]
    ) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Pairs of a query term and the position of a different string of the same word."""
        ordered = self.rows[self.by_row]
        bounds = np.stack((np.searchsorted(ordered, rows), np.searchsorted(ordered, rows, "right")))
        of, places = slices(bounds.T.ravel(), 2 * np.arange(len(rows)))
        positions = self.by_row[places]
        pairs = zip(of.tolist(), positions.tolist(), strict=True)
        differ = np.array([terms[i] != self.strings[j] for i, j in pairs], np.bool_)
        return of[differ], positions[differ]


@dataclass(frozen=True, slots=True)
class ConceptRanges:
    """Known query terms, and the members of their concepts within the threshold.

    Attributes
    ----------
    searched : Searched
    rows : ndarray of shape (n_asked,), int32
        Word of each term.
    starts : ndarray of shape (n_asked + 1,), int64
        Entries of term i are ``starts[i]:starts[i + 1]``.
    firsts, lasts : ndarray of shape (n_entries,), int64
        Range of members to scan.
    costs, weights : ndarray of shape (n_entries,), float32
        Cost from the term to the concept, and weight of the concept.
    room : ndarray of shape (n_asked,), int64
        Upper bound of the neighbours of each term.
    """

    searched: ConceptMembers
    rows: NDArray[np.int32]
    starts: NDArray[np.int64]
    firsts: NDArray[np.int64]
    lasts: NDArray[np.int64]
    costs: NDArray[np.float32]
    weights: NDArray[np.float32]
    room: NDArray[np.int64]

    @classmethod
    def of(
        cls, table: Concepts, rows: NDArray[np.int32], searched: ConceptMembers, threshold: float
    ) -> ConceptRanges:
        """Return the ranges to scan for terms with the given words."""
        of, entries = slices(table.starts, rows)
        concepts, costs = table.concepts[entries], table.costs[entries]
        weights = table.weights[concepts]
        firsts, lasts = searched.starts[concepts], searched.starts[concepts + 1]
        if threshold > 0.0:
            # Slightly wider than the threshold; the kernel drops the excess.
            furthest = 2.000_002 / threshold * weights.astype(np.float64) - costs
            ends = np.searchsorted(searched.keys, concepts * searched.span + furthest, side="right")
            lasts = np.clip(ends, firsts, lasts)
        starts = np.searchsorted(of, np.arange(len(rows) + 1))
        before = running_sum(lasts - firsts)
        room = np.minimum(np.diff(before[starts]), len(searched.strings))
        return cls(searched, rows, starts, firsts, lasts, costs, weights, room)

    def blocks(self) -> list[slice]:
        """Divide the terms into blocks with a bounded number of neighbours."""
        before = np.cumsum(self.room)
        cuts = np.searchsorted(before, np.arange(_BLOCK_PLACES, before[-1], _BLOCK_PLACES))
        bounds = np.unique(np.concatenate(([0], cuts, [len(before)])))
        return [slice(int(start), int(stop)) for start, stop in pairwise(bounds)]


_CHUNK_TERMS = 256
_MOST_OWN = 1000  # larger files are not pinned by default; see decision 40


class ThesaurusSimilarity(PersonsList):
    r"""Term similarity by a thesaurus.

    Build it with `load` from a file of synonyms, which gives a table of terms and concepts. s_ij is
    the greatest similarity over the common concepts if it reaches the threshold, raised to the
    exponent (see `softcosine.similarity.thesaurus.concepts.Concepts`).

    A term is looked up as written, then casefolded. The words of a multi-word term are joined by
    single spaces, like the analyzer's n-grams.

    Parameters
    ----------
    concepts : Concepts
    name : str
        Name of the source in explanations.
    threshold : float, default 0.0
        Lower similarities count as 0. Applies before the exponent; in [0, 1].
    exponent : float, default 1.0
        Above 0. A larger exponent lowers the weight of similar terms relative to equal terms.
    listed : bool, default False
        Whether it is a list of synonyms, whose words an index maps to terms; see
        `softcosine.similarity.in_terms`. Otherwise the index looks up one form of each stem, as
        written.
    pinned : bool, default False
        Whether balancing S leaves the similarities of the list unchanged.

    Raises
    ------
    InvalidInputError
        If a setting is out of range.
    """

    __slots__ = ("_kept", "_numbers", "_order", "_searched", "exponent", "name", "threshold")

    def __init__(
        self,
        concepts: Concepts | Deferred[Concepts],
        *,
        name: str,
        threshold: float = 0.0,
        exponent: float = 1.0,
        listed: bool = False,
        pinned: bool = False,
    ) -> None:
        check_scale(threshold=threshold, exponent=exponent)
        self._kept: Concepts | Deferred[Concepts] = concepts
        self.name = name
        self.threshold = float(threshold)
        self.exponent = float(exponent)
        self.listed = bool(listed)
        self.pinned = bool(pinned)
        self._numbers: dict[str, int] | None = None
        self._order = StringOrder()
        self._searched = LastTuple[ConceptMembers]()

    @property
    def _concepts(self) -> Concepts:
        return self._kept.get() if isinstance(self._kept, Deferred) else self._kept

    @property
    def _found(self) -> dict[str, int]:
        if self._numbers is None:
            self._numbers = {word: row for row, word in enumerate(self._concepts.words)}
        return self._numbers

    @classmethod
    def load(
        cls,
        path: str | PathLike[str],
        *,
        weight: float = 0.8,
        format: str | None = None,
        pinned: bool | None = None,
        progress: Progress | None = None,
    ) -> ThesaurusSimilarity:
        r"""Read a file of synonyms.

        Terms are normalised like texts.

        Parameters
        ----------
        path : path
            Solr or Elasticsearch rules, tables (CSV, TSV, JSON lines) with or without weights,
            PPDB, or lists of paraphrases; each also gzipped.
        weight : float, default 0.8
            Similarity of pairs without a weight in the file, in (0, 1].
        format : str, optional
            ``"solr"``, ``"csv"``, ``"tsv"``, ``"jsonl"``, ``"ppdb"`` or ``"lists"``. By default
            detected from the suffix and the first line.
        pinned : bool, optional
            Whether balancing S leaves the similarities unchanged. By default true for files of at
            most 1,000 entries, which are usually written for one collection. Larger files,
            ``"ppdb"`` and ``"lists"`` are general thesauri, whose entries hold in some texts only.
        progress : callable, optional
            Called as ``progress(done, total)``, in bytes of the file.

        Raises
        ------
        FileNotFoundError
            If the file does not exist.
        MalformedFileError
            If a line violates the format. The message names the line.

        Examples
        --------
        >>> import pathlib, tempfile
        >>> path = pathlib.Path(tempfile.mkdtemp(), "synonyms.txt")
        >>> _ = path.write_text("# wheels\ntyre, tire\ncar, motor vehicle\n")
        >>> source = ThesaurusSimilarity.load(path, weight=0.75)
        >>> source.similarities(["tyre", "car"], ["Tire", "motor vehicle"]).tolist()
        [0.75, 0.75]
        """
        from softcosine.similarity.thesaurus.concepts import concepts_of_groups
        from softcosine.similarity.thesaurus.synonym_files import format_of, read_groups

        format = format_of(path) if format is None else format
        groups, n_entries = read_groups(path, weight=weight, format=format, progress=progress), 0

        def counted() -> Iterator[Group]:
            nonlocal n_entries
            for group in groups:
                n_entries += 1
                yield group

        concepts, name = concepts_of_groups(counted()), Path(path).name
        if pinned is None:
            pinned = format not in ("ppdb", "lists") and n_entries <= _MOST_OWN
            if not pinned and format not in ("ppdb", "lists"):
                warnings.warn(
                    f"{name} has {n_entries:,} entries, so it is taken for a thesaurus: its "
                    "similarities are balanced, and it brings no phrases. If you wrote it for "
                    f"these texts, pass pinned=True, or --source list:{name}.",
                    SoftCosineWarning,
                    stacklevel=2,
                )
        return cls(concepts, name=name, listed=True, pinned=pinned)

    @property
    def words(self) -> tuple[str, ...]:
        """The terms that the source knows."""
        return self._concepts.words

    def __len__(self) -> int:
        """Return the number of words."""
        return len(self._concepts.words)

    def __repr__(self) -> str:
        return (
            f"ThesaurusSimilarity({self.name!r}, {len(self)} words, "
            f"threshold={self.threshold:g}, exponent={self.exponent:g})"
        )

    def renamed(self, names: Callable[[str], Sequence[str]]) -> ThesaurusSimilarity:
        """Return the same concepts with renamed words; a word may get several names.

        The cost of a name to a concept is the least cost of its words.
        """
        table = self._concepts
        numbers: dict[str, int] = {}
        of_word = [
            [numbers.setdefault(name, len(numbers)) for name in names(word)] for word in table.words
        ]
        starts = running_sum(map(len, of_word))
        own = np.array([number for row in of_word for number in row], np.int64)
        words = np.repeat(np.arange(len(of_word)), np.diff(table.starts))
        entry, places = slices(starts, words)
        concepts = Concepts.of_entries(
            tuple(numbers),
            own[places],
            table.concepts[entry],
            table.costs[entry],
            table.weights,
            threshold=self.threshold,
        )
        return ThesaurusSimilarity(
            concepts,
            name=self.name,
            threshold=self.threshold,
            exponent=self.exponent,
            listed=self.listed,
            pinned=self.pinned,
        )

    def written_pairs(self, limit: int) -> Iterator[tuple[str, str]] | None:
        """Return the pairs of words of each group; None if there are more than `limit`."""
        table = self._concepts
        sizes = np.bincount(table.concepts, minlength=len(table.weights)).astype(np.int64)
        if int((sizes * (sizes - 1) // 2).sum()) > limit:
            return None
        words = np.repeat(np.arange(len(table.words)), np.diff(table.starts))
        order = np.argsort(table.concepts, kind="stable")
        groups = np.split(words[order], np.cumsum(sizes)[:-1])
        return (
            (table.words[i], table.words[j])
            for group in groups
            for i, j in combinations(group.tolist(), 2)
        )

    def knows(self, terms: Sequence[str]) -> NDArray[np.bool_]:
        """Whether each term is in the thesaurus, shape (n_terms,)."""
        return rows_of(self._found, terms) >= 0

    def similarities(self, left: Sequence[str], right: Sequence[str]) -> NDArray[np.float32]:
        """Similarity of the pairs ``(left[i], right[i])``, shape (n_pairs,)."""
        n_pairs = check_pairs(left, right)
        i, j = rows_of(self._found, left), rows_of(self._found, right)
        both = np.flatnonzero((i >= 0) & (j >= 0))
        i, j = i[both], j[both]
        known = np.zeros(len(both), np.float32)
        table, scale = self._concepts, (np.float32(self.threshold), self.exponent)
        columns = table.starts, table.concepts, table.costs, table.weights

        def work(start: int, stop: int) -> None:
            part = slice(start, stop)
            similarities_by_concepts(*columns, i[part], j[part], *scale, known[part])

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

        For each concept of a term, its members are scanned, the nearest first, down to the
        threshold. The preparation of `among` is cached if it is a tuple.
        """
        check_limit(max_neighbors)
        rows = rows_of(self._found, terms)
        known = np.flatnonzero(rows >= 0)
        if len(known) == 0 or len(among) == 0 or max_neighbors == 0:
            return Neighbors.none(len(terms))
        searched = self._searched.get(
            among, lambda: ConceptMembers.of(self._concepts, among, rows_of(self._found, among))
        )
        asked = ConceptRanges.of(self._concepts, rows[known], searched, self.threshold)
        found = [
            self._of_block([terms[i] for i in known[block].tolist()], asked, block, max_neighbors)
            for block in asked.blocks()
        ]
        return Neighbors.concatenated(found).of_some(known, len(terms))

    def _of_block(
        self, terms: Sequence[str], asked: ConceptRanges, block: slice, max_neighbors: int
    ) -> Neighbors:
        """Neighbours of some of the known terms."""
        searched = asked.searched
        room = asked.room[block]
        places = running_sum(room)
        columns = np.empty(places[-1], np.int32)
        similarities = np.empty(places[-1], np.float32)
        counts = np.zeros(len(room), np.int64)
        rows = np.ascontiguousarray(asked.rows[block])
        starts = asked.starts[block.start : block.stop + 1]

        ranges = starts, asked.firsts, asked.lasts, asked.costs, asked.weights
        members = searched.members, searched.costs, rows, searched.rows, places
        scale = np.float32(self.threshold), self.exponent

        def work(first: int, last: int) -> None:
            members_by_concepts(
                *ranges, *members, *scale, first, last, columns, similarities, counts
            )

        for_each_chunk(work, len(rows), chunk=_CHUNK_TERMS)
        filled = np.arange(places[-1]) - np.repeat(places[:-1], room) < np.repeat(counts, room)
        also_of, also = searched.other_names(terms, rows)
        pairs = np.repeat(np.arange(len(rows)), counts), columns[filled], similarities[filled]
        others = also_of, also, np.ones(len(also), np.float32)
        return self._order.best(
            searched.strings, pairs, others, n_terms=len(terms), max_neighbors=max_neighbors
        )

    def state(self) -> SourceState:
        """State from which an equal source can be built."""
        settings = {name: getattr(self, name) for name in ("name", "threshold", "exponent")}
        if self.listed:
            settings |= {"listed": True, "pinned": self.pinned}
        kept = self._kept
        arrays = kept.arrays if isinstance(kept, Deferred) else kept.arrays()
        return SourceState("thesaurus", settings, arrays)

    @classmethod
    def from_state(cls, state: SourceState) -> ThesaurusSimilarity:
        """Build the source from its state; the table is built on first use."""
        return cls(Deferred(state.arrays, Concepts.from_arrays), **state.settings)
