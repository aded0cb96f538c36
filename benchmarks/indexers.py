"""Programs that turn a file of texts, one a line, into an index on disk.

Run as ``python benchmarks/indexers.py NAME TEXTS FOLDER``: each in a process of its own, whose peak
memory is then the program's. What is measured is printed as JSON.
"""

from __future__ import annotations

import importlib
import json
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

from measure import machine

__all__ = ["INDEXERS", "Indexer", "texts_of"]

# Imports what it needs, and returns the work that is timed.
Indexer = Callable[[Path, Path], Callable[[], object]]
HEAP = 512 * 2**20  # bytes that tantivy may fill before it writes


def texts_of(path: Path) -> Iterator[str]:
    """Yield the texts of a file, read line by line."""
    with path.open(encoding="utf-8") as lines:
        for line in lines:
            yield line.rstrip("\n")


def softcosine(texts: Path, folder: Path, threads: int = 1) -> Callable[[], object]:
    """Index by ours: counts, texts and ids; S = I, which takes nothing."""
    sc = importlib.import_module("softcosine")
    create, analyzer = sc.SoftIndex.create, sc.Analyzer()  # the first use of a name imports it

    def work() -> None:
        index = create(folder, plain=True, analyzer=analyzer)
        with index.writer(threads=threads) as writer:
            for number, text in enumerate(texts_of(texts)):
                writer.add(id=str(number), text=text)

    return work


def softcosine_in_memory(texts: Path, folder: Path) -> Callable[[], object]:
    """Index by ours, all in memory, and save."""
    sc = importlib.import_module("softcosine")
    from_texts, analyzer = sc.SoftIndex.from_texts, sc.Analyzer()

    def work() -> None:
        index = from_texts(texts_of(texts), plain=True, analyzer=analyzer)
        index.save(folder)

    return work


def bm25s(texts: Path, folder: Path) -> Callable[[], object]:
    """Index by bm25s: scores of the terms, without the texts."""
    package = importlib.import_module("bm25s")

    def work() -> None:
        tokens = package.tokenize(list(texts_of(texts)), stopwords=None, show_progress=False)
        retriever = package.BM25()
        retriever.index(tokens, show_progress=False)
        retriever.save(str(folder))

    return work


def tantivy(texts: Path, folder: Path, threads: int = 1) -> Callable[[], object]:
    """Index by tantivy: counts, texts and ids."""
    package = importlib.import_module("tantivy")

    def work() -> None:
        schema = package.SchemaBuilder()
        schema.add_text_field("id", stored=True, tokenizer_name="raw", index_option="basic")
        schema.add_text_field("text", stored=True, index_option="freq")
        folder.mkdir(parents=True)
        index = package.Index(schema.build(), path=str(folder))
        writer = index.writer(heap_size=HEAP, num_threads=threads)
        for number, text in enumerate(texts_of(texts)):
            writer.add_document(package.Document(id=str(number), text=text))
        writer.commit()
        writer.wait_merging_threads()

    return work


INDEXERS: dict[str, Indexer] = {
    "softcosine, 1 thread": softcosine,
    "softcosine, 2 threads": lambda texts, folder: softcosine(texts, folder, 2),
    "softcosine, in memory and saved": softcosine_in_memory,
    "tantivy, 1 thread": tantivy,
    "tantivy, 2 threads": lambda texts, folder: tantivy(texts, folder, 2),
    "bm25s": bm25s,
}


def measured(name: str, texts: Path, folder: Path) -> dict[str, float]:
    """Run one of them; its seconds, its processor seconds, memory and bytes on disk."""
    work = INDEXERS[name](texts, folder)
    start, cpu = time.perf_counter(), time.process_time()
    work()
    found = {
        "seconds": time.perf_counter() - start,
        "cpu seconds": time.process_time() - cpu,
        "bytes": sum(path.stat().st_size for path in folder.rglob("*") if path.is_file()),
    }
    # Not getrusage: its peak includes the parent's, from before this program was loaded.
    peak = machine()["peak memory of the process MiB"]
    if isinstance(peak, float):
        found["peak MiB"] = peak
    return found


if __name__ == "__main__":
    print(json.dumps(measured(sys.argv[1], Path(sys.argv[2]), Path(sys.argv[3]))))
