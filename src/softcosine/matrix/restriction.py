"""The same similarities over another vocabulary."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from softcosine.matrix.assembly import with_diagonal
from softcosine.text.vocabulary import Vocabulary

__all__ = ["Restricted", "restricted"]


@dataclass(frozen=True, slots=True)
class Restricted:
    """S over another vocabulary.

    Attributes
    ----------
    S : csr_array of shape (n_terms, n_terms), float32
    words : tuple of str
        The word that stands for each term; for a missing one its most frequent form.
    missing : ndarray of shape (n_terms,), bool
        Terms that S did not have; they are similar to themselves only.
    scales : ndarray of shape (n_terms,), float32, or None
        What each term's similarities were multiplied by to balance S, 1 for a missing one.
    """

    S: csr_array
    words: tuple[str, ...]
    missing: NDArray[np.bool_]
    scales: NDArray[np.float32] | None


def restricted(
    S: csr_array,
    old: Vocabulary,
    words: tuple[str, ...],
    scales: NDArray[np.float32] | None,
    vocabulary: Vocabulary,
) -> Restricted:
    """Move S to the terms of another vocabulary.

    Parameters
    ----------
    S : csr_array of shape (n_old, n_old), float32
    old : Vocabulary of n_old
    words : tuple of str, of length n_old
        The word that stands for each old term.
    scales : ndarray of shape (n_old,), float32, or None
    vocabulary : Vocabulary of n_terms
    """
    n = len(vocabulary)
    numbers = vocabulary.indices(old.terms)
    there = numbers >= 0
    missing = np.ones(n, np.bool_)
    missing[numbers[there]] = False
    own_scales = None
    if scales is not None:
        own_scales = np.ones(n, np.float32)
        own_scales[numbers[there]] = scales[there]
    coo = S.tocoo()
    rows, columns = numbers[coo.coords[0]], numbers[coo.coords[1]]
    stay = (rows >= 0) & (columns >= 0) & (rows != columns)
    moved = csr_array((coo.data[stay], (rows[stay], columns[stay])), shape=(n, n), dtype=np.float32)
    chosen = vocabulary.terms
    if words is not old.terms or vocabulary.forms is not None:
        standing = dict(zip(old.terms, words, strict=True))
        forms = vocabulary.forms or [()] * n
        chosen = tuple(
            standing.get(term, own[0] if own else term)
            for term, own in zip(vocabulary.terms, forms, strict=True)
        )
    return Restricted(with_diagonal(moved), chosen, missing, own_scales)
