"""Index of paths by their items, to find candidates for similar paths."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import chain

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from softcosine._ragged import running_sum
from softcosine.lab.syntactic.dependency import split_path


@dataclass(frozen=True, slots=True)
class Paths:
    """Paths as numbers of their items.

    Attributes
    ----------
    parts : tuple of str
        Distinct items.
    starts : ndarray of shape (n_paths + 1,), int64
    numbers : ndarray of shape (starts[-1],), int32
        Path ``i`` has the items ``numbers[starts[i]:starts[i + 1]]``; none if it is not a path.
    """

    parts: tuple[str, ...]
    starts: NDArray[np.int64]
    numbers: NDArray[np.int32]

    def __len__(self) -> int:
        """Return the number of paths."""
        return len(self.starts) - 1

    @property
    def lengths(self) -> NDArray[np.int64]:
        """Number of items of each path, shape (n_paths,)."""
        return np.diff(self.starts)

    @classmethod
    def of(cls, terms: Sequence[str]) -> Paths:
        """Split terms into their items; a term of a single item is not a path."""
        cut = [split_path(term) for term in terms]
        cut = [parts if len(parts) > 1 else () for parts in cut]
        table = {part: i for i, part in enumerate(dict.fromkeys(chain.from_iterable(cut)))}
        starts = running_sum(map(len, cut))
        numbers = (table[part] for part in chain.from_iterable(cut))
        return cls(tuple(table), starts, np.fromiter(numbers, np.int32, int(starts[-1])))

    def some(self, first: int, last: int, *, parts: tuple[str, ...] | None = None) -> Paths:
        """Return consecutive paths, with their own items or the given ones."""
        bounds = self.starts[first : last + 1]
        numbers = self.numbers[bounds[0] : bounds[-1]]
        if parts is None:
            used, inverse = np.unique(numbers, return_inverse=True)
            parts = tuple(self.parts[i] for i in used.tolist())
            return Paths(parts, bounds - bounds[0], inverse.astype(np.int32))
        return Paths(parts, bounds - bounds[0], numbers)

    def renumbered(self, like: Paths) -> Paths:
        """Return the same paths with the item numbers of other paths, -1 for unknown items."""
        table = {part: i for i, part in enumerate(like.parts)}
        numbers = np.array([table.get(part, -1) for part in self.parts], np.int32)
        return Paths(self.parts, self.starts, numbers[self.numbers])


@dataclass(frozen=True, slots=True)
class Searched:
    """A searched sequence.

    Attributes
    ----------
    paths : Paths
    holders : csr_array of shape (n_parts, n_strings), float32
        1 where a path contains an item.
    ids : mapping of str to int
        A number for each distinct string.
    numbers : ndarray of shape (n_strings,), int32
        The number of each string.
    """

    paths: Paths
    holders: csr_array
    ids: Mapping[str, int]
    numbers: NDArray[np.int32]

    @classmethod
    def of(cls, strings: Sequence[str]) -> Searched:
        """Index the strings."""
        paths = Paths.of(strings)
        of = np.repeat(np.arange(len(paths)), paths.lengths)
        holders = csr_array(
            (np.ones(len(of), np.float32), (paths.numbers, of)),
            shape=(len(paths.parts), len(paths)),
        )
        ids = {string: i for i, string in enumerate(dict.fromkeys(strings))}
        numbers = np.fromiter((ids[string] for string in strings), np.int32, len(strings))
        return cls(paths, holders, ids, numbers)


def equal_parts(left: Paths, right: Paths) -> csr_array:
    """Return which items of the left and the right are equal, (n_left_parts, n_right_parts)."""
    table = {part: i for i, part in enumerate(right.parts)}
    columns = np.array([table.get(part, -1) for part in left.parts], np.int64)
    rows = np.flatnonzero(columns >= 0)
    ones = np.ones(len(rows), np.float32)
    return csr_array((ones, (rows, columns[rows])), shape=(len(left.parts), len(right.parts)))


def promising_parts(
    asked: Paths, counterparts: csr_array, searched: Searched, threshold: float
) -> tuple[csr_array, NDArray[np.int64]]:
    """Find items of each path such that every similar path has a counterpart of at least one.

    If ``1 - d / max(|p|, |q|) >= t``, at least ``t |p|`` items of p stay or are replaced by similar
    ones. So any ``|p| - ceil(t |p|) + 1`` items contain one of them; the rarest are taken.

    Parameters
    ----------
    asked : Paths
    counterparts : csr_array of shape (n_asked_parts, n_searched_parts)
        1 where two items are similar.
    searched : Searched
    threshold : float
        t above.

    Returns
    -------
    promising : csr_array of shape (n_asked, n_asked_parts), float32
        1 for these items.
    costs : ndarray of shape (n_asked + 1,), int64
        Cumulative number of paths with a counterpart, with repetitions.
    """
    frequencies = np.diff(searched.holders.indptr).astype(np.float64)
    costs = np.asarray(counterparts @ frequencies)[asked.numbers]
    lengths = asked.lengths
    of = np.repeat(np.arange(len(asked)), lengths)
    order = np.lexsort((costs, of))
    place = np.arange(len(of)) - np.repeat(asked.starts[:-1], lengths)
    # Similarities are compared in float32, so allow for rounding at the threshold.
    needed = np.maximum(np.ceil(threshold * lengths - 1e-6 * lengths), 1.0)
    taken = order[place < np.repeat(lengths - needed + 1.0, lengths)]
    promising = csr_array(
        (np.ones(len(taken), np.float32), (of[taken], asked.numbers[taken])),
        shape=(len(asked), len(asked.parts)),
    )
    per_path = np.bincount(of[taken], weights=costs[taken], minlength=len(asked))
    running = running_sum(per_path)
    return promising, running


def pairs_of_parts(
    left: Paths, right: Paths, places: NDArray[np.int32]
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return the distinct pairs of items of the left and right paths numbered `places`."""
    n_right = max(1, len(right.parts))
    found = [np.empty(0, np.int64)]
    for place in places.tolist():
        a = left.numbers[left.starts[place] : left.starts[place + 1]].astype(np.int64)
        b = right.numbers[right.starts[place] : right.starts[place + 1]]
        found.append((a[:, np.newaxis] * n_right + b).ravel())
    i, j = np.divmod(np.unique(np.concatenate(found)), n_right)
    return i, j
