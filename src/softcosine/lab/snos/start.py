"""Initial similarities of objects for SNOS."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
from scipy.sparse import csr_array

from softcosine._validation import read_matrix
from softcosine.errors import InvalidInputError
from softcosine.lab.snos.graph import normalized

_ROUNDING = 1e-9


def _identity(B: csr_array) -> csr_array:
    return csr_array((B.shape[1], B.shape[1]))


def _cosine(B: csr_array) -> csr_array:
    units = normalized(B, "length")
    return csr_array(units.T @ units)


STARTS: Mapping[str, Callable[[csr_array], csr_array]] = {
    "identity": _identity,
    "cosine": _cosine,
}


def checked_start(initial: Any, B: csr_array) -> csr_array:
    """Return the initial S_o without its diagonal.

    Raises
    ------
    InvalidInputError
        If the name is unknown, or a matrix is not (n_objects, n_objects), symmetric and
        non-negative with unit diagonal.
    """
    if initial is None or isinstance(initial, str):
        name = initial or "identity"
        if name not in STARTS:
            raise InvalidInputError(
                f"initial is {name!r}; needed is {' or '.join(STARTS)}, or a matrix."
            )
        S = STARTS[name](B)
    else:
        S = _given(initial, B.shape[1])
    rows = np.repeat(np.arange(S.shape[0]), np.diff(S.indptr))
    others = S.indices != rows
    entries = (S.data[others], (rows[others], S.indices[others]))
    return csr_array(entries, shape=S.shape)


def _given(initial: Any, n_objects: int) -> csr_array:
    S = read_matrix(initial, "initial")
    if S.shape != (n_objects, n_objects):
        raise InvalidInputError(
            f"initial has shape {S.shape}, but there are {n_objects} objects; it must be square."
        )
    problem = ""
    if np.any(np.abs(S.diagonal() - 1.0) > _ROUNDING):
        problem = "has a diagonal other than 1"
    elif S.nnz and S.data.min() < 0.0:
        problem = "holds a negative similarity"
    elif np.any(np.abs((S - S.T).data) > _ROUNDING):
        problem = "is not symmetric"
    if problem:
        raise InvalidInputError(
            f"initial {problem}; needed are symmetric similarities of 0 or more with unit diagonal."
        )
    return csr_array((S + S.T) / 2.0)
