"""Queries whose documents were judged: retrieval, and the ranking of given candidates."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from softcosine.errors import InvalidInputError
from softcosine.evaluate.datasets.grades import NOT_JUDGED
from softcosine.evaluate.documents import Documents

__all__ = ["Qrels", "RankingSet", "known_judgements"]

# For every judged query, the gain of every judged document: 0 is not relevant.
Qrels = Mapping[str, Mapping[str, float]]


@dataclass(frozen=True, slots=True, repr=False)
class RankingSet:
    """A collection with queries and judgements.

    Parameters
    ----------
    name : str
    documents, queries : Documents
    qrels : mapping of query id to mapping of document id to float
        Gains; 0 or less is not relevant, and -1 (`grades.NOT_JUDGED`) not judged, like a document
        that is not named. Queries that it does not name are not scored; one that it names, with no
        relevant document, scores 0.
    candidates : mapping of query id to tuple of document ids, optional
        The documents to put in order, where they are given, as in question ranking; all documents
        otherwise.
    splits : mapping of query id to str, optional
        Which part every query belongs to, such as ``train``, ``dev`` or ``test``.
    background : tuple of str
        Further texts to learn statistics from; never ranked.
    notes : tuple of str
        What was decided or left out on reading.

    Raises
    ------
    InvalidInputError
        If there is no document or no judged query, no document is relevant to any query, a gain
        is no finite number, or judgements, candidates or splits name what is not there.
    """

    name: str
    documents: Documents
    queries: Documents
    qrels: Qrels
    candidates: Mapping[str, tuple[str, ...]] | None = None
    splits: Mapping[str, str] | None = None
    background: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        for what, found in (("documents", self.documents), ("queries", self.queries)):
            if not len(found):
                raise InvalidInputError(f"{self.name} has no {what}; at least one was needed.")
        queries, documents = set(self.queries.ids), set(self.documents.ids)
        _check_known(self.name, "judgements", "query", self.qrels, queries)
        for query, judged in self.qrels.items():
            _check_known(self.name, "judgements", "document", judged, documents)
            for id, gain in judged.items():
                if not math.isfinite(gain):
                    raise InvalidInputError(
                        f"the gain of document {id!r} for query {query!r} of {self.name} is "
                        f"{gain}; a finite number was needed."
                    )
        for query, listed in (self.candidates or {}).items():
            _check_known(self.name, "candidates", "query", [query], queries)
            _check_known(self.name, "candidates", "document", listed, documents)
        _check_known(self.name, "splits", "query", self.splits or {}, queries)
        if not self.qrels:
            raise InvalidInputError(f"{self.name} has no judged query, so nothing can be measured.")
        if not any(gain > 0 for judged in self.qrels.values() for gain in judged.values()):
            raise InvalidInputError(
                f"no document of {self.name} is relevant to any query, so every system would score "
                "0; are the judgements those of this collection, with 1 or more for relevant?"
            )

    def __repr__(self) -> str:
        parts = f", parts {', '.join(self.split_names)}" if self.splits else ""
        n, n_judged = len(self.documents), len(self.qrels)
        return f"<RankingSet {self.name}: {n:,} documents, {n_judged:,} judged queries{parts}>"

    @property
    def judged(self) -> Documents:
        """The queries that are scored, in their order."""
        return self.queries.taken(
            number for number, id in enumerate(self.queries.ids) if id in self.qrels
        )

    @property
    def split_names(self) -> tuple[str, ...]:
        """Of the parts, in their order; empty where there are none."""
        return tuple(dict.fromkeys((self.splits or {}).values()))

    @property
    def test_names(self) -> tuple[str, ...]:
        """Of the parts that are for testing: those whose names begin with ``test``."""
        return tuple(name for name in self.split_names if name.lower().startswith("test"))

    def candidate_numbers(self, queries: Documents) -> list[NDArray[np.int64]]:
        """Return the numbers of each query's candidates, ascending: equal scores keep that order.

        Raises
        ------
        InvalidInputError
            If there are no candidates in this set.
        """
        if self.candidates is None:
            raise InvalidInputError(f"{self.name} names no candidates; rank all its documents.")
        number = self.documents.numbers()
        return [
            np.sort(np.array([number[id] for id in self.candidates.get(query, ())], np.int64))
            for query in queries.ids
        ]

    def only(self, queries: Iterable[str], *, name: str | None = None) -> RankingSet:
        """Return the set of some queries alone, named by their ids.

        The documents stay, unless every query has its own candidates: then these alone are left.

        Raises
        ------
        InvalidInputError
            If a query is not there, or none of them has a relevant document.
        """
        asked = tuple(queries)
        _check_known(self.name, "what was asked for", "query", asked, set(self.queries.ids))
        wanted = set(asked)
        documents, candidates = self.documents, self.candidates
        if candidates is not None:
            candidates = {id: listed for id, listed in candidates.items() if id in wanted}
            needed = {id for listed in candidates.values() for id in listed}
            documents = _of_ids(documents, needed)
        return replace(
            self,
            name=self.name if name is None else name,
            documents=documents,
            queries=_of_ids(self.queries, wanted),
            qrels={id: judged for id, judged in self.qrels.items() if id in wanted},
            candidates=candidates,
            splits={id: part for id, part in (self.splits or {}).items() if id in wanted} or None,
        )

    def part(self, *splits: str) -> RankingSet:
        """Return the set of one part's queries, or of several parts'.

        Of a set with candidates, the texts of its training parts (``train...``) that were not asked
        for are added to the background, those of its other parts are not: what is tested on is not
        learned from.

        Raises
        ------
        InvalidInputError
            If there is no such part.
        """
        for split in splits:
            if split not in self.split_names:
                there = ", ".join(self.split_names) or "no parts"
                raise InvalidInputError(f"{self.name} has no part {split!r}; it has {there}.")
        parts = self.splits or {}
        chosen = self.only(
            (id for id in self.queries.ids if parts.get(id) in splits),
            name=f"{self.name} ({', '.join(splits)})",
        )
        return replace(chosen, background=(*self.background, *self._training_texts(splits)))

    def _training_texts(self, left_out: Iterable[str]) -> list[str]:
        if self.candidates is None:
            return []
        left, parts = set(left_out), self.splits or {}
        queries = {
            id
            for id in self.queries.ids
            if parts.get(id, "").startswith("train") and parts[id] not in left
        }
        documents = {id for query in queries for id in self.candidates.get(query, ())}
        return _of_ids(self.queries, queries).texts + _of_ids(self.documents, documents).texts


def known_judgements(
    qrels: Qrels, documents: Documents, queries: Documents
) -> tuple[dict[str, dict[str, float]], tuple[str, ...]]:
    """Return the judgements of known queries on known documents, and what was left out, in words.

    A relevant document that is not in the collection cannot be found by any system; left in, it
    would lower every score alike. A query whose documents are all marked as not judged has no
    judgement.
    """
    known, there = set(queries.ids), set(documents.ids)
    kept: dict[str, dict[str, float]] = {}
    strange, missing, n_missing = [], [], 0
    for query, judged in qrels.items():
        if query not in known:
            strange.append(query)
            continue
        own = {id: gain for id, gain in judged.items() if id in there}
        n_missing += len(judged) - len(own)
        missing += [id for id in judged if id not in there][:3]
        if any(gain != NOT_JUDGED for gain in own.values()):
            kept[query] = own
    notes = []
    if strange:
        notes.append(
            "judged queries that are not among the queries were left out: "
            f"{len(strange):,} ({_some(strange)})"
        )
    if n_missing:
        notes.append(
            "judgements of documents that are not in the collection were left out: "
            f"{n_missing:,} ({_some(missing)})"
        )
    unjudged = [id for id in queries.ids if id not in kept]
    if unjudged:
        notes.append(
            "queries without a judgement are not scored: "
            f"{len(unjudged):,} of {len(queries):,} ({_some(unjudged)})"
        )
    return kept, tuple(notes)


def _some(ids: list[str]) -> str:
    shown = ", ".join(ids[:3])
    return f"{shown} and others" if len(ids) > 3 else shown


def _of_ids(documents: Documents, ids: set[str]) -> Documents:
    return documents.taken(number for number, id in enumerate(documents.ids) if id in ids)


def _check_known(name: str, where: str, what: str, ids: Iterable[str], known: set[str]) -> None:
    for id in ids:
        if id not in known:
            raise InvalidInputError(
                f"the {where} of {name} name the {what} {id!r}, which it does not have."
                if where != "what was asked for"
                else f"{name} has no {what} {id!r}."
            )
