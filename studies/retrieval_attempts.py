"""What was tried for the retrieval study and did not help, for its report."""

from __future__ import annotations

__all__ = ["ATTEMPTS", "HINDRANCES"]

# nDCG@10 times 100, stems without stop words. Figures without an interval are the best of several
# shares, taken with the judgements in view: even so they are no better than what is in the table.
ATTEMPTS = (
    "The English table alone, in one space: exponents 2, 3, 4 and 6, what it counts from 0.25 to "
    "2. Between +0.6 % (without ADI) and +2.8 % when chosen on the others. Squared cosines and "
    "lower exponents lose on CACM, NPL and LISA.",
    "The same table as the second space in place of the distilled one (mean of vectors, cosines, "
    "squared cosines; 100 neighbours or all): Cranfield 38.2, CACM 49.6, NPL 43.9, LISA 46.7, ADI "
    "53.7. General English does not know what *pressure* means in aerodynamics.",
    "Latent semantic indexing of the collection as the second space, with no encoder, 50 to 300 "
    "dimensions: Cranfield 40.5 and LISA 48.5, but CACM 47.4 and NPL 42.9, below BM25: abstracts "
    "teach enough, titles do not.",
    "All vectors of one length in the second space (p = 0): NPL 44.5 in place of 47.2. The length "
    "of a distilled vector tells how much a term says of what its documents are about, and its "
    "root is a good term weight; the whole length (p = 1) counts frequent terms too much on CACM.",
    "A sparse S, each term's 100 most similar, in the second space: NPL 45.4 (with all 47.2), CACM "
    "50.1 (51.3), Cranfield 39.9 (40.9); 300 neighbours lie between. The space has 384 dimensions, "
    "so all pairs cost less than 300 neighbours do.",
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
    "The query is a sum of words in the distilled space. Where the encoder is asked about each "
    "query, CACM and NPL gain several points more: it knows what words mean together. On LISA, "
    "whose queries are long, it is the other way round, and the encoder alone is far below BM25.",
    "The form of the recipe (two spaces, a root of the length) and the defaults of "
    "`DistilledIndex` were found by looking at these five collections; what is chosen leaving one "
    "out are its settings. On texts that had no part in it those "
    "defaults are as good: +5.0 points of nDCG@10 [3.9, 6.1] over cosine, +4.7 over BM25, on 1,323 "
    "docstrings of Python's standard library ([docstrings](docstrings.md)), and a MAP of .747 for "
    "cosine's .708 (+.040 [-.005, +.083]) on the dev part of SemEval's questions.",
)
