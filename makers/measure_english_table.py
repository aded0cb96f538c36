"""Measure the bundled English table against human judgements, its variants and other vectors.

Prints Spearman correlations (and the share of pairs covered) on word similarity sets and on the
development part of the STS Benchmark, where a sentence is the idf-weighted sum of its words'
unit vectors.  The data folder is ``SOFTCOSINE_DATA``, or ``../shared/data`` beside the clone.
With ``--wordnet`` the variants that were weighed for the table are made and measured too.
"""

from __future__ import annotations

import argparse
import gzip
import os
import re
from collections import Counter
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from scipy.stats import spearmanr

from make_english_table import (
    N_REMOVED,
    STEPS_PER_DEVIATION,
    TARGET,
    cached_encode,
    candidate_words,
    encode_words,
    quantise,
    reduce,
)

DATA = Path(os.environ.get("SOFTCOSINE_DATA", Path(__file__).parents[2] / "shared/data"))
WORD_SETS = {
    "WS-353": "EN-WS-353-ALL",
    "SimLex": "EN-SIMLEX-999",
    "MEN": "EN-MEN-TR-3k",
    "RG-65": "EN-RG-65",
}
Judgement = tuple[str, str, float]


@dataclass(frozen=True, slots=True)
class Table:
    """Words and their vectors, rows of unit length."""

    rows: dict[str, int]
    vectors: NDArray[np.float32]

    @classmethod
    def of(cls, words: list[str], vectors: NDArray[np.generic]) -> Table:
        """Table of raw vectors, shape (n_words, n_dimensions)."""
        raw = np.asarray(vectors, dtype=np.float32)
        lengths = np.linalg.norm(raw, axis=1, keepdims=True)
        return cls({word: i for i, word in enumerate(words)}, raw / np.maximum(lengths, 1e-12))

    def on_words(self, judgements: list[Judgement]) -> tuple[float, float]:
        """Spearman correlation over the pairs known, and their share."""
        known = [j for j in judgements if j[0] in self.rows and j[1] in self.rows]
        left = self.vectors[[self.rows[a] for a, _, _ in known]]
        right = self.vectors[[self.rows[b] for _, b, _ in known]]
        cosines = np.einsum("ij,ij->i", left, right)
        found = spearmanr(cosines, [score for _, _, score in known]).statistic
        return float(found), len(known) / len(judgements)

    def on_sentences(self, judgements: list[Judgement]) -> float:
        """Spearman correlation of the cosines of idf-weighted sums."""
        frequencies = Counter(w for a, b, _ in judgements for s in (a, b) for w in set(split(s)))
        cosines = []
        for a, b, _ in judgements:
            x, y = self._sum(a, frequencies), self._sum(b, frequencies)
            lengths = float(np.linalg.norm(x) * np.linalg.norm(y))
            cosines.append(float(x @ y) / lengths if lengths else 0.0)
        return float(spearmanr(cosines, [score for _, _, score in judgements]).statistic)

    def _sum(self, sentence: str, frequencies: Counter[str]) -> NDArray[np.float64]:
        total = np.zeros(self.vectors.shape[1])
        n_sentences = 3000  # of the development part
        for word in split(sentence):
            if word in self.rows:
                idf = np.log((1 + n_sentences) / (1 + frequencies[word])) + 1
                total += idf * self.vectors[self.rows[word]]
        return total


def split(sentence: str) -> list[str]:
    """Split into runs of ASCII letters, in lower case."""
    return re.findall(r"[a-z]+", sentence.lower())


def read_lines(path: Path) -> list[list[str]]:
    with gzip.open(path, "rt", encoding="utf-8") as lines:
        return [line.rstrip("\n").split("\t") for line in lines if line.strip()]


def word_judgements() -> dict[str, list[Judgement]]:
    return {
        name: [
            (row[0].lower(), row[1].lower(), float(row[2]))
            for row in read_lines(DATA / f"wordsim/{file}.txt.gz")
        ]
        for name, file in WORD_SETS.items()
    }


def sentence_judgements() -> list[Judgement]:
    rows = read_lines(DATA / "sentences/stsb_dev.tsv.gz")
    return [(row[1], row[2], float(row[0])) for row in rows]


def reference_tables() -> dict[str, Table]:
    """Vectors of the data folder, made by others."""
    with np.load(DATA / "vectors/potion_base_4m_int8.npz") as file:
        potion = Table.of(file["tokens"].tolist(), file["q"])
    with np.load(DATA / "vectors/word2vec_googlenews300_8k.npz") as file:
        word2vec = Table.of(file["words"].tolist(), file["v"])
    with np.load(DATA / "vectors/glove300d_u8_10k.npz") as file:
        spread = (file["hi"] - file["lo"]) / 255
        glove = Table.of(file["words"].tolist(), file["q"] * spread + file["lo"])
    return {"potion-base-4M": potion, "word2vec, 8,000 words": word2vec, "GloVe, 9,910": glove}


def shipped_table(path: Path = TARGET) -> Table:
    with np.load(path) as file:
        return Table.of(file["words"].tobytes().decode().split("\n"), file["vectors"])


def variants(wordnet: Path, cache: Path | None) -> dict[str, Table]:
    """Each choice of make_english_table.py beside what it was chosen over."""
    words, _ = candidate_words(wordnet)
    alone = cached_encode(words, cache)
    full = encode_words(words, wordnet, cache)
    made = {
        "alone, 384": alone,
        "alone, 384, centred": alone - alone[:10_000].mean(axis=0),
        "alone, 128 (plain PCA)": reduce(alone, n_removed=0, damping=1.0),
        "alone, 128, 3 removed": reduce(alone, n_removed=3, damping=1.0),
        "with definitions, 384": full,
    }
    for n_removed in range(4):
        made[f"with definitions, 128, {n_removed} removed"] = reduce(full, n_removed=n_removed)
    for damping in (1.0, 0.5, 0.0):
        made[f"... {N_REMOVED} removed, damping {damping}"] = reduce(full, damping=damping)
    for n_dimensions in (64, 96, 192):
        made[f"... {n_dimensions} dimensions"] = reduce(full, n_dimensions=n_dimensions)
    tables = {name: Table.of(words, vectors) for name, vectors in made.items()}
    for steps in (1.0, STEPS_PER_DEVIATION, 3.0, 10.0):
        rounded = quantise(reduce(full), steps)
        tables[f"... int8, {steps:g} steps a deviation"] = Table.of(words, rounded)
    return tables


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--wordnet", type=Path, help="measure the variants; as for the maker")
    parser.add_argument("--cache", type=Path, help="as for the maker")
    options = parser.parse_args()
    word_sets, sentences = word_judgements(), sentence_judgements()
    tables = {"english.npz": shipped_table()} | reference_tables()
    if options.wordnet is not None:
        tables |= variants(options.wordnet, options.cache)
    print(f"| {'vectors':36} | " + " | ".join(f"{n:12}" for n in word_sets) + " | STS-B dev |")
    print(f"|{'-' * 38}|" + f"{'-' * 14}|" * len(word_sets) + f"{'-' * 11}|")
    for name, table in tables.items():
        found = [table.on_words(judgements) for judgements in word_sets.values()]
        cells = [f"{rho:.3f} ({covered:4.0%})" for rho, covered in found]
        cells.append(f"{table.on_sentences(sentences):9.3f}")
        print(f"| {name:36} | " + " | ".join(cells) + " |")


if __name__ == "__main__":
    main()
