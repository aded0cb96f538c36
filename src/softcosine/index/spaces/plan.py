"""The plan of a search: the method and the reason for it."""

from __future__ import annotations

from dataclasses import dataclass

from softcosine.index.requests import FirstStage

# Measured cost of a pass over all documents for a panel of queries, relative to a pass over all
# postings for one query.
_PANEL_COST = 12.0


@dataclass(frozen=True, slots=True)
class Plan:
    """How a query was executed. Results are bit-identical for all plans that are `proven`.

    Attributes
    ----------
    method : str
        ``terms``: the postings of the terms of the expanded query. ``fields``: the same for each
        field, then the sum of the fields. ``panel``: one pass over all documents for many queries.
        ``sharing``: documents that share a term. ``all``: every document in float64. ``nothing``:
        no document can match. ``meaning``: the postings of the fields, plus the cosine of every
        document's coordinates; ``meaning-all``: the same in float64; ``meaning-alone``: the cosine
        alone, as no word of the query is known. ``first-stage``: the best documents by some terms,
        scored exactly; see ``first_stage`` of `SoftIndex.search`. Otherwise the name of the
        engine or server that found the candidates.
    reason : str
    ask : {"words", "static", "encoder"}
        Where the meaning of the query came from; see ``ask`` of `SoftIndex.search`.
    proven : bool
        Whether the hits are surely those of an exact search; False if a first stage or an engine
        may have missed some, or a shard did not answer.
    ranks : str
        What ranks the hits, in plain words: "words, similar words and meaning (by ...)".
    n_terms, n_candidates : int or None
        Number of terms that a server got; number of documents that it, or a first stage, found.
    """

    method: str
    reason: str
    ask: str = "words"
    proven: bool = True
    ranks: str = "words and similar words"
    n_terms: int | None = None
    n_candidates: int | None = None


ALONE = Plan("terms", "a single query: the postings of its terms are the least work")
FIELDS = Plan("fields", "the postings of each field, and the weighted sum of their scores")
SHARING = Plan("sharing", "expand=False: only documents that share a term with the query")
ALL = Plan(
    "all",
    "every document in float64, as float32 could not tell the best: similarities are negative, "
    "weights lie too far apart, or documents of score 0 are asked for",
)
MEANING = Plan("meaning", "the scores of words plus those of meaning")
MEANING_ALONE = Plan("meaning-alone", "no word of the query is known, so that meaning alone ranks")
MEANING_ALL = Plan("meaning-all", "words and meaning of every document in float64, as for all")
NOTHING = Plan("nothing", "no document has a term that the query reaches")


def panel_plan(n_queries: int, n_touched: int, n_postings: int) -> Plan:
    """Return the cheaper plan: postings query by query, or one pass over the documents for all.

    Parameters
    ----------
    n_queries : int
        Number of queries, at most the size of a panel.
    n_touched : int
        Postings of all these queries, one by one.
    n_postings : int
        Of the index.
    """
    share = n_touched / max(n_postings, 1)
    told = (
        f"one by one, {n_queries} queries walk {share:.3g} times as many postings as there are; "
        f"one pass over all documents for all of them costs as much as {_PANEL_COST:g} times"
    )
    return Plan("panel" if share > _PANEL_COST else "terms", told)


def first_stage_plan(stage: FirstStage, n_candidates: int, *, proven: bool) -> Plan:
    """Return the plan of a search in two stages."""
    terms = "all terms of the expanded query"
    if stage.terms is not None:
        terms = f"the query's own terms and the {stage.terms:,} heaviest others"
    certainty = "proven equal to" if proven else "not proven equal to"
    reason = (
        f"{terms}, and exact scores of the best {n_candidates:,} documents; {certainty} an exact "
        "search"
    )
    return Plan("first-stage", reason, proven=proven, n_candidates=n_candidates)
