"""How fast all words few edits apart are found, against comparing every two with rapidfuzz.

Run ``python benchmarks/edit_distance.py``; ``--tiny`` takes few words and writes nothing.
"""

from __future__ import annotations

import gzip
from collections.abc import Callable, Iterator, Sequence
from importlib.metadata import version

import numpy as np
from rapidfuzz import process
from rapidfuzz.distance import Levenshtein

from measure import (
    Timing,
    data_folder,
    interleave,
    parser_of,
    peak_memory,
    read_jsonl,
    write_report,
)
from softcosine.similarity.embeddings.embedding import EmbeddingSimilarity
from softcosine.similarity.spelling.edit_distance import EditDistanceSimilarity
from softcosine.text.corpus import analyze

N_COMPARED, N_LARGE = 50_000, 400_000
BLOCK = 5_000  # rows of rapidfuzz's matrix at a time: with fewer or more it takes longer
WORKERS = 2


def words_of_data() -> tuple[str, ...]:
    """Distinct words of the evaluation data: of 20 Newsgroups first, by decreasing frequency."""
    data = data_folder()
    newsgroups = data / "classification" / "20news_bydate.jsonl.gz"
    analyzed = analyze([record["text"] for record in read_jsonl(newsgroups)])
    counts = np.bincount(analyzed.tokens[analyzed.tokens >= 0])
    terms = analyzed.vocabulary.terms
    words = [terms[i] for i in np.argsort(-counts, kind="stable").tolist()]
    words += analyze(list(other_texts())).vocabulary.terms
    words += EmbeddingSimilarity.english().words
    for line in lines(data / "wordnet" / "synsets.tsv.gz"):
        words += line.split("\t")[1].split("|")
    for path in sorted((data / "lexica").glob("*.gz")):
        for line in lines(path):
            words += line.split()
    return tuple(dict.fromkeys(words))


def other_texts() -> Iterator[str]:
    data = data_folder()
    for path in sorted((data / "classification").glob("*.jsonl.gz")):
        yield from (record["text"] for record in read_jsonl(path))
    for path in sorted((data / "retrieval").glob("*/corpus.jsonl.gz")):
        yield from (record["text"] for record in read_jsonl(path))
    for name in ("semeval/forum_text", "vectors/train_text_news2014"):
        yield from lines(data / f"{name}.txt.gz")


def lines(path: object) -> Iterator[str]:
    with gzip.open(str(path), "rt", encoding="utf-8") as file:
        yield from file


def ours(words: Sequence[str], max_distance: int, **settings: float) -> Callable[[], object]:
    """Join words with themselves, preparation included: every call is given a new tuple."""
    limit = int(settings.pop("max_neighbors", 100))
    source = EditDistanceSimilarity(max_distance=max_distance, **settings)
    return lambda: source.neighbors(words, tuple(iter(words)), max_neighbors=limit)


def matrices(words: Sequence[str], max_distance: int, *, asked: int = 0) -> Iterator[np.ndarray]:
    """Distances of the first words from all, block by block; what is further is one more."""
    for start in range(0, asked or len(words), BLOCK):
        block = words[start : min(start + BLOCK, asked or len(words))]
        yield process.cdist(
            block,
            words,
            scorer=Levenshtein.distance,
            score_cutoff=max_distance,
            dtype=np.uint8,
            workers=WORKERS,
        )


def theirs(words: Sequence[str], max_distance: int, *, asked: int = 0) -> Callable[[], object]:
    def compare() -> None:
        for _ in matrices(words, max_distance, asked=asked):
            pass

    return compare


def check(words: Sequence[str], max_distance: int) -> int:
    """Exit unless both find the same pairs at the same distances; how many pairs there are."""
    # 1 - lev / max(len) tells the distance, of all pairs but those without a common letter.
    source = EditDistanceSimilarity(
        max_distance=max_distance, alpha=1.0, beta=1.0, threshold=0.0, cap=1.0 - 1e-6
    )
    found = source.neighbors(words, words, max_neighbors=len(words))
    lengths = np.array([len(word) for word in words])
    rows, columns = found.rows(), found.indices.astype(np.int64)
    longer = np.maximum(lengths[rows], lengths[columns])
    distances = np.rint((1.0 - found.similarities.astype(np.float64)) * longer)
    got = np.sort((rows * len(words) + columns) * 4 + distances.astype(np.int64))
    start = 0
    for matrix in matrices(words, max_distance):
        i, j = np.nonzero(matrix <= max_distance)
        far = matrix[i, j].astype(np.int64)
        keep = (far > 0) & (far < np.maximum(lengths[start + i], lengths[j]))
        truth = np.sort((((start + i) * len(words) + j) * 4 + far)[keep])
        stop = start + len(matrix)
        part = got[slice(*np.searchsorted(got, [start * len(words) * 4, stop * len(words) * 4]))]
        if not np.array_equal(part, truth):
            raise SystemExit(f"the pairs within {max_distance} differ; one of the two is wrong.")
        start = stop
    return len(got)


def joins(words: tuple[str, ...], *, runs: int) -> list[dict[str, object]]:
    """Time the join of all words, beside comparing every two."""
    n = len(words)
    racing: dict[str, Callable[[], object]] = {
        "rapidfuzz cdist, all within 2": theirs(words, 2),
        "softcosine, all within 2": ours(words, 2, threshold=0.0, max_neighbors=n),
        "softcosine, 100 nearest within 2": ours(words, 2, threshold=0.0),
        "softcosine, default settings": ours(words, 2),
        "softcosine, all within 1": ours(words, 1, threshold=0.0, max_neighbors=n),
        "softcosine, 100 nearest within 3": ours(words, 3, threshold=0.0),
    }
    return described(racing, f"{n:,} words with themselves", runs)


def joins_at_scale(words: tuple[str, ...], *, runs: int) -> list[dict[str, object]]:
    """Time the join of many words, beside comparing a few of them with all."""
    n, few = len(words), max(1, len(words) // 400)
    racing: dict[str, Callable[[], object]] = {
        "softcosine, all within 1": ours(words, 1, threshold=0.0, max_neighbors=n),
        "softcosine, default settings": ours(words, 2),
        "softcosine, 100 nearest within 2": ours(words, 2, threshold=0.0),
        f"rapidfuzz cdist, within 2, of {few:,} words only": theirs(words, 2, asked=few),
    }
    return described(racing, f"{n:,} words with themselves", runs)


def single_words(words: tuple[str, ...], *, runs: int, n_asked: int) -> list[dict[str, object]]:
    """Time the search for one word after another, the searched words prepared."""
    generator = np.random.default_rng(0)
    asked = [words[i][1:] or "a" for i in generator.choice(len(words), n_asked).tolist()]
    racing: dict[str, Callable[[], object]] = {}
    for name, source in {
        "softcosine, default settings": EditDistanceSimilarity(),
        "softcosine, 10 nearest within 2": EditDistanceSimilarity(threshold=0.0),
    }.items():
        racing[name] = lambda source=source: [  # type: ignore[misc]
            source.neighbors([word], words, max_neighbors=10) for word in asked
        ]
    racing["rapidfuzz extract, 10 nearest within 2"] = lambda: [
        process.extract(word, words, scorer=Levenshtein.distance, score_cutoff=2, limit=10)
        for word in asked
    ]
    return [
        {**per_call(timing, n_asked), "what": f"one word of {len(words):,}"}
        for timing in interleave(racing, runs=runs).values()
    ]


def per_call(timing: Timing, n_calls: int) -> dict[str, object]:
    seconds = tuple(s / n_calls for s in timing.seconds)
    return Timing(timing.name, seconds, tuple(s / n_calls for s in timing.cpu_seconds)).row(
        unit="ms"
    )


def described(
    racing: dict[str, Callable[[], object]], what: str, runs: int
) -> list[dict[str, object]]:
    memory = {name: peak_memory(contestant) for name, contestant in racing.items()}
    return [
        {**timing.row(), "peak memory MiB": memory[name], "what": what}
        for name, timing in interleave(racing, runs=runs).items()
    ]


def main() -> None:
    options = parser_of(__doc__, runs=5, tiny=True).parse_args()
    words = words_of_data()
    few, many = words[: 500 if options.tiny else N_COMPARED], words[:N_LARGE]
    if options.tiny:
        many = words[:2000]
    n_pairs = {k: check(few, k) for k in (1, 2)}
    rows = joins(few, runs=options.runs)
    rows += joins_at_scale(many, runs=options.runs)
    rows += single_words(many, runs=options.runs, n_asked=20)
    if options.tiny:
        return
    first = {str(row["contestant"]): float(str(row["median s"])) for row in rows[:6]}
    ratio = {
        name: round(first["rapidfuzz cdist, all within 2"] / first[f"softcosine, {name}"], 1)
        for name in ("all within 2", "100 nearest within 2", "default settings")
    }
    parameters = {
        "words compared": len(few),
        "pairs within 1, within 2 (both ways round)": list(n_pairs.values()),
        "words at scale": len(many),
        "mean length, longest": [
            round(float(np.mean([len(word) for word in many])), 1), max(map(len, many))
        ],
        "times faster than rapidfuzz cdist within 2": ratio,
        "timed rounds": options.runs,
        "threads": WORKERS,
        "rapidfuzz": version("rapidfuzz"),
    }  # fmt: skip
    notes = [
        "Checked first: on all words compared, softcosine finds the very pairs and distances that "
        "rapidfuzz finds within 1 and within 2 (pairs without a common letter have similarity 0 "
        "and are left out).",
        "softcosine's times include hashing the searched words and ordering the neighbours; "
        f"rapidfuzz's are of its distance matrix alone, {BLOCK:,} rows at a time, which it fills "
        "twice as fast as all rows at once.",
        "Default settings: within 2, similarity of 0.3 or more, 100 nearest.",
        "Memory is the rise of the peak during one call; what an earlier call left to reuse does "
        "not show.",
    ]
    title = "All words few edits apart"
    print(write_report("edit_distance", title, rows, parameters, notes=notes))


if __name__ == "__main__":
    main()
