"""How good are the default settings of soft BM25, and what chose them.

Every setting of a grid ranks five collections by words alone. For each collection the setting is
chosen that is best on the mean of the four others (one left out), and that choice is measured on
it: what a newcomer with texts of another kind may expect. Plain cosine and BM25 (S = I) stand
beside, with the same stemming. Intervals are 95 % paired bootstrap intervals over the queries,
resampled within each collection.

    python benchmarks/defaults.py
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

import softcosine as sc
from measure import write_report
from softcosine.similarity.overrides.guard import Guarded
from softcosine.similarity.source import TermSimilaritySource
from softcosine.text.corpus import AnalyzedTexts
from test_sets import RESAMPLES, RETRIEVAL, TestSet, all_scores, gain_interval, load

COLLECTIONS = ("semeval", *RETRIEVAL)
_THRESHOLD = 0.3


@dataclass(frozen=True)
class Setting:
    """One point of the grid."""

    stemmer: str | None
    similarity: str
    exponent: float
    ranking: str
    k1: float
    keep_stop_words: bool = True

    def __str__(self) -> str:
        words = "stems" if self.stemmer else "words"
        s = "S = I" if self.similarity == "none" else f"{self.similarity}, e = {self.exponent:g}"
        k1 = f", k1 = {self.k1:g}" if self.ranking == "soft_bm25" else ""
        queries = "" if self.keep_stop_words else "; no stop words in queries"
        return f"{self.ranking}{k1}; {words}; {s}{queries}"


COSINE = Setting("english", "none", 1, "soft_cosine", 1.2)
BM25 = Setting("english", "none", 1, "soft_bm25", 1.2)
TUNED_BM25 = Setting("english", "none", 1, "soft_bm25", 1.6)
STOPPED_BM25 = Setting("english", "none", 1, "soft_bm25", 1.6, keep_stop_words=False)
DEFAULT = Setting("english", "english", 4, "soft_bm25", 1.6, keep_stop_words=False)


def grid() -> Iterator[Setting]:
    """All settings that compete to be the default; `COSINE` and `BM25` are among them."""
    similarities = [("none", 1.0), *(("english", e) for e in (2, 3, 4, 5))]
    similarities += [("first", e) for e in (3, 4, 5)] + [("strongest", 4), ("learned", 4)]
    for stemmer in (None, "english"):
        for similarity, exponent in similarities:
            for ranking, k1 in (("soft_cosine", 1.2), ("soft_bm25", 1.2), ("soft_bm25", 1.6)):
                for keep in (True, False):
                    yield Setting(stemmer, similarity, exponent, ranking, k1, keep)


def source_of(setting: Setting, analyzed: AnalyzedTexts) -> TermSimilaritySource:
    """Return the source that a setting names, learned from the collection where it learns."""
    english = sc.EmbeddingSimilarity.english(threshold=_THRESHOLD, exponent=setting.exponent)
    if setting.similarity == "english":
        return english
    learned = sc.CooccurrenceSimilarity.fit(
        analyzed, threshold=_THRESHOLD, exponent=setting.exponent
    )
    if setting.similarity == "learned":
        return learned
    if setting.similarity == "first":
        return sc.first(english, learned)
    return sc.strongest(english, learned)


def measure_collection(
    test: TestSet, settings: list[Setting]
) -> dict[Setting, NDArray[np.float64]]:
    """Figures of every query under every setting."""
    results: dict[Setting, NDArray[np.float64]] = {}
    for stemmer in dict.fromkeys(setting.stemmer for setting in settings):
        analyzer = sc.Analyzer(stemmer)
        plain = sc.SoftIndex.from_texts(test.texts, plain=True, analyzer=analyzer)
        analyzed = sc.analyze(test.texts, analyzer)
        own = [setting for setting in settings if setting.stemmer == stemmer]
        for similarity in dict.fromkeys((s.similarity, s.exponent) for s in own):
            same = [s for s in own if (s.similarity, s.exponent) == similarity]
            index = plain
            if same[0].similarity != "none":
                source = Guarded(source_of(same[0], analyzed))
                S = sc.TermSimilarityMatrix.from_source(source, plain.vocabulary, definite=True)
                index = plain.with_similarity(S, source=source)
            for setting in same:
                weighted = index.with_weighting(sc.Weighting(k1=setting.k1))
                scores = all_scores(
                    weighted, setting.ranking, test, keep_stop_words=setting.keep_stop_words
                )
                results[setting] = test.score(scores)
    return results


def main() -> None:
    """Measure the grid, choose, and write the report."""
    settings = list(grid())
    figures = {}
    for name in COLLECTIONS:
        figures[name] = measure_collection(load(name), settings)
        print(name, "done", flush=True)
    means = {s: {name: figures[name][s].mean() for name in COLLECTIONS} for s in settings}

    def chosen_without(left_out: str | None) -> Setting:
        return max(
            settings,
            key=lambda s: np.mean([means[s][name] for name in COLLECTIONS if name != left_out]),
        )

    choices = {name: chosen_without(name) for name in COLLECTIONS}
    held_out = {name: figures[name][choices[name]] for name in COLLECTIONS}

    def row(label: str, values: dict[str, NDArray[np.float64]]) -> dict[str, object]:
        cells = {name: round(100 * float(values[name].mean()), 1) for name in COLLECTIONS}
        mean = round(100 * float(np.mean([values[name].mean() for name in COLLECTIONS])), 2)
        return {"ranking": label, **cells, "mean": mean}

    def of(setting: Setting) -> dict[str, NDArray[np.float64]]:
        return {name: figures[name][setting] for name in COLLECTIONS}

    rows = [
        row("cosine (stems, S = I)", of(COSINE)),
        row("BM25 (stems, S = I)", of(BM25)),
        row("BM25 (stems, S = I, k1 = 1.6)", of(TUNED_BM25)),
        row("BM25 (the same, no stop words in queries)", of(STOPPED_BM25)),
        row(f"the default: {DEFAULT}", of(DEFAULT)),
        row("chosen leaving the collection out", held_out),
    ]
    notes = []
    for label, setting in (
        ("cosine", COSINE),
        ("BM25", BM25),
        ("BM25 with k1 = 1.6", TUNED_BM25),
        ("BM25 with k1 = 1.6, no stop words in queries", STOPPED_BM25),
    ):
        for name, values in (("The default", of(DEFAULT)), ("The choice left out", held_out)):
            gain, low, high = (100 * x for x in gain_interval(values, of(setting)))
            notes.append(f"{name} against {label}: {gain:+.2f} [{low:+.2f}, {high:+.2f}].")
    notes += [f"Left out {name}: chosen is {choices[name]}." for name in COLLECTIONS]
    notes.append(f"Best on all five: {chosen_without(None)}.")
    notes.append(
        "nDCG@10 times 100; for SemEval 2016 (dev) mean average precision of ten candidates."
    )
    ordered = sorted(settings, key=lambda s: -np.mean(list(means[s].values())))
    rows += [row(str(setting), of(setting)) for setting in ordered]
    print(
        write_report(
            "defaults",
            "How good are the default settings of soft BM25, and what chose them?",
            rows,
            {"threshold": _THRESHOLD, "resamples": RESAMPLES, "settings": len(settings)},
            notes=notes,
        )
    )


if __name__ == "__main__":
    main()
