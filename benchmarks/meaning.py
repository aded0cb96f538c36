"""What meaning adds to the cost of a search, beside engines glued together by hand.

Run ``python benchmarks/meaning.py``; it takes some minutes and 5 GB of memory. The documents are
drawn from 20 Newsgroups (`synthetic`), their coordinates at random: the cost does not depend on
them. The peers do what a user would write (`by_hand`): bm25s over words, faiss over vectors of 384
float32 numbers, and the sum of both scores over the best of each. All rank the collections of
questions too, by the vectors of the same encoder.
"""

from __future__ import annotations

import inspect
import re
import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from itertools import pairwise

import faiss
import numpy as np
from numpy.typing import NDArray

from by_hand import FIRST, ByHand
from measure import data_folder, each, interleave, parser_of, write_report
from million import MEAN_TERMS, SIZES, K, collection
from newsgroups import CACHE, Workload, load_workload, newsgroups, vectors
from softcosine.evaluate import load as load_judged
from softcosine.evaluate.datasets.ranking import RankingSet
from softcosine.evaluate.systems.encoder import Encoder
from softcosine.evaluate.systems.fitted_soft import FittedSoft
from softcosine.evaluate.systems.table import from_spec
from softcosine.index.query.ready_query import ReadyQuery
from softcosine.index.segment.coordinates import Coordinates
from softcosine.index.spaces.meaning import Meaning
from softcosine.index.spaces.space import Limits, Space
from softcosine.index.spaces.sum import Sum
from softcosine.index.spaces.words import Words
from synthetic import Synthetic
from test_sets import QUESTIONS, ndcg

SPEC = "soft:ranking=soft_bm25,encoder=minilm,ask=encoder"  # the timed searches rank by soft BM25
DIMENSIONS, ENCODED = 256, 384
TERMS = 8  # of a query
WORDS, BOTH, STATIC = "words", "words and meaning", "words and meaning, query table"
BM25S, FAISS = "bm25s", f"faiss flat, {ENCODED} float32"
FLAT, HNSW = "bm25s + faiss flat, by hand", "bm25s + faiss HNSW, by hand"
OURS = 3  # import; SoftIndex.from_texts(texts, encoder="minilm"); index.search(query)


def with_coordinates(words: Sum[Words], seed: int) -> Meaning:
    """Give every document coordinates."""
    rng = np.random.default_rng(seed)
    coordinates = []
    for part in words.segments:
        shape = part.segment.n_docs, DIMENSIONS
        coordinates.append(Coordinates.of(rng.integers(-127, 128, shape, dtype=np.int8)))
    segments = [[part.segment] for part in words.segments]
    return Meaning(segments, [part.first for part in words.segments], coordinates)


def both_of(words: Sum[Words], meaning: Meaning, weight: float = 40.0) -> Sum[Space]:
    """Return the sum of words and meaning."""
    return Sum(words.segments, ((1.0, words), (weight, meaning)))


def glued(
    workload: Workload, n_docs: int, n_queries: int
) -> tuple[dict[str, Callable[[], object]], dict[str, float]]:
    """Return the searches of the peers over the same words and vectors at random, and their MB."""
    faiss.omp_set_num_threads(1)
    rng = np.random.default_rng(1)
    rows = rng.standard_normal((n_docs, ENCODED), np.float32)
    counts = workload.counts
    texts = [
        " ".join(f"w{term}" for term in np.repeat(counts.indices[a:b], counts.data[a:b]).tolist())
        for a, b in pairwise(counts.indptr.tolist())
    ]
    flat, graph = ByHand(texts, rows), ByHand(texts, rows, graph=True)
    Q = workload.queries(TERMS, n_queries)
    asked = [
        [f"w{term}" for term in Q.indices[a:b].tolist()] for a, b in pairwise(Q.indptr.tolist())
    ]
    units = rng.standard_normal((n_queries, ENCODED)).astype(np.float32)
    pairs = list(zip(asked, units, strict=True))
    calls: dict[str, Callable[[], object]] = {
        BM25S: each(flat.words.get_scores, asked),
        FAISS: each(lambda vector: flat.vectors.search(vector[None], K), list(units)),
        FLAT: each(lambda pair: flat.search(*pair), pairs),
        HNSW: each(lambda pair: graph.search(*pair), pairs),
    }
    vectors = faiss.serialize_index(flat.vectors).nbytes
    sizes = {BM25S: flat.n_bytes - vectors, FAISS: vectors, FLAT: flat.n_bytes}
    sizes[HNSW] = graph.n_bytes
    return calls, {name: size / 2**20 for name, size in sizes.items()}


def our_sizes(words: Sum[Words], meaning: Meaning) -> dict[str, float]:
    """Return the MB of our arrays, S included."""
    arrays = [array for part in words.segments for array in part.segment.to_arrays().values()]
    n_words = sum(array.nbytes for array in [*arrays, *words.summands[0][1].S.arrays])
    n_both = n_words + sum(
        own.vectors.nbytes + own.inverse_lengths.nbytes
        for own in meaning.coordinates
        if own is not None
    )
    return {WORDS: n_words / 2**20, BOTH: n_both / 2**20}


def quality(names: Sequence[str]) -> dict[str, float]:
    """Return the mean nDCG@10 of every way over judged collections, with the same encoder."""
    found: dict[str, list[float]] = {}
    for name in names:
        judged = load_judged(data_folder() / "questions" / name)
        assert isinstance(judged, RankingSet)
        number = {id: place for place, id in enumerate(judged.documents.ids)}
        gains = [
            {number[id]: gain for id, gain in judged.qrels.get(query, {}).items() if gain > 0}
            for query in judged.queries.ids
        ]
        fitted = from_spec(SPEC).fit(judged.documents)
        assert isinstance(fitted, FittedSoft)
        systems = {
            label: replace(fitted, options={**fitted.options, "ask": ask})
            for label, ask in ((WORDS, "words"), (BOTH, "encoder"), (STATIC, "static"))
        }
        lists: dict[str, list[list[int]]] = {}
        for label, system in systems.items():
            ranked = system.ranked(judged.queries, k=K).numbers
            lists[label] = [row[row >= 0].tolist() for row in ranked]
        model = Encoder(model="minilm").sentence_model()
        texts = judged.documents.texts
        vectors, units = (
            model.vectors(own).astype(np.float32) for own in (texts, judged.queries.texts)
        )
        for label, graph in ((FLAT, False), (HNSW, True)):
            peer = ByHand(texts, vectors, graph=graph)
            pairs = zip(peer.tokens(judged.queries.texts), units, strict=True)
            lists[label] = [[d for d, _ in peer.search(*pair, k=K)] for pair in pairs]
        tokens = peer.tokens(judged.queries.texts)
        by_words = [np.argsort(-peer.words.get_scores(own), kind="stable")[:K] for own in tokens]
        lists[BM25S] = [own.tolist() for own in by_words]
        lists[FAISS] = flat_index(vectors).search(units, K)[1].tolist()
        for label, ranks in lists.items():
            pairs_of = zip(ranks, gains, strict=True)
            own = [ndcg(np.array(rank), gain) for rank, gain in pairs_of if gain]
            found.setdefault(label, []).append(float(np.mean(own)))
        print(name, {label: round(own[-1], 3) for label, own in found.items()}, flush=True)
    return {label: float(np.mean(own)) for label, own in found.items()}


def flat_index(vectors: NDArray[np.float32]) -> faiss.Index:
    """Return an exact index of the vectors, divided by their lengths."""
    units = vectors.copy()
    faiss.normalize_L2(units)
    index = faiss.IndexFlatIP(vectors.shape[1])
    index.add(units)
    return index


def lines_of_code(cls: type) -> int:
    """Return the number of lines of a class without docstrings and blank lines."""
    text = re.sub(r'"""(?s:.*?)"""', "", inspect.getsource(cls))
    return sum(bool(line.strip()) for line in text.splitlines())


def searched(ranking: Sum[Space], query: ReadyQuery) -> object:
    """Search on one thread."""
    return ranking.best([query], Limits(k=K, threads=1))


def main() -> None:
    """Time the searches of both collections, and write the report."""
    parser = parser_of(__doc__, cache=CACHE, runs=5, queries=24)
    parser.add_argument("--documents", type=int, default=SIZES[1])
    parser.add_argument("--collections", nargs="*", default=list(QUESTIONS), help="of questions")
    options = parser.parse_args()
    base = load_workload(newsgroups(), cache=options.cache)
    drawn = Synthetic.like(base.counts, terms=MEAN_TERMS)
    judged = quality(options.collections)
    by_hand = lines_of_code(ByHand)
    lines = {WORDS: OURS, BOTH: OURS, FLAT: by_hand, HNSW: by_hand}
    rows: list[dict[str, object]] = []
    rng = np.random.default_rng(2)
    for n_docs in dict.fromkeys((min(SIZES[0], options.documents), options.documents)):
        workload = collection(base, drawn, n_docs)
        words = workload.searcher.words
        meaning = with_coordinates(words, 0)
        queries = vectors(workload.queries(TERMS, options.queries))
        units = rng.standard_normal((len(queries), DIMENSIONS))
        units /= np.linalg.norm(units, axis=1)[:, None]
        asked = [ReadyQuery((vector,), unit) for vector, unit in zip(queries, units, strict=True)]
        calls: dict[str, Callable[[], object]] = {
            WORDS: each(partial(workload.searcher.search, k=K), queries),
            BOTH: each(partial(searched, both_of(words, meaning, 1.0)), asked),
        }
        sizes = our_sizes(words, meaning)
        if n_docs <= SIZES[0]:
            others, others_sizes = glued(workload, n_docs, options.queries)
            calls |= others
            sizes |= others_sizes
        started = time.perf_counter()
        timings = interleave(calls, runs=options.runs)
        print(f"{n_docs} documents: {time.perf_counter() - started:.0f} s", flush=True)
        # Of processor time, on one thread: other programs disturb it less.
        times = {name: np.median(timing.cpu_seconds) for name, timing in timings.items()}
        alone = times[WORDS]
        for name, seconds in times.items():
            row: dict[str, object] = {
                "documents": n_docs,
                "search": name,
                "ms a query": round(seconds / len(queries) * 1e3, 3),
                "ms more than words": round((seconds - alone) / len(queries) * 1e3, 3),
                "times words": round(seconds / alone, 2),
                "MB": round(sizes[name]),
            }
            if n_docs <= SIZES[0]:
                row["nDCG@10 of questions"] = round(judged[name], 3)
                row["lines of code"] = lines.get(name, "")
            rows.append(row)
    notes = (
        "One thread, processor time. Queries have 8 terms, expanded by the S of the workload; "
        f"k = 10. Coordinates of {DIMENSIONS} int8 numbers (260 bytes a document). The query's own "
        "coordinates cost beside: about .1 ms by the query table, 2 ms by the int8 encoder.",
        f"By hand (benchmarks/by_hand.py): the best {FIRST} by words and by vectors, added up in a "
        "dictionary, with the same weight. bm25s alone scores all documents and ranks none. The "
        "graph is searched with efSearch = 1,000; on vectors at random, as here, it takes longest.",
        "MB: all arrays of the index, S included; without texts, and without the encoder, which "
        "both need.",
        f"nDCG@10: mean of {', '.join(options.collections)}, with the same encoder for documents "
        f"and queries; ours by the query table, without an encoder for queries: "
        f"{judged[STATIC]:.3f}. The words of ours are soft BM25 with the English vectors.",
        "Not in these lines by hand: filters, updates and deletes, saving both in step, phrases, "
        "explanations, encoding in batches with a cache.",
    )
    facts: dict[str, object] = {"queries": options.queries, "timed rounds": options.runs}
    print(write_report("meaning", "Words and meaning in one search", rows, facts, notes=notes))


if __name__ == "__main__":
    main()
