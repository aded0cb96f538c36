"""Similarity by WordNet: by the path, and by the measures of Wu & Palmer and of Lin."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from os import PathLike

import numpy as np
from numpy.typing import NDArray

from softcosine._validation import check_choice, check_number
from softcosine.errors import InvalidInputError
from softcosine.lab.wordnet.files import read_wordnet
from softcosine.lab.wordnet.graph import (
    Ancestors,
    Weighed,
    WordNet,
    by_paths,
    concepts_of_wordnet,
)
from softcosine.similarity.source import check_scale
from softcosine.similarity.thesaurus.concepts import written_terms
from softcosine.similarity.thesaurus.thesaurus import ThesaurusSimilarity
from softcosine.text.vocabulary import Vocabulary

Counts = Vocabulary | Mapping[str, float]

_LEAST = 1e-30  # information of a root: above 0, so that its own words are still synonyms
_THRESHOLDS = {"path": 0.25, "wu_palmer": 0.8, "lin": 0.5}


def wordnet_similarity(
    path: str | PathLike[str] | None = None,
    *,
    measure: str = "path",
    threshold: float | None = None,
    exponent: float = 1.0,
    counts: Counts | None = None,
    progress: Callable[[int, int], None] | None = None,
) -> ThesaurusSimilarity:
    """Return the WordNet similarity: of two words, that of their most similar synsets.

    Two synsets are compared by the common ancestor c, possibly one of themselves, that makes them
    most similar; d and d' are the lengths of the paths up to it. Ancestors follow hypernyms and
    instance hypernyms within a part of speech; verbs, which have many roots, get a virtual root.

    ``"path"``
        1 / (1 + d + d'), Rada et al. (1989). A path may begin and end with a step to a similar
        adjective.
    ``"wu_palmer"``
        2 n / (d + d' + 2 n), Wu & Palmer (1994), with n the number of synsets on the longest
        path from the root to c.
    ``"lin"``
        2 I(c) / (I(a) + I(b)), Lin (1998). I(c) is minus the logarithm of the share of c in the
        occurrences of its part of speech (Resnik 1995): every synset has one occurrence plus its
        share of the `counts` of each of its words, plus all occurrences of its descendants.
        Without counts this is the intrinsic information of Seco et al. (2004).

    Parameters
    ----------
    path : path, optional
        Folder or zip file of Princeton's files ``data.noun``, ..., as in Debian's package
        ``wordnet-base`` and in nltk, or a folder of two tables. See
        `softcosine.lab.wordnet.files.read_wordnet`. By default the usual places are searched.
    measure : {"path", "wu_palmer", "lin"}
    threshold : float, optional
        Minimum similarity, before the exponent; by default 0.25 for the path, 0.8 for Wu & Palmer,
        0.5 for Lin.
    exponent : float, default 1.0
        Power that similarities are raised to.
    counts : Vocabulary or mapping of str to float, optional
        Word frequencies for Lin's measure; for a vocabulary, its document frequencies.
    progress : callable, optional
        Called as ``progress(done, total)`` in synsets while the files are read.

    Raises
    ------
    FileNotFoundError
        If no WordNet is found. The message lists the searched places.
    MalformedFileError
        If a file violates its format, refers to a missing synset, or has a cycle of hypernyms.
        The message names the place.
    InvalidInputError
        If a setting is unknown or out of range.

    Notes
    -----
    Reading WordNet 3.0 takes about 4 seconds. Inflected words are not found, because words are
    looked up as written. For a vocabulary of stems, a known form of each stem is looked up.

    Examples
    --------
    >>> source = wordnet_similarity()  # doctest: +SKIP
    >>> source.similarities(["car", "car"], ["automobile", "ambulance"])  # doctest: +SKIP
    array([1. , 0.5], dtype=float32)
    """
    check_choice("measure", measure, _THRESHOLDS)
    if counts is not None and measure != "lin":
        raise InvalidInputError(f"the measure {measure!r} needs no counts; take measure='lin'.")
    numbers = {} if counts is None else _word_counts(counts)
    least = _THRESHOLDS[measure] if threshold is None else threshold
    check_scale(threshold=least, exponent=exponent)
    wordnet = read_wordnet(path, progress=progress)
    weigh = weighing(measure, wordnet, numbers)
    concepts = concepts_of_wordnet(wordnet, weigh, threshold=least, similar=measure == "path")
    return ThesaurusSimilarity(
        concepts, name=f"wordnet by {measure}", threshold=least, exponent=exponent
    )


def weighing(
    measure: str, wordnet: WordNet, counts: Mapping[str, float]
) -> Callable[[Ancestors], Weighed]:
    """Return the weighting of synsets of a measure; Lin's uses the word frequencies."""
    if measure == "path":
        return by_paths
    if measure == "wu_palmer":
        return _by_depth
    return partial(_by_information, _synset_counts(wordnet, counts))


def _by_depth(above: Ancestors) -> Weighed:
    depths = above.depths.astype(np.float64)
    return depths, above.distances + depths[above.ancestors]


def _by_information(own: NDArray[np.float64], above: Ancestors) -> Weighed:
    # A virtual root has no occurrence of its own.
    own = np.pad(own, (0, len(above.depths) - len(own)))
    total = np.bincount(above.taxonomies, weights=own)
    below = np.bincount(above.ancestors, weights=own[above.of], minlength=len(above.depths))
    shares = below / total[above.taxonomies]
    information = np.maximum(-np.log(np.minimum(shares, 1.0)), _LEAST)
    return information, information[above.of]


def _synset_counts(wordnet: WordNet, counts: Mapping[str, float]) -> NDArray[np.float64]:
    """Occurrences of every synset: 1, plus its share of those of its words."""
    words, of, synsets = wordnet.senses
    numbers = np.array(
        [sum(counts.get(name, 0.0) for name in written_terms(word)[-1:]) for word in words]
    )
    shares = numbers / np.maximum(np.bincount(of, minlength=len(words)), 1)
    own = np.ones(len(wordnet))
    return own + np.bincount(synsets, weights=shares[of], minlength=len(wordnet))


def _word_counts(counts: Counts) -> dict[str, float]:
    """Occurrences of words; those of a stem are shared equally by its forms."""
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
        check_number(f"the count of {word!r}", number, least=0)
    return dict(counts)
