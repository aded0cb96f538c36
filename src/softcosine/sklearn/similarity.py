"""The term similarity matrix of a transformer: given, from a recipe, or learned from documents."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from softcosine._validation import check_list, check_whole
from softcosine.errors import InvalidInputError, VocabularyMismatchError
from softcosine.matrix.recipe import SimilarityRecipe
from softcosine.matrix.term_similarity_matrix import TermSimilarityMatrix, checked_similarity
from softcosine.similarity.source import TermSimilaritySource
from softcosine.space.latent import Blocks, right_singular_vectors
from softcosine.text.vocabulary import Vocabulary

# Defaults for similarities learned from the documents.
LEARNED_THRESHOLD = 0.3
LEARNED_EXPONENT = 2.0
_FROM_DOCUMENTS = SimilarityRecipe(sources=("documents",))


@dataclass(frozen=True, slots=True)
class DocumentMatrix:
    """Documents for the source ``documents``.

    Attributes
    ----------
    blocks : callable
        Yields the documents, block by block.
    vocabulary : Vocabulary
        Terms of the columns.
    seed : int
    """

    blocks: Blocks
    vocabulary: Vocabulary
    seed: int

    def latent_similarity(
        self,
        n_dimensions: int,
        *,
        threshold: float = LEARNED_THRESHOLD,
        exponent: float = LEARNED_EXPONENT,
    ) -> TermSimilaritySource:
        """Return cosines of the term vectors from the truncated SVD of the documents."""
        from softcosine.similarity.embeddings.embedding import EmbeddingSimilarity

        check_whole("n_dimensions", n_dimensions)
        n_terms = len(self.vocabulary)
        k = min(n_dimensions, max(n_terms, 1))
        V, sigma = right_singular_vectors(self.blocks, n_terms, k=k, random_state=self.seed)
        # Only angles matter, so scale the vectors into the range of float32.
        vectors = V * (sigma / sigma[0] if sigma[0] > 0 else 0.0)
        return EmbeddingSimilarity(
            self.vocabulary.terms, vectors.astype(np.float32), threshold=threshold,
            exponent=exponent,
        )  # fmt: skip


def built_similarity(
    S: TermSimilarityMatrix | SimilarityRecipe | None,
    vocabulary: Vocabulary | ArrayLike | None,
    blocks: Blocks,
    n_terms: int,
    *,
    names: NDArray[Any] | None = None,
    seed: int = 0,
) -> TermSimilarityMatrix:
    """Return the S of a transformer.

    Parameters
    ----------
    S : TermSimilarityMatrix, SimilarityRecipe, or None
        A matrix is returned as it is. A recipe builds one; with ``scaling="auto"`` it is
        positive definite. None means the recipe of the source ``documents``.
    vocabulary : Vocabulary or sequence of str, optional
        The term of every column; `names` by default.
    blocks : callable
        Yields the documents, for a recipe that learns from them.
    n_terms : int
    names : array of str, of shape (n_terms,), optional
        Column names of the documents, if they have any.
    seed : int

    Raises
    ------
    InvalidInputError
        If a source needs terms and there are none, or both S and a vocabulary are given.
    VocabularyMismatchError
        If S or the vocabulary has another number of terms than the documents.
    """
    if S is not None and not isinstance(S, SimilarityRecipe):
        if vocabulary is not None:
            raise InvalidInputError(
                "S is given, and so is vocabulary, which only a matrix built here needs; give "
                "either."
            )
        return given_similarity(S, n_terms, names)
    recipe = S or _FROM_DOCUMENTS
    terms = _vocabulary(recipe, vocabulary, n_terms, names)
    if _of_documents(recipe):  # numbers and antonyms need no special treatment
        recipe = recipe.changed(guard=False)
    made = recipe.build(terms, DocumentMatrix(blocks, terms, seed)).S  # type: ignore[arg-type]
    return made.shrunk() if recipe.scaling == "auto" and made.symmetric else made


def given_similarity(S: object, n_terms: int, names: NDArray[Any] | None) -> TermSimilarityMatrix:
    """Return a matrix after comparing it with the columns of the documents."""
    matrix = checked_similarity(S)
    if len(matrix) != n_terms:
        raise VocabularyMismatchError(
            f"X has {n_terms} terms but S has {len(matrix)}; build both from one vocabulary."
        )
    _check_names(matrix.vocabulary, names)
    return matrix


def _check_names(vocabulary: Vocabulary, names: NDArray[Any] | None) -> None:
    """Raise if the column names are not the terms in the same order."""
    if names is None or vocabulary == Vocabulary.numbered(len(vocabulary)):
        return
    for number, name in enumerate(names):
        if vocabulary.term(number) != name:
            raise VocabularyMismatchError(
                f"column {number} of X is {name!r}, and the term of that number is "
                f"{vocabulary.term(number)!r}; give the columns in the order of the vocabulary."
            )


def _of_documents(recipe: SimilarityRecipe) -> bool:
    """Whether all similarities come from the documents."""
    return (
        bool(recipe.sources)
        and all(name.partition(":")[0] == "documents" for name in recipe.names)
        and len(recipe.names) == len(recipe.sources or ())
    )


def _vocabulary(
    recipe: SimilarityRecipe,
    vocabulary: Vocabulary | ArrayLike | None,
    n_terms: int,
    names: NDArray[Any] | None,
) -> Vocabulary:
    given = names if vocabulary is None else vocabulary
    if given is None:
        if not _of_documents(recipe):
            raise InvalidInputError(
                "a source must know the terms of the columns: give vocabulary=terms, and "
                "TfidfVectorizer(vocabulary=terms) before it in a pipeline, or a DataFrame whose "
                "columns are named."
            )
        return Vocabulary.numbered(n_terms)
    check_list("vocabulary", given, "terms")
    terms = given if isinstance(given, Vocabulary) else Vocabulary(given)  # type: ignore[arg-type]
    if len(terms) != n_terms:
        raise VocabularyMismatchError(
            f"X has {n_terms} terms but the vocabulary has {len(terms)}; build both from one "
            "vocabulary."
        )
    _check_names(terms, names)
    return terms
