"""Study 4: similarities of objects and of their features, each learned from the other (SNOS).

The nine titles of the paper in all variants; the nearest-neighbour error on five newsgroups by how
much there is to learn from; similar cues of free associations against people's judgements; similar
queries of a click log, with a third kind of objects too; time and memory of a graph with a million
edges. Beside it stand cosine and latent semantic indexing.

    python studies/snos.py [--data FOLDER] [--json] [--out FOLDER] [--only PARTS]

The parts are titles, newsgroups, cues, clicks, scale; what is not run anew is taken from the last
run. About 6 minutes on two processors.
"""

from __future__ import annotations

import json
import os
import platform
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from snos_cues import PARTNERS, RELEVANT, similar_cues, similar_queries
from snos_newsgroups import error_by_share
from snos_scale import million_edges
from snos_titles import nine_titles
from study import Clock, argument_parser, markdown, read_arguments, versions, write

SYSTEMS = ("cosine", "LSI", "SNOS")

Results = dict[str, Any]


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argument_parser(__doc__)
    parser.add_argument("--only", default=",".join(_parts(Path(), print)))
    asked = read_arguments(parser, arguments)
    parts = _parts(asked.data, Clock())
    chosen = asked.only.split(",")
    unknown = set(chosen) - set(parts)
    if unknown:
        parser.error(f"no part is called {sorted(unknown)[0]}; there are {', '.join(parts)}.")
    path = asked.out / "snos.json"
    results: Results = json.loads(path.read_text(encoding="utf-8")) if path.exists() else {}
    seconds = results.get("seconds", {})
    for name in chosen:
        start = time.perf_counter()
        results[name] = parts[name]()
        seconds[name] = round(time.perf_counter() - start, 1)
    results["seconds"] = seconds
    results["setting"] = _setting()
    asked.out.mkdir(parents=True, exist_ok=True)
    drawn = "newsgroups" in results and _draw(results["newsgroups"], asked.out / "snos.png")
    write("snos", asked, _page(results, drawn=drawn), results)


def _parts(data: Path, report: Callable[[str], object]) -> dict[str, Callable[[], Any]]:
    return {
        "titles": nine_titles,
        "newsgroups": lambda: error_by_share(data, report),
        "cues": lambda: similar_cues(data, report),
        "clicks": lambda: similar_queries(data, report),
        "scale": million_edges,
    }


def _page(results: Results, *, drawn: bool) -> Iterator[str]:
    yield from ("# SNOS: similarities learned from a bipartite graph", "")
    yield "What it is, how it is used, and what the figures say: [SNOS](../snos.md)."
    writers: dict[str, Callable[[Any], Iterator[str]]] = {
        "titles": _titles, "newsgroups": _newsgroups, "cues": _cues, "clicks": _clicks,
        "scale": _scale,
    }  # fmt: skip
    for name, written in writers.items():
        if name in results:
            yield ""
            yield from written(results[name])
            if name == "newsgroups" and drawn:
                yield from ("", "![Error by share](snos.png)")
    yield ""
    yield from (f"- {key}: {value}" for key, value in results["setting"].items())
    if seconds := results["seconds"]:
        yield "- seconds: " + ", ".join(f"{key} {value}" for key, value in seconds.items())
    yield from ("", "Made by `python studies/snos.py`; raw numbers in [snos.json](snos.json).")


def _titles(rows: list[dict[str, Any]]) -> Iterator[str]:
    yield from ("## Nine titles: the similarity of c1 to each", "")
    yield from _table(rows)
    yield ""
    yield 'The order is "yes" where c2 > c3 > c4 > c5 > every m, as in the paper.'


def _newsgroups(rows: list[dict[str, Any]]) -> Iterator[str]:
    yield from ("## Nearest-neighbour error on the five comp.* groups of 20 Newsgroups (%)", "")
    shown = []
    for share in sorted({row["share"] for row in rows}):
        draws = [row for row in rows if row["share"] == share]
        line: dict[str, Any] = {
            "share": f"{100 * share:g} %", "messages": draws[0]["messages"], "draws": len(draws),
        }  # fmt: skip
        for system in SYSTEMS:
            errors = [row[system] for row in draws]
            spread = f" ± {np.std(errors, ddof=1):.2f}" if len(errors) > 1 else ""
            line[system] = f"{np.mean(errors):.2f}{spread}"
        for system in SYSTEMS[1:]:
            line[f"{system} chose"] = "; ".join(
                dict.fromkeys(str(row[f"{system} chose"]) for row in draws)
            )
        shown.append(line)
    yield from _table(shown)
    yield ""
    yield (
        "The share of the 2,936 training messages that is learned from, labels and texts: the idf, "
        "LSI and SNOS see nothing else. Mean and standard deviation over seeded draws. One nearest "
        "neighbour; (1 + ln tf) idf; of the headers the subject only. k of LSI and the variant of "
        "SNOS are those of least leave-one-out error on the share itself."
    )


def _cues(told: dict[str, Any]) -> Iterator[str]:
    yield from ("## Similar cues of free associations against people's judgements", "")
    yield from _table(told["rows"])
    yield from ("", "Chosen on the other sets and scored on MEN:", "")
    names = ("system", "ρ MEN", "p@10, all cues", "p@10, judged cues", "p@10 against cosine")
    yield from _table([{name: row[name] for name in names} for row in told["chosen"]])
    yield ""
    yield (
        f"USF: {told['cues']:,} cues, {told['responses']:,} responses, {told['edges']:,} edges. "
        "ρ is Spearman's correlation with the judged pairs of which both words are cues "
        f"({', '.join(f'{name} {n}' for name, n in told['judged pairs'].items())}). Precision is "
        f'of MEN: a pair counts as similar from {RELEVANT:g} of the scale on (30 of 50). "All '
        'cues" ranks every other cue for each cue that has a similar one; what was not judged '
        "counts as wrong, so that at most "
        f'{told["attainable p@10, all cues"]:g} can be reached. "Judged cues" ranks the judged '
        f"partners only, of the cues with at least {PARTNERS}. Intervals: 95 %, paired bootstrap."
    )


def _clicks(told: dict[str, Any]) -> Iterator[str]:
    yield from ("## Similar queries of a click log", "")
    yield from _table(told["rows"])
    yield ""
    yield (
        f"{told['queries']} queries, {told['entities']:,} entities, {told['edges']:,} edges. "
        "Nobody judged these; a query counts as similar that shares a word of four letters or "
        f"more, which no system sees but through clicks ({told['asked']} queries have such a one; "
        f"{told['attainable p@10']:g} can be reached). With the words of the entities' names as a "
        "third kind of objects these lead on to other entities."
    )
    yield from ("", "| query | most similar by SNOS (counts, both, soft cosine) |", "|---|---|")
    yield from (f"| {query} | {', '.join(best)} |" for query, best in told["examples"].items())


def _scale(rows: list[dict[str, Any]]) -> Iterator[str]:
    yield from ("## A random graph with a million edges, sparse method", "")
    yield from _table(rows)
    yield ""
    yield (
        "Tolerance 1e-4; B scaled by both sums. Each in a process of its own, whose greatest "
        "memory was read. Where the machine was busy, processor seconds count."
    )


def _table(rows: Sequence[Mapping[str, Any]]) -> Iterator[str]:
    columns = list(dict.fromkeys(key for row in rows for key in row))
    yield from markdown(columns, [[row.get(column, "") for column in columns] for row in rows])


def _draw(rows: list[dict[str, Any]], path: Path) -> bool:
    """Draw the errors over the share; without matplotlib there is no picture."""
    try:
        from matplotlib.figure import Figure
    except ImportError:
        return path.exists()
    figure = Figure(figsize=(6, 4), layout="constrained")
    axes = figure.subplots()
    shares = sorted({row["share"] for row in rows})
    for system in SYSTEMS:
        errors = [[row[system] for row in rows if row["share"] == share] for share in shares]
        spread = [np.std(part) for part in errors]
        axes.errorbar(
            [100 * share for share in shares], [np.mean(part) for part in errors], spread,
            marker="o", capsize=3, label=system,
        )  # fmt: skip
    axes.set_xscale("log")
    axes.set_xticks([100 * share for share in shares], [f"{100 * share:g}" for share in shares])
    axes.set_xlabel("share of the training messages (%)")
    axes.set_ylabel("nearest-neighbour error (%)")
    axes.legend()
    figure.savefig(path, dpi=110)
    return True


def _setting() -> dict[str, Any]:
    return {
        "system": f"{platform.system()} {platform.machine()}, {os.cpu_count()} processors",
        "load average": round(os.getloadavg()[0], 1) if hasattr(os, "getloadavg") else None,
        "versions": ", ".join(f"{name} {version}" for name, version in versions().items()),
    }


if __name__ == "__main__":
    main()
