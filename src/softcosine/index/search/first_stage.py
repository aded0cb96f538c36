"""Search in two stages: candidates by the heaviest terms of the query, then their exact scores.

The candidates are the best documents by the terms of `heaviest_terms`, found by the exact search of
a shorter query, so they do not depend on segments, batches and threads. The second stage scores
them as any search does. So each score is exact, but a document that is no candidate is missing; the
plan of the hits says whether that can be (theory, "First stage by some terms").
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Self

from softcosine._threads import in_threads
from softcosine._validation import check_whole, is_whole
from softcosine.errors import InvalidInputError
from softcosine.index.search.bounds import SUM_MARGIN
from softcosine.index.search.fields import FieldsSearcher
from softcosine.index.search.heaviest_terms import LeftOut
from softcosine.index.search.meaning import MeaningSearcher, QueryMeaning
from softcosine.index.search.plan import first_stage_plan
from softcosine.index.search.searcher import Allowed
from softcosine.index.search.top_docs import QueryVector, Top

__all__ = ["FirstStage", "search_in_two_stages"]

_CANDIDATES, _WITH_MEANING = 100, 1000  # docs/benchmarks/first_stage.md

_Query = tuple[Sequence[QueryVector], QueryMeaning | None]


@dataclass(frozen=True, slots=True)
class FirstStage:
    """How a search in two stages finds its candidates; see ``first_stage`` of `SoftIndex.search`.

    Attributes
    ----------
    terms : int or None
        Number of terms of the expanded query that are kept beside the query's own; more if the
        query has fewer own terms: ``max(own + terms, 2 * terms)`` in all. None for all terms.
    candidates : int or None
        Number of documents whose scores are computed, at least as many as hits. None for 100, with
        meaning 1,000.
    """

    terms: int | None = 32
    candidates: int | None = None

    def __post_init__(self) -> None:
        check_whole("terms", self.terms, least=0, optional=True)
        check_whole("candidates", self.candidates, optional=True)

    @classmethod
    def of(cls, given: FirstStage | int | None) -> FirstStage | None:
        """Return the first stage that is given, perhaps by its number of terms."""
        if given is None or isinstance(given, FirstStage):
            return given
        if is_whole(given) and given >= 0:
            return cls(int(given))
        raise InvalidInputError(
            f"first_stage is {given!r}; it must be a number of terms such as 32, a FirstStage or "
            "None."
        )

    @classmethod
    def parse(cls, text: str) -> Self:
        """Return the first stage that a text such as ``32``, ``32:200`` or ``all:1000`` describes.

        Raises
        ------
        InvalidInputError
        """
        terms, colon, candidates = text.partition(":")
        try:
            return cls(None if terms == "all" else int(terms), int(candidates) if colon else None)
        except ValueError as error:
            raise InvalidInputError(
                f"the first stage is {text!r}; it must be a number of terms or all, and perhaps a "
                "number of candidates, such as 32, 32:200 or all:1000."
            ) from error

    def __str__(self) -> str:
        terms = "all" if self.terms is None else str(self.terms)
        return terms if self.candidates is None else f"{terms}:{self.candidates}"


def search_in_two_stages(
    words: FieldsSearcher,
    meaning: MeaningSearcher | None,
    queries: Sequence[_Query],
    stage: FirstStage,
    *,
    k: int,
    min_score: float = 0.0,
    allowed: Allowed | None = None,
    threads: int | None = None,
) -> list[Top]:
    """Return the k best candidates of each query; see `FieldsSearcher.search_batch`.

    Queries with a meaning are ranked by the sum of both, by `meaning`. If no document is a
    candidate by words, it searches them exactly.
    """
    shorter = words if stage.terms is None else words.limited(stage.terms)
    least = max(float(min_score), 0.0)
    both = [query[1] is not None for query in queries]
    found: dict[bool, Iterator[tuple[int, Top]]] = {}
    for own, usual in ((False, _CANDIDATES), (True, _WITH_MEANING)):
        n = max(k, stage.candidates or usual)
        vectors = [query[0] for query, one in zip(queries, both, strict=True) if one == own]
        tops = (
            shorter.search_batch(vectors, k=n, allowed=allowed, threads=threads) if vectors else []
        )
        found[own] = iter([(n, top) for top in tops])

    def second(pair: tuple[_Query, tuple[int, Top]]) -> Top:
        (vectors, meant), (n, first) = pair
        documents = first.documents
        if meaning is not None and meant is not None and not len(documents):
            return meaning.search_batch(
                [(vectors, meant)], k=k, min_score=min_score, allowed=allowed, threads=1
            )[0]
        scores, left_out = first.scores, LeftOut()
        if stage.terms is not None:  # else the first stage was exact
            scores, left_out = words.second_stage(vectors, documents, stage.terms)
        if meaning is not None and meant is not None:
            scores = scores + meant.weight * meaning.cosines(meant.unit, documents)
        top = Top.of(documents, scores, (scores > 0) & (scores >= least), k)
        # The most that a document can score that is no candidate.
        most = float(first.scores[-1]) if len(documents) == n else 0.0
        most = (most + left_out.most) * words.ranking.rounded_one
        most = (most + (0.0 if meant is None else meant.weight)) * SUM_MARGIN
        enough = float(top.scores[-1]) if len(top.scores) == k else least
        n_terms = None if stage.terms is None else (left_out.n_kept, left_out.n_terms)
        plan = first_stage_plan(
            n_terms, len(documents),
            proven=most < enough or (left_out.most == 0.0 and meant is None),
        )  # fmt: skip
        return replace(top, plan=plan)

    pairs = [(query, next(found[one])) for query, one in zip(queries, both, strict=True)]
    return in_threads(second, pairs, threads)
