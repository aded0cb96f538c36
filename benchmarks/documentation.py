"""Questions in lay words, asked of the index of this documentation.

    make docs
    python benchmarks/documentation.py [build/docs.index]

The questions were written before their answers were looked at. What the first thirty missed led to
titles, first sentences and passages; the last fifteen were used for no choice. documentation.tsv
has them, and the pages or sections that answer them.
"""

from __future__ import annotations

import argparse
import csv
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import softcosine as sc
from measure import write_report

QUESTIONS = Path(__file__).with_suffix(".tsv")
DEPTH = 60  # passages looked at


def rank(ids: list[str], answers: list[str]) -> int | None:
    """Return the place of the first section that answers, from 1; sections count once."""
    sections = dict.fromkeys(id.split()[0].replace(".html", "") for id in ids)
    for place, section in enumerate(sections, 1):
        if section in answers or section.partition("#")[0] in answers:
            return place
    return None


def measured(
    index: sc.SoftIndex, questions: Sequence[tuple[str, str]], **options: Any
) -> tuple[int, int]:
    """Return how many questions have an answer as the first section, and among the first three."""
    places = [
        rank(index.search(question, k=DEPTH, **options).ids, answers.split())
        for question, answers in questions
    ]
    found = [place for place in places if place is not None]
    return found.count(1), sum(place <= 3 for place in found)


def figures(index: sc.SoftIndex, *, encoder: str | None = "minilm") -> list[dict[str, object]]:
    """Return a row for each way to rank; `encoder` reads the passages of a copy."""
    with QUESTIONS.open(encoding="utf-8", newline="") as file:
        lines = list(csv.reader(file, delimiter="\t"))[1:]
    sets = {
        label: [(question, answers) for one, question, answers in lines if one == label]
        for label in ("looked at", "held out")
    }
    ways: list[tuple[str, sc.SoftIndex, dict[str, Any]]]
    ways = [("words alone", index, {"ask": "words"}), ("default", index, {})]
    with tempfile.TemporaryDirectory() as folder:
        if encoder is not None:
            index.save(Path(folder) / "encoded.index")
            encoded = sc.SoftIndex.open(Path(folder) / "encoded.index")
            with encoded.writer() as writer:
                writer.encode(encoder)
            ways += [
                (f"encoded documents, ask={ask}", encoded, {"ask": ask})
                for ask in ("static", "encoder")
            ]
        rows = []
        for name, one, options in ways:
            row: dict[str, object] = {"ranking": name}
            for label, questions in sets.items():
                first, three = measured(one, questions, **options)
                row[f"{label}: first"] = f"{first} of {len(questions)}"
                row[f"{label}: among three"] = f"{three} of {len(questions)}"
            rows.append(row)
    return rows


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("index", nargs="?", type=Path, default=Path("build/docs.index"))
    index = sc.SoftIndex.open(parser.parse_args().index)
    print(
        write_report(
            "documentation",
            "Does the documentation answer questions in lay words?",
            figures(index),
            {"passages": len(index)},
            notes=(
                "How many questions have a section that answers them as the first result, and "
                "among the first three.",
                "Thirty questions were looked at while titles, first sentences and passages were "
                "chosen; the others were used for no choice. All were written by who wrote the "
                "pages, so they are no sample of what readers ask.",
            ),
        )
    )


if __name__ == "__main__":
    main()
