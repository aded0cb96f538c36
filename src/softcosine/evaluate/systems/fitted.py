"""A fitted system whose documents and queries are vectors."""

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

__all__ = ["FittedVectors", "both_ways", "check_partners", "products"]

Partners = Callable[[Sequence[str], Sequence[str]], "NDArray[np.float64]"]


@dataclass(frozen=True, slots=True)
class FittedVectors:
    """Ranks by the products of a query's vector with those of the documents.

    Attributes
    ----------
    rows : Rows
        The documents.
    vectors : callable
        Makes vectors of texts.
    pairs : callable
        Compares texts with their partners.
    explain : callable, optional
        Says why a document gets its score for one query.
    note : str
        What it is made of and what that took, for people.
    """

    rows: Rows
    vectors: Callable[[Sequence[str]], Any]
    pairs: Partners
    explain: Callable[[Documents, int], Explanation | None] | None = None
    note: str = ""

    def ranked(self, queries: Documents, *, k: int) -> Ranked:
        """Return the `k` best documents for each query."""
        return self.rows.ranked(self.vectors(queries.texts), k=k)

    def scored(
        self, queries: Documents, candidates: Sequence[NDArray[np.int64]]
    ) -> list[NDArray[np.float64]]:
        """Score given documents."""
        return self.rows.scored(self.vectors(queries.texts), candidates)

    def paired(self, left: Sequence[str], right: Sequence[str]) -> NDArray[np.float64]:
        """Return how similar each text is to its partner."""
        check_partners(left, right)
        return self.pairs(left, right) if len(left) else np.empty(0)

    def explained(self, query: Documents, number: int) -> Explanation | None:
        """Say why a document gets its score for one query, where that can be said."""
        return None if self.explain is None else self.explain(query, number)


def check_partners(left: Sequence[str], right: Sequence[str]) -> None:
    """Raise InvalidInputError unless every text has a partner."""
    if len(left) != len(right):
        raise InvalidInputError(
            f"{len(left)} texts are to be compared with {len(right)}; give each text one partner."
        )


def products(left: Any, right: Any) -> NDArray[np.float64]:
    """Return the scalar product of each row with its partner, sparse or dense."""
    return np.asarray((left * right).sum(axis=1), np.float64).ravel()


def both_ways(asked: tuple[Any, Any], held: tuple[Any, Any]) -> NDArray[np.float64]:
    """Compare partners by a score that is not the same both ways.

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
