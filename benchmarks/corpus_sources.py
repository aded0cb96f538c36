"""How long sources take to learn from a corpus, and what memory they take when it is streamed.

The same texts (20 Newsgroups) are learned from twice: in memory, as `analyze` gives them, and as a
`TextStream` that is read twice and keeps to so many bytes. Both must teach the same to the bit.

    python benchmarks/corpus_sources.py
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import partial

from measure import interleave, parser_of, peak_memory, write_report
from newsgroups import newsgroups
from softcosine.lab.regression.source import RegressionSimilarity
from softcosine.similarity.cooccurrence.cooccurrence import CooccurrenceSimilarity
from softcosine.similarity.source import TermSimilaritySource, state_of
from softcosine.text.corpus import AnalyzedTexts, analyze
from softcosine.text.stream import TextStream

Corpus = AnalyzedTexts | TextStream
Fit = Callable[[Corpus], TermSimilaritySource]


def fits(max_regressed: int) -> dict[str, Fit]:
    return {
        "CooccurrenceSimilarity": CooccurrenceSimilarity.fit,
        f"RegressionSimilarity, max_terms={max_regressed}": lambda c: RegressionSimilarity.fit(
            c, max_terms=max_regressed
        ),
    }


def bits(source: TermSimilaritySource) -> list[bytes]:
    return [array.tobytes() for _, array in sorted(state_of(source).arrays.items())]


def race(
    texts: Iterable[str], *, memory: int, max_regressed: int, runs: int
) -> list[dict[str, object]]:
    """Learn with every source, in memory and streamed; refuse if they differ."""
    analyzed = analyze(texts)
    racing: dict[str, Callable[[], object]] = {}
    for name, fit in fits(max_regressed).items():
        racing[f"{name}: in memory"] = partial(fit, analyzed)
        racing[f"{name}: streamed"] = partial(fit, TextStream(texts, memory=memory))
        if bits(fit(analyzed)) != bits(fit(TextStream(texts, memory=memory))):
            raise SystemExit(f"{name} learns something else from a stream.")
    peaks = {name: peak_memory(fit) for name, fit in racing.items()}
    timings = interleave(racing, runs=runs, warmups=0)
    return [{**timing.row(), "peak memory MiB": peaks[name]} for name, timing in timings.items()]


def main() -> None:
    parser = parser_of(__doc__, runs=3)
    parser.add_argument("--memory", type=int, default=128, help="MiB for a stream")
    parser.add_argument("--max-regressed", type=int, default=5000, help="terms of the regression")
    options = parser.parse_args()
    texts = newsgroups()
    rows = race(
        texts,
        memory=options.memory << 20,
        max_regressed=options.max_regressed,
        runs=options.runs,
    )
    parameters = {
        "documents": len(texts),
        "memory of a stream MiB": options.memory,
        "timed rounds": options.runs,
    }
    notes = [
        "Checked first: every source learns the same from the stream, to the bit.",
        "A stream analyses the texts twice, which the times in memory do not contain.",
        "Memory is the rise of the peak during one call; what an earlier call left to reuse does "
        "not show.",
    ]
    title = "Learning from a corpus, in memory and streamed: 20 Newsgroups"
    print(write_report("corpus_sources", title, rows, parameters, notes=notes))


if __name__ == "__main__":
    main()
