"""Documents laid out in the plane, so that those similar to each other lie together.

Spectral coordinates of the neighbour graph put a few outlying groups at the ends of long arms, and
all others in one heap; they serve as the start only. From there points move as in t-SNE (van der
Maaten & Hinton 2008): each is pulled by the documents that it is similar to, by the share that each
has of all its similarities, and pushed by all others; all forces are computed exactly. Nearness on
the map means similarity; large distances and directions mean nothing.
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
# In the first steps links pull harder, so that groups find together, and points have less momentum.
_EARLY, _EXAGGERATION = 250, 12.0
_MOMENTA = (0.5, 0.8)
_WALKS = 200  # steps of the random walk whose slowest motions are the start
_SLACK = 6  # further motions, by which the first two are found sooner


def laid_out(graph: csr_array, *, progress: Progress | None = None) -> NDArray[np.float64]:
    """Return places in the plane from -1 to 1.

    Parameters
    ----------
    graph : csr_array of shape (n, n), float64
        The similarities of each document's nearest others, all above 0; n is 2 or more, and no row
        is empty.
    progress : callable, optional
        Called with the number of steps done, and of all.

    Returns
    -------
    ndarray of shape (n, 2), float64
        Widest along the first axis, centred. The same for the same graph, by the same versions of
        NumPy and SciPy on the same kind of machine.
    """
    links = _links(graph)
    places = _turned(_settled(links, _start(links), progress))
    return places / max(float(np.abs(places).max()), np.finfo(np.float64).tiny)


def kept_neighbors(graph: csr_array, places: NDArray[np.float64], *, k: int = 10) -> float:
    """Return which share of each document's k nearest is among its k nearest on the map.

    Parameters
    ----------
    graph : csr_array of shape (n, n), float64
        In each row the nearest others, best first.
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
    """Return how strongly each two documents are linked: symmetric, all together 1."""
    shares = diags_array(1.0 / graph.sum(axis=1)) @ graph
    links = csr_array(shares + shares.T)
    links.sort_indices()
    links.data /= links.data.sum()
    return links


def _start(links: csr_array) -> NDArray[np.float64]:
    """Return the two slowest motions of a random walk over the links, (2, n), a little shaken.

    By subspace iteration. Sums are NumPy's own: those of BLAS would depend on the number of
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
    start = generator.standard_normal((2, n))  # of a few documents, there may be no two motions
    if motions:
        _, turn = np.linalg.eigh((inner + inner.T) / 2)
        slowest = np.einsum("ij,ik->jk", turn[:, ::-1], np.array(motions))[:2] / roots
        spread = slowest.std(axis=1, keepdims=True)
        start *= 0.01  # equal documents do not begin at one place, nor all on a line
        start[: len(slowest)] += slowest / np.maximum(spread, 1e-12)
    return start


def _orthonormal(
    motions: Iterable[NDArray[np.float64]], still: NDArray[np.float64]
) -> list[NDArray[np.float64]]:
    """Return motions orthogonal to each other and to what does not move at all."""
    basis = [still / np.sqrt((still * still).sum())]
    for motion in motions:
        rest = motion.copy()
        for other in basis:
            rest -= (rest * other).sum() * other
        length = np.sqrt((rest * rest).sum())
        if length > 1e-9:  # else there are no more directions
            basis.append(rest / length)
    return basis[1:]


def _settled(
    links: csr_array, start: NDArray[np.float64], progress: Progress | None
) -> NDArray[np.float64]:
    """Move points by their forces until they have settled."""
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
        # A point that goes on in one direction goes faster; one that swings, slower.
        swings = np.sign(slope) == np.sign(speed)
        gain = np.maximum(np.where(swings, gain * 0.8, gain + 0.2), 0.01)
        speed = _MOMENTA[not early] * speed - rate * gain * slope
        places += speed
        places -= places.mean(axis=1, keepdims=True)
        if progress is not None and step % 25 == 24:
            progress(step + 1, _STEPS)
    return np.ascontiguousarray(places.T)


def _turned(places: NDArray[np.float64]) -> NDArray[np.float64]:
    """Turn places so that they are widest along the first axis, the first document up and right."""
    x, y = places.T
    angle = 0.5 * np.arctan2(2.0 * (x * y).sum(), (x * x).sum() - (y * y).sum())
    turned = np.column_stack(
        [x * np.cos(angle) + y * np.sin(angle), y * np.cos(angle) - x * np.sin(angle)]
    )
    return np.asarray(turned * np.where(turned[0] < 0, -1.0, 1.0))
