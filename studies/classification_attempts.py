"""What was tried for the classification study and did not help: figures of test parts, in %.

They were found while looking for methods, on all ten splits or the first few, with term statistics
of all texts; so they compare with what stands beside them, not with the tables.
"""

from __future__ import annotations

from typing import Any

__all__ = ["ATTEMPTS"]

ATTEMPTS: list[dict[str, Any]] = [
    {"what": what, "set": name, "error": error, "beside": beside, "remark": remark}
    for what, name, error, beside, remark in (
        ("English table, cosine² instead of ⁴", "classic4", 3.52, 3.12, "vague neighbours"),
        ("English table, cosine² instead of ⁴", "amazon", 8.10, 6.52, "vague neighbours"),
        ("the same, hubs held back", "amazon", 6.27, 5.02, "most of the harm is hubs"),
        ("S of SVD vectors of the texts (100, cosine⁴)", "r8", 4.66, 3.20, "beside S = I"),
        ("S of SVD vectors of the texts (300, cosine⁴) × .3", "r8", 3.43, 3.20, "beside S = I"),
        ("S of SVD vectors of the texts (100, cosine⁴)", "classic4", 2.99, 2.63, "beside S = I"),
        ("that S joined to the English one", "r8", 3.75, 3.47, "beside the English one alone"),
        ("latent space alone, 100 dimensions", "amazon", 8.65, 5.96, "beside cosine"),
        ("latent space of 30 added to cosine", "amazon", 7.67, 5.96, "no hubs held back"),
        ("latent space of 100 added to cosine", "twitter", 25.89, 25.72, "no hubs held back"),
        ("two-word terms added", "amazon", 6.10, 5.06, "hubs held back"),
        ("two-word terms added", "twitter", 25.78, 25.41, "hubs held back"),
        ("character n-grams alone", "r8", 4.98, 3.88, "beside words"),
        ("character n-grams added", "r8", 4.57, 3.88, "beside words"),
        ("character n-grams added", "twitter", 25.55, 25.63, "votes by power of similarity"),
        ("word2vec, 8,000 words", "r8", 5.03, 3.88, "beside S = I"),
        ("idf squared", "classic4", 4.88, 3.01, "beside smooth idf"),
        ("no idf", "classic4", 5.64, 3.01, "beside smooth idf"),
        ("each word counted once", "classic4", 3.46, 3.01, "beside 1 + ln tf"),
        ("spelling behind the English table (edit distance)", "twitter", 24.28, 24.40, "noise"),
        ("English table and potion, mean", "twitter", 23.91, 23.54, "beside potion alone"),
        ("errors smoothed over neighbouring votes before choosing", "twitter", 26.15, 24.82,
         "the best balance is a sharp one"),
        ("labels joined as a space of ridge scores, not cross-fitted", "twitter", 29.88, 23.81,
         "training scores are not like those of unseen texts"),
    )
]  # fmt: skip
