"""Conversion of the codes in judgements to gains, where more is better.

Measures need gains: 0 for a document that is not relevant, and a larger number for a better one.
Most files have gains (`GAINS`). In these, -1 is TREC's code for a document that was pooled but not
judged: `NOT_JUDGED` distinguishes it from 0 for measures that need the difference. Other negative
codes, which some tracks use for spam, become 0.

Cranfield's file has Cleverdon's codes instead (`CLEVERDON`): 1 for a complete answer to the
question, 2 for a high degree of relevance, 3 for useful background, 4 for a minimum of interest,
and -1 for none. The gain is 5 minus the code: 4, 3, 2, 1, and 0 for -1. As gains, these codes
would reverse the order. A binary measure, such as MAP, counts 1 to 4 as relevant.
"""

from __future__ import annotations

from collections.abc import Callable

GAINS = "gains"
CLEVERDON = "cleverdon"
NOT_JUDGED = -1


def _gain(code: float) -> float:
    return code if code == NOT_JUDGED else max(code, 0)


def _cleverdon(code: float) -> float:
    if code not in (-1, 1, 2, 3, 4):
        raise ValueError(
            f"{code} is none of Cleverdon's codes, 1 (best) to 4, or -1 (not relevant); for a file "
            f"that holds gains, say grades={GAINS!r}"
        )
    return 0 if code == -1 else 5 - code


GRADES: dict[str, Callable[[float], float]] = {GAINS: _gain, CLEVERDON: _cleverdon}
# Names of collections with other codes than gains.
_BY_NAME = {"cranfield": CLEVERDON, "cran": CLEVERDON}


def grades_of(name: str) -> str:
    """Return the scale of a collection by its name: Cleverdon's codes for Cranfield, else gains."""
    return _BY_NAME.get(name.lower(), GAINS)
