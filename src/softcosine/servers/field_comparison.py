"""Comparison of an index with a text field of a server: analysis, parameters, statistics."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np

from softcosine._validation import check_choice, check_whole
from softcosine.index.directory.snapshot import Snapshot
from softcosine.index.search.server_query import SentWords
from softcosine.servers.text_field import TermFacts, TextField
from softcosine.text.analyzer import Analyzer

_MOST_WORDS = 3000
_N_TERMS = 12
_EQUAL = 0.99  # of the words of the texts
USABLE = 0.9
_ROUNDING, _FAR = 1e-3, 0.1


@dataclass(frozen=True, slots=True)
class WordDifference:
    """A word that index and server analyze differently, and how often it occurred."""

    word: str
    index: tuple[str, ...]
    server: tuple[str, ...]
    count: int


@dataclass(frozen=True, slots=True)
class TermDifference:
    """The number of documents with a term, on both sides; a server without it has 0."""

    term: str
    index: int
    server: int


@dataclass(frozen=True, slots=True)
class FieldComparison:
    """How a field of a server differs from an index.

    Attributes
    ----------
    address, field, analyzer, search_analyzer : str
    n_shards : int
    n_words : int
        Number of different words that were analyzed by both.
    equal, unstemmed : float
        Share of the words of the texts that have the same tokens on both sides, and that have the
        index's tokens before stemming.
    words : {"terms", "forms", "analyzed"}
        What `SoftIndex.expand` has to send; see there.
    differences : tuple of WordDifference
        The most frequent first.
    facts : TermFacts or None
        k1, b and statistics of the server; None if no term of the sample is there.
    k1, b : float
        Of the index.
    n_docs : int
        Of the index.
    average_length : float
        Of the field of the index.
    terms : tuple of TermDifference
        Terms of the sample whose document frequencies differ.
    advice : tuple of str
        What differs and what to do; empty if nothing does.
    """

    address: str
    field: str
    analyzer: str
    search_analyzer: str
    n_shards: int
    n_words: int
    equal: float
    unstemmed: float
    words: SentWords
    differences: tuple[WordDifference, ...]
    facts: TermFacts | None
    k1: float
    b: float
    n_docs: int
    average_length: float
    terms: tuple[TermDifference, ...]
    advice: tuple[str, ...]


def compared(
    snapshot: Snapshot,
    field: TextField,
    *,
    own: str | None = None,
    n_sampled: int = 300,
    learned: bool = False,
) -> FieldComparison:
    """Return the comparison of a field of an index with one of a server.

    Parameters
    ----------
    snapshot : Snapshot
    field : TextField
    own : str, optional
        Name of the field of the index; by default the first one.
    n_sampled : int
        Number of documents whose words are compared, at even distances.
    learned : bool
        Whether the index was just learned from the field, so that the advice is no other one.

    Raises
    ------
    InvalidInputError, ServerError
    """
    check_whole("n_sampled", n_sampled)
    names = [one.name for one in snapshot.fields]
    check_choice("own", own, names, optional=True)
    number = 0 if own is None else names.index(own)
    analyzer, statistics = snapshot.analyzer, snapshot.statistics[number]
    counts = sampled_words(_texts(snapshot, n_sampled))
    words = list(counts)
    theirs = field.tokens(words)
    n_all = max(sum(counts.values()), 1)
    plain = replace(analyzer, stemmer=None)
    ours = [analyzer.terms(word) for word in words]
    differences = [
        WordDifference(word, tuple(mine), tuple(other), counts[word])
        for word, mine, other in zip(words, ours, theirs, strict=True)
        if mine != other
    ]
    equal = 1.0 - sum(one.count for one in differences) / n_all
    forms = zip(words, theirs, strict=True)
    unstemmed = sum(counts[word] for word, other in forms if plain.terms(word) == other) / n_all
    same = [mine[0] for mine, other in zip(ours, theirs, strict=True) if mine == other and mine]
    frequencies = statistics.document_frequencies
    terms, facts = [], None
    for term in _spread(snapshot, dict.fromkeys(same), frequencies):
        found = field.facts(term)
        facts = facts or found
        frequency = int(frequencies[snapshot.S.vocabulary.index(term)])
        there = 0 if found is None else found.document_frequency
        if there != frequency:
            terms.append(TermDifference(term, frequency, there))
    made = FieldComparison(
        address=field.address, field=field.name, analyzer=field.analyzer,
        search_analyzer=field.search_analyzer, n_shards=field.n_shards, n_words=len(words),
        equal=equal, unstemmed=unstemmed, words=_words(analyzer, equal, unstemmed),
        differences=tuple(differences), facts=facts, k1=snapshot.settings.weighting.k1,
        b=snapshot.settings.weighting.b, n_docs=snapshot.n_docs,
        average_length=statistics.average_length, terms=tuple(terms), advice=(),
    )  # fmt: skip
    return replace(made, advice=tuple(_advice(made, learned)))


def sampled_words(texts: Sequence[str]) -> Counter[str]:
    """Return the most frequent words of texts, between white space, with their numbers."""
    counts = Counter(word for text in texts for word in text.split())
    return Counter(dict(counts.most_common(_MOST_WORDS)))


def _texts(snapshot: Snapshot, n: int) -> list[str]:
    documents = snapshot.documents
    if not documents.keeps_texts:  # then the words of the vocabulary
        vocabulary = snapshot.S.vocabulary
        return [
            " ".join(vocabulary.forms_of(j) or (vocabulary.term(j),))
            for j in range(len(vocabulary))
        ]
    numbers = documents.numbers
    if not len(numbers):
        return []
    places = np.unique(np.linspace(0, len(numbers) - 1, n).astype(int))
    return [documents.text(int(numbers[place])) for place in places]


def _spread(
    snapshot: Snapshot,
    terms: dict[str, None],
    frequencies: np.ndarray[tuple[int], np.dtype[np.int64]],
) -> list[str]:
    """Return a sample of terms of all frequencies."""
    numbers = {term: snapshot.S.vocabulary.get(term) for term in terms}
    known = [term for term, number in numbers.items() if number >= 0 and frequencies[number] > 0]
    known.sort(key=lambda term: (-int(frequencies[numbers[term]]), term))
    if not known:
        return []
    places = np.unique(np.linspace(0, len(known) - 1, _N_TERMS).astype(int))
    return [known[place] for place in places]


def _words(analyzer: Analyzer, equal: float, unstemmed: float) -> SentWords:
    if not analyzer.stems or max(equal, unstemmed) < USABLE:
        return "terms" if not analyzer.stems else "analyzed"
    return "terms" if equal >= unstemmed else "forms"


def _advice(one: FieldComparison, learned: bool) -> Iterator[str]:
    if one.equal < _EQUAL:
        yield _ADVICE[one.words].format(share=1.0 - one.equal) + (
            "." if learned else ", or learn an index from the field (`softcosine server learn`)."
        )
    facts = one.facts
    if facts is None:
        yield "no sampled term is in the field, so k1, b and statistics are unknown."
        return
    if (facts.k1, facts.b) != (one.k1, one.b):
        yield (
            f"the server has k1 {facts.k1:g} and b {facts.b:g}, the index k1 {one.k1:g} and b "
            f"{one.b:g}; set one to the other: `set_weighting`, or the similarity on the server."
        )
    if facts.n_docs != one.n_docs:
        yield f"the server counts {facts.n_docs:,} documents, the index {one.n_docs:,}: update it."
    elif any(abs(term.server - term.index) > _FAR * term.index for term in one.terms):
        yield "document frequencies differ: words are analyzed otherwise, or the texts differ."
    elif abs(facts.average_length - one.average_length) > _ROUNDING * one.average_length:
        yield (
            f"documents have {facts.average_length:.4g} words on average on the server, and "
            f"{one.average_length:.4g} in the index: words are split or removed otherwise."
        )
    if one.n_shards > 1:
        yield (
            f"the {one.n_shards} shards of the server have an idf each; search with "
            "search_type=dfs_query_then_fetch."
        )


_ADVICE = {
    "terms": "{share:.1%} of the words have other tokens on the server; change its analyzer",
    "forms": "the index stems and the field does not; expand with words='forms' (--words forms)",
    "analyzed": "{share:.1%} of the words are stemmed otherwise; expand by --words analyzed",
}
