"""How long SNOS takes, and how much memory, on a graph of a million edges."""

from __future__ import annotations

import json
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np
from scipy.sparse import coo_array, csr_array

from softcosine.lab.snos.learning import snos

__all__ = ["million_edges"]

N_EDGES = 1_000_000
N_OBJECTS = 200_000
N_FEATURES = 100_000
NEIGHBORS = (10, 20)


def million_edges() -> list[dict[str, Any]]:
    """Learn from a random graph of topics with a few very popular pages; one row a setting.

    Each setting has a process of its own, of which the greatest memory is told.
    """
    rows = []
    for max_neighbors in NEIGHBORS:
        told = subprocess.run(
            [sys.executable, __file__, str(max_neighbors)],
            check=True,
            capture_output=True,
            text=True,
        )
        rows.append(json.loads(told.stdout.splitlines()[-1]))
    return rows


def _graph() -> csr_array:
    """Draw edges within topics of 20 features; degrees fall as those of clicks do."""
    random = np.random.default_rng(0)
    n_topics = N_FEATURES // 20
    objects = (N_OBJECTS * random.random(2 * N_EDGES) ** 2).astype(np.int64)
    topics = objects % n_topics
    ranks = (N_FEATURES // n_topics * random.random(2 * N_EDGES) ** 2).astype(np.int64)
    features = topics + n_topics * ranks
    # One click in ten goes astray, mostly to pages that everybody visits.
    astray = random.random(2 * N_EDGES) < 0.1
    features[astray] = (N_FEATURES * random.random(int(astray.sum())) ** 4).astype(np.int64)
    edges = np.unique(features * N_OBJECTS + objects)
    edges = random.permutation(edges)[:N_EDGES]
    ends = edges // N_OBJECTS, edges % N_OBJECTS
    return csr_array(coo_array((np.ones(len(edges)), ends), shape=(N_FEATURES, N_OBJECTS)))


def _memory(field: str) -> float:
    for line in Path("/proc/self/status").read_text(encoding="utf-8").splitlines():
        if line.startswith(f"{field}:"):
            return int(line.split()[1]) / 1024
    return float("nan")


def _measured(max_neighbors: int) -> dict[str, Any]:
    B = _graph()
    snos(B[:200, :300], max_neighbors=5, tolerance=1e-2)  # compiles what is to be measured
    before = _memory("VmRSS")
    start, cpu = time.perf_counter(), time.process_time()
    result = snos(B, max_neighbors=max_neighbors, normalize="both", tolerance=1e-4)
    seconds, cpu = time.perf_counter() - start, time.process_time() - cpu
    sizes = [csr_array(S).nnz for S in (result.S_o, result.S_f)]
    return {
        "edges": B.nnz,
        "objects": B.shape[1],
        "features": B.shape[0],
        "max_neighbors": max_neighbors,
        "rounds": len(result.trace),
        "seconds": round(seconds, 1),
        "processor seconds": round(cpu, 1),
        "peak MiB above the graph": round(_memory("VmHWM") - before, 1),
        "entries of S_o": sizes[0],
        "entries of S_f": sizes[1],
    }


if __name__ == "__main__":
    print(json.dumps(_measured(int(sys.argv[1]))))
