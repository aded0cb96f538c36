"""SNOS: similarities of objects and of their features, each learned from the other (theory T13).

`snos` learns them from one graph, `snos_many` from several kinds of objects at once;
`softcosine.lab` has the source and the estimator.
"""

from softcosine.lab.snos.learning import snos
from softcosine.lab.snos.many import snos_many

__all__ = ["snos", "snos_many"]
