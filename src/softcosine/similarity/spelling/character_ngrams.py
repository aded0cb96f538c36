"""Term similarity by shared character n-grams."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from softcosine._ragged import running_sum
from softcosine._threads import for_each_chunk
from softcosine._validation import check_whole
from softcosine.errors import InvalidInputError
from softcosine.kernels.character_ngrams import find_alike, invert, measure_cosines, write_ngrams
from softcosine.similarity.identity_cache import LastTuple
from softcosine.similarity.match_chunks import MatchChunk, best_of_chunks
from softcosine.similarity.neighbors import Neighbors, Pairs, StringOrder, pairs_of
from softcosine.similarity.source import (
    SourceState,
    check_limit,
    check_pairs,
    check_scale,
    equal_strings,
)
from softcosine.similarity.spelling.nearby_strings import CodePoints
from softcosine.text.analyzer import Analyzer
from softcosine.text.stop_words import stop_word_lists
from softcosine.text.words import folded

_CHUNK_TERMS = 512
_ROOM = 1 << 20  # pairs per chunk, in addition to one for each string
_SETTINGS = ("min_n", "max_n", "threshold", "exponent", "compounds")
_FOLDED = np.float32(0.9)  # similarity of words that differ in accents only
# Letters of the head of a compound, and of what is before it (of *Schlampe* three).
_HEAD, _BEFORE = 3, 4
# Exponents of the share of a compound's letters that its head has; words end in three by chance.
_SHARE, _SHORT_SHARE = 0.85, 2.55
_Backwards = tuple[tuple[str, ...], tuple[int, ...]]  # strings read backwards, sorted; places


@dataclass(frozen=True, slots=True)
class _Ngrams:
    """Distinct n-grams of strings; see `softcosine.kernels.character_ngrams.write_ngrams`."""

    places: NDArray[np.int64]
    ends: NDArray[np.int64]
    hashes: NDArray[np.int64]
    values: NDArray[np.int32]
    squares: NDArray[np.float64]

    @property
    def arrays(self) -> tuple[NDArray[Any], ...]:
        """All arrays, in the order of the kernels' arguments."""
        return self.places, self.ends, self.hashes, self.values, self.squares


@dataclass(frozen=True, slots=True)
class _Inverted:
    """Inverted index of a searched sequence: n-grams of strings, and strings of n-grams."""

    strings: tuple[str, ...]
    ngrams: _Ngrams
    bucket_starts: NDArray[np.int64]
    hashes: NDArray[np.int64]
    columns: NDArray[np.int32]
    values: NDArray[np.int32]

    @property
    def arrays(self) -> tuple[NDArray[Any], ...]:
        """All arrays, in the order of the kernels' arguments."""
        return self.bucket_starts, self.hashes, self.columns, self.values


class CharacterNgramSimilarity:
    r"""Term similarity by the cosine of character n-gram counts.

    .. math:: s_{ij} = \cos(g_i, g_j)^e \text{ where } \cos(g_i, g_j) \ge t, \text{ else } 0

    g_i counts the n-grams of `min_n` to `max_n` code points in term i, with boundary marks at both
    ends, like the subwords of fastText (Bojanowski et al. 2017). In contrast to edit distance, long
    words and compounds can be similar. Accents are left out (`softcosine.text.words.folded`), and
    words that differ in nothing else have similarity 0.9.

    In a language of `compounds` a word is also similar to those that end in it (*Lampe*,
    *Schreibtischlampe*), as written or stemmed: :math:`(|a| / |b|)^{0.85}` for a head of four
    letters or more after four or more (*Schlampe* is no lamp), and its cube for a head of three.
    The greatest similarity counts.

    A term is known if it is not empty and has at least `min_n` - 2 characters.

    Parameters
    ----------
    min_n, max_n : int, default 3 and 5
        Lengths of the n-grams, boundary marks included; at least 1.
    threshold : float, default 0.4
        Lower cosines count as 0. In [0, 1].
    exponent : float, default 2.0
        Above 0. A larger exponent lowers the weight of similar terms relative to equal terms.
    compounds : str, optional
        A language, such as ``"german"``, whose words are written together; its stop words are no
        heads.

    Raises
    ------
    InvalidInputError
        If a setting is out of range.

    Notes
    -----
    n-grams are identified by a 62-bit hash. Neighbours are exact; an inverted index finds them.

    Examples
    --------
    >>> source = CharacterNgramSimilarity()
    >>> source.similarities(["database", "network"], ["databases", "neural"]).round(4).tolist()
    [0.6428999900817871, 0.0]
    """

    __slots__ = (*_SETTINGS, "_analyzer", "_backwards", "_inverted", "_order", "_stops")
    label = "n-grams"

    def __init__(
        self,
        *,
        min_n: int = 3,
        max_n: int = 5,
        threshold: float = 0.4,
        exponent: float = 2.0,
        compounds: str | None = None,
    ) -> None:
        check_whole("min_n", min_n)
        check_whole("max_n", max_n, least=min_n)
        check_scale(threshold=threshold, exponent=exponent)
        self.min_n, self.max_n = int(min_n), int(max_n)
        self.threshold, self.exponent = float(threshold), float(exponent)
        self.compounds = compounds
        self._analyzer = Analyzer.for_language(compounds or "none")
        stop_words = stop_word_lists().get(compounds, ()) if compounds else ()
        self._stops = frozenset(self._forms(list(stop_words)))
        self._inverted, self._backwards = LastTuple[_Inverted](), LastTuple[_Backwards]()
        self._order = StringOrder()

    def __repr__(self) -> str:
        settings = ", ".join(f"{name}={value}" for name, value in self._settings().items())
        return f"CharacterNgramSimilarity({settings})"

    def _settings(self) -> dict[str, Any]:
        return {name: value for name in _SETTINGS if (value := getattr(self, name)) is not None}

    def _scale(self) -> tuple[np.float32, float]:
        return np.float32(self.threshold), self.exponent

    def knows(self, terms: Sequence[str]) -> NDArray[np.bool_]:
        """Whether each term has an n-gram, shape (n_terms,)."""
        lengths = np.fromiter((len(folded(term)) for term in terms), np.int64, len(terms))
        return lengths >= max(1, self.min_n - 2)

    def _ngrams(self, strings: Sequence[str]) -> _Ngrams:
        """Distinct n-grams of strings; the empty string has none."""
        points = CodePoints.of(list(map(folded, strings)))
        sizes = np.zeros(len(strings), np.int64)
        longest = int(points.lengths.max(initial=0)) + 2
        for n in range(self.min_n, min(self.max_n, longest) + 1):
            sizes += np.maximum(points.lengths + 2 - n + 1, 0)
        places = running_sum(sizes)
        ends = np.empty(len(strings), np.int64)
        hashes, values = np.empty(places[-1], np.int64), np.empty(places[-1], np.int32)
        squares = np.empty(len(strings), np.float64)

        lengths = self.min_n, self.max_n

        def work(first: int, last: int) -> None:
            write_ngrams(
                *points.arrays, *lengths, first, last, places, hashes, values, ends, squares
            )

        for_each_chunk(work, len(strings), chunk=4096)
        empty = points.lengths == 0
        ends[empty] = places[:-1][empty]
        return _Ngrams(places, ends, hashes, values, squares)

    def similarities(self, left: Sequence[str], right: Sequence[str]) -> NDArray[np.float32]:
        """Similarity of the pairs ``(left[i], right[i])``, shape (n_pairs,).

        Symmetric to the bit, in [0, 1]; 1 for equal strings, else 0 where one is unknown.
        """
        n_pairs = check_pairs(left, right)
        numbers: dict[str, int] = {}
        pairs = np.array([numbers.setdefault(s, len(numbers)) for s in (*left, *right)], np.int64)
        ngrams = self._ngrams(list(numbers))
        answer = np.empty(n_pairs, np.float32)

        sides, scale = (pairs[:n_pairs], pairs[n_pairs:]), self._scale()

        def work(first: int, last: int) -> None:
            measure_cosines(*ngrams.arrays, *sides, *scale, first, last, answer)

        for_each_chunk(work, n_pairs, chunk=65_536)
        same = equal_strings(list(map(folded, left)), list(map(folded, right)))
        answer[same & (answer > 0.0)] = _FOLDED
        if self.compounds:
            bare, stems = np.array(self._forms(list(numbers)), object).reshape(2, -1)
            for i, (a, b) in enumerate(zip(pairs[:n_pairs], pairs[n_pairs:], strict=True)):
                forms = ((x, y) for x in (bare[a], stems[a]) for y in (bare[b], stems[b]))
                answer[i] = max(answer[i], *(np.float32(self._of_head(*both)) for both in forms))
        answer[equal_strings(left, right)] = 1.0
        return answer

    def _forms(self, strings: Sequence[str]) -> list[str]:
        """Return the strings without accents, and then their stems."""
        return list(map(folded, (*strings, *self._analyzer.stem(strings))))

    def _of_head(self, left: str, right: str) -> float:
        """Return the similarity of a head and its compound; 0 if neither string is a head."""
        head, compound = sorted((left, right), key=len)
        before = compound.removesuffix(head)
        if len(head) < _HEAD or len(before) < _BEFORE or not before.isalpha():
            return 0.0
        share = 0.0 if before == compound or head in self._stops else len(head) / len(compound)
        return float(share ** (_SHORT_SHARE if len(head) == _HEAD else _SHARE))

    def _heads(self, terms: Sequence[str], among: Sequence[str]) -> Pairs:
        """Return the pairs of a head and its compound, of which either is one of the terms."""

        def backwards() -> _Backwards:
            pairs = sorted((form[::-1], i) for i, form in enumerate(self._forms(among)))
            return tuple(form for form, _ in pairs), tuple(i for _, i in pairs)

        # Of strings read backwards, compounds follow their head.
        searched, order = self._backwards.get(among, backwards)
        found: list[tuple[int, int, float]] = []
        for row, form in enumerate(self._forms(terms)):
            own = form[::-1]
            for n in range(_HEAD, len(own) + 1):
                place = bisect_left(searched, own[:n])
                while place < len(searched) and searched[place].startswith(own[:n]):
                    if n < len(own) and searched[place] != own[:n]:
                        break
                    term, other = row % len(terms), order[place] % len(among)
                    value = self._of_head(form, searched[place][::-1])
                    if value > 0.0 and terms[term] != among[other]:
                        found.append((term, other, value))
                    place += 1
        return pairs_of(found)

    def neighbors(
        self, terms: Sequence[str], among: Sequence[str], *, max_neighbors: int
    ) -> Neighbors:
        """Return the most similar strings of `among` of every term, exactly."""
        check_limit(max_neighbors)
        if max_neighbors == 0 or len(terms) == 0 or len(among) == 0:
            return Neighbors.none(len(terms))
        inverted = self._inverted.get(among, lambda: self._invert(among))
        asked = self._ngrams(terms)
        found = best_of_chunks(
            lambda first, last: self._find(terms, asked, inverted, first, last),
            n_terms=len(terms),
            chunk=_CHUNK_TERMS,
            among=inverted.strings,
            max_neighbors=max_neighbors,
            order=self._order,
        )
        if not self.compounds:
            return found
        pairs = found.pairs(), self._heads(terms, among)
        return self._order.best(
            inverted.strings, *pairs, n_terms=len(terms), max_neighbors=max_neighbors
        )

    def _find(
        self, terms: Sequence[str], asked: _Ngrams, inverted: _Inverted, first: int, last: int
    ) -> Iterator[MatchChunk]:
        """Yield the matches of the terms from `first` to `last`."""
        n = len(inverted.strings)
        room = n + (_ROOM if last - first > 1 else 0)
        columns, similarities = np.empty(room, np.int32), np.empty(room, np.float32)
        sums, ends = np.zeros(n), np.zeros(last, np.int64)
        searched = (*inverted.ngrams.arrays, *inverted.arrays, *self._scale())
        while first < last:
            stop = find_alike(
                *asked.arrays, *searched, first, last, sums, columns, similarities, ends
            )
            pairs = slice(0, ends[stop - 1])
            found = MatchChunk(
                first, ends[first:stop].copy(), columns[pairs].copy(), similarities[pairs].copy()
            )
            rows = found.rows()
            for pair in np.flatnonzero(found.similarities == 1.0).tolist():
                term, other = terms[first + rows[pair]], inverted.strings[found.columns[pair]]
                if folded(term) == folded(other):
                    found.similarities[pair] = 0.0 if term == other else _FOLDED
            yield found
            first = stop

    def _invert(self, among: Sequence[str]) -> _Inverted:
        """Inverted index of the n-grams of `among`."""
        strings = tuple(among)
        ngrams = self._ngrams(strings)
        n_ngrams = int((ngrams.ends - ngrams.places[:-1]).sum())
        n_buckets = 1 << min(30, max(4, n_ngrams.bit_length() - 1))
        inverted = _Inverted(
            strings,
            ngrams,
            np.empty(n_buckets + 1, np.int64),
            np.empty(n_ngrams, np.int64),
            np.empty(n_ngrams, np.int32),
            np.empty(n_ngrams, np.int32),
        )
        invert(*ngrams.arrays[:4], n_buckets - 1, *inverted.arrays)
        return inverted

    def state(self) -> SourceState:
        """State from which an equal source can be built."""
        return SourceState("character_ngrams", self._settings())

    @classmethod
    def from_state(cls, state: SourceState) -> CharacterNgramSimilarity:
        """Build the source from its state."""
        if len(state.arrays.get("weights", ())) > 1:
            raise InvalidInputError(
                "the source has weights of n-grams, which earlier versions learned; build it anew."
            )
        return cls(**state.settings)
