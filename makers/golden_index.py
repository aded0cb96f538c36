"""Make the index that tests keep for each released format: ``python makers/golden_index.py``.

Run it once when a format is released, and never for that format again: what it made is the proof
that later versions read it. It writes ``tests/golden/index-VERSION`` and, beside it, the answers
that it gave.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path

import numpy as np

import softcosine as sc
from softcosine.index.directory.commit import VERSION
from softcosine.similarity.embeddings.word_pieces import WordPieces
from softcosine.space.meaning import MeaningSpace
from softcosine.space.query_table import QueryTable

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
VECTORS = {"tyre": (3.0, 1.0), "bicycle": (2.0, 2.0), "tea": (-1.0, 3.0), "water": (-2.0, 2.5)}
QUERIES = (
    "tire", "+tea kettle", '"green tea"', "hound bike", "ключ", "flat -tyre", "wheel", "tea^2 dog",
)  # fmt: skip


class Encoder:
    """Adds the vectors of the words of a text."""

    name, dimensions, max_tokens = "golden", 2, None

    def encode(self, texts: list[str], /) -> np.ndarray:
        """Return the vectors of texts, (n_texts, 2)."""
        found = [[VECTORS.get(word, (0.25, 0.5)) for word in text.split()] for text in texts]
        return np.array([np.sum([(0.0, 0.0), *one], axis=0) for one in found], np.float32)

    def n_truncated(self, texts: list[str]) -> int:
        """Return 0: every text is read whole."""
        return 0


def _space() -> MeaningSpace:
    table = QueryTable.quantized(list(VECTORS.values()), WordPieces(list(VECTORS)))
    return MeaningSpace(Encoder.name, table=table)


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
        encoder=Encoder(),
        meaning_space=_space(),
    )
    with index.writer(merge=None) as writer:
        for number, (id, text) in enumerate(TEXTS.items()):
            writer.add(id, {"title": id, "body": text}, {"number": number, "lang": ["en"]})
    with index.writer(merge=None) as writer:
        writer.delete("gone")
        writer.add("kettle", {"title": "kettle", "body": f"{TEXTS['kettle']}; teapot"})
    answers = {
        f"{ranking} {ask}": {
            query: [[hit.id, hit.score] for hit in index.search(query, ranking=ranking, ask=ask)]
            for query in QUERIES
        }
        for ranking in ("soft_bm25", "soft_cosine")
        for ask in ("words", "static")
    }
    (path / "write.lock").unlink()
    text = json.dumps(answers, indent=1, ensure_ascii=False)
    (FOLDER / f"index-{VERSION}.json").write_text(text + "\n", encoding="utf-8")
    print(path)


if __name__ == "__main__":
    main()
