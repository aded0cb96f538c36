"""`ServedIndex`: one index, the commit that requests see, and its changes one after the other."""

from __future__ import annotations

import asyncio
import heapq
import threading
from bisect import bisect_left
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, Generic, NamedTuple, Self, TypeVar

import numpy as np
from numpy.typing import NDArray

from softcosine._progress import Report
from softcosine.cluster.opening import EitherIndex, ShardOptions, open_either
from softcosine.cluster.sharded_writer import ShardedWriter
from softcosine.index.search.searchable import Searchable
from softcosine.index.soft_index import SoftIndex
from softcosine.index.writer.index_writer import IndexWriter
from softcosine.matrix.term_similarity_matrix import TermSimilarityMatrix
from softcosine.serve.problems import Problem
from softcosine.serve.settings import Limits

EitherWriter = IndexWriter | ShardedWriter

_T = TypeVar("_T")
_MOST = "\U0010ffff"
_QUERIES = ("q", "word")  # fields of requests


def whole(one: EitherIndex, what: str) -> SoftIndex:
    """Return an index that is not sharded, which `what` needs; else raise Problem."""
    if isinstance(one, SoftIndex):
        return one
    raise Problem("invalid-input", f"{what} needs an index that is not sharded.")


@contextmanager
def expecting(name: str, path: Path) -> Iterator[None]:
    """Raise Problem (``unknown-index``) if a file is missing because an index was deleted."""
    try:
        yield
    except FileNotFoundError as error:
        if path.exists():
            raise
        raise Problem("unknown-index", f"the index {name} was deleted meanwhile.") from error


class Completion(NamedTuple):
    """An indexed word, and the number of documents with its term."""

    word: str
    n_docs: int


@dataclass(frozen=True, slots=True)
class Completions:
    """All indexed words in order, with the document frequencies of their terms.

    Attributes
    ----------
    words : list of str
        Ascending, without upper case.
    frequencies : ndarray of shape (n_words,), int64
        As of the last refresh of the statistics; of several fields, the greatest.
    """

    words: list[str]
    frequencies: NDArray[np.int64]

    @classmethod
    def of(cls, index: Searchable) -> Self:
        """Return the words of an index."""
        vocabulary, n_terms = index.vocabulary, len(index.vocabulary)
        own = np.zeros(n_terms, np.int64)
        for field in index.snapshot.statistics:
            np.maximum(own, field.padded(n_terms).document_frequencies, out=own)
        owners: dict[str, int] = {}
        for number in range(n_terms):
            for word in vocabulary.forms_of(number) or (vocabulary.term(number),):
                owners[word] = number
        words = sorted(owners)
        return cls(words, own[[owners[word] for word in words]] if words else own)

    def of_prefix(self, prefix: str, k: int) -> list[Completion]:
        """Return the k most frequent words with a prefix; ties in order of the words."""
        begin = bisect_left(self.words, prefix)
        end = bisect_left(self.words, prefix + _MOST)
        best = heapq.nsmallest(
            k, range(begin, end), key=lambda number: (-int(self.frequencies[number]), number)
        )
        return [Completion(self.words[number], int(self.frequencies[number])) for number in best]


class View:
    """An index at one commit, and what is computed from it once.

    Attributes
    ----------
    index : SoftIndex or ShardedIndex
        No refresh and no commit changes it.
    """

    def __init__(self, index: EitherIndex) -> None:
        self.index = index

    @property
    def commit(self) -> str:
        """Checksum of the commit."""
        return self.index.commit

    @cached_property
    def completions(self) -> Completions:
        """The words by prefix."""
        return Completions.of(self.index)

    @cached_property
    def plain(self) -> SoftIndex:
        """The index with the identity as S."""
        one = whole(self.index, "a search without similar words")
        return one.with_similarity(TermSimilarityMatrix.identity(self.index.vocabulary))


@dataclass(frozen=True, slots=True)
class Change(Generic[_T]):
    """A change that is committed.

    Attributes
    ----------
    result : object
    view : View
        The index as of this change, or a later one.
    commit : str
        Checksum of the commit.
    """

    result: _T
    view: View
    commit: str


class ServedIndex:
    """An open index of a server.

    Searches use `view`, which a refresh replaces when the new commit is ready to be searched; until
    then they continue on the last one, and none waits.

    Parameters
    ----------
    name : str
    path : Path
    limits : Limits
    shards : ShardOptions
        Where the shards are searched, if it is a sharded index.

    Raises
    ------
    FileNotFoundError, IndexFormatError, CorruptIndexError
    """

    def __init__(self, name: str, path: Path, limits: Limits, shards: ShardOptions) -> None:
        self.name = name
        self.path = path
        self._limits = limits
        self._index = open_either(path, shards=shards)
        self._refreshing = threading.Lock()
        self._writing = asyncio.Lock()
        self.n_writes = 0
        self.fault = ""  # of the last refresh
        self.view = View(self._index.at_commit())

    def refresh(self) -> bool:
        """Open the last commit for searches; return whether it is new.

        Raises
        ------
        FileNotFoundError
            If the index was deleted.
        """
        with self._refreshing:
            self._index.refresh()
            if self._index.commit == self.view.commit:
                return False
            view = View(self._index.at_commit())
            view.index.words()  # prepared here, so that no search waits for it
            self.view = view
            return True

    async def change(
        self,
        pool: ThreadPoolExecutor,
        work: Callable[[EitherWriter, EitherIndex], _T],
        *,
        if_match: str | None = None,
        refresh: bool | None = None,
        progress: Report | None = None,
    ) -> Change[_T]:
        """Run a change in a thread, and commit it.

        Changes of an index run one after the other. If `work` raises, nothing is changed.

        Parameters
        ----------
        pool : ThreadPoolExecutor
        work : callable
            Gets the writer, and the index as of the last commit; returns JSON values.
        if_match : str, optional
            The commit that must be the last one.
        refresh : bool, optional
            See `IndexWriter.commit`.
        progress : callable, optional
            Called with (task, done, total); total may be None.

        Raises
        ------
        Problem
            ``busy`` if too many changes wait, ``changed-meanwhile`` if there is another commit.
        """
        index = self._index

        def changed() -> Change[_T]:
            wait = self._limits.writer_seconds
            with (
                expecting(self.name, self.path),
                index.writer(timeout=wait, progress=progress) as writer,
            ):
                index.refresh()
                if if_match is not None and if_match != index.commit:
                    raise Problem(
                        "changed-meanwhile",
                        f"at commit {index.commit}, not {if_match:.60}; read the index again.",
                    )
                result = work(writer, index)
                writer.commit(refresh)
                index.refresh()
                commit = index.commit  # before another process can write
            self.refresh()
            return Change(result, self.view, commit)

        if self.n_writes >= self._limits.writes:
            raise Problem("busy", f"{self.n_writes} changes of {self.name} wait; try again later.")
        self.n_writes += 1
        try:
            async with self._writing:
                return await asyncio.get_running_loop().run_in_executor(pool, changed)
        finally:
            self.n_writes -= 1

    def check(self, request: Any) -> None:
        """Raise Problem if a query, a page or the ids of a request are over the limits."""
        limits = self._limits
        query = next(filter(None, (getattr(request, name, None) for name in _QUERIES)), "")
        texts = query.values() if isinstance(query, dict) else (query,)
        words = [
            word for text in texts for word in (text.split() if isinstance(text, str) else text)
        ]
        for what, value, most in (
            ("the number of words of the query", len(words), limits.query_words),
            ("the number of its characters", sum(map(len, words)), limits.query_characters),
            ("k", getattr(request, "k", 0), limits.k),
            ("offset", getattr(request, "offset", 0), limits.offset),
            ("the number of ids", len(getattr(request, "ids", ())), limits.k),
        ):
            if value is None or value > most:
                raise Problem(
                    "over-limit",
                    f"{what} is {value or 'not limited'}; at most {most:,} is allowed.",
                )
