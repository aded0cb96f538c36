"""Keep apart what no source of similarity should bring together: opposites, and codes."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from softcosine.errors import InvalidInputError
from softcosine.sources.asking import neighbors_by, similarities_by
from softcosine.sources.constraints.antonyms import Antonyms
from softcosine.sources.constraints.decisions import DecidedSimilarity
from softcosine.sources.in_terms import are_pinned
from softcosine.sources.last_tuple import LastTuple
from softcosine.sources.neighbors import Neighbors
from softcosine.sources.parts import SourceOfOne
from softcosine.sources.source import (
    SourceState,
    TermSimilaritySource,
    check_limit,
    check_pairs,
    equal_strings,
    source_from_state,
    state_of,
)
from softcosine.text.packing import PackedStrings, pack_strings

__all__ = ["Guarded", "guarded"]

_DIGIT = re.compile(r"\d")


def guarded(source: TermSimilaritySource) -> Guarded | DecidedSimilarity:
    """Return a source with a guard of the default settings, unless it has one.

    The guard goes below a person's decisions, which have the last word: a pinned pair stays,
    though its words be antonyms or hold digits.
    """
    if isinstance(source, DecidedSimilarity):
        return source.over(guarded(source.source))
    return source if isinstance(source, Guarded) else Guarded(source)


class Guarded(SourceOfOne):
    """Another source's similarities, but for antonyms and for terms with digits.

    *hot* and *cold* stand in the same sentences, so that every source made from texts calls them
    similar; *E1042* and *E1043* are different errors. What the guard keeps apart has similarity
    0, whatever the source says; what it drops uses up no neighbour's place.

    Parameters
    ----------
    source : TermSimilaritySource
    antonyms : Antonyms, "english" or None, default "english"
        Pairs to keep apart; None keeps none apart.
    isolate_digits : bool, default True
        Whether terms with a digit of any script are similar to themselves only.

    Examples
    --------
    >>> from softcosine.sources.vectors.embedding import EmbeddingSimilarity
    >>> inner = EmbeddingSimilarity(["hot", "cold", "warm"], [[1, 0], [1, 0.1], [1, 0.2]])
    >>> source = Guarded(inner, antonyms=Antonyms([("hot", "cold")]))
    >>> [source.similarities(["hot"], [other]).item() > 0 for other in ("cold", "warm")]
    [False, True]
    """

    __slots__ = ("_antonyms", "_free", "_isolate_digits")

    def __init__(
        self,
        source: TermSimilaritySource,
        *,
        antonyms: Antonyms | Literal["english"] | None = "english",
        isolate_digits: bool = True,
    ) -> None:
        if isinstance(antonyms, str):
            if antonyms != "english":
                raise InvalidInputError(
                    f"antonyms is {antonyms!r}; needed is 'english', None or Antonyms(pairs)."
                )
            antonyms = Antonyms.english()
        super().__init__(source)
        self._antonyms: Antonyms | PackedStrings = Antonyms(()) if antonyms is None else antonyms
        self._isolate_digits = isolate_digits
        self._free = LastTuple[tuple[Sequence[str], NDArray[np.int32]]]()

    @property
    def source(self) -> TermSimilaritySource:
        """The source that is guarded."""
        return self._source

    @property
    def antonyms(self) -> Antonyms:
        """Pairs that are kept apart; of a stored guard, read when they are first asked for."""
        if isinstance(self._antonyms, PackedStrings):
            words = self._antonyms.strings()
            self._antonyms = Antonyms(zip(words[::2], words[1::2], strict=True))
        return self._antonyms

    @property
    def isolate_digits(self) -> bool:
        """Whether terms with digits are similar to themselves only."""
        return self._isolate_digits

    def __repr__(self) -> str:
        return (
            f"Guarded({self._source!r}, antonyms={self.antonyms!r}, "
            f"isolate_digits={self._isolate_digits})"
        )

    def similarities(self, left: Sequence[str], right: Sequence[str]) -> NDArray[np.float32]:
        """Similarity of the pairs ``(left[i], right[i])``; 0 for pairs that are kept apart."""
        check_pairs(left, right)
        answer = similarities_by(self._source, left, right).copy()
        answer[self.apart(left, right)] = 0.0
        return answer

    def _over(self, source: TermSimilaritySource) -> Guarded:
        made = Guarded(source, antonyms=None, isolate_digits=self._isolate_digits)
        made._antonyms = self._antonyms
        return made

    def are_pinned(self, left: Sequence[str], right: Sequence[str]) -> NDArray[np.bool_]:
        """Whether balancing leaves the pairs as they are; not what is kept apart."""
        return are_pinned(self._source, left, right) & ~self.apart(left, right)

    def apart(self, left: Sequence[str], right: Sequence[str]) -> NDArray[np.bool_]:
        """Whether the guard keeps ``left[i]`` and ``right[i]`` apart, shape (n_pairs,)."""
        apart = self.antonyms.opposed(left, right)
        if self._isolate_digits:
            apart |= (_have_digits(left) | _have_digits(right)) & ~equal_strings(left, right)
        return apart

    def neighbors(
        self, terms: Sequence[str], among: Sequence[str], *, max_neighbors: int
    ) -> Neighbors:
        """Return the most similar strings of `among` of every term, without those kept apart."""
        check_limit(max_neighbors)
        free, positions = self._free.get(among, lambda: self._digit_free(among))
        asked = np.arange(len(terms))
        if self._isolate_digits:
            asked = np.flatnonzero(~_have_digits(terms))
        if len(asked) == 0 or len(free) == 0 or max_neighbors == 0:
            return Neighbors.none(len(terms))
        n_opposites = np.array([len(self.antonyms.of(terms[i])) for i in asked.tolist()])
        rows: list[NDArray[Any]] = []
        columns: list[NDArray[Any]] = []
        similarities: list[NDArray[np.float32]] = []
        limit = max_neighbors + int(n_opposites.max())
        while len(asked):
            words = terms if len(asked) == len(terms) else [terms[i] for i in asked.tolist()]
            found = neighbors_by(self._source, words, free, max_neighbors=limit)
            stay = self._may_stay(words, free, found, n_opposites)
            kept = found.where(stay, max_neighbors=max_neighbors)
            # Ask on for terms whose list was full, yet holds too few that may stay.
            lengths, n_kept = np.diff(found.indptr), np.diff(kept.indptr)
            more = (n_kept < max_neighbors) & (lengths >= limit) & (n_opposites > 0)
            of = kept.rows()
            done = ~more[of]
            rows.append(asked[of[done]])
            columns.append(positions[kept.indices[done]])
            similarities.append(kept.similarities[done])
            asked, n_opposites = asked[more], n_opposites[more]
            limit *= 2
        if len(rows) == 1:  # in order already
            indptr = np.searchsorted(rows[0], np.arange(len(terms) + 1))
            return Neighbors(indptr.astype(np.int64), columns[0], similarities[0])
        return Neighbors.from_pairs(
            np.concatenate(rows),
            np.concatenate(columns),
            np.concatenate(similarities),
            n_terms=len(terms),
            among=among,
            max_neighbors=max_neighbors,
        )

    def _may_stay(
        self,
        terms: Sequence[str],
        among: Sequence[str],
        found: Neighbors,
        n_opposites: NDArray[np.int64],
    ) -> NDArray[np.bool_]:
        """Which pairs are not of opposites, shape (n_pairs,)."""
        stay = np.ones(len(found.indices), np.bool_)
        rows = found.rows()
        doubtful = np.flatnonzero(n_opposites[rows])
        left = [terms[i] for i in rows[doubtful].tolist()]
        right = [among[j] for j in found.indices[doubtful].tolist()]
        stay[doubtful] = ~self.antonyms.opposed(left, right)
        return stay

    def _digit_free(self, among: Sequence[str]) -> tuple[Sequence[str], NDArray[np.int32]]:
        """Strings of `among` that may be neighbours, and their positions."""
        positions = np.arange(len(among), dtype=np.int32)
        if self._isolate_digits:
            positions = positions[~_have_digits(among)]
        if len(positions) == len(among):
            return among, positions
        return tuple(among[i] for i in positions.tolist()), positions

    def state(self) -> SourceState:
        """Everything that is needed to build an equal source, the antonyms included."""
        pairs = sorted(self.antonyms.pairs)
        blob, offsets = pack_strings([word for pair in pairs for word in pair])
        settings: dict[str, Any] = {"isolate_digits": self._isolate_digits}
        arrays: dict[str, NDArray[Any]] = {"antonyms": blob, "antonym_offsets": offsets}
        return SourceState("guarded", settings, arrays, (state_of(self._source),))

    @classmethod
    def from_state(cls, state: SourceState) -> Guarded:
        """Source that `state` was taken from."""
        words = PackedStrings(state.arrays["antonyms"], state.arrays["antonym_offsets"])
        if len(words) % 2:
            raise InvalidInputError(f"{len(words)} words were saved as pairs of antonyms.")
        made = cls(source_from_state(state.parts[0]), antonyms=None, **state.settings)
        made._antonyms = words
        return made


def _have_digits(terms: Sequence[str]) -> NDArray[np.bool_]:
    """Whether each term holds a digit."""
    return np.fromiter((bool(_DIGIT.search(term)) for term in terms), np.bool_, len(terms))
