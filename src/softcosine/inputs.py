"""Numbers and matrices as users give them, checked before anything is made of them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
from scipy.sparse import csr_array, issparse

from softcosine.errors import InvalidInputError

__all__ = ["is_number", "is_pair", "is_whole", "read_matrix", "refuse_texts"]


def is_number(value: object) -> bool:
    """Whether it is a real number that float64 can hold; infinity is, NaN is not."""
    if isinstance(value, bool) or not isinstance(value, int | float | np.integer | np.floating):
        return False
    try:
        return not np.isnan(float(value))
    except OverflowError:
        return False


def is_whole(value: object) -> bool:
    """Whether a value is a whole number."""
    return isinstance(value, int | np.integer) and not isinstance(value, bool)


def is_pair(value: object) -> bool:
    """Whether a value is a sequence of two, and no string of two characters."""
    return isinstance(value, Sequence) and not isinstance(value, str) and len(value) == 2


def refuse_texts(X: Any, name: str) -> None:
    """Raise InvalidInputError, which says what to do, where X is texts and no matrix."""
    if issparse(X) or getattr(X, "ndim", 1) != 1:
        return
    kept = isinstance(X, Sequence) or (isinstance(X, Iterable) and hasattr(X, "__array__"))
    if kept and isinstance(next(iter(X), None), str):
        raise InvalidInputError(
            f"{name} holds texts, and a document-term matrix is needed. Put a vectorizer first, as "
            "in make_pipeline(TfidfVectorizer(), ...), or let SoftIndex.from_texts(texts) search "
            "the texts."
        )


def read_matrix(X: Any, name: str) -> csr_array:
    """Read a matrix as canonical float64 CSR; what was given is not changed.

    Raises
    ------
    InvalidInputError
        If it is not two-dimensional, real and finite. The message calls it `name`.
    """
    try:
        given = X if issparse(X) else np.asarray(X)
        if given.ndim != 2:
            raise InvalidInputError(f"{name} has {given.ndim} dimension(s); a matrix has two.")
        if given.dtype.kind == "c":
            raise InvalidInputError(f"{name} holds complex numbers; they must be real.")
        # NumPy reads objects as numbers where it can; SciPy refuses them all.
        given = given if issparse(given) else given.astype(np.float64)
        matrix = csr_array(given, dtype=np.float64)
    except (TypeError, ValueError, OverflowError) as error:
        if isinstance(error, InvalidInputError):
            raise
        raise InvalidInputError(f"{name} cannot be read as a matrix: {error}") from error
    if not matrix.has_canonical_format:
        matrix = matrix.copy()
        matrix.sum_duplicates()
    bad = np.flatnonzero(~np.isfinite(matrix.data))
    if bad.size:
        row = int(np.searchsorted(matrix.indptr, bad[0], "right")) - 1
        raise InvalidInputError(
            f"{name} holds NaN or infinity in row {row}; every value must be finite."
        )
    return matrix
