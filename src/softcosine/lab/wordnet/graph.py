"""WordNet: its graph of synsets, and the graph as a table of concepts."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from softcosine._ragged import running_sum, slices
from softcosine.errors import MalformedFileError
from softcosine.similarity.thesaurus.concepts import Concepts, written_terms


@dataclass(frozen=True, slots=True)
class Ancestors:
    """The ancestors of every synset, including itself.

    Virtual roots have the numbers after the last synset.

    Attributes
    ----------
    of, ancestors : ndarray of shape (n_pairs,), int64
        Ordered by `of`.
    distances : ndarray of shape (n_pairs,), int64
        Length of the shortest path up.
    depths : ndarray of shape (n_synsets + n_roots,), int64
        Number of synsets on the longest path to the root, including both ends; 1 for a root.
    taxonomies : ndarray of shape (n_synsets + n_roots,), int8
        Number of the part of speech.
    """

    of: NDArray[np.int64]
    ancestors: NDArray[np.int64]
    distances: NDArray[np.int64]
    depths: NDArray[np.int64]
    taxonomies: NDArray[np.int8]


@dataclass(frozen=True)
class WordNet:
    """Synsets, in the order of the files.

    Attributes
    ----------
    path : Path
        Source of the data.
    synsets : tuple of str
        Ids such as ``"02084071-n"``; the last letter is the part of speech (n, v, a or r).
    words : tuple of tuple of str
        Words of each synset as written, with underscores for spaces.
    hypernyms : ndarray of shape (n, 2), int32
        Synsets, and more general ones (also of instances).
    similar : ndarray of shape (n, 2), int32
        Adjectives, and similar ones.
    """

    path: Path
    synsets: tuple[str, ...]
    words: tuple[tuple[str, ...], ...]
    hypernyms: NDArray[np.int32]
    similar: NDArray[np.int32]

    def __len__(self) -> int:
        """Return the number of synsets."""
        return len(self.synsets)

    def __repr__(self) -> str:
        return f"WordNet({self.path}, {len(self)} synsets)"

    @cached_property
    def senses(self) -> tuple[list[str], NDArray[np.int32], NDArray[np.int32]]:
        """Return the distinct words; then word and synset of each sense."""
        numbers: dict[str, int] = {}
        senses = [
            (numbers.setdefault(word, len(numbers)), synset)
            for synset, words in enumerate(self.words)
            for word in words
            if word
        ]
        of, synsets = np.array(senses, np.int32).reshape(-1, 2).T
        return list(numbers), of, synsets

    def ancestors(self) -> Ancestors:
        """Return the ancestors of every synset.

        A part of speech with hypernyms but several roots gets a virtual root above them (in WordNet
        3.0: verbs).

        Raises
        ------
        MalformedFileError
            If a synset is its own ancestor. The message names the cycle.
        """
        parts = ("nvar".find(synset[-1]) for synset in self.synsets)  # of speech
        taxonomies = np.fromiter(parts, np.int8, len(self))
        up = np.unique(self.hypernyms.astype(np.int64), axis=0)
        is_root = np.bincount(up[:, 0], minlength=len(self)) == 0
        n_all = len(self)
        for number in np.unique(taxonomies[up[:, 0]]).tolist():
            roots = np.flatnonzero(is_root & (taxonomies[: len(self)] == number))
            if len(roots) > 1:
                virtual = np.stack((roots, np.full_like(roots, n_all)), axis=1)
                up = np.concatenate((up, virtual))
                taxonomies = np.append(taxonomies, np.int8(number))
                n_all += 1
        up = up[np.argsort(up[:, 0], kind="stable")]
        depths = self._depths(up, n_all)
        starts = np.searchsorted(up[:, 0], np.arange(n_all + 1))
        of = ancestors = np.arange(n_all)
        levels = [(of, ancestors)]
        while len(of):
            entry, places = slices(starts, ancestors)
            keys = np.unique(of[entry] * n_all + up[places, 1])
            of, ancestors = keys // n_all, keys % n_all
            levels.append((of, ancestors))
        distances = np.repeat(np.arange(len(levels)), [len(level[0]) for level in levels])
        of = np.concatenate([level[0] for level in levels])
        ancestors = np.concatenate([level[1] for level in levels])
        # A pair can occur at several distances; the least counts.
        order = np.lexsort((distances, ancestors, of))
        of, ancestors, distances = of[order], ancestors[order], distances[order]
        first = np.diff(of * n_all + ancestors, prepend=-1) > 0
        return Ancestors(of[first], ancestors[first], distances[first], depths, taxonomies)

    def _depths(self, up: NDArray[np.int64], n_all: int) -> NDArray[np.int64]:
        """Longest paths to the root, computed from the roots down; `up` is sorted by source."""
        down = up[np.argsort(up[:, 1], kind="stable")]
        starts = np.searchsorted(down[:, 1], np.arange(n_all + 1))
        above = np.bincount(up[:, 0], minlength=n_all)
        depths = np.zeros(n_all, np.int64)
        level = np.flatnonzero(above == 0)
        depth = 0
        while len(level):
            depth += 1
            depths[level] = depth
            _, places = slices(starts, level)
            below = down[places, 0]
            np.subtract.at(above, below, 1)
            below = np.unique(below)
            level = below[above[below] == 0]
        if (above > 0).any():
            self._refuse_cycle(up, above > 0)
        return depths

    def _refuse_cycle(self, up: NDArray[np.int64], open_: NDArray[np.bool_]) -> None:
        """Raise an error that names a cycle of synsets."""
        inside = up[open_[up[:, 0]] & open_[up[:, 1]]]
        parent: dict[int, Any] = dict(inside.tolist())
        here = int(inside[0, 0])
        way: list[int] = []
        while here not in way:
            way.append(here)
            here = parent[here]
        cycle = [*way[way.index(here) :], here]
        words = (next(filter(None, self.words[s]), "no words") for s in cycle)
        names = " > ".join(f"{self.synsets[s]} ({w})" for s, w in zip(cycle, words, strict=True))
        raise MalformedFileError(
            self.path, f"the hypernyms go round in a circle: {names}; take one of them out."
        )


# Computes the weight of every synset, and the cost of every pair of a synset and an ancestor.
Weighed = tuple[NDArray[np.float64], NDArray[np.float64]]


def by_paths(above: Ancestors) -> Weighed:
    """Measure 1 / (1 + d), with d the length of the path up and down (Rada et al. 1989)."""
    return np.full(len(above.depths), 0.5), above.distances.astype(np.float64) + 0.5


def concepts_of_wordnet(
    wordnet: WordNet,
    weigh: Callable[[Ancestors], Weighed],
    *,
    threshold: float,
    similar: bool = False,
) -> Concepts:
    """Return the concepts of all words of a WordNet.

    Parameters
    ----------
    wordnet : WordNet
    weigh : callable
        The measure of similarity, such as `by_paths`.
    threshold : float
        Minimum similarity.
    similar : bool, default False
        Whether a path may begin and end with a step to a similar adjective.
    """
    above = wordnet.ancestors()
    weights, costs = weigh(above)
    # No synset is nearer to an ancestor than the ancestor itself.
    near = 2.0 * weights[above.ancestors] >= threshold * (costs + weights[above.ancestors]) * (
        1.0 - 1e-6
    )
    of, ancestors, costs = above.of[near], above.ancestors[near], costs[near]
    starts = np.searchsorted(of, np.arange(len(above.depths) + 1))
    names, words, synsets, extra = _ways(wordnet, similar=similar)
    entry, places = slices(starts, synsets)
    return Concepts.of_entries(
        names,
        words[entry],
        ancestors[places],
        costs[places] + extra[entry],
        weights,
        threshold=threshold,
    )


def _ways(
    wordnet: WordNet, *, similar: bool
) -> tuple[list[str], NDArray[np.int64], NDArray[np.int64], NDArray[np.int64]]:
    """Return terms; and term, synset and sideways steps of each path from a term to a synset."""
    lemmas, of, synsets = wordnet.senses
    words, targets = of.astype(np.int64), synsets.astype(np.int64)
    steps = np.zeros(len(of), np.int64)
    if similar:
        starts = np.searchsorted(synsets, np.arange(len(wordnet) + 1))
        both = np.concatenate((wordnet.similar, wordnet.similar[:, ::-1])).astype(np.int64)
        entry, senses = slices(starts, both[:, 0])
        words = np.concatenate((words, words[senses]))
        targets = np.concatenate((targets, both[entry, 1]))
        steps = np.concatenate((steps, np.ones(len(entry), np.int64)))
    written = [written_terms(lemma) for lemma in lemmas]
    numbers: dict[str, int] = {}
    flat = np.array([numbers.setdefault(n, len(numbers)) for names in written for n in names])
    ends = running_sum(map(len, written))
    entry, names = slices(ends, words)
    return list(numbers), flat.astype(np.int64)[names], targets[entry], steps[entry]
