"""The term similarity matrix of a transformer: given, from a source, or learned from documents."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from softcosine.errors import InvalidInputError, VocabularyMismatchError
from softcosine.inputs import is_number
from softcosine.matrix.term_similarity_matrix import (
    TermSimilarityMatrix,
    checked_similarity,
    checked_source,
)
from softcosine.sources.parts import MappedSource
from softcosine.sources.source import TermSimilaritySource
from softcosine.space.latent import Blocks, check_whole, right_singular_vectors
from softcosine.text.vocabulary import Vocabulary

__all__ = ["LEARNED_EXPONENT", "LEARNED_THRESHOLD", "SimilaritySettings", "built_similarity"]

# Of similarities learned from the documents themselves.
LEARNED_THRESHOLD = 0.3
LEARNED_EXPONENT = 2.0


@dataclass(frozen=True, slots=True)
class SimilaritySettings:
    """Where a transformer's S comes from.

    Attributes
    ----------
    S : TermSimilarityMatrix, optional
        Taken as it is; then nothing below it may be given. Without S and `source`, terms are
        similar whose vectors, the truncated SVD of the documents, point the same way.
    source : TermSimilaritySource, optional
        Asked about the terms of the columns.
    vocabulary : Vocabulary or sequence of str, optional
        The term of every column. By default a DataFrame's column names; a source needs either.
        In a pipeline, give the vectorizer the same one: ``TfidfVectorizer(vocabulary=terms)``.
    min_similarity : float, optional
        Similarities below it count as 0, in [0, 1]. By default 0 for a source, whose own threshold
        holds, and 0.3 where S is learned.
    exponent : float, optional
        Similarities are raised to it, above 0. By default 1 for a source, 2 where S is learned.
    max_neighbors : int, optional
        How many neighbours a term has at most; 100 by default, or what the source advises.
    term_dimensions : int
        Of the terms' vectors, where S is learned.
    """

    S: TermSimilarityMatrix | None = None
    source: TermSimilaritySource | None = None
    vocabulary: Vocabulary | ArrayLike | None = None
    min_similarity: float | None = None
    exponent: float | None = None
    max_neighbors: int | None = None
    term_dimensions: int = 100


def built_similarity(
    settings: SimilaritySettings,
    blocks: Blocks,
    n_terms: int,
    *,
    names: NDArray[Any] | None = None,
    seed: int = 0,
) -> TermSimilarityMatrix:
    """Return the S that settings ask for; what is built is balanced and positive definite.

    Parameters
    ----------
    settings : SimilaritySettings
    blocks : callable
        Gives the documents, for S learned from them.
    n_terms : int
    names : array of str, of shape (n_terms,), optional
        Names of the columns, where they came with the documents.
    seed : int

    Raises
    ------
    InvalidInputError
        If settings exclude each other or are out of range, or a source has no terms to ask about.
    VocabularyMismatchError
        If S or the vocabulary has another number of terms than the documents.
    """
    if settings.S is not None:
        return _given(settings, n_terms, names)
    if settings.min_similarity is not None and not (
        is_number(settings.min_similarity) and 0.0 <= settings.min_similarity <= 1.0
    ):
        raise InvalidInputError(
            f"min_similarity is {settings.min_similarity!r}; needed is a number in [0, 1]."
        )
    if settings.exponent is not None and not (
        is_number(settings.exponent) and 0.0 < settings.exponent < np.inf
    ):
        raise InvalidInputError(f"exponent is {settings.exponent!r}; needed is a number above 0.")
    vocabulary = _vocabulary(settings, n_terms, names)
    if settings.source is None:
        source = _learned(settings, blocks, vocabulary, seed)
    else:
        source = checked_source(settings.source)
        if settings.min_similarity is not None or settings.exponent is not None:
            source = Sharpened(source, settings.min_similarity or 0.0, settings.exponent or 1.0)
    return TermSimilarityMatrix.from_source(
        source, vocabulary, max_neighbors=settings.max_neighbors, balanced=True, definite=True,
        guard=settings.source is not None,
    )  # fmt: skip


class Sharpened(MappedSource):
    """Another source's similarities, 0 below a threshold, raised to a power.

    Parameters
    ----------
    source : TermSimilaritySource
    threshold : float
        In [0, 1].
    exponent : float
        Above 0.
    """

    __slots__ = ("_exponent", "_threshold")

    def __init__(self, source: TermSimilaritySource, threshold: float, exponent: float) -> None:
        super().__init__(source)
        self._threshold = float(threshold)
        self._exponent = float(exponent)

    def __repr__(self) -> str:
        return f"Sharpened({self._source!r}, {self._threshold:g}, {self._exponent:g})"

    def _over(self, source: TermSimilaritySource) -> Sharpened:
        return Sharpened(source, self._threshold, self._exponent)

    def _mapped(self, values: NDArray[np.float32]) -> NDArray[np.float32]:
        kept = values >= np.float32(self._threshold)
        powers = values.astype(np.float64) ** self._exponent
        return np.where(kept, powers, 0.0).astype(np.float32)


def _given(
    settings: SimilaritySettings, n_terms: int, names: NDArray[Any] | None
) -> TermSimilarityMatrix:
    S = checked_similarity(settings.S)
    beside = ("source", "vocabulary", "min_similarity", "exponent", "max_neighbors")
    given = [name for name in beside if getattr(settings, name) is not None]
    if given:
        raise InvalidInputError(
            f"S is given, and so is {' and '.join(given)}, which only a matrix built here needs; "
            "give either."
        )
    if len(S) != n_terms:
        raise VocabularyMismatchError(
            f"X has {n_terms} terms but S has {len(S)}; build both from one vocabulary."
        )
    _check_names(S.vocabulary, names)
    return S


def _check_names(vocabulary: Vocabulary, names: NDArray[Any] | None) -> None:
    """Refuse columns that are named otherwise, or in another order, than the terms."""
    if names is None or vocabulary == Vocabulary.numbered(len(vocabulary)):
        return
    for number, name in enumerate(names):
        if vocabulary.term(number) != name:
            raise VocabularyMismatchError(
                f"column {number} of X is {name!r}, and the term of that number is "
                f"{vocabulary.term(number)!r}; give the columns in the order of the vocabulary."
            )


def _vocabulary(
    settings: SimilaritySettings, n_terms: int, names: NDArray[Any] | None
) -> Vocabulary:
    given = settings.vocabulary
    if given is None:
        given = names
    if given is None:
        if settings.source is not None:
            raise InvalidInputError(
                "a source must know the terms of the columns: give vocabulary=terms, and "
                "TfidfVectorizer(vocabulary=terms) before it in a pipeline, or a DataFrame whose "
                "columns are named."
            )
        return Vocabulary.numbered(n_terms)
    if isinstance(given, str):
        raise InvalidInputError("vocabulary is one string; needed is a sequence of terms.")
    vocabulary = given if isinstance(given, Vocabulary) else Vocabulary(given)  # type: ignore[arg-type]
    if len(vocabulary) != n_terms:
        raise VocabularyMismatchError(
            f"X has {n_terms} terms but the vocabulary has {len(vocabulary)}; build both from one "
            "vocabulary."
        )
    _check_names(vocabulary, names)
    return vocabulary


def _learned(
    settings: SimilaritySettings, blocks: Blocks, vocabulary: Vocabulary, seed: int
) -> TermSimilaritySource:
    from softcosine.sources.vectors.embedding import EmbeddingSimilarity

    check_whole(term_dimensions=settings.term_dimensions)
    k = min(settings.term_dimensions, max(len(vocabulary), 1))
    V, sigma = right_singular_vectors(blocks, len(vocabulary), k=k, random_state=seed)
    # Only angles matter, and float32 has to hold them.
    vectors = V * (sigma / sigma[0] if sigma[0] > 0 else 0.0)
    threshold, exponent = settings.min_similarity, settings.exponent
    return EmbeddingSimilarity(
        vocabulary.terms, vectors.astype(np.float32),
        threshold=LEARNED_THRESHOLD if threshold is None else threshold,
        exponent=LEARNED_EXPONENT if exponent is None else exponent,
    )  # fmt: skip
