"""What is compared: a system learns from documents, then ranks, scores and explains."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from softcosine.evaluate.documents import Documents
from softcosine.index.search.explanation import Explanation

__all__ = ["FittedSystem", "Ranked", "System"]


@dataclass(frozen=True, slots=True)
class Ranked:
    """The best documents for each query, best first.

    Attributes
    ----------
    numbers : ndarray of shape (n_queries, k), int64
        Positions among the documents; -1 where no more were found. Documents of equal score stand
        in the order of their numbers.
    scores : ndarray of shape (n_queries, k), float64
        Decreasing; 0 where none was found. A document of score 0 counts as not found, one of a
        negative score (as some dense systems give) as found.
    """

    numbers: NDArray[np.int64]
    scores: NDArray[np.float64]


class System(Protocol):
    """Something to compare: its settings, before it has seen any document."""

    @property
    def name(self) -> str:
        """What it is called in tables and in JSON; the name of a setting is part of it."""
        ...

    def fit(self, documents: Documents, *, background: Sequence[str] = ()) -> FittedSystem:
        """Learn what is needed from the documents; the same input gives the same answers.

        Parameters
        ----------
        documents : Documents
            What is searched or compared.
        background : sequence of str
            Further texts, for statistics and for training; they are never ranked.
        """
        ...


class FittedSystem(Protocol):
    """A system that knows its documents."""

    def ranked(self, queries: Documents, *, k: int) -> Ranked:
        """Return the `k` best documents for each query; `k` may exceed their number."""
        ...

    def scored(
        self, queries: Documents, candidates: Sequence[NDArray[np.int64]]
    ) -> list[NDArray[np.float64]]:
        """Score given documents, such as the candidates that a search engine found.

        Parameters
        ----------
        queries : Documents
        candidates : sequence of ndarray of shape (n_candidates,), int64
            For each query, numbers of documents, in any order.

        Returns
        -------
        list of ndarray of shape (n_candidates,), float64
            In the order of the candidates; higher is better.
        """
        ...

    def paired(self, left: Sequence[str], right: Sequence[str]) -> NDArray[np.float64]:
        """Return how similar each text is to its partner, shape (n,); statistics are from `fit`."""
        ...

    def explained(self, query: Documents, number: int) -> Explanation | None:
        """Say why a document gets its score for one query; None where the system cannot.

        Parameters
        ----------
        query : Documents
            One query.
        number : int
            Of the document, from 0.
        """
        ...
