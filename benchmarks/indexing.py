"""How fast 20 Newsgroups becomes an index, against bm25s.

Run ``python benchmarks/indexing.py``. What is compared is indexing without similarities: raw text
to something that answers by BM25; with them; and with meaning, too, by default.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import bm25s
import numpy as np
import Stemmer

from measure import interleave, parser_of, peak_memory, write_report
from newsgroups import newsgroups
from softcosine import Analyzer, SoftIndex, Weighting

N_CHECKED = 20  # queries


def ours(texts: Sequence[str], analyzer: Analyzer) -> SoftIndex:
    return SoftIndex.from_texts(texts, plain=True, analyzer=analyzer)


def theirs(texts: Sequence[str], stemmer: Any) -> bm25s.BM25:
    tokens = bm25s.tokenize(list(texts), stopwords=None, stemmer=stemmer, show_progress=False)
    retriever = bm25s.BM25()
    retriever.index(tokens, show_progress=False)
    return retriever


def check(texts: Sequence[str]) -> float:
    """Exit unless both score alike, given the same tokens; the largest relative difference."""
    analyzer = Analyzer()
    tokens = [analyzer.terms(text) for text in texts]
    index = SoftIndex.from_texts(
        tokens, plain=True, analyzer=analyzer, weighting=Weighting(k1=1.2, b=0.75)
    )
    retriever = bm25s.BM25(k1=1.2, b=0.75)
    retriever.index(tokens, show_progress=False)
    largest = 0.0
    for number in np.linspace(0, len(texts) - 1, N_CHECKED).astype(int):
        query = sorted(set(tokens[number]))[:5]
        hits = index.search(query, k=10, keep_stop_words=True)
        scores = np.sort(retriever.get_scores(query))[::-1][: len(hits)] if query else np.empty(0)
        # Lucene's BM25, as theirs, leaves the constant factor k1 + 1 out.
        right = np.array([hit.score for hit in hits]) / 2.2
        largest = max(largest, float(np.abs(scores / right - 1).max(initial=0.0)))
    if largest > 1e-5:
        raise SystemExit(f"the scores differ by {largest:.3g}; the times would compare nothing.")
    return largest


def contestants(texts: Sequence[str]) -> dict[str, Callable[[], object]]:
    stemming, stemmer = Analyzer("english"), Stemmer.Stemmer("english")
    return {
        "softcosine, plain": lambda: ours(texts, Analyzer()),
        "bm25s": lambda: theirs(texts, None),
        "softcosine, plain, stemmed": lambda: ours(texts, stemming),
        "bm25s, stemmed": lambda: theirs(texts, stemmer),
        "softcosine, words alone": lambda: SoftIndex.from_texts(texts, encoder=None),
        "softcosine, by default": lambda: SoftIndex.from_texts(texts),
    }


def measured(texts: Sequence[str], *, runs: int) -> list[dict[str, object]]:
    """Time all contestants; a line of the table each."""
    racing = contestants(texts)
    for contestant in racing.values():  # kernels are compiled before memory is looked at
        contestant()
    memory = {name: peak_memory(call) for name, call in racing.items()}
    timings = interleave(racing, runs=runs)
    first = next(iter(timings.values()))
    return [
        {**timing.row(relative_to=first), "peak memory MiB": memory[name]}
        for name, timing in timings.items()
    ]


def main() -> None:
    options = parser_of(__doc__, runs=7).parse_args()
    texts = newsgroups()
    difference = check(texts[::10])
    rows = measured(texts, runs=options.runs)
    parameters = {
        "documents": len(texts),
        "characters": sum(map(len, texts)),
        "timed rounds": options.runs,
    }
    notes = (
        "From a list of strings to an index that answers by BM25, without stop words being "
        "removed; progress bars off. The index of softcosine also keeps the texts.",
        f"Checked first: given the same tokens of every tenth document, the ten best scores of "
        f"{N_CHECKED} queries agree within {difference:.1e}, bm25s computing in float32.",
        "Words differ a little: bm25s leaves out those of one letter.",
        "Memory is the rise of the peak during one call; what an earlier call left to reuse does "
        "not show.",
    )
    title = "From raw text to an index: 20 Newsgroups"
    print(write_report("indexing", title, rows, parameters, notes=notes))


if __name__ == "__main__":
    main()
