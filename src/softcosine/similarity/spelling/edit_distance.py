"""Term similarity by edit distance."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from softcosine._validation import check_number, check_whole, is_number, must_be
from softcosine.similarity.identity_cache import LastTuple
from softcosine.similarity.match_chunks import best_of_chunks
from softcosine.similarity.neighbors import Neighbors, StringOrder, pairs_of
from softcosine.similarity.source import SourceState, check_limit, check_pairs, equal_strings
from softcosine.similarity.spelling.nearby_strings import (
    CodePoints,
    NearbyStrings,
    Scores,
    similarities_of_pairs,
)
from softcosine.text.words import folded

_CHUNK_TERMS = 512
_SETTINGS = ("alpha", "beta", "max_distance", "threshold", "cap")
_NEVER = 2**62  # longer than any string
_Prepared = tuple[tuple[str, ...], NearbyStrings, dict[str, list[int]]]  # by bare word: places


class EditDistanceSimilarity:
    r"""Term similarity by Levenshtein distance (theory T14).

    .. math::
        s_{ij} = \min\left(\text{cap}, \alpha
        \left(1 - \frac{\mathrm{lev}(i, j)}{\max(|i|, |j|)}\right)^{\beta}\right)
        \text{ where } \mathrm{lev}(i, j) \le d \text{ and } s_{ij} \ge t, \text{ else } 0

    Every string except the empty one is known. Accents are left out
    (`softcosine.text.words.folded`), so that words which differ in nothing else have distance 0.
    Strings are compared by code points, without folding of letter case or normalisation: this is
    the task of the analyzer. With the default settings,
    one edit is allowed from 4 characters on and two from 7 on. At 8 characters, one edit gives 0.92
    and two give 0.43.

    Parameters
    ----------
    alpha : float, default 1.8
        Above 0. The values 1.8 and 5 are from Charlet & Damnati (2017). With them the formula
        exceeds 1 from 10 characters on at one edit; hence `cap`.
    beta : float, default 5.0
        Above 0. A larger beta allows fewer edits in short words.
    max_distance : int, default 2
        1, 2 or 3. Pairs with a greater distance have similarity 0.
    threshold : float, default 0.3
        Lower similarities count as 0. In [0, 1].
    cap : float, default 0.95
        Maximum similarity of two different strings, in (0, 1), also as float32.

    Raises
    ------
    InvalidInputError
        If a setting is out of range.

    Examples
    --------
    >>> source = EditDistanceSimilarity()
    >>> source.similarities(["receive", "colour", "cat"], ["recieve", "color", "car"]).round(4)
    array([0.3347, 0.7234, 0.    ], dtype=float32)
    >>> vocabulary = ("similarity", "simplicity", "singularity", "familiarity")
    >>> indices, similarities = source.neighbors(
    ...     ["similarty"], vocabulary, max_neighbors=3).of(0)
    >>> [vocabulary[i] for i in indices], similarities.tolist()
    (['similarity'], [0.949999988079071])
    """

    __slots__ = (*_SETTINGS, "_least", "_order", "_prepared")
    label = "spelling"

    def __init__(
        self,
        *,
        alpha: float = 1.8,
        beta: float = 5.0,
        max_distance: int = 2,
        threshold: float = 0.3,
        cap: float = 0.95,
    ) -> None:
        check_number("alpha", alpha, above=0)
        check_number("beta", beta, above=0)
        check_whole("max_distance", max_distance, most=3)
        check_number("threshold", threshold, least=0, most=1)
        if not (is_number(cap) and 0.0 < np.float32(cap) < 1.0):
            raise must_be("cap", cap, "a number above 0 and below 1")
        self.alpha, self.beta = float(alpha), float(beta)
        self.threshold, self.cap = float(threshold), float(cap)
        self.max_distance = int(max_distance)
        self._least = self._least_lengths()
        self._prepared = LastTuple[_Prepared]()
        self._order = StringOrder()

    def __repr__(self) -> str:
        settings = ", ".join(f"{name}={getattr(self, name):g}" for name in _SETTINGS)
        return f"EditDistanceSimilarity({settings})"

    def value(self, distance: int, longer: int) -> float:
        """Return the similarity of different strings, given the length of the longer one."""
        if distance >= longer:
            return 0.0
        # Scalar powers: vectorised ones may round differently depending on the position.
        share = 1.0 - distance / longer
        value = np.float32(min(self.cap, self.alpha * share**self.beta))
        return float(value) if value >= np.float32(self.threshold) else 0.0

    def _least_lengths(self) -> NDArray[np.int64]:
        """For each distance, the least length of the longer string with a similarity above 0.

        Distances without such a length are omitted.
        """
        least = [0]
        for distance in range(1, self.max_distance + 1):
            if self.value(distance, _NEVER) == 0.0:
                break
            low, high = 0, 1
            while self.value(distance, high) == 0.0:
                low, high = high, 2 * high
            while high - low > 1:
                middle = (low + high) // 2
                low, high = (middle, high) if self.value(distance, middle) == 0.0 else (low, middle)
            least.append(high)
        return np.array(least, np.int64)

    def knows(self, terms: Sequence[str]) -> NDArray[np.bool_]:
        """Whether each term is not empty, shape (n_terms,)."""
        return np.fromiter(map(bool, terms), np.bool_, len(terms))

    def similarities(self, left: Sequence[str], right: Sequence[str]) -> NDArray[np.float32]:
        """Similarity of the pairs ``(left[i], right[i])``, shape (n_pairs,).

        Symmetric to the bit, in [0, 1]; 1 for equal strings only.
        """
        check_pairs(left, right)
        a, b = (CodePoints.of(list(map(folded, strings))) for strings in (left, right))
        answer = similarities_of_pairs(a, b, self._scores(a))
        answer[equal_strings(left, right)] = 1.0
        return answer

    def _scores(self, strings: CodePoints) -> Scores:
        return Scores.of(strings, len(self._least) - 1, self.value)

    def neighbors(
        self, terms: Sequence[str], among: Sequence[str], *, max_neighbors: int
    ) -> Neighbors:
        """Return the most similar strings of `among` of every term, exactly.

        Candidates are found through hashes of the strings after a few deletions (long strings:
        through unchanged substrings), then their distance is computed. No term is compared with all
        strings.
        """
        check_limit(max_neighbors)
        if len(self._least) == 1 or max_neighbors == 0 or len(terms) == 0 or len(among) == 0:
            return Neighbors.none(len(terms))
        strings, nearby, places = self._prepared.get(among, lambda: self._prepare(tuple(among)))
        bare = list(map(folded, terms))
        asked = CodePoints.of(bare)
        scores = self._scores(asked)
        found = best_of_chunks(
            lambda first, last: nearby.find(asked, scores, first, last, max_found=max_neighbors),
            n_terms=len(terms),
            chunk=_CHUNK_TERMS,
            among=strings,
            max_neighbors=max_neighbors,
            order=self._order,
        )
        near = self.value(0, 1)
        same = [
            (i, j, near)
            for i, word in enumerate(bare)
            for j in places.get(word, ())
            if strings[j] != terms[i]
        ]
        return self._order.best(
            strings, found.pairs(), pairs_of(same), n_terms=len(terms), max_neighbors=max_neighbors
        )

    def _prepare(self, strings: tuple[str, ...]) -> _Prepared:
        places: dict[str, list[int]] = {}
        bare = list(map(folded, strings))
        for place, word in enumerate(bare):
            places.setdefault(word, []).append(place)
        return strings, NearbyStrings(bare, self._order.keys(strings), self._least), places

    def state(self) -> SourceState:
        """State from which an equal source can be built."""
        settings = {name: getattr(self, name) for name in _SETTINGS}
        return SourceState("edit_distance", settings)

    @classmethod
    def from_state(cls, state: SourceState) -> EditDistanceSimilarity:
        """Build the source from its state."""
        return cls(**state.settings)
