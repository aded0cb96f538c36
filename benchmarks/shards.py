"""What shards of a million documents cost beside one index: building, searching, memory, disk.

Run ``python benchmarks/shards.py``; it takes about an hour on two cores, 8 GB of memory and 15 GB
of the folder for temporary files. The documents are drawn from 20 Newsgroups (`synthetic`), indexes
have the default settings for English. With ``--folder``, what is built is kept and used again.
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass
from functools import partial
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from first_stage import LENGTHS, drawn_queries
from measure import parser_of, write_report
from newsgroups import MIN_DF, newsgroups
from softcosine import ShardedIndex, SoftIndex, analyze
from softcosine.cluster.shard import Shard
from softcosine.index.query.query_vectors import query_vector
from softcosine.index.query.ready_query import ReadyQuery
from softcosine.index.search.results import Hits
from softcosine.index.segment.statistics import FieldStatistics
from synthetic import Synthetic, words

Index = SoftIndex | ShardedIndex

MEAN_TERMS = 100  # of a document
ONE = "one index"
# Its writer numbers all words in one batch, as shards do, so that scores are equal to the bit.
BUILD_ONE = """
import json, sys
import softcosine as sc
records, folder = sys.argv[1:]
with sc.SoftIndex.create(folder).writer(memory=None) as writer, open(records) as lines:
    for line in lines:
        writer.add(**json.loads(line))
"""
BUILD_SHARDS = """
import sys
import softcosine as sc
records, folder, per_shard, jobs = sys.argv[1:]
sc.ShardPlan([records], docs_per_shard=int(per_shard)).build(folder, jobs=int(jobs))
"""
# Opens an index, searches, and prints what memory the process has then.
MEMORY = """
import json, sys
import softcosine as sc
from softcosine import ShardedIndex, SoftIndex
path, queries = sys.argv[1], json.load(open(sys.argv[2]))
if path:
    kind = ShardedIndex if path.endswith(".shards") else SoftIndex
    index = kind.open(path)
    for query in queries:
        index.search(query)
print(open("/proc/self/smaps_rollup").read())
"""
WORDS: dict[str, Any] = {"ask": "words"}
SEARCHES: dict[str, dict[str, Any]] = {
    "words and meaning": {},
    "words": WORDS,
    "words, soft_bm25": {**WORDS, "ranking": "soft_bm25"},
    "words and meaning, first_stage=32": {"first_stage": 32},
}
PARTS = {"segment": "postings", "coordinates": "coordinates", "norms": "norms"}


@dataclass(frozen=True)
class Kind:
    """One index, or shards that some jobs build."""

    name: str
    folder: str
    n_shards: int = 0
    jobs: int = 1


SMALL = "4 shards, 2 jobs"  # built of a tenth of the documents alone
KINDS = (
    Kind(ONE, "one.index"),
    Kind("4 shards, 1 job", "4-1.shards", 4),
    Kind(SMALL, "4-2.shards", 4, 2),
    Kind("16 shards, 2 jobs", "16-2.shards", 16, 2),
)


def write_records(texts: Sequence[str], n_docs: int, path: Path) -> None:
    """Write documents drawn from texts as JSON lines."""
    if path.exists():
        return
    analyzed = analyze(texts, min_df=MIN_DF)
    drawn = Synthetic.like(analyzed.counts(), terms=MEAN_TERMS)
    spelled = words(analyzed.vocabulary.terms)
    with path.with_suffix(".new").open("w", encoding="utf-8") as lines:
        for number, text in enumerate(drawn.texts(n_docs, spelled)):
            lines.write(json.dumps({"id": f"d{number}", "text": text}) + "\n")
    path.with_suffix(".new").rename(path)


def build(records: Path, n_docs: int, kind: Kind, folder: Path) -> dict[str, float]:
    """Build one index or shards in a process of its own; return the seconds it takes."""
    code = [BUILD_ONE, str(records), str(folder)]
    if kind.n_shards:
        per_shard = -(-n_docs // kind.n_shards)
        code = [BUILD_SHARDS, str(records), str(folder), str(per_shard), str(kind.jobs)]
    start, before = time.perf_counter(), resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run([sys.executable, "-c", *code], check=True)
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    cpu = used.ru_utime + used.ru_stime - before.ru_utime - before.ru_stime
    return {"seconds": time.perf_counter() - start, "cpu seconds": cpu, "load": os.getloadavg()[0]}


def building(
    texts: Sequence[str], n_docs: int, rounds: int, folder: Path, kinds: Sequence[Kind]
) -> tuple[list[dict[str, object]], dict[str, Path]]:
    """Build all kinds in turn, round after round; what is there already is not built again.

    Returns a line of the table each, and the folders.
    """
    records = folder / f"{n_docs}.jsonl"
    write_records(texts, n_docs, records)
    paths = {kind.name: folder / f"{n_docs}-{kind.folder}" for kind in kinds}
    runs: dict[str, list[dict[str, float]]] = {}
    for round_ in range(rounds):
        for kind in kinds:
            path = paths[kind.name]
            facts = path.with_suffix(f".{round_}.json")
            if not facts.exists():
                shutil.rmtree(path, ignore_errors=True)
                facts.write_text(json.dumps(build(records, n_docs, kind, path)))
            runs.setdefault(kind.name, []).append(json.loads(facts.read_text()))
    with closing_all(paths) as indexes:
        if len({index.epoch for index in indexes.values()}) > 1:
            raise SystemExit("the epochs differ; the figures mean nothing.")
    rows = []
    for name, path in paths.items():
        least = min(run["cpu seconds"] for run in runs[name])
        rows.append(
            {
                "documents": n_docs,
                "index": name,
                "processor ms a document": round(1e3 * least / n_docs, 3),
                "most": round(1e3 * max(run["cpu seconds"] for run in runs[name]) / n_docs, 3),
                "seconds, least": round(min(run["seconds"] for run in runs[name])),
                "runs": rounds,
                **on_disk(path, n_docs),
            }
        )
    return rows, paths


@contextmanager
def closing_all(paths: Mapping[str, Path]) -> Iterator[dict[str, Index]]:
    """Open indexes, and close them after the block."""
    kinds: dict[str, type[Index]] = {".shards": ShardedIndex, ".index": SoftIndex}
    indexes = {name: kinds[path.suffix].open(path) for name, path in paths.items()}
    try:
        yield indexes
    finally:
        for index in indexes.values():
            if isinstance(index, ShardedIndex):
                index.close()


class ShardTimer:
    """Processor seconds inside the calls of shards, on threads of this process."""

    def __init__(self) -> None:
        self.seconds: list[float] = []

    @contextmanager
    def timing(self) -> Iterator[None]:
        """Time the calls inside the block."""
        call = Shard.call

        def timed(shard: Shard, method: str, arguments: Sequence[Any]) -> Any:
            start = time.thread_time()
            try:
                return call(shard, method, arguments)
            finally:
                self.seconds.append(time.thread_time() - start)

        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(Shard, "call", timed)
            yield


# Seconds of a search: by the clock, of all processors, of them the calling thread, and shards.
Seconds = tuple[float, float, float, float]


def timed_search(
    search: Callable[[], Hits], timer: ShardTimer, others: Callable[[], float] = float
) -> tuple[Hits, Seconds]:
    """Search once; return the hits and the seconds, with those of other processes."""
    timer.seconds.clear()
    wall, every, own, far = time.perf_counter(), time.process_time(), time.thread_time(), others()
    hits = search()
    own = time.thread_time() - own
    every = time.process_time() - every
    far = others() - far
    return hits, (time.perf_counter() - wall, every + far, own, far or sum(timer.seconds))


def searched(
    indexes: Mapping[str, Index], queries: Sequence[str], *, runs: int
) -> list[dict[str, object]]:
    """Search all indexes in turn, query by query; check that they answer alike.

    Returns a line of the table for each way of searching and index.
    """
    found: dict[tuple[str, str], list[list[Seconds]]] = {
        (way, name): [[] for _ in queries] for way in SEARCHES for name in indexes
    }
    timer = ShardTimer()
    with timer.timing():
        for round_ in range(runs + 1):  # the first warms up
            for number, query in enumerate(queries):
                for way, options in SEARCHES.items():
                    answers = []
                    for name, index in indexes.items():
                        hits, seconds = timed_search(partial(index.search, query, **options), timer)
                        answers.append([(hit.id, hit.number, hit.score) for hit in hits])
                        if round_:
                            found[way, name][number].append(seconds)
                    if any(one != answers[0] for one in answers):
                        raise SystemExit(
                            f"{query!r} has different answers; the figures mean nothing."
                        )
    return [searches_row(way, name, times) for (way, name), times in found.items()]


def searches_row(way: str, name: str, times: Sequence[Sequence[Seconds]]) -> dict[str, object]:
    """Return a line of the table, of the runs of every query."""
    wall, every, own, shards = 1e3 * np.array(times).min(axis=1).T  # the least of the runs
    row: dict[str, object] = {
        "search": way, "index": name, "processor ms": round(float(every.mean()), 2),
    }  # fmt: skip
    if name != ONE:
        row["broker"] = round(float(own.mean()), 2)
        row["shards"] = round(float(shards.mean()), 2)
        row["transport"] = round(float(np.maximum(every - own - shards, 0).mean()), 2)
    row["wall ms, median"] = round(float(np.median(wall)), 1)
    row["wall ms, 9 of 10 below"] = round(float(np.quantile(wall, 0.9)), 1)
    return row


def processor_seconds(process: int) -> float:
    """Return the processor seconds that a process has used."""
    fields = Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def descendants(process: int) -> list[int]:
    """Return the processes that a process started, and those that they did."""
    found, left = [], [process]
    while left:
        tasks = Path(f"/proc/{left.pop()}/task").glob("*/children")
        children = [int(child) for task in tasks for child in task.read_text().split()]
        found += children
        left += children
    return found


def memory(smaps_rollup: str) -> dict[str, object]:
    """Return MiB of memory of a process: anonymous, and of mapped files."""
    lines = (line.split() for line in smaps_rollup.strip().splitlines()[1:])
    kib = {fields[0].rstrip(":"): int(fields[1]) for fields in lines}
    return {
        "anonymous MiB": round(kib["Anonymous"] / 1024),
        "mapped files MiB": round((kib["Rss"] - kib["Anonymous"]) / 1024),
    }


def on_ray(
    path: Path, whole: SoftIndex, queries: Sequence[str], *, runs: int
) -> tuple[list[dict[str, object]], list[dict[str, object]]]:
    """Search shards in actors of Ray; check the answers.

    Returns lines of the tables of searches and of memory.
    """
    os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")
    ray = import_module("ray")
    ray.init(num_cpus=2, include_dashboard=False, log_to_driver=False, object_store_memory=1 << 28)
    rows = []
    try:
        with closing(ShardedIndex.open(path, engine="ray")) as index:
            workers: Any = index._shards._workers
            actors = ray.get([one.actors[0].process.remote() for one in workers.shards])
            for way, options in SEARCHES.items():
                totals = []
                for round_ in range(runs + 1):
                    shards = sum(map(processor_seconds, actors))
                    others = [one for one in descendants(os.getpid()) if one not in actors]
                    ray_own = sum(map(processor_seconds, others))
                    every, own, walls = time.process_time(), time.thread_time(), []
                    for query in queries:
                        start = time.perf_counter()
                        hits = index.search(query, **options)
                        walls.append(time.perf_counter() - start)
                        if not round_ and list(hits) != list(whole.search(query, **options)):
                            raise SystemExit(f"{query!r} has different answers under Ray.")
                    own = time.thread_time() - own
                    every = time.process_time() - every
                    shards = sum(map(processor_seconds, actors)) - shards
                    ray_own = sum(map(processor_seconds, others)) - ray_own
                    if round_:
                        totals.append((every + shards + ray_own, own, shards, walls))
                every, own, shards, walls = min(totals)
                ms = 1e3 / len(queries)
                rows.append({
                    "search": way, "index": f"{index.n_shards} shards, Ray",
                    "processor ms": round(every * ms, 2), "broker": round(own * ms, 2),
                    "shards": round(shards * ms, 2),
                    "transport": round((every - own - shards) * ms, 2),
                    "wall ms, median": round(1e3 * float(np.median(walls)), 1),
                    "wall ms, 9 of 10 below": round(1e3 * float(np.quantile(walls, 0.9)), 1),
                })  # fmt: skip
            smaps = [Path(f"/proc/{actor}/smaps_rollup").read_text() for actor in actors]
            return rows, [
                {"process": f"actor of Ray, shard {number} of {index.n_shards}", **memory(one)}
                for number, one in enumerate(smaps)
            ]
    finally:
        ray.shutdown()


def in_memory(paths: Mapping[str, Path | None], queries: Path) -> list[dict[str, object]]:
    """Open each index in a process of its own and search; return a line of the table each."""
    rows: list[dict[str, object]] = []
    for name, path in paths.items():
        command = [sys.executable, "-c", MEMORY, "" if path is None else str(path), str(queries)]
        done = subprocess.run(command, capture_output=True, text=True, check=True)
        rows.append({"process": name, **memory(done.stdout)})
    return rows


def on_disk(path: Path, n_docs: int) -> dict[str, object]:
    """Return columns of the table: the bytes of an index a document, hard links counted once."""
    sizes = dict.fromkeys(("texts and ids", "postings", "coordinates", "norms", "other"), 0)
    seen = set()
    for file in path.rglob("*"):
        facts = file.stat()
        if file.is_file() and facts.st_ino not in seen:
            seen.add(facts.st_ino)
            kind = "texts and ids" if file.suffix == ".sqlite" else PARTS.get(_part(file), "other")
            sizes[kind] += facts.st_size
    return {
        "bytes on disk a document": round(sum(sizes.values()) / n_docs),
        **{kind: round(size / n_docs) for kind, size in sizes.items()},
    }


def _part(file: Path) -> str:
    return file.parent.name.partition("-")[0]


def touched(index: SoftIndex, queries: Sequence[str]) -> tuple[int, float]:
    """Return the number of postings, and the mean number that queries touch."""
    ((_, words),) = index.words("soft_bm25").summands
    parts = [part.segment for part in words.parts]
    frequencies = FieldStatistics.of(parts, len(index.S)).document_frequencies
    read = []
    for query in queries:
        vector = query_vector(index.parse(query), words.ranking, index.S, index.source)
        read.append(int(frequencies[words.prepare(ReadyQuery((vector,))).expanded.terms].sum()))
    return int(frequencies.sum()), float(np.mean(read))


def write_building(options: argparse.Namespace, folder: Path) -> dict[str, Path]:
    """Build all; return the folders of the larger collection."""
    texts = newsgroups()
    few = options.documents // 10
    small, _ = building(texts, few, options.rounds, folder, KINDS[:3])
    kinds = [kind for kind in KINDS if kind.name != SMALL]
    rows, paths = building(texts, options.documents, 1, folder, kinds)
    facts: dict[str, object] = {"terms of a document, mean": MEAN_TERMS}
    title = "Building shards beside one index"
    report = partial(write_report, "shards_building", title, script="shards")
    print(report([*small, *rows], facts, notes=BUILDING_NOTES))
    return {
        ONE: paths[ONE], "4 shards": paths["4 shards, 1 job"],
        "16 shards": paths["16 shards, 2 jobs"],
    }  # fmt: skip


def write_searches(options: argparse.Namespace, folder: Path, paths: Mapping[str, Path]) -> None:
    """Search all, and read the memory of processes that do."""
    whole = SoftIndex.open(paths[ONE])
    queries = drawn_queries(whole, options.queries, LENGTHS)
    with closing_all(paths) as indexes:
        rows = searched(indexes, queries, runs=options.runs)
    for row in rows:
        print(row, flush=True)
    by_ray, actors = on_ray(paths["4 shards"], whole, queries, runs=options.runs)
    n_postings, read = touched(whole, queries)
    facts: dict[str, object] = {
        "documents": len(whole), "queries": len(queries), "runs": options.runs,
        "words of a query": "2, 4 and 8 in turn", "postings": n_postings,
        "postings that a query touches, mean": round(read),
        "share of all postings": round(read / n_postings, 3),
    }  # fmt: skip
    title = "Searching shards beside one index"
    report = partial(write_report, "shards_search", title, script="shards")
    print(report([*rows, *by_ray], facts, notes=SEARCH_NOTES))
    asked = folder / "queries.json"
    asked.write_text(json.dumps(queries))
    opened = {
        "imports alone": None, **paths,
        "one shard of 4": paths["4 shards"] / "shard-0000",
        "one shard of 16": paths["16 shards"] / "shard-0000",
    }  # fmt: skip
    title = "Memory of processes that search shards"
    report = partial(write_report, "shards_memory", title, script="shards")
    print(report([*in_memory(opened, asked), *actors], facts, notes=MEMORY_NOTES))


def main() -> None:
    """Write the reports."""
    parser = parser_of(__doc__, runs=3, queries=120)
    parser.add_argument("--documents", type=int, default=1_000_000)
    parser.add_argument("--rounds", type=int, default=1, help="of building a tenth")
    parser.add_argument("--folder", type=Path, help="for records and indexes; kept if given")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as made:
        folder = options.folder or Path(made)
        write_searches(options, folder, write_building(options, folder))


BUILDING_NOTES = (
    "Each build in a new process, the kinds in turn; processor time of all its processes, with "
    "their start: the least and the most of the runs. Other programs used the machine, so seconds "
    "are no measure. Checked: all have one epoch.",
    "Default settings for English: stems, S of the bundled vectors and spelling, coordinates from "
    "word pieces (static), texts stored. The one index is written with memory=None, so that it "
    "numbers words as shards do. Bytes a document by what they store; postings with the terms of "
    "each document.",
)
SEARCH_NOTES = (
    "All indexes in turn, query by query, one query at a time. Milliseconds of processor time: for "
    "every query the least of its runs, then the mean. Broker: the thread that searches. Shards: "
    "inside their calls. Transport: all else. The clock was disturbed by other programs; the least "
    "of the runs of each query.",
    "Checked: ids, insertion numbers and scores of the ten best of every query are equal, to the "
    "bit, in all indexes, by every way of searching.",
    "Ray: an actor for each shard. Shards: the processes of the actors, with their part of the "
    "transport; transport: other threads of the process that searches, and Ray's own processes. "
    "From totals of all queries, the least of the runs.",
)
MEMORY_NOTES = (
    "New processes that open an index and search all queries by words and meaning. Mapped files "
    "are pages of the index and of libraries that were touched; processes share them.",
)


if __name__ == "__main__":
    main()
