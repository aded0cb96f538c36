"""What a term similarity source is, what it answers, and how it is kept."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from importlib import import_module
from importlib.metadata import EntryPoint, entry_points
from typing import Any, Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from softcosine._validation import check_whole
from softcosine.errors import InvalidInputError
from softcosine.similarity.neighbors import Neighbors

__all__ = [
    "Neighbors",
    "SavableSource",
    "SourceState",
    "TermSimilaritySource",
    "check_kinds",
    "check_limit",
    "check_pairs",
    "equal_strings",
    "register_source",
    "rows_of",
    "source_from_state",
    "state_of",
    "usual_neighbors",
]

_USUAL_NEIGHBORS = 100


@runtime_checkable
class TermSimilaritySource(Protocol):
    """Who is similar to whom: the three questions that every source answers.

    Similarities are symmetric and lie in [0, 1]; 1 for a term with itself, known or not; 0 where
    a source knows nothing. `neighbors` and `similarities` give the same bits for the same pair.
    """

    def knows(self, terms: Sequence[str]) -> NDArray[np.bool_]:
        """Whether the source can say anything of each term, shape (n_terms,)."""
        ...

    def neighbors(
        self, terms: Sequence[str], among: Sequence[str], *, max_neighbors: int
    ) -> Neighbors:
        """Return the at most `max_neighbors` most similar strings of `among`, for every term.

        Parameters
        ----------
        terms : sequence of str
            Those that the source does not know have no neighbours.
        among : sequence of str
            What is searched. A source may keep its preparation of a tuple for the next call with
            the same tuple, which makes single terms quick; a list could change unseen.
        max_neighbors : int
            How many a term has at most.

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
    """A source as plain data, to be kept in any format.

    Attributes
    ----------
    kind : str
        Which class it is, by the name that it is registered under.
    settings : mapping
        What JSON can hold.
    arrays : mapping of str to ndarray
        Of plain number types.
    parts : tuple of SourceState
        The sources that it is made of, if any.
    """

    kind: str
    settings: Mapping[str, Any] = field(default_factory=dict)
    arrays: Mapping[str, NDArray[Any]] = field(default_factory=dict)
    parts: tuple[SourceState, ...] = ()


@runtime_checkable
class SavableSource(TermSimilaritySource, Protocol):
    """A source that can be kept; its kind is registered with `register_source`."""

    def state(self) -> SourceState:
        """Everything that is needed to build an equal source."""
        ...


# Where the builders of the library's own kinds stand; imported when one is met.
_LIBRARY_KINDS = {
    "embedding": "softcosine.similarity.embeddings.embedding:EmbeddingSimilarity",
    "encoder": "softcosine.similarity.embeddings.encoder:EncoderSimilarity",
    "cooccurrence": "softcosine.similarity.cooccurrence.cooccurrence:CooccurrenceSimilarity",
    "distilled": "softcosine.similarity.cooccurrence.distilled:DistilledSimilarity",
    "edit_distance": "softcosine.similarity.spelling.edit_distance:EditDistanceSimilarity",
    "character_ngrams": "softcosine.similarity.spelling.character_ngrams:CharacterNgramSimilarity",
    "pairs": "softcosine.similarity.pairs:PairSimilarity",
    "thesaurus": "softcosine.similarity.thesaurus.thesaurus:ThesaurusSimilarity",
    "strongest": "softcosine.similarity.combine.combined:StrongestSimilarity",
    "mean": "softcosine.similarity.combine.combined:MeanSimilarity",
    "noisy_or": "softcosine.similarity.combine.noisy_or:NoisyOrSimilarity",
    "first": "softcosine.similarity.combine.precedence:FirstSimilarity",
    "scaled": "softcosine.similarity.combine.combined:ScaledSimilarity",
    "calibrated": "softcosine.similarity.combine.calibration:CalibratedSimilarity",
    "decided": "softcosine.similarity.overrides.decisions:DecidedSimilarity",
    "guarded": "softcosine.similarity.overrides.guard:Guarded",
}
_registered: dict[str, Callable[[SourceState], TermSimilaritySource]] = {}


def register_source(kind: str, from_state: Callable[[SourceState], TermSimilaritySource]) -> None:
    """Make sources of a further kind loadable in this process.

    A package does it for every process by an entry point of the group
    ``softcosine.source_kinds``: the kind, and the callable.

    Parameters
    ----------
    kind : str
        The `SourceState.kind` that the source's ``state()`` gives; best prefixed with your
        project's name.
    from_state : callable
        Builds the source from its state.

    Raises
    ------
    InvalidInputError
        If `kind` is one of the library's own.
    """
    if kind in _LIBRARY_KINDS:
        raise InvalidInputError(
            f"the source kind {kind!r} is the library's own; register yours by another name."
        )
    _registered[kind] = from_state


def check_kinds(state: SourceState) -> None:
    """Raise InvalidInputError if a kind of source, or of one of its parts, is not known here."""
    known = state.kind in _registered or state.kind in _LIBRARY_KINDS or _added(state.kind)
    if not known:
        raise InvalidInputError(
            f"a source of kind {state.kind!r} was saved, but no such kind is known here; install "
            "the package that has it, or import the module that calls register_source for it first."
        )
    for part in state.parts:
        check_kinds(part)


def source_from_state(state: SourceState) -> TermSimilaritySource:
    """Build the source that a state describes.

    Raises
    ------
    InvalidInputError
        If its kind is not known in this process.
    """
    check_kinds(state)
    builder = _registered.get(state.kind)
    if builder is None and state.kind in _LIBRARY_KINDS:
        module, _, name = _LIBRARY_KINDS[state.kind].partition(":")
        builder = getattr(import_module(module), name).from_state
    elif builder is None:
        builder = _added(state.kind)[0].load()
    return builder(state)


def _added(kind: str) -> tuple[EntryPoint, ...]:
    """Return what the laboratory and other packages add for a kind."""
    return tuple(entry_points(group="softcosine.source_kinds", name=kind))


def state_of(source: TermSimilaritySource) -> SourceState:
    """State of a source that can be kept.

    Raises
    ------
    InvalidInputError
        If the source, or a part of it, has no ``state()``.
    """
    if not isinstance(source, SavableSource):
        raise InvalidInputError(
            f"a source of type {type(source).__name__} cannot be saved: it has no state() method; "
            "give it one that returns a SourceState, and call register_source for its kind."
        )
    return source.state()


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
    """Return how many neighbours a term has at most in S, where nobody says.

    100, unless the source advises another number by an attribute `usual_neighbors`: what a small
    corpus teaches is good for the nearest few only (docs/similarity.md).
    """
    return int(getattr(source, "usual_neighbors", _USUAL_NEIGHBORS))


def check_limit(max_neighbors: int) -> None:
    """Raise InvalidInputError if the number of neighbours asked for is negative."""
    check_whole("max_neighbors", max_neighbors, least=0)


def rows_of(numbers: Mapping[str, int], terms: Sequence[str]) -> NDArray[np.int32]:
    """Return the number of each term as it stands, else casefolded, else -1; shape (n_terms,)."""
    rows = np.fromiter((numbers.get(term, -1) for term in terms), np.int32, len(terms))
    for i in np.flatnonzero(rows < 0).tolist():
        rows[i] = numbers.get(terms[i].casefold(), -1)
    return rows


def equal_strings(left: Sequence[str], right: Sequence[str]) -> NDArray[np.bool_]:
    """Whether the strings of each pair are the same, shape (n_pairs,)."""
    pairs = zip(left, right, strict=True)
    return np.fromiter((a == b for a, b in pairs), np.bool_, len(left))
