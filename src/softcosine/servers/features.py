"""What the feature fields of Lucene keep of an impact, in all servers that are made of Lucene."""

from __future__ import annotations

import numpy as np

__all__ = ["LEAST", "feature_error"]

LEAST = np.float32(2.0**-126)
"""The smallest impact and weight that they take."""


def feature_error(n_terms: int) -> float:
    """Return the greatest relative error of a score of positive summands.

    Impacts are rounded down to nine significant bits, and the sum to float32.
    """
    return (1.0 + 2.0**-8) * (1.0 + (n_terms + 8) * 2.0**-23) - 1.0
