"""How fast all documents of 20 Newsgroups find their ten nearest, against sparse_dot_topn.

Run ``python benchmarks/all_pairs.py``; ``--documents 2000`` is a short case. The first run learns
S, which takes a minute or two; it is kept in the folder that ``--cache`` names.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array, csr_matrix
from sparse_dot_topn import sp_matmul_topn

from measure import interleave, parser_of, peak_memory, write_report
from newsgroups import CACHE, Workload, load_workload, newsgroups, vectors, workload_of
from softcosine.index.near_duplicates.all_pairs import (
    PairBlock,
    nearest_neighbors,
    pair_documents,
    similar_pairs,
)

K = 10
MIN_SIMILARITY = 0.8
Call = Callable[[], Any]
Rows = list[NDArray[Any]]


class SparseDotTopn:
    """The largest entries of each row of (X W S) (W X)', rows of both divided by soft norms."""

    def __init__(self, workload: Workload) -> None:
        self.S = workload.S.to_scipy().astype(np.float32)
        self.documents = workload.documents().astype(np.float32)
        self.postings = csr_matrix(self.documents.T)
        self.expanded = self.expand()

    def expand(self) -> csr_matrix:
        """X W S, by SciPy."""
        return csr_matrix(self.documents @ self.S)

    def nearest(self, threads: int) -> csr_matrix:
        """Find the K best others; a document is among its own best."""
        return self._product(K + 1, threads, None)

    def pairs(self, most: int, threads: int) -> csr_matrix:
        """Find all entries of MIN_SIMILARITY or more, if no row has more than `most`."""
        return self._product(most, threads, MIN_SIMILARITY)

    def _product(self, top_n: int, threads: int, threshold: float | None) -> csr_matrix:
        return csr_matrix(
            sp_matmul_topn(
                self.expanded, self.postings, top_n=top_n, threshold=threshold, sort=True,
                n_threads=threads,
            )
        )  # fmt: skip


def race(workload: Workload, *, threads: int, runs: int) -> list[dict[str, object]]:
    """Check and time all contestants; a line of the table each."""
    parts, S = workload.parts, workload.S
    peer = SparseDotTopn(workload)
    graph = nearest_neighbors(pair_documents(parts, S), k=K)
    blocks = list(similar_pairs(pair_documents(parts, S), min_similarity=MIN_SIMILARITY))
    ends = [end for block in blocks for end in (block.first, block.second)]
    counts = np.bincount(np.concatenate([np.zeros(1, np.int64), *ends]))
    most = int(counts.max()) + 1  # and the document itself
    queries = vectors(workload.weighted())
    contests: dict[str, dict[str, Call]] = {
        f"the {K} nearest": {
            "softcosine": lambda: nearest_neighbors(pair_documents(parts, S), k=K, threads=threads),
            "softcosine, documents searched as queries": lambda: workload.searcher.search_batch(
                queries, k=K + 1, threads=threads
            ),
            "sparse_dot_topn": lambda: peer.nearest(threads),
            "SciPy, the expansion that sparse_dot_topn is given": peer.expand,
        },
        f"all pairs of {MIN_SIMILARITY} or more": {
            "softcosine": lambda: list(
                similar_pairs(
                    pair_documents(parts, S), min_similarity=MIN_SIMILARITY, threads=threads
                )
            ),
            "sparse_dot_topn": lambda: peer.pairs(most, threads),
        },
    }
    check_nearest(graph, peer.nearest(threads))
    check_pairs(sum(map(len, blocks)), peer.pairs(most, threads))
    rows: list[dict[str, object]] = []
    for asked, contestants in contests.items():
        memory = {name: peak_memory(call) for name, call in contestants.items()}
        times = interleave(contestants, runs=runs)
        first = next(iter(times.values()))
        rows += [
            {
                "asked": asked,
                **timing.row(relative_to=first),
                "peak memory MiB": memory[timing.name],
            }
            for timing in times.values()
        ]
    return rows


def check_nearest(graph: PairBlock, found: csr_matrix) -> None:
    """Exit unless each document's best similarities agree within float32."""
    for document in range(found.shape[0]):
        part = slice(*found.indptr[document : document + 2])
        others = found.indices[part] != document
        theirs = np.sort(found.data[part][others])[::-1][:K]
        ours = graph.similarities[graph.first == document]
        short = min(theirs.shape[0], ours.shape[0])
        # Equal ones may crowd a document out of its own best.
        if short < min(K, ours.shape[0]) or not np.allclose(theirs, ours[:short], atol=2e-6):
            raise SystemExit(f"document {document}: {ours} and {theirs} differ")


def check_pairs(n_pairs: int, found: csr_matrix) -> None:
    """Exit unless as many pairs were found, but for those at the very edge."""
    theirs = csr_array(found).tocoo()
    off = theirs.row != theirs.col
    edge = int(np.count_nonzero(np.abs(theirs.data[off] - MIN_SIMILARITY) < 2e-6))
    if abs(int(np.count_nonzero(off)) - 2 * n_pairs) > 2 * edge + 2:
        raise SystemExit(f"{n_pairs} pairs, and {np.count_nonzero(off) / 2:g} of sparse_dot_topn")


NOTES = (
    "Ours expands documents by S and returns exact float64; sparse_dot_topn is timed in float32, "
    "its faster dtype, and is given the expanded documents ready-made, which SciPy needs the time "
    "of its own line for. The ratios compare with our first line of the same block.",
    "Checked first: the ten best similarities of every document agree within 2e-6, and as many "
    "pairs reach the least similarity, but for those within 2e-6 of it.",
    "Memory is the rise of the peak during one call; the 1 GB of expanded documents that "
    "sparse_dot_topn is given is not counted.",
)


def main() -> None:
    parser = parser_of(__doc__, cache=CACHE, runs=5)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--documents", type=int, help="the first so many only, and no report")
    options = parser.parse_args()
    workload = load_workload(newsgroups(), cache=options.cache)
    if options.documents is not None:
        short = workload_of(csr_array(workload.counts[: options.documents]), workload.S)
        for row in race(short, threads=options.threads, runs=options.runs):
            print(row)
        return
    n_docs, n_terms = workload.counts.shape
    parameters = {
        "documents": n_docs,
        "terms": n_terms,
        "postings": workload.counts.nnz,
        "non-zeros of S a column": round(workload.S.to_scipy().nnz / n_terms, 1),
        "k": K,
        "least similarity": MIN_SIMILARITY,
        "threads": options.threads,
        "timed rounds": options.runs,
    }
    rows = race(workload, threads=options.threads, runs=options.runs)
    title = "All pairs of 20 Newsgroups by soft cosine"
    print(write_report("all_pairs", title, rows, parameters, notes=NOTES))


if __name__ == "__main__":
    main()
