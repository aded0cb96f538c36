"""Term counts of a corpus in bounded memory."""

from __future__ import annotations

import heapq
import json
from collections.abc import Iterable, Iterator
from contextlib import ExitStack, suppress
from itertools import groupby
from operator import itemgetter
from tempfile import TemporaryFile, gettempdir
from typing import IO

import numpy as np

from softcosine.storage import naming_a_full_disk
from softcosine.text.corpus import AnalyzedTexts

_TERM_BYTES = 300  # per term: string, two counts, dictionary entry
_MAX_FILES = 32

_Count = tuple[str, int, int]  # term, occurrences, documents


class TermTally:
    """Counts of occurrences and documents of terms, in memory and in temporary files.

    Counts are exact; no term is pruned. The files have no name, so they are removed when the
    process ends. Close it, or use it in a ``with`` statement.

    Parameters
    ----------
    memory : int
        Approximate limit in bytes.

    Examples
    --------
    >>> from softcosine.text.corpus import analyze
    >>> with TermTally(1 << 20) as tally:
    ...     tally.add(analyze(["green tea", "tea, black tea"]))
    ...     tally.most_frequent(1, 2, by_documents=False)
    [('black', 1, 1), ('tea', 3, 2)]
    """

    __slots__ = ("_counts", "_files", "_max_terms", "_open")

    def __init__(self, memory: int) -> None:
        self._max_terms = max(1, memory // _TERM_BYTES)
        self._counts: dict[str, tuple[int, int]] = {}
        self._files: list[IO[str]] = []
        self._open = ExitStack()

    def __enter__(self) -> TermTally:
        return self

    def __exit__(self, *exception: object) -> None:
        self.close()

    def close(self) -> None:
        """Drop all counts and files."""
        with suppress(OSError):  # unwritten data is dropped as well
            self._open.close()
        self._files, self._counts = [], {}

    def add(self, analyzed: AnalyzedTexts) -> None:
        """Count the terms of some documents."""
        terms = analyzed.vocabulary.terms
        tokens = analyzed.tokens[analyzed.tokens >= 0]
        occurrences = np.bincount(tokens, minlength=len(terms)).tolist()
        documents = analyzed.vocabulary.document_frequencies
        assert documents is not None
        self._add(zip(terms, occurrences, documents.tolist(), strict=True))

    def add_words(self, analyzed: AnalyzedTexts) -> None:
        """Count the occurrences of the surface forms of stems."""
        self._add((word, n, 0) for word, n in analyzed.words.items())

    def _add(self, added: Iterable[_Count]) -> None:
        counts = self._counts
        for term, n, df in added:
            before = counts.get(term)
            counts[term] = (n, df) if before is None else (before[0] + n, before[1] + df)
        if len(counts) > self._max_terms:
            self._spill(self._in_memory())
            self._counts = {}
            if len(self._files) == _MAX_FILES:
                self._merge_files()

    def _in_memory(self) -> Iterator[_Count]:
        for term in sorted(self._counts):
            yield (term, *self._counts[term])

    def _spill(self, counts: Iterable[_Count]) -> None:
        file = TemporaryFile("w+", encoding="ascii", newline="\n")  # noqa: SIM115
        self._open.enter_context(file)
        with naming_a_full_disk(gettempdir()):
            file.writelines(f"{json.dumps(count)}\n" for count in counts)
            file.flush()
        self._files.append(file)

    def _merge_files(self) -> None:
        files = self._files
        merged = ExitStack()
        self._files, self._open, old = [], merged, self._open
        with old:
            self._spill(_merged([_read(file) for file in files]))

    def counts(self) -> Iterator[_Count]:
        """Yield all terms in code point order, with their occurrences and documents."""
        return _merged([*map(_read, self._files), self._in_memory()])

    def most_frequent(self, min_count: int, max_terms: int, *, by_documents: bool) -> list[_Count]:
        """Return the terms that are frequent enough, in code point order.

        Parameters
        ----------
        min_count : int
        max_terms : int
            Limit; the most frequent terms are used, ties ordered by string.
        by_documents : bool
            Whether to compare documents with the term, or its occurrences.
        """

        def frequency(count: _Count) -> int:
            return count[2] if by_documents else count[1]

        enough = (count for count in self.counts() if frequency(count) >= min_count)
        return sorted(heapq.nsmallest(max_terms, enough, lambda count: (-frequency(count), count)))


def _read(file: IO[str]) -> Iterator[_Count]:
    file.seek(0)
    for line in file:
        term, occurrences, documents = json.loads(line)
        yield term, occurrences, documents


def _merged(runs: list[Iterator[_Count]]) -> Iterator[_Count]:
    """Merge sorted runs and add up their counts."""
    for term, group in groupby(heapq.merge(*runs, key=itemgetter(0)), key=itemgetter(0)):
        occurrences = documents = 0
        for _, n, df in group:
            occurrences += n
            documents += df
        yield term, occurrences, documents
