"""The page of the classification study: tables, intervals, attempts that failed."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from retrieval_sets import markdown
from softcosine.evaluate.significance import Interval, paired_bootstrap

__all__ = ["ATTEMPTS", "TARGETS", "interval", "page", "summary"]

Kept = Mapping[str, Mapping[str, Mapping[str, Mapping[str, Any]]]]

# The error in % that was to be reached, and the best published of soft cosine and of WMD.
TARGETS = {
    "20news": (22.5, 24.1),
    "r8": (4.0, 4.0),
    "amazon": (6.5, 6.6),
    "twitter": (24.5, 28.3),
    "classic4": (2.6, 2.7),
}
UNTUNED, COSINE, CHOSEN = "soft cosine, untuned", "cosine, chosen", "soft cosine, chosen"
_DONE = "done"

ATTEMPTS: list[dict[str, Any]] = []


def errors_of(splits: Mapping[str, Mapping[str, Any]]) -> NDArray[np.float64]:
    """Return the error of every split in %."""
    return np.array([100.0 * len(own["wrong"]) / own["n"] for own in splits.values()])


def interval(left: Mapping[str, Any], right: Mapping[str, Any]) -> Interval | None:
    """Return the difference of two rows' errors in points, over the splits that both have.

    Test documents are drawn anew. Seeded splits share documents, so that of these a document of a
    split stands for itself alone, and the interval is a little too narrow.
    """
    shared = [number for number in left if number in right]
    if not shared or any(left[n]["n"] != right[n]["n"] for n in shared):
        return None
    both = []
    for row in (left, right):
        missed = [np.zeros(row[number]["n"]) for number in shared]
        for own, number in zip(missed, shared, strict=True):
            own[row[number]["wrong"]] = 100.0
        both.append(np.concatenate(missed))
    return paired_bootstrap(both[0], both[1])


def summary(found: Kept) -> dict[str, Any]:
    """Return errors, deviations and intervals of every set and row."""
    sets: dict[str, Any] = {}
    for name, rows in found.items():
        own: dict[str, Any] = {}
        for row, splits in rows.items():
            if row.startswith(_DONE):
                continue
            errors = errors_of(splits)
            told: dict[str, Any] = {
                "error": round(float(errors.mean()), 2),
                "sd": round(float(errors.std(ddof=1)), 2) if len(errors) > 1 else None,
                "splits": len(errors),
                "settings": [split.get("setting") for split in splits.values()],
                "votings": [split.get("voting") for split in splits.values()],
                "training errors": [split.get("training error") for split in splits.values()],
                "tried": [split["tried"] for split in splits.values() if split.get("tried")],
                "cpu seconds a split": float(
                    np.median([split["cpu seconds"] for split in splits.values()])
                ),
            }
            notes = {split["note"] for split in splits.values() if split.get("note")}
            told |= {"notes": sorted(notes)} if notes else {}
            base = rows.get(COSINE)
            if base is not None and row != COSINE:
                difference = interval(splits, base)
                if difference is not None:
                    told["against cosine, chosen"] = _interval(difference)
            own[row] = told
        sets[name] = own
    return {"systems": _plain(sets), "sets": sets, "attempts": ATTEMPTS}


def page(told: Mapping[str, Any]) -> list[str]:
    """Return the lines of the page."""
    sets = told["sets"]
    lines = [*_HEAD, "", *_main_table(sets), "", *_READING, "", "## All rows", ""]
    lines += _all_rows(sets)
    lines += ["", "## What was chosen", "", *_choices(sets), "", *_METHOD, "", "## What failed", ""]
    lines += markdown(
        ("tried", "on", "error, %", "beside", "remark"),
        [(a["what"], a["set"], a["error"], a["beside"], a["remark"]) for a in ATTEMPTS],
    )
    lines += ["", *_HOW, "", "Raw numbers: [classification.json](classification.json)."]
    return lines


def _plain(sets: Mapping[str, Any]) -> dict[str, Any]:
    return {
        name: {row: {"error": told["error"]} for row, told in rows.items()}
        for name, rows in sets.items()
    }


def _interval(found: Interval) -> dict[str, float]:
    return {
        "difference": round(found.difference, 2),
        "low": round(found.low, 2),
        "high": round(found.high, 2),
        "p": round(found.p, 4),
    }


def _value(told: Mapping[str, Any] | None) -> str:
    if told is None:
        return "–"
    return f"{told['error']:.2f}" + (f" ± {told['sd']:.2f}" if told["sd"] is not None else "")


def _main_table(sets: Mapping[str, Any]) -> list[str]:
    rows = []
    for name, own in sets.items():
        wanted, published = TARGETS.get(name, (None, None))
        told = own.get(CHOSEN)
        difference = (told or {}).get("against cosine, chosen")
        gain = (
            f"{difference['difference']:+.2f} [{difference['low']:+.2f}, {difference['high']:+.2f}]"
            if difference
            else "–"
        )
        rows.append(
            (name, published or "–", wanted or "–", _value(own.get(UNTUNED)),
             _value(own.get(COSINE)), f"**{_value(told)}**", gain,
             _value(own.get("learned: weights of terms")),
             _value(own.get("learned: affinities to classes joined")))
        )  # fmt: skip
    columns = (
        "error, %", "best published", "to reach", "soft, untuned", COSINE, CHOSEN,
        "soft over cosine", "learned weights", "learned affinities",
    )  # fmt: skip
    return markdown(columns, rows)


def _all_rows(sets: Mapping[str, Any]) -> list[str]:
    names: dict[str, None] = {}
    for own in sets.values():
        names.update(dict.fromkeys(own))
    rows: list[Sequence[object]] = []
    for row in names:
        cells = []
        for own in sets.values():
            told = own.get(row)
            splits = f" ({told['splits']})" if told and told["sd"] is not None else ""
            cells.append(_value(told) + splits)
        rows.append((row, *cells))
    return markdown(("error, % (splits)", *sets), rows)


def _choices(sets: Mapping[str, Any]) -> list[str]:
    rows = []
    for name, own in sets.items():
        for row in (COSINE, CHOSEN):
            told = own.get(row)
            if told is None:
                continue
            counted: dict[str, int] = {}
            for setting in told["settings"]:
                counted[setting] = counted.get(setting, 0) + 1
            settings = "; ".join(
                f"{setting}" + (f" ({times})" if len(told["settings"]) > 1 else "")
                for setting, times in sorted(counted.items(), key=lambda item: -item[1])
            )
            k, temperature, hubness, balance = told["votings"][0]
            rows.append((name, row, settings, k, temperature or "∞", hubness, balance))
    return markdown(
        ("set", "row", "settings (splits)", "k", "temperature", "hubness", "balance"), rows
    )


_HEAD = ["# kNN classification"]
_READING: list[str] = []
_METHOD: list[str] = []
_HOW: list[str] = []
