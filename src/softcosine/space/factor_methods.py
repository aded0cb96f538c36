"""The ways to factor S, by name: what each would need, and the factor (theory T7)."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal, get_args

from scipy.sparse import csr_array

from softcosine.errors import InvalidInputError
from softcosine.space.cholesky import factored, find_cores
from softcosine.lab.factoring.cholmod import factored_by_cholmod, memory_of_cholmod
from softcosine.space.fill_in import Elimination
from softcosine.lab.factoring.superlu import factored_by_superlu, memory_of_superlu

__all__ = ["METHODS", "FactorMethod", "Factoring", "checked_method"]

FactorMethod = Literal["auto", "dense", "sparse", "cholmod"]


@dataclass(frozen=True, slots=True)
class Factoring:
    """One way to factor.

    Attributes
    ----------
    memory : callable
        Of an `Elimination`: bytes at the peak, the factor included.
    factored : callable
        Of an `Elimination` and the pivot that counts as zero, ``least=``: E, as
        `softcosine.space.cholesky.factored` gives it.
    """

    memory: Callable[[Elimination], int]
    factored: Callable[..., Any]


def _own(*, whole: bool) -> Factoring:
    def memory(elimination: Elimination) -> int:
        return find_cores(elimination, whole=whole).memory(elimination)

    def made(elimination: Elimination, *, least: float) -> csr_array:
        return factored(elimination, find_cores(elimination, whole=whole), least=least)

    return Factoring(memory, made)


METHODS: dict[FactorMethod, Factoring] = {
    "auto": _own(whole=False),
    "dense": _own(whole=True),
    "sparse": Factoring(memory_of_superlu, factored_by_superlu),
    "cholmod": Factoring(memory_of_cholmod, factored_by_cholmod),
}


def checked_method(method: object) -> FactorMethod:
    """Return the method; InvalidInputError names those that there are."""
    if method not in get_args(FactorMethod):
        raise InvalidInputError(
            f"method is {method!r}; choose one of {', '.join(get_args(FactorMethod))}."
        )
    return method  # type: ignore[return-value]
