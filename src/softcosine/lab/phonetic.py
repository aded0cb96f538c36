"""Similarity of terms with the same pronunciation."""

from __future__ import annotations

import unicodedata
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from softcosine._ragged import running_sum
from softcosine._validation import check_choice, check_whole, is_number, must_be
from softcosine.errors import MissingDependencyError
from softcosine.similarity.identity_cache import LastTuple
from softcosine.similarity.match_chunks import MatchChunk, best_of_chunks
from softcosine.similarity.neighbors import Neighbors, StringOrder
from softcosine.similarity.source import SourceState, check_limit, check_pairs, equal_strings
from softcosine.similarity.spelling.nearby_strings import CodePoints, Scores, similarities_of_pairs

# Names of the key functions in jellyfish.
ALGORITHMS = {
    "metaphone": "metaphone",
    "soundex": "soundex",
    "nysiis": "nysiis",
    "match_rating": "match_rating_codex",
}
_MAX_EDITS = 16  # words with one key are seldom further apart, except for short Soundex keys
_CHUNK_TERMS = 1024
_ROOM = 1 << 20  # pairs per batch


@dataclass(frozen=True, slots=True)
class _Grouped:
    """A searched sequence: its strings grouped by key."""

    strings: tuple[str, ...]
    groups: dict[str, int]
    starts: NDArray[np.int64]
    members: NDArray[np.int32]  # positions, by key and then by string
    ranks: NDArray[np.int64]  # of each string in code point order; equal strings share one
    rank_of: dict[str, int]
    n_of_rank: NDArray[np.int64]


class PhoneticSimilarity:
    r"""Similarity of English terms that are pronounced alike, by phonetic keys.

    Two terms with one key have the fixed `similarity`. With `tempered` it decreases with their
    edit distance, :math:`s (1 - \mathrm{lev}(i, j) / \max(|i|, |j|))`, ignoring case; 0 from 17
    edits.
    Keys use the letters A to Z: case, accents, hyphens and apostrophes are dropped; a term with
    any other character is unknown.

    Needs the package jellyfish: ``pip install 'softcosine[phonetic]'``.

    Parameters
    ----------
    algorithm : {"metaphone", "soundex", "nysiis", "match_rating"}
        Soundex and NYSIIS are for names; metaphone is for English words.
    similarity : float, default 0.5
        Similarity of two different terms with one key, in (0, 1), also as float32.
    tempered : bool, default False
        Whether edit distance reduces the similarity.
    min_key_length : int, default 2
        Terms with a shorter key are unknown: *tea*, *toe* and *tie* share the metaphone T.

    Raises
    ------
    InvalidInputError
        If a setting is out of range.
    MissingDependencyError
        If jellyfish is not installed.

    Examples
    --------
    >>> source = PhoneticSimilarity()
    >>> source.similarities(["night", "night"], ["knight", "nice"]).tolist()
    [0.5, 0.0]
    >>> source.key("Knight")
    'NT'
    """

    label = "sound"
    __slots__ = (
        "_algorithm",
        "_encode",
        "_grouped",
        "_min_key_length",
        "_order",
        "_similarity",
        "_tempered",
    )

    def __init__(
        self,
        algorithm: str = "metaphone",
        *,
        similarity: float = 0.5,
        tempered: bool = False,
        min_key_length: int = 2,
    ) -> None:
        check_choice("algorithm", algorithm, ALGORITHMS)
        if not (is_number(similarity) and 0.0 < np.float32(similarity) < 1.0):
            raise must_be("similarity", similarity, "a number above 0 and below 1")
        check_whole("min_key_length", min_key_length)
        try:
            import jellyfish
        except ImportError:
            raise MissingDependencyError("jellyfish", "phonetic", "PhoneticSimilarity") from None
        self._algorithm = algorithm
        self._encode: Callable[[str], str] = getattr(jellyfish, ALGORITHMS[algorithm])
        self._similarity = float(similarity)
        self._tempered = bool(tempered)
        self._min_key_length = int(min_key_length)
        self._grouped = LastTuple[_Grouped]()
        self._order = StringOrder()

    @property
    def algorithm(self) -> str:
        """Algorithm of the keys."""
        return self._algorithm

    @property
    def similarity(self) -> float:
        """Similarity of two different terms with one key."""
        return self._similarity

    @property
    def tempered(self) -> bool:
        """Whether edit distance reduces the similarity."""
        return self._tempered

    @property
    def min_key_length(self) -> int:
        """Minimum length of a key."""
        return self._min_key_length

    def __repr__(self) -> str:
        return (
            f"PhoneticSimilarity({self._algorithm!r}, similarity={self._similarity:g}, "
            f"tempered={self._tempered}, min_key_length={self._min_key_length})"
        )

    def key(self, term: str) -> str:
        """Return the phonetic key of a term; empty if the term is unknown."""
        if not term.isascii():
            marked = unicodedata.normalize("NFKD", term)
            term = "".join(c for c in marked if not unicodedata.combining(c))
        word = term.casefold().replace("'", "").replace("\u2019", "").replace("-", "")
        if not (word.isascii() and word.isalpha()):
            return ""
        key = self._encode(word)
        return key if len(key) >= self._min_key_length else ""

    def knows(self, terms: Sequence[str]) -> NDArray[np.bool_]:
        """Whether each term has a key, shape (n_terms,)."""
        return np.fromiter((bool(self.key(term)) for term in terms), np.bool_, len(terms))

    def similarities(self, left: Sequence[str], right: Sequence[str]) -> NDArray[np.float32]:
        """Similarity of the pairs ``(left[i], right[i])``, shape (n_pairs,).

        Symmetric to the bit, in [0, 1]; 1 only for equal strings, else 0 if one term is unknown.
        """
        n_pairs = check_pairs(left, right)
        keys = {term: self.key(term) for term in (*left, *right)}
        alike = (bool(keys[a]) and keys[a] == keys[b] for a, b in zip(left, right, strict=True))
        pairs = np.flatnonzero(np.fromiter(alike, np.bool_, n_pairs))
        answer = np.zeros(n_pairs, np.float32)
        answer[pairs] = self._of_one_key(
            [left[i] for i in pairs.tolist()], [right[i] for i in pairs.tolist()]
        )
        answer[equal_strings(left, right)] = 1.0
        return answer

    def _of_one_key(self, left: Sequence[str], right: Sequence[str]) -> NDArray[np.float32]:
        """Similarities of pairs of different terms with one key."""
        if not self._tempered:
            return np.full(len(left), self._similarity, np.float32)
        a = CodePoints.of([term.casefold() for term in left])
        b = CodePoints.of([term.casefold() for term in right])
        return similarities_of_pairs(a, b, Scores.of(a, _MAX_EDITS, self._value))

    def _value(self, distance: int, longer: int) -> float:
        """Tempered similarity of two terms at that distance, the longer of that length."""
        return self._similarity * max(0.0, 1.0 - distance / longer) if longer else 0.0

    def neighbors(
        self, terms: Sequence[str], among: Sequence[str], *, max_neighbors: int
    ) -> Neighbors:
        """Return the most similar strings of `among` of every term, exactly."""
        check_limit(max_neighbors)
        if max_neighbors == 0 or len(terms) == 0 or len(among) == 0:
            return Neighbors.none(len(terms))
        grouped = self._grouped.get(among, lambda: self._group(among))
        return best_of_chunks(
            lambda first, last: self._find(terms, grouped, max_neighbors, first, last),
            n_terms=len(terms),
            chunk=_CHUNK_TERMS,
            among=grouped.strings,
            max_neighbors=max_neighbors,
            order=self._order,
        )

    def _find(
        self, terms: Sequence[str], grouped: _Grouped, max_neighbors: int, first: int, last: int
    ) -> Iterator[MatchChunk]:
        """Find the strings with the keys of the terms from `first` to `last`."""
        asked = [terms[i] for i in range(first, last)]
        empty = len(grouped.starts) - 2  # the group of unknown terms, which stays empty
        groups = np.array([grouped.groups.get(self.key(term), empty) for term in asked])
        ranks = np.array([grouped.rank_of.get(term, -1) for term in asked])
        begins = grouped.starts[groups]
        sizes = grouped.starts[groups + 1] - begins
        if not self._tempered:  # all are equally similar; ties go to the first strings
            n_equal = np.where(ranks >= 0, grouped.n_of_rank[ranks], 0)
            sizes = np.minimum(sizes, max_neighbors + n_equal)
        ends = np.cumsum(sizes)
        row = 0
        while row < len(asked):
            before = ends[row - 1] if row else 0
            stop = max(row + 1, int(np.searchsorted(ends, before + _ROOM, side="right")))
            own = slice(row, stop)
            columns, values = self._pairs(asked[own], ranks[own], begins[own], sizes[own], grouped)
            yield MatchChunk(first + row, ends[own] - before, columns, values)
            row = stop

    def _pairs(
        self,
        terms: Sequence[str],
        ranks: NDArray[np.int64],
        begins: NDArray[np.int64],
        sizes: NDArray[np.int64],
        grouped: _Grouped,
    ) -> tuple[NDArray[np.int32], NDArray[np.float32]]:
        """Positions and similarities of the first members of the groups of some terms."""
        rows = np.repeat(np.arange(len(terms)), sizes)
        places = np.arange(len(rows)) - np.repeat(np.cumsum(sizes) - sizes, sizes)
        columns = grouped.members[begins[rows] + places]
        if self._tempered:
            left = [terms[i] for i in rows.tolist()]
            values = self._of_one_key(left, [grouped.strings[j] for j in columns.tolist()])
        else:
            values = np.full(len(rows), self._similarity, np.float32)
        values[grouped.ranks[columns] == ranks[rows]] = 0.0
        return columns, values

    def _group(self, among: Sequence[str]) -> _Grouped:
        """Group the strings of `among` by key."""
        strings = tuple(among)
        ranks = self._order.keys(strings) >> 32
        groups: dict[str, int] = {}
        keys = [self.key(string) for string in strings]
        numbers = np.array([groups.setdefault(k, len(groups)) if k else -1 for k in keys])
        members = np.lexsort((ranks, numbers)).astype(np.int32)
        members = members[np.count_nonzero(numbers < 0) :]
        # One more group, without members.
        starts = running_sum(np.bincount(numbers[numbers >= 0], minlength=len(groups) + 1))
        rank_of = dict(zip(strings, ranks.tolist(), strict=True))
        return _Grouped(strings, groups, starts, members, ranks, rank_of, np.bincount(ranks))

    def state(self) -> SourceState:
        """Everything that is needed to build an equal source."""
        settings: dict[str, Any] = {
            "algorithm": self._algorithm,
            "similarity": self._similarity,
            "tempered": self._tempered,
            "min_key_length": self._min_key_length,
        }
        return SourceState("phonetic", settings)

    @classmethod
    def from_state(cls, state: SourceState) -> PhoneticSimilarity:
        """Source with the given state."""
        return cls(**state.settings)
