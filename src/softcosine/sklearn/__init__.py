"""Scikit-learn estimators for the soft vector space; they need scikit-learn.

``coordinates.py``
    A transformer to coordinates, exact or in few dimensions.
``neighbor_graph.py``, ``neighbors_classifier.py``
    Nearest neighbours: the graph, and a classifier.
``metric.py``
    Term weights and similarities learned from labels.
``estimator.py``, ``similarity.py``
    What the transformers share: the base classes, and the S that they use.

See docs/scikit-learn.md.
"""

from softcosine.sklearn.coordinates import SoftCosineTransformer
from softcosine.sklearn.metric import SoftMetric
from softcosine.sklearn.neighbor_graph import SoftNeighborsTransformer
from softcosine.sklearn.neighbors_classifier import SoftNeighborsClassifier

__all__ = [
    "SoftCosineTransformer",
    "SoftMetric",
    "SoftNeighborsClassifier",
    "SoftNeighborsTransformer",
]
