"""Documents and queries with judgements, for retrieval and for the ranking of candidates."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from softcosine.errors import InvalidInputError
from softcosine.evaluate.datasets.grades import NOT_JUDGED
from softcosine.evaluate.documents import Documents

# Gain of every judged document for every judged query; 0 is not relevant.
Qrels = Mapping[str, Mapping[str, float]]


@dataclass(frozen=True, slots=True, repr=False)
class RankingSet:
    """A collection of documents with queries and judgements.

    Parameters
    ----------
    name : str
    documents, queries : Documents
    qrels : mapping of query id to mapping of document id to float
        Gains; 0 or less is not relevant, and -1 (`grades.NOT_JUDGED`) is not judged, like a missing
        document. Queries without an entry are not scored; a query without a relevant document
        scores 0.
    candidates : mapping of query id to tuple of document ids, optional
        The documents to rank for each query, as in question ranking; default: all documents.
    splits : mapping of query id to str, optional
        The split of every query, such as ``train``, ``dev`` or ``test``.
    background : tuple of str
        More texts to learn statistics from; they are never ranked.
    notes : tuple of str
        Notes of the reader.

    Raises
    ------
    InvalidInputError
        If there is no document or no judged query, no document is relevant to any query, a gain
        is not finite, or judgements, candidates or splits have unknown ids.
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
        """The queries with judgements, in their order."""
        return self.queries.taken(
            number for number, id in enumerate(self.queries.ids) if id in self.qrels
        )

    @property
    def split_names(self) -> tuple[str, ...]:
        """Names of the splits in order; empty without splits."""
        return tuple(dict.fromkeys((self.splits or {}).values()))

    @property
    def test_names(self) -> tuple[str, ...]:
        """Names of the splits that begin with ``test``."""
        return tuple(name for name in self.split_names if name.lower().startswith("test"))

    def candidate_numbers(self, queries: Documents) -> list[NDArray[np.int64]]:
        """Return the document numbers of each query's candidates in ascending order.

        Raises
        ------
        InvalidInputError
            If the data set has no candidates.
        """
        if self.candidates is None:
            raise InvalidInputError(f"{self.name} names no candidates; rank all its documents.")
        number = self.documents.numbers()
        return [
            np.sort(np.array([number[id] for id in self.candidates.get(query, ())], np.int64))
            for query in queries.ids
        ]

    def only(self, queries: Iterable[str], *, name: str | None = None) -> RankingSet:
        """Return the data set with some of the queries, given by id.

        It has the same documents, or only the candidates of these queries if there are candidates.

        Raises
        ------
        InvalidInputError
            If a query is unknown, or none of them has a relevant document.
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
        """Return the data set with the queries of one or several splits.

        If there are candidates, the texts of the other training splits (``train...``) are added to
        the background. Texts of other test splits are not, so that nothing is learned from them.

        Raises
        ------
        InvalidInputError
            If a split does not exist.
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
    """Return the judgements of known queries and documents, and notes on those left out.

    No system can find a relevant document outside the collection; with its judgement, all scores
    would be lower. A query whose documents are all marked as not judged has no judgement.
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
