"""What 10 to 1,000 million documents would cost, computed from the reports about a million.

Run ``python benchmarks/scale_plan.py``. It measures nothing: it fits the costs of a document, a
shard and a candidate to ``shards_search.json``, ``shards_building.json`` and
``first_stage_recall.json``, and adds them up.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from measure import REPORTS, write_report

CORES, DOLLARS_AN_HOUR, SHARE_BUSY = 16, 0.80, 0.5
MILLIONS = {10: 1, 100: 4, 1000: 40}  # documents, and machines for them
CANDIDATES = {10: 3_000, 100: 10_000, 1000: 30_000}
IN_MEMORY = ("postings", "coordinates", "norms")  # what searches read
HOURS_A_MONTH = 730


@dataclass(frozen=True, slots=True)
class Cost:
    """Milliseconds of a search, fitted to one number of documents in two numbers of shards.

    Attributes
    ----------
    million, shard : float
        In the shards: for a million documents, and for each shard.
    fixed, joining : float
        In the process that asks: of each search, and for each shard.
    """

    million: float
    shard: float
    fixed: float
    joining: float

    @classmethod
    def of(cls, way: str, rows: list[dict[str, Any]]) -> Cost:
        """Return the cost of a way to search a million documents."""
        found = {row["index"]: row for row in rows if row["search"] == way}
        numbers = (4, 16)
        measured = [found[f"{n} shards"] for n in numbers]
        shard, million = np.polyfit(numbers, [row["shards"] for row in measured], 1)
        joining, fixed = np.polyfit(
            numbers, [row["broker"] + row["transport"] for row in measured], 1
        )
        return cls(float(million), float(shard), float(fixed), float(joining))


@dataclass(frozen=True, slots=True)
class Search:
    """Milliseconds of one search: in all shards together, and in the process that asks."""

    shards: float
    asking: float


def exact(cost: Cost, millions: int, n_shards: int) -> Search:
    """Return the cost of a search that scores every document."""
    return Search(
        millions * cost.million + n_shards * cost.shard, cost.fixed + n_shards * cost.joining
    )


def in_stages(cost: Cost, words: Cost, finding: float, millions: int, n_shards: int) -> Search:
    """Return the cost of a search by a first stage of 32 terms.

    Parameters
    ----------
    cost : Cost
        With 1,000 candidates.
    words : Cost
        Of an exact search by words, whose cost of a shard does not depend on candidates.
    finding : float
        Milliseconds to find candidates among a million documents.
    millions, n_shards : int
    """
    more = CANDIDATES[millions] / 1000
    each = words.shard + more * (cost.shard - words.shard)
    scoring = more * (cost.million - finding)
    return Search(
        millions * finding + n_shards * each + scoring,
        cost.fixed + n_shards * more * cost.joining,
    )


def row_of(way: str, millions: int, n_shards: int, search: Search) -> dict[str, object]:
    """Return what a search costs on the machines of a plan."""
    machines = MILLIONS[millions]
    seconds = (search.shards + search.asking) / 1000
    a_second = machines * CORES * SHARE_BUSY / seconds
    return {
        "documents": f"{millions:,} million",
        "search": way,
        "shards": n_shards,
        "processor s a query": rounded(seconds),
        "latency s at best": rounded((search.shards / n_shards + search.asking) / 1000),
        "queries a second": rounded(a_second),
        "$ a million queries": rounded(machines * DOLLARS_AN_HOUR / 3600 / a_second * 1e6),
    }


def rounded(value: float) -> float:
    """Return a number with two digits."""
    return float(f"{value:.2g}")


def report_of(name: str) -> dict[str, Any]:
    """Return the numbers of a report."""
    found: dict[str, Any] = json.loads((REPORTS / f"{name}.json").read_text(encoding="utf-8"))
    return found


def searches() -> tuple[list[dict[str, object]], Mapping[str, str]]:
    """Return the rows, and the fitted costs in words."""
    rows = report_of("shards_search")["rows"]
    stages = {
        int(row["first stage"].partition(":")[2]): row["ms a query"]
        for row in report_of("first_stage_recall")["rows"]
        if row["ranking"] == "soft_tf_bm25 and meaning" and row["first stage"].startswith("32:")
    }
    _, finding = np.polyfit(list(stages), list(stages.values()), 1)
    ways = ("words and meaning", "words", "words and meaning, first_stage=32")
    costs = {way: Cost.of(way, rows) for way in ways}
    plan = []
    for millions, machines in MILLIONS.items():
        for way in ways[:2]:
            n_shards = machines * CORES
            plan.append(row_of(way, millions, n_shards, exact(costs[way], millions, n_shards)))
        staged = in_stages(costs[ways[2]], costs["words"], finding, millions, machines)
        way = f"{ways[2]}, {CANDIDATES[millions]:,} candidates"
        plan.append(row_of(way, millions, machines, staged))
    told = {
        f"ms of {way}": f"{cost.million:.1f} a million documents, {cost.shard:.2f} a shard; asking "
        f"{cost.fixed:.1f}, and {cost.joining:.2f} a shard"
        for way, cost in costs.items()
    }
    return plan, told | {"ms to find candidates": f"{finding:.1f} a million documents"}


def main() -> None:
    """Write the report."""
    plan, told = searches()
    built = [one for one in report_of("shards_building")["rows"] if one["index"].startswith("16")]
    bytes_read = sum(built[-1][name] for name in IN_MEMORY)
    settings = {
        "machines": ", ".join(f"{n} for {millions:,} million" for millions, n in MILLIONS.items()),
        "a machine": f"{CORES} cores, ${DOLLARS_AN_HOUR:.2f} an hour, {SHARE_BUSY:.0%} busy",
        **told,
    }
    for millions, machines in MILLIONS.items():
        settings[f"of {millions:,} million documents"] = (
            f"{rounded(millions * bytes_read / 1000):g} GB that searches read, "
            f"{rounded(millions * built[-1]['bytes on disk a document'] / 1000):g} GB on disk, "
            f"{rounded(millions * built[-1]['processor ms a document'] / 3.6):g} processor hours "
            f"to build, ${rounded(machines * DOLLARS_AN_HOUR * HOURS_A_MONTH):,.0f} a month"
        )
    notes = (
        "Computed, not measured: costs of a million documents in 4 and 16 shards, continued in a "
        "straight line. Exact searches have a shard for each core, the first stage one for each "
        "machine.",
        "Latency at best: no other query runs, and shards answer at once, each on one core. A "
        "network and Ray add to it.",
    )
    print(write_report("scale_plan", "What many documents would cost", plan, settings, notes=notes))


if __name__ == "__main__":
    main()
