"""The report of the retrieval study, and what its systems are called."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from retrieval_attempts import ATTEMPTS, HINDRANCES
from study import markdown

__all__ = [
    "BASELINES",
    "BY_MEANING",
    "DEFAULT",
    "DENSE",
    "HYBRID",
    "ONE_SPACE",
    "OTHERS",
    "TABLE",
    "WORDS",
    "page",
]

BASELINES = {
    "cosine": "cosine",
    "BM25 (0.9, 0.4)": "bm25:k1=0.9,b=0.4",
    "BM25 (1.2, 0.75)": "bm25:k1=1.2,b=0.75",
}
DEFAULT = "softcosine, untuned"
WORDS = f"{DEFAULT}, words alone"
TABLE = "soft BM25, English table"
OTHERS = {
    "LSI, 200 dimensions": "lsi:n_components=200",
    "query expansion": "expansion",
    "soft cosine, untuned": "soft_cosine",
    WORDS: "soft:encoder=none",
    DEFAULT: "soft:encoder=static",
}
DENSE = "all-MiniLM-L6-v2"
HYBRID = f"BM25 + {DENSE}, asked each query"
ONE_SPACE = "soft BM25, distilled S"
STATIC, ASKED = "words and meaning, static query", "words and meaning, encoded query"
BY_MEANING = {
    STATIC: "soft:encoder=minilm,ask=static",
    ASKED: "soft:encoder=minilm,ask=encoder",
}


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
        if (own := figures["systems"].get(ONE_SPACE)) is not None:
            chosen = figures["chosen"][ONE_SPACE]
            lines += [f"*{ONE_SPACE}*, chosen on the others:", ""]
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
    """Return in words what meaning brings, without and with an encoder."""
    systems = figures["systems"]
    if STATIC not in systems:
        return ["The encoder was not at hand: the rows that need it are missing.", ""]
    worse = [
        f"{label} on {name}"
        for label in (DEFAULT, STATIC, ASKED)
        for name, own in systems[label]["gains"].items()
        if own["high"] < 0.0
    ]
    return [
        f"*{DEFAULT.capitalize()}* is the index with its defaults: BM25 of soft frequencies, and",
        f"meaning without an encoder. For *{STATIC}* {DENSE} has read the",
        f"documents, for *{ASKED}* also the queries. Stemmed, the default gains",
        f"{_shown(systems[DEFAULT]['gain'])} %, by words alone",
        f"{_shown(systems[WORDS]['gain'])} %; with encoded documents",
        f"{_shown(systems[STATIC]['gain'])} %; with encoded queries too,",
        f"{_shown(systems[ASKED]['gain'])} %; the encoder alone,",
        f"{_shown(systems[DENSE]['gain'])} %. Significantly below the best baseline of a",
        f"collection: {', '.join(worse) or 'none of the three by words and meaning'}.",
        "",
    ]


def _shown(interval: Mapping[str, float]) -> str:
    difference, low, high = (100 * interval[key] for key in ("difference", "low", "high"))
    return f"{difference:+.1f} [{low:+.1f}, {high:+.1f}]"
