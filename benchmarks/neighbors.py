"""How fast all nearest neighbours by vectors are found, against the bare product of matrices.

Run ``python benchmarks/neighbors.py``; one thread. Whoever finds exact neighbours by comparing all
pairs must compute their product, so its time is the measure. ``--tiny`` writes nothing.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from measure import data_folder, interleave, parser_of, peak_memory, write_report
from softcosine.similarity.embeddings.embedding import EmbeddingSimilarity
from softcosine.similarity.neighbors import Neighbors

K = 100
SIZES = (20_000, 100_000)
TARGET = 400_000
DIMENSIONS = 300
SAMPLE = 10_000  # rows that the bare product and search without symmetry take, of larger tables
PANEL = 1024  # rows of the bare product at a time: measured to be its best

Floats = NDArray[np.float32]


def made(n: int, dimensions: int, *, seed: int = 0) -> Floats:
    """Draw vectors as words have them: a mean, topics, groups of near words, a falling spectrum."""
    generator = np.random.default_rng(seed)
    spectrum = np.arange(1, dimensions + 1, dtype=np.float32) ** np.float32(-0.25)
    spectrum /= np.linalg.norm(spectrum)

    def draw(m: int) -> Floats:
        return generator.standard_normal((m, dimensions), dtype=np.float32) * spectrum

    def member(m: int) -> NDArray[np.int64]:
        shares = np.arange(1, m + 1) ** -0.5
        return generator.choice(m, n, p=shares / shares.sum())

    topics, groups = draw(max(1, n // 400)), draw(max(1, n // 12))
    closeness = (0.87 * generator.beta(4, 2, (n, 1))).astype(np.float32)
    vectors = 0.75 * draw(n)
    vectors += np.float32(0.25) * draw(1) + np.float32(0.42) * topics[member(len(topics))]
    return np.asarray(vectors + closeness * groups[member(len(groups))])


def real() -> tuple[tuple[str, ...], Floats]:
    with np.load(data_folder() / "vectors" / "glove300d_u8_10k.npz") as file:
        vectors = file["q"] * ((file["hi"] - file["lo"]) / 255) + file["lo"]
        return tuple(file["words"].tolist()), vectors.astype(np.float32)


def units(vectors: Floats) -> Floats:
    return np.asarray(vectors / np.linalg.norm(vectors, axis=1, keepdims=True), np.float32)


def in_one_thread() -> None:
    """Start this script anew in one thread, unless it is: BLAS looks when it is loaded."""
    if os.environ.get("OPENBLAS_NUM_THREADS") != "1":
        names = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS")
        os.environ.update(dict.fromkeys(names, "1"))
        os.execv(sys.executable, [sys.executable, *sys.argv])
    os.environ["SOFTCOSINE_THREADS"] = "1"


def product(vectors: Floats, n_rows: int) -> Callable[[], None]:
    """Multiply rows with all others; the result is written over again and again."""
    space = np.empty((PANEL, len(vectors)), np.float32)

    def multiply() -> None:
        for start in range(0, n_rows, PANEL):
            rows = vectors[start : min(start + PANEL, n_rows)]
            np.matmul(rows, vectors.T, out=space[: len(rows)])

    return multiply


def faiss_flat(vectors: Floats, n_rows: int) -> Callable[[], NDArray[np.int64]] | None:
    """Search exactly by Faiss, one more than K because it finds each vector itself."""
    try:
        import faiss
    except ImportError:
        return None
    faiss.omp_set_num_threads(1)
    index = faiss.IndexFlatIP(vectors.shape[1])
    index.add(vectors)
    return lambda: np.asarray(index.search(vectors[:n_rows], K + 1)[1])


def check(source: EmbeddingSimilarity, words: tuple[str, ...], vectors: Floats) -> None:
    """Exit unless both ways give the same, and the best of 200 words are those of float64."""
    whole = source.neighbors(words, words, max_neighbors=K)
    some = list(range(0, len(words), max(1, len(words) // 200)))
    apart = source.neighbors([words[i] for i in some], words, max_neighbors=K)
    exact = vectors.astype(np.float64)
    cosines = exact[some] @ exact.T
    for row, i in enumerate(some):
        if rows_of(whole, i) != rows_of(apart, row):
            raise SystemExit("search with and without symmetry differ; compare no times.")
        cosines[row, i] = -1.0
        best = np.sort(cosines[row])[::-1][:K]
        best = (best[best >= source.threshold] ** source.exponent).astype(np.float32)
        found = np.array(rows_of(apart, row)[1])
        if found.shape != best.shape or np.abs(found - best).max(initial=0.0) > 1e-6:
            raise SystemExit("the neighbours are not those of float64; compare no times.")


def rows_of(neighbors: Neighbors, i: int) -> tuple[list[int], list[float]]:
    part = slice(*neighbors.indptr[i : i + 2].tolist())
    return neighbors.indices[part].tolist(), neighbors.similarities[part].tolist()


def race(
    words: tuple[str, ...], vectors: Floats, *, runs: int, what: str
) -> list[dict[str, object]]:
    """Time the product and the searches; what looks at a sample of rows only is scaled to all."""
    n = len(words)
    n_rows = min(n, SAMPLE)
    vectors = units(vectors)
    source = EmbeddingSimilarity(words, vectors)
    check(source, words, vectors)
    # All words but one in their order is not the whole, so that each is searched by itself.
    asked = words[1 : n_rows + 1] if n_rows < n else words[1:]
    racing: dict[str, Callable[[], object]] = {
        "bare sgemm": product(vectors, n_rows),
        "softcosine, without symmetry": lambda: source.neighbors(asked, words, max_neighbors=K),
        "softcosine, all words at once": lambda: source.neighbors(words, words, max_neighbors=K),
    }
    if flat := faiss_flat(vectors, n_rows):
        racing["faiss IndexFlatIP"] = flat
    memory = {name: peak_memory(call) for name, call in racing.items()}
    timings = interleave(racing, runs=runs, warmups=0)
    scaled = {
        name: timing.scaled(1.0 if "at once" in name else n / n_rows)
        for name, timing in timings.items()
    }
    first = scaled["bare sgemm"]
    return [
        {
            **timing.row(relative_to=first),
            "least times the least": round(timing.minimum / first.minimum, 3),
            "peak memory MiB": memory[name],
            "what": what,
        }
        for name, timing in scaled.items()
    ]


def main() -> None:
    options = parser_of(__doc__, runs=3, tiny=True).parse_args()
    if options.tiny:
        race(tuple(f"w{i}" for i in range(300)), made(300, 8), runs=1, what="tiny")
        return
    in_one_thread()
    words, vectors = real()
    rows = race(words, vectors, runs=max(5, options.runs), what=f"{len(words):,} words of GloVe")
    for n in SIZES:
        words = tuple(f"w{i * 7919 % n:07d}" for i in range(n))
        rows += race(words, made(n, DIMENSIONS), runs=options.runs, what=f"{n:,} drawn vectors")
        print(f"{n:,} vectors done", flush=True)
    by_name = {str(row["contestant"]): row for row in rows[-4:]}
    seconds = float(str(by_name["softcosine, all words at once"]["median s"]))
    parameters = {
        "dimensions": DIMENSIONS,
        "neighbours": K,
        "threads": 1,
        "timed rounds": f"{options.runs}, {max(5, options.runs)} of GloVe",
        f"{TARGET:,} words, extrapolated from {SIZES[-1]:,} by the square, minutes": round(
            seconds * (TARGET / SIZES[-1]) ** 2 / 60, 1
        ),
    }
    notes = [
        "Checked first: all words at once and words by themselves find the same to the bit, and "
        "200 words find what float64 finds over all pairs.",
        f"Of tables of more than {SAMPLE:,} words the product, search without symmetry and Faiss "
        f"take {SAMPLE:,} rows; their times are multiplied up to all rows. The product is of "
        f"{PANEL:,} rows at a time with all others.",
        "The drawn vectors have a mean, topics, groups of near words and a falling spectrum. "
        "GloVe's table is small: computing 100 neighbours of each word anew, which costs the same "
        "in a table of any size, is a good part of its time.",
        "Memory is the rise of the peak during one call, for all words at once with the candidates "
        "of all words: 8 bytes each, 1.5 k of them a word.",
    ]
    print(
        write_report(
            "neighbors", "All nearest neighbours by vectors", rows, parameters, notes=notes
        )
    )


if __name__ == "__main__":
    main()
