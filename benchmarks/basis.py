"""How long a change of basis takes: Cholesky against Gaussian elimination for every term anew.

Run ``OPENBLAS_NUM_THREADS=1 python benchmarks/basis.py``: with more threads small orders do not use
them and large ones do, which bends the exponents. Sidorov et al. (2014) find the coordinates of
every unit vector by a system of linear equations of its own, O(n⁴) in all; Novotný (2018, table 1)
sets the Cholesky factor against it, O(n³) (theory T7).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial

import numpy as np
from numpy.typing import NDArray

from fill_in import frequent_words
from measure import Timing, interleave, parser_of, write_report
from newsgroups import CACHE
from softcosine import EmbeddingSimilarity, TermSimilarityMatrix, orthonormal_basis

SIZES, LARGER = (100, 500, 1000), (1500, 2000, 4000)
ONCE = 1500  # the largest order for the iterated elimination; above the paper's, it is timed once
Square = NDArray[np.float64]

ITERATED = "n solves of the leading blocks"
CHOLESKY = "Cholesky, LAPACK"
OURS = "softcosine.orthonormal_basis"


def iterated_elimination(S: Square) -> Square:
    """Coordinates of one unit vector after the other, each by elimination from the start.

    The k-th has to have the inner products s_kj with those before: a system of k - 1 equations,
    solved by general elimination. LAPACK does each as fast as that can be done.
    """
    E = np.zeros_like(S)
    for k in range(len(S)):
        y = np.linalg.solve(E[:k, :k], S[:k, k])
        E[k, :k] = y
        E[k, k] = np.sqrt(S[k, k] - y @ y)
    return E


def cosines(words: Sequence[str]) -> Square:
    """Full S of words: cosines of their vectors, less similar by half so that it is definite."""
    source = EmbeddingSimilarity.english()
    table, rows = source.table.look_up(words)
    units = table.units(rows)[0].astype(np.float64)
    S = 0.5 * (units @ units.T)
    np.fill_diagonal(S, 1.0)
    return S.astype(np.float32).astype(np.float64)


def contestants(S: Square, *, iterated: bool) -> dict[str, Callable[[], object]]:
    """Return what is to be timed, checked first: each gives E with S = E Eᵀ."""
    ours = TermSimilarityMatrix.from_matrix(S, warn=False)
    racing: dict[str, Callable[[], object]] = {
        CHOLESKY: partial(np.linalg.cholesky, S),
        OURS: lambda: orthonormal_basis(ours),
    }
    if iterated:
        racing[ITERATED] = lambda: iterated_elimination(S)
    for name, call in racing.items():
        made = call()
        E = made if isinstance(made, np.ndarray) else made.E.toarray()  # type: ignore[attr-defined]
        difference = float(np.abs(E @ E.T - S).max())
        if difference > 1e-12:
            raise SystemExit(f"{name}: E E' differs from S by {difference:.3g}; compare no times.")
    return racing


def measured(
    words: Sequence[str], sizes: Sequence[int], larger: Sequence[int], *, runs: int, once: int = 0
) -> tuple[list[dict[str, object]], dict[str, object]]:
    """Time all orders; a line of the table each, and the exponents that fit."""
    rows: list[dict[str, object]] = []
    found: dict[str, list[Timing]] = {ITERATED: [], CHOLESKY: [], OURS: []}
    orders: dict[str, list[int]] = {name: [] for name in found}
    for n in (*sizes, *larger):
        racing = contestants(cosines(words[:n]), iterated=n in sizes)
        timings = interleave(racing, runs=runs)
        if n in larger and n <= once:
            slow = contestants(cosines(words[:n]), iterated=True)
            timings |= interleave({ITERATED: slow[ITERATED]}, runs=1, warmups=0)
        for name, timing in timings.items():
            found[name].append(timing)
            orders[name].append(n)
            row = {"n": n, **timing.row(unit="ms")}
            row["times Cholesky"] = round(timing.median / timings[CHOLESKY].median, 1)
            if name == ITERATED:
                row["that by n"] = round(timing.median / timings[CHOLESKY].median / n, 2)
            rows.append(row)
    fitted: dict[str, object] = {
        f"exponent of n, {name}": exponent(
            orders[name], [timing.median for timing in timings], sizes[-1]
        )
        for name, timings in found.items()
    }
    return rows, fitted


def exponent(orders: Sequence[int], seconds: Sequence[float], late: int) -> str:
    """Return the slope of log time over log n: of all orders, and of those from `late` on."""
    x, y = np.log(orders), np.log(seconds)
    chosen = np.array(orders) >= late
    slope = np.polyfit(x[chosen], y[chosen], 1)[0]
    return f"{np.polyfit(x, y, 1)[0]:.2f}; {slope:.2f} from n = {late:,} on"


def main() -> None:
    options = parser_of(__doc__, cache=CACHE, runs=5).parse_args()
    words = frequent_words(options.cache)
    rows, fitted = measured(words, SIZES, LARGER, runs=options.runs, once=ONCE)
    notes = (
        "S is full: cosines of the bundled English vectors of the n most frequent words of 20 "
        "Newsgroups, halved off the diagonal so that S is positive definite.",
        "Each contestant's E was checked first: E Eᵀ is S within 1e-12.",
        f"{ITERATED}: the method of 2014, row after row of E by Gaussian elimination (LAPACK's "
        "gesv), O(n⁴). By operations it should take n/2 times as long as Cholesky; small systems "
        f"run at less of the processor's rate. Of n = {ONCE:,}, one round.",
        f"{OURS} estimates, factors, lays out E as a sparse array and checks it on random vectors.",
    )
    title = "The change of basis: Cholesky against an elimination a term"
    print(write_report("basis", title, rows, {**fitted, "timed rounds": options.runs}, notes=notes))


if __name__ == "__main__":
    main()
