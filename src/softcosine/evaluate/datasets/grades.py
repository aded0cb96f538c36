"""From the codes that judges wrote to gains, where more is better.

Measures need gains: 0 for a document that is not relevant, and more for a better one. Most files
hold gains already (`GAINS`), and a code below 0, as some TREC tracks use for spam, counts as 0.

Cranfield's file holds Cleverdon's codes instead (`CLEVERDON`): 1 for a complete answer to the
question, 2 for a high degree of relevance, 3 for useful background, 4 for a minimum of interest,
and -1 for none. The gain is 5 less the code: 4, 3, 2, 1, and 0 for -1. Read as gains, these codes
would turn the order around. A binary measure, such as MAP, counts 1 to 4 as relevant.
"""

from __future__ import annotations

from collections.abc import Callable

__all__ = ["CLEVERDON", "GAINS", "GRADES", "grades_of"]

GAINS = "gains"
CLEVERDON = "cleverdon"


def _gain(code: int) -> int:
    return max(code, 0)


def _cleverdon(code: int) -> int:
    if code not in (-1, 1, 2, 3, 4):
        raise ValueError(
            f"{code} is none of Cleverdon's codes, 1 (best) to 4, or -1 (not relevant); for a file "
            f"that holds gains, say grades={GAINS!r}"
        )
    return 0 if code == -1 else 5 - code


GRADES: dict[str, Callable[[int], int]] = {GAINS: _gain, CLEVERDON: _cleverdon}
# Collections known to come with other codes than gains, by their name.
_BY_NAME = {"cranfield": CLEVERDON, "cran": CLEVERDON}


def grades_of(name: str) -> str:
    """Return which codes a collection of this name has: Cranfield's are Cleverdon's."""
    return _BY_NAME.get(name.lower(), GAINS)
