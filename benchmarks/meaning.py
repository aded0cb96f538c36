"""What meaning adds to the cost of a search, beside engines glued together by hand.

Run ``python benchmarks/meaning.py``; it takes some minutes and 5 GB of memory. The documents are
drawn from 20 Newsgroups (`synthetic`), their coordinates at random: the cost does not depend on
them. The peers do what a user would write: bm25s over words, faiss over vectors of 384 float32
numbers, and the sum of both scores over the best of each.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Callable, Sequence
from functools import partial
from itertools import pairwise
from pathlib import Path

import numpy as np

from measure import interleave, write_report
from million import MEAN_TERMS, SIZES, K, collection
from newsgroups import CACHE, Workload, load_workload, newsgroups, vectors
from scatter import each
from softcosine.index.search.fields import FieldsSearcher
from softcosine.index.search.meaning import MeaningSearcher, QueryMeaning
from softcosine.index.search.top_docs import QueryVector
from softcosine.index.segment.coordinates import Coordinates
from synthetic import Synthetic

DIMENSIONS, ENCODED = 256, 384
TERMS = 8  # of a query
FIRST = 1000  # best by words and by vectors that the peer adds up


def with_coordinates(workload: Workload, seed: int) -> MeaningSearcher:
    """Give every document of a workload coordinates."""
    rng = np.random.default_rng(seed)
    coordinates = []
    for part in workload.parts:
        shape = part.segment.n_docs, DIMENSIONS
        coordinates.append(Coordinates.of(rng.integers(-127, 128, shape, dtype=np.int8)))
    return MeaningSearcher(FieldsSearcher([workload.searcher], [1.0]), coordinates)


def glued(workload: Workload, n_docs: int, n_queries: int) -> dict[str, Callable[[], object]]:
    """Return the searches of the peers, over the same words and over vectors at random."""
    import bm25s
    import faiss

    faiss.omp_set_num_threads(1)
    rng = np.random.default_rng(1)
    rows = rng.standard_normal((n_docs, ENCODED), np.float32)
    faiss.normalize_L2(rows)
    flat = faiss.IndexFlatIP(ENCODED)
    flat.add(rows)
    graph = faiss.IndexHNSWFlat(ENCODED, 32, faiss.METRIC_INNER_PRODUCT)
    graph.add(rows[:20_000])
    queries = rng.standard_normal((n_queries, ENCODED)).astype(np.float32)
    counts = workload.counts
    tokens = [
        np.repeat(counts.indices[a:b], counts.data[a:b].astype(np.int64)).astype(str).tolist()
        for a, b in pairwise(counts.indptr.tolist())
    ]
    words = bm25s.BM25(k1=1.2, b=0.75)
    words.index(tokens, show_progress=False)
    Q = workload.queries(TERMS, n_queries)
    asked = [Q.indices[a:b].astype(str).tolist() for a, b in pairwise(Q.indptr.tolist())]

    def by_hand(pair: tuple[list[str], np.ndarray]) -> object:
        terms, vector = pair
        scores = words.get_scores(terms)
        best = np.argpartition(-scores, min(FIRST, len(scores) - 1))[:FIRST]
        cosines, near = flat.search(vector[None], FIRST)
        total = {int(d): float(scores[d]) for d in best}
        for d, cosine in zip(near[0].tolist(), cosines[0].tolist(), strict=True):
            total[d] = total.get(d, 0.0) + 40.0 * cosine
        return sorted(total.items(), key=lambda item: -item[1])[:K]

    calls: dict[str, Callable[[], object]] = {
        "bm25s": each(lambda terms: words.get_scores(terms), asked),
        f"faiss flat, {ENCODED} float32": each(lambda q: flat.search(q[None], K), list(queries)),
        "bm25s + faiss flat, by hand": each(by_hand, list(zip(asked, queries, strict=True))),
    }
    if n_docs <= 20_000:
        calls["faiss HNSW (approximate)"] = each(lambda q: graph.search(q[None], K), list(queries))
    return calls


def searched(searcher: MeaningSearcher, query: tuple[tuple[QueryVector], QueryMeaning]) -> object:
    """Search by words and meaning on one thread."""
    return searcher.search_batch([query], k=K, threads=1)


def main(arguments: Sequence[str]) -> None:
    """Time the searches of both collections, and write the report."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--cache", type=Path, default=CACHE, help="folder that S is kept in")
    parser.add_argument("--documents", type=int, default=SIZES[1])
    parser.add_argument("--runs", type=int, default=5)
    parser.add_argument("--queries", type=int, default=24)
    options = parser.parse_args(arguments)
    base = load_workload(newsgroups(), cache=options.cache)
    drawn = Synthetic.like(base.counts, terms=MEAN_TERMS)
    rows: list[dict[str, object]] = []
    rng = np.random.default_rng(2)
    for n_docs in dict.fromkeys((min(SIZES[0], options.documents), options.documents)):
        workload = collection(base, drawn, n_docs)
        both = with_coordinates(workload, 0)
        queries = vectors(workload.queries(TERMS, options.queries))
        units = rng.standard_normal((len(queries), DIMENSIONS))
        units /= np.linalg.norm(units, axis=1)[:, None]
        asked = [
            ((vector,), QueryMeaning(unit, 1.0))
            for vector, unit in zip(queries, units, strict=True)
        ]
        calls: dict[str, Callable[[], object]] = {
            "words": each(partial(workload.searcher.search, k=K), queries),
            "words and meaning": each(partial(searched, both), asked),
        }
        if n_docs <= SIZES[0]:
            calls |= glued(workload, n_docs, options.queries)
        started = time.perf_counter()
        timings = interleave(calls, runs=options.runs)
        print(f"{n_docs} documents: {time.perf_counter() - started:.0f} s", flush=True)
        alone = timings["words"].median
        for name, timing in timings.items():
            rows.append(
                {
                    "documents": n_docs,
                    "search": name,
                    "ms a query": round(timing.median / len(queries) * 1e3, 3),
                    "ms more than words": round((timing.median - alone) / len(queries) * 1e3, 3),
                    "times words": round(timing.median / alone, 2),
                }
            )
    notes = (
        "One thread. Queries have 8 terms, expanded by the S of the workload; k = 10. Coordinates "
        f"of {DIMENSIONS} int8 numbers (260 bytes a document). The query's own coordinates cost "
        "beside: about .1 ms by the query table, 2 ms by the int8 encoder.",
        "bm25s scores all documents and ranks none; faiss holds 1,536 bytes a document. By hand: "
        f"the best {FIRST} of each, added up in a dictionary.",
    )
    facts: dict[str, object] = {"queries": options.queries, "timed rounds": options.runs}
    print(write_report("meaning", "Words and meaning in one search", rows, facts, notes=notes))


if __name__ == "__main__":
    main(sys.argv[1:])
