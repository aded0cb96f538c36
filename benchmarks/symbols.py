"""How often the demo finds the symbols that people mean.

The Unicode consortium's CLDR gives symbols keywords, chosen by people. A keyword of which no word,
even stemmed, stands in the name of any symbol that has it is a question that a search by words
cannot answer. It is answered when a symbol that has it is among the first five.

    apt-get install unicode-cldr-core
    python benchmarks/symbols.py
"""

from __future__ import annotations

import argparse
import unicodedata
import xml.etree.ElementTree as ElementTree
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

import numpy as np
from sklearn.feature_extraction.text import TfidfVectorizer

import softcosine as sc
from measure import write_report
from softcosine.cli.symbols import index_symbols, symbols

ANNOTATIONS = Path("/usr/share/unicode/cldr/common/annotations/en.xml")
DEPTH = 100  # ranks looked at

Ranking = Callable[[str], Sequence[int]]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("annotations", nargs="?", type=Path, default=ANNOTATIONS)
    annotations = parser.parse_args().annotations
    if not annotations.is_file():
        raise SystemExit(f"there is no {annotations}; run: apt-get install unicode-cldr-core")

    rows, described = measured(annotations)
    print(
        write_report(
            "symbols",
            "Does the demo find the symbols that people mean?",
            rows,
            {**described, "annotations": "CLDR, common/annotations/en.xml"},
            notes=(
                "A query is a keyword; relevant are the symbols that have it. hits@5 is the share "
                f"of queries with a relevant symbol among the first five; MRR looks at {DEPTH}.",
                "The first two figures are over the keywords of which no word, even stemmed, "
                "stands in the name of a symbol that has it: plain cosine finds none of them, by "
                "their choice. The others are over all keywords.",
                "The vocabulary that the bundled English vectors were made for holds the words of "
                "the symbols' names; the keywords were not looked at.",
                "The demo's settings were chosen among a few with these figures in view.",
            ),
        )
    )


def measured(annotations: Path) -> tuple[list[dict[str, object]], dict[str, object]]:
    """Return a row for each contestant, and what was asked about."""
    names = symbols()
    numbers = {character: number for number, character in enumerate(names)}
    every = {
        keyword: {numbers[character] for character in characters}
        for keyword, characters in keywords(annotations, names).items()
    }
    ordered = list(names.values())
    absent = {
        keyword: relevant
        for keyword, relevant in every.items()
        if not any(shares_a_word(keyword, ordered[number]) for number in relevant)
    }
    index = index_symbols()
    default = sc.SoftIndex.from_texts(ordered, encoder="static")
    plain = index.with_similarity(sc.TermSimilarityMatrix.identity(index.vocabulary))
    contestants: dict[str, Ranking] = {
        "soft cosine, as in the demo": lambda query: numbers_of(index, query),
        "SoftIndex.from_texts without an encoder": lambda query: numbers_of(default, query),
        "plain cosine": lambda query: numbers_of(plain, query),
        "character n-grams (3 to 5, tf-idf)": character_ngrams(ordered),
    }
    rows: list[dict[str, object]] = []
    for name, rank in contestants.items():
        answered, reciprocal = judge(rank, absent)
        answered_all, reciprocal_all = judge(rank, every)
        rows.append(
            {
                "contestant": name,
                "hits@5": answered,
                "MRR": reciprocal,
                "hits@5, all keywords": answered_all,
                "MRR, all keywords": reciprocal_all,
            }
        )
    return rows, {
        "symbols": len(names),
        "unicode": unicodedata.unidata_version,
        "keywords in no name of their symbols": len(absent),
        "keywords": len(every),
    }


def keywords(path: Path, names: Mapping[str, str]) -> dict[str, set[str]]:
    """Return the symbols of each keyword, of the symbols that have names."""
    found: dict[str, set[str]] = {}
    for annotation in ElementTree.parse(path).getroot().iter("annotation"):
        character = annotation.get("cp", "")
        if annotation.get("type") is None and character in names:
            for keyword in (annotation.text or "").split("|"):
                if keyword.strip():
                    found.setdefault(keyword.strip(), set()).add(character)
    return dict(sorted(found.items()))


def shares_a_word(keyword: str, name: str) -> bool:
    """Whether a word of a keyword, as it is or stemmed, stands in a name."""
    stemming = sc.Analyzer("english")
    return not {*stemming.words(keyword), *stemming.terms(keyword)}.isdisjoint(
        {*stemming.words(name), *stemming.terms(name)}
    )


def numbers_of(index: sc.SoftIndex, query: str) -> list[int]:
    return [hit.number for hit in index.search(query, k=DEPTH)]


def character_ngrams(texts: Sequence[str]) -> Ranking:
    vectorizer = TfidfVectorizer(analyzer="char_wb", ngram_range=(3, 5))
    X = vectorizer.fit_transform(texts)

    def rank(query: str) -> list[int]:
        scores = (X @ vectorizer.transform([query]).T).toarray().ravel()
        best = np.argsort(-scores, kind="stable")[:DEPTH]
        return [int(number) for number in best if scores[number] > 0]

    return rank


def judge(rank: Ranking, queries: Mapping[str, set[int]]) -> tuple[float, float]:
    """Return hits@5 and MRR."""
    answered, reciprocal = 0, 0.0
    for query, relevant in queries.items():
        place = next((i for i, number in enumerate(rank(query), 1) if number in relevant), None)
        if place is not None:
            answered += place <= 5
            reciprocal += 1 / place
    return round(answered / len(queries), 3), round(reciprocal / len(queries), 3)


if __name__ == "__main__":
    main()
