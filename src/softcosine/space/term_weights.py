"""Checks of user-supplied term weights, the diagonal of W."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

from softcosine.errors import InvalidInputError

__all__ = ["checked_weights"]


def checked_weights(term_weights: ArrayLike | None, n_terms: int) -> NDArray[np.float64]:
    """Return one weight per term; ones if `term_weights` is None.

    Raises
    ------
    InvalidInputError
        If the number of weights is wrong, or one is negative or not finite.
    """
    if term_weights is None:
        return np.ones(n_terms)
    try:
        weights = np.asarray(term_weights, np.float64)
    except (TypeError, ValueError) as error:
        raise InvalidInputError(f"term_weights cannot be read as numbers: {error}") from error
    if weights.shape != (n_terms,):
        raise InvalidInputError(
            f"term_weights has shape {weights.shape}; S needs one weight a term, ({n_terms},)."
        )
    if not np.all(np.isfinite(weights)) or np.any(weights < 0):
        raise InvalidInputError("term_weights must be finite and not negative.")
    return weights
