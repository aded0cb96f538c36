"""Similarities given pair by pair."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from numbers import Real
from typing import Any, Self

import numpy as np
import scipy
from numpy.typing import NDArray

from softcosine.errors import InvalidInputError
from softcosine.similarity.deferred import Deferred
from softcosine.similarity.source import SourceState
from softcosine.similarity.thesaurus.concepts import Concepts, concepts_of_table
from softcosine.similarity.thesaurus.thesaurus import ThesaurusSimilarity
from softcosine.text.analyzer import shortened
from softcosine.text.packing import unpack_strings


class PairSimilarity(ThesaurusSimilarity):
    """Similarities given pair by pair: a list in which every pair is a group.

    A term is looked up as written, then casefolded. An index compares the terms of the words, so
    the forms in the list and in the texts may differ; see `softcosine.similarity.in_terms`.

    Parameters
    ----------
    pairs : iterable of (str, str, float), or mapping of (str, str) to float
        Two terms and their similarity in (0, 1], stored as float32. If a pair is given several
        times, in either order, the greatest similarity counts. A pair of a term with itself is
        ignored, but the source knows the term.
    pinned : bool, default True
        Whether balancing S leaves these similarities unchanged. Use False for a large table that
        was not written by hand.

    Raises
    ------
    InvalidInputError
        If a similarity is not in (0, 1] or a term is not a string. The message names the pair.

    Examples
    --------
    >>> source = PairSimilarity([("tyre", "tire", 0.9), ("tire", "wheel", 0.5)])
    >>> source.similarities(["tire", "tyre"], ["tyre", "wheel"]).round(4).tolist()
    [0.8999999761581421, 0.0]
    """

    __slots__ = ()

    def __init__(
        self,
        pairs: Iterable[tuple[str, str, float]] | Mapping[tuple[str, str], float],
        *,
        pinned: bool = True,
    ) -> None:
        numbers: dict[str, int] = {}
        weights: dict[tuple[int, int], float] = {}
        for a, b, weight in _triples(pairs):
            _check_pair(a, b, weight)
            left, right = (numbers.setdefault(word, len(numbers)) for word in (a, b))
            if left != right:
                pair = min(left, right), max(left, right)
                weights[pair] = max(weights.get(pair, 0.0), float(weight))
        ends, values = np.array([*weights], np.int64).reshape(-1), np.array([*weights.values()])
        concepts = Concepts.of_entries(
            tuple(numbers), ends, np.arange(len(ends)) // 2, np.ones(len(ends)), values
        )
        super().__init__(concepts, name="pairs", listed=True, pinned=pinned)

    def __len__(self) -> int:
        """Return the number of pairs of different terms."""
        return len(self._concepts.weights)

    def __repr__(self) -> str:
        return f"PairSimilarity({len(self)} pairs of {len(self.words)} words)"

    def state(self) -> SourceState:
        """State from which an equal source can be built."""
        return SourceState("pairs", {"pinned": self.pinned}, super().state().arrays)

    @classmethod
    def from_state(cls, state: SourceState) -> Self:
        """Build the source from its state; the table is built on first use."""
        source = cls.__new__(cls)
        table, pinned = Deferred(state.arrays, _of_arrays), state.settings.get("pinned", True)
        ThesaurusSimilarity.__init__(source, table, name="pairs", listed=True, pinned=pinned)
        return source


def table_of(
    arrays: Mapping[str, NDArray[Any]],
) -> tuple[list[str], NDArray[np.int32], scipy.sparse.csr_array]:
    """Return words, the row of each, and the similarities of the rows, from stored arrays."""
    words = unpack_strings(arrays["words"], arrays["word_offsets"])
    n_rows = len(arrays["indptr"]) - 1
    S = scipy.sparse.csr_array(
        (arrays["similarities"], arrays["indices"], arrays["indptr"]), shape=(n_rows, n_rows)
    )
    S.check_format(full_check=True)
    rows = arrays["rows"]
    if len(rows) and int(rows.max()) >= n_rows:
        raise InvalidInputError(f"rows run to {rows.max()}, but the table has {n_rows}.")
    return words, rows, S


def _of_arrays(arrays: Mapping[str, NDArray[Any]]) -> Concepts:
    """Return the concepts that were saved, or those of a table, which earlier versions saved."""
    known = "concepts" in arrays
    return Concepts.from_arrays(arrays) if known else concepts_of_table(*table_of(arrays))


def _triples(
    pairs: Iterable[tuple[str, str, float]] | Mapping[tuple[str, str], float],
) -> Iterator[tuple[str, str, float]]:
    given: Iterable[Any] = pairs
    if isinstance(pairs, Mapping):
        given = ((*_no_string(pair), weight) for pair, weight in pairs.items())
    for pair in given:
        try:
            a, b, weight = _no_string(pair)
        except (TypeError, ValueError):
            raise InvalidInputError(
                f"{pair!r:.80} is no pair with its similarity; give (term, term, similarity)."
            ) from None
        yield a, b, weight


def _no_string(pair: Any) -> Any:
    """Return a pair; reject a string of two characters."""
    if isinstance(pair, str):
        raise InvalidInputError(
            f"{shortened(pair)} is a string where a pair of terms is needed; give (term, term, "
            "similarity), or a dictionary of (term, term)."
        )
    return pair


def _check_pair(left: object, right: object, weight: Any) -> None:
    if not (isinstance(left, str) and isinstance(right, str)):
        raise InvalidInputError(f"the pair ({left!r}, {right!r}) is not of two strings.")
    number: Any = weight if isinstance(weight, Real) else 0.0
    if not (0 < number <= 1 and np.float32(float(number)) > 0.0):
        raise InvalidInputError(
            f"the similarity of {left!r} and {right!r} is {weight!r}; needed is a number in (0, 1]."
        )
