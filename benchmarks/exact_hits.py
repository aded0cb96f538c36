"""How often a document with every word of a short query is ranked below one with none of them.

Queries are one to three adjacent words of the documents of eight English collections (no stop
words) that ten documents or fewer have together: names, commands, terms. A query counts as buried
if, among its ten best, a document with none of its words is above one with all, or none of all is
there. Then the real questions of these collections that consist of one to three words that all
count. Both with and without the rule of short queries, with meaning from the bundled table
(static) and, for collections of at most 20,000 documents, from the encoder minilm.

    python benchmarks/exact_hits.py
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from measure import data_folder, write_report
from softcosine import SoftIndex
from softcosine.evaluate.datasets.loading import load
from softcosine.evaluate.datasets.ranking import RankingSet
from softcosine.evaluate.measures import measured
from softcosine.evaluate.runs import Run
from softcosine.index.search import execution

COLLECTIONS = (
    "bankfaq", "covidq", "gnomedesc-en", "medicationqa", "mediqa-chiqa", "perlfaq", "stackfaq",
    "tldr-man",
)  # fmt: skip
LENGTHS = (1, 2, 3)
N_QUERIES, MOST_DOCUMENTS, ENCODED = 200, 10, 20_000
RULE = execution.FEW_WORDS
_MEASURE = "ndcg@10"


def words_of(index: SoftIndex, text: str) -> list[str]:
    """Return the terms of a text, without n-grams."""
    analyzer = index.snapshot.analyzer
    return analyzer.stem(analyzer.kept(text))


def short_queries(index: SoftIndex, texts: Sequence[str], length: int) -> list[str]:
    """Return adjacent words of random documents that few documents have."""
    random, analyzer, stop_words = (
        np.random.default_rng(0),
        index.snapshot.analyzer,
        index.snapshot.stop_words,
    )
    queries: dict[str, None] = {}
    for number in random.permutation(len(texts)).tolist():
        words = [str(word) for word in analyzer.kept(texts[number])]
        if len(words) < length:
            continue
        start = int(random.integers(len(words) - length + 1))
        chosen = words[start : start + length]
        if any(len(word) < 3 or word in stop_words for word in chosen):
            continue
        if len(holding(index, chosen)) <= MOST_DOCUMENTS:
            queries[" ".join(chosen)] = None
        if len(queries) == N_QUERIES:
            break
    return list(queries)


def holding(index: SoftIndex, words: Sequence[str]) -> set[str]:
    """Return the ids of the documents with all words."""
    query = " ".join(f"+{word}" for word in words)
    return set(index.search(query, syntax=True, k=MOST_DOCUMENTS + 1, ask="words").ids)


def buried(index: SoftIndex, queries: Sequence[str]) -> float:
    """Return the share of queries whose documents with all words are below one with none."""
    n = 0
    for query, hits in zip(queries, index.search_batch(queries, k=10, correct=False), strict=True):
        terms = set(words_of(index, query))
        held = [len(terms.intersection(words_of(index, hit.text))) for hit in hits]
        first_without = next((i for i, own in enumerate(held) if not own), len(held))
        n += any(own == len(terms) for own in held[first_without:]) or len(terms) not in held
    return n / max(len(queries), 1)


def values(judged: RankingSet, index: SoftIndex, numbers: Sequence[int]) -> NDArray[np.float64]:
    """Return nDCG@10 of some judged questions."""
    ids, texts = judged.judged.ids, judged.judged.texts
    hits = index.search_batch([texts[i] for i in numbers], k=10)
    run = Run({ids[i]: tuple(one.ids) for i, one in zip(numbers, hits, strict=True)})
    return measured(judged, run, [_MEASURE]).per_unit[_MEASURE][list(numbers)]


def main() -> None:
    """Measure, and write the report."""
    rows: list[dict[str, object]] = []
    gains: dict[tuple[str, int], list[float]] = {}
    for name in COLLECTIONS:
        judged = load(data_folder() / "questions" / name)
        assert isinstance(judged, RankingSet)
        texts = judged.documents.texts
        for encoder in ("static", "minilm"):
            if encoder == "minilm" and len(texts) > ENCODED:
                continue
            index = SoftIndex.from_texts(texts, ids=judged.documents.ids, encoder=encoder)
            row: dict[str, object] = {"collection": name, "meaning": encoder}
            for length in LENGTHS:
                queries = short_queries(index, texts, length)
                shares = []
                for execution.FEW_WORDS in (0, RULE):
                    shares.append(f"{100 * buried(index, queries):.0f} %")
                row[f"{length} words"] = " → ".join(shares)
                execution.FEW_WORDS = RULE
                short = [
                    i for i, text in enumerate(judged.judged.texts)
                    if len(words_of(index, text)) == length
                    and index.parse(text).frequencies.sum() == length
                ]  # fmt: skip
                if short:
                    execution.FEW_WORDS = 0
                    before = values(judged, index, short)
                    execution.FEW_WORDS = RULE
                    after = values(judged, index, short)
                    gains.setdefault((encoder, length), []).extend((after - before).tolist())
            rows.append(row)
            print(row, flush=True)
    notes = [
        f"Real questions of {length} words, {encoder}: {len(own)}, nDCG@10 changes by "
        f"{100 * np.mean(own):+.2f} on average ({sum(x > 0 for x in own)} better, "
        f"{sum(x < 0 for x in own)} worse)."
        for (encoder, length), own in sorted(gains.items())
    ]
    title = "How often is a document with every word of a short query below one with none?"
    print(write_report("exact_hits", title, rows, {"queries": N_QUERIES}, notes=notes))


if __name__ == "__main__":
    main()
