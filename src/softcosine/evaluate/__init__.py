"""Evaluation of soft similarity on judged collections, and tuning of settings.

>>> from softcosine.evaluate import evaluate, load
>>> print(evaluate(load("cranfield"), ["cosine", "bm25", "soft"]))  # doctest: +SKIP

- `datasets`: readers of data sets (`load`).
- `systems`: the systems to compare; `systems.table` lists them.
- `evaluation`: `evaluate` and its result, `Evaluation`; `overall` for several data sets.
- `measures`: the measures; `significance` and `statistics`: bootstrap and randomisation test.
- `differences`: the largest wins and losses of a system, with explanations.
- `reports`, `charts`: tables and pictures.
- `tuning`: choice of settings by cross-validation.

Names are imported at first use.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

_HOMES = {
    "Documents": "softcosine.evaluate.documents",
    "Evaluation": "softcosine.evaluate.evaluation",
    "Run": "softcosine.evaluate.runs",
    "evaluate": "softcosine.evaluate.evaluation",
    "load": "softcosine.evaluate.datasets.loading",
    "measured": "softcosine.evaluate.measures",
    "paired_bootstrap": "softcosine.evaluate.significance",
    "paired_bootstrap_of_collections": "softcosine.evaluate.significance",
    "randomization_test": "softcosine.evaluate.significance",
    "read_collection": "softcosine.evaluate.datasets.collections",
}

if TYPE_CHECKING:
    from softcosine.evaluate.datasets.collections import read_collection as read_collection
    from softcosine.evaluate.datasets.loading import load as load
    from softcosine.evaluate.documents import Documents as Documents
    from softcosine.evaluate.evaluation import Evaluation as Evaluation
    from softcosine.evaluate.evaluation import evaluate as evaluate
    from softcosine.evaluate.measures import measured as measured
    from softcosine.evaluate.runs import Run as Run
    from softcosine.evaluate.significance import paired_bootstrap as paired_bootstrap
    from softcosine.evaluate.significance import (
        paired_bootstrap_of_collections as paired_bootstrap_of_collections,
    )
    from softcosine.evaluate.significance import randomization_test as randomization_test


def __getattr__(name: str) -> Any:
    home = _HOMES.get(name)
    if home is None:
        raise AttributeError(f"module 'softcosine.evaluate' has no attribute {name!r}")
    value = getattr(import_module(home), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted([*globals(), *_HOMES])
