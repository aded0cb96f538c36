"""What hits in files and similar documents cost over shards, beside one index of the same texts.

Run ``python benchmarks/shards_tasks.py``: 6,000 messages of 20 Newsgroups, one index and three
shards, default settings for English.
"""

from __future__ import annotations

import argparse
import json
import tempfile
import time
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path

from first_stage import drawn_queries
from measure import parser_of, write_report
from newsgroups import newsgroups
from softcosine import ShardedIndex, ShardPlan, SoftIndex

WORDS, HITS = 4, 100  # of a query
SHARDS = 3
Indexes = Mapping[str, SoftIndex | ShardedIndex]


def built(folder: Path, n_docs: int) -> tuple[SoftIndex, ShardedIndex]:
    """Return one index and shards of the same messages."""
    records = folder / "messages.jsonl"
    texts = newsgroups()[:n_docs]
    lines = (json.dumps({"id": f"d{n}", "text": text}) + "\n" for n, text in enumerate(texts))
    records.write_text("".join(lines), encoding="utf-8")
    plan = ShardPlan([records], docs_per_shard=-(-n_docs // SHARDS))
    plan.build(folder / "messages.shards")
    one = SoftIndex.create(folder / "messages.index", encoder="static")
    with one.writer(memory=None) as writer:  # numbers words as shards do
        writer.add_many([f"d{n}" for n in range(n_docs)], texts)
    return one, ShardedIndex.open(folder / "messages.shards")


def seconds_of(
    indexes: Indexes, action: Callable[[SoftIndex | ShardedIndex, Path], object], runs: int
) -> tuple[dict[str, float], bytes]:
    """Return the least processor seconds of an action, and what all indexes wrote."""
    least, written = dict[str, float](), set[bytes]()
    for run in range(runs):
        for name, index in indexes.items():
            with tempfile.TemporaryDirectory() as folder:
                file = Path(folder) / "answers.jsonl"
                start = time.process_time()
                action(index, file)
                seconds = time.process_time() - start
                written.add(file.read_bytes())
            least[name] = seconds if run == 0 else min(least[name], seconds)
    assert len(written) == 1, "the answers differ"
    return least, written.pop()


def write_pairs(file: Path, found: Iterable[object]) -> None:
    """Write similar documents with their similarity."""
    file.write_text("\n".join(map(repr, found)), encoding="utf-8")


def tasks(indexes: Indexes, queries: list[str]) -> dict[str, Callable[..., object]]:
    """Return what is timed."""
    return {
        f"{len(queries):,} queries, {HITS} hits each": lambda index, file: index.search_batch(
            queries, to=file, k=HITS
        ),
        "all pairs of 0.7 and more": lambda index, file: write_pairs(
            file, index.pairs(min_similarity=0.7)
        ),
    }


def rows_of(options: argparse.Namespace) -> list[dict[str, object]]:
    """Return a row for each task."""
    rows: list[dict[str, object]] = []
    with tempfile.TemporaryDirectory() as folder:
        one, shards = built(Path(folder), options.documents)
        with shards:
            indexes: Indexes = {"one index": one, f"{SHARDS} shards": shards}
            queries = drawn_queries(one, options.documents, (WORDS,))
            queries = (queries * -(-options.queries // len(queries)))[: options.queries]
            for name, action in tasks(indexes, queries).items():
                seconds, answer = seconds_of(indexes, action, options.runs)
                costs = {index: round(value, 2) for index, value in seconds.items()}
                rows.append({"task": name, **costs, "MB": round(len(answer) / 1e6, 1)})
    return rows


def main() -> None:
    """Write the report."""
    parser = parser_of(__doc__, runs=2, queries=10_000)
    parser.add_argument("--documents", type=int, default=6_000)
    options = parser.parse_args()
    rows = rows_of(options)
    notes = (
        "Processor seconds of the process, the least of the runs, in turn. Checked: the answers of "
        "one index and of shards are equal, to the bit.",
    )
    settings = {"documents": options.documents, "runs": options.runs, "words of a query": WORDS}
    title = "Hits in files and similar documents over shards"
    print(write_report("shards_tasks", title, rows, settings, notes=notes))


if __name__ == "__main__":
    main()
