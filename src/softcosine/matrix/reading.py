"""Reading and validation of term similarity matrices given by users."""

from __future__ import annotations

import sys
from typing import Any

import numpy as np
from scipy.sparse import csr_array, diags_array

from softcosine._validation import read_matrix
from softcosine.errors import InvalidInputError

__all__ = ["is_gensim", "read_similarities"]

# An S that is asymmetric by at most this is made symmetric.
_ASYMMETRY = 1e-6


def read_similarities(S: Any) -> csr_array:
    """Return a term similarity matrix (also gensim's) as float32 CSR with stored diagonal.

    If s_ij and s_ji differ by rounding only, both become their mean.

    Raises
    ------
    InvalidInputError
        If the matrix is not square, real and finite in float32, or its diagonal is not 1.
    """
    matrix = read_matrix(S.matrix if is_gensim(S) else S, "S")
    n = matrix.shape[0]
    if matrix.shape[1] != n:
        raise InvalidInputError(f"S has shape {matrix.shape}; it must be square.")
    if np.any(np.abs(matrix.data) > np.finfo(np.float32).max):
        raise InvalidInputError("S holds values beyond the range of float32; scale it down.")
    diagonal = matrix.diagonal()
    wrong = np.flatnonzero(np.abs(diagonal - 1.0) > 1e-6)
    if wrong.size:
        raise InvalidInputError(
            f"S[{wrong[0]}, {wrong[0]}] is {diagonal[wrong[0]]:g}; the diagonal of a "
            "term similarity matrix is 1. Scale rows and columns by 1/sqrt of the diagonal."
        )
    if np.all(np.abs((matrix - matrix.T).data) <= _ASYMMETRY):
        matrix = csr_array((matrix + matrix.T) / 2.0)
    matrix = csr_array(matrix + diags_array(1.0 - matrix.diagonal(), shape=(n, n)))
    matrix = csr_array(matrix, dtype=np.float32)
    matrix.eliminate_zeros()
    matrix.sort_indices()
    return matrix


def is_gensim(S: object) -> bool:
    """Whether the object is gensim's SparseTermSimilarityMatrix; gensim is not imported."""
    module = sys.modules.get("gensim.similarities.termsim")
    return module is not None and isinstance(S, module.SparseTermSimilarityMatrix)
