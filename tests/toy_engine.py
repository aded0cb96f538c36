"""An engine that multiplies sparse matrices, and does to its answers what a test asks for."""

from __future__ import annotations

import numpy as np
from scipy.sparse import csr_array, load_npz, save_npz, vstack

from softcosine.engines.capabilities import Capabilities
from softcosine.engines.engine import EngineMatches

ENTRY = "toy_engine:ToyEngine"


class ToyEngine:
    """Sparse vectors, compared all; `answer` may be changed by tests."""

    limit: int | None = None
    negative = True
    persistent = True

    def __init__(self, *, factor: float = 1.0):
        self.factor = factor
        self.rows = None
        self.live = None

    @property
    def capabilities(self):
        return Capabilities(
            exact=True, vectors="sparse", negative=self.negative, max_non_zeros=self.limit,
            adds=True, deletes=True, persistent=self.persistent,
        )  # fmt: skip

    @property
    def settings(self):
        return {"factor": self.factor}

    package = "toy 1"

    def build(self, vectors, *, threads):
        self.rows = vstack(list(vectors.blocks()), format="csr")
        assert self.rows.shape == (vectors.n, vectors.n_dimensions)
        assert self.rows.dtype == np.float32
        self.live = np.ones(vectors.n, bool)

    def search(self, queries, k, *, width, threads):
        assert isinstance(queries, csr_array)
        scores = (queries @ self.rows.T).toarray()
        scores[:, ~self.live] = -np.inf
        order = np.argsort(-scores, axis=1, kind="stable")[:, :k]
        return self.answer(EngineMatches(order, np.take_along_axis(scores, order, 1)))

    @staticmethod
    def answer(found):
        return found

    def add(self, first, block, *, threads):
        assert first == self.rows.shape[0]
        self.rows = vstack([self.rows, block], format="csr")
        self.live = np.concatenate([self.live, np.ones(block.shape[0], bool)])

    def delete(self, slots):
        assert self.live[slots].all()
        self.live[slots] = False

    def files(self):
        return {"rows.npz": lambda path: save_npz(path, self.rows), "live.npy": self._write}

    def _write(self, path):
        with path.open("wb") as file:
            np.save(file, self.live)

    def load(self, folder, *, n_dimensions):
        self.rows = csr_array(load_npz(folder / "rows.npz"))
        assert self.rows.shape[1] == n_dimensions
        self.live = np.load(folder / "live.npy")
