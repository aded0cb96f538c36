"""What one wrong letter in a question costs, and what the correction of words wins back.

Eight English collections of short questions, by the default ranking. In a copy of each question one
word of four letters or more, drawn at random, has one edit: a letter left out, doubled, replaced or
exchanged with the next. Intervals are 95 % paired bootstrap intervals over the queries, resampled
within each collection.

    python benchmarks/misspelt.py
"""

from __future__ import annotations

import re
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from measure import data_folder, write_report
from softcosine import SoftIndex
from softcosine.evaluate.datasets.loading import load
from softcosine.evaluate.datasets.ranking import RankingSet
from softcosine.evaluate.measures import measured
from softcosine.evaluate.runs import Run
from test_sets import RESAMPLES, gain_notes

COLLECTIONS = (
    "bankfaq", "covidq", "gnomedesc-en", "medicationqa", "mediqa-chiqa", "perlfaq", "stackfaq",
    "tldr-man",
)  # fmt: skip
ROWS = {
    "as written, no correction": (False, False),
    "as written, corrected (the default)": (False, True),
    "one edit, no correction": (True, False),
    "one edit, corrected (the default)": (True, True),
}
COMPARED = (
    ("one edit, no correction", "as written, no correction"),
    ("one edit, corrected (the default)", "one edit, no correction"),
    ("as written, corrected (the default)", "as written, no correction"),
)
_MEASURE = "ndcg@10"
_WORD = re.compile(r"[a-z]{4,}", re.IGNORECASE)


def misspelt(text: str, random: np.random.Generator) -> str:
    """Return a question with one edit in one of its words."""
    words = list(_WORD.finditer(text))
    if not words:
        return text
    word = words[random.integers(len(words))]
    at, letters = int(random.integers(1, len(word[0]) - 1)), word[0]
    other = chr(97 + int(random.integers(26)))
    edited = (
        letters[:at] + letters[at + 1 :],
        letters[: at + 1] + letters[at:],
        letters[:at] + other + letters[at + 1 :],
        letters[:at] + letters[at + 1] + letters[at] + letters[at + 2 :],
    )[random.integers(4)]
    return text[: word.start()] + edited + text[word.end() :]


def values(
    judged: RankingSet, index: SoftIndex, queries: Sequence[str], *, correct: bool
) -> NDArray[np.float64]:
    """Return nDCG@10 of every judged question."""
    hits = index.search_batch(queries, k=10, correct=correct)
    run = Run({id: tuple(one.ids) for id, one in zip(judged.judged.ids, hits, strict=True)})
    return measured(judged, run, [_MEASURE]).per_unit[_MEASURE]


def main() -> None:
    """Measure, and write the report."""
    figures: dict[str, dict[str, NDArray[np.float64]]] = {}
    for name in COLLECTIONS:
        judged = load(data_folder() / "questions" / name)
        assert isinstance(judged, RankingSet)
        texts, ids = judged.documents.texts, judged.documents.ids
        index = SoftIndex.from_texts(texts, ids=ids, encoder="static")
        written = judged.judged.texts
        random = np.random.default_rng(0)
        edited = [misspelt(text, random) for text in written]
        figures[name] = {
            row: values(judged, index, edited if edit else written, correct=correct)
            for row, (edit, correct) in ROWS.items()
        }
        print(name, {row: round(float(own.mean()), 4) for row, own in figures[name].items()})
    rows = []
    for row in ROWS:
        cells = {name: round(100 * float(own[row].mean()), 1) for name, own in figures.items()}
        mean = float(np.mean([own[row].mean() for own in figures.values()]))
        rows.append({"nDCG@10, times 100": row, **cells, "mean": round(100 * mean, 1)})
    notes = gain_notes(figures, COMPARED)
    title = "What does one wrong letter cost, and what does correction win back?"
    print(write_report("misspelt", title, rows, {"resamples": RESAMPLES}, notes=notes))


if __name__ == "__main__":
    main()
