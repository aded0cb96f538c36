"""From the codes that judges wrote to gains, where more is better.

Measures need gains: 0 for a document that is not relevant, and more for a better one, in whole
numbers or not. Most files hold gains already (`GAINS`). In these, -1 is TREC's code for a document
that was pooled and not judged: it is no gain, and `NOT_JUDGED` keeps it apart from 0 for the
measures that see the difference. Other codes below 0, as some tracks use for spam, become 0.

Cranfield's file holds Cleverdon's codes instead (`CLEVERDON`): 1 for a complete answer to the
question, 2 for a high degree of relevance, 3 for useful background, 4 for a minimum of interest,
and -1 for none. The gain is 5 less the code: 4, 3, 2, 1, and 0 for -1. Read as gains, these codes
would turn the order around. A binary measure, such as MAP, counts 1 to 4 as relevant.
"""

from __future__ import annotations

from collections.abc import Callable

__all__ = ["CLEVERDON", "GAINS", "GRADES", "NOT_JUDGED", "grades_of"]

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
# Collections known to come with other codes than gains, by their name.
_BY_NAME = {"cranfield": CLEVERDON, "cran": CLEVERDON}


def grades_of(name: str) -> str:
    """Return which codes a collection of this name has: Cranfield's are Cleverdon's."""
    return _BY_NAME.get(name.lower(), GAINS)
