"""What several measures together bring to ranking pairs, and soft cardinality to sentences."""

from __future__ import annotations

import gzip
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

import softcosine as sc
from softcosine.evaluate.datasets import load
from softcosine.evaluate.datasets.pairs import PairSet
from softcosine.evaluate.significance import paired_bootstrap
from softcosine.lab.text_pairs.grouped_precision import folds_of, mean_average_precision
from softcosine.lab.text_pairs.pair_features import PairFeatures
from softcosine.lab.text_pairs.pair_measures import PairMeasure, TextPair
from softcosine.lab.text_pairs.reranker import PairReranker

__all__ = ["questions_part", "sentences_part"]

Report = Callable[[str], object]
Values = NDArray[np.float64]

_FOLDS, _BACKGROUND = 10, 10_000
EXPONENTS = (1.0, 2.0, 4.0)


def questions_part(folder: Path, report: Report) -> list[dict[str, Any]]:
    """Rank forum questions: each measure alone, and the models, by folds over questions.

    The questions of train and dev alone are read.
    """
    pairs, wanted, groups = _questions(folder / "semeval" / "question_pairs.jsonl.gz")
    with gzip.open(folder / "semeval" / "forum_text.txt.gz", "rt", encoding="utf-8") as lines:
        background = [line for line, _ in zip(lines, range(_BACKGROUND), strict=False)]
    report("questions: features")
    features = PairFeatures(_measures(), numbers=["search engine"], background=background)
    table = features.fit_transform(pairs)
    names = [str(name) for name in features.get_feature_names_out()]
    found = {
        f"{name} alone": _precisions(column, wanted, groups)
        for name, column in zip(names, table.T, strict=True)
    }
    for model in ("logistic", "svm"):
        report(f"questions: {model}")
        scores = np.zeros(len(wanted))
        for train, test in folds_of(groups, _FOLDS, 0):
            reranker = PairReranker(model=model).fit(table[train], wanted[train], groups[train])
            scores[test] = reranker.decision_function(table[test])
        found[f"all, {model}"] = _precisions(scores, wanted, groups)
    rows = []
    best = max((way for way in found if way.endswith("alone")), key=lambda way: found[way].mean())
    for way, values in found.items():
        row: dict[str, Any] = {"ranked by": way, "MAP": round(100.0 * float(values.mean()), 2)}
        for other in ("words alone", best):
            if way.startswith("all"):
                interval = paired_bootstrap(100.0 * values, 100.0 * found[other])
                row[f"against {other}"] = (
                    f"{interval.difference:+.2f} [{interval.low:+.2f}, {interval.high:+.2f}]"
                )
        rows.append(row)
    return rows


def sentences_part(folder: Path, report: Report) -> list[dict[str, Any]]:
    """Correlate measures with judged similarity of sentences; p chosen on the training part."""
    parts = {part: _sentences(folder / "sentences" / f"stsb_{part}.tsv.gz") for part in _PARTS}
    texts = list(zip(parts["train"].left, parts["train"].right, strict=True))
    rows = []
    for way, (measure, exponents) in _WAYS.items():
        report(f"sentences: {way}")
        found = {}
        for p in exponents:
            source = sc.EmbeddingSimilarity.english(exponent=p) if p else None
            features = PairFeatures({way: PairMeasure(measure, source=source)}).fit(texts)
            found[p] = {name: _correlation(features, part) for name, part in parts.items()}
        chosen = max(found, key=lambda p: found[p]["train"])
        rows.append({"measure": way, "p": chosen or None, **found[chosen]})
    return rows


_PARTS = ("train", "dev")
# Exponent 0 stands for S = I.
_WAYS: dict[str, tuple[str, tuple[float, ...]]] = {
    "cosine": ("soft_cosine", (0.0,)),
    "soft cosine": ("soft_cosine", EXPONENTS),
    "best alignments": ("alignment", EXPONENTS),
    "soft cardinality, Jaccard": ("soft_jaccard", EXPONENTS),
    "soft cardinality, Dice": ("soft_dice", EXPONENTS),
    "soft cardinality, cosine": ("soft_set_cosine", EXPONENTS),
}


def _sentences(path: Path) -> PairSet:
    dataset = load(path)
    assert isinstance(dataset, PairSet)
    return dataset


def _correlation(features: PairFeatures, part: PairSet) -> float:
    values = features.transform(list(zip(part.left, part.right, strict=True)))[:, 0]
    return round(float(np.corrcoef(values, part.scores)[0, 1]), 4)


def _questions(path: Path) -> tuple[list[TextPair], NDArray[np.bool_], NDArray[Any]]:
    with gzip.open(path, "rt", encoding="utf-8") as lines:
        rows = [json.loads(line) for line in lines]
    rows = [row for row in rows if not row["split"].startswith("test")]
    pairs: list[TextPair] = [
        (
            {"subject": row["org_subject"], "body": row["org_body"]},
            {"subject": row["rel_subject"], "body": row["rel_body"]},
            {"search engine": 1.0 / row["rank"]},
        )
        for row in rows
    ]
    wanted = np.array([bool(row["relevant"]) for row in rows])
    return pairs, wanted, np.array([f"{row['split']} {row['orgq_id']}" for row in rows])


def _measures() -> dict[str, PairMeasure]:
    english, spelling = sc.EmbeddingSimilarity.english(), sc.EditDistanceSimilarity()
    words = sc.Analyzer(stop_words="english")
    stems = sc.Analyzer("english", stop_words="english")
    return {
        "words": PairMeasure(analyzer=words),
        "stems": PairMeasure(analyzer=stems),
        "word pairs": PairMeasure(analyzer=sc.Analyzer(max_ngram=2)),
        "characters": PairMeasure(characters=(3, 5)),
        "meaning": PairMeasure(source=english, analyzer=words),
        "spelling": PairMeasure(source=spelling, analyzer=words),
        "alignment": PairMeasure("alignment", source=english, analyzer=words),
        "soft Jaccard": PairMeasure("soft_jaccard", source=english, analyzer=words),
        **{
            f"{left} to {right}": PairMeasure(
                "soft_cosine", left, right, source=english, analyzer=words
            )
            for left in ("subject", "body")
            for right in ("subject", "body")
        },
        "lengths": PairMeasure("length_ratio"),
    }


def _precisions(scores: Values, wanted: NDArray[np.bool_], groups: NDArray[Any]) -> Values:
    """Return the average precision of every question; 0 where nothing is wanted."""
    return np.array(
        [
            mean_average_precision(scores[rows], wanted[rows], groups[rows])
            for rows in (groups == name for name in np.unique(groups))
        ]
    )
