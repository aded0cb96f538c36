"""What a search on a server finds and takes, beside the index itself.

Run ``python benchmarks/servers.py URL ...`` with the addresses of running servers, such as
``postgresql://user@127.0.0.1/database``. Indexes have the defaults, ranked by words alone. With
``--meaning``, they are ranked by words and meaning: by sums over the query table, as by default,
and encoded.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import numpy as np

from first_stage import drawn_queries
from measure import Timing, data_folder, interleave, write_report
from newsgroups import newsgroups
from scatter import each
from softcosine import FirstStage, SoftIndex
from softcosine.evaluate import load as load_judged
from softcosine.evaluate.datasets.ranking import RankingSet
from softcosine.index.search.candidate_queries import CandidateQuery, execute_among
from softcosine.index.search.execution import SearchRequest
from softcosine.index.search.query_encoding import Ask
from softcosine.index.search.results import Hits
from softcosine.index.search.top_docs import Top
from softcosine.servers.server_index import ServerIndex
from softcosine.servers.two_stages import TwoStageSearch
from test_sets import RETRIEVAL, load

K = 10
STAGES = ("32:20", "32:100", "32:300", "128:100", "all:100", "exact")
ASKS: tuple[tuple[str, Ask], ...] = (("static", "static"), ("minilm", "encoder"))
COLLECTIONS = ("cranfield", "cacm", "stackfaq", "medicationqa")
NEWSGROUPS = "20 Newsgroups"
COLLECTION = "softcosine_benchmark"


def search(served: ServerIndex, stage: str, query: str) -> Hits:
    """Search on the server."""
    if stage == "exact":
        return served.search(query, k=K, exact=True, syntax=False)
    return served.search(query, k=K, first_stage=FirstStage.parse(stage), syntax=False)


def first_ten(index: SoftIndex, served: ServerIndex, stage: str, query: str) -> list[str]:
    """Return the ten best documents by the server's own scores."""
    found = served.server.marker()
    assert found is not None
    limits = FirstStage(None) if stage == "exact" else FirstStage.parse(stage)
    two = TwoStageSearch(served.server, found[0], index.snapshot, limits, None, K, 0.0)
    ids: list[str] = []

    def find(query: CandidateQuery) -> Top:
        ids.extend(two.by_words(two.sent(query.vectors), K).ids)
        return query.rank(np.empty(0, np.int64))

    execute_among(find, index.snapshot, [query], SearchRequest(syntax=False))
    return ids


def measured(
    name: str, index: SoftIndex, queries: Sequence[str], url: str, *, runs: int, n_timed: int
) -> list[dict[str, object]]:
    """Export an index and search it by every first stage; a line of the table each."""
    rows: list[dict[str, object]] = []
    with ServerIndex.connect(index, url, collection=COLLECTION) as served:
        began = time.perf_counter()
        served.export(overwrite=True)
        exported = time.perf_counter() - began
        exact = [index.search(query, k=K, syntax=False) for query in queries]
        calls: dict[str, Callable[[], object]] = {
            stage: each(partial(search, served, stage), queries[:n_timed]) for stage in STAGES
        }
        calls["index"] = each(partial(index.search, k=K, syntax=False), queries[:n_timed])
        timings = interleave(calls, runs=runs)
        for stage in STAGES:
            hits = [search(served, stage, query) for query in queries]
            for right, found in zip(exact, hits, strict=True):
                if found.plan.proven and found.hits != right.hits:
                    raise SystemExit("an answer that is proven is wrong; the figures mean nothing.")
            firsts = [first_ten(index, served, stage, query) for query in queries]
            before = [share(right.ids, ids) for right, ids in zip(exact, firsts, strict=True)]
            after = [share(right.ids, one.ids) for right, one in zip(exact, hits, strict=True)]
            own, index_alone = timings[stage].seconds, timings["index"].seconds
            rows.append(
                {
                    "server": served.server.name,
                    "collection": name,
                    "documents": len(index),
                    "first stage": stage,
                    "terms": round(float(np.mean([one.plan.n_terms or 0 for one in hits])), 1),
                    "recall@10, server alone": round(float(np.mean(before)), 4),
                    "recall@10": round(float(np.mean(after)), 4),
                    "proven": round(float(np.mean([one.plan.proven for one in hits])), 3),
                    "ms a query": round(float(np.median(own)) * 1e3 / n_timed, 2),
                    "ms, index": round(float(np.median(index_alone)) * 1e3 / n_timed, 2),
                    "times the index": ratio(timings[stage], timings["index"]),
                    "export, s": round(exported, 1),
                }
            )
    return rows


def with_meaning(
    name: str,
    encoder: str,
    ask: Ask,
    index: SoftIndex,
    queries: Sequence[str],
    url: str,
    *,
    runs: int,
    n_timed: int,
) -> list[dict[str, object]]:
    """Export an index and search it by words and meaning; a line of the table each."""
    rows: list[dict[str, object]] = []
    alone = partial(index.search, k=K, ask=ask, syntax=False)
    exact = [alone(query) for query in queries]
    with ServerIndex.connect(index, url, collection=COLLECTION) as served:
        served.export(overwrite=True)
        ways: dict[str, Callable[[str], Hits]] = {}
        for candidates in (50, 100, 300, 1000, None):
            options: dict[str, Any] = {"first_stage": FirstStage(32, candidates)}
            if candidates is None:
                options = {"exact": True}
            ways[str(candidates or "exact")] = partial(
                served.search, k=K, ask=ask, syntax=False, **options
            )
        timed = {way: each(find, queries[:n_timed]) for way, find in ways.items()}
        timings = interleave({**timed, "index": each(alone, queries[:n_timed])}, runs=runs)
        for way, find in ways.items():
            hits = [find(query) for query in queries]
            pairs = list(zip(exact, hits, strict=True))
            if any(found.plan.proven and right.hits != found.hits for right, found in pairs):
                raise SystemExit("an answer that is proven is wrong; the figures mean nothing.")
            scored = [one.plan.n_candidates or 0 for one in hits]
            rows.append(
                {
                    "server": served.server.name,
                    "coordinates there": served.server.stores_vectors,
                    "collection": name,
                    "documents": f"{len(index):,}, {encoder}",
                    "ask": ask,
                    "candidates": way,
                    "scored": round(float(np.mean(scored))),
                    "recall@10": round(
                        float(np.mean([share(right.ids, one.ids) for right, one in pairs])), 4
                    ),
                    "equal": round(
                        float(np.mean([right.hits == one.hits for right, one in pairs])), 3
                    ),
                    "proven": round(float(np.mean([one.plan.proven for one in hits])), 3),
                    "times the index": ratio(timings[way], timings["index"]),
                }
            )
    return rows


def by_meaning(options: argparse.Namespace) -> None:
    """Measure which of the ten best by words and meaning are found, and write the report."""
    rows = []
    for name in options.collections or COLLECTIONS:
        for encoder, ask in ASKS:
            if encoder not in options.encoders:
                continue
            index, queries = index_and_queries(name, options.queries, encoder)
            for url in options.urls:
                rows += with_meaning(
                    name, encoder, ask, index, queries, url,
                    runs=options.runs, n_timed=options.timed,
                )  # fmt: skip
                print(rows[-1], flush=True)
    notes = (
        "Candidates: that many by 64 terms or more and that many by the cosine of coordinates, "
        "which the index finds where the server stores none; exact: all terms, and candidates "
        "until the ten are proven. Scored: number of candidates, on average. Documents: how many, "
        "and where their coordinates come from. Ask: where the query's come from. Recall and "
        "equal: against a search of the index. Checked: every proven answer is that of the index. "
        "Times the index: median time of a query, divided by the index's in turns with it.",
    )
    title = "Words and meaning on servers: recall by candidates"
    facts: dict[str, object] = {
        "queries of a collection, at most": options.queries, "timed queries": options.timed,
        "timed rounds": options.runs,
    }  # fmt: skip
    report = options.report or "servers_meaning"
    print(write_report(report, title, rows, facts, notes=notes, script="servers"))


def index_and_queries(
    name: str, n: int, encoder: str | None, **settings: Any
) -> tuple[SoftIndex, list[str]]:
    """Return an index of a collection, by default with the default ranking, and n queries."""
    if name == NEWSGROUPS:
        index = SoftIndex.from_texts(newsgroups(), encoder=encoder, **settings)
        return index, drawn_queries(index, n)
    texts, queries = texts_and_queries(name, n)
    return SoftIndex.from_texts(texts, encoder=encoder, **settings), queries


def texts_and_queries(name: str, n: int) -> tuple[list[str], list[str]]:
    """Return the texts and the first n queries of a collection."""
    if name in RETRIEVAL:
        test = load(name)
        return test.texts, list(test.queries)[:n]
    judged = load_judged(data_folder() / "questions" / name)
    assert isinstance(judged, RankingSet)
    return judged.documents.texts, judged.queries.texts[:n]


def ratio(own: Timing, other: Timing) -> float:
    """Return how many times as long as the other one the median round took."""
    return round(float(np.median(own.seconds) / np.median(other.seconds)), 1)


def share(right: Sequence[str], found: Sequence[str]) -> float:
    """Return the share of the right documents that were found."""
    return len({*right} & {*found}) / len(right) if right else 1.0


def main(arguments: Sequence[str]) -> None:
    """Write the report."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("urls", nargs="+", metavar="URL")
    parser.add_argument("--collections", nargs="*", help="all by default")
    parser.add_argument("--queries", type=int, default=200, help="of each collection")
    parser.add_argument("--timed", type=int, default=30, help="queries that are timed")
    parser.add_argument("--runs", type=int, default=5)
    parser.add_argument("--meaning", action="store_true", help="search by words and meaning")
    parser.add_argument("--encoders", nargs="*", default=[one for one, _ in ASKS])
    parser.add_argument("--ranking", help="by words; the default by default")
    parser.add_argument("--report")
    options = parser.parse_args(arguments)
    if options.meaning:
        by_meaning(options)
        return
    rows = []
    for name in options.collections or (*COLLECTIONS, NEWSGROUPS):
        settings = {} if options.ranking is None else {"ranking": options.ranking}
        index, queries = index_and_queries(name, options.queries, None, **settings)
        for url in options.urls:
            rows += measured(name, index, queries, url, runs=options.runs, n_timed=options.timed)
            print(rows[-1], flush=True)
    notes = (
        "First stage: number of terms beside the query's own (at least twice as many in all), and "
        "of candidates that the index scores; exact: all terms, and candidates until the ten are "
        "proven. Recall@10: of the ten best of the index, in the ten best by the scores of the "
        "server, and after the second stage. Proven: share whose plan says so. Checked: every "
        "proven answer has the documents and scores of the index.",
        "One connection, one query at a time, wall time from text to hits, server on this machine.",
    )
    facts: dict[str, object] = {
        "queries of a collection, at most": options.queries, "timed queries": options.timed,
        "timed rounds": options.runs, "ranking": options.ranking or "soft_tf_bm25",
    }  # fmt: skip
    title = "Searches on servers: recall, proofs and time"
    report = options.report or "servers"
    print(write_report(report, title, rows, facts, notes=notes, script="servers"))


if __name__ == "__main__":
    main(sys.argv[1:])
