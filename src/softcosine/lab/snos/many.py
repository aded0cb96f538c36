"""SNOS of more than two kinds of objects: queries, pages and terms at once (theory T13)."""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array, eye_array

from softcosine._progress import Progress
from softcosine._validation import is_number
from softcosine.errors import InvalidInputError, SoftCosineWarning
from softcosine.lab.snos.dense import DenseLearner
from softcosine.lab.snos.graph import (
    greatest_column_sum,
    largest_singular_value,
    normalized,
    read_graph,
)
from softcosine.lab.snos.kinds import Influence, Kind
from softcosine.lab.snos.sparse import SparseLearner
from softcosine.lab.snos.trace import Trace, check_rounds, learned

_SHARE = 0.9

Pair = tuple[str, str]
_Relations = dict[Pair, csr_array]


@dataclass(frozen=True, slots=True, eq=False)
class SnosKinds:
    """Similarities within each kind.

    Attributes
    ----------
    similarities : dict of str to ndarray or csr_array
        S of each kind, symmetric, unit diagonal.
    lambdas : dict of (str, str) to float
        ``lambdas["query", "page"]``: factor of the similarities of pages in those of queries.
    trace : Trace
        Changes of all kinds together.
    """

    similarities: dict[str, NDArray[np.float64] | csr_array]
    lambdas: dict[Pair, float]
    trace: Trace


def snos_many(
    relations: Mapping[Pair, Any],
    *,
    lam: str | Mapping[Pair, float] = "spectral",
    shares: Mapping[Pair, float] | None = None,
    normalize: str = "raw",
    max_neighbors: int | None = None,
    max_iterations: int = 200,
    tolerance: float = 1e-6,
    progress: Progress | None = None,
) -> SnosKinds:
    r"""Learn similarities within each of several related kinds (theory T13).

    .. math:: S_k = \sum_l \lambda_{kl} B_{kl} S_l B_{kl}^\top + L_k

    over the kinds l that k is related to, where :math:`B_{lk} = B_{kl}^\top`.

    Parameters
    ----------
    relations : mapping of (kind, kind) to array or sparse array
        Non-negative weights of shape (number of the first kind, number of the second): for
        example ``{("query", "page"): clicks, ("page", "term"): counts}``. Kinds are learned in
        the reverse order of first mention, each from the current state of the others.
    lam : {"spectral", "norm"} or mapping of (kind, kind) to float
        "spectral" always converges; "norm" too, with entries below 1. In a mapping ``(k, l)`` is
        λ_kl, and each direction needs one.
    shares : mapping of (kind, kind) to float, optional
        Relative weight of each relation in the rules; 1 by default.
    normalize : str
        The rows of a relation are its first kind; see `softcosine.lab.snos.graph.normalized`.
    max_neighbors : int, optional
        Number of others that each object chooses, for sparse matrices. Dense by default.
    max_iterations, tolerance, progress
        As for `softcosine.lab.snos.learning.snos`.

    Raises
    ------
    InvalidInputError
        If relations differ in the number of objects of a kind, a weight is negative, a λ is
        missing or not above 0, another setting is out of range, or the iteration diverges.

    Examples
    --------
    >>> found = snos_many({("query", "page"): [[1, 0], [0, 1]], ("page", "term"): [[1, 1], [0, 1]]})
    >>> found.similarities["query"].round(2)
    array([[1.  , 0.36],
           [0.36, 1.  ]])
    """
    check_rounds(max_neighbors, max_iterations, tolerance)
    read = {
        pair: normalized(read_graph(B, f"relations[{pair}]"), normalize)
        for pair, B in _checked(relations).items()
    }
    sizes = _sizes(read)
    lambdas = _lambdas(read, lam, shares)
    names = list(reversed(sizes))
    numbers = {name: number for number, name in enumerate(names)}
    influences: dict[str, list[Influence]] = {name: [] for name in names}
    for (a, b), B in read.items():
        for to, of, C in ((a, b, B), (b, a, B.T)):
            scaled = csr_array(C * np.sqrt(lambdas[to, of]))
            influences[to].append(Influence(numbers[of], scaled))
    kinds = [Kind(sizes[name], influences[name]) for name in names]
    learner: Any
    if max_neighbors is None:
        learner = DenseLearner(kinds, [np.eye(kind.n) for kind in kinds])
    else:
        learner = SparseLearner(
            kinds, [csr_array((kind.n, kind.n)) for kind in kinds], max_neighbors
        )
    trace = learned(learner, max_iterations=max_iterations, tolerance=tolerance, progress=progress)
    if trace.diverged:
        raise InvalidInputError(f'{trace.diverged}; take smaller λ, or lam="spectral".')
    if not trace.converged:
        warnings.warn(
            f"SNOS did not converge in {max_iterations} rounds; raise max_iterations or tolerance.",
            SoftCosineWarning,
            stacklevel=2,
        )
    S = learner.S
    if max_neighbors is not None:
        S = [csr_array(part + eye_array(part.shape[0])) for part in S]
    return SnosKinds({name: S[numbers[name]] for name in sizes}, lambdas, trace)


def _checked(relations: Mapping[Pair, Any]) -> Mapping[Pair, Any]:
    if not isinstance(relations, Mapping) or not relations:
        raise InvalidInputError(
            "there are no relations; needed is a mapping such as "
            '{("query", "page"): clicks, ("page", "term"): counts}.'
        )
    for pair in relations:
        if not (isinstance(pair, tuple) and len(pair) == 2 and pair[0] != pair[1]):
            raise InvalidInputError(f"{pair!r} is no relation; needed are two kinds by name.")
        if (pair[1], pair[0]) in relations:
            raise InvalidInputError(
                f"{pair[0]!r} and {pair[1]!r} are related twice; add up what belongs together."
            )
    return relations


def _sizes(relations: _Relations) -> dict[str, int]:
    sizes: dict[str, int] = {}
    for pair, B in relations.items():
        for name, n in zip(pair, B.shape, strict=True):
            if sizes.setdefault(name, n) != n:
                raise InvalidInputError(
                    f"relations[{pair}] has shape {B.shape}, but there are {sizes[name]} of "
                    f"{name!r} elsewhere; rows are of the first kind, columns of the second."
                )
    return sizes


def _lambdas(
    relations: _Relations, lam: str | Mapping[Pair, float], shares: Mapping[Pair, float] | None
) -> dict[Pair, float]:
    directions = [pair for a, b in relations for pair in ((a, b), (b, a))]
    if isinstance(lam, Mapping):
        return {pair: _positive(lam, pair, "lam") for pair in directions}
    if not isinstance(lam, str) or lam not in _RULES:
        raise InvalidInputError(
            f"lam is {lam!r}; it must be one of {', '.join(_RULES)}, or a mapping of each "
            "direction to a number."
        )
    weights = {
        pair: 1.0 if shares is None else _positive(shares, pair, "shares") for pair in relations
    }
    return _RULES[lam](relations, weights)


def _spectral(relations: _Relations, shares: Mapping[Pair, float]) -> dict[Pair, float]:
    names = list(_sizes(relations))
    graph = np.zeros((len(names), len(names)))
    for (a, b), share in shares.items():
        i, j = names.index(a), names.index(b)
        graph[i, j] = graph[j, i] = share
    radius = float(np.linalg.eigvalsh(graph)[-1])
    found = {}
    for (a, b), B in relations.items():
        sigma = largest_singular_value(B)
        value = _SHARE * shares[a, b] / (radius * sigma**2) if sigma else 0.0
        found[a, b] = found[b, a] = value
    return found


def _norm(relations: _Relations, shares: Mapping[Pair, float]) -> dict[Pair, float]:
    found = {}
    for (a, b), B in relations.items():
        for to, of, C in ((a, b, B.T), (b, a, B)):
            total = sum(share for pair, share in shares.items() if to in pair)
            bound = greatest_column_sum(C) ** 2
            found[to, of] = _SHARE * shares[a, b] / (total * bound) if bound else 0.0
    return found


_RULES = {"spectral": _spectral, "norm": _norm}


def _positive(values: Mapping[Pair, float], pair: Pair, name: str) -> float:
    value: Any = values.get(pair)
    if not (is_number(value) and 0.0 < value < np.inf):
        raise InvalidInputError(
            f"{name}[{pair}] is {value!r}; needed is a number above 0 for every relation"
            f"{' in both directions' if name == 'lam' else ''}."
        )
    return float(value)
