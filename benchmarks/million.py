"""What a posting costs among a million documents, against 20,000, and in which layout.

Run ``python benchmarks/million.py``; it takes some minutes and 5 GB of memory. The documents are
drawn from 20 Newsgroups (`synthetic`) and searched with the S of that workload. The index holds
segments of 65,536 documents with numbers of 16 bits; larger ones are made here for comparison.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from measure import each, interleave, parser_of, write_report
from newsgroups import CACHE, Searcher, Workload, load_workload, newsgroups, ranked, vectors
from softcosine import Weighting
from softcosine.index.query.query_vectors import QueryVector
from softcosine.index.query.ready_query import ReadyQuery
from softcosine.index.rankings import RankedSegment, prepare
from softcosine.index.segment.segment import MAX_DOCS, Segment, packed
from softcosine.index.spaces.bounds import slack
from softcosine.index.spaces.expansion import Expansions
from softcosine.index.spaces.segment_table import frequent_columns, present_bits
from softcosine.index.spaces.words import PreparedLinear
from softcosine.kernels.jit import kernel
from softcosine.kernels.search import find_in_segment
from synthetic import Synthetic

SIZES = (20_000, 1_000_000)
MEAN_TERMS = 100  # of a document
TERMS = (5, 20, 100)
K = 10
N_YARDSTICK = 40_000_000  # postings: more than the caches hold, as those of a million documents


def collection(base: Workload, drawn: Synthetic, n_docs: int) -> Workload:
    """Index so many drawn documents; queries come from the first 20,000."""
    segments = [Segment.from_counts(X) for X in drawn.parts(n_docs, size=MAX_DOCS)]
    statistics, parts = ranked(segments, base.S)
    counts = drawn.part(0, min(n_docs, SIZES[0]))
    return Workload(counts, base.S, statistics, parts, Searcher(parts, base.S))


def wide(workload: Workload, n_docs: int) -> list[RankedSegment]:
    """Return the workload in segments of more documents, with numbers of 32 bits."""
    size = max(1, n_docs // MAX_DOCS)
    parts = []
    for start in range(0, len(workload.parts), size):
        group = workload.parts[start : start + size]
        segment = joined([part.segment for part in group])
        factors = np.concatenate([part.ranking.factors for part in group])
        norms = np.divide(1.0, factors, out=np.zeros_like(factors), where=factors > 0)
        ranking = prepare(
            "soft_cosine", segment, workload.S, Weighting(), workload.statistics, norms=norms
        )
        parts.append(RankedSegment(segment, ranking, group[0].first))
    return parts


def joined(segments: Sequence[Segment]) -> Segment:
    """Join segments into one whose documents have numbers of 32 bits."""
    if len(segments) == 1:
        return replace(segments[0], documents=segments[0].documents.astype(np.uint32))
    values = np.concatenate([segment.values() for segment in segments])
    frequencies, numbers = np.unique(values, return_inverse=True)
    levels = numbers.astype(np.uint16)
    terms = np.concatenate([segment.terms for segment in segments])
    lengths = np.concatenate([np.diff(segment.pointers) for segment in segments])
    pointers = np.concatenate([[0], np.cumsum(lengths)])
    shape = (len(lengths), segments[0].n_terms)
    by_term = csr_array((levels.astype(np.int32) + 1, terms, pointers), shape=shape).tocsc()
    owner = np.repeat(np.arange(shape[1]), np.diff(by_term.indptr))
    groups = owner * len(frequencies) + by_term.data - 1
    order = np.argsort(groups, kind="stable")
    groups = groups[order]
    group_starts = np.flatnonzero(np.diff(groups, prepend=-1, append=-1))
    own = groups[group_starts[:-1]]
    owners = own // len(frequencies)
    present = np.unique(owners)
    return Segment(
        n_terms=shape[1],
        pointers=pointers,
        **packed(terms, levels),
        reals=np.empty(0),
        frequencies=frequencies,
        scales=np.ones(shape[0]),
        lengths=np.concatenate([segment.lengths for segment in segments]),
        present_terms=present.astype(np.int32),
        term_groups=np.searchsorted(owners, np.append(present, shape[1])).astype(np.uint32),
        group_starts=group_starts.astype(np.uint32),
        group_levels=(own % len(frequencies)).astype(levels.dtype),
        documents=by_term.indices[order].astype(np.uint32),
        posting_weights=np.empty(0, np.float32),
    )


def postings_bytes(segment: Segment) -> int:
    """Return what the postings take, with where terms and groups begin."""
    heads = (segment.present_terms, segment.term_groups, segment.group_starts, segment.group_levels)
    return sum(array.nbytes for array in (*heads, segment.documents))


def forward_bytes(segment: Segment) -> int:
    """Return what the documents' terms and frequencies take."""
    return sum(array.nbytes for array in segment.forward)


def bytes_a_posting(parts: Sequence[RankedSegment]) -> dict[str, object]:
    """Return both, divided by the postings."""
    segments = [part.segment for part in parts]
    n = sum(segment.n_postings for segment in segments)
    return {
        "bytes a posting": round(sum(map(postings_bytes, segments)) / n, 2),
        "forward index": round(sum(map(forward_bytes, segments)) / n, 2),
    }


class Stages:
    """The search up to the candidates, of one thread, one query at a time, over counts.

    Parameters
    ----------
    workload : Workload
        Whose S and ranking are searched by.
    parts : sequence of RankedSegment, optional
        Other segments of the same documents, whose numbers may be of 32 bits.
    k : int
    """

    def __init__(
        self,
        workload: Workload,
        *,
        parts: Sequence[RankedSegment] | None = None,
        k: int = 10,
    ) -> None:
        self.parts = workload.parts if parts is None else tuple(parts)
        self._searcher = workload.searcher
        self._k = k
        self._bits = [present_bits(part.segment, len(workload.S)) for part in self.parts]
        self._columns = [frequent_columns(part.segment, part.ranking) for part in self.parts]
        self._longest = max(
            int(np.diff(part.segment.pointers).max(initial=0)) for part in self.parts
        )
        self._half = any(one.values.shape[0] > 0 for one in self._columns)
        largest = max(part.segment.n_docs for part in self.parts)
        self._scores = np.zeros(largest, np.float32)
        self._candidates = np.empty(largest, np.uint32)
        self._approximate = np.empty(largest, np.float32)

    def expansion(self, query: QueryVector) -> Expansions:
        """Return W S' W x."""
        ((_, space),) = self._searcher.words.summands
        prepared = space.prepare(ReadyQuery((query,)))
        assert isinstance(prepared, PreparedLinear)
        return prepared.expansions

    def candidates(self, expanded: Expansions) -> list[NDArray[np.uint32]]:
        """Add up the postings of one query, scan, and return the candidates of each segment."""
        heap, floor = np.zeros(self._k, np.float32), np.float32(0.0)
        n_summands = min(expanded.terms.shape[0], self._longest)
        least = slack(n_summands, half=self._half)
        scaled = (expanded.weights / expanded.scales[0]).astype(np.float32)
        found = []
        for part, bits, columns in zip(self.parts, self._bits, self._columns, strict=True):
            segment, ranking = part.segment, part.ranking
            n = find_in_segment(
                ranking.kind, expanded.terms, scaled, *bits, segment.term_groups,
                segment.group_starts, segment.group_levels, ranking.table32, segment.documents,
                segment.posting_weights, ranking.saturation32, columns.longest_list,
                columns.slots, columns.values.ravel(), ranking.factors32, floor, heap, least,
                self._scores[: segment.n_docs], self._candidates, self._approximate,
            )  # fmt: skip
            found.append(self._candidates[:n].copy())
        return found


def layouts(small: Workload, large: Workload, largest: int) -> dict[str, Stages]:
    """Return the kernel over every layout, the small collection first."""
    n_small, n_large = small.statistics.n_docs, large.statistics.n_docs
    return {
        f"{n_small} documents, 16 bits": Stages(small, k=K),
        f"{n_large} in segments of {MAX_DOCS}, 16 bits": Stages(large, k=K),
        f"{n_large} in segments of {MAX_DOCS}, 32 bits": Stages(
            large, parts=wide(large, MAX_DOCS), k=K
        ),
        f"{n_large} in segments of {largest}, 32 bits": Stages(
            large, parts=wide(large, largest), k=K
        ),
    }


def check(stages: Stages, queries: Sequence[QueryVector], right: Searcher) -> None:
    """Exit if a layout loses one of the best documents."""
    for query in queries:
        found = stages.candidates(stages.expansion(query))
        numbers = [part.first + own for part, own in zip(stages.parts, found, strict=True)]
        if not np.isin(right.search(query, k=K).documents, np.concatenate(numbers)).all():
            raise SystemExit("a layout loses answers; its time means nothing.")


@kernel(
    "void(uint32[::1], int64[::1], float32[::1], float32[::1])",
    "void(uint16[::1], int64[::1], float32[::1], float32[::1])",
    "void(uint16[::1], int64[::1], float64[::1], float64[::1])",
)
def scatter(documents, starts, weights, scores):  # type: ignore[no-untyped-def]
    """Add the weight of each list to the scores of its documents."""
    for i in range(weights.shape[0]):
        weight = weights[i]
        for p in range(starts[i], starts[i + 1]):
            scores[documents[p]] += weight


def query_lengths(workload: Workload, n_terms: int, n_queries: int) -> NDArray[np.float64]:
    """Return which share of the documents each list of some expanded queries has, list by list."""
    expanded = workload.queries(n_terms, n_queries) @ workload.S.to_scipy()
    statistics = workload.statistics
    shares = statistics.document_frequencies[expanded.indices] / statistics.n_docs
    return np.asarray(shares[shares > 0])


def drawn_lists(
    n_docs: int, lengths: NDArray[np.int64], n_postings: int
) -> tuple[NDArray[np.uint32], NDArray[np.int64]]:
    """Return sorted lists of random documents, one after the other, and where each begins.

    `lengths` are taken in random order, again and again, until the lists have `n_postings`.
    """
    generator = np.random.default_rng(n_docs)
    chosen: list[NDArray[np.int64]] = []
    while sum(int(some.sum()) for some in chosen) < n_postings:
        chosen.append(generator.permutation(np.clip(lengths, 1, n_docs)))
    sizes = np.concatenate(chosen)
    sizes = sizes[: int(np.searchsorted(np.cumsum(sizes), n_postings)) + 1]
    starts = np.concatenate([[0], np.cumsum(sizes)])
    # One document of each of as many equal stretches: sorted, and none twice.
    place = np.arange(starts[-1]) - np.repeat(starts[:-1], sizes)
    step = np.repeat(n_docs / sizes, sizes)
    documents = ((place + generator.random(starts[-1])) * step).astype(np.uint32)
    return np.minimum(documents, np.uint32(n_docs - 1)), starts.astype(np.int64)


@kernel("uint64(uint64, int64)")
def _chain(x, n):  # type: ignore[no-untyped-def]
    """Run n steps of a xorshift generator, of which a compiler can leave out nothing."""
    for _ in range(n):
        x ^= x << 13
        x ^= x >> 7
        x ^= x << 17
    return x


def cycles_per_second(*, steps: int = 4_000_000, runs: int = 7) -> float:
    """Return how many cycles a second the processor makes: those of the fastest of several runs.

    The yardstick is a chain of operations that each wait for the one before and take one cycle on
    every present x86-64 processor.
    """
    cycles_a_step = 6  # three shifts and three exclusive ors, each on the result of the last
    _chain(np.uint64(1), 1)
    best = float("inf")
    for _ in range(runs):
        start = time.perf_counter()
        _chain(np.uint64(1), steps)
        best = min(best, time.perf_counter() - start)
    return steps * cycles_a_step / best


def yardstick(small: Workload, n_queries: int, n_postings: int) -> tuple[Callable[[], object], int]:
    """Return the loop alone, over lists as in queries, at the accumulators of one segment."""
    shares = query_lengths(small, TERMS[1], n_queries)
    lengths: NDArray[np.int64] = np.rint(shares * MAX_DOCS).astype(np.int64)
    drawn, starts = drawn_lists(MAX_DOCS, lengths, n_postings)
    weights, scores = np.ones(len(starts) - 1, np.float32), np.zeros(MAX_DOCS, np.float32)
    return partial(scatter, drawn.astype(np.uint16), starts, weights, scores), int(starts[-1])


def searched(
    small: Workload,
    large: Workload,
    *,
    lengths: Sequence[int],
    n_queries: int,
    runs: int,
    n_yardstick: int = N_YARDSTICK,
    largest: int = 2 * MAX_DOCS,
) -> list[dict[str, object]]:
    """Time the kernel and the search of both collections; a line of the table each."""
    staged = layouts(small, large, largest)
    loop, n_loop = yardstick(small, n_queries, n_yardstick)
    cycles = cycles_per_second()
    rows: list[dict[str, object]] = []
    for n_terms in lengths:
        Q = small.queries(n_terms, n_queries)
        queries = vectors(Q)
        expanded = Q @ small.S.to_scipy()
        calls: dict[str, Callable[[], object]] = {f"scatter, {MAX_DOCS} documents": loop}
        postings = {next(iter(calls)): n_loop}
        for name, stages in staged.items():
            workload = small if stages is next(iter(staged.values())) else large
            check(stages, queries[:4], workload.searcher)
            touched = workload.touched(expanded) * workload.statistics.document_frequencies.sum()
            steps = lambda query, s=stages: s.candidates(s.expansion(query))  # noqa: E731
            calls[name] = each(steps, queries)
            postings[name] = round(touched * n_queries)
        for workload in (small, large):
            name = f"{workload.statistics.n_docs} documents, the whole search"
            calls[name] = each(partial(workload.searcher.search, k=K), queries)
            first = 1 if workload is small else 2
            postings[name] = postings[list(calls)[first]]
        timings = interleave(calls, runs=runs)
        costs = {name: timing.median / postings[name] for name, timing in timings.items()}
        base = list(calls)[1]
        for name, timing in timings.items():
            row: dict[str, object] = {"query terms": n_terms, "what": name}
            row["postings a query"] = round(postings[name] / n_queries)
            row["ms a query"] = round(timing.median / n_queries * 1e3, 3)
            row["cycles a posting"] = round(costs[name] * cycles, 2)
            row["times the small collection"] = round(costs[name] / costs[base], 2)
            row["times the yardstick"] = round(costs[name] / next(iter(costs.values())), 2)
            if name in staged:
                row |= bytes_a_posting(staged[name].parts)
            else:
                row |= latencies(small, large, name, queries)
            rows.append(row)
    return rows


def latencies(
    small: Workload, large: Workload, name: str, queries: Sequence[QueryVector]
) -> dict[str, object]:
    """Return the middle time of single searches, if it is searches that the line is about."""
    if "whole search" not in name:
        return {}
    workload = small if name.startswith(f"{small.statistics.n_docs} ") else large
    seconds = []
    for query in queries:
        start = time.perf_counter()
        workload.searcher.search(query, k=K)
        seconds.append(time.perf_counter() - start)
    return {"p50 ms": round(float(np.median(seconds)) * 1e3, 3)}


NOTES = (
    "One thread. Lines of layouts are the expansion, the postings added up and the scan of all "
    "segments; 'the whole search' adds the exact scores. Postings are those of the expanded "
    "terms; cycles by a chain of dependent operations.",
    "The yardstick is the scatter-add loop alone over random lists as long, for the size of a "
    "segment, as those of queries of 20 terms.",
    "Checked first: the candidates of every layout hold the ten best documents.",
    "Each document is drawn from two neighbouring ones of 20 Newsgroups, so words are as frequent, "
    "and stand together, as there; the vocabulary does not grow.",
)


def main() -> None:
    parser = parser_of(__doc__, cache=CACHE, runs=5, queries=24)
    parser.add_argument("--documents", type=int, default=SIZES[1])
    options = parser.parse_args()
    base = load_workload(newsgroups(), cache=options.cache)
    drawn = Synthetic.like(base.counts, terms=MEAN_TERMS)
    start = time.perf_counter()
    small = collection(base, drawn, min(SIZES[0], options.documents))
    large = collection(base, drawn, options.documents)
    inverted = time.perf_counter() - start
    rows = searched(small, large, lengths=TERMS, n_queries=options.queries, runs=options.runs)
    told: dict[str, object] = {
        "documents": f"{small.statistics.n_docs} and {large.statistics.n_docs}",
        "postings": int(large.statistics.document_frequencies.sum()),
        "terms": len(base.S),
        "non-zeros of S a column": round(base.S.to_scipy().nnz / len(base.S), 1),
        "terms of a document, mean": MEAN_TERMS,
        "k": K,
        "queries of each length": options.queries,
        "timed rounds": options.runs,
        "seconds to draw, invert and weigh both": round(inverted, 1),
        "10^9 cycles a second": round(cycles_per_second() / 1e9, 2),
    }
    for n_terms in TERMS:
        shares = [
            workload.touched(workload.queries(n_terms, options.queries) @ base.S.to_scipy())
            for workload in (base, small, large)
        ]
        told[f"postings touched by {n_terms} terms"] = (
            f"{shares[0]:.1%} of 20 Newsgroups, {shares[1]:.1%} and {shares[2]:.1%} of these"
        )
    title = "A posting among a million documents"
    print(write_report("million", title, rows, told, notes=NOTES))


if __name__ == "__main__":
    main()
