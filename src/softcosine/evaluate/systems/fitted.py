"""Fitted system whose documents and queries are vectors."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from softcosine.errors import InvalidInputError
from softcosine.evaluate.documents import Documents
from softcosine.evaluate.systems.rows import Rows
from softcosine.evaluate.systems.system import Ranked
from softcosine.index.search.explanation import Explanation

Partners = Callable[[Sequence[str], Sequence[str]], "NDArray[np.float64]"]


@dataclass(frozen=True, slots=True)
class FittedVectors:
    """Ranks by the products of query vectors and document vectors.

    Attributes
    ----------
    rows : Rows
        The documents.
    vectors : callable
        Returns the vectors of texts.
    pairs : callable, optional
        Returns the similarities of pairs of texts; by default the products of their vectors.
    explain : callable, optional
        Returns the explanation of a document's score for one query.
    told : callable
        Returns the note on the system for people.
    """

    rows: Rows
    vectors: Callable[[Sequence[str]], Any]
    pairs: Partners | None = None
    explain: Callable[[Documents, int], Explanation | None] | None = None
    told: Callable[[], str] = str

    @property
    def note(self) -> str:
        """Note on the system for people."""
        return self.told()

    def ranked(self, queries: Documents, *, k: int) -> Ranked:
        """Return the `k` best documents for each query."""
        return self.rows.ranked(self.vectors(queries.texts), k=k)

    def scored(
        self, queries: Documents, candidates: Sequence[NDArray[np.int64]]
    ) -> list[NDArray[np.float64]]:
        """Return the scores of given documents."""
        return self.rows.scored(self.vectors(queries.texts), candidates)

    def paired(self, left: Sequence[str], right: Sequence[str]) -> NDArray[np.float64]:
        """Return the similarity of each text and its partner."""
        check_partners(left, right)
        if not len(left):
            return np.empty(0)
        if self.pairs is None:
            return products(self.vectors(left), self.vectors(right))
        return self.pairs(left, right)

    def explained(self, query: Documents, number: int) -> Explanation | None:
        """Return the explanation of a document's score; None without `explain`."""
        return None if self.explain is None else self.explain(query, number)


def check_partners(left: Sequence[str], right: Sequence[str]) -> None:
    """Raise InvalidInputError if the two sides have different lengths."""
    if len(left) != len(right):
        raise InvalidInputError(
            f"{len(left)} texts are to be compared with {len(right)}; give each text one partner."
        )


def products(left: Any, right: Any) -> NDArray[np.float64]:
    """Return the scalar products of corresponding rows, sparse or dense."""
    return np.asarray((left * right).sum(axis=1), np.float64).ravel()


def both_ways(asked: tuple[Any, Any], held: tuple[Any, Any]) -> NDArray[np.float64]:
    """Return a symmetric similarity of pairs from an asymmetric score s.

    (s(l, r) + s(r, l)) / (s(l, l) + s(r, r)): 1 for equal texts.

    Parameters
    ----------
    asked : pair of arrays of shape (n, n_terms)
        Texts and their partners as queries.
    held : pair of arrays of shape (n, n_terms)
        The same as documents.
    """
    between = products(asked[0], held[1]) + products(asked[1], held[0])
    own = products(asked[0], held[0]) + products(asked[1], held[1])
    return np.divide(between, own, out=np.zeros_like(own), where=own > 0)
