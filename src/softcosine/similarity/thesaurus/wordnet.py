"""WordNet as a graph: synsets, their words, and relations."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from softcosine._ragged import slices
from softcosine._validation import check_choice
from softcosine.errors import MalformedFileError

__all__ = ["KINDS", "RELATIONS", "Ancestors", "WordNet", "check_relation"]

# Relations from a synset to a more general one.
KINDS = ("hypernym", "instance_hypernym")
# All relations by their names in this library; of two inverse relations, one.
RELATIONS = (
    *KINDS,
    *("holonym", "similar", "also_see", "attribute", "derivation", "pertainym", "participle"),
    *("entailment", "cause", "verb_group", "domain", "antonym"),
)


def check_relation(name: str) -> None:
    """Raise InvalidInputError if the relation is unknown."""
    check_choice("relation", name, RELATIONS)


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
        Words of each synset as written, with underscores for spaces; empty strings for omitted
        words.
    relations : mapping of str to ndarray of shape (n, 4), int32
        By name: source synset, its word or 0 for all words, target synset, its word or 0.
    """

    path: Path
    synsets: tuple[str, ...]
    words: tuple[tuple[str, ...], ...]
    relations: Mapping[str, NDArray[np.int32]]

    def __len__(self) -> int:
        """Return the number of synsets."""
        return len(self.synsets)

    def __repr__(self) -> str:
        return f"WordNet({self.path}, {len(self)} synsets)"

    @cached_property
    def senses(self) -> tuple[list[str], NDArray[np.int32], NDArray[np.int32], NDArray[np.int32]]:
        """Return the distinct words; then word, synset and position (from 1) of each sense."""
        numbers: dict[str, int] = {}
        found = [
            (numbers.setdefault(word, len(numbers)), synset, place)
            for synset, words in enumerate(self.words)
            for place, word in enumerate(words, start=1)
            if word
        ]
        of, synsets, places = np.array(found, np.int32).reshape(-1, 3).T
        return list(numbers), of, synsets, places

    def related(self, name: str) -> NDArray[np.int32]:
        """Return the pairs of synsets in a relation, with their words, shape (n, 4).

        Raises
        ------
        InvalidInputError
            If the relation is unknown.
        """
        check_relation(name)
        return self.relations.get(name, np.empty((0, 4), np.int32))

    def ancestors(self, relations: tuple[str, ...] = KINDS) -> Ancestors:
        """Return the ancestors of every synset.

        A part of speech with hypernyms but several roots gets a virtual root above them (in WordNet
        3.0: verbs).

        Parameters
        ----------
        relations : tuple of str
            Some of `KINDS`.

        Raises
        ------
        MalformedFileError
            If a synset is its own ancestor. The message names the cycle.
        """
        taxonomies = self._taxonomies()
        edges = [self.related(name)[:, [0, 2]].astype(np.int64) for name in relations]
        up = np.unique(np.concatenate([*edges, np.empty((0, 2), np.int64)]), axis=0)
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

    def _taxonomies(self) -> NDArray[np.int8]:
        letters = "nvar"
        return np.fromiter((letters.find(s[-1]) for s in self.synsets), np.int8, len(self))

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
