"""How fast a million texts become an index on disk, in how much memory, and how fast it opens.

Run ``python benchmarks/million_indexing.py``; it takes some ten minutes, and ten GB in the folder
for temporary files. The peers, tantivy and bm25s, are left out with the reason where missing.
"""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np

from indexers import INDEXERS
from measure import parser_of, write_report
from newsgroups import CACHE, Workload, load_workload, newsgroups
from synthetic import Synthetic, words

SIZES = (20_000, 1_000_000)
MEAN_TERMS = 100  # of a document
OURS = "softcosine, 2 threads"
HERE = Path(__file__).resolve().parent
OPEN = """
import json, sys, time
import softcosine.index.directory.folder, softcosine.sklearn.soft_neighbors
from softcosine import SoftIndex
start = time.perf_counter()
index = SoftIndex.open(sys.argv[1])
opened = time.perf_counter()
index.search(sys.argv[2])
print(json.dumps({"open": opened - start, "search": time.perf_counter() - opened}))
"""


def write_texts(drawn: Synthetic, base: Workload, n_docs: int, path: Path) -> int:
    """Spell documents out, one a line; the number of characters."""
    spelled = words(base.S.vocabulary.terms)
    n = 0
    with path.open("w", encoding="utf-8") as lines:
        for text in drawn.texts(n_docs, spelled):
            n += lines.write(f"{text}\n")
    return n


def folder_of(name: str, folder: Path) -> Path:
    """Return the folder of a contestant's index."""
    return folder / name.replace(", ", "-").replace(" ", "-")


def indexed(
    texts: Path, n_docs: int, n_postings: int, folder: Path, names: Sequence[str]
) -> list[dict[str, object]]:
    """Run every indexer in a process of its own; a line of the table each.

    The indexes stay in `folder`.
    """
    rows: list[dict[str, object]] = []
    for name in names:
        target = str(folder_of(name, folder))
        command = [sys.executable, str(HERE / "indexers.py"), name, str(texts), target]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        if done.returncode:
            reason = done.stderr.strip().splitlines()[-1:] or ["no reason given"]
            rows.append({"contestant": name, "documents": n_docs, "left out": reason[0]})
            continue
        found = json.loads(done.stdout.splitlines()[-1])
        rows.append(
            {
                "contestant": name,
                "documents": n_docs,
                "s": round(found["seconds"], 2),
                "cpu s": round(found["cpu seconds"], 2),
                "documents a second": round(n_docs / found["seconds"]),
                "documents a cpu second": round(n_docs / found["cpu seconds"]),
                "peak memory MiB": round(found.get("peak MiB", 0.0)),
                "MiB on disk": round(found["bytes"] / 2**20, 1),
                "bytes on disk a posting": round(found["bytes"] / n_postings, 2),
            }
        )
    return rows


def opened(paths: Mapping[int, Path], query: str, *, runs: int) -> list[dict[str, object]]:
    """Open each index in fresh processes, sizes in turn; a line of the table each."""
    seconds: dict[int, list[dict[str, float]]] = {size: [] for size in paths}
    for _ in range(runs + 1):  # the first is not counted: the disk's caches, compiled kernels
        for size, path in paths.items():
            command = [sys.executable, "-c", OPEN, str(path), query]
            done = subprocess.run(command, capture_output=True, text=True, check=True)
            seconds[size].append(json.loads(done.stdout.splitlines()[-1]))
    rows: list[dict[str, object]] = []
    for size, all_found in seconds.items():
        found = {what: [run[what] * 1e3 for run in all_found[1:]] for what in ("open", "search")}
        rows.append(
            {
                "documents": size,
                "open ms, median": round(float(np.median(found["open"])), 2),
                "min": round(min(found["open"]), 2),
                "max": round(max(found["open"]), 2),
                "first search ms, median": round(float(np.median(found["search"])), 2),
            }
        )
    return rows


NOTES = (
    "Each in a process of its own, from a file of texts, one a line, to an index in files. Peak "
    "memory is that of the process, its imports counted. softcosine and tantivy store texts and "
    "ids too; bm25s stores neither.",
    "Words are spelled so that every tokenizer finds the same ones. No stop words, no stemming, "
    "no positions. softcosine indexes with S = I; an S costs the norms, see norms.md.",
)
OPENING_NOTES = (
    "Milliseconds in a fresh process after its imports, files in the disk's cache, sizes in turn; "
    "then the first search, whose kernels are loaded from numba's cache.",
)


def main() -> None:
    parser = parser_of(__doc__, cache=CACHE)
    parser.add_argument("--documents", type=int, default=SIZES[1])
    parser.add_argument("--contestants", default="; ".join(INDEXERS), help="names and semicolons")
    parser.add_argument("--runs", type=int, default=7, help="of opening; 0 leaves it out")
    parser.add_argument("--folder", type=Path, help="for texts and indexes; kept if given")
    parser.add_argument("--opening", action="store_true", help="only how fast an index opens")
    options = parser.parse_args()
    names = options.contestants.split("; ")
    if options.opening:
        names = [OURS]
    base = load_workload(newsgroups(), cache=options.cache)
    drawn = Synthetic.like(base.counts, terms=MEAN_TERMS)
    parameters: dict[str, object] = {"terms of a document, mean": MEAN_TERMS}
    with tempfile.TemporaryDirectory() as made:
        rows: list[dict[str, object]] = []
        paths: dict[int, Path] = {}
        for size in sorted({min(SIZES[0], options.documents), options.documents}):
            folder = (options.folder or Path(made)) / str(size)
            folder.mkdir(parents=True)
            parameters[f"characters of {size} documents"] = write_texts(
                drawn, base, size, folder / "texts.txt"
            )
            n_postings = sum(X.nnz for X in drawn.parts(size))
            parameters[f"postings of {size} documents"] = n_postings
            rows += indexed(folder / "texts.txt", size, n_postings, folder, names)
            if folder_of(OURS, folder).is_dir():
                paths[size] = folder_of(OURS, folder)
        title = "From texts to an index on disk: up to a million documents"
        if not options.opening:
            print(write_report("million_indexing", title, rows, parameters, notes=NOTES))
        if not options.runs:
            return
        query = " ".join(words(base.S.vocabulary.terms)[-5:])
        told = {**parameters, "timed rounds": options.runs}
        title = "Opening an index, whatever its size"
        rows = opened(paths, query, runs=options.runs)
        page = write_report(
            "opening", title, rows, told, notes=OPENING_NOTES, script="million_indexing"
        )
        print(page)


if __name__ == "__main__":
    main()
