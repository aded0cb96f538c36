"""Feature fields of Lucene, in all servers that are made of it: what they keep, and limits."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np

from softcosine.servers.server import TooManyClausesError

__all__ = ["LEAST", "MOST_CONDITIONS", "MOST_TERMS", "feature_error", "lowering"]

LEAST = np.float32(2.0**-126)
"""The smallest impact and weight that they take."""

MOST_TERMS, MOST_CONDITIONS = 768, 32
"""Most terms of a search, and conditions of its filter: together at most 1,024 clauses.

That is Lucene's limit by default, ``indices.query.bool.max_clause_count``. A condition can have
eight: a key, a number and its column, a nested document, and all documents without it.
"""


@contextmanager
def lowering(server: Any, n_terms: int) -> Iterator[None]:
    """Halve the `max_terms` of a server that refuses a search of `n_terms` for its clauses.

    If a single term is refused, its filter is too much; without it, all may pass again.
    """
    try:
        yield
    except TooManyClausesError:
        server.max_terms = n_terms // 2 or MOST_TERMS
        raise


def feature_error(n_terms: int) -> float:
    """Return the greatest relative error of a score of positive summands.

    Impacts are rounded down to nine significant bits, and the sum to float32.
    """
    return (1.0 + 2.0**-8) * (1.0 + (n_terms + 8) * 2.0**-23) - 1.0
