"""The limits by which S is made sparse (theory T6)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal, Self, get_args

import numpy as np
from numpy.typing import ArrayLike, NDArray

from softcosine._validation import check_choice, check_number, check_whole
from softcosine.errors import InvalidInputError
from softcosine.similarity.neighbors import Neighbors
from softcosine.text.vocabulary import Vocabulary

Strategy = Literal["symmetric", "dominant", "rows"]
Order = Literal["rare_first", "frequent_first", "idf", "vocabulary"]


@dataclass(frozen=True, slots=True)
class Rules:
    """Limits of the entries of S.

    Attributes
    ----------
    max_neighbors : int
        Limit of off-diagonal entries per column; per row for ``"rows"``.
    min_similarity : float
        Lower candidates are dropped; compared as float32.
    strategy : {"symmetric", "dominant", "rows"}

    Raises
    ------
    InvalidInputError
        If a value is out of range or the strategy is unknown.
    """

    max_neighbors: int
    min_similarity: float = 0.0
    strategy: Strategy = "symmetric"

    def __post_init__(self) -> None:
        check_whole("max_neighbors", self.max_neighbors, least=0)
        # Greater than any vocabulary, and within the range of the index arrays.
        object.__setattr__(self, "max_neighbors", min(int(self.max_neighbors), 2**31 - 1))
        check_number("min_similarity", self.min_similarity, least=0, most=1)
        check_choice("strategy", self.strategy, get_args(Strategy))

    @property
    def dominant(self) -> bool:
        """Whether the sum of each column's absolute off-diagonals must stay below 1."""
        return self.strategy == "dominant"

    def admitted(self, neighbors: Neighbors) -> Neighbors:
        """Return the candidates with at least `min_similarity`."""
        stay = neighbors.similarities >= np.float32(self.min_similarity)
        if stay.all():
            return neighbors
        return neighbors.where(stay, max_neighbors=len(stay))

    def to_dict(self) -> dict[str, Any]:
        """Return the rules as JSON types."""
        return {
            "max_neighbors": int(self.max_neighbors),
            "min_similarity": float(self.min_similarity),
            "strategy": self.strategy,
        }

    @classmethod
    def from_settings(cls, settings: Mapping[str, Any], *, symmetric: bool, usual: int) -> Self:
        """Return the rules from the settings of a matrix.

        Parameters
        ----------
        settings : mapping
        symmetric : bool
            Whether the matrix is symmetric; sets the strategy of a matrix not made from a source.
        usual : int
            Limit of neighbours for such a matrix.
        """
        return cls(
            settings.get("max_neighbors", usual),
            settings.get("min_similarity", 0.0),
            settings.get("strategy", "symmetric" if symmetric else "rows"),
        )


def column_order(vocabulary: Vocabulary, order: Order | ArrayLike) -> NDArray[np.int32]:
    """Return the order in which columns choose their neighbours, as a permutation.

    Raises
    ------
    InvalidInputError
        If the order is unknown, or weights are not one finite number per term.
    """
    ranks = vocabulary.ranks()
    keys: NDArray[Any]
    if not isinstance(order, str):
        keys = -_checked_weights(order, len(vocabulary))
    elif order not in get_args(Order):
        raise InvalidInputError(
            f"order is {order!r}; choose one of {', '.join(get_args(Order))}, or give one weight "
            "a term."
        )
    else:
        frequencies = vocabulary.document_frequencies
        if order == "vocabulary" or frequencies is None:
            return np.argsort(ranks, kind="stable").astype(np.int32)
        keys = -frequencies if order == "frequent_first" else frequencies
    return np.lexsort((ranks, keys)).astype(np.int32)


def _checked_weights(given: ArrayLike, n_terms: int) -> NDArray[np.float64]:
    try:
        weights = np.asarray(given, np.float64)
    except (TypeError, ValueError) as error:
        raise InvalidInputError(f"order cannot be read as one weight a term: {error}") from error
    if weights.shape != (n_terms,) or not np.isfinite(weights).all():
        raise InvalidInputError(
            f"order has shape {weights.shape}; give one finite weight for each of the {n_terms} "
            "terms."
        )
    return weights
