"""SNOS: similarities of objects and of their features, learned from each other (theory T13).

``learning.py``
    `snos`: one graph of objects and features.
``many.py``
    `snos_many`: several kinds of objects at once.
``source.py``, ``estimator.py``
    `SnosSimilarity`, a source of term similarity, and `SNOS`, a scikit-learn estimator.
``dense.py``, ``factored.py``, ``sparse.py``
    The three algorithms.
"""

from softcosine.lab.snos.learning import snos
from softcosine.lab.snos.many import snos_many

__all__ = ["snos", "snos_many"]
