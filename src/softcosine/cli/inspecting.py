"""``softcosine info`` and ``verify``: what an index is, and whether it is whole."""

from __future__ import annotations

import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

from softcosine.cli.asking import Index, Json

if TYPE_CHECKING:
    from softcosine.index.soft_index import SoftIndex

__all__ = ["bytes_of", "info", "verify"]


def info(index: Index, as_json: Json = False) -> None:
    """Tell what an index holds, where its similarities come from, and how large it is.

      softcosine info faq.index

    JSON: index, documents, terms, postings, bytes, ranking, weighting, analyzer, note, and
    similarity: n_terms, n_neighbors, mean_neighbors, and so on.
    """
    from softcosine.cli.showing import print_json
    from softcosine.index.soft_index import SoftIndex

    facts = _facts(SoftIndex.open(index), index)
    if as_json:
        print_json(facts)
    else:
        _show(facts)


def verify(index: Index, as_json: Json = False) -> None:
    """Read an index whole and compare every file's checksum.

      softcosine verify faq.index

    JSON: index, files, bytes, seconds. A file that has changed ends the command with exit code 1.
    """
    from softcosine.cli.progress import Reporter
    from softcosine.cli.showing import console, duration, print_json, size
    from softcosine.index.store import Store
    from softcosine.index.stored import read_snapshot

    started = time.perf_counter()
    generation = Store.open(index).read()
    with Reporter() as report:
        generation.verify(report)
    read_snapshot(generation)
    seconds = time.perf_counter() - started
    n_files = sum(len(part.files) + 1 for part in generation.parts.values()) + 1
    n_bytes = bytes_of(index)
    if as_json:
        print_json({"index": str(index), "files": n_files, "bytes": n_bytes, "seconds": seconds})
    else:
        console().print(
            f"{index} is whole: {n_files} files, {size(n_bytes)}, read in {duration(seconds)}."
        )


def bytes_of(folder: Path) -> int:
    """Size on disk of everything in a folder."""
    return sum(path.stat().st_size for path in folder.rglob("*") if path.is_file())


def _facts(opened: SoftIndex, path: Path) -> dict[str, Any]:
    analyzer = opened.analyzer.to_dict()
    similarity = opened.S.statistics(eigenvalue=False).to_dict()
    del similarity["smallest_eigenvalue"]
    similarity["balanced"] = opened.S.scales is not None
    similarity["shrunk"] = float(opened.S.settings.get("shrunk", 1.0))
    return {
        "index": str(path),
        "documents": len(opened),
        "terms": len(opened.vocabulary),
        "segments": len(opened.snapshot.segments),
        "postings": sum(
            own.n_postings for segment in opened.snapshot.segments for own in segment.fields
        ),
        "bytes": bytes_of(path),
        "ranking": opened.ranking,
        "weighting": opened.weighting.to_dict(),
        "analyzer": {**analyzer, "stop_words": len(analyzer["stop_words"])},
        "note": opened.note,
        "similarity": similarity,
    }


def _show(facts: dict[str, Any]) -> None:
    from rich.table import Table

    from softcosine.cli.showing import RANKINGS, console, size

    S = facts["similarity"]
    weighting, analyzer = facts["weighting"], facts["analyzer"]
    weights = ("k1", "b") if facts["ranking"] == "soft_bm25" else ("tf", "idf")
    words = [f"stemmed ({analyzer['stemmer']})" if analyzer["stemmer"] else "not stemmed"]
    if analyzer["stop_words"]:
        words.append(f"{analyzer['stop_words']} stop words")
    if analyzer["max_ngram"] > 1:
        words.append(f"up to {analyzer['max_ngram']} words a term")
    lines = {
        "documents": f"{facts['documents']:,}",
        "terms": f"{facts['terms']:,}",
        "words": ", ".join(words),
        "ranking": f"{facts['ranking']} ({RANKINGS[facts['ranking']]})",
        "weights": ", ".join(f"{name} {weighting[name]}" for name in weights),
        "similar words": (
            f"{S['n_terms_with_neighbors']:,} terms have some: {S['mean_neighbors']:.1f} a term "
            f"on average, {S['max_neighbors']} at most; mean similarity {S['mean_similarity']:.2f}"
        ),
        "source": facts["note"] or "a source that was given",
        "on disk": size(facts["bytes"]),
    }
    table = Table.grid(padding=(0, 2, 0, 0))
    table.add_column(style="dim", no_wrap=True)
    table.add_column(ratio=1)
    for name, value in lines.items():
        table.add_row(name, value)
    console().print(facts["index"], style="bold")
    console().print(table)
