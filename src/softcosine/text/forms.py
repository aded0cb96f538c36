"""Surface forms of terms, by the words that texts have."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from itertools import islice

from softcosine.text.analyzer import Analyzer

_WORDS = 100_000  # stemmed at a time


def counted_forms(
    terms: Sequence[str], words: Iterable[tuple[str, int]], analyzer: Analyzer
) -> list[Sequence[str]]:
    """Return the forms of terms by frequency, given the occurrences of all words."""
    needed = set(terms) if analyzer.longest == 1 else stems_in(terms)
    forms: dict[str, list[tuple[int, str]]] = {}
    rest = iter(words)
    while batch := list(islice(rest, _WORDS)):
        stems = analyzer.stem([word for word, _ in batch])
        for stem, (word, count) in zip(stems, batch, strict=True):
            if count and stem in needed:
                forms.setdefault(stem, []).append((-count, word))
    return forms_of(
        terms, {stem: [word for _, word in sorted(found)] for stem, found in forms.items()}
    )


def forms_of(terms: Iterable[str], known: Mapping[str, Sequence[str]]) -> list[Sequence[str]]:
    """Return the forms of terms; for an n-gram, the n-gram of the most frequent forms.

    Parameters
    ----------
    terms : iterable of str
    known : mapping
        Forms of stems by frequency, of at least those in `stems_in(terms)` that are stems.
    """
    return [
        known.get(term) or [" ".join(known[stem][0] for stem in _stems(term, known))]
        for term in terms
    ]


def stems_in(terms: Iterable[str]) -> set[str]:
    """Return every run of words in each term, because given tokens may contain spaces."""
    found = set()
    for term in terms:
        words = term.split(" ")
        for start in range(len(words)):
            for end in range(start + 1, len(words) + 1):
                found.add(" ".join(words[start:end]))
    return found


def _stems(ngram: str, known: Collection[str]) -> list[str]:
    """Split an n-gram into its stems; where this is ambiguous, the longest stem first."""
    words = ngram.split(" ")
    cuts: list[list[str] | None] = [None] * len(words) + [[]]  # of the words from each position on
    for start in reversed(range(len(words))):
        for end in range(len(words), start, -1):
            stem, rest = " ".join(words[start:end]), cuts[end]
            if rest is not None and stem in known:
                cuts[start] = [stem, *rest]
                break
    assert cuts[0] is not None  # it consists of stems
    return cuts[0]
