"""Layout of documents in the plane that puts similar documents together.

Spectral coordinates of the neighbour graph put a few outlying groups at the ends of long arms and
all others in one heap; they are only the start. From there points move as in t-SNE (van der Maaten
& Hinton 2008): each is attracted by its similar documents, in proportion to the similarity, and
repelled by all others; all forces are exact. Near points are similar; long distances and directions
mean nothing.
"""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array, diags_array

from softcosine._progress import Progress
from softcosine.kernels.layout import pull, push

__all__ = ["kept_neighbors", "laid_out"]

_STEPS = 750
# In the first steps attraction is stronger, so that groups form, and points have less momentum.
_EARLY, _EXAGGERATION = 250, 12.0
_MOMENTA = (0.5, 0.8)
_WALKS = 200  # steps of the random walk whose slowest modes are the start
_SLACK = 6  # additional modes, which speed up convergence of the first two


def laid_out(graph: csr_array, *, progress: Progress | None = None) -> NDArray[np.float64]:
    """Return positions in the plane, from -1 to 1.

    Parameters
    ----------
    graph : csr_array of shape (n, n), float64
        Similarities of each document's nearest neighbours, all above 0; n is at least 2, and no row
        is empty.
    progress : callable, optional
        Called with the number of steps done and the total.

    Returns
    -------
    ndarray of shape (n, 2), float64
        Centred and widest along the first axis. The same graph gives the same positions on the same
        kind of machine with the same versions of NumPy and SciPy.
    """
    links = _links(graph)
    places = _turned(_settled(links, _start(links), progress))
    return places / max(float(np.abs(places).max()), np.finfo(np.float64).tiny)


def kept_neighbors(graph: csr_array, places: NDArray[np.float64], *, k: int = 10) -> float:
    """Return the mean share of each document's k nearest that are its k nearest on the map.

    Parameters
    ----------
    graph : csr_array of shape (n, n), float64
        Nearest neighbours in each row, best first.
    places : ndarray of shape (n, 2), float64
    k : int
    """
    from scipy.spatial import cKDTree

    n = len(places)
    if n == 0:
        return 1.0
    near = cKDTree(places).query(places, k=min(k + 1, n))[1].reshape(n, -1)
    shares = []
    for i in range(n):
        true = graph.indices[graph.indptr[i] : graph.indptr[i + 1]][:k]
        drawn = near[i][near[i] != i][:k]
        shares.append(np.isin(true, drawn).mean() if len(true) else 1.0)
    return float(np.mean(shares))


def _links(graph: csr_array) -> csr_array:
    """Return the symmetric link strengths of pairs of documents, with sum 1."""
    shares = diags_array(1.0 / graph.sum(axis=1)) @ graph
    links = csr_array(shares + shares.T)
    links.sort_indices()
    links.data /= links.data.sum()
    return links


def _start(links: csr_array) -> NDArray[np.float64]:
    """Return the two slowest modes of a random walk over the links, (2, n), with small noise.

    By subspace iteration. The sums are NumPy's own: those of BLAS depend on the number of
    threads.
    """
    n = links.shape[0]
    generator = np.random.default_rng(0)
    roots = np.sqrt(np.asarray(links.sum(axis=1)))
    walk = csr_array(diags_array(1.0 / roots) @ links @ diags_array(1.0 / roots))
    motions = _orthonormal(generator.standard_normal((2 + _SLACK, n)), roots)
    for _ in range(_WALKS):
        stepped = [(walk @ motion + motion) / 2 for motion in motions]
        motions = _orthonormal(stepped, roots)
    inner = np.array([[(a * (walk @ b)).sum() for b in motions] for a in motions])
    start = generator.standard_normal((2, n))  # a few documents may have fewer than two modes
    if motions:
        _, turn = np.linalg.eigh((inner + inner.T) / 2)
        slowest = np.einsum("ij,ik->jk", turn[:, ::-1], np.array(motions))[:2] / roots
        spread = slowest.std(axis=1, keepdims=True)
        start *= 0.01  # noise separates equal documents and avoids a line
        start[: len(slowest)] += slowest / np.maximum(spread, 1e-12)
    return start


def _orthonormal(
    motions: Iterable[NDArray[np.float64]], still: NDArray[np.float64]
) -> list[NDArray[np.float64]]:
    """Return the modes orthogonalised against each other and against the constant mode."""
    basis = [still / np.sqrt((still * still).sum())]
    for motion in motions:
        rest = motion.copy()
        for other in basis:
            rest -= (rest * other).sum() * other
        length = np.sqrt((rest * rest).sum())
        if length > 1e-9:  # otherwise there are no more directions
            basis.append(rest / length)
    return basis[1:]


def _settled(
    links: csr_array, start: NDArray[np.float64], progress: Progress | None
) -> NDArray[np.float64]:
    """Move points by the forces until they settle."""
    n = start.shape[1]
    places = start * 1e-4
    pointers, others = links.indptr.astype(np.int64), links.indices.astype(np.int32)
    pushed, pulled, nearness = np.zeros((2, n)), np.zeros((2, n)), np.zeros(n)
    speed, gain = np.zeros((2, n)), np.ones((2, n))
    rate = max(n / _EXAGGERATION, 50.0)  # Belkina et al. 2019
    for step in range(_STEPS):
        early = step < _EARLY
        push(places[0], places[1], pushed[0], pushed[1], nearness)
        pull(pointers, others, links.data, places[0], places[1], pulled[0], pulled[1])
        total = max(float(nearness.sum()), np.finfo(np.float64).tiny)
        slope = 4.0 * ((_EXAGGERATION if early else 1.0) * pulled - pushed / total)
        # Gains: a point that keeps its direction speeds up, one that oscillates slows down.
        swings = np.sign(slope) == np.sign(speed)
        gain = np.maximum(np.where(swings, gain * 0.8, gain + 0.2), 0.01)
        speed = _MOMENTA[not early] * speed - rate * gain * slope
        places += speed
        places -= places.mean(axis=1, keepdims=True)
        if progress is not None and step % 25 == 24:
            progress(step + 1, _STEPS)
    return np.ascontiguousarray(places.T)


def _turned(places: NDArray[np.float64]) -> NDArray[np.float64]:
    """Rotate points to be widest along the first axis, with the first document up and right."""
    x, y = places.T
    angle = 0.5 * np.arctan2(2.0 * (x * y).sum(), (x * x).sum() - (y * y).sum())
    turned = np.column_stack(
        [x * np.cos(angle) + y * np.sin(angle), y * np.cos(angle) - x * np.sin(angle)]
    )
    return np.asarray(turned * np.where(turned[0] < 0, -1.0, 1.0))
