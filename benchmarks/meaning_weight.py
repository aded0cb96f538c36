"""What the weight of meaning gains if it is chosen by twenty judged questions of a collection.

Eight English collections, documents and questions encoded by minilm. The weight of the cosine
beside BM25 of soft frequencies is that of a grid with the greatest mean nDCG@10 of 20 questions
drawn at random; it is measured on all other questions of the collection, in 200 draws. Beside it
the default, and meaning almost alone (a weight of 4,000).

    python benchmarks/meaning_weight.py
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from exact_hits import COLLECTIONS
from measure import data_folder, write_report
from softcosine import SoftIndex
from softcosine.evaluate.datasets.loading import load
from softcosine.evaluate.datasets.ranking import RankingSet
from softcosine.evaluate.measures import measured
from softcosine.evaluate.runs import Run
from softcosine.index.defaults import MEANING_WEIGHTS

WEIGHTS = (0.0, 10.0, 20.0, 40.0, 80.0, 160.0, 320.0, 4000.0)
DEFAULT = MEANING_WEIGHTS["soft_tf_bm25"]
N_JUDGED, N_DRAWS = 20, 200
_MEASURE = "ndcg@10"


def by_weight(name: str) -> NDArray[np.float64]:
    """Return nDCG@10 of every question by each weight, shape (n_weights, n_questions)."""
    judged = load(data_folder() / "questions" / name)
    assert isinstance(judged, RankingSet)
    index = SoftIndex.from_texts(judged.documents.texts, ids=judged.documents.ids, encoder="minilm")
    values = []
    for weight in WEIGHTS:
        hits = index.search_batch(judged.judged.texts, k=10, meaning=weight)
        run = Run({id: tuple(one.ids) for id, one in zip(judged.judged.ids, hits, strict=True)})
        values.append(measured(judged, run, [_MEASURE]).per_unit[_MEASURE])
    return np.array(values)


def main() -> None:
    """Measure, and write the report."""
    rows: list[dict[str, object]] = []
    gains = []
    for name in COLLECTIONS:
        values, random = by_weight(name), np.random.default_rng(0)
        learned, chosen = [], []
        for _ in range(N_DRAWS):
            order = random.permutation(values.shape[1])
            best = int(np.argmax(values[:, order[:N_JUDGED]].mean(axis=1)))
            rest = values[:, order[N_JUDGED:]].mean(axis=1)
            learned.append((rest[best], rest[WEIGHTS.index(DEFAULT)], rest[-1]))
            chosen.append(WEIGHTS[best])
        by_twenty, default, alone = np.mean(learned, axis=0)
        gains.append(by_twenty - default)
        rows.append({
            "collection": name,
            f"default ({DEFAULT:g})": round(100 * float(default), 1),
            "by 20 questions": round(100 * float(by_twenty), 1),
            "meaning almost alone": round(100 * float(alone), 1),
            "best of the grid on all": f"{WEIGHTS[int(np.argmax(values.mean(axis=1)))]:g}",
            "chosen, median": f"{np.median(chosen):g}",
        })  # fmt: skip
        print(rows[-1], flush=True)
    notes = [f"A weight by 20 questions against the default: {100 * np.mean(gains):+.2f} points."]
    title = "What does the weight of meaning gain if it is chosen by twenty judged questions?"
    print(write_report("meaning_weight", title, rows, {"draws": N_DRAWS}, notes=notes))


if __name__ == "__main__":
    main()
