"""SNOS: similarities of objects and features of a weighted bipartite graph (theory T13)."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.sparse import csr_array, eye_array

from softcosine._progress import Progress
from softcosine._validation import check_choice, read_matrix
from softcosine.errors import InvalidInputError, SoftCosineWarning
from softcosine.lab.snos.dense import DenseLearner
from softcosine.lab.snos.factored import FactoredLearner, feature_diagonal
from softcosine.lab.snos.graph import normalized, read_graph
from softcosine.lab.snos.kinds import FEATURES, OBJECTS, two_kinds
from softcosine.lab.snos.result import SnosResult
from softcosine.lab.snos.scaling import SEARCH, Lambdas, lambdas_of, searched
from softcosine.lab.snos.sparse import SparseLearner
from softcosine.lab.snos.trace import Trace, check_rounds, learned

_ROUNDING = 1e-9


def _identity(B: csr_array) -> csr_array:
    return csr_array((B.shape[1], B.shape[1]))


def _cosine(B: csr_array) -> csr_array:
    units = normalized(B, "length")
    return csr_array(units.T @ units)


STARTS: Mapping[str, Callable[[csr_array], csr_array]] = {
    "identity": _identity,
    "cosine": _cosine,
}


def checked_start(initial: Any, B: csr_array) -> csr_array:
    """Return the initial S_o without its diagonal.

    Raises
    ------
    InvalidInputError
        If the name is unknown, or a matrix is not (n_objects, n_objects), symmetric and
        non-negative with unit diagonal.
    """
    if initial is None or isinstance(initial, str):
        name = initial or "identity"
        if name not in STARTS:
            raise InvalidInputError(
                f"initial is {name!r}; needed is {' or '.join(STARTS)}, or a matrix."
            )
        S = STARTS[name](B)
    else:
        S = _given(initial, B.shape[1])
    rows = np.repeat(np.arange(S.shape[0]), np.diff(S.indptr))
    others = S.indices != rows
    entries = (S.data[others], (rows[others], S.indices[others]))
    return csr_array(entries, shape=S.shape)


def _given(initial: Any, n_objects: int) -> csr_array:
    S = read_matrix(initial, "initial")
    if S.shape != (n_objects, n_objects):
        raise InvalidInputError(
            f"initial has shape {S.shape}, but there are {n_objects} objects; it must be square."
        )
    problem = ""
    if np.any(np.abs(S.diagonal() - 1.0) > _ROUNDING):
        problem = "has a diagonal other than 1"
    elif S.nnz and S.data.min() < 0.0:
        problem = "holds a negative similarity"
    elif np.any(np.abs((S - S.T).data) > _ROUNDING):
        problem = "is not symmetric"
    if problem:
        raise InvalidInputError(
            f"initial {problem}; needed are symmetric similarities of 0 or more with unit diagonal."
        )
    return csr_array((S + S.T) / 2.0)


# Maximum numbers of objects and features for the dense method, and of objects for the factored one.
_DENSE = 1000
_FACTORED = 6000
_USUAL_NEIGHBORS = 100

# Precision of the search for λ: its dozens of runs are only compared with each other.
_SEARCH_TOLERANCE = 1e-4


@dataclass(frozen=True, slots=True)
class _Task:
    """Arguments of all methods."""

    B: csr_array
    lambdas: Lambdas
    start: csr_array
    max_neighbors: int | None
    run: Callable[[Any], Trace]


_Found = tuple[Any, Any, NDArray[np.float64], NDArray[np.float64], Trace]


def _dense(task: _Task) -> _Found:
    start = [np.eye(task.B.shape[0]), task.start.toarray()]
    np.fill_diagonal(start[OBJECTS], 1.0)
    learner = DenseLearner(two_kinds(task.B, task.lambdas), start)
    trace = task.run(learner)
    features, objects = learner.diagonals
    return learner.S[OBJECTS], learner.S[FEATURES], objects, features, trace


def _factored(task: _Task) -> _Found:
    start = task.start.toarray()
    np.fill_diagonal(start, 1.0)
    learner = FactoredLearner(task.B, task.lambdas, start)
    trace = task.run(learner)
    # The diagonal of the S_f that follows from the last S_o.
    features = task.lambdas[1] * feature_diagonal(task.B, learner.S)
    return learner.S, None, learner.object_diagonal, features, trace


def _sparse(task: _Task) -> _Found:
    n_features = task.B.shape[0]
    start = [csr_array((n_features, n_features)), task.start]
    learner = SparseLearner(two_kinds(task.B, task.lambdas), start, task.max_neighbors)
    trace = task.run(learner)
    S_f, S_o = (csr_array(S + eye_array(S.shape[0])) for S in learner.S)
    features, objects = learner.diagonals
    return S_o, S_f, objects, features, trace


METHODS: Mapping[str, Callable[[_Task], _Found]] = {
    "dense": _dense,
    "factored": _factored,
    "sparse": _sparse,
}


def snos(
    B: ArrayLike | csr_array,
    *,
    lam: str | float | Lambdas = "spectral",
    normalize: str = "raw",
    method: str = "auto",
    max_neighbors: int | None = None,
    initial: str | ArrayLike | csr_array | None = None,
    max_iterations: int = 200,
    tolerance: float = 1e-6,
    allow_divergence: bool = False,
    progress: Progress | None = None,
) -> SnosResult:
    r"""Learn similarities of objects and of features from each other (theory T13).

    .. math:: S_f = \lambda_2 B S_o B^\top + L_2, \qquad S_o = \lambda_1 B^\top S_f B + L_1

    Diagonal matrices L make all diagonals 1. A round learns S_f from S_o and then S_o from S_f; the
    paper updates both at once, which gives the same result every other round.

    Parameters
    ----------
    B : array or sparse array of shape (n_features, n_objects)
        Non-negative weights: terms in documents, clicked pages of queries.
    lam : str, float or two floats
        λ₁ and λ₂: "spectral", "norm" or "paper" (see
        `softcosine.lab.snos.scaling.lambdas_of`), "search" for the smallest norms of L₁ and
        L₂ with convergence (about 80 runs), or numbers.
    normalize : str
        "raw", "binary", "rows", "columns", "both" or "length"; see
        `softcosine.lab.snos.graph.normalized`.
    method : {"auto", "dense", "factored", "sparse"}
        "dense" stores S_o and S_f fully, "factored" only S_o (and one more matrix of its size),
        "sparse" the largest entries of both. "auto" chooses "sparse" if `max_neighbors` is given
        or there are more than 6,000 objects, "dense" up to 1,000 of either kind.
    max_neighbors : int, optional
        For the sparse method: the number of others that each object and each feature chooses; a
        pair is kept if either chooses it. All by default; 100 if "auto" chooses the method.
    initial : {"identity", "cosine"} or array of shape (n_objects, n_objects), optional
        Initial S_o. If the iteration converges and nothing is truncated, the limit does not
        depend on it.
    max_iterations : int
    tolerance : float
        The iteration stops when no entry of S_o changes by more.
    allow_divergence : bool
        Whether to return a diverged result, for the record, instead of raising.
    progress : callable, optional
        Called as ``progress(round, max_iterations)``.

    Raises
    ------
    InvalidInputError
        If a weight is negative or not finite, a setting is unknown, or the iteration diverges.

    Notes
    -----
    Memory: dense, three matrices (n_features, n_features) and three (n_objects, n_objects) of
    float64; factored, two of the latter; sparse, about 65 bytes per chosen neighbour:
    200 MiB for a million edges between 200,000 objects and 100,000 features that choose 10
    each, 300 MiB for 20.

    Examples
    --------
    >>> result = snos([[1, 1, 0], [0, 1, 1], [0, 0, 1]])
    >>> result.S_o.round(2)
    array([[1.  , 0.46, 0.25],
           [0.46, 1.  , 0.66],
           [0.25, 0.66, 1.  ]])
    """
    matrix = read_graph(B)
    check_rounds(max_neighbors, max_iterations, tolerance)
    scaled = normalized(matrix, normalize)
    chosen, limit = _method(method, scaled, max_neighbors)
    start = checked_start(initial, scaled)

    def run(lambdas: Lambdas, tolerance: float) -> _Found:
        def rounds(learner: Any) -> Trace:
            return learned(
                learner, max_iterations=max_iterations, tolerance=tolerance, progress=progress
            )

        return METHODS[chosen](_Task(scaled, lambdas, start, limit, rounds))

    def remainder(lambdas: Lambdas) -> float:
        _, _, objects, features, trace = run(lambdas, max(tolerance, _SEARCH_TOLERANCE))
        if not trace.converged:
            return np.inf
        return float(np.sum((1.0 - objects) ** 2) + np.sum((1.0 - features) ** 2))

    by_search = isinstance(lam, str) and lam == SEARCH
    lambdas = searched(scaled, remainder) if by_search else lambdas_of(scaled, lam)
    S_o, S_f, objects, features, trace = run(lambdas, tolerance)
    if trace.diverged and not allow_divergence:
        raise InvalidInputError(
            f"with λ₁ = {lambdas[0]:.3g} and λ₂ = {lambdas[1]:.3g} {trace.diverged}; take "
            'lam="spectral", which always converges, or scale the weights by normalize="rows".'
        )
    if not trace.converged and not trace.diverged:
        warnings.warn(
            f"SNOS did not converge in {max_iterations} rounds: the last changed an entry by "
            f"{trace.rounds[-1].change.greatest:.2g}; raise max_iterations or tolerance.",
            SoftCosineWarning,
            stacklevel=2,
        )
    return SnosResult(
        S_o, S_f, lambdas, trace, chosen, scaled, normalize,
        np.asarray(matrix.sum(axis=1)), objects, features,
    )  # fmt: skip


def _method(method: str, B: csr_array, max_neighbors: int | None) -> tuple[str, int | None]:
    if method != "auto":
        check_choice("method", method, ("auto", *METHODS))
        if max_neighbors is not None and method != "sparse":
            raise InvalidInputError(
                f"max_neighbors is {max_neighbors}, but the {method} method leaves nothing out; "
                'take method="sparse".'
            )
        return method, max_neighbors
    n_features, n_objects = B.shape
    if max_neighbors is not None or n_objects > _FACTORED:
        return "sparse", _USUAL_NEIGHBORS if max_neighbors is None else max_neighbors
    return ("dense" if max(n_features, n_objects) <= _DENSE else "factored"), None
