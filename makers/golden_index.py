"""Make the index that tests keep for each released format: ``python makers/golden_index.py``.

Run it once when a format is released, and never for that format again: what it made is the proof
that later versions read it. It writes ``tests/golden/index-VERSION`` and, beside it, the answers
that it gave.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path

import softcosine as sc
from softcosine.index.directory.commit import VERSION

FOLDER = Path(__file__).parent.parent / "tests" / "golden"
TEXTS = {
    "bike": "How do I fix a flat tyre on my bicycle?",
    "kettle": "The kettle takes ages to boil water for tea, green tea",
    "dog": "My dog barks at the mailman every morning",
    "ключ/鍵 🗝": "A key that no lock fits: ключ, 鍵",
    "empty": "",
    "gone": "a tire and a wheel, soon deleted",
}
PAIRS = {("tyre", "tire"): 0.9, ("bicycle", "bike"): 0.8, ("dog", "hound"): 0.7}
QUERIES = (
    "tire", "+tea kettle", '"green tea"', "hound bike", "ключ", "flat -tyre", "wheel", "tea^2 dog",
)  # fmt: skip


def main() -> None:
    """Write the index and its answers."""
    path = FOLDER / f"index-{VERSION}"
    if path.exists():
        sys.exit(f"{path} exists; the index of a released format is never made again.")
    FOLDER.mkdir(exist_ok=True)
    index = sc.SoftIndex.create(
        path,
        source=sc.PairSimilarity(PAIRS),
        analyzer=sc.Analyzer("english"),
        fields={"title": 2.0, "body": 1.0},
        positions=True,
    )
    with index.writer(merge=None) as writer:
        for number, (id, text) in enumerate(TEXTS.items()):
            writer.add(id, {"title": id, "body": text}, {"number": number, "lang": ["en"]})
    with index.writer(merge=None) as writer:
        writer.delete("gone")
        writer.add("kettle", {"title": "kettle", "body": f"{TEXTS['kettle']}; teapot"})
    answers = {
        ranking: {
            query: [[hit.id, hit.score] for hit in index.search(query, ranking=ranking)]
            for query in QUERIES
        }
        for ranking in ("soft_bm25", "soft_cosine")
    }
    (path / "write.lock").unlink()
    text = json.dumps(answers, indent=1, ensure_ascii=False)
    (FOLDER / f"index-{VERSION}.json").write_text(text + "\n", encoding="utf-8")
    print(path)


if __name__ == "__main__":
    main()
