"""What `SoftIndex` uses where nothing is given.

The choices and the measurements behind them stand in docs/defaults.md; that of the similarities
is made by `softcosine.similarity.default`.
"""

from __future__ import annotations

from softcosine.text.weighting import Weighting

__all__ = ["RANKING", "WEIGHTING"]

RANKING = "soft_bm25"
WEIGHTING = Weighting(tf="log", idf="smooth", k1=1.6, b=0.75)
