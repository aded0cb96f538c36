"""How similar two synsets are, by what stands above both: as concepts with weights and costs."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from softcosine.errors import InvalidInputError
from softcosine.inputs import is_number
from softcosine.similarity.ragged import slices
from softcosine.similarity.thesaurus.concepts import Concepts
from softcosine.similarity.thesaurus.synonyms import written_terms
from softcosine.similarity.thesaurus.wordnet import KINDS, Ancestors, WordNet, check_relation
from softcosine.text.vocabulary import Vocabulary

__all__ = ["MEASURES", "Counts", "Measure", "checked_settings", "concepts_of_wordnet"]

Measure = Literal["path", "wu_palmer", "lin"]
Counts = Vocabulary | Mapping[str, float]
# Weight of every synset, and cost of every pair of a synset and an ancestor.
_Values = tuple[NDArray[np.float64], NDArray[np.float64]]

_LEAST = 1e-30  # information of a root: above 0, so that its own words are still synonyms


def _path(above: Ancestors, _: NDArray[np.float64]) -> _Values:
    """1 / (1 + d), with d the steps from one synset up and down to the other (Rada et al. 1989)."""
    return np.full(len(above.depths), 0.5), above.distances.astype(np.float64) + 0.5


def _wu_palmer(above: Ancestors, _: NDArray[np.float64]) -> _Values:
    """2 n / (d + 2 n), with n the depth of the common ancestor (Wu & Palmer 1994)."""
    depths = above.depths.astype(np.float64)
    return depths, above.distances + depths[above.ancestors]


def _lin(above: Ancestors, counts: NDArray[np.float64]) -> _Values:
    """2 I(c) / (I(a) + I(b)), with I the information of a synset (Lin 1998)."""
    total = np.bincount(above.taxonomies, weights=_own(above, counts))
    below = np.bincount(
        above.ancestors, weights=_own(above, counts)[above.of], minlength=len(above.depths)
    )
    shares = below / total[above.taxonomies]
    information = np.maximum(-np.log(np.minimum(shares, 1.0)), _LEAST)
    return information, information[above.of]


def _own(above: Ancestors, counts: NDArray[np.float64]) -> NDArray[np.float64]:
    """Occurrences of every synset itself; none of a virtual root."""
    own = np.zeros(len(above.depths))
    own[: len(counts)] = counts
    return own


MEASURES: dict[str, Callable[[Ancestors, NDArray[np.float64]], _Values]] = {
    "path": _path,
    "wu_palmer": _wu_palmer,
    "lin": _lin,
}
_THRESHOLDS = {"path": 0.25, "wu_palmer": 0.8, "lin": 0.5}


def checked_settings(
    measure: Measure,
    relations: Sequence[str] | None,
    threshold: float | None,
    counts: Counts | None,
) -> tuple[tuple[str, ...], float]:
    """Return the relations and the threshold, those of the measure where they are not given.

    Raises
    ------
    InvalidInputError
        If there is no such measure or relation, the measure cannot use what is given, or a count
        is no number of 0 or more.
    """
    if not (isinstance(measure, str) and measure in MEASURES):
        raise InvalidInputError(
            f"there is no measure {measure!r}; choose one of {', '.join(MEASURES)}."
        )
    if relations is None:
        relations = (*KINDS, "similar") if measure == "path" else KINDS
    for name in relations:
        check_relation(name)
    others = [name for name in relations if name not in KINDS]
    if others and measure != "path":
        raise InvalidInputError(
            f"the measure {measure!r} knows hypernyms only, but the relations hold "
            f"{', '.join(others)}; take measure='path' for these."
        )
    if counts is not None:
        if measure != "lin":
            raise InvalidInputError(f"the measure {measure!r} needs no counts; take measure='lin'.")
        _word_counts(counts)
    return tuple(relations), _THRESHOLDS[measure] if threshold is None else threshold


def concepts_of_wordnet(
    wordnet: WordNet,
    *,
    measure: Measure,
    relations: tuple[str, ...],
    threshold: float,
    counts: Counts | None,
) -> Concepts:
    """Concepts of all words of a WordNet, by settings that `checked_settings` lets pass.

    See `ThesaurusSimilarity.from_wordnet`.
    """
    above = wordnet.ancestors(tuple(name for name in relations if name in KINDS))
    weights, costs = MEASURES[measure](above, _synset_counts(wordnet, counts))
    # Nothing can come nearer to an ancestor than itself.
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


def _synset_counts(wordnet: WordNet, counts: Counts | None) -> NDArray[np.float64]:
    """Occurrences of every synset: 1, and its share of those of its words."""
    words, of, synsets, _ = wordnet.senses
    answer = np.ones(len(wordnet))
    if counts is None:
        return answer
    found = _word_counts(counts)
    numbers = np.array(
        [sum(found.get(name, 0.0) for name in written_terms(word)[-1:]) for word in words]
    )
    shares = numbers / np.maximum(np.bincount(of, minlength=len(words)), 1)
    return answer + np.bincount(synsets, weights=shares[of], minlength=len(wordnet))


def _word_counts(counts: Counts) -> dict[str, float]:
    """Occurrences of words; of a stem, shared equally by its forms."""
    if isinstance(counts, Vocabulary):
        if counts.document_frequencies is None:
            raise InvalidInputError(
                "the vocabulary has no document frequencies; build it from texts, or pass a "
                "mapping of words to counts."
            )
        answer: dict[str, float] = {}
        forms = counts.forms or tuple((term,) for term in counts.terms)
        for words, number in zip(forms, counts.document_frequencies.tolist(), strict=True):
            for word in words:
                answer[word] = answer.get(word, 0.0) + number / len(words)
        return answer
    if not isinstance(counts, Mapping):
        raise InvalidInputError(
            f"counts are of type {type(counts).__name__}; pass a mapping of words to counts, or a "
            "vocabulary."
        )
    for word, number in counts.items():
        if not is_number(number) or not 0.0 <= number < np.inf:
            raise InvalidInputError(f"the count of {word!r} is {number}; needed is 0 or more.")
    return dict(counts)


def _ways(
    wordnet: WordNet, relations: list[str]
) -> tuple[list[str], NDArray[np.int64], NDArray[np.int64], NDArray[np.int64]]:
    """Terms; and of every way from a term to a synset: term, synset, and steps taken sideways."""
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
    ends = np.zeros(len(written) + 1, np.int64)
    np.cumsum(np.fromiter(map(len, written), np.int64, len(written)), out=ends[1:])
    entry, names = slices(ends, np.concatenate(words))
    return (
        list(numbers),
        flat.astype(np.int64)[names],
        np.concatenate(targets)[entry],
        np.concatenate(steps)[entry],
    )
