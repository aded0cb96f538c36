"""S over another vocabulary."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import scipy
from numpy.typing import NDArray

from softcosine.matrix.entries import compressed
from softcosine.matrix.stored import Words
from softcosine.text.packing import PackedStrings
from softcosine.text.vocabulary import Vocabulary


@dataclass(frozen=True, slots=True)
class Restricted:
    """S over another vocabulary.

    Attributes
    ----------
    S : csr_array of shape (n_terms, n_terms), float32
        The rows of missing terms are empty. If the old terms come first in the new vocabulary, the
        arrays are shared with the old S.
    words : tuple of str, PackedStrings or None
        Representative word of each term, for a missing term its most frequent form; None if all
        terms represent themselves.
    missing : ndarray of shape (n_terms,), bool
        Terms that the old S does not have.
    scales : ndarray of shape (n_terms,), float32, or None
        Balancing scale of each term, 1 for a missing term.
    """

    S: scipy.sparse.csr_array
    words: Words | None
    missing: NDArray[np.bool_]
    scales: NDArray[np.float32] | None

    def with_diagonal(self) -> scipy.sparse.csr_array:
        """Return S where missing terms are similar to themselves only."""
        own = scipy.sparse.csr_array(scipy.sparse.diags_array(self.missing.astype(np.float32)))
        own.eliminate_zeros()
        return with_added(self.S, own)


def restricted(
    S: scipy.sparse.csr_array,
    old: Vocabulary,
    words: Words | None,
    scales: NDArray[np.float32] | None,
    vocabulary: Vocabulary,
) -> Restricted:
    """Return S over the terms of another vocabulary.

    Parameters
    ----------
    S : csr_array of shape (n_old, n_old), float32
    old : Vocabulary of n_old
    words : tuple of str, of length n_old, PackedStrings or None
        Representative word of each old term, if not the terms themselves.
    scales : ndarray of shape (n_old,), float32, or None
    vocabulary : Vocabulary of n_terms
        If the old terms come first in it, S is not copied.
    """
    if vocabulary.starts_with(old):
        return _longer(S, old, words, scales, vocabulary)
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
    stay = (rows >= 0) & (columns >= 0)
    moved = scipy.sparse.csr_array((coo.data[stay], (rows[stay], columns[stay])), shape=(n, n))
    moved.sort_indices()
    chosen = None
    if words is not None or vocabulary.forms is not None:
        standing = dict(zip(old.terms, old.terms if words is None else words, strict=True))
        forms = vocabulary.forms or [()] * n
        chosen = tuple(
            standing.get(term, own[0] if own else term)
            for term, own in zip(vocabulary.terms, forms, strict=True)
        )
    return Restricted(moved, chosen, missing, own_scales)


def _longer(
    S: scipy.sparse.csr_array,
    old: Vocabulary,
    words: Words | None,
    scales: NDArray[np.float32] | None,
    vocabulary: Vocabulary,
) -> Restricted:
    """As `restricted`, for a vocabulary in which the old terms come first."""
    n_old, n = len(old), len(vocabulary)
    ends = np.full(n - n_old, S.indptr[-1], S.indptr.dtype)
    longer = compressed(np.append(S.indptr, ends), S.indices, S.data)
    if scales is not None:
        scales = np.append(scales, np.ones(n - n_old, np.float32))
    new = range(n_old, n)
    own = [next(iter(vocabulary.forms_of(i)), None) or vocabulary.term(i) for i in new]
    if isinstance(words, PackedStrings):
        words = words.extended(own)
    elif words is not None:
        words = (*words, *own)
    elif own != [vocabulary.term(i) for i in new]:
        words = (*old.terms, *own)
    return Restricted(longer, words, np.arange(n) >= n_old, scales)


def with_added(S: scipy.sparse.csr_array, added: scipy.sparse.csr_array) -> scipy.sparse.csr_array:
    """Return S with further entries in places where it has none; column indices ascend."""
    if added.nnz == 0:
        return S
    merged = scipy.sparse.csr_array(S + added, dtype=np.float32)
    merged.sort_indices()
    return merged
