"""Estimators for the soft vector space; those of scikit-learn need it, `SoftNeighbors` does not.

``soft_neighbors.py``
    Nearest neighbours among the rows of a matrix.
``coordinates.py``
    A transformer to coordinates, exact or in few dimensions.
``neighbor_graph.py``, ``neighbors_classifier.py``, ``votes.py``
    Nearest neighbours: the graph, a classifier, and how neighbours vote.
``metric.py``
    Term weights and similarities learned from labels.
``estimator.py``
    What the transformers share: the base classes, and the S that they use.

See docs/scikit-learn.md.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from softcosine.sklearn.coordinates import SoftCosineTransformer as SoftCosineTransformer
    from softcosine.sklearn.metric import SoftMetric as SoftMetric
    from softcosine.sklearn.neighbor_graph import (
        SoftNeighborsTransformer as SoftNeighborsTransformer,
    )
    from softcosine.sklearn.neighbors_classifier import (
        SoftNeighborsClassifier as SoftNeighborsClassifier,
    )

_HOMES = {
    "SoftCosineTransformer": "coordinates",
    "SoftMetric": "metric",
    "SoftNeighborsClassifier": "neighbors_classifier",
    "SoftNeighborsTransformer": "neighbor_graph",
}

__all__ = [*_HOMES]


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module 'softcosine.sklearn' has no attribute {name!r}")
    return getattr(import_module(f"softcosine.sklearn.{_HOMES[name]}"), name)
