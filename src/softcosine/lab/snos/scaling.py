"""Rules for the size of λ₁ and λ₂: those of the paper, and those that converge (theory T13)."""

from __future__ import annotations

from collections.abc import Callable, Mapping

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import minimize
from scipy.sparse import csr_array

from softcosine._validation import is_number
from softcosine.errors import InvalidInputError
from softcosine.lab.snos.graph import greatest_column_sum, largest_singular_value

Lambdas = tuple[float, float]

# Margin of a rule below its bound, as in the paper.
_SHARE = 0.9
SEARCH = "search"


def _paper(B: csr_array) -> Lambdas:
    value = _over(max(greatest_column_sum(B), greatest_column_sum(B.T)))
    return value, value


def _norm(B: csr_array) -> Lambdas:
    return _over(greatest_column_sum(B) ** 2), _over(greatest_column_sum(B.T) ** 2)


def _spectral(B: csr_array) -> Lambdas:
    value = _over(largest_singular_value(B) ** 2)
    return value, value


def _over(bound: float) -> float:
    # Without edges nothing is learned for any λ.
    return _SHARE / bound if bound > 0.0 else 0.0


RULES: Mapping[str, Callable[[csr_array], Lambdas]] = {
    "paper": _paper,
    "norm": _norm,
    "spectral": _spectral,
}


def lambdas_of(B: csr_array, lam: str | float | Lambdas) -> Lambdas:
    """Return (λ₁, λ₂) by a rule, or the given ones.

    ========== ====================================================================================
    spectral   both 0.9 / σ(B)²: always converges; entries may exceed 1
    norm       0.9 / ‖B‖₁² and 0.9 / ‖B‖∞²: always converges, entries below 1; mostly tiny ones
    paper      both 0.9 / max(‖B‖₁, ‖B‖∞), as printed in the paper: converges only for weights that
               are small enough, such as those of rows or columns that sum to 1
    ========== ====================================================================================

    Raises
    ------
    InvalidInputError
        If the rule is unknown, or a number is not positive and finite.
    """
    if isinstance(lam, str):
        if lam not in RULES:
            raise InvalidInputError(
                f"lam is {lam!r}; it must be one of {', '.join(RULES)} and {SEARCH}, a number, or "
                "two."
            )
        return RULES[lam](B)
    pair = tuple(lam) if isinstance(lam, tuple | list | np.ndarray) else (lam, lam)
    if len(pair) != 2 or not all(is_number(value) and 0.0 < value < np.inf for value in pair):
        raise InvalidInputError(
            f"lam is {lam!r}; needed is the name of a rule, a number above 0, or two of them."
        )
    return float(pair[0]), float(pair[1])


def searched(B: csr_array, remainder: Callable[[Lambdas], float], *, max_runs: int = 80) -> Lambdas:
    """Search the λ₁ and λ₂ with the smallest remainders on the diagonals.

    Parameters
    ----------
    B : csr_array
    remainder : callable
        Returns ‖L₁‖² + ‖L₂‖² (Frobenius) of a run; infinite if it does not converge.
    max_runs : int
        Maximum number of runs of the Nelder-Mead method, which starts at the spectral bound.
    """
    start, _ = RULES["spectral"](B)
    if start == 0.0:
        return 0.0, 0.0

    def at(logarithms: NDArray[np.float64]) -> float:
        first, second = start * np.exp(logarithms)
        return remainder((float(first), float(second)))

    # Infinity would become NaN in the method.
    ceiling = 10.0 * (sum(B.shape) + at(np.zeros(2)))
    found = minimize(
        lambda x: min(at(x), ceiling),
        np.zeros(2),
        method="Nelder-Mead",
        options={
            "maxfev": max_runs, "xatol": 1e-3, "fatol": 1e-6 * ceiling,
            "initial_simplex": [[0.0, 0.0], [-0.3, 0.3], [0.05, 0.0]],
        },
    )  # fmt: skip
    first, second = start * np.exp(found.x)
    return float(first), float(second)
