"""A measure of text pairs: its fields, similarities and weights."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import KW_ONLY, dataclass, field
from functools import partial
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from softcosine._validation import check_choice, check_type, is_number
from softcosine.errors import InvalidInputError
from softcosine.lab.text_pairs.alignment import paired_alignment
from softcosine.lab.text_pairs.cardinality import SET_MEASURES, paired_soft_set_similarity
from softcosine.matrix.term_similarity_matrix import TermSimilarityMatrix
from softcosine.similarity.source import TermSimilaritySource
from softcosine.space.measures import paired_soft_cosine_similarity, paired_soft_inner_product
from softcosine.text.analyzer import Analyzer, checked_analyzer
from softcosine.text.weighting import Weighting, checked_weighting

# A text, or the texts of its fields.
Side: TypeAlias = str | Mapping[str, str]

# Both sides, and numbers of the pair, such as a search engine's rank.
TextPair: TypeAlias = tuple[Side, Side] | tuple[Side, Side, Mapping[str, float]]

_Paired = Callable[[csr_array, csr_array, TermSimilarityMatrix], NDArray[np.float64]]


def _length_ratio(X: csr_array, Y: csr_array, _S: TermSimilarityMatrix) -> NDArray[np.float64]:
    """Return the shorter length, a sum of weights, over the longer; 1 if both are 0."""
    left, right = (np.asarray(Z.sum(axis=1), np.float64) for Z in (X, Y))
    longer = np.maximum(left, right)
    return np.divide(np.minimum(left, right), longer, out=np.ones_like(longer), where=longer > 0)


MEASURES: dict[str, _Paired] = {
    "soft_cosine": paired_soft_cosine_similarity,
    "inner_product": paired_soft_inner_product,
    "alignment": paired_alignment,
    **{
        f"soft_{name}" if name != "cosine" else "soft_set_cosine": partial(
            paired_soft_set_similarity, measure=name
        )
        for name in SET_MEASURES
    },
    "length_ratio": _length_ratio,
}


@dataclass(frozen=True, slots=True)
class PairMeasure:
    """A measure of text pairs.

    Parameters
    ----------
    measure : str
        ``"soft_cosine"``, ``"inner_product"``, ``"alignment"``, the set measures of theory T17
        ``"soft_jaccard"``, ``"soft_dice"``, ``"soft_set_cosine"`` and ``"soft_overlap"``, or
        ``"length_ratio"``.
    left, right : str, optional
        Field of each side; by default all fields, joined.
    source : TermSimilaritySource or TermSimilarityMatrix, optional
        Source of term similarity. By default only equal terms are similar, and the soft cosine
        is the ordinary one.
    max_neighbors : int, optional
        See `TermSimilarityMatrix.from_source`.
    analyzer : Analyzer
        How texts become words.
    characters : (int, int), optional
        Minimum and maximum length of character n-grams, which replace words as terms; a word has
        a space before and after it.
    weighting : Weighting
    term_weights : mapping of str to float, optional
        Additional non-negative factors of the weights of some terms, such as ``dict(zip(
        taught.vocabulary.terms, taught.weights))`` of `TaughtVectors`. Others have factor 1.
    """

    measure: str = "soft_cosine"
    left: str | None = None
    right: str | None = None
    _: KW_ONLY
    source: TermSimilaritySource | TermSimilarityMatrix | None = None
    max_neighbors: int | None = None
    analyzer: Analyzer = field(default_factory=Analyzer)
    characters: tuple[int, int] | None = None
    weighting: Weighting = field(default_factory=Weighting)
    term_weights: Mapping[str, float] | None = None

    def __post_init__(self) -> None:
        check_choice("measure", self.measure, MEASURES)
        checked_analyzer(self.analyzer)
        checked_weighting(self.weighting)
        for term, weight in (self.term_weights or {}).items():
            if not (isinstance(term, str) and is_number(weight) and 0.0 <= weight < np.inf):
                raise InvalidInputError(
                    f"term_weights has {weight!r} for {term!r}; needed are finite numbers of 0 or "
                    "more, by terms."
                )
        if self.characters is not None:
            least, most = self.characters
            if not 1 <= least <= most:
                raise InvalidInputError(
                    f"characters is {self.characters!r}; needed are two whole numbers from 1 on, "
                    "the smaller first."
                )

    def values(self, X: csr_array, Y: csr_array, S: TermSimilarityMatrix) -> NDArray[np.float64]:
        """Return the measure of row i of X and row i of Y, shape (n_pairs,)."""
        return MEASURES[self.measure](X, Y, S)

    def factors(self, terms: Sequence[str]) -> NDArray[np.float64]:
        """Return the additional factors of the weights of terms, shape (n_terms,)."""
        given = self.term_weights or {}
        return np.array([given.get(term, 1.0) for term in terms], np.float64)

    def documents(self, texts: Sequence[str]) -> list[str] | list[list[str]]:
        """Return texts as input of `softcosine.analyze`: unchanged, or as character n-grams."""
        if self.characters is None:
            return list(texts)
        least, most = self.characters
        return [_runs(self.analyzer.terms(text), least, most) for text in texts]

    @property
    def rules(self) -> Analyzer:
        """The analyzer for the result of `documents`."""
        return self.analyzer if self.characters is None else Analyzer()


def side_text(side: Side, name: str | None, place: str) -> str:
    """Return the text of one field of a side, or of all.

    Raises
    ------
    InvalidInputError
        If the side is not a text, or lacks the field; the message names its `place`.
    """
    if isinstance(side, str):
        if name is None:
            return side
        raise InvalidInputError(
            f"{place} is one text, and field {name!r} of it is asked for; give a mapping of fields."
        )
    check_type(place, side, Mapping, "pass a text or a mapping of fields")
    if name is None:
        return "\n".join(side.values())
    if name not in side:
        raise InvalidInputError(f"{place} has no field {name!r}; it has {', '.join(side)}.")
    return side[name]


def _runs(words: Sequence[Any], least: int, most: int) -> list[str]:
    return [
        padded[start : start + n]
        for padded in (f" {word} " for word in words)
        for n in range(least, most + 1)
        for start in range(len(padded) - n + 1)
    ]
