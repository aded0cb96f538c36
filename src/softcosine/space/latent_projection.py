"""Random projection that preserves dot products in expectation (theory T11)."""

from __future__ import annotations

import numpy as np
from scipy.sparse import csr_array

from softcosine._validation import check_number, check_whole

__all__ = ["sparse_projection"]


def sparse_projection(
    n_terms: int, *, k: int, density: float | None = None, random_state: int = 0
) -> csr_array:
    r"""Return a sparse random matrix R with E[R Rᵀ] = I.

    An entry is :math:`\pm 1/\sqrt{dk}` with probability d/2 each, else 0 (Achlioptas 2003; Li,
    Hastie & Church 2006). The expected dot product of ``y' @ R`` and ``(Sᵀ W x) @ R`` is the soft
    inner product, with variance at most :math:`(\lvert a \rvert^2 \lvert b \rvert^2 + (a
    \cdot b)^2 + \sum_i a_i^2 b_i^2 / d) / k` for ``a = y'`` and ``b = Sᵀ W x``.

    Parameters
    ----------
    n_terms : int
    k : int
        At least 1.
    density : float, optional
        d, in (0, 1]; ``1 / sqrt(n_terms)`` by default.
    random_state : int
        Seed.

    Returns
    -------
    csr_array of shape (n_terms, k), float64
    """
    check_whole("k", k)
    check_whole("n_terms", n_terms, least=0)
    if density is None:
        density = 1.0 / np.sqrt(max(n_terms, 1))
    check_number("density", density, above=0, most=1)
    generator = np.random.default_rng(random_state)
    # Draw positions uniformly, each with probability `density` independently.
    n_places = n_terms * k
    n_filled = int(generator.binomial(n_places, density))
    places = np.sort(generator.choice(n_places, n_filled, replace=False, shuffle=False))
    signs = generator.choice(np.array([-1.0, 1.0]), n_filled)
    rows, columns = np.divmod(places, k)
    values = signs / np.sqrt(density * k)
    return csr_array((values, (rows, columns)), shape=(n_terms, k))
