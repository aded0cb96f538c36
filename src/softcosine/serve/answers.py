"""Results of the library as JSON types; `softcosine.serve.models` describes them."""

from __future__ import annotations

import time
from collections.abc import Collection, Iterable, Mapping
from typing import Any

from softcosine._deadline import check_deadline
from softcosine.cluster.opening import EitherIndex
from softcosine.index.requests import FirstStage
from softcosine.index.search.explanation import Explanation
from softcosine.index.search.facets import Facets
from softcosine.index.search.results import Hit, Hits, Listing
from softcosine.serve.models import (
    ExplainBody,
    FirstStageBody,
    Query,
    SearchBody,
    SimilarBody,
)
from softcosine.serve.served_index import View

__all__ = [
    "document_record",
    "explanation_answer",
    "explanation_record",
    "listing_answer",
    "search_answer",
    "similar_answer",
]

_PARTS = ("number", "text", "title", "metadata", "highlights")


def search_answer(view: View, body: SearchBody) -> dict[str, Any]:
    """Return the answer of a search."""
    index = view.plain if body.plain else view.index
    started = time.perf_counter()
    stage = body.first_stage
    ask = "words" if body.plain else body.ask
    hits = index.search(
        body.q, k=body.k, offset=body.offset, where=body.where, sort=body.sort,
        facets=body.facets, ranking=body.ranking, ask=ask, meaning=body.meaning, mmr=body.mmr,
        exact_first=body.exact_first, fill=body.fill, min_score=body.min_score, fuzzy=body.fuzzy,
        syntax=body.syntax, expand=body.expand, keep_stop_words=body.keep_stop_words,
        max_terms=body.max_terms,
        first_stage=FirstStage(stage.terms, stage.candidates)
        if isinstance(stage, FirstStageBody)
        else stage,
    )  # fmt: skip
    why = None
    if body.explain:
        explain = ExplainBody(
            q=body.q, id="", ranking=body.ranking, syntax=body.syntax, max_terms=body.max_terms,
            fuzzy=body.fuzzy, keep_stop_words=body.keep_stop_words, ask=ask, meaning=body.meaning,
        )  # fmt: skip
        why = {hit.id: _parts(_explained(index, explain, body.q, hit.id)) for hit in hits}
    wanted = _wanted(body.fields, highlight=body.highlight)
    record = _hits_record(index, hits, wanted, body.k, why)
    if body.facets:
        record["facets"] = _facets(hits.facets)
    record["commit"] = view.commit  # an index with another S has none
    record["took_ms"] = _milliseconds(started)
    return record


def similar_answer(index: EitherIndex, body: SimilarBody) -> dict[str, Any]:
    """Return the documents similar to a document or a text."""
    started = time.perf_counter()
    if body.id is not None:
        hits = index.similar(
            body.id, k=body.k, where=body.where, min_score=body.min_score, ranking=body.ranking,
            meaning=body.meaning,
        )  # fmt: skip
    else:
        hits = index.search(
            body.text or "", k=body.k, where=body.where, min_score=body.min_score,
            ranking=body.ranking, meaning=body.meaning, syntax=False, max_terms=None,
        )  # fmt: skip
    record = _hits_record(index, hits, _wanted(body.fields, highlight=body.highlight), body.k)
    record["took_ms"] = _milliseconds(started)
    return record


def explanation_answer(index: EitherIndex, body: ExplainBody) -> dict[str, Any]:
    """Return the parts of one score."""
    found = _explained(index, body, body.q, body.id)
    return {**explanation_record(found), "commit": index.commit}


def explanation_record(found: Explanation) -> dict[str, Any]:
    """Return an explanation, without the commit."""
    return {
        "query": found.query,
        "id": found.id,
        "score": found.score,
        "ranking": found.ranking,
        "parts": _parts(found),
    }


def listing_answer(index: EitherIndex, listing: Listing) -> dict[str, Any]:
    """Return the documents of a list."""
    record: dict[str, Any] = {
        "documents": [document_record(document) for document in listing],
        "total": listing.n_matching,
        "offset": listing.offset,
        "commit": index.commit,
    }
    if listing.facets:
        record["facets"] = _facets(listing.facets)
    return record


def document_record(document: Any) -> dict[str, Any]:
    """Return a stored document."""
    return {"id": document.id, "text": document.text, "metadata": document.metadata}


def _explained(index: EitherIndex, body: ExplainBody, query: Query, id: str) -> Explanation:
    check_deadline()
    return index.explain(
        query, id, ranking=body.ranking, syntax=body.syntax, max_terms=body.max_terms,
        fuzzy=body.fuzzy, keep_stop_words=body.keep_stop_words, ask=body.ask, meaning=body.meaning,
    )  # fmt: skip


def _parts(explanation: Explanation) -> list[dict[str, Any]]:
    return [
        {
            "query_word": part.query_word,
            "document_word": part.document_word,
            "similarity": part.similarity,
            "contribution": part.contribution,
            "exact": part.exact,
            "field": part.field,
            "spelled": part.spelled,
            "space": part.space,
        }
        for part in explanation.parts
    ]


def _wanted(fields: Iterable[str] | None, *, highlight: bool) -> set[str]:
    wanted = set(_PARTS if fields is None else fields)
    return wanted if highlight else wanted - {"highlights"}


def _hits_record(
    index: EitherIndex,
    hits: Hits,
    wanted: Collection[str],
    k: int,
    why: Mapping[str, list[dict[str, Any]]] | None = None,
) -> dict[str, Any]:
    plan = hits.plan
    record: dict[str, Any] = {
        "hits": [_hit_record(hit, wanted, None if why is None else why[hit.id]) for hit in hits],
        "offset": hits.offset,
        "query": hits.query,
        "ranking": hits.ranking,
        "suggestions": [
            {
                "word": one.word,
                "candidates": [
                    {
                        "word": other.word,
                        "distance": other.distance,
                        "documents": other.n_docs,
                        "similarity": other.similarity,
                    }
                    for other in one.candidates
                ],
            }
            for one in hits.suggestions
        ],
        "outside_words": list(hits.outside),
        "unknown_words": list(hits.unknown),
        "left_out_words": list(hits.left_out),
        "required": list(hits.required),
        "excluded": list(hits.excluded),
        "plan": {
            "method": plan.method,
            "reason": plan.reason,
            "ask": plan.ask,
            "proven": plan.proven,
            "n_terms": plan.n_terms,
            "n_candidates": plan.n_candidates,
        },
        "commit": index.commit,
    }
    if hits.missing_shards:
        record["missing_shards"] = list(hits.missing_shards)
    if hits.mmr is not None:
        record["mmr"] = hits.mmr
    if len(hits) < k and (len(hits) or not hits.offset) and plan.proven and not hits.missing_shards:
        record["total"] = hits.offset + len(hits)
    return record


def _hit_record(
    hit: Hit, wanted: Collection[str], why: list[dict[str, Any]] | None
) -> dict[str, Any]:
    check_deadline()
    record: dict[str, Any] = {"id": hit.id, "score": hit.score}
    for name in ("number", "text", "title", "metadata"):
        if name in wanted:
            record[name] = getattr(hit, name)
    if "highlights" in wanted:
        passage = hit.snippet
        record["highlights"] = {
            "text": passage.text,
            "marks": [
                {"start": mark.start, "end": mark.end, "kind": mark.kind} for mark in passage.marks
            ],
        }
    if why is not None:
        record["explanation"] = why
    return record


def _facets(facets: Facets) -> dict[str, list[dict[str, Any]]]:
    return {
        key: [{"value": one.value, "documents": one.n_docs} for one in counts]
        for key, counts in facets.items()
    }


def _milliseconds(started: float) -> float:
    return round(1000 * (time.perf_counter() - started), 3)
