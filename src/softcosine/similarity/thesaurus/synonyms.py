"""Lists of synonyms as concepts: every group of terms is a concept."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np

from softcosine.similarity.thesaurus.concepts import Concepts
from softcosine.text.words import find_words, normalize


def written_terms(term: str) -> tuple[str, ...]:
    """Return the one or two forms of a thesaurus term in analyzed texts.

    The first form is casefolded with single spaces. The second, if different, is split into words
    by the analyzer's rules and joined by spaces like n-grams.

    Examples
    --------
    >>> written_terms("attorney-at-law"), written_terms("bank_account")
    (('attorney-at-law', 'attorney at law'), ('bank account',))
    """
    plain = " ".join(normalize(term).split())
    words = " ".join(find_words(plain))
    return (plain,) if words in ("", plain) else (plain, words)


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
