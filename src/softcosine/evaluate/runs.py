"""What a system found: the documents for every query, best first, by their ids."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from softcosine._validation import check_whole
from softcosine.errors import AlreadyExistsError, InvalidInputError
from softcosine.evaluate.datasets.ranking import RankingSet
from softcosine.evaluate.datasets.trec import check_trec_ids, read_trec_run, trec_run
from softcosine.evaluate.systems.system import FittedSystem
from softcosine.storage import checked_path, write_text

__all__ = ["DEPTH", "Run", "run_of"]

DEPTH = 1000  # documents for each query, as TREC takes


@dataclass(frozen=True, slots=True, repr=False)
class Run:
    """The ranking of every query.

    Attributes
    ----------
    rankings : mapping of query id to tuple of document ids
        Best first. A query that it lacks found nothing.
    """

    rankings: Mapping[str, tuple[str, ...]]

    @classmethod
    def read(cls, path: str | Path, *, encoding: str = "utf-8") -> Run:
        """Read TREC's format of six columns; documents of equal score are taken by rank.

        Raises
        ------
        MalformedFileError
            If a line is at fault; it is named.
        """
        found = read_trec_run(Path(path), encoding=encoding)
        return cls({query: tuple(ids) for query, ids in found.items()})

    def write(self, path: str | Path, *, name: str = "softcosine", overwrite: bool = False) -> None:
        """Write TREC's format of six columns, in UTF-8, whole or not at all.

        Scores count down to 1 in each query: trec_eval and its like order equal scores by the
        documents' ids, and so every tool measures this order. `read` gives an equal run; a query
        for which nothing was found has no line.

        Parameters
        ----------
        path : str or Path
        name : str
            The last column. White space in it becomes ``_``.
        overwrite : bool
            Whether to replace a file.

        Raises
        ------
        AlreadyExistsError
            If the file is there and is not to be replaced.
        InvalidInputError
            If an id is empty or holds white space, which the format cannot hold.
        """
        target = checked_path(path)
        for query, ids in self.rankings.items():
            check_trec_ids("query", [query])
            check_trec_ids("document", ids)
        if target.exists() and not overwrite:
            raise AlreadyExistsError(
                f"{target} exists already; choose another name, or pass overwrite=True."
            )
        write_text(target, trec_run(self.rankings, name))

    def __repr__(self) -> str:
        return f"<Run: {len(self.rankings):,} queries>"

    def rank(self, query: str, document: str) -> int | None:
        """Return the rank of a document, from 1; None where it was not found."""
        listed = self.rankings.get(query, ())
        return listed.index(document) + 1 if document in listed else None


def run_of(dataset: RankingSet, fitted: FittedSystem, *, depth: int = DEPTH) -> Run:
    """Return what a system finds for the judged queries of a set.

    Candidates, where the set names them, are all ranked: by score, equal ones in their order among
    the documents. Otherwise the `depth` best documents are taken, but none of score 0.

    Parameters
    ----------
    dataset : RankingSet
    fitted : FittedSystem
        Fitted on the set's documents.
    depth : int

    Raises
    ------
    InvalidInputError
        If `depth` is less than 1, or the system gives scores that are no numbers.
    """
    check_whole("depth", depth)
    queries, ids = dataset.judged, dataset.documents.ids
    rankings: dict[str, tuple[str, ...]] = {}
    if dataset.candidates is None:
        found = fitted.ranked(queries, k=min(depth, len(ids)))
        for query, numbers, scores in zip(queries.ids, found.numbers, found.scores, strict=True):
            _check_scores(query, scores)
            rankings[query] = tuple(ids[number] for number in numbers[numbers >= 0])
        return Run(rankings)
    candidates = dataset.candidate_numbers(queries)
    scored = fitted.scored(queries, candidates)
    for query, numbers, scores in zip(queries.ids, candidates, scored, strict=True):
        _check_scores(query, scores)
        rankings[query] = tuple(
            ids[number] for number in numbers[np.argsort(-scores, kind="stable")]
        )
    return Run(rankings)


def _check_scores(query: str, scores: np.ndarray[tuple[int, ...], np.dtype[np.float64]]) -> None:
    if not np.isfinite(scores).all():
        raise InvalidInputError(f"the system gives scores for query {query!r} that are no numbers.")
