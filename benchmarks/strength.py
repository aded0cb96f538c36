"""Whether one rule tells strong hits from related ones, on collections it was not fitted on.

For up to 120 questions of each of eight English collections and their ten best hits: the share of
the question's weight that the document holds as the same words, and as the same or similar ones;
the cosine of meaning, as it is and in standard deviations of the best cosines of the collection;
the gap to the next hit; the score over the best; the rank; the number of words. A logistic
regression on seven collections, weighted equally, says how probably a hit is judged relevant; the
threshold at which half (or seven tenths) of these are is applied to the eighth. Hits without a
judgement count as not relevant, so precision is a lower bound.

    python benchmarks/strength.py
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from exact_hits import COLLECTIONS
from measure import data_folder, write_report
from softcosine import SoftIndex
from softcosine.evaluate.datasets.loading import load
from softcosine.evaluate.datasets.ranking import RankingSet
from softcosine.index.search.results import Hits

N_QUESTIONS, K = 120, 10
TARGETS = (0.5, 0.7)
Rows = tuple[NDArray[np.float64], NDArray[np.bool_]]


def features(index: SoftIndex, query: str, hits: Hits, weight: float) -> NDArray[np.float64]:
    """Return the features of the ten best hits but the standardised cosine, one row a hit."""
    parsed, n_docs = index.parse(query), len(index)
    counts = np.array(index.snapshot.n_docs_of(parsed.terms.tolist()))
    idf = np.log1p((n_docs - counts + 0.5) / (counts + 0.5))
    known = dict(zip(parsed.words, idf.tolist(), strict=True))
    total = sum(known.values()) + np.log1p(n_docs) * len(parsed.outside)
    rows = []
    for rank, hit in enumerate(hits[:K]):
        parts = index.explain(query, hit.id).parts
        same = {one.query_word for one in parts if one.kind == 0}
        near = {one.query_word for one in parts if one.kind == 1 and one.similarity >= 0.5}
        cosine = sum(one.contribution for one in parts if one.kind == 2) / weight
        after = hits[rank + 1].score if rank + 1 < len(hits) else 0.0
        shares = [sum(known.get(word, 0.0) for word in own) / total for own in (same, same | near)]
        rows.append(
            [*shares, cosine, 1.0 - after / hit.score, hit.score / hits[0].score, rank, len(known)]
        )
    return np.array(rows)


def sampled(name: str, encoder: str) -> Rows:
    """Return the features of hits, and whether they are judged relevant."""
    judged = load(data_folder() / "questions" / name)
    assert isinstance(judged, RankingSet)
    index = SoftIndex.from_texts(judged.documents.texts, ids=judged.documents.ids, encoder=encoder)
    weight = index.snapshot.settings.meaning_weights["soft_tf_bm25"]
    ids, texts = judged.judged.ids, judged.judged.texts
    rows, relevant, best = [], [], []
    for place in np.random.default_rng(0).permutation(len(ids))[:N_QUESTIONS].tolist():
        hits = index.search(texts[place], k=K + 1)
        if not len(hits) or not len(index.parse(texts[place]).terms):
            continue
        rows.append(features(index, texts[place], hits, weight))
        best.append(rows[-1][0, 2])
        gains = judged.qrels[ids[place]]
        relevant += [gains.get(hit.id, 0.0) > 0.0 for hit in hits[:K]]
    every = np.vstack(rows)
    standard = (every[:, 2] - np.mean(best)) / np.std(best)
    return np.column_stack([every, standard]), np.array(relevant)


def applied(others: list[Rows], own: Rows, target: float) -> str:
    """Return share and precision of the strong hits of a collection left out."""
    X, y = (np.concatenate(one) for one in zip(*others, strict=True))
    weights = np.concatenate([np.full(len(one), 1.0 / len(one)) for _, one in others])
    model = make_pipeline(StandardScaler(), LogisticRegression(max_iter=500))
    model.fit(X, y, logisticregression__sample_weight=weights * len(y) / len(others))
    fitted = model.predict_proba(X)[:, 1]
    order = np.argsort(-fitted)
    precision = np.cumsum((weights * y)[order]) / np.cumsum(weights[order])
    least = fitted[order][np.flatnonzero(precision >= target)[-1]]
    strong = model.predict_proba(own[0])[:, 1] >= least
    return f"{own[1][strong].mean():.2f} of {strong.mean():.1%}"


def main() -> None:
    """Measure, and write the report."""
    rows = []
    for encoder in ("static", "minilm"):
        every = {name: sampled(name, encoder) for name in COLLECTIONS}
        for target in TARGETS:
            row: dict[str, object] = {"meaning": encoder, "precision fitted": target}
            for name, own in every.items():
                others = [rest for other, rest in every.items() if other != name]
                row[name] = applied(others, own, target)
            rows.append(row)
            print(row, flush=True)
    notes = ["Cells: precision of strong hits of the collection left out, of which share of hits."]
    title = "Does one rule tell strong hits on collections it was not fitted on?"
    print(write_report("strength", title, rows, {"questions": N_QUESTIONS}, notes=notes))


if __name__ == "__main__":
    main()
