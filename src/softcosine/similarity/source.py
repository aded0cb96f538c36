"""Protocol of term similarity sources, and their stored state."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from softcosine._validation import check_number, check_whole, must_be
from softcosine.errors import InvalidInputError
from softcosine.similarity.neighbors import Neighbors as Neighbors

_USUAL_NEIGHBORS = 100


@runtime_checkable
class TermSimilaritySource(Protocol):
    """Protocol of a term similarity source: three methods.

    A class may also have the attributes `usual_neighbors` (default limit of neighbours per term in
    S), `label` (short name for explanations) and `compares_vectors` (whether asking for all terms
    at once is cheaper than in chunks).

    Similarities are symmetric and lie in [0, 1]. The similarity of a term with itself is 1, even if
    the source does not know the term. The similarity with any other unknown term is 0. `neighbors`
    and `similarities` return the same bits for the same pair.
    """

    __slots__ = ()

    def knows(self, terms: Sequence[str]) -> NDArray[np.bool_]:
        """Whether the source has data about each term, shape (n_terms,)."""
        ...

    def neighbors(
        self, terms: Sequence[str], among: Sequence[str], *, max_neighbors: int
    ) -> Neighbors:
        """Return the `max_neighbors` most similar strings of `among` for every term.

        Parameters
        ----------
        terms : sequence of str
            Terms that the source does not know have no neighbours.
        among : sequence of str
            Strings to search. If this is a tuple, a source may cache its preparation, so that
            further calls with the same tuple are fast. A list is not cached, because it can change.
        max_neighbors : int
            Limit per term.

        Raises
        ------
        InvalidInputError
            If `max_neighbors` is negative.
        """
        ...

    def similarities(self, left: Sequence[str], right: Sequence[str]) -> NDArray[np.float32]:
        """Similarity of the pairs ``(left[i], right[i])``, shape (n_pairs,).

        Raises
        ------
        InvalidInputError
            If the two sequences differ in length.
        """
        ...


@dataclass(frozen=True, slots=True)
class SourceState:
    """A source as plain data, independent of any file format.

    Attributes
    ----------
    kind : str
        Name under which `softcosine.similarity.registry` has the class.
    settings : mapping
        Values that JSON can represent.
    arrays : mapping of str to ndarray
        Arrays of plain number types.
    parts : tuple of SourceState
        States of the sources that this source is made of, if any.
    """

    kind: str
    settings: Mapping[str, Any] = field(default_factory=dict)
    arrays: Mapping[str, NDArray[Any]] = field(default_factory=dict)
    parts: tuple[SourceState, ...] = ()


@runtime_checkable
class SavableSource(TermSimilaritySource, Protocol):
    """A source that can be saved; its kind is a name in `softcosine.similarity.registry`."""

    def state(self) -> SourceState:
        """State from which an equal source can be built."""
        ...


def state_of(source: TermSimilaritySource) -> SourceState:
    """Return the state of a source.

    Raises
    ------
    InvalidInputError
        If the source, or a source inside it, has no ``state()``.
    """
    if not isinstance(source, SavableSource):
        raise InvalidInputError(
            f"a source of type {type(source).__name__} cannot be saved: it has no state() method; "
            "give it one that returns a SourceState, and call register_source for its kind."
        )
    return source.state()


def checked_source(source: object) -> TermSimilaritySource:
    """Return the source; raise InvalidInputError if it lacks a method."""
    if isinstance(source, type) or not isinstance(source, TermSimilaritySource):
        needed = "a term similarity source, with the methods knows, neighbors and similarities"
        raise must_be("the source", source, needed)
    return source


def check_pairs(left: Sequence[str], right: Sequence[str]) -> int:
    """Return the number of pairs.

    Raises
    ------
    InvalidInputError
        If the two sequences differ in length.
    """
    if len(left) != len(right):
        raise InvalidInputError(
            f"left has {len(left)} terms but right has {len(right)}; similarities are of pairs."
        )
    return len(left)


def usual_neighbors(source: TermSimilaritySource) -> int:
    """Return the default limit of neighbours per term in S.

    It is 100, unless the source has an attribute `usual_neighbors`. Sources learned from a small
    corpus have a lower one: only their nearest neighbours are good (docs/similarity.md).
    """
    return int(getattr(source, "usual_neighbors", _USUAL_NEIGHBORS))


def check_limit(max_neighbors: int) -> None:
    """Raise InvalidInputError if the requested number of neighbours is negative."""
    check_whole("max_neighbors", max_neighbors, least=0)


def check_scale(*, threshold: float = 0.3, exponent: float = 4.0, max_neighbors: int = 1) -> None:
    """Raise InvalidInputError if a setting common to many sources is out of range."""
    check_number("threshold", threshold, least=0, most=1)
    check_number("exponent", exponent, above=0)
    check_whole("max_neighbors", max_neighbors)


def rows_of(numbers: Mapping[str, int], terms: Sequence[str]) -> NDArray[np.int32]:
    """Return the number of each term, looked up as written, then casefolded; -1 if absent."""
    rows = np.fromiter((numbers.get(term, -1) for term in terms), np.int32, len(terms))
    for i in np.flatnonzero(rows < 0).tolist():
        rows[i] = numbers.get(terms[i].casefold(), -1)
    return rows


def equal_strings(left: Sequence[str], right: Sequence[str]) -> NDArray[np.bool_]:
    """Whether the strings of each pair are equal, shape (n_pairs,)."""
    pairs = zip(left, right, strict=True)
    return np.fromiter((a == b for a, b in pairs), np.bool_, len(left))
