"""An engine that multiplies matrices, and does to its answers what a test asks for."""

from __future__ import annotations

import numpy as np

from softcosine.engines.capabilities import Capabilities
from softcosine.engines.engine import EngineMatches

ENTRY = "toy_engine:ToyEngine"


class ToyEngine:
    """Vectors, compared all; `answer` may be changed by tests."""

    persistent = True

    def __init__(self, *, factor: float = 1.0):
        self.factor = factor
        self.rows = None
        self.live = None

    @property
    def capabilities(self):
        return Capabilities(exact=True, adds=True, deletes=True, persistent=self.persistent)

    @property
    def settings(self):
        return {"factor": self.factor}

    package = "toy 1"

    def build(self, vectors, *, threads):
        self.rows = np.vstack(list(vectors.blocks()))
        assert self.rows.shape == (vectors.n, vectors.n_dimensions)
        assert self.rows.dtype == np.float32
        self.live = np.ones(vectors.n, bool)

    def search(self, queries, k, *, width, threads):
        scores = queries @ self.rows.T
        scores[:, ~self.live] = -np.inf
        order = np.argsort(-scores, axis=1, kind="stable")[:, :k]
        return self.answer(EngineMatches(order, np.take_along_axis(scores, order, 1)))

    @staticmethod
    def answer(found):
        return found

    def add(self, first, block, *, threads):
        assert first == self.rows.shape[0]
        self.rows = np.vstack([self.rows, block])
        self.live = np.concatenate([self.live, np.ones(block.shape[0], bool)])

    def delete(self, slots):
        assert self.live[slots].all()
        self.live[slots] = False

    def files(self):
        return {
            "rows.npy": lambda path: self._write(path, self.rows),
            "live.npy": lambda path: self._write(path, self.live),
        }

    def _write(self, path, array):
        with path.open("wb") as file:
            np.save(file, array)

    def load(self, folder, *, n_dimensions):
        self.rows = np.load(folder / "rows.npy")
        assert self.rows.shape[1] == n_dimensions
        self.live = np.load(folder / "live.npy")
