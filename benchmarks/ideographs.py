"""What pairs of characters, words and similar spelling are worth in Chinese and Japanese.

Two collections a language, made of free texts of Debian 12. *Packages*: the short description of a
package is the query, its long description the document (Translation-zh_CN and Translation-ja of
https://deb.debian.org/debian/dists/bookworm/main/i18n/). *Help*: the one-line description of a page
of GNOME help, taken out of it, and the page (usr/share/help/LANGUAGE of the packages of GNOME, such
as gnome-user-docs). Queries that stand in their document or occur twice are left out, and all but
500 by a seeded sample. Settings were chosen on the Chinese packages.

    python benchmarks/ideographs.py FOLDER  # of Translation-LANGUAGE and usr/share/help/LANGUAGE

Needs the extras ``chinese`` and ``japanese``.
"""

from __future__ import annotations

import math
import random
import re
import sys
import xml.etree.ElementTree as ET
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from measure import write_report
from softcosine import CharacterNgramSimilarity, SimilarityRecipe, SoftIndex
from softcosine.text.analyzer import Analyzer
from softcosine.text.segmenters import segmenter_for
from softcosine.text.words import find_words, normalize
from test_sets import RESAMPLES, gain_notes

LANGUAGES = {"zh_CN": "chinese", "ja": "japanese"}
N_QUERIES, SHORTEST_QUERY, SHORTEST_TEXT = 500, 4, 30
_MALLARD = "{http://projectmallard.org/1.0/}"
Row = tuple[str, str, str]  # id, query, text
Values = NDArray[np.float64]
COMPARED = (
    ("words", "pairs"),
    ("words and pairs", "words"),
    ("words, learned from the texts", "words"),
    ("words, similar by spelling (the default)", "words"),
    ("pairs, similar by spelling", "pairs"),
)


def packages(path: Path, language: str) -> Iterator[Row]:
    """Yield the descriptions of packages."""
    for entry in path.read_text("utf-8").split("\n\n"):
        name = re.search(r"^Package: (.*)$", entry, re.MULTILINE)
        short = re.search(rf"^Description-{language}: (.*)$", entry, re.MULTILINE)
        if name and short:
            lines = [line.strip() for line in entry[short.end() :].splitlines()]
            text = "".join("\n" if line == "." else line for line in lines)
            yield name[1], short[1].strip(), text


def pages(folder: Path) -> Iterator[Row]:
    """Yield the pages of GNOME help."""
    for path in sorted(folder.rglob("*.page")):
        try:
            page = ET.parse(path).getroot()
        except ET.ParseError:
            continue
        info = page.find(f"{_MALLARD}info")
        described = None if info is None else info.find(f"{_MALLARD}desc")
        if info is None or described is None:
            continue
        page.remove(info)
        query, text = (" ".join("".join(one.itertext()).split()) for one in (described, page))
        yield str(path.relative_to(folder)), query, text


def n_ideographs(text: str) -> int:
    """Return how many characters are ideographs or kana."""
    return sum(ord(one) >= 0x3000 for one in text)


def collection(
    rows: Iterable[Row], size: Callable[[str], int] = n_ideographs, longest: float = math.inf
) -> tuple[list[Row], list[Row]]:
    """Return the documents, and those whose queries are asked."""
    kept: dict[str, Row] = {}
    for id, query, text in rows:
        if SHORTEST_QUERY <= size(query) <= longest and size(text) >= SHORTEST_TEXT:
            kept.setdefault(text, (id, query, text))
    documents = list({row[0]: row for row in kept.values()}.values())
    counts = Counter(query for _, query, _ in documents)
    asked = [row for row in documents if counts[row[1]] == 1 and row[1] not in row[2]]
    random.Random(0).shuffle(asked)
    return documents, asked[:N_QUERIES]


def measured(documents: list[Row], asked: list[Row], language: str) -> dict[str, Values]:
    """Return nDCG@10 of every query by each system."""
    cut, pairs, words = segmenter_for(language), Analyzer(), Analyzer(segmenter=language)
    spelling = CharacterNgramSimilarity(min_n=2, max_n=3)

    def both(text: str) -> list[str]:
        found = find_words(normalize(text), cut)
        return [*found, *(one for one in find_words(normalize(text)) if one not in set(found))]

    systems: dict[str, dict[str, Any]] = {
        "pairs": {"analyzer": pairs, "plain": True},
        "words": {"analyzer": words, "plain": True},
        "words and pairs": {"analyzer": pairs, "plain": True},
        "words, learned from the texts": {
            "analyzer": words,
            "similarity": SimilarityRecipe(sources=["texts"]),
        },
        "words, similar by spelling (the default)": {"analyzer": words, "source": spelling},
        "pairs, similar by spelling": {"analyzer": pairs, "source": spelling},
    }
    values = {}
    for name, settings in systems.items():
        tokens = both if name == "words and pairs" else str
        index = SoftIndex.from_texts(
            [tokens(text) for *_, text in documents], ids=[row[0] for row in documents],
            encoder=None, **settings,
        )  # fmt: skip
        hits = index.search_batch([tokens(query) for _, query, _ in asked], k=10)
        values[name] = np.array(
            [
                1.0 / np.log2(one.ids.index(id) + 2) if id in one.ids else 0.0
                for (id, *_), one in zip(asked, hits, strict=True)
            ]
        )
    return values


def main() -> None:
    """Measure, and write the report."""
    folder = Path(sys.argv[1])
    figures: dict[str, dict[str, Values]] = {}
    sizes = {}
    for code, language in LANGUAGES.items():
        for name, rows in (
            ("packages", packages(folder / f"Translation-{code}", code)),
            ("help", pages(folder / "usr/share/help" / code)),
        ):
            documents, asked = collection(rows)
            figures[f"{language}, {name}"] = measured(documents, asked, language)
            sizes[f"{language}, {name}"] = f"{len(documents):,} documents, {len(asked)} queries"
            print(sizes, flush=True)
    table = [
        {
            "nDCG@10, times 100": system,
            **{name: round(100 * float(own[system].mean()), 1) for name, own in figures.items()},
        }
        for system in next(iter(figures.values()))
    ]
    notes = [f"{name}: {size}." for name, size in sizes.items()]
    notes += gain_notes(figures, COMPARED)
    title = (
        "What are pairs of characters, words and similar spelling worth in Chinese and Japanese?"
    )
    print(write_report("ideographs", title, table, {"resamples": RESAMPLES}, notes=notes))


if __name__ == "__main__":
    main()
