"""Table of terms, concepts and costs: the form of every thesaurus."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy
from numpy.typing import NDArray

from softcosine._ragged import running_sum, slices
from softcosine.errors import InvalidInputError
from softcosine.text.packing import pack_strings, unpack_strings
from softcosine.text.words import find_words, normalize


@dataclass(frozen=True, slots=True)
class Concepts:
    r"""A sparse table of words and their concepts.

    The similarity of two words is given by their best common concept c,

    .. math:: s_{ij} = \max_c \frac{2 w_c}{k_{ic} + k_{jc}}, \quad k_{ic} \ge w_c > 0

    Attributes
    ----------
    words : tuple of str
        Distinct.
    starts : ndarray of shape (n_words + 1,), int64
    concepts : ndarray of shape (n_entries,), int32
        Ascending within a word.
    costs : ndarray of shape (n_entries,), float32
    weights : ndarray of shape (n_concepts,), float32
    """

    words: tuple[str, ...]
    starts: NDArray[np.int64]
    concepts: NDArray[np.int32]
    costs: NDArray[np.float32]
    weights: NDArray[np.float32]

    @classmethod
    def of_entries(
        cls,
        words: Sequence[str],
        of: NDArray[np.integer[Any]],
        concepts: NDArray[np.integer[Any]],
        costs: NDArray[np.floating[Any]],
        weights: NDArray[np.floating[Any]],
        *,
        threshold: float = 0.0,
    ) -> Concepts:
        """Return the table of unordered entries; of several costs to one concept, the least counts.

        Entries that cannot give a similarity of at least `threshold` are dropped.

        Parameters
        ----------
        words : sequence of str
        of, concepts, costs : ndarray of shape (n_entries,)
            Number of the word, number of the concept, and cost.
        weights : ndarray of shape (n_concepts,)
        threshold : float
        """
        costs = costs.astype(np.float32)
        weights = weights.astype(np.float32)
        order = np.lexsort((costs, concepts, of))
        of, concepts, costs = of[order], concepts[order], costs[order]
        if len(of):
            new = (np.diff(of, prepend=-1) != 0) | (np.diff(concepts, prepend=-1) != 0)
            of, concepts, costs = of[new], concepts[new], costs[new]
        least = np.full(len(weights), np.inf)
        np.minimum.at(least, concepts, costs.astype(np.float64))
        total = costs + least[concepts]
        useful = 2.0 * weights[concepts] >= threshold * total * (1.0 - 1e-6)
        useful &= np.bincount(concepts[useful], minlength=len(weights))[concepts] > 1
        of, concepts, costs = of[useful], concepts[useful], costs[useful]
        used = np.zeros(len(weights), np.bool_)
        used[concepts] = True
        numbers = np.cumsum(used) - 1
        starts = running_sum(np.bincount(of, minlength=len(words)))
        return cls(tuple(words), starts, numbers[concepts].astype(np.int32), costs, weights[used])

    def arrays(self) -> dict[str, NDArray[Any]]:
        """Return the arrays that `from_arrays` reads."""
        blob, offsets = pack_strings(self.words)
        return {
            "words": blob,
            "word_offsets": offsets,
            "starts": self.starts,
            "concepts": self.concepts,
            "costs": self.costs,
            "weights": self.weights,
        }

    @classmethod
    def from_arrays(cls, arrays: Mapping[str, NDArray[Any]]) -> Concepts:
        """Return the table from the result of `arrays`."""
        # Copy read-only arrays, because compiled kernels need writable ones.
        starts, concepts, costs, weights = (
            np.require(arrays[name], requirements=["C", "W"])
            for name in ("starts", "concepts", "costs", "weights")
        )
        words = tuple(unpack_strings(arrays["words"], arrays["word_offsets"]))
        n_entries, n_concepts = len(concepts), len(weights)
        rising = len(starts) == len(words) + 1 and not (np.diff(starts) < 0).any()
        if not (rising and starts[0] == 0 and starts[-1] == n_entries == len(costs)):
            raise InvalidInputError(
                f"the starts of {len(words)} words do not rise from 0 to the {n_entries} entries."
            )
        if n_entries and not 0 <= int(concepts.min()) <= int(concepts.max()) < n_concepts:
            raise InvalidInputError(
                f"concepts run from {concepts.min()} to {concepts.max()}, but there are "
                f"{n_concepts}."
            )
        return cls(words, starts, concepts, costs, weights)


def written_terms(term: str) -> tuple[str, ...]:
    """Return the one or two forms of a thesaurus term in analyzed texts.

    The first form is casefolded with single spaces. The second, if different, is split into words
    by the analyzer's rules and joined by spaces like n-grams.

    Examples
    --------
    >>> written_terms("attorney-at-law"), written_terms("bank_account")
    (('attorney-at-law', 'attorney at law'), ('bank account',))
    """
    plain = " ".join(normalize(term.replace("_", " ")).split())
    words = " ".join(find_words(plain))
    return (plain,) if words in ("", plain) else (plain, words)


def concepts_of_table(
    words: Sequence[str], rows: NDArray[np.integer[Any]], S: scipy.sparse.csr_array
) -> Concepts:
    """Return concepts that give the words of two rows their similarity, and those of one row 1.

    Parameters
    ----------
    words : sequence of str
    rows : ndarray of shape (n_words,), integers
        Row of each word.
    S : csr_array of shape (n_rows, n_rows)
        Symmetric, in (0, 1], without diagonal.
    """
    of_row = running_sum(np.bincount(rows, minlength=S.shape[0]))
    order = np.argsort(rows, kind="stable")
    pairs = scipy.sparse.triu(S, 1).tocoo()
    # A concept for each pair of rows, then one for each row.
    own = np.arange(S.shape[0])
    entry, places = slices(of_row, np.concatenate((*pairs.coords, own)))
    numbers = np.concatenate((*[np.arange(pairs.nnz)] * 2, pairs.nnz + own))
    weights = np.concatenate((pairs.data, np.ones(len(own), np.float32)))
    return Concepts.of_entries(
        tuple(words), order[places], numbers[entry], np.ones(len(entry)), weights
    )


def concepts_of_groups(groups: Iterable[tuple[Sequence[str], float]]) -> Concepts:
    """Return concepts that give two terms the greatest similarity of their common groups.

    Parameters
    ----------
    groups : iterable of (sequence of str, float)
        Terms, and their mutual similarity in [0, 1]. Terms of groups with similarity 0 only are
        known, but have no neighbours.
    """
    numbers: dict[str, int] = {}
    written: dict[str, tuple[int, ...]] = {}
    of: list[int] = []
    lengths: list[int] = []
    weights: list[float] = []
    for terms, weight in groups:
        size = len(of)
        for term in terms:
            rows = written.get(term)
            if rows is None:
                rows = tuple(numbers.setdefault(name, len(numbers)) for name in written_terms(term))
                written[term] = rows
            of.extend(rows)
        if np.float32(weight) > 0.0:
            lengths.append(len(of) - size)
            weights.append(weight)
        else:
            del of[size:]
    concepts = np.repeat(np.arange(len(lengths)), lengths)
    return Concepts.of_entries(
        tuple(numbers),
        np.array(of, np.int64),
        concepts,
        np.ones(len(of)),
        np.array(weights, np.float64),
    )
