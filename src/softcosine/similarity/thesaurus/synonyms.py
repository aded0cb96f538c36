"""Lists of synonyms as concepts: every group of terms is one that its terms stand under."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np

from softcosine.similarity.thesaurus.concepts import Concepts
from softcosine.text.words import find_words, normalize

__all__ = ["concepts_of_groups", "written_terms"]


def written_terms(term: str) -> tuple[str, ...]:
    """Return the ways in which a term of a thesaurus can stand in an analyzed text, one or two.

    Casefolded with single spaces; and cut into words as the analyzer cuts texts, joined by spaces
    as it joins n-grams, where that differs.

    Examples
    --------
    >>> written_terms("attorney-at-law"), written_terms("bank_account")
    (('attorney-at-law', 'attorney at law'), ('bank account',))
    """
    plain = " ".join(normalize(term).split())
    words = " ".join(find_words(plain))
    return (plain,) if words in ("", plain) else (plain, words)


def concepts_of_groups(groups: Iterable[tuple[Sequence[str], float]]) -> Concepts:
    """Concepts under which two terms are as similar as the strongest group of both says.

    Parameters
    ----------
    groups : iterable of (sequence of str, float)
        Terms, and their similarity to one another in [0, 1]. Terms of no other group are known,
        but similar to nothing, where that is 0.
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
