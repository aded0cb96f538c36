"""Runs: the ranked document ids of every query, and their TREC format."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from softcosine._validation import check_whole
from softcosine.errors import AlreadyExistsError, InvalidInputError
from softcosine.evaluate.datasets.ranking import RankingSet
from softcosine.evaluate.datasets.trec import read_trec_run
from softcosine.evaluate.systems.system import FittedSystem
from softcosine.files.trec_run import check_trec_ids, trec_run
from softcosine.storage import checked_path, write_text

DEPTH = 1000  # documents per query, as at TREC


@dataclass(frozen=True, slots=True, repr=False)
class Run:
    """Rankings of a system for the queries of a data set.

    Attributes
    ----------
    rankings : mapping of query id to tuple of document ids
        Best first. A missing query has no results.
    """

    rankings: Mapping[str, tuple[str, ...]]

    @classmethod
    def read(cls, path: str | Path, *, encoding: str = "utf-8") -> Run:
        """Read a run in TREC's format of six columns; equal scores are ordered by rank.

        Raises
        ------
        MalformedFileError
            If a line is malformed; the message has its number.
        """
        found = read_trec_run(Path(path), encoding=encoding)
        return cls({query: tuple(ids) for query, ids in found.items()})

    def write(self, path: str | Path, *, name: str = "softcosine", overwrite: bool = False) -> None:
        """Write the run atomically in TREC's format of six columns, in UTF-8.

        The scores of a query descend to 1, because trec_eval orders equal scores by document id;
        so every tool measures the same order. `read` returns an equal run; a query without results
        has no line.

        Parameters
        ----------
        path : str or Path
        name : str
            The last column. White space in it becomes ``_``.
        overwrite : bool
            Whether to replace an existing file.

        Raises
        ------
        AlreadyExistsError
            If the file exists and `overwrite` is false.
        InvalidInputError
            If an id is empty or contains white space.
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
        """Return the rank of a document, from 1; None if it is not in the ranking."""
        listed = self.rankings.get(query, ())
        return listed.index(document) + 1 if document in listed else None


def run_of(dataset: RankingSet, fitted: FittedSystem, *, depth: int = DEPTH) -> Run:
    """Return the rankings of a system for the judged queries of a data set.

    If the data set has candidates, all of them are ranked; equal scores keep document order.
    Otherwise the run has the `depth` best documents with a score other than 0.

    Parameters
    ----------
    dataset : RankingSet
    fitted : FittedSystem
        Fitted on the documents of the data set.
    depth : int

    Raises
    ------
    InvalidInputError
        If `depth` is less than 1, or a score is not finite.
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
