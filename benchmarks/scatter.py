"""What a posting costs at least, what it costs our search, and what the same search costs in C.

Run ``python benchmarks/scatter.py``. A term-at-a-time search adds a weight to the score of every
document in a list. The yardstick is this loop alone, over sorted lists of random documents, for
arrays of scores that fit in ever slower caches. Beside it stand our search and its first stage, at
two sizes of their arrays, and all of it in C (native/search.c) where there is a compiler.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from clock import cycles_per_second
from measure import Timing, interleave, parser_of, write_report
from native import FLAGS, NativeSearch, NoCompilerError, library
from newsgroups import CACHE, Workload, load_workload, newsgroups, vectors, workload_of
from softcosine.index.segment.segment import MAX_DOCS
from softcosine.kernels.jit import kernel
from stages import Stages
from synthetic import Synthetic

__all__ = ["drawn_lists", "query_lengths", "scatter"]

N_DOCS = (8_192, 18_846, 32_768, 65_536, 131_072, 262_144, 1_048_576)
WIDTHS = (("uint32", "float32"), ("uint16", "float32"), ("uint16", "float64"))
LIST = 1_000  # postings
N_POSTINGS = 8_000_000
TERMS = (5, 20, 100)
MEAN_TERMS = 100  # of a synthetic document
K = 10
AGAINST = {"yardstick": "times the yardstick", "in C": "times C"}
Call = Callable[[], object]
_T = TypeVar("_T")


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


@dataclass(slots=True)
class Race:
    """Contestants, the postings that each adds up, and what their lines say."""

    calls: dict[str, Call] = field(default_factory=dict)
    postings: dict[str, int] = field(default_factory=dict)
    facts: dict[str, dict[str, object]] = field(default_factory=dict)

    def enter(self, name: str, call: Call, postings: int, **facts: object) -> None:
        """Add a contestant."""
        self.calls[name], self.postings[name], self.facts[name] = call, postings, facts

    def rows(self, timings: Mapping[str, Timing], cycles: float) -> list[dict[str, object]]:
        """Return a line of the table each; `cycles` a second."""
        rows: list[dict[str, object]] = []
        for name, timing in timings.items():
            seconds = (timing.median, timing.minimum, timing.maximum)
            each = [round(s / self.postings[name] * 1e9, 3) for s in seconds]
            row: dict[str, object] = {"what": name, **self.facts[name]}
            others = {title: row.pop(key, None) for key, title in AGAINST.items()}
            row["postings"] = self.postings[name]
            row |= zip(("median ns", "min ns", "max ns"), each, strict=True)
            row["cycles a posting"] = round(timing.median * cycles / self.postings[name], 2)
            for title, other in others.items():
                if other in timings:
                    rate = timings[str(other)].median / self.postings[str(other)]
                    row[title] = round(timing.median / self.postings[name] / rate, 2)
            rows.append(row)
        return rows


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


def enter_yardsticks(
    race: Race, sizes: Sequence[int], shares: NDArray[np.float64], n_postings: int
) -> None:
    """Enter the loop for each number of documents and width of numbers, its sums checked."""
    for n_docs in sizes:
        for lists, lengths in (
            (f"{LIST} each", np.array([LIST])),
            ("as in queries", np.rint(shares * n_docs).astype(np.int64)),
        ):
            drawn, starts = drawn_lists(n_docs, lengths, n_postings)
            right = np.bincount(drawn, minlength=n_docs)
            for ids, real in WIDTHS:
                if n_docs > np.iinfo(ids).max + 1:
                    continue
                documents = drawn.astype(ids)
                weights, scores = np.ones(starts.shape[0] - 1, real), np.zeros(n_docs, real)
                scatter(documents, starts, weights, scores)
                if not np.array_equal(scores, right):
                    raise SystemExit("the loop adds up wrongly; its time means nothing.")
                race.enter(
                    yardstick(n_docs, lists, ids, real),
                    partial(scatter, documents, starts, weights, scores),
                    documents.shape[0],
                    **{"KB of scores": scores.nbytes // 1024},
                )


def yardstick(n_docs: int, lists: str, ids: str, real: str) -> str:
    """Name a yardstick."""
    return f"scatter, {ids} and {real}, {n_docs} documents, lists {lists}"


def each(call: Callable[[_T], object], arguments: Sequence[_T]) -> Call:
    """Bind a call to many arguments, one after the other."""
    return lambda: [call(argument) for argument in arguments]


def enter_searches(
    race: Race, label: str, workload: Workload, lengths: Sequence[int], n_queries: int, native: Any
) -> None:
    """Enter our search of queries of each length, its first stage, and the search in C."""
    searcher = workload.searcher
    staged, without = Stages(workload, k=K), Stages(workload, k=K, columns=False)
    n_docs = max(part.segment.n_docs for part in workload.parts)
    least = yardstick(n_docs, "as in queries", "uint16", "float32")
    facts: dict[str, object] = {"KB of scores": 4 * n_docs // 1024, "yardstick": least}
    for n_terms in lengths:
        Q = workload.queries(n_terms, n_queries)
        queries = vectors(Q)
        expanded = [staged.expansion(query) for query in queries]
        # All of the segment's postings, whether or not a column stands for them.
        share = workload.touched(Q @ workload.S.to_scipy())
        postings = round(share * workload.statistics.document_frequencies.sum() * n_queries)
        where = f"{label}, {n_terms} terms"
        scan = f"{where}: accumulate and scan"
        race.enter(scan, each(staged.candidates, expanded), postings, **facts)
        race.enter(f"{scan}, no columns", each(without.candidates, expanded), postings, **facts)
        search = partial(searcher.search, k=K)
        race.enter(f"{where}: search", each(search, queries), postings, **facts)
        if native is not None:
            in_c = NativeSearch(workload, K, native)
            in_c.check(queries, [search(query) for query in queries])
            race.enter(f"{where}: search, C", each(in_c.search, queries), postings, **facts)
            race.facts[f"{where}: search"] = {**facts, "in C": f"{where}: search, C"}


def measured(
    workload: Workload,
    *,
    sizes: Sequence[int],
    n_postings: int,
    lengths: Sequence[int],
    n_queries: int,
    runs: int,
    larger: int = MAX_DOCS,
) -> tuple[list[dict[str, object]], dict[str, object]]:
    """Time the yardsticks and the searches; a line of the table each, and what is to be told."""
    told: dict[str, object] = {"C": "gcc or cc " + " ".join(FLAGS)}
    native = None
    try:
        native = library()
    except NoCompilerError as reason:
        told["C"] = f"left out: {reason}"
    race = Race()
    shares = query_lengths(workload, lengths[len(lengths) // 2], n_queries)
    enter_yardsticks(race, sizes, shares, n_postings)
    enter_searches(race, "20 Newsgroups", workload, lengths, n_queries, native)
    drawn = Synthetic.like(workload.counts, terms=MEAN_TERMS).part(0, larger)
    segment = workload_of(drawn, workload.S)
    enter_searches(race, f"a segment of {larger}", segment, lengths, n_queries, native)
    before = cycles_per_second()
    timings = interleave(race.calls, runs=runs)
    after = cycles_per_second()
    told["10^9 cycles a second, before and after"] = f"{before / 1e9:.2f}, {after / 1e9:.2f}"
    return race.rows(timings, (before + after) / 2), told


NOTES = (
    "Times are of one thread, a posting; cycles by a chain of dependent operations timed before "
    "and after. The yardstick adds a constant weight to the scores of sorted lists of random "
    f"documents: {LIST} postings each, or as many, for the number of documents, as the lists "
    "that queries of the middle length expand to in 20 Newsgroups. Its sums are checked first.",
    "A search does all its work (expansion, lists, scan, exact scores); its time is divided by "
    "the number of postings that the expanded terms have. Terms of every fourth document are "
    "added as dense columns, which is faster than their postings; 'no columns' reads all from "
    "postings. 'Times the yardstick' compares with the loop over uint16 and float32, lists as in "
    "queries, at the same number of documents.",
    "The search in C does the same, step by step; documents and scores are checked to be the "
    "same, to the bit.",
)


def main() -> None:
    options = parser_of(__doc__, cache=CACHE, runs=9, queries=64).parse_args()
    rows, told = measured(
        load_workload(newsgroups(), cache=options.cache),
        sizes=N_DOCS,
        n_postings=N_POSTINGS,
        lengths=TERMS,
        n_queries=options.queries,
        runs=options.runs,
    )
    parameters = {"queries of each length": options.queries, "timed rounds": options.runs, **told}
    title = "What a posting costs: at least, in a search, and in C"
    print(write_report("scatter", title, rows, parameters, notes=NOTES))


if __name__ == "__main__":
    main()
