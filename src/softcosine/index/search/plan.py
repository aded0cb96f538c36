"""How a search goes about its work, and why."""

from __future__ import annotations

from dataclasses import dataclass

__all__ = ["ALL", "ALONE", "FIELDS", "NOTHING", "SHARING", "Plan", "panel_plan"]

# A pass over all documents for a panel of queries costs as much as so many passes over all
# postings for one query: measured.
_PANEL_COST = 12.0


@dataclass(frozen=True, slots=True)
class Plan:
    """How a query was answered. Every plan gives the same answers, to the bit.

    Attributes
    ----------
    method : str
        ``terms`` (the postings of the expanded query's terms), ``fields`` (those of each field, and
        the sum of the fields' scores), ``panel`` (all documents times many queries at once),
        ``sharing`` (documents that share a term), ``all`` (every document in float64) or
        ``nothing``.
    reason : str
    """

    method: str
    reason: str

    @property
    def together(self) -> bool:
        """Whether many queries are searched in one pass over the documents."""
        return self.method == "panel"


ALONE = Plan("terms", "a single query: the postings of its terms are the least work")
FIELDS = Plan("fields", "the postings of each field, and the weighted sum of their scores")
SHARING = Plan("sharing", "expand=False: only documents that share a term with the query")
ALL = Plan(
    "all",
    "every document in float64, as float32 could not tell the best: similarities are negative, "
    "weights lie too far apart, or documents of score 0 are asked for",
)
NOTHING = Plan("nothing", "no document has a term that the query reaches")


def panel_plan(n_queries: int, n_touched: int, n_postings: int) -> Plan:
    """Choose between the postings, query by query, and one pass over the documents for all.

    Parameters
    ----------
    n_queries : int
        That a panel may hold.
    n_touched : int
        Postings that they touch, one by one.
    n_postings : int
        Of the index.
    """
    share = n_touched / max(n_postings, 1)
    told = (
        f"one by one, {n_queries} queries walk {share:.3g} times as many postings as there are; "
        f"one pass over all documents for all of them costs as much as {_PANEL_COST:g} times"
    )
    return Plan("panel" if share > _PANEL_COST else "terms", told)
