"""Difference of two term similarity matrices."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from softcosine._validation import check_number
from softcosine.text.vocabulary import Vocabulary

if TYPE_CHECKING:
    from softcosine.matrix.term_similarity_matrix import TermSimilarityMatrix

_SHOWN = 10


@dataclass(frozen=True, slots=True)
class Change:
    """A pair of terms with different similarities; 0 if a matrix has no entry."""

    left: str
    right: str
    before: float
    after: float

    @property
    def kind(self) -> str:
        """``"added"``, ``"removed"`` or ``"changed"``."""
        return "added" if self.before == 0 else "removed" if self.after == 0 else "changed"


@dataclass(frozen=True, slots=True, eq=False)
class MatrixDifference:
    """The terms and neighbours that two matrices do not share.

    Attributes
    ----------
    added_terms, removed_terms : tuple of str
        Terms of the second vocabulary only, and of the first only.
    changes : tuple of Change
        The largest first, ties by their strings. If both matrices are symmetric, each pair occurs
        once, with its strings in order.
    n_equal : int
        Number of pairs with equal similarities.
    """

    added_terms: tuple[str, ...]
    removed_terms: tuple[str, ...]
    changes: tuple[Change, ...]
    n_equal: int

    def counts(self) -> dict[str, int]:
        """Return the numbers of added, removed, changed and equal pairs."""
        kinds = Counter(change.kind for change in self.changes)
        return {
            **{kind: kinds[kind] for kind in ("added", "removed", "changed")},
            "equal": self.n_equal,
        }

    def summary(self) -> str:
        """Return the counts in one line."""
        counts = self.counts()
        return (
            f"pairs: {counts['added']:,} added, {counts['removed']:,} removed, "
            f"{counts['changed']:,} changed, {counts['equal']:,} equal; "
            f"terms: {len(self.added_terms):,} added, {len(self.removed_terms):,} removed"
        )

    def __str__(self) -> str:
        lines = [self.summary()]
        lines += [
            f"  {change.left} ~ {change.right}  {change.before:.3f} -> {change.after:.3f}"
            for change in self.changes[:_SHOWN]
        ]
        if len(self.changes) > _SHOWN:
            lines.append(f"  and {len(self.changes) - _SHOWN:,} more")
        return "\n".join(lines)


def difference(
    before: TermSimilarityMatrix, after: TermSimilarityMatrix, *, tolerance: float = 0.0
) -> MatrixDifference:
    """Return the difference of two matrices, matched by terms.

    Parameters
    ----------
    before, after : TermSimilarityMatrix
    tolerance : float
        Similarities that differ by at most this count as equal.
    """
    check_number("tolerance", tolerance, least=0)
    terms = Vocabulary(sorted(set(before.vocabulary) | set(after.vocabulary)))
    once = before.symmetric and after.symmetric
    keys, values = zip(*(_entries(S, terms, once) for S in (before, after)), strict=True)
    pairs = np.union1d(*keys)
    held = np.zeros((2, len(pairs)))
    for row, key, value in zip(held, keys, values, strict=True):
        row[np.searchsorted(pairs, key)] = value
    gap = np.abs(held[1] - held[0])
    equal = (gap <= tolerance) & (held != 0).all(axis=0)
    # Pairs are numbered in the order of their strings, so that a stable sort orders ties by string.
    differing = np.flatnonzero(~equal)
    differing = differing[np.argsort(-gap[differing], kind="stable")]
    return MatrixDifference(
        added_terms=tuple(term for term in terms if term not in before.vocabulary),
        removed_terms=tuple(term for term in terms if term not in after.vocabulary),
        changes=tuple(
            Change(terms.term(pair // len(terms)), terms.term(pair % len(terms)), *values)
            for pair, *values in zip(
                pairs[differing].tolist(), *held[:, differing].tolist(), strict=True
            )
        ),
        n_equal=int(equal.sum()),
    )


def _entries(
    S: TermSimilarityMatrix, terms: Vocabulary, once: bool
) -> tuple[NDArray[np.int64], NDArray[Any]]:
    """Off-diagonal entries by pair number, ascending."""
    numbers = terms.indices(S.vocabulary.terms).astype(np.int64)
    coo = csr_array(S.to_scipy()).tocoo()
    rows, columns = numbers[coo.coords[0]], numbers[coo.coords[1]]
    stay = (rows < columns) if once else (rows != columns)
    stay &= coo.data != 0
    keys = rows[stay] * len(terms) + columns[stay]
    order = np.argsort(keys)
    return keys[order], coo.data[stay][order]
