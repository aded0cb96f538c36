"""What was tried for the retrieval study and did not help, for its report."""

from __future__ import annotations

__all__ = ["ATTEMPTS", "HINDRANCES"]

# nDCG@10 times 100, stems without stop words. Figures without an interval are the best of several
# shares, taken with the judgements in view: even so they are no better than what is in the table.
ATTEMPTS = (
    "The English table alone, in one space: exponents 2, 3, 4 and 6, what it counts from 0.25 to "
    "2. Between +0.6 % (without ADI) and +2.8 % when chosen on the others. Squared cosines and "
    "lower exponents lose on CACM, NPL and LISA.",
    "Similarities of rare terms discounted by evidence, df / (df + 1), (df + 3), (df + 10), or "
    "terms of fewer than three documents left out: ADI 55 falls to 53, the others stay within half "
    "a point. The vector of a rare term is nearly the encoding of its documents, which is of use.",
    "Distilled vectors drawn towards what the table says of each word (regression of the one on "
    "the other, ridge on what is left): ADI 54.9 rises to 56.9, but Cranfield 38.7 falls to 37.7 "
    "and CACM 52.9 to 51.7: the domain is lost again.",
    "What a term hands out divided by its sum, or by the root on both sides (balanced): no "
    "difference of more than half a point at the best level of each.",
    "300 neighbours in one space: NPL 46.5 and LISA 47.5, but less on ADI and Cranfield; chosen on "
    "the others +2.7 % in place of +4.3 %.",
)
HINDRANCES = (
    "Thirty-five to 225 queries a collection: a gain of 5 % of one collection is rarely more than "
    "chance by itself, whatever is done. The mean over five is.",
)
