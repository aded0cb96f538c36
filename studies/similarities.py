"""Study 5: which S? Sources of term similarity, alone and joined, and how S is made sparse.

Every S ranks five judged collections by soft BM25 (k1 = 1.2, b = 0.75) over English stems without
stop words, beside BM25 (S = I); sources that are of words are compared with people's judgements of
word similarity too. Nothing is chosen here: every line is a setting by itself.

    python studies/similarities.py [--data FOLDER] [--json] [--out FOLDER] [--collections adi,cacm]
                                   [--without-encoder] [--without-terms]
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.stats import spearmanr

import softcosine as sc
from retrieval_sets import (
    COLLECTIONS,
    Collection,
    figures_of,
    gain,
    read,
    taught_similarity,
)
from softcosine.evaluate.datasets import load
from softcosine.evaluate.datasets.pairs import WordPairSet
from softcosine.evaluate.systems.soft import Soft
from softcosine.similarity.source import TermSimilaritySource
from softcosine.text.corpus import AnalyzedTexts
from study import Clock, Encode, argument_parser, markdown, minilm, read_arguments, write

Values = NDArray[np.float64]
Maker = Callable[[AnalyzedTexts, Collection], TermSimilaritySource]
Settings = dict[str, Any]

BM25 = "S = I (BM25)"
WORD_SETS = {"WS-353": "EN-WS-353-ALL", "SimLex": "EN-SIMLEX-999", "MEN": "EN-MEN-TR-3k"}
# The S whose sparsity is varied.
VARIED = "English table"
TAUGHT = "noisy_or(English, distilled × 0.1)"
WAYS: dict[str, Settings] = {
    "100 neighbours, rare terms choose first": {},
    "5 neighbours": {"max_neighbors": 5},
    "20 neighbours": {"max_neighbors": 20},
    "300 neighbours": {"max_neighbors": 300},
    "frequent terms choose first": {"order": "frequent_first"},
    "each row its own best (asymmetric)": {"strategy": "rows"},
    "dominant": {"strategy": "dominant"},
    "shrunk until definite": {"definite": True, "balanced": False},
    "balanced": {"balanced": True},
    "without the guard": {"guard": False},
}


def fixed_sources(data: Path) -> dict[str, TermSimilaritySource]:
    """Return the sources that learn nothing from what is searched."""
    vectors = data / "vectors"
    return {
        VARIED: sc.EmbeddingSimilarity.english(),
        "word2vec, 8,000 words": sc.EmbeddingSimilarity.load(
            vectors / "word2vec_googlenews300_8k.npz"
        ),
        "potion-base-4M": sc.EmbeddingSimilarity.load(vectors / "potion_base_4m_int8.npz"),
        "WordNet, path": sc.lab.wordnet_similarity(data / "wordnet"),
        "PPDB XL": sc.ThesaurusSimilarity.load(data / "lexica" / "ppdb-xl_retrofit.txt.gz"),
        "edit distance": sc.EditDistanceSimilarity(),
        "character n-grams": sc.CharacterNgramSimilarity(),
    }


def makers(
    fixed: Mapping[str, TermSimilaritySource], *, encode: Encode | None, terms: bool = True
) -> dict[str, Maker]:
    """Return all sources, alone and joined; with `terms`, the encoder asked for each of them."""

    def always(source: TermSimilaritySource) -> Maker:
        return lambda corpus, collection: source

    def distilled(corpus: AnalyzedTexts, collection: Collection) -> TermSimilaritySource:
        assert collection.documents is not None
        return sc.scaled(taught_similarity(corpus, collection.documents), 0.1)

    english = fixed[VARIED]
    told: dict[str, Maker] = {name: always(source) for name, source in fixed.items()}
    told |= {
        "texts: PPMI-SVD": lambda corpus, _: sc.CooccurrenceSimilarity.fit(corpus),
        "texts: regression": lambda corpus, _: sc.lab.RegressionSimilarity.fit(corpus),
        "WordNet, path × 0.1": always(sc.scaled(fixed["WordNet, path"], 0.1)),
        "PPDB XL × 0.1": always(sc.scaled(fixed["PPDB XL"], 0.1)),
        "first(English, PPMI-SVD)": lambda corpus, _: sc.first(
            english, sc.CooccurrenceSimilarity.fit(corpus)
        ),
        "first(English, edit distance)": always(sc.first(english, fixed["edit distance"])),
        "noisy_or(English, PPDB × 0.1)": always(
            sc.noisy_or(english, sc.scaled(fixed["PPDB XL"], 0.1))
        ),
    }
    if encode is not None:
        if terms:
            encoder = sc.EncoderSimilarity(encode, name="all-MiniLM-L6-v2")
            told["encoder asked for each term"] = always(encoder)
        told |= {
            "encoder's documents, distilled × 0.1": distilled,
            TAUGHT: lambda corpus, own: sc.noisy_or(english, distilled(corpus, own)),
        }
    return told


def ranked(collection: Collection, make: Maker | None, settings: Settings) -> Values:
    """Return nDCG@10 of every query by one S."""
    words: Settings = {
        "stemmer": "english", "stop_words": "english", "k1": 1.2, "b": 0.75,
        "ranking": "soft_bm25", "encoder": None,
    }  # fmt: skip
    if make is None:
        system = Soft(plain=True, **words)
    else:
        system = Soft(
            source=lambda corpus: make(corpus, collection),
            **{"balanced": False, "definite": False, **words, **settings},
        )
    return figures_of(collection.dataset, system.fit(collection.dataset.documents))


def correlations(source: TermSimilaritySource, sets: Mapping[str, WordPairSet]) -> dict[str, Any]:
    """Return Spearman's correlation over known pairs, and the share of these, by set."""
    found = {}
    for name, judged in sets.items():
        known = source.knows(judged.left) & source.knows(judged.right)
        told = source.similarities(judged.left, judged.right)[known]
        rho = spearmanr(told, judged.scores[known]).statistic if np.ptp(told) > 0 else 0.0
        found[name] = {"spearman": float(rho), "known": float(known.mean())}
    return found


def word_similarity(data: Path, encode: Encode | None) -> dict[str, dict[str, Any]]:
    """Return how sources that are of words agree with people; cosines without a threshold."""
    sets = {}
    for title, file in WORD_SETS.items():
        judged = load(data / "wordsim" / f"{file}.txt.gz")
        assert isinstance(judged, WordPairSet)
        sets[title] = judged
    vectors = data / "vectors"
    cosines: Settings = {"threshold": 0.0, "exponent": 1.0}
    english = sc.EmbeddingSimilarity.english(**cosines)
    wordnet = sc.lab.wordnet_similarity(data / "wordnet")
    ppdb = sc.ThesaurusSimilarity.load(data / "lexica" / "ppdb-xl_retrofit.txt.gz")
    sources: dict[str, TermSimilaritySource] = {
        VARIED: english,
        "word2vec, 8,000 words": sc.EmbeddingSimilarity.load(
            vectors / "word2vec_googlenews300_8k.npz", **cosines
        ),
        "potion-base-4M": sc.EmbeddingSimilarity.load(
            vectors / "potion_base_4m_int8.npz", **cosines
        ),
        "WordNet, path": wordnet,
        "PPDB XL": ppdb,
        "edit distance": sc.EditDistanceSimilarity(),
        "character n-grams": sc.CharacterNgramSimilarity(threshold=0.0),
        "noisy_or(English, WordNet)": sc.noisy_or(english, wordnet),
        "strongest(English, PPDB)": sc.strongest(english, ppdb),
    }
    if encode is not None:
        sources["encoder asked for each term"] = sc.EncoderSimilarity(
            encode, name="all-MiniLM-L6-v2", **cosines
        )
    return {name: correlations(source, sets) for name, source in sources.items()}


def page(results: Mapping[str, Any], took: str) -> list[str]:
    """Return the report as lines of Markdown."""
    names = results["collections"]
    columns = ["S", *names, "mean", "gain, %"]

    def rows(part: str) -> list[list[str]]:
        return [
            [
                label,
                *(f"{100 * own['ndcg@10'][name]:.1f}" for name in names),
                f"{100 * own['mean']:.2f}",
                "{:+.1f} [{:+.1f}, {:+.1f}]".format(
                    *(100 * own["gain"][key] for key in ("difference", "low", "high"))
                ),
            ]
            for label, own in results[part].items()
        ]

    lines = [
        "# Study 5: which S?",
        "",
        "nDCG@10 times 100 by soft BM25 (k1 = 1.2, b = 0.75) over English stems, without stop",
        "words. The gain is the mean over the collections of the relative gain over BM25 (S = I),",
        "with its 95 % paired bootstrap interval. Sources named *texts* learned from what is",
        "searched. S is as its source says, neither shrunk nor balanced; 100 neighbours, 10 for",
        "what texts teach.",
        "",
        "## Sources",
        "",
        *markdown(columns, rows("sources")),
        "",
    ]
    for title, part in (
        (f"## How S is made sparse: {VARIED}", "ways"),
        (f"## How S is made sparse: {TAUGHT}", "ways_taught"),
    ):
        if results[part]:
            lines += [title, "", *markdown(columns, rows(part)), ""]
    told = results["word_similarity"]
    lines += [
        "## Word similarity",
        "",
        "Spearman's correlation with people's judgements over the pairs that the source knows, and",
        "the share of these; cosines without threshold and exponent.",
        "",
        *markdown(
            ["source", *WORD_SETS],
            (
                [name, *(f"{own[s]['spearman']:.3f} ({own[s]['known']:.0%})" for s in WORD_SETS)]
                for name, own in told.items()
            ),
        ),
        "",
        *results["notes"],
        "",
        f"Made{took} by `python studies/similarities.py`; raw numbers in "
        "[similarities.json](similarities.json). The same for the settings of each kind of source: "
        "[benchmarks/sources](../benchmarks/sources.md).",
    ]
    return lines


NOTES = (
    "What the tables say:",
    "",
    "- **Vectors of an encoder are worth most**: the bundled table, which is the encoder",
    "  asked for single words, and what it thinks of the documents, distilled. Each",
    "  brings as much as the other, and joined more: one knows English, the other the",
    "  domain. Asked anew for each term of a collection, it says little more than the",
    "  table.",
    "- **Thesauri as they are drown a query** in neighbours of similarity 1/2 or 0.8:",
    "  soft BM25 needs them scaled or balanced. Scaled to a tenth, paraphrases add a",
    "  little, WordNet nothing.",
    "- **What a small collection teaches by company alone** neither helps nor harms; nor",
    "  does spelling, where words are stemmed already.",
    "- **How S is made sparse** matters little where similarities are few and clear, as",
    "  those of the table. Where they are many and vague, as the distilled ones, 5",
    "  neighbours are too few, and dominance and balancing take about half of the gain",
    "  and more: they limit the sums, which are large by nature. Whether rare or frequent",
    "  terms choose first is better differs by collection. The least shrinking that makes",
    "  S definite costs nothing.",
    "- **Word similarity and ranking are different things**: joining with WordNet lifts",
    "  SimLex, and WordNet adds nothing to rankings.",
    "- Learned similarities of pairs and SNOS have studies of their own:",
    "  [learned](learned.md), [snos](snos.md).",
)


def main(arguments: Sequence[str] | None = None, *, encode: Encode | None = None) -> dict[str, Any]:
    """Run the study, write its results, and return them."""
    parser = argument_parser(__doc__)
    parser.add_argument("--collections", default=",".join(COLLECTIONS))
    parser.add_argument("--without-encoder", action="store_true")
    parser.add_argument(
        "--without-terms", action="store_true", help="the encoder is asked for documents alone"
    )
    asked = read_arguments(parser, arguments)
    report = Clock()

    if encode is None and not asked.without_encoder:
        encode = minilm(report)
    data = asked.data
    terms = not asked.without_terms
    made = makers(fixed_sources(data), encode=encode, terms=terms)
    names = asked.collections.split(",")
    figures: dict[str, dict[str, dict[str, Values]]] = {
        "sources": {},
        "ways": {},
        "ways_taught": {},
    }
    plan: list[tuple[str, str, Maker | None, Settings]] = [("sources", BM25, None, {})]
    plan += [("sources", label, make, {}) for label, make in made.items()]
    plan += [("ways", label, made[VARIED], way) for label, way in WAYS.items()]
    if TAUGHT in made:
        plan += [("ways_taught", label, made[TAUGHT], way) for label, way in WAYS.items()]
    for name in names:
        collection = read(data, name, encode)
        for part, label, make, settings in plan:
            own = ranked(collection, make, settings)
            figures[part].setdefault(label, {})[name] = own
            report(f"{name}: {label}")
    plain = figures["sources"][BM25]
    results: dict[str, Any] = {
        part: {
            label: {
                "ndcg@10": {name: float(values.mean()) for name, values in own.items()},
                "mean": float(np.mean([values.mean() for values in own.values()])),
                "gain": gain(own, plain).to_dict(),
            }
            for label, own in by_label.items()
        }
        for part, by_label in figures.items()
    }
    results |= {
        "collections": names,
        "word_similarity": word_similarity(data, encode if terms else None),
        "notes": list(NOTES),
    }
    took = f" in {report.seconds / 60:.0f} minutes, encoding not counted,"
    lines = page(results, took)
    write("similarities", asked, lines, results)
    return results


if __name__ == "__main__":
    main()
