"""How fast the soft norms of 20 Newsgroups are, against SciPy.

Run ``python benchmarks/norms.py``. They are what a change of S or of the weights costs an index
(theory T5): the roots of the row sums of ((X W) S) times (X W), element by element.
"""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import partial

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from measure import interleave, parser_of, peak_memory, write_report
from newsgroups import CACHE, Workload, load_workload, newsgroups
from softcosine import Weighting
from softcosine.index.rankings import soft_norms

CHUNK = 512  # documents that SciPy multiplies at a time: all at once takes gigabytes
Norms = NDArray[np.float64]


def ours(workload: Workload, threads: int) -> Norms:
    """Norms of all segments, one after the other."""
    norms = [
        soft_norms(part.segment, workload.S, Weighting(), workload.statistics, threads=threads)
        for part in workload.parts
    ]
    return np.concatenate(norms)


def by_scipy(XW: csr_array, S: csr_array) -> Norms:
    """Norms by sparse products."""
    return np.asarray(np.sqrt((XW @ S).multiply(XW).sum(axis=1)), np.float64).ravel()


def by_scipy_in_chunks(XW: csr_array, S: csr_array, threads: int) -> Norms:
    """Norms by sparse products, some documents at a time."""
    chunks = [XW[start : start + CHUNK] for start in range(0, XW.shape[0], CHUNK)]
    if threads == 1:
        return np.concatenate([by_scipy(chunk, S) for chunk in chunks])
    with ThreadPoolExecutor(threads) as pool:
        return np.concatenate(list(pool.map(lambda chunk: by_scipy(chunk, S), chunks)))


def measured(
    workload: Workload, *, runs: int, slow_runs: int
) -> tuple[list[dict[str, object]], float]:
    """Check and time all; a line of the table each, and the largest relative difference."""
    XW, S = workload.weighted(), workload.S.to_scipy().astype(np.float64)
    chunked = partial(by_scipy_in_chunks, XW, S)
    racing: dict[str, Callable[[], Norms]] = {
        "softcosine, 1 thread": lambda: ours(workload, 1),
        "softcosine, 2 threads": lambda: ours(workload, 2),
        f"SciPy, {CHUNK} documents at a time, 1 thread": lambda: chunked(1),
        f"SciPy, {CHUNK} documents at a time, 2 threads": lambda: chunked(2),
    }
    slow: dict[str, Callable[[], Norms]] = {"SciPy, all at once": lambda: by_scipy(XW, S)}
    right = ours(workload, 1)
    difference = 0.0
    memory: dict[str, float | None] = {}
    for name, call in (racing | slow).items():
        found: list[Norms] = []
        memory[name] = peak_memory(lambda call=call, found=found: found.append(call()))  # type: ignore[misc]
        difference = max(difference, float(np.abs(found[0] - right).max() / right.max()))
    if difference > 1e-12:
        raise SystemExit(f"the norms differ by {difference:.3g}; compare no times.")
    timings = interleave(racing, runs=runs) | interleave(slow, runs=slow_runs, warmups=0)
    first = next(iter(timings.values()))
    rows = [
        {**timing.row(relative_to=first), "peak memory MiB": memory[name]}
        for name, timing in timings.items()
    ]
    return rows, difference


def main() -> None:
    parser = parser_of(__doc__, cache=CACHE, runs=5)
    parser.add_argument("--slow-runs", type=int, default=2, help="of SciPy all at once")
    options = parser.parse_args()
    workload = load_workload(newsgroups(), cache=options.cache)
    rows, difference = measured(workload, runs=options.runs, slow_runs=options.slow_runs)
    parameters = {
        "documents": workload.counts.shape[0],
        "terms": workload.counts.shape[1],
        "postings": workload.counts.nnz,
        "non-zeros of S a column": round(workload.S.to_scipy().nnz / len(workload.S), 1),
        "timed rounds": options.runs,
        "timed rounds of SciPy all at once": options.slow_runs,
    }
    notes = (
        "Each contestant starts from weights or counts in memory and gives the norm of every "
        "document, in float64.",
        f"Checked first: all agree within {difference:.1e} of the largest norm.",
        "Memory is the rise of the peak during one call.",
    )
    title = "The soft norms of 20 Newsgroups"
    print(write_report("norms", title, rows, parameters, notes=notes))


if __name__ == "__main__":
    main()
