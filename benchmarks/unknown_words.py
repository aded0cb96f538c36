"""The cosine of meaning that a hit needs if all words of the query are unknown.

Queries are words that neither the documents nor the English vectors have. The floor was chosen on
four collections, the others only report.

* nonsense: letters at random, pieces of a row of the keyboard, chains of the letters of words; one
  or two of them. Nothing is right.
* foreign words: of the other collections. Nothing is right.
* words taken out of the documents: the documents that had the word are right.

The table has the share of queries with a hit, by floor; of words taken out, also the share with a
right document among the first three.

    python benchmarks/unknown_words.py
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import islice

import numpy as np

from measure import data_folder, write_report
from softcosine import SoftIndex
from softcosine.evaluate.datasets.loading import load
from softcosine.index.query.ready_query import FLOOR
from softcosine.index.search import execution

CHOSEN_ON = ("gnomedesc-en", "medicationqa", "perlfaq", "stackfaq")
OTHERS = ("bankfaq", "covidq", "mediqa-chiqa", "tldr-man")
ENCODED = ("medicationqa", "stackfaq", "bankfaq", "covidq")  # by the light encoder, too
FLOORS = (0.2, 0.3, 0.35, 0.4, 0.45, 0.5)
N_EACH, MOST_DOCUMENTS, FIRST = 100, 20, 3
KEYBOARD = ("qwertyuiop", "asdfghjkl", "zxcvbnm")
_WORD = re.compile(r"[a-z]{4,}", re.IGNORECASE)


def owners_of(texts: Sequence[str]) -> dict[str, set[int]]:
    """Return the words of some texts, and the numbers of the texts that have them."""
    owners: dict[str, set[int]] = defaultdict(set)
    for number, text in enumerate(texts):
        for word in _WORD.findall(text):
            owners[word.lower()].add(number)
    return owners


def nonsense(words: Iterable[str], random: np.random.Generator) -> Iterator[str]:
    """Yield words without a meaning, of three kinds in turn."""
    following: dict[str, list[str]] = defaultdict(list)
    for word in words:
        padded = f"  {word} "
        for at in range(len(padded) - 2):
            following[padded[at : at + 2]].append(padded[at + 2])
    while True:
        yield "".join(random.choice(list("abcdefghijklmnopqrstuvwxyz"), random.integers(4, 9)))
        row = KEYBOARD[random.integers(3)]
        start = random.integers(len(row) - 3)
        yield row[start : start + random.integers(4, 8)]
        word = "  "
        while len(word) < 16 and not (word[-1] == " " and len(word) > 2):
            word += str(random.choice(following[word[-2:]]))
        yield word.strip()


def shares(index: SoftIndex, queries: Mapping[str, set[str]]) -> tuple[list[float], list[float]]:
    """Return the shares of queries with a hit, and with a right one among the first, by floor."""
    # With a weight of 1, the score of a query of unknown words is the cosine.
    found = index.search_batch(list(queries), k=FIRST, meaning=1.0, correct=False)
    best = np.array([hits[0].score if len(hits) else 0.0 for hits in found])
    right = np.array([
        bool(own.intersection(hits.ids)) for own, hits in zip(queries.values(), found, strict=True)
    ])  # fmt: skip
    passing = [best >= floor for floor in FLOORS]
    return [one.mean() for one in passing], [(one & right).mean() for one in passing]


def main() -> None:
    """Measure, and write the report."""
    vars(execution)["FLOOR_OF_UNKNOWN"] = FLOOR  # every cosine from the usual floor on
    judged = {name: load(data_folder() / "questions" / name) for name in (*CHOSEN_ON, *OTHERS)}
    owners = {name: owners_of(one.documents.texts) for name, one in judged.items()}
    english = SoftIndex.from_texts(["some words", "in English"])
    sums: dict[tuple[str, str, str], list[list[float]]] = defaultdict(list)
    for name, one in judged.items():
        random, own, ids = np.random.default_rng(0), owners[name], one.documents.ids

        def unknown(words: Iterable[str]) -> Iterator[str]:
            return (word for word in words if english.parse(word).unknown)

        rare = [word for word in own if len(own[word]) <= MOST_DOCUMENTS]
        taken = list(islice(unknown(random.permutation(rare).tolist()), N_EACH))
        foreign = sorted({word for words in owners.values() for word in words} - set(own))
        words = unknown(word for word in nonsense(own, random) if word not in own)
        queries: dict[str, dict[str, set[str]]] = {
            "nonsense": {" ".join(islice(words, 1 + i % 2)): set() for i in range(N_EACH)},
            "foreign words": {
                word: set()
                for word in islice(unknown(random.permutation(foreign).tolist()), N_EACH)
            },
            "words taken out": {word: {ids[i] for i in own[word]} for word in taken},
        }
        pattern = re.compile(rf"\b({'|'.join(taken)})\b", re.IGNORECASE)
        texts = [pattern.sub("", text) for text in one.documents.texts]
        for encoder in ("static", "minilm") if name in ENCODED else ("static",):
            index = SoftIndex.from_texts(texts, ids=ids, encoder=encoder)
            half = "chosen on" if name in CHOSEN_ON else "others"
            for kind, asked in queries.items():
                absent = {  # other forms of a word can be left
                    query: right for query, right in asked.items() if index.parse(query).unknown
                }
                some, right = shares(index, absent)
                sums[half, encoder, kind].append(some)
                if kind == "words taken out":
                    sums[half, encoder, f"{kind}, right among the first three"].append(right)
            print(name, encoder, flush=True)
    rows = []
    for (half, encoder, kind), shown in sorted(sums.items()):
        means = zip(FLOORS, np.mean(shown, axis=0).tolist(), strict=True)
        cells = {f"{floor:g}": f"{100 * share:.0f} %" for floor, share in means}
        rows.append({"collections": half, "meaning": encoder, "queries": kind, **cells})
    title = "Which cosine of meaning must a hit have if all words of the query are unknown?"
    parameters = {
        "chosen on": ", ".join(CHOSEN_ON), "others": ", ".join(OTHERS),
        "read by minilm": ", ".join(ENCODED), "queries of each kind and collection": N_EACH,
    }  # fmt: skip
    print(write_report("unknown_words", title, rows, parameters))


if __name__ == "__main__":
    main()
