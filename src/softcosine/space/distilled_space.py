"""Soft vector space of few dimensions, learned from a neural encoder for one corpus."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.sparse import csr_array

from softcosine._progress import Progress
from softcosine._validation import check_number
from softcosine.errors import VocabularyMismatchError
from softcosine.similarity.cooccurrence.distilled_vectors import (
    WEIGHTING,
    distilled_vectors,
    lengths,
)
from softcosine.text.corpus import AnalyzedTexts

__all__ = ["DistilledSpace"]

_VANISHED = 1e-9  # a text so short is what rounding left of nothing


@dataclass(frozen=True, slots=True)
class DistilledSpace:
    r"""Term similarities and term weights distilled from an encoder.

    With the vectors v_i of `distilled_vectors`, terms are as similar as their vectors,
    s_ij = cos(v_i, v_j), and have the weights

    .. math:: w_i = \operatorname{idf}_i \lvert v_i \rvert^p,

    because a term that explains little of its documents' encodings has a short vector. So S = E Eᵀ
    with the unit vectors as the rows of E, and the change of basis (theory T7) needs no
    decomposition: the soft cosine is the cosine of the coordinates Eᵀ W x. `fit` builds it.

    Attributes
    ----------
    coordinates : ndarray of shape (n_terms, dimensions), float32
        W E: what one occurrence of each term adds to a text's coordinates.
    """

    coordinates: NDArray[np.float32]

    @classmethod
    def fit(
        cls,
        corpus: AnalyzedTexts,
        encodings: ArrayLike,
        *,
        penalty: float = 1.0,
        power: float = 0.5,
        progress: Progress | None = None,
    ) -> DistilledSpace:
        """Return the space of a corpus, given the encodings of its documents.

        Parameters
        ----------
        corpus, encodings, penalty, progress
            As for `softcosine.similarity.cooccurrence.distilled_vectors.distilled_vectors`.
        power : float
            p above, from 0 (idf alone) to 1.

        Raises
        ------
        InvalidInputError
            If a setting is out of range, or the documents do not have one finite encoding each.
        """
        check_number("power", power, least=0, most=1)
        vectors = distilled_vectors(corpus, encodings, penalty=penalty, progress=progress)
        return cls.of_vectors(corpus, vectors, power=power)

    @classmethod
    def of_vectors(
        cls, corpus: AnalyzedTexts, vectors: NDArray[np.float64], *, power: float = 0.5
    ) -> DistilledSpace:
        """Return the space of the vectors that `distilled_vectors` returned for the corpus."""
        check_number("power", power, least=0, most=1)
        found = lengths(vectors)
        known = found > 0.0
        frequencies = corpus.vocabulary.document_frequencies
        assert frequencies is not None
        weights = WEIGHTING.term_weights(frequencies, corpus.n_docs)
        weights[known] *= found[known] ** (power - 1.0)
        weights[~known] = 0.0
        return cls((vectors * weights[:, np.newaxis]).astype(np.float32))

    @property
    def dimensions(self) -> int:
        """Number of coordinates of a text."""
        return int(self.coordinates.shape[1])

    def units(self, counts: csr_array) -> NDArray[np.float64]:
        """Return the coordinates of texts, divided by their soft norms.

        Parameters
        ----------
        counts : csr_array of shape (n_texts, n_terms)
            Term frequencies.

        Returns
        -------
        ndarray of shape (n_texts, dimensions), float64
            The dot product of two rows is the soft cosine. A text without known terms has zeros.

        Raises
        ------
        VocabularyMismatchError
            If `counts` has another number of terms.
        """
        if counts.shape[1] != len(self.coordinates):
            raise VocabularyMismatchError(
                f"the texts are of {counts.shape[1]} terms but the space of "
                f"{len(self.coordinates)}; count the terms of the vocabulary that it was fitted on."
            )
        # A query has few terms: only their coordinates are read.
        used, places = np.unique(counts.indices, return_inverse=True)
        frequencies = WEIGHTING.frequencies(np.asarray(counts.data, np.float64))
        local = csr_array((frequencies, places, counts.indptr), shape=(counts.shape[0], len(used)))
        sums = np.asarray(local @ self.coordinates[used].astype(np.float64))
        norms = lengths(sums)[:, np.newaxis]
        units: NDArray[np.float64] = np.divide(
            sums, norms, out=np.zeros_like(sums), where=norms > _VANISHED
        )
        return units

    def rows(
        self, terms: NDArray[np.integer[Any]], frequencies: NDArray[np.float64]
    ) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Return the row that each term of one text adds to its unit coordinates, and its length.

        Parameters
        ----------
        terms : ndarray of shape (m,), integer
        frequencies : ndarray of shape (m,), float64

        Returns
        -------
        rows : ndarray of shape (m, dimensions), float64
            Their sum is the text's row of `units`.
        lengths : ndarray of shape (m,), float64
        """
        local = WEIGHTING.frequencies(frequencies)[:, np.newaxis]
        rows = local * self.coordinates[terms].astype(np.float64)
        whole = rows.sum(axis=0)
        length = float(np.sqrt(whole @ whole))
        rows = rows / length if length > _VANISHED else np.zeros_like(rows)
        return rows, lengths(rows)
