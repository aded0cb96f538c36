"""Fit the calibrations of `softcosine.similarity.combine.calibration` on word similarity sets.

Writes ``src/softcosine/similarity/data/calibrations.json``: for each kind of source the knots of an
increasing map from its similarities to what people say, nothing of the sets themselves. The data
folder is ``SOFTCOSINE_DATA``, or ``../shared/data`` beside the clone. Kinds whose sources cannot be
built here keep what stands in the file.
"""

from __future__ import annotations

import gzip
import json
import os
from collections.abc import Callable
from functools import partial
from pathlib import Path

import numpy as np

from softcosine.lab.regression.source import RegressionSimilarity
from softcosine.lab.wordnet import wordnet_similarity
from softcosine.similarity.combine.calibration import Calibration
from softcosine.similarity.cooccurrence.cooccurrence import CooccurrenceSimilarity
from softcosine.similarity.embeddings.embedding import EmbeddingSimilarity
from softcosine.similarity.naming import name_of
from softcosine.similarity.source import TermSimilaritySource
from softcosine.similarity.thesaurus.thesaurus import ThesaurusSimilarity
from softcosine.text.analyzer import Analyzer
from softcosine.text.corpus import AnalyzedTexts, analyze

ROOT = Path(__file__).parents[1]
DATA = Path(os.environ.get("SOFTCOSINE_DATA", ROOT.parent / "shared/data"))
TARGET = ROOT / "src/softcosine/similarity/data/calibrations.json"
WORD_SETS = {"EN-WS-353-ALL": 10.0, "EN-SIMLEX-999": 10.0, "EN-MEN-TR-3k": 50.0, "EN-RG-65": 4.0}
FITTED_ON = "judgements of MEN, WordSim-353, SimLex-999 and RG-65, and of chance pairs"
SEED = 1

Judgement = tuple[str, str, float]


def main() -> None:
    judgements = read_judgements()
    stored = json.loads(TARGET.read_text("utf-8")) if TARGET.exists() else {}
    calibrations = stored.get("calibrations", {})
    for name, build in BUILDERS.items():
        try:
            sources = build()
        except FileNotFoundError as error:
            print(f"{name}: left as it is, since {error}")
            continue
        assert name == name_of(sources[0]), (name, name_of(sources[0]))
        fitted = fit(sources, judgements)
        calibrations[name] = {
            "raw": [round(x, 4) for x in fitted.raw],
            "judged": [round(y, 4) for y in fitted.judged],
            "n_pairs": fitted.n_pairs,
        }
        print(name, calibrations[name])
    whole = {"fitted_on": FITTED_ON, "calibrations": dict(sorted(calibrations.items()))}
    TARGET.write_text(json.dumps(whole, indent=1) + "\n", "utf-8")


def read_judgements() -> list[Judgement]:
    judgements = []
    for name, greatest in WORD_SETS.items():
        with gzip.open(DATA / "wordsim" / f"{name}.txt.gz", "rt", encoding="utf-8") as lines:
            for line in lines:
                a, b, value = line.split()
                if a.lower() != b.lower():
                    judgements.append((a.lower(), b.lower(), float(value) / greatest))
    return judgements + chance_pairs(judgements)


def chance_pairs(judgements: list[Judgement]) -> list[Judgement]:
    """As many pairs of the same words, drawn by lot and taken as not similar.

    The sets hold related words mostly; what a search for neighbours meets is mostly not. Without
    such pairs the smallest similarities would be read as 0.3.
    """
    order = np.random.default_rng(SEED).permutation(len(judgements)).tolist()
    judged = {frozenset(pair[:2]) for pair in judgements}
    pairs = [(one[0], judgements[i][1]) for one, i in zip(judgements, order, strict=True)]
    return [(a, b, 0.0) for a, b in pairs if a != b and frozenset((a, b)) not in judged]


def fit(sources: list[TermSimilaritySource], judgements: list[Judgement]) -> Calibration:
    """Fit one map for several sources of a kind."""
    left, right, judged = zip(*judgements, strict=True)
    raw = [source.similarities(left, right) for source in sources]
    return Calibration.fit(np.concatenate(raw), np.tile(judged, len(raw)), fitted_on=FITTED_ON)


def english() -> list[TermSimilaritySource]:
    return [EmbeddingSimilarity.english(threshold=0.0, exponent=1.0)]


def vectors() -> list[TermSimilaritySource]:
    folder = DATA / "vectors"
    glove = np.load(folder / "glove300d_u8_10k.npz", allow_pickle=False)
    word2vec = np.load(folder / "word2vec_googlenews300_8k.npz", allow_pickle=False)
    potion = np.load(folder / "potion_base_4m_int8.npz", allow_pickle=False)
    tables = [
        (glove["words"], glove["q"] / 255.0 * (glove["hi"] - glove["lo"]) + glove["lo"]),
        (word2vec["words"], word2vec["v"]),
        (potion["tokens"], potion["q"]),
    ]
    return [
        EmbeddingSimilarity(words.tolist(), rows, threshold=0.0, exponent=1.0)
        for words, rows in tables
    ]


def news() -> AnalyzedTexts:
    with gzip.open(DATA / "vectors/train_text_news2014.txt.gz", "rt", encoding="utf-8") as lines:
        return analyze([line for line in lines if line.strip()], Analyzer())


def texts() -> list[TermSimilaritySource]:
    return [CooccurrenceSimilarity.fit(news(), threshold=0.0, exponent=1.0)]


def regression() -> list[TermSimilaritySource]:
    return [RegressionSimilarity.fit(news(), max_terms=8_000, exponent=1.0, max_neighbors=100)]


def wordnet() -> list[TermSimilaritySource]:
    return [ThesaurusSimilarity.from_wordnet(DATA / "wordnet")]


def wordnet_by(measure: str) -> list[TermSimilaritySource]:
    return [wordnet_similarity(DATA / "wordnet", measure=measure)]


BUILDERS: dict[str, Callable[[], list[TermSimilaritySource]]] = {
    "english": english,
    "vectors": vectors,
    "texts": texts,
    "regression": regression,
    "wordnet by path": wordnet,
    "wordnet by wu_palmer": partial(wordnet_by, "wu_palmer"),
    "wordnet by lin": partial(wordnet_by, "lin"),
}

if __name__ == "__main__":
    main()
