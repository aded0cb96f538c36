"""Corpora as streams of term numbers, with term counts: what `analyze` is made of.

A text is first split into chunks of characters without separators, of which a corpus has few
distinct ones (`softcosine.text.pieces`). The rules of the analyzer are applied once to each
distinct chunk; the running text is a stream of numbers.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import compress, count, repeat
from typing import Any

import numpy as np
from numpy.typing import NDArray

from softcosine._ragged import running_sum
from softcosine.errors import InvalidInputError
from softcosine.kernels.counting import count_documents
from softcosine.text.analyzer import Analyzer, checked_tokens, describe
from softcosine.text.packing import PackedLists, PackedStrings
from softcosine.text.pieces import PieceTable, TokenTable
from softcosine.text.words import JOINED

# Characters (or tokens) and documents per batch; progress is reported after each.
_BATCH = 1 << 20
_BATCH_DOCUMENTS = 10_000


def are_joined(terms: Sequence[str]) -> NDArray[np.bool_]:
    """Return which terms are joined words, shape (n_terms,)."""
    return np.fromiter(map(str.startswith, terms, repeat(JOINED)), np.bool_, len(terms))


@dataclass(frozen=True, slots=True)
class CountedFields:
    """Term counts of documents of several fields; those of parts of a corpus add up.

    Attributes
    ----------
    terms : list of str
        In no particular order.
    frequencies : ndarray of shape (n_fields + 1, n_terms), int64
        Number of documents that contain each term: in any field, then in each one.
    lengths : ndarray of shape (n_fields, n_terms), int64
        What each term adds to the lengths of documents: its occurrences, 0 for a joined word.
    forms : PackedLists or None
        Under stemming, the surface forms of each stem; none for n-grams and phrases, whose forms
        depend on those of their stems.
    words : dict of str to int
        The occurrences of each form.
    """

    terms: list[str]
    frequencies: NDArray[np.int64]
    lengths: NDArray[np.int64]
    forms: PackedLists | None
    words: dict[str, int]


def counted_fields(
    texts: Iterable[Any], analyzer: Analyzer, *, n_fields: int, cache: AnalysisCache
) -> CountedFields:
    """Return the term counts of each field.

    Parameters
    ----------
    texts : iterable of str
        All fields of the first document, then those of the second, and so on.
    analyzer : Analyzer
    n_fields : int
    cache : AnalysisCache
    """
    words = cache.read(texts, analyzer, None)
    stream = with_ngrams(words, analyzer)
    n_terms, lengths = len(stream.strings), np.diff(stream.offsets)
    frequencies = np.empty((n_fields + 1, n_terms), np.int64)
    totals = np.empty((n_fields, n_terms), np.int64)
    of_documents = np.ascontiguousarray(stream.offsets[::n_fields])
    frequencies[0], _ = document_frequencies(stream.tokens, of_documents, n_terms=n_terms)
    field_of = np.repeat(np.arange(len(lengths)) % n_fields, lengths)
    for number in range(n_fields):
        tokens = stream.tokens[field_of == number]
        offsets = running_sum(lengths[number::n_fields])
        frequencies[number + 1], _ = document_frequencies(tokens, offsets, n_terms=n_terms)
        totals[number] = np.bincount(tokens, minlength=n_terms) * ~are_joined(stream.strings)
    forms = words.forms and words.forms.extended([()] * (n_terms - len(words.strings)))
    return CountedFields(stream.strings, frequencies, totals, forms, words.words)


@dataclass(frozen=True, slots=True)
class _Stream:
    """Documents as string numbers; under stemming with counted words, and those of each string."""

    tokens: NDArray[np.int32]
    offsets: NDArray[np.int64]
    strings: list[str]
    forms: PackedLists | None = None  # the most frequent first
    words: dict[str, int] = field(default_factory=dict)
    stems: NDArray[np.int32] = field(default_factory=lambda: np.empty(0, np.int32))  # of the words


class _Chunks:
    """The distinct chunks or tokens of all texts read so far, and their terms."""

    def __init__(self, analyzer: Analyzer) -> None:
        self.analyzer = analyzer
        self._begin(TokenTable())

    def _begin(self, table: PieceTable | TokenTable) -> None:
        self.table = table
        self._words: list[str] = []
        self._stems: defaultdict[str, int] = defaultdict(count().__next__)
        self._stem_of_word = np.empty(0, np.int32)  # -1 for a word that is left out

    def read(
        self, texts: Iterable[Any], progress: Callable[[int], object] | None, with_forms: bool
    ) -> _Stream:
        """Return texts as streams of stems, without stop words."""
        check_corpus(texts)
        numbers: list[NDArray[np.int32]] = [np.empty(0, np.int32)]
        lengths: list[NDArray[np.int64]] = [np.empty(0, np.int64)]
        n_docs = 0
        for batch in _batches(texts):
            own, n_words = self._table_of(batch).number(batch)
            numbers.append(own)
            lengths.append(n_words)
            n_docs += len(batch)
            if progress is not None:
                progress(n_docs)
        self._add_new()
        starts = running_sum(np.concatenate(lengths))
        return self._stream(np.concatenate(numbers), starts, with_forms)

    def _table_of(self, batch: Sequence[Any]) -> PieceTable | TokenTable:
        """Return the table for texts, or for token lists; the other one is forgotten."""
        kind = PieceTable if isinstance(batch[0], str) else TokenTable
        if not isinstance(self.table, kind):
            cut, joints = self.analyzer.cut, self.analyzer.joints
            self._begin(PieceTable(cut, joints=joints) if kind is PieceTable else TokenTable())
        return self.table

    def _add_new(self) -> None:
        """Apply the rules to the words that are not known yet."""
        words = self.table.words(len(self._words))
        kept = np.fromiter(map(self.analyzer.keeps, words), bool, len(words))
        stems = np.full(len(words), -1, dtype=np.int32)
        stems[kept] = [
            self._stems[stem] for stem in self.analyzer.stem(list(compress(words, kept.tolist())))
        ]
        self._words += words
        self._stem_of_word = np.concatenate([self._stem_of_word, stems])

    def _stream(
        self, words: NDArray[np.int32], starts: NDArray[np.int64], with_forms: bool
    ) -> _Stream:
        """Replace words by their stems, numbered anew for these texts."""
        n_times = np.bincount(words, minlength=len(self._words))
        stems = np.where(n_times > 0, self._stem_of_word, -1)
        used = np.zeros(len(self._stems), np.bool_)
        used[stems[stems >= 0]] = True
        numbers = np.append(np.cumsum(used, dtype=np.int32) - 1, -1).astype(np.int32)
        of_words = numbers[stems]  # -1 for a word that is left out
        tokens = of_words[words]
        kept = tokens >= 0
        tokens, offsets = tokens[kept], running_sum(kept)[starts]
        strings = list(compress(self._stems, used.tolist()))
        if not self.analyzer.stems:
            return _Stream(tokens, offsets, strings)
        own = np.flatnonzero(of_words >= 0)
        names = map(self._words.__getitem__, own.tolist())
        counted = dict(zip(names, n_times[own].tolist(), strict=True))
        forms = _forms(of_words[own], counted, len(strings)) if with_forms else None
        return _Stream(tokens, offsets, strings, forms, counted, of_words[own])


def _forms(stems: NDArray[np.int32], words: dict[str, int], n_stems: int) -> PackedLists:
    """Return the words of each stem, the most frequent first."""
    names, bounds = list(words), running_sum(np.bincount(stems, minlength=n_stems))
    flat = [names[i] for i in np.argsort(stems, kind="stable").tolist()]
    starts = bounds.tolist()
    for stem in np.flatnonzero(np.diff(bounds) > 1).tolist():
        own = slice(*starts[stem : stem + 2])
        flat[own] = by_frequency({word: words[word] for word in flat[own]})
    return PackedLists(PackedStrings.of(flat), bounds)


class AnalysisCache:
    """What `analyze` found about chunks of text, for later texts under the same analyzer.

    Parameters
    ----------
    max_chunks : int
        Once there are more distinct chunks, all are forgotten.
    """

    __slots__ = ("_chunks", "_max_chunks")

    def __init__(self, max_chunks: int) -> None:
        self._max_chunks = max_chunks
        self._chunks: _Chunks | None = None

    def read(
        self,
        texts: Iterable[Any],
        analyzer: Analyzer,
        progress: Callable[[int], object] | None,
        *,
        with_forms: bool = True,
    ) -> _Stream:
        """Return texts as streams of stems, without stop words."""
        chunks, self._chunks = self._chunks, None  # an error leaves nothing half done
        if chunks is None or chunks.analyzer != analyzer:
            chunks = _Chunks(analyzer)
        stream = chunks.read(texts, progress, with_forms)
        if len(chunks.table) <= self._max_chunks:
            self._chunks = chunks
        return stream


def _batches(texts: Iterable[Any]) -> Iterator[list[Any]]:
    """Check documents and yield batches of about `_BATCH` characters or tokens."""
    batch: list[Any] = []
    size = 0
    first_is_text: bool | None = None
    for position, document in enumerate(texts):
        is_text = isinstance(document, str)
        if not is_text:
            checked_tokens(document, f"document {position}")
        if first_is_text is None:
            first_is_text = is_text
        elif first_is_text is not is_text:
            raise InvalidInputError(
                f"document {position} is a {'text' if is_text else 'token list'} but document 0 is "
                f"a {'text' if first_is_text else 'token list'}; give all in one form."
            )
        batch.append(document)
        size += len(document)
        if size >= _BATCH or len(batch) >= _BATCH_DOCUMENTS:
            yield batch
            batch, size = [], 0
    if batch:
        yield batch


# Runs of stems: where each occurrence begins, its number, and the labels of each number.
_Runs = tuple[NDArray[np.int64], NDArray[np.int64], list[list[str]]]


def with_ngrams(stream: _Stream, analyzer: Analyzer) -> _Stream:
    """Insert after each term the n-grams and phrases that start with it, the shortest first."""
    if analyzer.longest == 1:
        return stream
    whole, is_word = stream, ~are_joined(stream.strings)[stream.tokens]
    running, offsets = np.flatnonzero(is_word), running_sum(is_word)[whole.offsets]
    stream = replace(whole, tokens=whole.tokens[running], offsets=offsets)
    ends = np.repeat(stream.offsets[1:], np.diff(stream.offsets))
    room = ends - np.arange(len(stream.tokens))
    labels = [stream.strings]
    added: list[list[str]] = []  # the form of each n-gram
    if stream.forms is not None:
        labels.append([own[0] for own in stream.forms.lists()])
    # Equal terms, such as an n-gram and a token with a space, have one number.
    numbers = {string: number for number, string in enumerate(stream.strings)}
    n_after = np.zeros(len(whole.tokens), np.int64)
    inserted = []
    for places, which, (names, *of_forms) in (
        *_ngrams(stream, room, analyzer.max_ngram, labels),
        *_phrases(stream, room, analyzer, labels),
    ):
        terms = np.array([numbers.setdefault(name, len(numbers)) for name in names], np.int32)
        places = running[places]
        inserted.append((places, n_after[places], terms[which]))
        n_after[places] += 1
        for number, form in zip(terms.tolist(), *of_forms, strict=True) if of_forms else ():
            if number == len(stream.strings) + len(added):
                added.append([form])
    starts = running_sum(n_after + 1)
    tokens = np.empty(starts[-1], np.int32)
    tokens[starts[:-1]] = whole.tokens
    for places, n_before, terms in inserted:
        tokens[starts[places] + n_before + 1] = terms
    forms = stream.forms and stream.forms.extended(added)
    return _Stream(tokens, starts[whole.offsets], list(numbers), forms)


def _ngrams(
    stream: _Stream, room: NDArray[np.int64], max_ngram: int, labels: Sequence[list[str]]
) -> Iterator[_Runs]:
    """Yield the n-grams of each length."""
    tokens, n_stems = stream.tokens, len(stream.strings)
    shorter, joined = tokens, labels
    for n in range(2, max_ngram + 1):
        places = np.flatnonzero(room >= n)
        keys = shorter[places].astype(np.int64) * n_stems + tokens[places + n - 1]
        distinct, which = np.unique(keys, return_inverse=True)
        pairs = [divmod(key, n_stems) for key in distinct.tolist()]
        joined = [
            [f"{heads[a]} {tails[b]}" for a, b in pairs]
            for heads, tails in zip(joined, labels, strict=True)
        ]
        shorter = np.full(len(tokens), -1, dtype=np.int32)
        shorter[places] = which
        yield places, which, joined


def _phrases(
    stream: _Stream, room: NDArray[np.int64], analyzer: Analyzer, labels: Sequence[list[str]]
) -> Iterator[_Runs]:
    """Yield the phrases of each length that are longer than n-grams.

    All phrases are matched together, word by word, through the trie of their prefixes, so only
    positions with a matching prefix are read.
    """
    tokens, n = stream.tokens, len(stream.strings)
    phrases = [p for p in analyzer.stemmed_phrases if len(p) > analyzer.max_ngram]
    needed = {stem for phrase in phrases for stem in phrase}
    known = {stem: i for i, stem in enumerate(stream.strings) if stem in needed}
    runs = [tuple(known[stem] for stem in p) for p in phrases if known.keys() >= set(p)]
    tree: dict[tuple[int, int], int] = {}  # prefix (0: empty), stem: longer prefix
    ends: dict[int, int] = {}
    for number, run in enumerate(runs):
        node = 0
        for stem in run:
            node = tree.setdefault((node, stem), len(tree) + 1)
        ends[node] = number
    keys = np.array([node * n + stem for node, stem in tree], np.int64)
    order = np.argsort(keys)
    keys, longer = keys[order], np.fromiter(tree.values(), np.int64, len(tree))[order]
    run_of = np.full(len(tree) + 1, -1, np.int64)
    run_of[list(ends)] = list(ends.values())

    beginning = np.zeros(n, np.bool_)
    beginning[[stem for node, stem in tree if node == 0]] = True
    places = np.flatnonzero(beginning[tokens])
    nodes = np.zeros(len(places), np.int64)
    depth = 0
    while len(places):
        asked = nodes * n + tokens[places + depth]
        found = np.minimum(np.searchsorted(keys, asked), len(keys) - 1)
        stay = keys[found] == asked
        places, nodes = places[stay], longer[found[stay]]
        whole = run_of[nodes] >= 0
        used, which = np.unique(run_of[nodes[whole]], return_inverse=True)
        yield (
            places[whole],
            which,
            [
                [" ".join([words[stem] for stem in runs[i]]) for i in used.tolist()]
                for words in labels
            ],
        )
        depth += 1
        stay = room[places] > depth
        places, nodes = places[stay], nodes[stay]


def by_frequency(counts: dict[str, int]) -> list[str]:
    """Return the keys of counts, the most frequent first, then by string."""
    if len(counts) == 1:
        return list(counts)
    return sorted(counts, key=lambda form: (-counts[form], form))


def document_frequencies(
    tokens: NDArray[np.int32], offsets: NDArray[np.int64], *, n_terms: int
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return the document frequency of each term, and the number of terms of each document."""
    frequencies = np.zeros(n_terms, dtype=np.int64)
    distinct = np.empty(len(offsets) - 1, dtype=np.int64)
    last = np.full(n_terms, -1, dtype=np.int32)
    count_documents(tokens, offsets, last, frequencies, distinct)
    return frequencies, distinct


def check_corpus(texts: object) -> None:
    """Raise InvalidInputError if the argument cannot be a collection of texts."""
    if isinstance(texts, str):
        raise InvalidInputError("texts is a single string; wrap it in a list: [text].")
    if isinstance(texts, Mapping) or not isinstance(texts, Iterable):
        raise InvalidInputError(
            f"texts is {describe(texts)}; pass an iterable of strings or of token lists."
        )
    if isinstance(texts, bytes | bytearray):
        raise InvalidInputError(f"texts is {describe(texts)}, and wrap the text in a list.")


def check_df_limit(name: str, limit: Any) -> int | float:
    """Return a limit of document frequencies; raise InvalidInputError if it is out of range."""
    if isinstance(limit, int | np.integer):
        valid = not isinstance(limit, bool) and limit >= 0
    else:
        valid = isinstance(limit, float | np.floating) and 0 <= limit <= 1
    if not valid:
        raise InvalidInputError(
            f"{name} is {limit!r}; it must be a number of documents (an int of at least 0) or a "
            "proportion of them (a float from 0 to 1)."
        )
    return int(limit) if isinstance(limit, int | np.integer) else float(limit)


def within_df_limits(
    document_frequencies: NDArray[np.int64],
    n_docs: int,
    *,
    min_df: int | float,
    max_df: int | float,
) -> NDArray[np.bool_]:
    """Whether each document frequency is within the limits, shape (n_terms,)."""
    return (document_frequencies >= _n_documents(min_df, n_docs)) & (
        document_frequencies <= _n_documents(max_df, n_docs)
    )


def _n_documents(limit: int | float, n_docs: int) -> float:
    return limit * n_docs if isinstance(limit, float | np.floating) else limit
