"""Choice of settings on judged queries by cross-validation.

>>> from softcosine.evaluate import load
>>> from softcosine.evaluate.tuning import indexed, tune
>>> dataset = load("cranfield")  # doctest: +SKIP
>>> tuned = tune(dataset)  # doctest: +SKIP
>>> index = indexed(dataset.documents, tuned.settings)  # doctest: +SKIP
"""

from softcosine.evaluate.tuning.settings import Settings, indexed
from softcosine.evaluate.tuning.tuned import Tuned
from softcosine.evaluate.tuning.tuning import tune

__all__ = ["Settings", "Tuned", "indexed", "tune"]
