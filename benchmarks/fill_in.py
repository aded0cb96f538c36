"""What a Cholesky factor of a real S holds and costs, and what the estimate says before.

Run ``python benchmarks/fill_in.py``. S is that of the most frequent words of 20 Newsgroups by the
bundled English vectors. SuperLU and CHOLMOD factor the same matrices.
"""

from __future__ import annotations

import statistics
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path

import numpy as np
from scipy.sparse import csc_array, csc_matrix, csr_array
from scipy.sparse.linalg import splu

from measure import parser_of, peak_memory, write_report
from newsgroups import CACHE, newsgroups
from softcosine import (
    EmbeddingSimilarity,
    OrthonormalBasis,
    TermSimilarityMatrix,
    Vocabulary,
    analyze,
    orthonormal_basis,
)
from softcosine.matrix.rules import Strategy
from softcosine.space.cholesky import find_cores
from softcosine.space.fill_in import planned

SIZES = (1_000, 2_000, 5_000, 10_000, 20_000)
LIMITS = (4, 10, 30, 100)  # C, the entries of a column
STRATEGIES: tuple[Strategy, ...] = ("symmetric", "dominant")
MIN_DF = 3


@dataclass(frozen=True, slots=True)
class Bounds:
    """Most multiplications of a factorisation that is still carried out, by the estimate.

    Attributes
    ----------
    ours, rivals : float
        By softcosine, and by SuperLU and CHOLMOD.
    memory : int
        Bytes.
    """

    ours: float = 1e12
    rivals: float = 6e9
    memory: int = 8 << 30


def frequent_words(cache: Path | None = None, *, n: int = max(SIZES)) -> list[str]:
    """Return words of 20 Newsgroups that the English vectors know, the most frequent first."""
    kept = None if cache is None else cache / f"frequent-words-{n}.txt"
    if kept is not None and kept.exists():
        return kept.read_text(encoding="utf-8").split()
    analyzed = analyze(newsgroups(), min_df=MIN_DF)
    frequencies = np.bincount(analyzed.counts().indices, minlength=len(analyzed.vocabulary))
    # Ties by the number, so that the list is the same each time.
    ranked = [analyzed.vocabulary.term(i) for i in np.argsort(-frequencies, kind="stable").tolist()]
    known = EmbeddingSimilarity.english().knows(ranked)
    words = [word for word, is_known in zip(ranked, known, strict=True) if is_known][:n]
    if kept is not None:
        kept.parent.mkdir(parents=True, exist_ok=True)
        kept.write_text("\n".join(words), encoding="utf-8")
    return words


def similarities(words: Sequence[str], limit: int, strategy: Strategy) -> TermSimilarityMatrix:
    """S of words with at most `limit` entries a column, definite."""
    S = TermSimilarityMatrix.from_source(
        EmbeddingSimilarity.english(), Vocabulary(words), max_neighbors=limit - 1,
        strategy=strategy, order="vocabulary", guard=False, warn=False,
    )  # fmt: skip
    return S if strategy == "dominant" else S.shrunk()


def timed(call: Callable[[], object], runs: int) -> tuple[float, float | None]:
    """Median of some runs in seconds, of one where it takes long; and the first one's memory."""
    seconds: list[float] = []

    def once() -> None:
        start = time.perf_counter()
        call()
        seconds.append(time.perf_counter() - start)

    memory = peak_memory(once)
    if not seconds:
        once()
    while len(seconds) < runs and seconds[0] < 2.0:
        once()
    return statistics.median(seconds), memory


def by_superlu(S: TermSimilarityMatrix, order: str) -> Callable[[], int]:
    """Factor by SuperLU in symmetric mode, whose order is known in the end only; entries of L."""
    matrix = csc_array(S.to_scipy().astype(np.float64))

    def call() -> int:
        made = splu(
            matrix, permc_spec=order, diag_pivot_thresh=0.0, options={"SymmetricMode": True}
        )
        if not (np.array_equal(made.perm_r, made.perm_c) and (made.U.diagonal() > 0).all()):
            raise SystemExit("SuperLU left the diagonal; compare nothing.")
        return int(made.L.nnz)

    return call


def by_cholmod(S: TermSimilarityMatrix, order: str) -> Callable[[], int]:
    """Order and factor by CHOLMOD; entries of L, those that fill its blocks up left out."""
    from sksparse.cholmod import cholesky

    matrix = csc_matrix(S.to_scipy().astype(np.float64))

    def call() -> int:
        L = cholesky(matrix, mode="supernodal", ordering_method=order).L()
        return int(np.count_nonzero(L.data))

    return call


def rivals(S: TermSimilarityMatrix) -> dict[str, Callable[[], int]]:
    """Return the rivals at hand."""
    found = {"SuperLU": by_superlu(S, "MMD_AT_PLUS_A")}
    if find_spec("sksparse") is not None:
        found["CHOLMOD"] = by_cholmod(S, "amd")
        found["CHOLMOD, METIS"] = by_cholmod(S, "metis")
    return found


def measured(
    words: Sequence[str],
    sizes: Sequence[int],
    limits: Sequence[int],
    *,
    runs: int,
    bounds: Bounds,
    told: Callable[[dict[str, object]], object] = lambda row: None,
) -> list[dict[str, object]]:
    """Estimate and factor all; a line of the table for each S."""
    orthonormal_basis(similarities(words[:60], 4, "dominant"))  # compile
    rows: list[dict[str, object]] = []
    for n in sizes:
        for limit in limits:
            for strategy in STRATEGIES:
                S = similarities(words[:n], limit, strategy)
                rows.append(line(S, limit, strategy, runs=runs, bounds=bounds))
                told(rows[-1])
    return rows


def share_of_coordinates(basis: OrthonormalBasis, *, n_words: int = 50, n_docs: int = 20) -> float:
    """Return the share of coordinates that are not 0, of documents of some words.

    The words are distinct and drawn by Zipf's law from all, which come by their frequency.
    """
    generator, n = np.random.default_rng(0), basis.n_terms
    chances = 1.0 / np.arange(1, n + 1)
    chances /= chances.sum()
    size = min(n_words, n)
    words = [generator.choice(n, size, replace=False, p=chances) for _ in range(n_docs)]
    X = csr_array(
        (np.ones(n_docs * size), np.concatenate(words), np.arange(n_docs + 1) * size),
        shape=(n_docs, n),
    )
    return float(basis.coordinates(X).nnz / (n_docs * n))


def line(
    S: TermSimilarityMatrix, limit: int, strategy: Strategy, *, runs: int, bounds: Bounds
) -> dict[str, object]:
    """Return a line of the table; exits where the estimate is not the truth."""
    n = len(S)
    start = time.perf_counter()
    plan = planned(S)
    estimating = time.perf_counter() - start
    estimate, cores = plan.fill_in, find_cores(plan)
    row: dict[str, object] = {
        "n": n,
        "C": limit,
        "S": strategy if strategy == "dominant" else "shrunk",
        "neighbours a term": round((S.to_scipy().nnz - n) / n, 1),
        "largest component": estimate.largest_component,
        "entries, estimated": estimate.n_entries,
        "times S": round(estimate.ratio, 1),
        "share of full": round(estimate.n_entries / (n * (n + 1) / 2), 3),
        "MiB, estimated": round(estimate.memory / 2**20, 1),
        "estimate s": round(estimating, 3),
        "terms left to LAPACK": cores.n_terms,
    }
    needed = cores.memory(plan)
    if needed > bounds.memory or estimate.n_operations > bounds.ours:
        row["factor s"] = f"not made: {estimate.n_operations:.1g} multiplications"
        return row
    made: dict[str, OrthonormalBasis] = {}
    seconds, peak = timed(
        lambda: made.update(basis=orthonormal_basis(S, max_memory=bounds.memory)), runs
    )
    basis = made["basis"]
    row |= {"factor s": round(seconds, 3), "peak MiB": peak, "entries": basis.n_entries}
    row["coordinates of 50 words, share of n"] = round(share_of_coordinates(basis), 3)
    # LAPACK's part leaves out what happens to be zero, which next to nothing does.
    if not 0.999 * estimate.n_entries <= basis.n_entries <= estimate.n_entries:
        raise SystemExit(f"{basis.n_entries} entries, and {estimate.n_entries} were estimated.")
    del basis
    made.clear()
    if estimate.n_operations <= bounds.rivals:
        for name, call in rivals(S).items():
            found: list[int] = []
            seconds, _ = timed(lambda call=call, found=found: found.append(call()), runs)  # type: ignore[misc]
            row[f"{name} s"], row[f"{name} entries"] = round(seconds, 3), found[0]
    return row


def main() -> None:
    options = parser_of(__doc__, cache=CACHE, runs=3).parse_args()
    words, bounds = frequent_words(options.cache), Bounds()
    rows = measured(
        words, SIZES, LIMITS, runs=options.runs, bounds=bounds,
        told=lambda row: print(row, file=sys.stderr, flush=True),
    )  # fmt: skip
    parameters = {
        "words": "the n most frequent of 20 Newsgroups that the bundled English vectors know",
        "runs": f"{options.runs}, one where it took more than 2 s",
        "factored by softcosine up to": f"{bounds.ours:.0e} multiplications",
        "factored by SuperLU and CHOLMOD up to": f"{bounds.rivals:.0e} multiplications",
        "factored up to": f"{bounds.memory >> 20} MiB",
    }
    notes = (
        "S holds, of each word, at most C - 1 of the nearest by the cosine of their vectors, "
        "strongest first (symmetric greedy assembly). Shrunk: off-diagonals multiplied by the "
        "largest factor that leaves S definite. Dominant: an entry goes in only where both "
        "columns' sums stay below 1.",
        "Checked: the factor has the entries of the estimate (chance zeros in LAPACK's part left "
        "out), and multiplies to S on random vectors.",
        "Times are of orthonormal_basis whole: order, estimate, factor, layout, check. Those of "
        "the rivals are of ordering and factoring and taking L out. SuperLU: "
        "scipy.sparse.linalg.splu in symmetric mode, MMD_AT_PLUS_A. CHOLMOD: scikit-sparse, "
        "supernodal, AMD and METIS, on Debian's OpenBLAS.",
        "The share of coordinates that are not 0 is of documents of 50 distinct words, drawn by "
        "Zipf's law.",
        "Memory is the rise of the peak during the first run; what the process kept from earlier "
        "ones and uses again does not show.",
    )
    title = "Fill-in of real term similarity matrices"
    print(write_report("fill_in", title, rows, parameters, notes=notes))


if __name__ == "__main__":
    main()
