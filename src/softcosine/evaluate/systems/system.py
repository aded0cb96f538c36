"""Protocols of systems: a system is fitted on documents, then ranks, scores and explains."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from softcosine.evaluate.documents import Documents
from softcosine.index.search.explanation import Explanation


@dataclass(frozen=True, slots=True)
class Ranked:
    """The best documents for each query, best first.

    Attributes
    ----------
    numbers : ndarray of shape (n_queries, k), int64
        Document numbers; -1 after the last result. Documents of equal score are in ascending
        order of number.
    scores : ndarray of shape (n_queries, k), float64
        In descending order; 0 after the last result. Documents with score 0 are not results;
        documents with negative scores, as of some dense systems, are.
    """

    numbers: NDArray[np.int64]
    scores: NDArray[np.float64]


class System(Protocol):
    """A system with its settings, before it is fitted."""

    @property
    def name(self) -> str:
        """Name in tables and in JSON, including settings."""
        ...

    def fit(self, documents: Documents, *, background: Sequence[str] = ()) -> FittedSystem:
        """Return the system fitted on documents; the same input gives the same results.

        Parameters
        ----------
        documents : Documents
            Documents to search or to compare.
        background : sequence of str
            More texts for statistics and training; they are never ranked.
        """
        ...


class FittedSystem(Protocol):
    """A system fitted on documents."""

    def ranked(self, queries: Documents, *, k: int) -> Ranked:
        """Return the `k` best documents for each query; `k` can exceed their number."""
        ...

    def scored(
        self, queries: Documents, candidates: Sequence[NDArray[np.int64]]
    ) -> list[NDArray[np.float64]]:
        """Return the scores of given documents, such as the candidates of a search engine.

        Parameters
        ----------
        queries : Documents
        candidates : sequence of ndarray of shape (n_candidates,), int64
            Document numbers for each query, in any order.

        Returns
        -------
        list of ndarray of shape (n_candidates,), float64
            In the order of the candidates; higher is better.
        """
        ...

    def paired(self, left: Sequence[str], right: Sequence[str]) -> NDArray[np.float64]:
        """Return the similarity of each text and its partner, shape (n,); statistics of `fit`."""
        ...

    def explained(self, query: Documents, number: int) -> Explanation | None:
        """Return the explanation of a document's score; None if the system has none.

        Parameters
        ----------
        query : Documents
            One query.
        number : int
            Document number, from 0.
        """
        ...
