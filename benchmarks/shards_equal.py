"""Whether shards answer as one index of the same documents: 20 Newsgroups and Debian's packages.

Run ``python benchmarks/shards_equal.py``. Sharded indexes and one index are built, changed and
refreshed alike, and after each step their ten best documents for many queries are compared: ids,
order and scores, to the bit. The descriptions of packages come from ``apt-cache``,
where that is.
"""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from first_stage import LENGTHS, drawn_queries
from measure import parser_of, write_report
from newsgroups import newsgroups
from softcosine import IndexWriter, ShardedIndex, ShardPlan, SoftIndex
from softcosine.cluster.sharded_writer import ShardedWriter

SHARDS = (2, 4, 7)
ENCODED = 2000  # documents, where an encoder reads them
# The kind of meaning, the encoder, and the rankings searched.
KINDS: tuple[tuple[str, str | None, tuple[str, ...]], ...] = (
    ("words", None, ("soft_bm25", "soft_tf_bm25", "soft_cosine")),
    ("static", "static", ("soft_bm25", "soft_tf_bm25")),
    ("encoder", "minilm", ("soft_bm25", "soft_tf_bm25")),
)
WAYS: tuple[dict[str, Any], ...] = (
    {}, {"where": {"n": {"<": 3}}}, {"first_stage": 32}, {"mmr": 0.7}, {"offset": 5, "k": 30},
)  # fmt: skip
PACKAGE = re.compile(r"^Package: (.+)$(?:\n.+)*?\nDescription: (.+)$", re.MULTILINE)
Record = dict[str, Any]


def package_descriptions() -> list[str]:
    """Return the names of Debian's packages with their short descriptions; none elsewhere."""
    if shutil.which("apt-cache") is None:
        return []
    listed = subprocess.run(["apt-cache", "dumpavail"], capture_output=True, text=True, check=True)
    return [" ".join(one) for one in PACKAGE.findall(listed.stdout)]


def records_of(texts: list[str]) -> list[Record]:
    """Return documents with an id and a number to filter by."""
    return [
        {"id": f"d{number}", "text": text, "n": number % 10} for number, text in enumerate(texts)
    ]


def change(writer: IndexWriter | ShardedWriter, spare: list[Record]) -> None:
    """Delete documents, replace others by spare ones, change metadata, add the rest."""
    for number in range(0, 200, 2):
        writer.delete(f"d{number}")
    for number, record in enumerate(spare):
        id = f"d{2 * number + 1}" if number % 2 else record["id"]
        writer.add(id, record["text"], {"n": record["n"]})
    for number in range(300, 330):
        writer.update_metadata(f"d{number}", {"n": 1})


def compared(
    whole: SoftIndex, shards: ShardedIndex, queries: list[str], rankings: tuple[str, ...]
) -> tuple[int, int]:
    """Return how many searches were made of both, and how many had different answers."""
    n_searches = n_different = 0
    for query in queries:
        for ranking in rankings:
            for way in WAYS:
                options = {"k": 10, "ranking": ranking, **way}
                answers = [
                    [(hit.id, hit.score) for hit in index.search(query, **options)]
                    for index in (whole, shards)
                ]
                n_searches += 1
                n_different += answers[0] != answers[1]
    return n_searches, n_different


def rows(
    collection: str, texts: list[str], n_shards: int, n_queries: int, folder: Path
) -> Iterator[dict[str, object]]:
    """Build, change and refresh; yield a line of the table for each kind and state."""
    for kind, encoder, rankings in KINDS:
        chosen = records_of(texts[:ENCODED] if encoder == "minilm" else texts)
        spare = [{**one, "id": f"new {one['id']}"} for one in chosen[-len(chosen) // 20 :]]
        given = chosen[: -len(spare)]
        source = folder / "documents.jsonl"
        source.write_text("\n".join(json.dumps(one) for one in given))
        paths = folder / "whole", folder / "parts.shards"
        per_shard = -(-len(given) // n_shards)
        ShardPlan([source], docs_per_shard=per_shard, encoder=encoder).build(paths[1], jobs=2)
        whole = SoftIndex.create(paths[0], encoder=encoder)
        with whole.writer(memory=None) as writer:
            for one in given:
                writer.add(one["id"], one["text"], {"n": one["n"]})
            writer.freeze()
        queries = drawn_queries(whole, n_queries, LENGTHS)
        for state in ("built", "changed"):
            with ShardedIndex.open(paths[1]) as shards:
                with whole.writer() as own, shards.writer() as parts:
                    if state == "changed":
                        change(own, spare)
                        change(parts, spare)
                shards.refresh()
                n_searches, n_different = compared(whole, shards, queries, rankings)
                yield {
                    "collection": collection, "documents": len(whole), "meaning": kind,
                    "shards": shards.n_shards, "state": state, "searches": n_searches,
                    "different": n_different,
                }  # fmt: skip
        for path in paths:
            shutil.rmtree(path)


def main() -> None:
    """Write the report."""
    options = parser_of(__doc__, queries=100).parse_args()
    collections = {"20 Newsgroups": newsgroups(), "Debian's packages": package_descriptions()}
    found: list[dict[str, object]] = []
    for collection, texts in collections.items():
        for n_shards in SHARDS if texts else ():
            with tempfile.TemporaryDirectory() as folder:
                for row in rows(collection, texts, n_shards, options.queries, Path(folder)):
                    print(row, flush=True)
                    found.append(row)
    facts = {"queries": options.queries, "words of a query": "2, 4 and 8 in turn"}
    print(write_report("shards_equal", "Do shards answer as one index?", found, facts, notes=NOTES))


NOTES = (
    "Searches of both, and those whose ids, order or scores differ by a bit: every "
    "query by every ranking (soft_bm25 and soft_tf_bm25; by words alone also soft_cosine), plain, "
    "with a filter, by a first stage of 32 words, diversified (mmr), and the hits 6 to 35.",
    "Changed: 100 documents deleted, a twentieth added or replaced, metadata of 30 changed, in one "
    "commit under frozen statistics. Refreshed: new statistics for all.",
    f"The encoder reads the first {ENCODED} documents of a collection only.",
)


if __name__ == "__main__":
    main()
