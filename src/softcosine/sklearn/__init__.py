"""Estimators of scikit-learn that work in the soft vector space; they need scikit-learn.

All take S, a source or a recipe by ``similarity=``, and what scikit-learn's own take besides;
``estimator.py`` has what the transformers share. See docs/scikit-learn.md.
"""

from softcosine.sklearn.coordinates import SoftCosineTransformer
from softcosine.sklearn.lsa import SoftLSA
from softcosine.sklearn.metric import SoftMetric
from softcosine.sklearn.neighbor_graph import SoftNeighborsTransformer
from softcosine.sklearn.neighbors_classifier import SoftNeighborsClassifier
from softcosine.sklearn.random_projection import SoftRandomProjection
from softcosine.sklearn.spectral import SoftSpectralTransformer

__all__ = [
    "SoftCosineTransformer",
    "SoftLSA",
    "SoftMetric",
    "SoftNeighborsClassifier",
    "SoftNeighborsTransformer",
    "SoftRandomProjection",
    "SoftSpectralTransformer",
]
