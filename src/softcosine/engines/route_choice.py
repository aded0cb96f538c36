"""Choice and construction of the route from documents to vectors."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from softcosine._progress import Report, silent
from softcosine._validation import check_choice, check_whole
from softcosine.engines.routes import Basis, Lsa, Route
from softcosine.errors import IndefiniteMatrixError, InvalidInputError
from softcosine.index.search.ranked_vectors import RankedVectors

__all__ = ["MAX_MEMORY", "N_DIMENSIONS", "made_route"]

# Limit in bytes of dense coordinates, and of a factor of S, for the automatic choice.
MAX_MEMORY = 1 << 30
N_DIMENSIONS = 256
_PASSES = 3  # more passes improve the singular vectors, but not recall


@dataclass(frozen=True, slots=True)
class _Asked:
    """Inputs of a route."""

    ranked: RankedVectors
    n_dimensions: int
    max_memory: int | None
    progress: Report


def made_route(
    name: str,
    ranked: RankedVectors,
    *,
    n_dimensions: int = N_DIMENSIONS,
    max_memory: int | None = None,
    progress: Report | None = None,
) -> tuple[Route, str]:
    """Return the route of a name, and for ``auto`` the reason of the choice.

    ``auto`` is ``basis`` if S has a factor, and both the factor, by its estimated fill-in, and the
    documents' coordinates, n_docs · n_terms · 4 bytes, stay within `max_memory`; else ``lsa``.

    Parameters
    ----------
    name : {"auto", "basis", "lsa"}
    ranked : RankedVectors
    n_dimensions : int
        Upper limit of the dimensions of ``lsa``.
    max_memory : int, optional
        In bytes; 1 GiB for ``auto``, the default of `orthonormal_basis` for ``basis``.
    progress : callable, optional

    Raises
    ------
    InvalidInputError
        If the route is unknown, or the factor is too large.
    IndefiniteMatrixError
        If ``basis`` is named and S is not positive definite.
    """
    for setting, value in (("n_dimensions", n_dimensions), ("max_memory", max_memory)):
        check_whole(setting, value, optional=True)
    check_choice("route", name, (*ROUTES, "auto"))
    asked = _Asked(ranked, int(n_dimensions), max_memory, progress or silent)
    return _chosen(asked) if name == "auto" else (ROUTES[name](asked), "")


def _chosen(asked: _Asked) -> tuple[Route, str]:
    """Return the basis if it fits, else ``lsa``, with the reason."""
    from softcosine.space.fill_in import estimate_fill_in

    S, limit = asked.ranked.S, asked.max_memory or MAX_MEMORY
    dense = 4 * len(asked.ranked) * len(S)
    if dense > limit:
        return _lsa(asked), (
            f"{len(asked.ranked):,} documents have {_size(dense)} of coordinates in the basis of "
            f"all {len(S):,} terms, more than {_size(limit)}"
        )
    if not S.symmetric:
        return _lsa(asked), "S is asymmetric and has no basis"
    factor = estimate_fill_in(S).memory
    if factor > limit:
        return _lsa(asked), f"the factor of S has {_size(factor)}, more than {_size(limit)}"
    try:
        return _basis(asked), ""
    except IndefiniteMatrixError:
        return _lsa(asked), "S is not positive definite and has no basis"
    except InvalidInputError:  # the factor fits, but its computation does not
        return _lsa(asked), f"factoring S takes more than {_size(limit)}"


def _basis(asked: _Asked) -> Route:
    from softcosine.space.basis import orthonormal_basis

    asked.progress("factoring S", 0, None)
    return Basis(orthonormal_basis(asked.ranked.S, max_memory=asked.max_memory))


def _lsa(asked: _Asked) -> Route:
    from softcosine.space.latent import right_singular_vectors

    ranked, n_terms = asked.ranked, len(asked.ranked.S)
    n_passes = 0

    def blocks() -> Any:
        nonlocal n_passes
        done = 0
        for _, rows in ranked.documents():
            asked.progress(f"reducing dimensions, pass {n_passes + 1}", done, len(ranked))
            yield rows
            done += rows.shape[0]
        n_passes += 1

    k = min(asked.n_dimensions, n_terms, len(ranked))
    V, sigma = right_singular_vectors(blocks, n_terms, k=k, n_iterations=_PASSES)
    # With a lower rank, the last columns would be zeros.
    return Lsa(np.ascontiguousarray(V[:, : max(1, int(np.count_nonzero(sigma)))], np.float32))


ROUTES: dict[str, Callable[[_Asked], Route]] = {"basis": _basis, "lsa": _lsa}


def _size(n_bytes: int) -> str:
    return f"{n_bytes / 2**20:,.0f} MiB"
