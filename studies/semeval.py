"""Study 1: which known questions ask the same as a new one (SemEval-2016 Task 3 B).

Ten candidates of a search engine are put in order for each question. Everything is chosen on the
317 questions of the training and development parts; the 70 of the 2016 test are only scored.

    python studies/semeval.py [--data FOLDER] [--json] [--out FOLDER] [--without-encoder]

The encoder is all-MiniLM-L6-v2. It is asked for every post of the forum and for every word, once;
what it gave is kept among the user's data, so that a second run takes minutes. Without it
(``pip install ./packages/softcosine-minilm '.[encoder]'``) only the other systems are run.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

import softcosine as sc
from question_attempts import ATTEMPTS, HINDRANCES, OUTCOME
from question_pairs import KNOWN, Encode, Questions, Space, taught_by
from softcosine.evaluate.significance import paired_bootstrap
from softcosine.evaluate.systems import from_spec
from softcosine.lab.text_pairs.grouped_precision import folds_of
from softcosine.lab.text_pairs.reranker import PairReranker
from softcosine.similarity.embeddings.composed_vectors import ComposedVectors
from softcosine.similarity.embeddings.word_pieces import WordPieces
from study import Clock, Report, argument_parser, markdown, minilm, read_arguments, write

Values = NDArray[np.float64]
Features = dict[tuple[str, str, str], Values]

TEST = "test2016"
CHOSEN = "train and dev"
COSINE = "cosine"
UNTUNED = "soft cosine, untuned"
ENGINE = "the search engine's order"
DENSE = "all-MiniLM-L6-v2"
UNSUPERVISED = "soft cosine, taught"
JOINED = "soft cosine, taught + static"
SUPERVISED = "learned from soft cosines"

BASELINES = {
    COSINE: "cosine",
    "BM25 (1.2, 0.75)": "bm25:k1=1.2,b=0.75",
    "LSI, 200 dimensions": "lsi:n_components=200",
    "mean of word vectors": "mean_vector",
    "relaxed word mover": "rwmd",
    UNTUNED: "soft_cosine",
    "soft BM25, untuned": "soft:ranking=soft_bm25,encoder=none",
}
ASKED = {"subject": ("subject",), "body": ("body",), "whole": ("subject", "body")}
FOLDS = 10


def spaces(
    questions: Questions, vectors: Path, encode: Encode | None, report: Report
) -> dict[str, Space]:
    """Return the soft vector spaces that questions are compared in."""
    whole = [*questions.asked_texts("subject", "body"), *questions.known_texts("subject", "body")]
    vocabulary = sc.analyze(sorted(set(whole))).vocabulary
    posts = sc.analyze([*questions.forum, *questions.dataset.queries.texts]).vocabulary
    places = posts.indices(vocabulary.terms)
    assert posts.document_frequencies is not None
    frequencies = np.where(places >= 0, posts.document_frequencies[places], 0)
    ones = np.ones(len(vocabulary))

    def space(source: Any, limit: int, tf: str = "log", weights: Values = ones) -> Space:
        S = sc.TermSimilarityMatrix.identity(vocabulary)
        if source is not None:
            S = sc.TermSimilarityMatrix.from_source(
                source, vocabulary, max_neighbors=limit, warn=False
            )
        assert posts.n_docs is not None
        return Space(S, sc.Weighting(tf=tf, idf="bm25"), frequencies, posts.n_docs, weights)

    english = sc.EmbeddingSimilarity.english(threshold=0.3, exponent=2)
    made = {"equal": space(None, 0), "english": space(english, 100)}
    if vectors.is_file():
        table = np.load(vectors)
        pieces = ComposedVectors(WordPieces(table["tokens"].tolist()), table["q"])
        static = sc.EmbeddingSimilarity.of_table(pieces, threshold=0.3, exponent=2)
        made["static"] = space(static, 100)
    if encode is not None:
        terms = np.asarray(encode(list(vocabulary.terms)), np.float64)
        terms -= terms.mean(axis=0)
        words = sc.EmbeddingSimilarity(list(vocabulary.terms), terms, threshold=0.25, exponent=2)
        made["words"] = space(words, 100)
        report("learning the terms' vectors")
        taught = taught_by(questions, vocabulary, encode, penalty=0.3)
        weights = taught.weights
        source = taught.similarity(threshold=0.2, exponent=1)
        made["taught"] = space(source, 1000, "raw", weights)
        made["taught, unweighted"] = space(source, 1000, "raw")
    return made


def features(questions: Questions, made: Mapping[str, Space], report: Report) -> Features:
    """Return the soft cosine of every pair in every space, field by field."""
    found: Features = {}
    for name, space in made.items():
        report(f"comparing questions: {name}")
        for (left, own), (right, other) in product(ASKED.items(), KNOWN.items()):
            found[name, left, right] = space.cosines(
                questions.asked_texts(*own), questions.known_texts(*other)
            )
    return found


def whole(found: Features, *names: str) -> Values:
    """Return the mean soft cosine of whole questions, the known one's subject once and twice."""
    readings = ("whole", "subject twice")
    return np.asarray(np.mean([found[name, "whole", r] for name in names for r in readings], 0))


def learned(questions: Questions, found: Features, names: Sequence[str], report: Report) -> Values:
    """Return scores by weights of features that other questions' labels taught.

    The test part is scored by what all others teach, each other question by what is learned from
    nine tenths of them without it.
    """
    columns = [values for key, values in found.items() if key[0] in names]
    X = np.column_stack([*columns, 1.0 / questions.rank, np.log(questions.rank)])
    y, groups = questions.relevant, questions.asked
    tested = (questions.splits == TEST)[groups]
    train = np.flatnonzero(~tested)
    scores = np.zeros(len(groups))
    for others, own in folds_of(groups[train], FOLDS, 0):
        rows = train[others]
        model = PairReranker(random_state=1).fit(X[rows], y[rows], groups[rows])
        scores[train[own]] = model.decision_function(X[train[own]])
        report(f"learning: C = {model.C_:g}")
    if tested.any():
        model = PairReranker(random_state=1).fit(X[train], y[train], groups[train])
        scores[tested] = model.decision_function(X[tested])
    return scores


def all_scores(
    questions: Questions, vectors: Path, encode: Encode | None, report: Report
) -> dict[str, Values]:
    """Return the score of every pair by every system."""
    scores = {ENGINE: -questions.rank}
    for name, spec in BASELINES.items():
        report(name)
        fitted = from_spec(spec).fit(questions.dataset.documents, background=questions.forum)
        scores[name] = questions.scores_of(fitted)
    made = spaces(questions, vectors, encode, report)
    found = features(questions, made, report)
    scores["soft cosine, english"] = found["english", "whole", "whole"]
    if "static" in made:
        scores["soft cosine, static"] = found["static", "whole", "whole"]
    if encode is not None:
        asked, known = (
            encode(documents.texts)
            for documents in (questions.dataset.queries, questions.dataset.documents)
        )
        scores[DENSE] = np.einsum("ij,ij->i", asked[questions.asked], known[questions.known])
        scores["soft cosine, encoded words"] = found["words", "whole", "whole"]
        scores["soft cosine, taught, unweighted"] = whole(found, "taught, unweighted")
        scores[UNSUPERVISED] = whole(found, "taught")
        if "static" in made:
            scores[JOINED] = whole(found, "taught", "static")
    names = [name for name in ("equal", "english", "static", "words", "taught") if name in made]
    if encode is not None and "static" in made:
        names.remove("english")
    scores[SUPERVISED] = learned(questions, found, names, report)
    return scores


def told(questions: Questions, scores: Mapping[str, Values]) -> dict[str, Any]:
    """Return the figures of all systems, and their paired intervals against cosine."""
    chosen = questions.splits != TEST
    precisions = {name: questions.precisions(values) for name, values in scores.items()}
    systems: dict[str, dict[str, float]] = {}
    intervals: dict[str, dict[str, dict[str, dict[str, float]]]] = {}
    for name, values in precisions.items():
        systems[name] = {f"map, {CHOSEN}": float(values[chosen].mean())}
        for part in questions.dataset.split_names:
            systems[name][f"map, {part}"] = float(values[questions.splits == part].mean())
        for rival in (COSINE, UNTUNED, DENSE):
            if rival not in precisions or rival == name:
                continue
            for part, rows in ((CHOSEN, chosen), (TEST, ~chosen)):
                if rows.any():
                    found = paired_bootstrap(values[rows], precisions[rival][rows])
                    own = intervals.setdefault(part, {}).setdefault(name, {})
                    own[rival] = found.to_dict()
    return {
        "systems": systems,
        "intervals": intervals,
        "average precision of every question": {
            "questions": list(questions.dataset.queries.ids),
            **{name: np.round(values, 4).tolist() for name, values in precisions.items()},
        },
    }


def page(figures: Mapping[str, Any], seconds: float) -> list[str]:
    """Return the report in Markdown."""
    systems, intervals = figures["systems"], figures["intervals"]

    def against(name: str, rival: str, part: str) -> str:
        found = intervals.get(part, {}).get(name, {}).get(rival)
        if found is None:
            return ""
        return "{difference:+.1f} [{low:+.1f}, {high:+.1f}]".format(
            **{key: 100 * value for key, value in found.items()}
        )

    rows = [
        (
            f"**{name}**" if name in (UNSUPERVISED, JOINED, SUPERVISED) else name,
            f"{100 * own[f'map, {CHOSEN}']:.1f}",
            against(name, COSINE, CHOSEN),
            f"{100 * own.get(f'map, {TEST}', float('nan')):.1f}",
            against(name, COSINE, TEST),
            against(name, UNTUNED, TEST),
            against(name, DENSE, TEST),
        )
        for name, own in systems.items()
    ]
    columns = (
        "system", CHOSEN, "− cosine", "test 2016", "− cosine", "− untuned", f"− {DENSE}"
    )  # fmt: skip
    return [
        "# Question ranking: SemEval-2016 Task 3 B",
        "",
        "Ten known questions are put in order for each new one, by how far they ask the same. Mean",
        "average precision, times 100, over all questions (0 where no candidate is relevant, so",
        "that 100 cannot be reached: 88.6 is the most on train and dev). In brackets: 95 % paired",
        "bootstrap intervals over the questions.",
        "",
        *markdown(columns, rows),
        "",
        *OUTCOME,
        "",
        "Published on the same test: search engine 74.75, winner 76.70, best soft cosine 77.41",
        "(unsupervised) and 78.52 (mean over ten folds).",
        "",
        *RECIPE,
        "",
        "## What was tried",
        "",
        "Mean average precision on train and dev; the test part was not looked at.",
        "",
        *markdown(("what", "train and dev"), ATTEMPTS),
        "",
        "## What stands in the way",
        "",
        *(f"- {line}" for line in HINDRANCES),
        "",
        f"Made by `python studies/semeval.py` in {seconds / 60:.0f} minutes; encoding 60,000 texts",
        "and words, if that was not done before, takes longer than all the rest. Every question's",
        "figures are in [semeval.json](semeval.json).",
    ]


RECIPE = (
    "## The systems",
    "",
    f"- **{UNSUPERVISED}**: the encoder reads every known question and every post of the forum",
    "  once, and every word by itself. Ridge regression finds the terms' vectors whose sums come",
    "  nearest to what it said (`softcosine.lab.TaughtVectors`). S holds their cosines from 0.2",
    "  on, not raised to a power; a term weighs tf · idf · the length of its vector. The score is",
    "  the mean of two soft cosines: the known question's subject counted once, and twice. No",
    "  question that is asked meets the encoder, but for words that nobody used before.",
    f"- **{JOINED}**: the mean of that and of soft cosines by static vectors.",
    f"- **{SUPERVISED}**: `softcosine.lab.text_pairs.reranker.PairReranker`, a logistic",
    "  regression on soft cosines in four spaces (equal words, static vectors, encoded words,",
    "  taught vectors), field by field, and on the search engine's rank; its strength by",
    "  cross-validation over questions. On train and dev its figure is cross-validated too.",
    f"- {DENSE} encodes every question, those asked too. The untuned systems are what the",
    "  package does where nothing is said.",
    "",
    f"{UNSUPERVISED} and {SUPERVISED} were chosen by train and dev;",
    f"{JOINED} was set down beside them, as the more cautious reading, before",
    "any of the three was scored on the test. What others had there was known by then: the figures",
    "published, the encoder's, and those of a first try of static vectors.",
)


def main(arguments: Sequence[str] | None = None) -> None:
    """Run the study."""
    parser = argument_parser(__doc__)
    parser.add_argument("--without-encoder", action="store_true")
    parser.add_argument("--parts", default="", help="only these parts, for a quick look")
    given = read_arguments(parser, arguments)
    folder = given.data
    report = Clock()

    questions = Questions.read(folder / "semeval", only=[p for p in given.parts.split(",") if p])
    encode = None if given.without_encoder else minilm(report)
    vectors = folder / "vectors" / "potion_base_4m_int8.npz"
    figures = told(questions, all_scores(questions, vectors, encode, report))
    seconds = report.seconds
    lines = page(figures, seconds)
    attempts = [{"what": what, "map, train and dev": value} for what, value in ATTEMPTS]
    full = {**figures, "attempts": attempts, "hindrances": HINDRANCES, "seconds": round(seconds)}
    write("semeval", given, lines, full)


if __name__ == "__main__":
    main()
