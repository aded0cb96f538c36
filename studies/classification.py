"""Study 2: kNN classification by soft cosine, six sets of labelled texts.

How many neighbours vote, how near ones outvote others, how much hubs are held back, what words
weigh and whose similarities make S is chosen in the training part of every split, by leaving one
training document out at a time. Cosine with the same choices stands beside.

    python studies/classification.py [--data FOLDER] [--json] [--out FOLDER] [--sets r8,twitter]
                                     [--rows soft,latent,learned,others] [--kept FILE]

What was measured is kept in a file as it comes, so that an interrupted run goes on.
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from classification_page import page, summary
from classification_recipes import (
    PLAIN,
    PLAIN_SETTINGS,
    SOFT_SETTINGS,
    UNTUNED,
    Analyzed,
    chosen_setting,
    predicted,
)
from classification_rivals import latent_rows, learned_rows, other_rows
from softcosine.evaluate.datasets import load
from softcosine.evaluate.datasets.classification import ClassificationSet
from softcosine.evaluate.documents import Documents
from softcosine.sklearn.votes import VotingGrid
from study import Clock, Report, argument_parser, read_arguments, write

Row = dict[str, Any]
Maker = Callable[
    [ClassificationSet, Analyzed, Report, Mapping[str, Any]], Iterator[tuple[str, int, Row]]
]

SETS = {
    "twitter": "twitter",
    "r8": "r8",
    "classic4": "classic4",
    "amazon": "amazon",
    "20news": "20news_bydate",
    "20news, no headers": "20news_bydate",
    "ohsumed23": "ohsumed23",
}
ROWS = ("soft", "latent", "learned", "others")
SAMPLE = 1500  # training documents that choose the setting
EQUAL_VOTES = VotingGrid(temperatures=(np.inf,), hubnesses=(0.0,), balances=(0.0,))


def dataset_of(name: str, data: Path) -> ClassificationSet:
    """Return a set; of products and others the text alone, without a title."""
    dataset = load(data / "classification" / f"{SETS[name]}.jsonl.gz")
    assert isinstance(dataset, ClassificationSet)
    texts = list(dataset.documents.fields["text"])
    if name.endswith("no headers"):
        texts = [text.partition("\n\n")[2] for text in texts]
    return replace(dataset, name=name, documents=Documents(dataset.documents.ids, {"text": texts}))


def soft_rows(
    dataset: ClassificationSet, analyzed: Analyzed, report: Report, kept: Mapping[str, Any]
) -> Iterator[tuple[str, int, Row]]:
    """Give (row, split, what it got wrong) of cosine and soft cosine, plain and chosen."""
    words = analyzed.words
    labels, n_classes = dataset.label_numbers, len(dataset.classes)
    for number, split in enumerate(dataset.splits):
        best: dict[str, Any] = {}
        for row, settings in (("cosine, chosen", PLAIN_SETTINGS),
                              ("soft cosine, chosen", SOFT_SETTINGS)):  # fmt: skip
            report(f"{dataset.name}, split {number + 1}: settings of {row}")
            best[row] = chosen_setting(
                words, settings, split.train, labels, n_classes, sample=SAMPLE, seed=number
            )
        asked: dict[Any, list[tuple[str, VotingGrid]]] = {}
        asked.setdefault(PLAIN, []).append(("cosine, equal votes", EQUAL_VOTES))
        asked.setdefault(UNTUNED, []).append(("soft cosine, untuned", EQUAL_VOTES))
        asked.setdefault(UNTUNED, []).append(("soft cosine, vote chosen", VotingGrid()))
        for row, (setting, _) in best.items():
            asked.setdefault(setting, []).append((row, VotingGrid()))
        for setting, wanted in asked.items():
            report(f"{dataset.name}, split {number + 1}: {setting}")
            started = time.process_time()
            results = predicted(
                words, setting, split, labels, n_classes, [grid for _, grid in wanted]
            )
            seconds = time.process_time() - started
            for (row, _), result in zip(wanted, results, strict=True):
                voting = result.voting
                yield row, number, {
                    "wrong": wrong(result.classes, labels[split.test]),
                    "n": len(split.test),
                    "setting": str(setting),
                    "voting": [voting.n_neighbors, _finite(voting.temperature), voting.hubness,
                               voting.balance],
                    "training error": round(100 * result.error, 2),
                    "tried": best[row][1] if row in best else {},
                    "cpu seconds": round(seconds, 1),
                }  # fmt: skip


def wrong(found: NDArray[np.int64], labels: NDArray[np.int64]) -> list[int]:
    """Return the positions of the test documents that got a wrong label."""
    return [int(place) for place in np.flatnonzero(found != labels)]


def _finite(temperature: float) -> float | None:
    return None if np.isinf(temperature) else temperature


class Kept:
    """What was measured so far: of a set, of a row, of a split."""

    def __init__(self, path: Path | None) -> None:
        self.path = path
        there = path is not None and path.exists()
        self.found: dict[str, dict[str, dict[str, Row]]] = (
            json.loads(path.read_text(encoding="utf-8")) if path is not None and there else {}
        )

    def has(self, dataset: ClassificationSet, rows: Sequence[str]) -> bool:
        """Whether all splits of some rows are there."""
        own = self.found.get(dataset.name, {})
        return all(len(own.get(row, {})) == len(dataset.splits) for row in rows)

    def add(self, dataset: str, row: str, split: int, told: Row) -> None:
        """Keep one measurement."""
        self.found.setdefault(dataset, {}).setdefault(row, {})[str(split)] = told
        if self.path is not None:
            text = json.dumps(self.found)
            self.path.write_text(text, encoding="utf-8")


_MAKERS: dict[str, Maker] = {
    "soft": soft_rows,
    "latent": latent_rows,
    "learned": learned_rows,
    "others": other_rows,
}


def study(
    data: Path, names: Sequence[str], rows: Sequence[str], kept: Kept, report: Report
) -> Mapping[str, Any]:
    """Measure what is not kept yet; return all."""
    for name in names:
        dataset = dataset_of(name, data)
        texts = dataset.documents.texts
        words = Analyzed(texts, data)
        for kind in ROWS:
            there = kept.found.get(name, {})
            if kind not in rows or f"done: {kind}" in there:
                continue
            for row, split, told in _MAKERS[kind](dataset, words, report, there):
                kept.add(name, row, split, {**told, "n_docs": len(texts)})
            kept.add(name, f"done: {kind}", 0, {})
    return kept.found


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the study."""
    parser = argument_parser(__doc__)
    parser.add_argument("--sets", default="|".join(SETS), help="names, joined by |")
    parser.add_argument("--rows", default=",".join(ROWS))
    parser.add_argument("--kept", help="file in which measurements are kept")
    given = read_arguments(parser, arguments)
    names, rows = given.sets.split("|"), given.rows.split(",")
    for what, asked, known in (("set", names, SETS), ("row", rows, ROWS)):
        for one in asked:
            if one not in known:
                raise SystemExit(f"there is no {what} {one!r}; choose of {', '.join(known)}.")

    report, used = Clock(), time.process_time()
    kept = Kept(Path(given.kept) if given.kept else None)
    found = study(given.data, names, rows, kept, report)
    told = summary(found)
    if given.kept is None:  # what was kept took no time now
        told["seconds of this run"] = round(report.seconds, 1)
        told["processor seconds of this run"] = round(time.process_time() - used, 1)
    write("classification", given, page(told), told)
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
