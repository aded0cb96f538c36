"""What a search in two stages saves and loses, by numbers of terms and of candidates.

Run ``python benchmarks/first_stage.py``; it takes some minutes and 4 GB of memory. Indexes have the
defaults: soft BM25, S of the bundled English vectors and spelling. The largest collection is drawn
from 20 Newsgroups (`synthetic`). With ``--meaning``, rank the collections of questions by words and
meaning instead, with candidates by words. With ``--candidates``, measure which candidates have the
ten best, by numbers of terms, among the drawn documents alone. With ``--index``, measure searches
of an index of a folder, such as that of ``shards.py --folder``.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from scipy.sparse import csr_array

from meaning import DIMENSIONS, both_of, with_coordinates
from measure import data_folder, each, interleave, parser_of, write_report
from newsgroups import newsgroups, ranked
from softcosine import FirstStage, SoftIndex
from softcosine.evaluate import load as load_judged
from softcosine.evaluate.datasets.ranking import RankingSet
from softcosine.evaluate.documents import Documents
from softcosine.evaluate.systems.fitted_soft import FittedSoft
from softcosine.evaluate.systems.table import from_spec
from softcosine.index.query.query_vectors import query_vector
from softcosine.index.query.ready_query import ReadyQuery
from softcosine.index.search.first_stage import Staged, by_heaviest_terms, n_candidates
from softcosine.index.search.results import Hits
from softcosine.index.segment.segment import MAX_DOCS, Segment
from softcosine.index.segment.statistics import FieldStatistics
from softcosine.index.spaces.expansion import heaviest_terms
from softcosine.index.spaces.frequencies import words_space
from softcosine.index.spaces.space import Limits, Space, Top
from softcosine.index.spaces.sum import Sum
from softcosine.index.spaces.words import Words
from synthetic import Synthetic
from test_sets import QUESTIONS, load, ndcg

K = 10
TERMS = 8  # of a query of 20 Newsgroups
MEAN_TERMS = 100  # of a drawn document
STAGES = ("16:100", "32:20", "32:100", "32:1000", "64:100", "128:100", "256:100", "all:100")
WORDS: dict[str, Any] = {"ranking": "soft_bm25", "encoder": None}
BOTH = "soft:ranking=soft_bm25,encoder=minilm,ask=encoder"
BASELINE = "soft:plain=true,k1=1.2,b=0.75"  # BM25, stemmed, without stop words in the query
BY_CANDIDATES = (10, 20, 30, 50, 100, 200, 1000)
BY_TERMS = (8, 16, 32, 64, 128, None)
RANKINGS: dict[str, dict[str, Any]] = {
    "soft_tf_bm25 and meaning": {},
    "soft_tf_bm25": {"ask": "words"},
    "soft_bm25 and meaning": {"ranking": "soft_bm25"},
    "soft_bm25": {"ask": "words", "ranking": "soft_bm25"},
}
LENGTHS = (2, 4, 8)  # words of a query, in turn
BY_MEANING = ("all:1000", "32:1000", "all:100")


def drawn_queries(index: SoftIndex, n_queries: int, lengths: Sequence[int] = (TERMS,)) -> list[str]:
    """Return queries of words that stand together in a document, without stop words."""
    generator = np.random.default_rng(0)
    queries: list[str] = []
    for number in generator.permutation(len(index)).tolist():
        if len(queries) == n_queries:
            break
        n_words = lengths[len(queries) % len(lengths)]
        words = {*index.analyzer.words(index.documents.text(number))} - index.snapshot.stop_words
        if len(words) >= n_words:
            queries.append(" ".join(generator.choice(sorted(words), n_words, replace=False)))
    return queries


def ready_queries(
    index: SoftIndex, texts: Sequence[str], words: Sum[Words] | None = None
) -> list[ReadyQuery]:
    """Return texts as queries to an index, or to documents that share its vocabulary and S."""
    ((_, space),) = (words or index.words()).summands
    parsed = map(index.parse, texts)
    return [
        ReadyQuery((query_vector(own, space.ranking, index.S, index.source),)) for own in parsed
    ]


def share_of_postings(words: Sum[Words], queries: Sequence[ReadyQuery], n: int | None) -> float:
    """Return which share of the postings of the whole expanded queries is read."""
    ((_, space),) = words.summands
    parts = [part.segment for part in words.segments]
    frequencies = FieldStatistics.of(parts, len(space.S)).document_frequencies
    read, every = 0, 0
    for query in queries:
        expanded = space.prepare(query).expanded
        kept = heaviest_terms(
            expanded.terms, expanded.weights, space.greatest_impacts, query.vectors[0].terms, n=n
        )
        read += int(frequencies[expanded.terms[kept]].sum())
        every += int(frequencies[expanded.terms].sum())
    return read / every


def measured(
    name: str,
    words: Sum[Words],
    queries: Sequence[ReadyQuery],
    *,
    runs: int,
    n_timed: int,
    stages: Sequence[str] = STAGES,
    both: Sum[Space] | None = None,
) -> list[dict[str, object]]:
    """Search by every first stage; a line of the table each."""
    ranking: Sum[Any] = both or words
    searches: dict[str, Callable[[ReadyQuery], Top]] = {"exact": partial(exact, ranking)}
    for text in stages:
        searches[text] = partial(in_two_stages, words, ranking, FirstStage.parse(text))
    tops = {text: list(map(search, queries)) for text, search in searches.items()}
    calls = {text: each(search, queries[:n_timed]) for text, search in searches.items()}
    timings = interleave(calls, runs=runs)
    # Of processor time, on one thread: other programs disturb it less.
    times = {name: np.median(timing.cpu_seconds) / n_timed for name, timing in timings.items()}
    rows = []
    for text in stages:
        pairs = [
            (right.documents, top.documents)
            for right, top in zip(tops["exact"], tops[text], strict=True)
        ]
        equal = [right.tolist() == found.tolist() for right, found in pairs]
        recalls = [np.isin(right, found).mean() for right, found in pairs if len(right)]
        share = share_of_postings(words, queries, FirstStage.parse(text).terms)
        row: dict[str, object] = {
            "collection": name,
            "documents": sum(part.segment.n_docs for part in words.segments),
            "first stage": text,
            "postings": round(share, 3),
        }
        if both is None:
            row["recall@10"] = round(float(np.mean(recalls)), 4)
            row["equal"] = round(float(np.mean(equal)), 3)
        row["ms a query"] = round(times[text] * 1e3, 3)
        row["ms, exact"] = round(times["exact"] * 1e3, 3)
        row["times as fast"] = round(times["exact"] / times[text], 2)
        rows.append(row)
    return rows


def exact(ranking: Sum[Any], query: ReadyQuery) -> Top:
    """Search on one thread."""
    return ranking.best([query], Limits(k=K, threads=1))[0]


def in_two_stages(
    words: Sum[Words], ranking: Sum[Any], stage: FirstStage, query: ReadyQuery
) -> Top:
    """Search in two stages on one thread."""
    n = n_candidates(stage, K, query)
    top = by_heaviest_terms(query, words, stage.terms).best(Limits(k=n, threads=1))
    scores = ranking.prepare(query).exact(top.documents)
    found = Staged(top, scores, n, stage, 0.0, query.unit is not None)
    return exact(ranking, query) if found.searched_exactly else found.best(K)


def enlarged(index: SoftIndex, n_docs: int, *names: str) -> list[Sum[Words]]:
    """Return words of drawn documents with the vocabulary and S of an index, by ranking."""
    (own,) = index.snapshot.segments
    segment = own.fields[0]
    shape = segment.n_docs, len(index.S)
    counts = csr_array((segment.values(), segment.terms, segment.pointers), shape=shape)
    drawn = Synthetic.like(counts, terms=MEAN_TERMS)
    segments = [Segment.from_counts(X) for X in drawn.parts(n_docs, size=MAX_DOCS)]
    every = [ranked(segments, index.S, name=name)[1] for name in names]
    return [Sum(parts, ((1.0, words_space(parts, index.S)),)) for parts in every]


def with_meaning(
    words: Sum[Words], queries: Sequence[ReadyQuery]
) -> tuple[Sum[Space], list[ReadyQuery]]:
    """Give all documents and queries coordinates at random; the time does not depend on them."""
    generator = np.random.default_rng(0)
    units = generator.standard_normal((len(queries), DIMENSIONS))
    units /= np.linalg.norm(units, axis=1)[:, None]
    both = both_of(words, with_coordinates(words, 0))
    return both, [replace(query, unit=unit) for query, unit in zip(queries, units, strict=True)]


def by_words(options: argparse.Namespace) -> None:
    """Measure searches by words alone, and write the report."""
    rows, started = [], time.perf_counter()
    for name in ("cranfield", "cacm", "npl"):
        test = load(name)
        index = SoftIndex.from_texts(test.texts, **WORDS)
        queries = ready_queries(index, test.queries)
        words = index.words()
        rows += measured(name, words, queries, runs=options.runs, n_timed=options.timed)
    index = SoftIndex.from_texts(newsgroups(), **WORDS)
    texts = drawn_queries(index, options.queries)
    queries, words = ready_queries(index, texts), index.words()
    rows += measured("20 Newsgroups", words, queries, runs=options.runs, n_timed=options.timed)
    print(f"{time.perf_counter() - started:.0f} s", flush=True)
    (large,) = enlarged(index, options.documents, "soft_bm25")
    queries = ready_queries(index, texts[: options.timed], large)
    began = time.perf_counter()
    _ = large.summands[0][1].greatest_impacts
    impacts = time.perf_counter() - began
    rows += measured("drawn", large, queries, runs=options.runs, n_timed=options.timed)
    for name, own in (("20 Newsgroups, meaning", words), ("drawn, meaning", large)):
        both, asked = with_meaning(own, ready_queries(index, texts[: options.timed], own))
        rows += measured(
            name, own, asked, runs=options.runs, n_timed=options.timed, stages=BY_MEANING,
            both=both,
        )  # fmt: skip
    print(f"{time.perf_counter() - started:.0f} s", flush=True)
    notes = (
        "First stage: number of terms beside the query's own (at least twice as many in all), and "
        "of candidates that are scored exactly. Postings: share of those of all terms. Recall@10: "
        "of the ten best of an exact search. Equal: share of queries with the same ten in the same "
        "order.",
        "One thread, one query at a time, query vectors given; processor time. Judged collections "
        "with their own queries, 20 Newsgroups and the documents drawn from it with "
        f"{TERMS} words of a document.",
        "With meaning: 256 coordinates a document, at random, so only time is given.",
        f"The first search of a ranking reads all postings once: {impacts:.2f} s for the largest.",
    )
    facts: dict[str, object] = {
        "queries of 20 Newsgroups": options.queries, "timed queries": options.timed,
        "timed rounds": options.runs,
    }  # fmt: skip
    title = "Search in two stages: terms, candidates, recall and time"
    print(write_report("first_stage", title, rows, facts, notes=notes))


def by_candidates(options: argparse.Namespace) -> None:
    """Measure the recall of first stages by terms and candidates, and write the report."""
    index = SoftIndex.from_texts(newsgroups(), ranking="soft_bm25", encoder=None)
    texts = drawn_queries(index, options.queries)
    names = ("soft_bm25", "soft_tf_bm25")
    rankings = dict(zip(names, enlarged(index, options.documents, *names), strict=True))
    queries = {name: ready_queries(index, texts, words) for name, words in rankings.items()}
    most, rows = max(BY_CANDIDATES), []
    large, limits = rankings["soft_bm25"], Limits(k=most, threads=1)
    stages = {
        n: [by_heaviest_terms(one, large, n).best(limits) for one in queries["soft_bm25"]]
        for n in BY_TERMS
    }
    for name, words in rankings.items():
        tops = words.best(queries[name], Limits(k=K, threads=1))
        right = [top.documents for top in tops]
        for n, tops in stages.items():
            places = np.array([
                int(np.flatnonzero(top.documents == one)[0]) if one in top.documents else most
                for best, top in zip(right, tops, strict=True) for one in best.tolist()
            ])  # fmt: skip
            row: dict[str, object] = {
                "ranking": name, "terms beside the query's own": "all" if n is None else n,
            }  # fmt: skip
            for candidates in BY_CANDIDATES:
                row[f"{candidates} candidates"] = round(float(np.mean(places < candidates)), 4)
            row["last of the ten at most"] = int(places.max()) + 1
            rows.append(row)
            print(row, flush=True)
    notes = (
        "Share of the ten best documents of an exact search that are among the first candidates "
        "by some terms of soft BM25 (at least twice as many in all). Documents drawn from 20 "
        f"Newsgroups, {MEAN_TERMS} terms each on average; queries of {TERMS} words of a message.",
        "Computed by the index. Servers add up the same terms, with rounded impacts (nine bits in "
        "Elasticsearch and OpenSearch) or in float32.",
    )
    facts: dict[str, object] = {"documents": options.documents, "queries": len(texts)}
    title = "First stages among a million documents: recall by terms and candidates"
    report = partial(write_report, "first_stage_candidates", title, script="first_stage")
    print(report(rows, facts, notes=notes))


def recall_of(
    index: SoftIndex, texts: Sequence[str], stages: Sequence[FirstStage]
) -> list[dict[str, object]]:
    """Search by every first stage and ranking; a line of the table each."""
    rows: list[dict[str, object]] = []
    for name, options in RANKINGS.items():
        right, exact_ms = searches(index, texts, options)
        for stage in stages:
            found, ms = searches(index, texts, {**options, "first_stage": stage})
            pairs = list(zip(right, found, strict=True))
            equal = [one.ids == other.ids for one, other in pairs]
            kept = [len({*one.ids} & {*other.ids}) / len(one) for one, other in pairs if len(one)]
            rows.append({
                "ranking": name, "first stage": str(stage),
                "recall@10": round(float(np.mean(kept)), 4), "least": round(min(kept), 2),
                "equal": round(float(np.mean(equal)), 3),
                "ms a query": round(ms, 2), "ms, exact": round(exact_ms, 2),
            })  # fmt: skip
            print(rows[-1], flush=True)
    return rows


def searches(
    index: SoftIndex, texts: Sequence[str], options: dict[str, Any]
) -> tuple[list[Hits], float]:
    """Return the hits of queries, and the median of their milliseconds of processor time."""
    hits, ms = [], []
    index.search(texts[0], **options)  # prepares the ranking
    for text in texts:
        start = time.process_time()
        hits.append(index.search(text, **options))
        ms.append(1e3 * (time.process_time() - start))
    return hits, float(np.median(ms))


def by_index(options: argparse.Namespace) -> None:
    """Measure the recall of first stages in an index of a folder, and write the report."""
    index = SoftIndex.open(options.index)
    texts = drawn_queries(index, options.queries, LENGTHS)
    numbers = [(n, k) for n in (32, 64, 128, 256, None) for k in (100, 300, 1000)]
    rows = recall_of(index, texts, [FirstStage(n, k) for n, k in numbers])
    notes = (
        "First stage: terms beside the query's own, and candidates, found by words. Recall@10: of "
        "the ten best of an exact search; least: of one query. Equal: share of queries with the "
        "same ten in the same order.",
        "soft_tf_bm25 and meaning is the default for English; meaning is static. One query at a "
        "time, from text to hits; medians of processor time.",
    )
    facts: dict[str, object] = {
        "documents": len(index), "queries": len(texts), "words of a query": "2, 4 and 8 in turn",
    }  # fmt: skip
    title = "Recall of first stages among a million documents"
    report = partial(write_report, "first_stage_recall", title, script="first_stage")
    print(report(rows, facts, notes=notes))


def fitted_soft(spec: str, documents: Documents) -> FittedSoft:
    """Return a fitted system of `SoftIndex`."""
    fitted = from_spec(spec).fit(documents)
    assert isinstance(fitted, FittedSoft)
    return fitted


def by_meaning(options: argparse.Namespace) -> None:
    """Measure which share of the gain of meaning over BM25 is kept, and write the report."""
    quality: dict[tuple[str, str], list[float]] = {}
    for name in QUESTIONS:
        judged = load_judged(data_folder() / "questions" / name)
        assert isinstance(judged, RankingSet)
        number = {id: place for place, id in enumerate(judged.documents.ids)}
        gains = [
            {number[id]: gain for id, gain in judged.qrels.get(query, {}).items() if gain > 0}
            for query in judged.queries.ids
        ]

        def add(
            key: tuple[str, str],
            system: FittedSoft,
            gains: list[dict[int, float]] = gains,
            queries: Documents = judged.queries,
        ) -> None:
            lists = system.ranked(queries, k=K).numbers
            pairs = zip(lists, gains, strict=True)
            own = [ndcg(ranks[ranks >= 0], gain) for ranks, gain in pairs if gain]
            quality.setdefault(key, []).append(float(np.mean(own)))

        add(("BM25", ""), fitted_soft(BASELINE, judged.documents))
        fitted = fitted_soft(BOTH, judged.documents)
        for ask in ("static", "encoder"):
            system = replace(fitted, options={**fitted.options, "ask": ask})
            add((ask, "none"), system)
            for text in BY_MEANING:
                finding = {**system.finding, "first_stage": FirstStage.parse(text)}
                add((ask, text), replace(system, finding=finding))
        print(name, {key: round(own[-1], 4) for key, own in quality.items()}, flush=True)
    base, rows = np.array(quality["BM25", ""]), []
    for (ask, text), own in quality.items():
        gain = np.mean(np.array(own) / base - 1)
        row: dict[str, object] = {
            "ask": ask,
            "first stage": text,
            "nDCG@10": round(float(np.mean(own)), 4),
            "gain over BM25, %": round(100 * float(gain), 2),
        }
        if text:
            whole = np.mean(np.array(quality[ask, "none"]) / base - 1)
            row["share of the gain kept"] = round(float(gain / whole), 3)
        rows.append(row)
    notes = (
        "Candidates are the best by words, by all terms or by 32 beside the query's own; both "
        "spaces are added up for these. Mean over the collections, gains of each relative to BM25.",
        f"Collections: {', '.join(QUESTIONS)}. Encoder: all-MiniLM-L6-v2 in int8.",
    )
    title = "Words and meaning in two stages: what candidates by words keep"
    report = partial(write_report, "first_stage_meaning", title, script="first_stage")
    print(report(rows, {"baseline": BASELINE}, notes=notes))


def main() -> None:
    """Write one of the reports."""
    parser = parser_of(__doc__, runs=5, queries=200)
    parser.add_argument("--documents", type=int, default=1_000_000)
    parser.add_argument("--timed", type=int, default=50, help="queries that are timed")
    parser.add_argument("--meaning", action="store_true")
    parser.add_argument("--candidates", action="store_true")
    parser.add_argument("--index", type=Path, help="folder of an index")
    options = parser.parse_args()
    if options.index:
        by_index(options)
    elif options.candidates:
        by_candidates(options)
    else:
        (by_meaning if options.meaning else by_words)(options)


if __name__ == "__main__":
    main()
