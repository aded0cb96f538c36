"""A search over all shards: their answers merged in the one total order of an index."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np
from msgspec import structs
from numpy.typing import NDArray

from softcosine.cluster.shards import ShardedSnapshot, Shards
from softcosine.index.query.query_vectors import Query
from softcosine.index.query.ready_query import ReadyQuery
from softcosine.index.requests import FilterRequest, FirstStage, SearchOptions
from softcosine.index.search.execution import (
    Page,
    Search,
    soft_cosines,
)
from softcosine.index.search.explanation import Explanation
from softcosine.index.search.first_stage import n_candidates
from softcosine.index.search.matches import Matches
from softcosine.index.search.results import Hits
from softcosine.index.search.sorting import parse_sort
from softcosine.index.segment.documents import Document
from softcosine.index.spaces.plan import ALONE
from softcosine.index.spaces.space import NO_DOCUMENTS, Top


@dataclass(frozen=True, slots=True)
class ShardedSearch(Search):
    """What the queries of a request have in common, over a `ShardedSnapshot`.

    Queries are read here, under the epoch; shards find documents. What depends on the documents of
    the whole comes from all shards before (`completed`), and the order of the whole is made here
    (`Matches.joined`).
    """

    @property
    def _whole(self) -> ShardedSnapshot:
        assert isinstance(self.snapshot, ShardedSnapshot)
        return self.snapshot

    @property
    def _shards(self) -> Shards:
        return self._whole.shards

    @property
    def _to_shards(self) -> SearchOptions:
        """The request for shards, to which queries come with their meaning."""
        if self.encoding.ask == "words":
            return structs.replace(self.request, ask="words", meaning=None)
        return structs.replace(self.request, ask="static", meaning=self.encoding.weight)

    def execute(self, queries: Sequence[Query], threads: int | None) -> list[Hits]:
        """Return the hits of queries."""
        with self._shards.searching():
            # Not zero-argument super: a dataclass with slots is another class.
            return Search.execute(self, queries, threads)

    def pages(self, queries: Sequence[Query], threads: int | None) -> Iterator[Page]:
        """Return the page of each query, without reading documents."""
        with self._shards.searching():
            return iter(list(Search.pages(self, queries, threads)))

    def like(self, id: str) -> Hits:
        """Return the documents most similar to a document of the index, without itself."""
        with self._shards.searching():
            return Search.like(self, id)

    def document(self, id: str) -> tuple[ReadyQuery, int]:
        """Return a document as a query, and its number."""
        ready: tuple[ReadyQuery, int] = self._shards.owner(id, "document", id, self._to_shards)
        return ready

    def explained(self, query: ReadyQuery, id: str) -> Explanation:
        """Return the explanation of a document's score."""
        found: Explanation = self._shards.owner(id, "explained", query, id, self._to_shards)
        if found.passage or query.unit is None:
            return found
        number = self._whole.documents.number(id)  # shards have no encoder
        return replace(found, passage=self.encoding.passage(query.unit, number))

    def scores_of(self, query: ReadyQuery, ids: Sequence[str]) -> NDArray[np.float64]:
        """Return the scores of documents, given by their ids."""
        found = self._shards.by_id("scores_of", ids, query, self._to_shards)
        return np.array([found[id] for id in ids])

    def nearest(self, query: ReadyQuery, n: int) -> Top:
        """Return the nearest documents that the query may return, with their cosines."""
        tops = self._shards.every("nearest", query, self._to_shards, n)
        return Top.joined([NO_DOCUMENTS, *tops]).best(n)

    def found(self, queries: Sequence[ReadyQuery], threads: int | None = 1) -> Iterator[Matches]:
        """Return what matches each query in all shards that answer."""
        stage = self.request.stage
        if stage is not None:
            queries = [replace(one, impacts=self._impacts(one)) for one in queries]
            answers = self._found_in_stages(queries, stage)
        else:
            answers = self._shards.every("found", queries, self._to_shards)
        keys, missing = parse_sort(self.request.sort), self._shards.missing
        if not answers:
            nothing = Matches(replace(NO_DOCUMENTS, plan=ALONE), missing=missing)
            return iter([nothing] * len(queries))
        return (Matches.joined(parts, keys, missing) for parts in zip(*answers, strict=True))

    def _found_in_stages(
        self, queries: Sequence[ReadyQuery], stage: FirstStage
    ) -> list[list[Matches]]:
        """Return what shards find, where each scores its documents among the best candidates."""
        answers: list[list[Top]] = self._shards.every("candidates", queries, self._to_shards)
        if not answers:
            return []
        tops = [
            Top.joined(parts).best(n_candidates(stage, self.n_ranked, query))
            for query, parts in zip(queries, zip(*answers, strict=True), strict=True)
        ]
        rescored = self._shards.every("rescored", queries, tops, self._to_shards)
        return [[Matches(staged) for staged in own] for own in rescored]

    def _impacts(
        self, query: ReadyQuery
    ) -> tuple[tuple[NDArray[np.int32], NDArray[np.float64]], ...]:
        """Return, for each field, the terms that a query reaches and their greatest impacts."""
        every = self._whole.greatest_impacts(self.request.ranking)
        fields = zip(self.words.summands, every, strict=True)
        reached = [(words.prepare(query).expanded.terms, own) for (_, words), own in fields]
        return tuple((terms, impacts[terms]) for terms, impacts in reached)

    def similarities(self, documents: NDArray[np.int64]) -> Callable[[int], NDArray[np.float64]]:
        """Return a function of a place: the soft cosines of the document there with all."""
        rows = self._shards.gathered("rows", documents.tolist())
        candidates = self._whole.of_rows([rows.get(number) for number in documents.tolist()])
        return partial(soft_cosines, candidates, np.arange(len(documents)))

    def count(self, where: Mapping[str, Any]) -> int:
        """Return the number of documents that pass a filter."""
        request = FilterRequest.of(where=where, k=0)
        return sum(one.n_matching for one in self._shards.every("filtered", request))

    def hits(self, pages: Iterable[Page]) -> list[Hits]:
        """Return the results of pages with their documents, of shards that answer."""
        pages = list(pages)
        numbers = np.concatenate([np.empty(0, np.int64), *(one.top.documents for one in pages)])
        documents = self._whole.documents.present(np.unique(numbers).tolist())
        return [self._hits(*self._present(page, documents)) for page in pages]

    def _present(self, page: Page, documents: dict[int, Document]) -> tuple[Page, list[Document]]:
        numbers = page.top.documents.tolist()
        kept = [place for place, number in enumerate(numbers) if number in documents]
        top = page.top.at(np.array(kept, np.int64))
        missing = tuple(sorted({*page.missing, *self._shards.missing}))
        if missing:
            top = replace(top, plan=replace(top.plan, proven=False))
        page = replace(page, top=top, missing=missing)
        return page, [documents[numbers[place]] for place in kept]
