"""What other engines find of the exact ten best, and how fast, on 20 Newsgroups.

Run ``python benchmarks/engines.py``; one thread searches. The documents go by both routes into
every engine: by coordinates in the basis, of an index of the frequent words only, and by few
dimensions, of the whole index. ``--tiny`` writes nothing.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from measure import REPORTS, Timing, interleave, write_report
from neighbors import in_one_thread
from newsgroups import CACHE, MIN_DF, newsgroups
from softcosine import SoftIndex
from softcosine.engines.contents import Contents, vectors_of_slots
from softcosine.engines.engine_index import EngineIndex
from softcosine.engines.recall import recall_of
from softcosine.engines.routes import Basis, Lsa, Route
from softcosine.engines.row_space import RowSpace
from softcosine.engines.state import EngineRequest, State
from softcosine.engines.subject import EngineQuery, Subject, subject_of
from softcosine.index.search.top_docs import Top
from softcosine.space.basis import orthonormal_basis
from softcosine.space.latent import right_singular_vectors

K = 10
N_QUERIES, N_WORDS = 100, 10
RERANK = 100
FEW_WORDS_DF = 150  # leaves about 2,500 terms
DIMENSIONS = 256
LARGEST = 512
GRAPH_WIDTHS = (16, 64, 256)
RERANKS = (0, 100, 1000)


@dataclass(frozen=True, slots=True)
class Contestant:
    """An engine with its settings, and the widths that it is searched with."""

    label: str
    engine: str
    settings: Mapping[str, Any]
    widths: tuple[int | None, ...] = (None,)


def contestants(*, n_lists: int = 128, pieces: int = 64, bits: int = 8) -> list[Contestant]:
    """Return all engines, for vectors that divide into so many pieces."""
    graph = {"construction": 100}
    quantised = f"IVF{n_lists},PQ{pieces}x{bits}"
    lists = (max(1, n_lists // 64), max(1, n_lists // 16), max(1, n_lists // 4))
    training = {"trained_on": 8192}
    return [
        Contestant("Faiss Flat", "faiss", {"factory": "Flat"}),
        Contestant("Faiss HNSW32", "faiss", {"factory": "HNSW32", **graph}, GRAPH_WIDTHS),
        Contestant("Faiss IVF", "faiss", {"factory": f"IVF{n_lists},Flat", **training}, lists),
        Contestant("Faiss IVF, PQ", "faiss", {"factory": quantised, **training}, lists),
        Contestant("Annoy angular", "annoy", {"trees": 20}, (500, 2000, 8000)),
        Contestant("Annoy dot", "annoy", {"metric": "dot", "trees": 20}, (500, 2000, 8000)),
        Contestant("hnswlib", "hnswlib", graph, GRAPH_WIDTHS),
        Contestant("USearch", "usearch", graph, GRAPH_WIDTHS),
    ]


def index_of(texts: Sequence[str], min_df: int, cache: Path | None) -> SoftIndex:
    """Index texts by a linear ranking of words; kept in `cache`."""

    def made() -> SoftIndex:
        return SoftIndex.from_texts(texts, min_df=min_df, ranking="soft_bm25", encoder=None)

    if cache is None:
        return made()
    path = cache / f"engines-{min_df}.index"
    try:
        index = SoftIndex.open(path)
    except OSError:  # none yet, or of another version
        cache.mkdir(parents=True, exist_ok=True)
        made().save(path, overwrite=path.exists())
        index = SoftIndex.open(path)
    assert len(index) == len(texts)
    return index


def sampled(subject: Subject, n_queries: int, n_words: int) -> Sequence[EngineQuery]:
    """Draw queries: distinct words of a random document each, counted once."""
    generator = np.random.default_rng(0)
    rows = [row for _, block in subject.ranked.documents() for row in _terms(block)]
    long = [row for row in rows if len(row) >= n_words]
    chosen = generator.choice(len(long), n_queries)
    vocabulary = subject.S.vocabulary
    queries = [
        [
            vocabulary.term(int(j))
            for j in np.sort(generator.choice(long[i], n_words, replace=False))
        ]
        for i in chosen.tolist()
    ]
    return subject.queries(queries, k=K, exactly=False)


def best(subject: Subject, queries: Sequence[EngineQuery]) -> list[Top]:
    """Return the exact results of the index."""
    assert subject.snapshot is not None
    searcher = subject.snapshot.searcher(subject.vector_ranking)
    return searcher.search_batch([query.vectors for query in queries], k=K, threads=1)


def _terms(block: Any) -> list[Any]:
    return [block.indices[slice(*block.indptr[i : i + 2])] for i in range(block.shape[0])]


def served(subject: Subject, contents: Contents, route: Route, one: Contestant) -> State:
    """Build an engine over a route that is there already."""
    asked = EngineRequest(one.engine, one.settings, route.name)
    engine = asked.engine()
    space = RowSpace.of(route, subject.ranked, engine.capabilities)
    engine.build(vectors_of_slots(space, subject.ranked, contents), threads=2)
    return State(asked, subject, contents, space, engine)


def raced(
    subject: Subject,
    route: Route,
    entered: Sequence[Contestant],
    queries: Sequence[EngineQuery],
    *,
    runs: int,
) -> list[dict[str, Any]]:
    """Measure recall and time of all engines on one route, one query at a time."""
    contents = Contents.of(subject.ranked)
    racing: dict[str, Any] = {
        "exact index": lambda: [best(subject, [one]) for one in queries],
        "exact index, in a batch": lambda: best(subject, queries),
    }
    facts: dict[str, dict[str, Any]] = {name: {"recall@10": 1.0} for name in racing}
    for one in entered:
        started = time.perf_counter()
        state = served(subject, contents, route, one)
        seconds = time.perf_counter() - started
        print(f"{route.name}: {one.label} built in {seconds:.0f} s", flush=True)
        for width in one.widths:
            for rerank in (0, RERANK):
                asked: dict[str, Any] = {"rerank": rerank, "width": width, "threads": 1}
                name = f"{one.label}, {width}, {rerank}"
                facts[name] = {
                    "engine": one.label,
                    "width": width,
                    "re-rank": rerank or None,
                    "recall@10": round(recall_of(state, queries, K, **asked), 3),
                    "build s": round(seconds, 1),
                }
                racing[name] = _one_by_one(state, queries, asked)
        if state.engine.capabilities.exact:
            facts[f"{one.label}, in a batch"] = {
                "engine": f"{one.label}, in a batch",
                "recall@10": facts[f"{one.label}, None, 0"]["recall@10"],
            }
            racing[f"{one.label}, in a batch"] = _in_a_batch(state, queries)
    timings = interleave(racing, runs=runs)
    return [
        {
            "route": route.name,
            "dimensions": route.n_dimensions,
            "engine": name,
            **facts[name],
            **_times(timing, len(queries)),
        }
        for name, timing in timings.items()
    ]


def _one_by_one(state: State, queries: Sequence[EngineQuery], asked: dict[str, Any]) -> Any:
    return lambda: [state.find([one], K, **asked) for one in queries]


def _in_a_batch(state: State, queries: Sequence[EngineQuery]) -> Any:
    return lambda: state.find(queries, K, threads=1)


def _times(timing: Timing, n_queries: int) -> dict[str, float]:
    return {
        "ms a query": round(1e3 * timing.median / n_queries, 3),
        "min ms": round(1e3 * timing.minimum / n_queries, 3),
        "max ms": round(1e3 * timing.maximum / n_queries, 3),
        "queries a second": round(n_queries / timing.median, 1),
    }


def kept(
    subject: Subject, V: Any, dimensions: Sequence[int], queries: Sequence[EngineQuery]
) -> list[dict[str, Any]]:
    """Measure what few dimensions lose, whatever the engine: all vectors are compared."""
    contents, rows = Contents.of(subject.ranked), []
    for n in dimensions:
        route = Lsa(np.ascontiguousarray(V[:, :n], np.float32))
        state = served(subject, contents, route, Contestant("", "faiss", {"factory": "Flat"}))
        found: dict[str, Any] = {"route": "lsa", "dimensions": n, "engine": "any, exhaustive"}
        for rerank in RERANKS:
            share = recall_of(state, queries, K, rerank=rerank, threads=1)
            rows.append({**found, "re-rank": rerank or None, "recall@10": round(share, 3)})
    return rows


def reduced(subject: Subject, n_dimensions: int) -> Any:
    """Return the singular vectors of the documents, V."""
    ranked = subject.ranked
    V, _ = right_singular_vectors(
        lambda: (rows for _, rows in ranked.documents()),
        len(subject.S),
        k=min(n_dimensions, len(subject.S), len(ranked)),
        n_iterations=3,
    )
    return V


def checked(subject: Subject, route: Route, queries: Sequence[EngineQuery]) -> None:
    """Exit unless the basis, compared all, gives the index's own scores."""
    flat = Contestant("", "faiss", {"factory": "Flat"})
    state = served(subject, Contents.of(subject.ranked), route, flat)
    for ours, theirs in zip(state.find(queries, K, threads=1), best(subject, queries), strict=True):
        if not np.allclose(ours.scores, theirs.scores, rtol=1e-4):
            raise SystemExit("the basis does not give the index's scores; compare no times.")


def plotted(rows: Sequence[Mapping[str, Any]], path: Path) -> None:
    """Draw recall against time, a panel a route."""
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt
    from matplotlib.ticker import FuncFormatter, LogLocator, NullFormatter

    colors = (
        "#0072b2",
        "#56b4e9",
        "#009e73",
        "#8c8c00",
        "#e69f00",
        "#d55e00",
        "#cc79a7",
        "#000000",
    )
    routes = [route for route in ("basis", "lsa") if any(row["route"] == route for row in rows)]
    figure, axes = plt.subplots(
        1, len(routes), figsize=(5.2 * len(routes), 5.4), sharex=True, sharey=True, squeeze=False
    )
    for axis, route in zip(axes[0], routes, strict=True):
        own = [row for row in rows if row["route"] == route and "ms a query" in row]
        names = dict.fromkeys(
            row["engine"]
            for row in own
            if "exact" not in row["engine"] and "batch" not in row["engine"]
        )
        for name, color in zip(names, colors, strict=False):
            for rerank, style in ((None, "-"), (RERANK, "--")):
                line = [r for r in own if r["engine"] == name and r["re-rank"] == rerank]
                axis.plot(
                    [row["ms a query"] for row in line],
                    [row["recall@10"] for row in line],
                    style, marker="o", markersize=4, linewidth=1.3, color=color,
                    markerfacecolor="white" if rerank else color,
                    label=name if rerank is None else None,
                )  # fmt: skip
        for row in own:
            if row["engine"] == "exact index":
                axis.plot(
                    row["ms a query"], 1.0, "*", markersize=17, color="#d00000", zorder=5,
                    label="exact index", linestyle="none",
                )  # fmt: skip
        axis.set_xscale("log")
        axis.xaxis.set_major_locator(LogLocator(subs=(1.0, 2.0, 5.0)))
        axis.xaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))
        axis.xaxis.set_minor_formatter(NullFormatter())
        axis.set_ylim(0, 1.05)
        axis.set_xlabel("milliseconds a query, one thread")
        n = own[0]["dimensions"]
        axis.set_title(f"route {route}: {n:,} dimensions", fontsize=11)
        axis.grid(True, which="both", alpha=0.25)
    axes[0][0].set_ylabel("recall of the exact 10 best")
    handles, labels = axes[0][0].get_legend_handles_labels()
    handles += [
        plt.Line2D([], [], color="#555555", linestyle="-", marker="o", markersize=4),
        plt.Line2D(
            [], [], color="#555555", linestyle="--", marker="o", markersize=4,
            markerfacecolor="white",
        ),
    ]  # fmt: skip
    labels += ["the engine's own answers", f"{RERANK} candidates scored exactly"]
    figure.legend(handles, labels, loc="lower center", ncol=4, fontsize=9, frameon=False)
    figure.suptitle("20 Newsgroups, soft BM25, queries of 10 words", fontsize=12)
    figure.tight_layout(rect=(0, 0.13, 1, 1))
    figure.savefig(path, dpi=130, metadata={"Software": None})
    plt.close(figure)


def race(
    whole: SoftIndex,
    few: SoftIndex,
    *,
    n_queries: int,
    n_words: int,
    runs: int,
    dimensions: Sequence[int],
    by_basis: Sequence[Contestant],
    by_lsa: Sequence[Contestant],
) -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
    """Return what was measured of all engines, and what few dimensions keep."""
    frequent = subject_of(few)
    route: Route = Basis(orthonormal_basis(frequent.S))
    queries = sampled(frequent, n_queries, n_words)
    checked(frequent, route, queries)
    rows = raced(frequent, route, by_basis, queries, runs=runs)
    subject = subject_of(whole)
    queries = sampled(subject, n_queries, n_words)
    V = reduced(subject, max(dimensions))
    middle = np.ascontiguousarray(V[:, : dimensions[-2]], np.float32)
    rows += raced(subject, Lsa(middle), by_lsa, queries, runs=runs)
    return rows, kept(subject, V, dimensions, queries)


def main(arguments: Sequence[str]) -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--tiny", action="store_true", help="few documents, nothing written")
    parser.add_argument("--runs", type=int, default=5)
    options = parser.parse_args(arguments)
    in_one_thread()
    texts = newsgroups()[:400] if options.tiny else newsgroups()
    cache = None if options.tiny else CACHE
    whole, few = (
        index_of(texts, MIN_DF, cache),
        index_of(texts, FEW_WORDS_DF if cache else 20, cache),
    )
    pieces = {"n_lists": 4, "bits": 4} if options.tiny else {}
    n_terms = len(few.vocabulary)
    divisor = max(d for d in range(1, 101) if n_terms % d == 0)
    dimensions = (16, 32, 64) if options.tiny else (64, 128, DIMENSIONS, LARGEST)
    rows, lost = race(
        whole, few, n_queries=N_QUERIES, n_words=N_WORDS, runs=options.runs,
        dimensions=dimensions,
        by_basis=contestants(**{**pieces, "pieces": divisor}),
        by_lsa=contestants(**{**pieces, "pieces": dimensions[-2] // 4}),
    )  # fmt: skip
    if options.tiny:
        return
    packages = {
        EngineIndex.build(few, one, route="lsa", n_dimensions=2).package
        for one in ("faiss", "annoy", "hnswlib", "usearch")
    }
    parameters = {
        "documents": len(whole),
        "terms": f"{len(whole.vocabulary):,}; {n_terms:,} for the basis (min_df={FEW_WORDS_DF})",
        "similarities and ranking": "the default S; soft BM25",
        "queries": f"{N_QUERIES} of {N_WORDS} distinct words of a document each, one at a time",
        "threads": "1 for searches, 2 for building",
        "timed rounds": options.runs,
        "engines": ", ".join(sorted(packages)),
    }
    notes = [
        "![Recall against time](engines.png)",
        "Checked first: compared all in the basis, the vectors give the index's own scores within "
        "1e-4, in float32.",
        "A query's time begins with its weights and ends with numbers and scores; it includes what "
        "brings the query into the engine's dimensions. Re-rank: so many candidates of the engine "
        "are scored exactly by the index, which then has its own order.",
        "Width: candidates of a graph, inverted lists looked at, vectors looked at by Annoy.",
        "Recall counts found documents whose exact score reaches that of the tenth best. "
        "What few dimensions lose is lost in every engine: the last rows compare all vectors.",
    ]
    title = "What other engines find of the exact ten best, and how fast"
    print(write_report("engines", title, rows + lost, parameters, notes=notes))
    plotted(rows, REPORTS / "engines.png")


if __name__ == "__main__":
    main(sys.argv[1:])
