"""The report of the retrieval study, and what its systems are called."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from retrieval_attempts import ATTEMPTS, HINDRANCES
from study import markdown

__all__ = [
    "BASELINES",
    "DEFAULT",
    "DENSE",
    "HYBRID",
    "ONE_SPACE",
    "OTHERS",
    "RECIPE",
    "TABLE",
    "UNTUNED_RECIPE",
    "page",
]

BASELINES = {
    "cosine": "cosine",
    "BM25 (0.9, 0.4)": "bm25:k1=0.9,b=0.4",
    "BM25 (1.2, 0.75)": "bm25:k1=1.2,b=0.75",
}
DEFAULT = "softcosine, untuned"
UNTUNED_RECIPE = "words and distilled space, untuned"
TABLE = "soft BM25, English table"
OTHERS = {
    "LSI, 200 dimensions": "lsi:n_components=200",
    "query expansion": "expansion",
    "soft cosine, untuned": "soft_cosine",
    DEFAULT: "soft",
}
DENSE = "all-MiniLM-L6-v2"
HYBRID = f"BM25 + {DENSE}, asked each query"
ONE_SPACE = "soft BM25, distilled S"
RECIPE = "words and distilled space"


def page(stemmed: Mapping[str, Any], unstemmed: Mapping[str, Any], made: str) -> list[str]:
    """Return the report as lines of Markdown."""
    lines = ["# Study 3: retrieval on five collections", ""]
    lines += [
        "nDCG@10 times 100. Stop words are left out for all but the untuned package. The gain is",
        "the mean over the collections of the relative gain over the best of the three baselines",
        "(for each collection the one that is best on it, to their advantage), with its 95 %",
        "paired bootstrap interval: the queries of every collection are resampled on their own.",
        "",
    ]
    lines += _found(stemmed)
    for title, figures in (("Stemmed", stemmed), ("Not stemmed", unstemmed)):
        names = list(figures["better_baseline"])
        rows = [
            [
                label,
                *(f"{100 * own['ndcg@10'][name]:.1f}" for name in names),
                f"{100 * own['mean']:.2f}",
                _shown(own["gain"]),
            ]
            for label, own in figures["systems"].items()
        ]
        lines += [f"## {title}", "", *markdown(["system", *names, "mean", "gain, %"], rows), ""]
        for label in (ONE_SPACE, RECIPE):
            own = figures["systems"].get(label)
            if own is None:
                continue
            chosen = figures["chosen"][label]
            lines += [f"*{label}*, chosen on the others:", ""]
            lines += markdown(
                ["collection", "chosen", "gain over the best baseline, %"],
                ([name, chosen[name], _shown(own["gains"][name])] for name in names),
            )
            lines += ["", f"Best on all: {chosen['all']}.", ""]
    lines += ["## What did not help", "", *(f"- {attempt}" for attempt in ATTEMPTS), ""]
    lines += ["## What stands in the way", "", *(f"- {one}" for one in HINDRANCES), ""]
    lines += [made, "Raw numbers stand in [retrieval.json](retrieval.json)."]
    return lines


def _found(figures: Mapping[str, Any]) -> list[str]:
    """Return in words what the recipe brings."""
    systems = figures["systems"]
    if RECIPE not in systems:
        return ["The encoder was not at hand: the rows that need it are missing.", ""]
    worse = [name for name, own in systems[RECIPE]["gains"].items() if own["high"] < 0.0]
    return [
        f"*{RECIPE.capitalize()}* is soft BM25 plus the soft cosine in a space that the encoder's",
        "vectors of the documents taught (`DistilledIndex`); no query meets the encoder. Stemmed,",
        f"it gains {_shown(systems[RECIPE]['gain'])} % with settings chosen on the others,",
        f"and {_shown(systems[UNTUNED_RECIPE]['gain'])} % with its defaults. The package's untuned",
        f"default gains {_shown(systems[DEFAULT]['gain'])} %, the dense encoder alone",
        f"{_shown(systems[DENSE]['gain'])} %. The recipe is significantly worse than the best",
        f"baseline on {', '.join(worse) or 'no collection'}.",
        "",
    ]


def _shown(interval: Mapping[str, float]) -> str:
    difference, low, high = (100 * interval[key] for key in ("difference", "low", "high"))
    return f"{difference:+.1f} [{low:+.1f}, {high:+.1f}]"
