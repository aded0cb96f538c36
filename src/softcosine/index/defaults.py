"""Default settings of `SoftIndex`.

docs/defaults.md explains the choices and their measurements. The default source of similarities is
in `softcosine.similarity.default`.
"""

from __future__ import annotations

from softcosine.text.weighting import Weighting

__all__ = [
    "AUTOMATIC_WEIGHTS",
    "ENCODER",
    "MEANING_WEIGHTS",
    "RANKING",
    "STATIC_WEIGHTS",
    "WEIGHTING",
]

RANKING = "soft_tf_bm25"
# "static" for English texts that are ranked by BM25, unless S = I or S is given; otherwise none.
ENCODER = "auto"
# Weight of a cosine of meaning in a score, on the scale of each ranking. Inner products have none.
MEANING_WEIGHTS = {
    "soft_bm25": 40.0, "soft_tf_bm25": 40.0, "soft_cosine": 1.0, "expanded_cosine": 1.0
}  # fmt: skip
# The same of documents that no encoder has read; docs/decisions.md.
STATIC_WEIGHTS = {
    "soft_bm25": 10.0, "soft_tf_bm25": 10.0, "soft_cosine": 0.5, "expanded_cosine": 0.5
}  # fmt: skip
# The same if no encoder was named: rankings by cosine stay rankings by words alone.
AUTOMATIC_WEIGHTS = {**STATIC_WEIGHTS, "soft_cosine": 0.0, "expanded_cosine": 0.0}
WEIGHTING = Weighting(tf="log", idf="smooth", k1=1.6, b=0.75)
