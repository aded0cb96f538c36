"""Pairs of texts over all their terms, including terms that no document has."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from softcosine.matrix.recipe import BuiltSimilarity
from softcosine.matrix.term_similarity_matrix import TermSimilarityMatrix
from softcosine.text.analyzer import Analyzer
from softcosine.text.corpus import analyze, in_vocabulary
from softcosine.text.weighting import Weighting


@dataclass(frozen=True, slots=True)
class Partners:
    """Counts, S and statistics over a vocabulary extended by new terms.

    Attributes
    ----------
    counts : csr_array of shape (2 n, n_terms)
        Counts of the left texts, then of their partners.
    S : TermSimilarityMatrix of order n_terms
    document_frequencies : ndarray of shape (n_terms,), int64
        0 for new terms.
    n_docs : int
        Number of documents behind `document_frequencies`.
    """

    counts: csr_array
    S: TermSimilarityMatrix
    document_frequencies: NDArray[np.int64]
    n_docs: int

    @classmethod
    def of(
        cls,
        left: Sequence[str],
        right: Sequence[str],
        analyzer: Analyzer,
        similarities: BuiltSimilarity,
        *,
        closed: bool,
    ) -> Partners:
        """Return the analysed texts; S is extended by new terms, or drops them if `closed`.

        See `softcosine.evaluate.systems.analysis.Corpus.closed`.
        """
        analyzed = analyze([*left, *right], analyzer)
        own, known = analyzed.vocabulary, similarities.S.vocabulary
        new = [] if closed else np.flatnonzero(known.indices(own.terms) < 0).tolist()
        whole = known.extended(
            [own.term(number) for number in new],
            forms=None if known.forms is None else [own.forms_of(number) for number in new],
        )
        S, source, frequencies = similarities.S, similarities.source, known.document_frequencies
        if new and source is not None:  # the source of a recipe has its guard
            S = S.extend(whole, source, guard=False, warn=False)
        elif new:
            S = S.restricted(whole)
        assert frequencies is not None
        return cls(
            in_vocabulary(analyzed.counts(), own, whole),
            S,
            np.concatenate([frequencies, np.zeros(len(new), np.int64)]),
            known.n_docs or 0,
        )

    def weighted(
        self, weighting: Weighting, average_length: float, counts: csr_array | None = None
    ) -> tuple[csr_array, csr_array]:
        """Return the weighted texts of both sides, or of `counts` instead."""
        weighted = weighting.transform(
            self.counts if counts is None else counts,
            document_frequencies=self.document_frequencies,
            n_docs=self.n_docs,
            average_length=average_length or 1.0,
        )
        n_pairs = self.counts.shape[0] // 2
        return csr_array(weighted[:n_pairs]), csr_array(weighted[n_pairs:])
