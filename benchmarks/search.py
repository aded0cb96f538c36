"""How fast the ten best of 20 Newsgroups are found, against SciPy and three libraries.

Run ``python benchmarks/search.py``. The first run learns S, which takes a minute or two; it is
kept in the folder that ``--cache`` names. ``--default`` prints what surrounds the kernels alone: a
default search against soft BM25 by words, and its calls.
"""

from __future__ import annotations

import cProfile
import importlib
import importlib.util
import json
import pstats
import statistics
import time
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import numpy as np
from gensim.similarities import SoftCosineSimilarity, SparseTermSimilarityMatrix
from numpy.typing import NDArray
from scipy.sparse import csc_matrix, csr_array, csr_matrix
from sparse_dot_topn import sp_matmul_topn

from measure import interleave, parser_of, peak_memory, write_report
from newsgroups import CACHE, Workload, load_workload, newsgroups, vectors
from softcosine import SoftIndex
from softcosine.index.spaces.space import Top

K = 10
PANEL = 32  # queries that SciPy multiplies at a time: measured to be its best
TERMS = (5, 20, 100)
Call = Callable[[], Any]
Scores = NDArray[Any]


def best(scores: Scores) -> Scores:
    """Return the scores of the K best of one query, best first, as every SciPy form finds them."""
    # What is scored but zero is no answer; both sides are filled up with zeros.
    if scores.shape[0] <= K:
        return np.pad(np.sort(scores)[::-1], (0, K - scores.shape[0]))
    numbers = np.argpartition(scores, scores.shape[0] - K)[-K:]
    return np.asarray(scores[numbers[np.argsort(-scores[numbers], kind="stable")]])


class Plain:
    """The same search as plain matrix products of one dtype."""

    def __init__(self, workload: Workload, Q: csr_array, dtype: type) -> None:
        self.S = workload.S.to_scipy().astype(dtype)
        self.documents = workload.documents().astype(dtype)
        self.postings = csr_array(self.documents.T)
        self.Q = Q.astype(dtype)
        self.rows = [csr_array(self.Q[[i]]) for i in range(Q.shape[0])]

    def sparse_product(self, q: csr_array) -> Scores:
        """Score by the sparse product (q S) Wᵀ."""
        return np.asarray(((q @ self.S) @ self.postings).toarray()[0])

    def all_documents(self, q: csr_array) -> Scores:
        """Score by W times q S as a dense vector."""
        return np.asarray(self.documents @ (q @ self.S).toarray()[0])

    def postings_touched(self, q: csr_array) -> Scores:
        """Score by the rows of Wᵀ that q S has, taken out and multiplied."""
        expanded = q @ self.S
        return np.asarray(self.postings[expanded.indices].T @ expanded.data)

    def singly(self, form: Callable[[csr_array], Scores]) -> list[Scores]:
        """Answer the queries one after the other."""
        return [best(form(q)) for q in self.rows]

    def sparse_batch(self) -> list[Scores]:
        """Answer all queries by one sparse product."""
        return [best(scores) for scores in ((self.Q @ self.S) @ self.postings).toarray()]

    def panels(self) -> list[Scores]:
        """Answer the queries by W times dense panels of them."""
        found: list[Scores] = []
        for start in range(0, self.Q.shape[0], PANEL):
            expanded = (self.Q[start : start + PANEL] @ self.S).toarray()
            scores = self.documents @ np.ascontiguousarray(expanded.T)
            found += map(best, np.ascontiguousarray(scores.T))
        return found


class SparseDotTopn:
    """sparse_dot_topn's product that keeps the K best of each row."""

    def __init__(self, plain: Plain) -> None:
        self.S, self.Q, self.postings = plain.S, plain.Q, csr_matrix(plain.postings)

    def batch(self, threads: int) -> list[Scores]:
        """Answer all queries at once."""
        expanded = csr_matrix(self.Q @ self.S)
        found = csr_matrix(
            sp_matmul_topn(expanded, self.postings, top_n=K, sort=True, n_threads=threads)
        )
        rows = (found.data[slice(*found.indptr[i : i + 2])] for i in range(found.shape[0]))
        return [np.pad(scores, (0, K - scores.shape[0])) for scores in rows]


class Nmslib:
    """nmslib's inverted index of sparse vectors, by negative inner product.

    It takes a hundred milliseconds, so it is asked some of the queries only.
    """

    def __init__(self, plain: Plain, n_queries: int) -> None:
        nmslib = importlib.import_module("nmslib")
        self.index = nmslib.init(
            method="simple_invindx",
            space="negdotprod_sparse_fast",
            data_type=nmslib.DataType.SPARSE_VECTOR,
        )
        self.index.addDataPointBatch(csr_matrix(plain.documents))
        self.index.createIndex()
        self.S, self.Q, self.rows = plain.S, plain.Q[:n_queries], plain.rows[:n_queries]

    def singly(self) -> list[Scores]:
        """Answer the queries one after the other."""
        return [self._found(q, 1)[0] for q in self.rows]

    def batch(self, threads: int) -> list[Scores]:
        """Answer all queries at once."""
        return self._found(self.Q, threads)

    def _found(self, Q: csr_array, threads: int) -> list[Scores]:
        expanded = csr_matrix(Q @ self.S)
        found = self.index.knnQueryBatch(expanded, k=K, num_threads=threads)
        scores = (np.sort(-distances)[::-1] for _, distances in found)
        return [np.pad(best_ones, (0, K - best_ones.shape[0])) for best_ones in scores]


class Gensim:
    """gensim's soft cosine; it takes seconds, so it is asked the first few queries only."""

    def __init__(self, workload: Workload, Q: csr_array, n_queries: int) -> None:
        matrix = SparseTermSimilarityMatrix(csc_matrix(workload.S.to_scipy()))
        self.index = SoftCosineSimilarity(bags(workload.weighted()), matrix)
        self.queries = bags(Q[: min(n_queries, Q.shape[0])])

    def singly(self) -> list[Scores]:
        """Answer the queries one after the other."""
        with np.errstate(divide="ignore", invalid="ignore"):  # it divides by norms of 0
            return [best(np.asarray(self.index[query])) for query in self.queries]

    def batch(self) -> list[Scores]:
        """Answer all queries at once."""
        with np.errstate(divide="ignore", invalid="ignore"):
            return [best(scores) for scores in np.asarray(self.index[self.queries])]


def bags(X: csr_array) -> list[list[tuple[int, float]]]:
    """Return the rows of a matrix as gensim's bags of words."""
    pairs = list(zip(X.indices.tolist(), X.data.tolist(), strict=True))
    return [pairs[slice(*X.indptr[i : i + 2])] for i in range(X.shape[0])]


def ours(tops: Sequence[Top]) -> list[Scores]:
    return [np.pad(top.scores, (0, K - top.scores.shape[0])) for top in tops]


def difference(found: Sequence[Scores], right: Sequence[Scores]) -> float:
    """Return the largest difference between scores of the same rank."""
    return float(max(np.abs(f - r).max() for f, r in zip(found, right, strict=False)))


def check(
    contestants: dict[str, Call], right: Sequence[Scores], exact: Call, gensim: Sequence[str]
) -> dict[str, float]:
    """Exit unless all answers agree; return the differences, gensim's too, which is let pass."""
    differences = {name: difference(call(), right) for name, call in contestants.items()}
    exact_difference = difference(exact(), right)
    if exact_difference > 1e-9:
        raise SystemExit(f"SciPy in float64 differs by {exact_difference:.3g}; compare no times.")
    for name, found in differences.items():
        if found > 1e-6 and name not in gensim:
            raise SystemExit(f"{name} differs by {found:.3g}; compare no times.")
    return differences


def race(
    workload: Workload, n_terms: int, *, n_queries: int, n_slow: int, n_nmslib: int, runs: int
) -> list[dict[str, object]]:
    """Check and time all contestants on queries of one length; a line of the table each."""
    Q = workload.queries(n_terms, n_queries)
    queries, plain = vectors(Q), Plain(workload, Q, np.float32)
    topn, gensim = SparseDotTopn(plain), Gensim(workload, Q, n_slow)
    search = partial(workload.searcher.search_batch, queries, k=K)
    single: dict[str, Call] = {
        "softcosine": lambda: ours([workload.searcher.search(query, k=K) for query in queries]),
        "SciPy, rows of the postings": lambda: plain.singly(plain.postings_touched),
        "SciPy, sparse product": lambda: plain.singly(plain.sparse_product),
        "SciPy, all documents times q S": lambda: plain.singly(plain.all_documents),
    }
    batch: dict[str, Call] = {
        "softcosine, 1 thread": lambda: ours(search(threads=1)),
        "softcosine, 2 threads": lambda: ours(search(threads=2)),
        "SciPy, rows of the postings, one by one": lambda: plain.singly(plain.postings_touched),
        "SciPy, sparse product": plain.sparse_batch,
        f"SciPy, panels of {PANEL}": plain.panels,
        "sparse_dot_topn, 1 thread": lambda: topn.batch(1),
        "sparse_dot_topn, 2 threads": lambda: topn.batch(2),
    }
    slow_single: dict[str, Call] = {"gensim": gensim.singly}
    slow_batch: dict[str, Call] = {"gensim": gensim.batch}
    asked = {"gensim": len(gensim.queries)}
    if importlib.util.find_spec("nmslib") is not None:
        nmslib = Nmslib(plain, n_nmslib)
        slow_single["nmslib, inverted index"] = nmslib.singly
        slow_batch["nmslib, inverted index, 1 thread"] = lambda: nmslib.batch(1)
        slow_batch["nmslib, inverted index, 2 threads"] = lambda: nmslib.batch(2)
        asked |= dict.fromkeys({*slow_single, *slow_batch} - {"gensim"}, len(nmslib.rows))
    right = ours(search(threads=1))
    double = Plain(workload, Q, np.float64)
    rows: list[dict[str, object]] = []
    for mode, racing, slow in (
        ("one by one", single, slow_single),
        ("batch", batch, slow_batch),
    ):
        differences = check(
            {**racing, **slow}, right, lambda: double.singly(double.all_documents), ["gensim"]
        )
        memory = {name: peak_memory(call) for name, call in (racing | slow).items()}
        times = interleave(racing, runs=runs)
        slow_times = interleave(slow, runs=runs, warmups=0)
        first = next(iter(times.values())).scaled(1 / n_queries)
        timings = [
            *(timing.scaled(1 / n_queries) for timing in times.values()),
            *(timing.scaled(1 / asked[name]) for name, timing in slow_times.items()),
        ]
        rows += [
            {
                "query terms": n_terms,
                "asked": mode,
                **timing.row(relative_to=first, unit="ms"),
                "largest difference": f"{differences[timing.name]:.1e}",
                "peak memory MiB": memory[timing.name],
            }
            for timing in timings
        ]
    return rows


def default_search(texts: Sequence[str], *, n_queries: int, runs: int) -> dict[str, object]:
    """Measure a warm default search of three words: its median against words, and its calls."""
    index = SoftIndex.from_texts(list(texts), encoder="static")
    words = [word for text in texts for word in text.split() if word.isalpha() and len(word) > 4]
    queries = [" ".join(words[i :: len(words) // 3][:3]) for i in range(n_queries)]
    ways: dict[str, Callable[[str], object]] = {
        "default": index.search,
        "words": partial(index.search, ranking="soft_bm25", ask="words"),
    }
    best = {name: [float("inf")] * n_queries for name in ways}
    for _ in range(runs + 1):  # the first is slower
        for name, search in ways.items():
            for i, query in enumerate(queries):
                start = time.thread_time()
                search(query)
                best[name][i] = min(best[name][i], time.thread_time() - start)
    calls = []
    for query in queries:
        profile = cProfile.Profile()
        profile.runcall(index.search, query)
        calls.append(getattr(pstats.Stats(profile), "total_calls"))  # noqa: B009 - untyped
    p50 = {name: statistics.median(seconds) for name, seconds in best.items()}
    return {
        "default search, p50, ms": round(1000 * p50["default"], 3),
        "default search against soft BM25 by words": round(p50["default"] / p50["words"], 2),
        "calls of a default search": statistics.median(calls),
    }


def described(workload: Workload, lengths: Sequence[int], n_queries: int) -> dict[str, object]:
    """Say what was searched, and how much of it the queries touch."""
    n_docs, n_terms = workload.counts.shape
    parameters: dict[str, object] = {
        "documents": n_docs,
        "terms": n_terms,
        "postings": workload.counts.nnz,
        "non-zeros of S a column": round(workload.S.to_scipy().nnz / n_terms, 1),
        "k": K,
        "queries of each length": n_queries,
    }
    for length in lengths:
        expanded = workload.queries(length, n_queries) @ workload.S.to_scipy()
        parameters[f"queries of {length} terms"] = (
            f"{expanded.nnz / n_queries:.0f} terms expanded, "
            f"{workload.touched(expanded):.0%} of the postings touched"
        )
    return parameters


NOTES = (
    "Times are milliseconds a query; expansion by S and the ten best are included everywhere. "
    "The ratios compare with our first line of the same block.",
    "Checked first: the ten best scores of every contestant but gensim agree with ours within "
    "1e-6, and SciPy in float64 within 1e-9. SciPy, sparse_dot_topn and nmslib are timed in "
    "float32, their faster dtype; ours returns exact float64.",
    "gensim divides by the norm of the part of a document that shares terms with the query where "
    "a single query is asked, so its scores are wrong there by the difference shown.",
    "Queries are distinct terms of random documents, stop words among them.",
    "Memory is the rise of the peak during one call, the index not counted.",
)


def main() -> None:
    parser = parser_of(__doc__, cache=CACHE, runs=7, queries=128)
    parser.add_argument("--slow-queries", type=int, default=3, help="for gensim")
    parser.add_argument("--nmslib-queries", type=int, default=16)
    parser.add_argument("--default", action="store_true", help="of a default search alone")
    options = parser.parse_args()
    texts = [text[:3000] for text in newsgroups()[:2000]]
    around = default_search(texts, n_queries=options.queries, runs=options.runs)
    if options.default:
        print(json.dumps(around, indent=2))
        return
    workload = load_workload(newsgroups(), cache=options.cache)
    rows = [
        row
        for n_terms in TERMS
        for row in race(
            workload,
            n_terms,
            n_queries=options.queries,
            n_slow=options.slow_queries,
            n_nmslib=options.nmslib_queries,
            runs=options.runs,
        )
    ]
    parameters = {
        **described(workload, TERMS, options.queries),
        "queries for gensim": options.slow_queries,
        "queries for nmslib": options.nmslib_queries,
        "timed rounds": options.runs,
        **around,
    }
    if importlib.util.find_spec("nmslib") is None:
        parameters["queries for nmslib"] = "left out: not installed"
    title = "The ten best of 20 Newsgroups by soft cosine"
    print(write_report("search", title, rows, parameters, notes=NOTES))


if __name__ == "__main__":
    main()
