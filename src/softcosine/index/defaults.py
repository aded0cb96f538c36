"""Default settings of `SoftIndex`.

docs/defaults.md explains the choices and their measurements. The default source of similarities is
in `softcosine.similarity.default`.
"""

from __future__ import annotations

from softcosine.text.weighting import Weighting

__all__ = ["RANKING", "WEIGHTING"]

RANKING = "soft_bm25"
WEIGHTING = Weighting(tf="log", idf="smooth", k1=1.6, b=0.75)
