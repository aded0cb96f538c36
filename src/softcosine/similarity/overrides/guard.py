"""The guard: no similarity between antonyms, terms with digits, or overlapping character pairs."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace
from functools import lru_cache
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from softcosine.errors import InvalidInputError
from softcosine.similarity.bundled import check_reference, reference_to
from softcosine.similarity.checked_answers import neighbors_by, similarities_by
from softcosine.similarity.composite import Settled, SourceOfOne, neighbors_in_rounds
from softcosine.similarity.identity_cache import LastTuple
from softcosine.similarity.in_terms import are_pinned, have_pins
from softcosine.similarity.neighbors import Neighbors
from softcosine.similarity.overrides.antonyms import Antonyms
from softcosine.similarity.overrides.decisions import DecidedSimilarity
from softcosine.similarity.registry import source_from_state
from softcosine.similarity.source import (
    SourceState,
    TermSimilaritySource,
    check_limit,
    check_pairs,
    equal_strings,
    state_of,
)
from softcosine.text.packing import pack_strings, unpack_strings
from softcosine.text.words import JOINED, pair_in_run

_DIGIT = re.compile(rf"\d|^{JOINED}")  # or a joined word, whose parts are terms
_IDEOGRAPHS = re.compile(
    "[\u3005-\u3007\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U0003ffff]+"
)
_Searched = tuple[Sequence[str], NDArray[np.int64], NDArray[np.bool_]]
_MORE_ASKED = 4  # extra neighbours requested at first for a character pair


def guarded(
    source: TermSimilaritySource, *, antonyms: Antonyms | Literal["english"] | None = "english"
) -> Guarded | DecidedSimilarity:
    """Return the source with a guard, unless it has one.

    The guard is inserted below your decisions, so that they take precedence: a pinned pair stays
    similar, even if its words are antonyms or contain digits.

    Parameters
    ----------
    source : TermSimilaritySource
    antonyms : Antonyms, "english" or None, default "english"
        As for `Guarded`; its other settings have their defaults.
    """
    if isinstance(source, DecidedSimilarity):
        return source.over(guarded(source.source, antonyms=antonyms))
    return source if isinstance(source, Guarded) else Guarded(source, antonyms=antonyms)


class Guarded(SourceOfOne):
    """The similarities of a source, with 0 for antonyms and terms with digits.

    Pairs with digits that one of your pinned lists inside the source has keep their similarity.

    *hot* and *cold* occur in the same sentences, so sources learned from texts give them a high
    similarity; *E1042* and *E1043* are different errors. The guard sets such similarities to 0. The
    next neighbours take the places of those that it removes.

    Parameters
    ----------
    source : TermSimilaritySource
    antonyms : Antonyms, "english" or None, default "english"
        Pairs that get similarity 0; None means no pairs.
    isolate_digits : bool, default True
        Whether terms with a digit (of any script) are similar to themselves and what your pinned
        lists say only.
    separate_pieces : bool, default False
        Whether to apply the guard to the character pairs that an analyzer makes of text without
        spaces. Pairs that share a character get similarity 0 (*東京都* gives *東京*, *京都*).
        Pairs that are not two ideographs are similar to themselves only, because a single kana or
        Thai letter has no meaning. Use it for sources learned from such texts only: words of a list
        or a vector file may share a character and be similar.

    Examples
    --------
    >>> from softcosine.similarity.embeddings.embedding import EmbeddingSimilarity
    >>> inner = EmbeddingSimilarity(["hot", "cold", "warm"], [[1, 0], [1, 0.1], [1, 0.2]])
    >>> source = Guarded(inner, antonyms=Antonyms([("hot", "cold")]))
    >>> [source.similarities(["hot"], [other]).item() > 0 for other in ("cold", "warm")]
    [False, True]
    """

    __slots__ = ("_antonyms", "_free", "isolate_digits", "separate_pieces")

    def __init__(
        self,
        source: TermSimilaritySource,
        *,
        antonyms: Antonyms | Literal["english"] | None = "english",
        isolate_digits: bool = True,
        separate_pieces: bool = False,
    ) -> None:
        if isinstance(antonyms, str) and antonyms != "english":
            raise InvalidInputError(
                f"antonyms is {antonyms!r}; needed is 'english', None or Antonyms(pairs)."
            )
        super().__init__(source)
        self._antonyms: Antonyms | Literal["english"] = antonyms or Antonyms(())
        self.isolate_digits = isolate_digits
        self.separate_pieces = separate_pieces
        self._free = LastTuple[_Searched]()

    @property
    def antonyms(self) -> Antonyms:
        """The antonyms; the English ones are read on first use."""
        if isinstance(self._antonyms, str):
            self._antonyms = Antonyms.english()
        return self._antonyms

    def __repr__(self) -> str:
        pieces = ", separate_pieces=True" if self.separate_pieces else ""
        return (
            f"Guarded({self.source!r}, antonyms={self.antonyms!r}, "
            f"isolate_digits={self.isolate_digits}{pieces})"
        )

    def similarities(self, left: Sequence[str], right: Sequence[str]) -> NDArray[np.float32]:
        """Similarity of the pairs ``(left[i], right[i])``; 0 where the guard applies."""
        check_pairs(left, right)
        answer = similarities_by(self.source, left, right).copy()
        answer[self.apart(left, right)] = 0.0
        return answer

    def over(self, *sources: TermSimilaritySource) -> Guarded:
        """Return the same guard over another source."""
        return Guarded(*sources, antonyms=self._antonyms, **self._settings())

    def _settings(self) -> dict[str, Any]:
        settings = {"isolate_digits": self.isolate_digits}
        return settings | ({"separate_pieces": True} if self.separate_pieces else {})

    def are_pinned(self, left: Sequence[str], right: Sequence[str]) -> NDArray[np.bool_]:
        """Whether balancing S leaves the pairs unchanged; false where the guard applies."""
        return are_pinned(self.source, left, right) & ~self.apart(left, right)

    def apart(self, left: Sequence[str], right: Sequence[str]) -> NDArray[np.bool_]:
        """Whether the guard sets ``left[i]``, ``right[i]`` to 0, shape (n_pairs,)."""
        alone = (self._alone(left) | self._alone(right)) & ~equal_strings(left, right)
        if alone.any():
            alone &= ~are_pinned(self.source, left, right)
        return self._opposed(left, right) | alone

    def neighbors(
        self, terms: Sequence[str], among: Sequence[str], *, max_neighbors: int
    ) -> Neighbors:
        """Return the most similar strings of `among` of every term, after the guard."""
        check_limit(max_neighbors)
        free, positions, listed = self._free.get(among, lambda: self._searched(among))
        every, own = (positions, listed) if terms is among else self._reachable(terms)
        if len(every) == 0 or len(free) == 0 or max_neighbors == 0:
            return Neighbors.none(len(terms))
        opposites = map(self.antonyms.of, terms)
        n_opposites = np.fromiter(map(len, opposites), np.int64, len(terms))  # estimates
        if self.separate_pieces:
            n_opposites += [_MORE_ASKED * bool(pair_in_run(term)) for term in terms]
        opposed = n_opposites > 0

        def best(words: Sequence[str], asked: NDArray[np.int64], limit: int) -> Settled:
            words = free if terms is among and len(words) == len(free) else words
            found = neighbors_by(self.source, words, free, max_neighbors=limit)
            rows, stay = found.rows(), np.ones(len(found.indices), np.bool_)
            columns = positions[found.indices].astype(np.int32)
            doubtful = np.flatnonzero((opposed | own)[asked][rows] | listed[columns])
            left = [words[i] for i in rows[doubtful].tolist()]
            right = [among[j] for j in columns[doubtful].tolist()]
            stay[doubtful] = ~self.apart(left, right)
            kept = replace(found, indices=columns).where(stay, max_neighbors=max_neighbors)
            # Request more neighbours for terms whose list was full but has too few after the guard.
            lengths, n_kept = np.diff(found.indptr), np.diff(kept.indptr)
            more = (n_kept < max_neighbors) & (lengths >= limit)
            return kept, ~more

        first = max_neighbors + int(n_opposites[every].max())
        return neighbors_in_rounds(best, terms, [(every, first)])

    def _opposed(self, left: Sequence[str], right: Sequence[str]) -> NDArray[np.bool_]:
        """Whether the strings of each pair are antonyms, or overlapping character pairs."""
        opposed = self.antonyms.opposed(left, right)
        if self.separate_pieces:
            for i, (a, b) in enumerate(zip(left, right, strict=True)):
                if a != b and not set(pair_in_run(a)).isdisjoint(pair_in_run(b)):
                    opposed[i] = True
        return opposed

    def _alone(self, terms: Sequence[str]) -> NDArray[np.bool_]:
        """Whether each term is similar to itself only."""
        alone = np.zeros(len(terms), np.bool_)
        if self.isolate_digits:
            alone[:] = [not term.isalpha() and bool(_DIGIT.search(term)) for term in terms]
        if self.separate_pieces:
            alone |= np.fromiter(map(_means_nothing, terms), np.bool_, len(terms))
        return alone

    def _reachable(self, terms: Sequence[str]) -> tuple[NDArray[np.int64], NDArray[np.bool_]]:
        """Positions of terms that may have neighbours, and which terms have listed ones only."""
        alone = self._alone(terms)
        listed = np.zeros_like(alone)
        places = np.flatnonzero(alone)
        listed[places] = have_pins(self.source, [terms[i] for i in places.tolist()])
        return np.flatnonzero(~alone | listed), listed

    def _searched(self, among: Sequence[str]) -> _Searched:
        """Strings of `among` that may be neighbours, their positions, and which are by a list."""
        positions, listed = self._reachable(among)
        if len(positions) == len(among):
            return among, positions, listed
        return tuple(map(among.__getitem__, positions.tolist())), positions, listed

    def state(self) -> SourceState:
        """State from which an equal source can be built, with the antonyms."""
        settings = self._settings()
        arrays: dict[str, NDArray[Any]] = {}
        if isinstance(self._antonyms, str) or self.antonyms == Antonyms.english():
            settings["antonyms"] = reference_to("antonyms_en.txt")
        else:
            pairs = sorted(self.antonyms.pairs)
            blob, offsets = pack_strings([word for pair in pairs for word in pair])
            arrays = {"antonyms": blob, "antonym_offsets": offsets}
        return SourceState("guarded", settings, arrays, (state_of(self.source),))

    @classmethod
    def from_state(cls, state: SourceState) -> Guarded:
        """Build the source from its state."""
        settings = dict(state.settings)
        antonyms: Antonyms | Literal["english"] = "english"
        if "antonyms" in settings:
            check_reference(settings.pop("antonyms"), "antonyms_en.txt")
        else:
            words = unpack_strings(state.arrays["antonyms"], state.arrays["antonym_offsets"])
            antonyms = _of_stored(tuple(words))
        return cls(source_from_state(state.parts[0]), antonyms=antonyms, **settings)


def _means_nothing(term: str) -> bool:
    """Whether a term is a character pair of text without spaces that is not two ideographs."""
    pair = pair_in_run(term)
    return bool(pair) and not _IDEOGRAPHS.fullmatch(pair)


@lru_cache(maxsize=4)  # each commit of an index stores and opens the same ones
def _of_stored(words: tuple[str, ...]) -> Antonyms:
    """Return the antonyms of concatenated pairs."""
    return Antonyms(zip(words[::2], words[1::2], strict=True))
