"""The space that a neural encoder teaches for a corpus: soft cosine in few dimensions."""

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
    r"""Term similarities and term weights that were distilled from an encoder.

    With the vectors v_i of `distilled_vectors`, terms are similar as their vectors are,
    s_ij = cos(v_i, v_j), and weigh

    .. math:: w_i = \operatorname{idf}_i \lvert v_i \rvert^p,

    since a term that says little of what the encoder thinks of its documents has a short vector.
    So S = E Eᵀ with the unit vectors as the rows of E, and the change of basis (theory T7) needs no
    decomposition: the soft cosine is the cosine of the coordinates Eᵀ W x. Build it by `fit`.

    Attributes
    ----------
    coordinates : ndarray of shape (n_terms, dimensions), float32
        W E: what one occurrence of each term adds to the coordinates of a text.
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
        """Learn from a corpus whose documents have been encoded.

        Parameters
        ----------
        corpus, encodings, penalty, progress
            As for `softcosine.similarity.cooccurrence.distilled_vectors.distilled_vectors`.
        power : float
            p above, from 0 (idf alone) to 1.

        Raises
        ------
        InvalidInputError
            If a setting is out of range, or there is not one finite encoding for each document.
        """
        check_number("power", power, least=0, most=1)
        vectors = distilled_vectors(corpus, encodings, penalty=penalty, progress=progress)
        return cls.of_vectors(corpus, vectors, power=power)

    @classmethod
    def of_vectors(
        cls, corpus: AnalyzedTexts, vectors: NDArray[np.float64], *, power: float = 0.5
    ) -> DistilledSpace:
        """Return the space of vectors that `distilled_vectors` gave for the corpus."""
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
            How often each term stands in each text.

        Returns
        -------
        ndarray of shape (n_texts, dimensions), float64
            Zeros for a text without known terms. The dot product of two rows is their soft cosine.

        Raises
        ------
        VocabularyMismatchError
            If the terms are of another number.
        """
        if counts.shape[1] != len(self.coordinates):
            raise VocabularyMismatchError(
                f"the texts are of {counts.shape[1]} terms but the space of "
                f"{len(self.coordinates)}; count the terms of the vocabulary that it was fitted on."
            )
        # A query has few of the terms: only their coordinates are read.
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
        """Return what each term of one text adds to its unit coordinates, and how long that is.

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
