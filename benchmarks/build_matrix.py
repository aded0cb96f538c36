"""How fast a whole S is built from word vectors, against gensim; and how fast it is assembled.

Run ``python benchmarks/build_matrix.py``; gensim takes minutes. ``--tiny`` writes nothing.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import numpy as np
from gensim.corpora import Dictionary
from gensim.models import KeyedVectors
from gensim.similarities import SparseTermSimilarityMatrix, WordEmbeddingSimilarityIndex
from numpy.typing import NDArray
from scipy.sparse import csr_array

from measure import Timing, interleave, parser_of, peak_memory, write_report
from neighbors import made
from softcosine.matrix.building import GrowingColumns
from softcosine.matrix.rules import column_order
from softcosine.matrix.term_similarity_matrix import TermSimilarityMatrix
from softcosine.similarity.embeddings.embedding import EmbeddingSimilarity
from softcosine.similarity.neighbors import Neighbors
from softcosine.text.vocabulary import Vocabulary

N_WORDS, LIMIT, N_LARGE = 20_000, 100, 400_000
EXPONENT = 2.0
N_TREES = 100  # of Annoy; fewer find fewer of the nearest


def english(n: int) -> tuple[tuple[str, ...], NDArray[np.float32]]:
    """Return the first words of the bundled table and their vectors of unit length."""
    source = EmbeddingSimilarity.english()
    words = source.words[:n]
    table, rows = source.table.look_up(words)
    return words, table.units(rows)[0]


class Gensim:
    """gensim's build of S: similar words of each word, then symmetric greedy assembly."""

    def __init__(self, words: Sequence[str], vectors: NDArray[np.float32]) -> None:
        self.vectors = KeyedVectors(vectors.shape[1])
        self.vectors.add_vectors(list(words), vectors)
        self.dictionary = Dictionary()
        self.dictionary.token2id = {word: i for i, word in enumerate(words)}

    def build(self, **settings: Any) -> SparseTermSimilarityMatrix:
        """Search and assemble; gensim adds exponent and threshold as we do."""
        index = WordEmbeddingSimilarityIndex(
            self.vectors, threshold=0.0, exponent=EXPONENT, kwargs=settings
        )
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return SparseTermSimilarityMatrix(index, self.dictionary, nonzero_limit=LIMIT)

    def exact(self) -> SparseTermSimilarityMatrix:
        """Search every word by a product with all."""
        return self.build()

    def with_annoy(self) -> SparseTermSimilarityMatrix:
        """Search by Annoy's trees, which are built in this time too."""
        from gensim.similarities.annoy import AnnoyIndexer

        return self.build(indexer=AnnoyIndexer(self.vectors, N_TREES))


def has_annoy() -> bool:
    try:
        import annoy  # noqa: F401
    except ImportError:
        return False
    return True


def ours(words: Sequence[str], vectors: NDArray[np.float32]) -> Callable[[], TermSimilarityMatrix]:
    """Build S, preparation of the vectors included."""
    vocabulary = Vocabulary(words)

    def build() -> TermSimilarityMatrix:
        source = EmbeddingSimilarity(words, vectors, threshold=0.0, exponent=EXPONENT)
        return TermSimilarityMatrix.from_source(
            source, vocabulary, max_neighbors=LIMIT, order="vocabulary", guard=False, warn=False
        )

    return build


def check(words: Sequence[str], ours: TermSimilarityMatrix, theirs: csr_array) -> dict[str, object]:
    """Exit unless the two agree wherever both have an entry; tell how much each holds."""
    numbers = [ours.vocabulary.index(word) for word in words]
    mine = csr_array(ours.to_scipy()[numbers][:, numbers])
    both = mine.multiply(theirs != 0)
    theirs_there = theirs.multiply(mine != 0)
    difference = float(abs(both - theirs_there).max())
    if difference > 1e-5:
        raise SystemExit(f"entries that both have differ by {difference:.3g}; one is wrong.")
    n = len(words)
    return {
        "entries a column": round((mine.nnz - n) / n, 1),
        "entries a column, gensim": round((theirs.nnz - n) / n, 1),
        "sum of similarities a column": round(float(mine.sum() - n) / n, 2),
        "sum of similarities a column, gensim": round(float(theirs.sum() - n) / n, 2),
        "largest difference": difference,
    }


def candidates(n: int, k: int, *, seed: int = 0) -> Neighbors:
    """Draw candidates as words have them: mostly those of its group, and a few that all like."""
    generator = np.random.default_rng(seed)
    near = np.arange(n)[:, None] + generator.integers(-2 * k, 2 * k, (n, k))
    liked = (n * generator.random((n, k)) ** 4).astype(np.int64)
    columns = np.where(generator.random((n, k)) < 0.8, near % n, liked)
    columns = np.sort(columns, axis=1)  # to leave out what was drawn twice, and the row itself
    fresh = columns != np.arange(n)[:, None]
    fresh[:, 1:] &= columns[:, 1:] != columns[:, :-1]
    similarities = 1.0 - generator.random((n, k), dtype=np.float32)  # above 0
    similarities[~fresh] = -1.0
    best = np.argsort(-similarities, axis=1)
    counts = fresh.sum(axis=1)
    used = np.arange(k) < counts[:, None]
    return Neighbors(
        np.concatenate([[0], np.cumsum(counts)]),
        np.take_along_axis(columns, best, axis=1)[used].astype(np.int32),
        np.take_along_axis(similarities, best, axis=1)[used],
    )


def drawn(n: int, dimensions: int) -> tuple[tuple[str, ...], NDArray[np.float32]]:
    """Return words for names, and vectors of unit length drawn as words have them."""
    vectors = made(n, dimensions)
    vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
    return tuple(f"w{i * 7919 % n:07d}" for i in range(n)), vectors


def race(
    words: tuple[str, ...], vectors: NDArray[np.float32], *, runs: int, what: str
) -> tuple[list[dict[str, object]], dict[str, object]]:
    """Time the builds side by side, and compare what they built."""
    build, gensim = ours(words, vectors), Gensim(words, vectors)
    found: dict[str, SparseTermSimilarityMatrix] = {}
    racing: dict[str, Callable[[], object]] = {
        "softcosine": build,
        "gensim, exact": lambda: found.__setitem__("exact", gensim.exact()),
    }
    if has_annoy():
        racing[f"gensim with Annoy, {N_TREES} trees"] = gensim.with_annoy
    build()
    memory = {"softcosine": peak_memory(build)}
    timings = interleave(racing, runs=runs, warmups=0)
    facts = check(words, build(), csr_array(found["exact"].matrix, dtype=np.float32))
    first = timings["softcosine"]
    rows = [row(timing, first, memory.get(name), what) for name, timing in timings.items()]
    return rows, facts


def assembly(n: int, *, runs: int) -> list[dict[str, object]]:
    """Time the assembly alone, its kernels compiled."""
    vocabulary, given = Vocabulary.numbered(n), candidates(n, LIMIT)

    def assemble(strategy: str) -> csr_array:
        columns = GrowingColumns(
            csr_array((n, n), dtype=np.float32), np.ones(n, np.bool_), limit=LIMIT,
            dominant=strategy == "dominant",
        )  # fmt: skip
        columns.enter(given, column_order(vocabulary, "rare_first"))
        return columns.to_csr()

    racing: dict[str, Callable[[], object]] = {
        f"assembly, {strategy}": partial(assemble, strategy)
        for strategy in ("symmetric", "dominant")
    }
    memory = {name: peak_memory(call) for name, call in racing.items()}
    what = f"{n:,} words, {LIMIT} candidates each"
    return [
        row(timing, None, memory[name], what)
        for name, timing in interleave(racing, runs=runs).items()
    ]


def row(timing: Timing, first: Timing | None, memory: float | None, what: str) -> dict[str, object]:
    return {**timing.row(relative_to=first), "peak memory MiB": memory, "what": what}


def main() -> None:
    options = parser_of(__doc__, runs=3, tiny=True).parse_args()
    if options.tiny:
        race(*english(200), runs=1, what="tiny")
        assembly(500, runs=1)
        return
    rows: list[dict[str, object]] = []
    facts = {}
    for what, (words, vectors) in {
        f"{N_WORDS:,} words of the English table, 128 dimensions": english(N_WORDS),
        f"{N_WORDS:,} drawn vectors, 300 dimensions": drawn(N_WORDS, 300),
    }.items():
        times, facts[f"S of {what}"] = race(words, vectors, runs=options.runs, what=what)
        rows += times
    rows += assembly(N_LARGE, runs=options.runs)
    parameters = {
        "neighbours a word at most": LIMIT,
        "timed rounds": options.runs,
        **facts,
    }
    notes = [
        "Checked first: entries that both matrices have are equal.",
        "gensim's dictionary order of columns is used on both sides, without thresholds or guards. "
        "gensim lets a column choose among its nearest words only as many as it has room for, so "
        "that full ones among them leave it short; softcosine's go on to the next.",
        "The assembly is of drawn candidates, 80 of 100 from a word's surroundings and the others "
        "among words that many have for candidates.",
        "Memory is the rise of the peak during one call.",
    ]
    title = "S from word vectors, whole; and its assembly"
    print(write_report("build_matrix", title, rows, parameters, notes=notes))


if __name__ == "__main__":
    main()
