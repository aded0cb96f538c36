"""WordNet as a table of concepts: the ancestors of words, with weights and costs."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from softcosine._ragged import running_sum, slices
from softcosine.similarity.thesaurus.concepts import Concepts
from softcosine.similarity.thesaurus.synonyms import written_terms
from softcosine.similarity.thesaurus.wordnet import KINDS, Ancestors, WordNet

__all__ = ["Weighed", "by_paths", "concepts_of_wordnet"]

# Computes the weight of every synset, and the cost of every pair of a synset and an ancestor.
Weighed = tuple[NDArray[np.float64], NDArray[np.float64]]


def by_paths(above: Ancestors) -> Weighed:
    """Measure 1 / (1 + d), with d the length of the path up and down (Rada et al. 1989)."""
    return np.full(len(above.depths), 0.5), above.distances.astype(np.float64) + 0.5


def concepts_of_wordnet(
    wordnet: WordNet,
    weigh: Callable[[Ancestors], Weighed],
    *,
    relations: tuple[str, ...],
    threshold: float,
) -> Concepts:
    """Return the concepts of all words of a WordNet.

    Parameters
    ----------
    wordnet : WordNet
    weigh : callable
        The measure of similarity, such as `by_paths`.
    relations, threshold
        See `softcosine.ThesaurusSimilarity.from_wordnet`.
    """
    above = wordnet.ancestors(tuple(name for name in relations if name in KINDS))
    weights, costs = weigh(above)
    # No synset is nearer to an ancestor than the ancestor itself.
    near = 2.0 * weights[above.ancestors] >= threshold * (costs + weights[above.ancestors]) * (
        1.0 - 1e-6
    )
    of, ancestors, costs = above.of[near], above.ancestors[near], costs[near]
    starts = np.searchsorted(of, np.arange(len(above.depths) + 1))
    names, words, synsets, extra = _ways(wordnet, [name for name in relations if name not in KINDS])
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
    wordnet: WordNet, relations: list[str]
) -> tuple[list[str], NDArray[np.int64], NDArray[np.int64], NDArray[np.int64]]:
    """Return terms; and term, synset and sideways steps of each path from a term to a synset."""
    lemmas, of, synsets, places = wordnet.senses
    words = [of.astype(np.int64)]
    targets = [synsets.astype(np.int64)]
    steps = [np.zeros(len(of), np.int64)]
    starts = np.searchsorted(synsets, np.arange(len(wordnet) + 1))
    for name in relations:
        pairs = wordnet.related(name)
        both = np.concatenate((pairs, pairs[:, [2, 3, 0, 1]])).astype(np.int64)
        entry, senses = slices(starts, both[:, 0])
        meant = (both[entry, 1] == 0) | (both[entry, 1] == places[senses])
        words.append(of[senses[meant]].astype(np.int64))
        targets.append(both[entry[meant], 2])
        steps.append(np.ones(np.count_nonzero(meant), np.int64))
    written = [written_terms(lemma) for lemma in lemmas]
    numbers: dict[str, int] = {}
    flat = np.array([numbers.setdefault(n, len(numbers)) for names in written for n in names])
    ends = running_sum(map(len, written))
    entry, names = slices(ends, np.concatenate(words))
    return (
        list(numbers),
        flat.astype(np.int64)[names],
        np.concatenate(targets)[entry],
        np.concatenate(steps)[entry],
    )
