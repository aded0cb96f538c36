"""How alike sentences are: the STS Benchmark, and Microsoft's paraphrases on the side.

Everything is chosen on the training and development parts; the test parts are only scored. No score
that people gave is learned from.

    python studies/sentences.py [--data FOLDER] [--json] [--out FOLDER] [--without-encoder]

The encoder is all-MiniLM-L6-v2. It is asked for every training sentence and for every word, once;
what it gave is kept among the user's data. Without it
(``pip install ./packages/softcosine-minilm '.[encoder]'``) only the other systems are run.
"""

from __future__ import annotations

import gzip
import json
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

import softcosine as sc
from question_pairs import Encode, Space
from sentence_attempts import ATTEMPTS, HINDRANCES, OUTCOME
from softcosine.evaluate.datasets import load
from softcosine.evaluate.datasets.pairs import PairSet
from softcosine.evaluate.measures import Figures, measured
from softcosine.evaluate.significance import bootstrap, interval_of
from softcosine.evaluate.systems import from_spec
from softcosine.lab.text_pairs.alignment import paired_alignment
from softcosine.lab.text_pairs.taught_vectors import TaughtVectors
from softcosine.similarity.embeddings.composed_vectors import ComposedVectors
from softcosine.similarity.embeddings.word_pieces import WordPieces
from study import Clock, Report, argument_parser, markdown, minilm, read_arguments, write

Values = NDArray[np.float64]

COSINE = "cosine"
UNTUNED = "soft cosine, untuned"
STATIC = "soft cosine, static"
MEAN = "soft cosine + best matches, static"
TAUGHT = "soft cosine, taught"
DENSE = "all-MiniLM-L6-v2"
BASELINES = {
    COSINE: "cosine",
    UNTUNED: "soft_cosine",
    "mean of word vectors": "mean_vector",
    "relaxed word mover": "rwmd",
}
# Parts of each set; the last is the test. Measures; the first is the one that counts.
SETS = {
    "stsb": (("dev", "test"), ("pearson", "spearman")),
    "msrp": (("val", "test"), ("auc", "accuracy", "f1")),
}
_LEAST = 0.002  # a of the weights a / (a + p)
_RARE = 1e-7


@dataclass(frozen=True, slots=True)
class Language:
    """How frequent words are, and what the encoder taught of them.

    Attributes
    ----------
    shares : mapping of str to float
        p: a word's share of all words, the mean of three kinds of texts.
    training : list of str
        Sentences of the training parts.
    taught : TaughtVectors or None
    """

    shares: Mapping[str, float]
    training: list[str]
    taught: TaughtVectors | None

    def weights(self, vocabulary: sc.Vocabulary) -> Values:
        """Return a / (a + p) of every term (Arora, Liang and Ma 2017)."""
        p = np.array([self.shares.get(term, 0.0) for term in vocabulary.terms]) + _RARE
        return np.asarray(_LEAST / (_LEAST + p))


def language(folder: Path, encode: Encode | None, report: Report) -> Language:
    """Count words, and let the encoder teach what they mean."""
    sets = [_read(folder, name, "train") for name in SETS]
    training = list(dict.fromkeys(text for own in sets for text in (*own.left, *own.right)))
    kinds: list[Iterable[str]] = [training]
    for path in ("vectors/train_text_news2014.txt.gz", "semeval/forum_text.txt.gz"):
        if (folder / path).is_file():
            with gzip.open(folder / path, "rt", encoding="utf-8") as lines:
                kinds.append(lines.readlines())
    shares: Counter[str] = Counter()
    analyzer = sc.Analyzer()
    for texts in kinds:
        counts = Counter(word for text in texts for word in analyzer.words(text))
        total = counts.total() * len(kinds)
        shares.update({word: count / total for word, count in counts.items()})
    found = Language(shares, training, None)
    if encode is None:
        return found
    report("learning the terms' vectors")
    corpus = sc.analyze(training)
    taught = TaughtVectors.fit(
        corpus,
        encode(training),
        term_encodings=encode(list(corpus.vocabulary.terms)),
        weighting=sc.Weighting(tf="raw", idf="none"),
        term_weights=found.weights(corpus.vocabulary),
        penalty=1.0,
        remove_components=1,
    )
    return Language(shares, training, taught)


def _read(folder: Path, name: str, part: str) -> PairSet:
    dataset = load(folder / "sentences" / f"{name}_{part}.tsv.gz")
    assert isinstance(dataset, PairSet)
    return dataset


def static_source(vectors: Path) -> sc.EmbeddingSimilarity:
    """Return static vectors of word pieces, or the bundled table where these are not there."""
    if not vectors.is_file():
        return sc.EmbeddingSimilarity.english(threshold=0.2, exponent=1.5)
    table = np.load(vectors)
    vectors_of_pieces = ComposedVectors(WordPieces(table["tokens"].tolist()), table["q"])
    return sc.EmbeddingSimilarity.of_table(vectors_of_pieces, threshold=0.2, exponent=1.5)


def scores_of(
    dataset: PairSet, known: Language, vectors: Path, encode: Encode | None
) -> dict[str, Values]:
    """Return the score of every pair by every system."""
    left, right = dataset.left, dataset.right
    scores = {}
    for name, spec in BASELINES.items():
        fitted = from_spec(spec).fit(dataset.documents, background=known.training)
        scores[name] = fitted.paired(left, right)
    vocabulary = sc.analyze([*left, *right]).vocabulary
    weights = known.weights(vocabulary)

    def space(source: Any, own: Values) -> Space:
        S = sc.TermSimilarityMatrix.from_source(
            source, vocabulary, max_neighbors=len(vocabulary), warn=False
        )
        weighting = sc.Weighting(tf="raw", idf="none")
        return Space(S, weighting, np.zeros(len(vocabulary), np.int64), 1, own)

    static = space(static_source(vectors), weights)
    scores[STATIC] = static.cosines(left, right)
    matches = paired_alignment(static.rows(left), static.rows(right), static.S)
    scores[MEAN] = (scores[STATIC] + matches) / 2.0
    if encode is not None:
        assert known.taught is not None
        scores[TAUGHT] = _taught(known.taught, vocabulary, weights, encode, space).cosines(
            left, right
        )
        ours, theirs = encode(list(left)), encode(list(right))
        scores[DENSE] = np.einsum("ij,ij->i", ours, theirs)
    return scores


def _taught(
    taught: TaughtVectors,
    vocabulary: sc.Vocabulary,
    weights: Values,
    encode: Encode,
    space: Callable[[Any, Values], Space],
) -> Space:
    """Words of no training sentence have the meaning that they have alone."""
    known = taught.extended(vocabulary, encode(list(vocabulary.terms)))
    source = known.similarity(threshold=0.1, exponent=1)
    return space(source, weights * known.weights)


def told(dataset: PairSet, scores: Mapping[str, Values], measures: Sequence[str]) -> dict[str, Any]:
    """Return the figures of all systems, and the first measure's intervals against two of them."""
    figures = {name: measured(dataset, values, measures) for name, values in scores.items()}
    intervals: dict[str, Any] = {}
    for name, own in figures.items():
        for rival in (COSINE, UNTUNED, DENSE):
            if rival in figures and rival != name:
                intervals.setdefault(name, {})[rival] = _interval(own, figures[rival], measures[0])
    systems = {name: dict(own.values) for name, own in figures.items()}
    return {"pairs": len(dataset), "systems": systems, "intervals": intervals}


def _interval(ours: Figures, theirs: Figures, measure: str) -> dict[str, float]:
    a, b = bootstrap([ours.statistics[measure], theirs.statistics[measure]])
    return interval_of(ours.values[measure] - theirs.values[measure], a - b).to_dict()


def page(figures: Mapping[str, Any], seconds: float) -> list[str]:
    """Return the report in Markdown."""
    lines = ["# Sentence similarity: STS Benchmark and Microsoft paraphrases", "", *OUTCOME, ""]
    for name, (parts, measures) in SETS.items():
        chosen, test = (figures[f"{name}, {part}"] for part in parts)
        rows = []
        for system, own in test["systems"].items():
            cells = [f"{chosen['systems'][system][measures[0]]:.3f}"]
            cells += [f"{own[measure]:.3f}" for measure in measures]
            for rival in (COSINE, UNTUNED):
                found = test["intervals"].get(system, {}).get(rival)
                cells.append(
                    "{difference:+.3f} [{low:+.3f}, {high:+.3f}]".format(**found) if found else ""
                )
            bold = f"**{system}**" if system in (STATIC, MEAN, TAUGHT) else system
            rows.append((bold, *cells))
        first = measures[0]
        columns = (
            "system", f"{first}, {parts[0]}", *(f"{measure}, test" for measure in measures),
            f"{first} − cosine", f"{first} − untuned",
        )  # fmt: skip
        title = {"stsb": "STS Benchmark", "msrp": "Microsoft paraphrases"}[name]
        lines += [f"## {title} ({test['pairs']:,} test pairs)", "", *markdown(columns, rows), ""]
    return [
        *lines,
        *RECIPE,
        "",
        "## What was tried",
        "",
        "Pearson's correlation on the training and development parts of the STS Benchmark; the",
        "test part was not looked at.",
        "",
        *markdown(("what", "train", "dev"), ATTEMPTS),
        "",
        "## What the figures say",
        "",
        *(f"- {line}" for line in HINDRANCES),
        "",
        f"Made by `python studies/sentences.py` in {seconds / 60:.0f} minutes; all figures are in",
        "[sentences.json](sentences.json).",
    ]


RECIPE = (
    "In brackets: 95 % paired bootstrap intervals over the test pairs.",
    "",
    "## The systems",
    "",
    "- All bold ones weigh a word by 0.002 / (0.002 + p), p being its share of all words, the mean",
    "  of news, forum posts and training sentences; no score that people gave is learned from.",
    f"- **{STATIC}**: cosines of static vectors from 0.2 on, to the power of 1.5.",
    f"- **{MEAN}**: the mean of that and of how well each word is",
    "  matched in the other sentence (`softcosine.lab.text_pairs.alignment`), by the same S.",
    f"- **{TAUGHT}**: the encoder reads the training sentences once and each word by",
    "  itself; ridge regression finds the terms' vectors whose sums come nearest to what it said",
    "  (`softcosine.lab.TaughtVectors`). S holds their cosines from 0.1 on; a term weighs the",
    "  above times the length of its vector. No test sentence meets the encoder, but its words do.",
    f"- {DENSE} encodes every sentence; it was trained on pairs of sentences.",
    "- The untuned systems are what the package does where nothing is said.",
)


def main(arguments: Sequence[str] | None = None) -> None:
    """Run the study."""
    parser = argument_parser(__doc__)
    parser.add_argument("--without-encoder", action="store_true")
    parser.add_argument("--without-test", action="store_true", help="leave the test parts alone")
    given = read_arguments(parser, arguments)
    folder = given.data
    report = Clock()

    encode = None if given.without_encoder else minilm(report)
    known = language(folder, encode, report)
    figures: dict[str, Any] = {}
    for name, (parts, measures) in SETS.items():
        for part in parts[:1] if given.without_test else parts:
            report(f"{name}, {part}")
            dataset = _read(folder, name, part)
            vectors = folder / "vectors" / "potion_base_4m_int8.npz"
            scores = scores_of(dataset, known, vectors, encode)
            figures[f"{name}, {part}"] = told(dataset, scores, measures)
    seconds = report.seconds
    if given.without_test:
        print(json.dumps(figures, indent=1))
        return
    attempts = [{"what": what, "train": train, "dev": dev} for what, train, dev in ATTEMPTS]
    lines = page(figures, seconds)
    full = {**figures, "attempts": attempts, "hindrances": HINDRANCES, "seconds": round(seconds)}
    write("sentences", given, lines, full)


if __name__ == "__main__":
    main()
