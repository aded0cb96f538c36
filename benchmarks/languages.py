"""What stems, stop words and similar spelling bring in other languages, and who tells them.

Four collections of short questions in German, Czech and Italian are ranked as `softcosine index`
would by its defaults, and with one part of these left out or added; some also with questions typed
without accents. Intervals are 95 % paired
bootstrap intervals over the queries, resampled within each collection. Then the language is
recognised in random samples of the documents of all collections of questions.

    python benchmarks/languages.py
"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from measure import data_folder, read_jsonl, write_report
from softcosine.evaluate import evaluate
from softcosine.evaluate.datasets.loading import load
from softcosine.evaluate.datasets.ranking import RankingSet
from softcosine.text.language import detect_language
from softcosine.text.words import folded, normalize
from test_sets import RESAMPLES, gain_notes

RANKED = {
    "gnomedesc-de": "german",
    "gnomedesc-cs": "czech",
    "lohelp-cs": "czech",
    "itafaq": "italian",
}
SYSTEMS = {
    "BM25, words as they are": "bm25:stemmer=none",
    "BM25": "bm25",
    "BM25 without stop words": "bm25:stop_words={language}",
    "plain (S = I)": "soft:plain=true",
    "S learned from the texts": "soft:sources=texts",
    "the default (S by spelling)": "soft",
    "soft BM25 (S by spelling)": "soft:ranking=soft_bm25",
    "the default without stop words": "soft:stop_words={language}",
    "the default, words as they are": "soft:stemmer=none",
}
UNACCENTED = ("BM25", "plain (S = I)", "S learned from the texts", "the default (S by spelling)")
COMPARED = (
    ("BM25", "BM25, words as they are"),
    ("BM25 without stop words", "BM25"),
    ("S learned from the texts", "plain (S = I)"),
    ("the default (S by spelling)", "plain (S = I)"),
    ("the default (S by spelling)", "S learned from the texts"),
    ("the default without stop words", "the default (S by spelling)"),
    ("the default (S by spelling)", "soft BM25 (S by spelling)"),
    ("the default (S by spelling)", "the default, words as they are"),
    ("the default, words as they are", "BM25, words as they are"),
)
SAMPLES = 200
SIZES = (1, 3, 10, 100)
_MEASURE = "ndcg@10"

Values = NDArray[np.float64]


def ranked(folder: Path, language: str) -> dict[str, Values]:
    """Return nDCG@10 of every query of a collection by each system."""
    specs = {name: spec.format(language=language) for name, spec in SYSTEMS.items()}
    judged = load(folder)
    found = evaluate(judged, list(specs.values()), measures=[_MEASURE], n_resamples=100)
    values = {name: found.figures[spec].per_unit[_MEASURE] for name, spec in specs.items()}
    assert isinstance(judged, RankingSet)
    fields = {
        field: [folded(normalize(text)) for text in texts]
        for field, texts in judged.queries.fields.items()
    }
    bare = replace(judged, queries=replace(judged.queries, fields=fields))
    specs = {name: specs[name] for name in UNACCENTED}
    found = evaluate(bare, list(specs.values()), measures=[_MEASURE], n_resamples=100)
    return values | {
        f"{name}, without accents": found.figures[spec].per_unit[_MEASURE]
        for name, spec in specs.items()
    }


def recognised(texts: list[str], language: str) -> dict[int, tuple[float, float]]:
    """Return which shares of random samples are recognised rightly and wrongly, by their size."""
    random = np.random.default_rng(0)
    shares = {}
    for size in SIZES:
        told = [
            detect_language([texts[i] for i in random.choice(len(texts), size, replace=False)])
            for _ in range(SAMPLES)
        ]
        right = sum(one.name == language for one in told) / SAMPLES
        wrong = sum(one.name not in (None, language) for one in told) / SAMPLES
        shares[size] = right, wrong
    return shares


def main() -> None:
    """Measure, and write the report."""
    folder = data_folder() / "questions"
    figures: dict[str, dict[str, Values]] = {}
    for name, language in RANKED.items():
        figures[name] = ranked(folder / name, language)
        print(name, "done", flush=True)
    rows: list[dict[str, object]] = []
    for system in (*SYSTEMS, *(f"{name}, without accents" for name in UNACCENTED)):
        cells = {name: round(100 * float(own[system].mean()), 1) for name, own in figures.items()}
        mean = float(np.mean([own[system].mean() for own in figures.values()]))
        rows.append({"nDCG@10, times 100": system, **cells, "mean": round(100 * mean, 1)})
    notes = gain_notes(figures, COMPARED, decimals=1)
    for place in sorted(folder.iterdir()):
        if not place.is_dir():
            continue
        language = RANKED.get(place.name, "english")
        texts = [row["text"] for row in read_jsonl(place / "corpus.jsonl.gz")]
        told = ", ".join(
            f"{size}: {right:.1%} / {wrong:.1%}"
            for size, (right, wrong) in recognised(texts, language).items()
        )
        notes.append(
            f"{place.name}: recognised as {language} / as another, in random samples of N "
            f"documents, by N: {told}; of all: {detect_language(texts).name}."
        )
    print(
        write_report(
            "languages",
            "What do stems, stop words and similar spelling bring in other languages?",
            rows,
            {"resamples": RESAMPLES, "samples": SAMPLES},
            notes=notes,
        )
    )


if __name__ == "__main__":
    main()
