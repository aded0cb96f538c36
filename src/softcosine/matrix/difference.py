"""Difference of two term similarity matrices."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import islice
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from softcosine._validation import check_number
from softcosine.errors import MissingDependencyError
from softcosine.text.vocabulary import Vocabulary

if TYPE_CHECKING:
    import pandas as pd

    from softcosine.matrix.term_entries import TermEntries

__all__ = ["Change", "MatrixDifference", "difference"]

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

    Pairs are ordered by the size of the difference, the largest first, ties by their strings. If
    both matrices are symmetric, each pair occurs once, with its strings in order.

    Attributes
    ----------
    added_terms, removed_terms : tuple of str
        Terms of the second vocabulary only, and of the first only.
    terms : tuple of str
        The terms of both.
    left, right : ndarray of shape (n_changes,), int64
        Positions in `terms`.
    before, after : ndarray of shape (n_changes,), float64
        Similarities; 0 if a matrix has no entry for the pair.
    n_equal : int
        Number of pairs with equal similarities.
    """

    added_terms: tuple[str, ...]
    removed_terms: tuple[str, ...]
    terms: tuple[str, ...]
    left: NDArray[np.int64]
    right: NDArray[np.int64]
    before: NDArray[np.float64]
    after: NDArray[np.float64]
    n_equal: int

    def __len__(self) -> int:
        """Return the number of pairs that differ."""
        return len(self.left)

    def __getitem__(self, number: int) -> Change:
        """Return a pair that differs; number 0 has the largest difference."""
        return Change(
            self.terms[self.left[number]],
            self.terms[self.right[number]],
            float(self.before[number]),
            float(self.after[number]),
        )

    def __iter__(self) -> Iterator[Change]:
        return (self[number] for number in range(len(self)))

    def counts(self) -> dict[str, int]:
        """Return the numbers of added, removed, changed and equal pairs."""
        added, removed = int((self.before == 0).sum()), int((self.after == 0).sum())
        changed = len(self) - added - removed
        return {"added": added, "removed": removed, "changed": changed, "equal": self.n_equal}

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
            for change in islice(self, _SHOWN)
        ]
        if len(self) > _SHOWN:
            lines.append(f"  and {len(self) - _SHOWN:,} more")
        return "\n".join(lines)

    def to_pandas(self) -> pd.DataFrame:
        """Return a data frame with one row per change: left, right, before, after, kind.

        Raises
        ------
        MissingDependencyError
            If pandas is not installed.
        """
        try:
            import pandas as pd
        except ImportError as error:
            raise MissingDependencyError("pandas", "pandas", "to_pandas()") from error
        return pd.DataFrame(
            {
                "left": [self.terms[i] for i in self.left.tolist()],
                "right": [self.terms[i] for i in self.right.tolist()],
                "before": self.before,
                "after": self.after,
                "kind": [change.kind for change in self],
            }
        )


def difference(
    before: TermEntries, after: TermEntries, *, tolerance: float = 0.0
) -> MatrixDifference:
    """Return the difference of two matrices, matched by terms.

    Parameters
    ----------
    before, after : TermEntries
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
        terms=terms.terms,
        left=pairs[differing] // len(terms),
        right=pairs[differing] % len(terms),
        before=held[0, differing],
        after=held[1, differing],
        n_equal=int(equal.sum()),
    )


def _entries(
    S: TermEntries, terms: Vocabulary, once: bool
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
