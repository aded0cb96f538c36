"""How fast word vectors load from a text file, against the disk itself, gensim and pandas.

Run ``python benchmarks/loading.py``; ``--tiny`` takes few words and writes nothing.
"""

from __future__ import annotations

import os
import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from measure import Timing, interleave, parser_of, peak_memory, write_report
from softcosine.similarity.embeddings.vector_files import read_vectors

PIECE = 1 << 22


def write_text(path: Path, n_words: int, dimensions: int) -> list[str]:
    """Write a file as GloVe's are, with numbers of five digits; returns its words."""
    random = np.random.default_rng(0)
    words = [f"word{i}" for i in range(n_words)]
    with path.open("w", encoding="utf-8") as file:
        for word in words:
            row = 0.4 * random.standard_normal(dimensions)
            file.write(f"{word} " + " ".join(f"{number:.5g}" for number in row) + "\n")
        file.flush()
        os.fsync(file.fileno())
    return words


def read_bare(path: Path) -> None:
    with path.open("rb", buffering=0) as file:
        while file.read(PIECE):
            pass


def forget(path: Path) -> None:
    """Ask the system to drop the file from its cache, so that the disk is read next."""
    with path.open("rb") as file:
        os.posix_fadvise(file.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)


def by_gensim(path: Path) -> tuple[list[str], NDArray[np.float32]]:
    from gensim.models import KeyedVectors

    vectors = KeyedVectors.load_word2vec_format(str(path), no_header=True)
    return vectors.index_to_key, vectors.vectors


def by_pandas(path: Path) -> tuple[list[str], NDArray[np.float32]]:
    import csv

    import pandas as pd

    with path.open(encoding="utf-8") as file:
        dimensions = file.readline().count(" ")
    types = {0: "str", **dict.fromkeys(range(1, dimensions + 1), np.float32)}
    frame = pd.read_csv(
        path, sep=" ", header=None, quoting=csv.QUOTE_NONE, na_filter=False, dtype=types
    )
    return frame[0].tolist(), frame.iloc[:, 1:].to_numpy(np.float32)


def check(path: Path) -> None:
    """Exit unless all read the same words and numbers."""
    table = read_vectors(path)
    mine = table.state()[1]["vectors"]
    for read in (by_gensim, by_pandas):
        words, vectors = read(path)
        if tuple(words) != table.words:
            raise SystemExit(f"{read.__name__} reads other words.")
        if not np.allclose(vectors, mine, rtol=2e-7, atol=0):
            raise SystemExit(f"{read.__name__} reads other numbers.")


def contestants(path: Path, wanted: Sequence[str]) -> dict[str, Callable[[], object]]:
    def cold(read: Callable[[], object]) -> Callable[[], object]:
        def call() -> None:
            forget(path)
            read()

        return call

    def all_words() -> object:
        return read_vectors(path)

    def bare() -> None:
        read_bare(path)

    racing: dict[str, Callable[[], object]] = {
        "softcosine": all_words,
        f"softcosine, {len(wanted):,} words wanted": lambda: read_vectors(path, words=wanted),
        "reading the bytes": bare,
    }
    if hasattr(os, "posix_fadvise"):
        racing["softcosine, from the disk"] = cold(all_words)
        racing["reading the bytes, from the disk"] = cold(bare)
    return racing


def measured(
    path: Path, words: Sequence[str], *, runs: int, slow_runs: int
) -> list[dict[str, object]]:
    racing = contestants(path, words[::13])
    slow: dict[str, Callable[[], object]] = {
        "pandas.read_csv": lambda: by_pandas(path),
        "gensim, load_word2vec_format": lambda: by_gensim(path),
    }
    read_vectors(path, words=["warm up"])
    memory = {name: peak_memory(call) for name, call in {**racing, **slow}.items()}
    timings = interleave(racing, runs=runs)
    if slow_runs:
        timings |= interleave(slow, runs=slow_runs, warmups=0)
    ours = timings["softcosine"]
    megabytes = path.stat().st_size / 1e6
    return [described(timing, ours, megabytes, memory[name]) for name, timing in timings.items()]


def described(
    timing: Timing, ours: Timing, megabytes: float, memory: float | None
) -> dict[str, object]:
    row = timing.row(relative_to=ours)
    return {**row, "MB/s": round(megabytes / timing.median), "peak memory MiB": memory}


def main() -> None:
    options = parser_of(__doc__, runs=7, tiny=True).parse_args()
    n_words, dimensions = (200, 5) if options.tiny else (400_000, 100)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "vectors.txt"
        words = write_text(path, n_words, dimensions)
        size = path.stat().st_size
        check(path)
        rows = measured(path, words, runs=1 if options.tiny else options.runs, slow_runs=2)
    if options.tiny:
        return
    parameters = {
        "words": n_words,
        "dimensions": dimensions,
        "megabytes": round(size / 1e6),
        "timed rounds": f"{options.runs}; 2 of pandas and gensim",
    }
    notes = [
        "Checked first: gensim, pandas and softcosine read the same words, and numbers that agree "
        "to the last place of float32.",
        "The file lies in the system's cache, but where it says 'from the disk': there the cache "
        "is asked to drop it before every run. Where the disk is a virtual one, its host may have "
        "kept it still.",
        "softcosine uses all processors, the others one. Memory is the rise of the peak during one "
        "call, with what is returned.",
    ]
    print(write_report("loading", "Word vectors from a text file", rows, parameters, notes=notes))


if __name__ == "__main__":
    main()
