"""Evaluation measures by name, computed by ir-measures or here.

In rankings, every judged query has the same weight; a query without a relevant document or without
results counts 0. ir-measures gets ranks instead of scores, because trec_eval orders equal scores
by id, and binary judgements. nDCG needs gains and is computed here, because trec_eval accepts only
whole numbers and uses memory in proportion to the largest gain (0.8 GB for a gain of 10^8).

========================  ==========================================================
rankings                  map, ndcg, p, recall, mrr, success, rprec, bpref, judged,
                          with or without a cutoff: ndcg@10, p@10, recall@100, mrr@10;
                          ndcg uses gains as they are, ndcg_exp uses 2^gain - 1
labels of documents       error (lower is better), accuracy, macro_f1
pairs with a score        pearson, spearman
pairs with a label        auc, average_precision, and accuracy and f1 of the label 1 with
                          a score threshold, chosen for each of ten folds by the
                          accuracy on the other nine
========================  ==========================================================
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import singledispatch
from typing import Any

import numpy as np
from numpy.typing import NDArray

from softcosine.errors import InvalidInputError, MissingDependencyError
from softcosine.evaluate.datasets.classification import ClassificationSet
from softcosine.evaluate.datasets.grades import NOT_JUDGED
from softcosine.evaluate.datasets.pairs import PairSet
from softcosine.evaluate.datasets.ranking import RankingSet
from softcosine.evaluate.neighbors import Predictions
from softcosine.evaluate.runs import Run
from softcosine.evaluate.statistics import (
    AreaUnderCurve,
    AveragePrecision,
    Correlation,
    MacroF1,
    Mean,
    RankCorrelation,
    Ratio,
    Statistic,
)

# Output of a system on a ranking set, a classification set, a set of pairs.
Answers = Run | Predictions | NDArray[np.float64]

_LOWER = ("error",)
_NAME = re.compile(r"(?P<base>[a-z_0-9]+?)(@(?P<cutoff>[1-9][0-9]*))?")
# Name here; name in ir-measures; whether a cutoff must, may or cannot follow.
_RANKED = {
    "map": ("AP", "may"),
    "p": ("P", "must"),
    "recall": ("R", "must"),
    "mrr": ("RR", "may"),
    "success": ("Success", "must"),
    "rprec": ("Rprec", "cannot"),
    "bpref": ("Bpref", "cannot"),
    "judged": ("Judged", "must"),
}
# Numerator of a gain: the gain, or 2^gain - 1. Both are divided by a power of 2 that depends on
# the largest gain, so that neither overflows.
_GAINED: dict[str, Callable[[float, float], float]] = {
    "ndcg": lambda gain, greatest: math.ldexp(gain, -math.frexp(greatest)[1]),
    "ndcg_exp": lambda gain, greatest: (
        -math.expm1(-gain * math.log(2.0)) * 2.0 ** (gain - greatest)
    ),
}
_CUTOFFS = {**dict.fromkeys(_GAINED, "may"), **{base: may for base, (_, may) in _RANKED.items()}}


@dataclass(frozen=True, slots=True)
class Figures:
    """Values of the measures of one system on one data set.

    Attributes
    ----------
    values : dict of str to float
        The value of each measure.
    statistics : dict of str to Statistic
        The statistic behind each value, for the bootstrap.
    units : tuple of str
        Ids of the queries or documents, or numbers of the pairs, that are averaged over.
    per_unit : dict of str to ndarray of shape (n_units,)
        For measures that are means: the value of every unit, in the order of `units`.
    per_split : dict of str to ndarray of shape (n_splits,)
        For a data set with several splits: the value on each.
    """

    values: Mapping[str, float]
    statistics: Mapping[str, Statistic]
    units: tuple[str, ...]
    per_unit: Mapping[str, NDArray[np.float64]]
    per_split: Mapping[str, NDArray[np.float64]]


def lower_is_better(measure: str) -> bool:
    """Whether a lower value of a measure is better."""
    return measure in _LOWER


@singledispatch
def default_measures(dataset: Any) -> tuple[str, ...]:
    """Return the names of the default measures of a data set."""
    raise _unknown_set(dataset)


@default_measures.register
def _(dataset: RankingSet) -> tuple[str, ...]:
    if dataset.candidates is not None:
        return "map", "mrr", "ndcg@10"
    return "ndcg@10", "map", "p@10", "recall@100", "mrr"


@default_measures.register
def _(dataset: ClassificationSet) -> tuple[str, ...]:
    return "error", "macro_f1"


@default_measures.register
def _(dataset: PairSet) -> tuple[str, ...]:
    return ("auc", "average_precision") if dataset.binary else ("pearson", "spearman")


def check_measures(dataset: Any, measures: Sequence[str] | None) -> tuple[str, ...]:
    """Return the names of the measures, or the default ones; raises like `measured`."""
    names = default_measures(dataset) if measures is None else measures
    return _checked(names, dataset, _table_of(dataset))


@singledispatch
def measured(dataset: Any, answers: Any, measures: Sequence[str] | None = None) -> Figures:
    """Return the measures of the output of a system.

    Parameters
    ----------
    dataset : RankingSet, ClassificationSet or PairSet
    answers : Run, Predictions or ndarray of shape (n_pairs,)
        Output for that kind of data set; see `run_of`, `classified`, and ``paired`` of a fitted
        system.
    measures : sequence of str, optional
        Names in upper or lower case; default: `default_measures`.

    Raises
    ------
    InvalidInputError
        If a measure is unknown, or is not defined for this kind of data set.
    MissingDependencyError
        If ir-measures is needed and not installed.
    """
    raise _unknown_set(dataset)


@measured.register
def _(dataset: RankingSet, answers: Run, measures: Sequence[str] | None = None) -> Figures:
    names = check_measures(dataset, measures)
    ids = dataset.judged.ids
    gained = [name for name in names if _parsed(name)[0] in _GAINED]
    values = _by_ir_measures(dataset, answers, [name for name in names if name not in gained])
    for name in gained:
        base, cutoff = _parsed(name)
        values[name] = {
            id: _ndcg(answers.rankings.get(id, ()), dataset.qrels[id], _GAINED[base], cutoff)
            for id in ids
        }
    statistics = {name: Mean(np.array([values[name].get(id, 0.0) for id in ids])) for name in names}
    return _figures(statistics, ids)


@measured.register
def _(
    dataset: ClassificationSet, answers: Predictions, measures: Sequence[str] | None = None
) -> Figures:
    names = check_measures(dataset, measures)
    tested = np.unique(np.concatenate([split.test for split in dataset.splits]))
    splits = _splits_of(dataset, answers, tested)
    n, n_classes = len(tested), len(dataset.classes)
    per_split = {
        name: np.array([_value(_LABELED[name](n, n_classes, [split])) for split in splits])
        for name in names
    }
    return _figures(
        {name: _LABELED[name](n, n_classes, splits) for name in names},
        tuple(dataset.documents.ids[number] for number in tested),
        per_split if len(splits) > 1 else {},
    )


@measured.register
def _(dataset: PairSet, answers: np.ndarray, measures: Sequence[str] | None = None) -> Figures:
    names, table = check_measures(dataset, measures), _SCORED | _BINARY
    scores = np.asarray(answers, np.float64)
    if scores.shape != dataset.scores.shape or not np.isfinite(scores).all():
        raise InvalidInputError(
            f"scores of shape {scores.shape} were given for {len(dataset)} pairs of "
            f"{dataset.name}; one finite number for each was needed."
        )
    units = tuple(str(position + 1) for position in range(len(dataset)))
    return _figures({name: table[name](scores, dataset.scores) for name in names}, units)


def _figures(
    statistics: Mapping[str, Statistic],
    units: tuple[str, ...],
    per_split: Mapping[str, NDArray[np.float64]] | None = None,
) -> Figures:
    means = {name: found.values for name, found in statistics.items() if isinstance(found, Mean)}
    values = {name: _value(found) for name, found in statistics.items()}
    return Figures(values, statistics, units, means, per_split or {})


def _value(statistic: Statistic) -> float:
    """Return the value on the sample itself, where each unit is drawn once."""
    return float(statistic.resampled(np.ones((1, statistic.n_units)))[0])


# ---------------------------------------------------------------- rankings


def _by_ir_measures(
    dataset: RankingSet, run: Run, names: Sequence[str]
) -> dict[str, dict[str, float]]:
    """Return the values of ir-measures for each measure and query."""
    ir_measures = _ir_measures()
    parsed = {ir_measures.parse_measure(_in_ir_measures(name)): name for name in names}
    ranked = {
        query: {id: float(len(ids) - place) for place, id in enumerate(ids)}
        for query in dataset.qrels
        if (ids := run.rankings.get(query))
    }
    relevant = {
        query: {id: int(gain > 0) for id, gain in judged.items() if gain != NOT_JUDGED}
        for query, judged in dataset.qrels.items()
    }
    values: dict[str, dict[str, float]] = {name: {} for name in names}
    if ranked and parsed:  # otherwise every value is 0
        for metric in ir_measures.iter_calc(list(parsed), relevant, ranked):
            values[parsed[metric.measure]][metric.query_id] = float(metric.value)
    return values


def _ndcg(
    ids: Sequence[str],
    gains: Mapping[str, float],
    gained: Callable[[float, float], float],
    cutoff: int | None,
) -> float:
    """Return the normalised discounted cumulative gain of a ranking.

    The gain at rank r is divided by log2(r + 1), as in trec_eval (Järvelin and Kekäläinen 2002).
    """
    greatest = max(gains.values(), default=0.0)
    if greatest <= 0.0:
        return 0.0
    values = {id: gained(gain, greatest) for id, gain in gains.items() if gain > 0.0}
    found = [values.get(id, 0.0) for id in ids[:cutoff]]
    best = sorted(values.values(), reverse=True)[:cutoff]
    return _discounted(found) / _discounted(best)


def _discounted(values: Iterable[float]) -> float:
    return sum(value / math.log2(rank + 1) for rank, value in enumerate(values, 1))


def _ir_measures() -> Any:
    try:
        import ir_measures
    except ImportError as error:
        raise MissingDependencyError("ir-measures", "evaluate", "measuring rankings") from error
    return ir_measures


def _in_ir_measures(name: str) -> str:
    base, cutoff = _parsed(name)
    return _RANKED[base][0] + (f"@{cutoff}" if cutoff else "")


def _parsed(name: str) -> tuple[str, int | None]:
    """Return the measure and the cutoff of a checked name."""
    found = _NAME.fullmatch(name)
    assert found is not None
    return found["base"], int(found["cutoff"]) if found["cutoff"] else None


def _known_ranked(name: str) -> bool:
    found = _NAME.fullmatch(name)
    if found is None or found["base"] not in _CUTOFFS:
        return False
    cutoff = _CUTOFFS[found["base"]]
    return cutoff == "may" or (cutoff == "must") == (found["cutoff"] is not None)


# ---------------------------------------------------------------- labels

_Split = tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int64]]


def _splits_of(
    dataset: ClassificationSet, answers: Predictions, tested: NDArray[np.int64]
) -> list[_Split]:
    """Return for every split the positions of its documents in `tested`, and their labels."""
    if len(answers.labels) != len(dataset.splits):
        raise InvalidInputError(
            f"predictions of {len(answers.labels)} splits were given; {dataset.name} has "
            f"{len(dataset.splits)}."
        )
    labels = dataset.label_numbers
    return [
        (np.searchsorted(tested, split.test), labels[split.test], predicted)
        for split, predicted in zip(dataset.splits, answers.labels, strict=True)
    ]


def _shares(n_units: int, splits: Sequence[_Split], wrong: bool) -> Statistic:
    """Return the share of wrong, or of right, labels over all splits."""
    counted, tested = np.zeros(n_units), np.zeros(n_units)
    for units, labels, predicted in splits:
        counted[units] += (labels != predicted) if wrong else (labels == predicted)
        tested[units] += 1.0
    return Mean(counted) if (tested == 1.0).all() else Ratio(counted, tested)


_LABELED: dict[str, Callable[[int, int, Sequence[_Split]], Statistic]] = {
    "error": lambda n_units, _, splits: _shares(n_units, splits, wrong=True),
    "accuracy": lambda n_units, _, splits: _shares(n_units, splits, wrong=False),
    "macro_f1": MacroF1,
}

# ---------------------------------------------------------------- pairs

_Pairs = Callable[[NDArray[np.float64], NDArray[np.float64]], Statistic]


_SCORED: dict[str, _Pairs] = {"pearson": Correlation, "spearman": RankCorrelation}


N_FOLDS = 10


def decided(
    scores: NDArray[np.float64],
    labels: NDArray[np.bool_],
    *,
    n_folds: int = N_FOLDS,
    random_state: int = 0,
) -> NDArray[np.bool_]:
    """Return the predicted label of every pair, shape (n_pairs,).

    The threshold for the pairs of a fold is chosen on the other folds.

    Parameters
    ----------
    scores : ndarray of shape (n_pairs,)
    labels : ndarray of shape (n_pairs,), bool
    n_folds : int
    random_state : int
        Seed of the folds.
    """
    n = scores.shape[0]
    folds = np.empty(n, np.int64)
    folds[np.random.default_rng(random_state).permutation(n)] = np.arange(n) % min(n_folds, n)
    said = np.empty(n, np.bool_)
    for fold in range(int(folds.max()) + 1):
        own = folds == fold
        said[own] = scores[own] >= best_threshold(scores[~own], labels[~own])
    return said


def best_threshold(scores: NDArray[np.float64], labels: NDArray[np.bool_]) -> float:
    """Return the score threshold with the fewest errors; the highest one of equally good ones.

    It lies midway between two scores, or above or below all of them.

    Examples
    --------
    >>> best_threshold(np.array([0.1, 0.4, 0.9]), np.array([False, False, True]))
    0.65
    """
    order = np.argsort(scores, kind="stable")
    ascending, truth = scores[order], labels[order]
    # Errors if the first i pairs are rejected and the others accepted.
    errors = np.concatenate([[0], np.cumsum(truth)]) + (
        np.sum(~truth) - np.concatenate([[0], np.cumsum(~truth)])
    )
    ends = np.concatenate([[-np.inf], ascending, [np.inf]])
    between = ends[1:] > ends[:-1]  # no threshold separates equal scores
    errors = np.where(between, errors, errors.max() + 1)
    place = int(errors.shape[0] - 1 - np.argmin(errors[::-1]))
    low, high = float(ends[place]), float(ends[place + 1])
    return 0.5 * (low + high) if np.isfinite(low) and np.isfinite(high) else (
        high if np.isfinite(high) else np.inf
    )  # fmt: skip


def _right(scores: NDArray[np.float64], labels: NDArray[np.float64]) -> Statistic:
    said = decided(scores, labels == 1.0)
    return Mean((said == (labels == 1.0)).astype(np.float64))


def _f1(scores: NDArray[np.float64], labels: NDArray[np.float64]) -> Statistic:
    said, truth = decided(scores, labels == 1.0), labels == 1.0
    return Ratio(2.0 * (said & truth), said.astype(np.float64) + truth)


_BINARY: dict[str, _Pairs] = {
    "auc": lambda scores, labels: AreaUnderCurve(scores, labels == 1.0),
    "average_precision": lambda scores, labels: AveragePrecision(scores, labels == 1.0),
    "accuracy": _right,
    "f1": _f1,
}


@singledispatch
def _table_of(dataset: Any) -> Mapping[str, Any] | None:
    """Return the measures of a kind of data set; None for measures with cutoffs."""
    raise _unknown_set(dataset)


@_table_of.register
def _(dataset: RankingSet) -> None:
    _ir_measures()  # raises before any work if it is missing


@_table_of.register
def _(dataset: ClassificationSet) -> Mapping[str, Any]:
    return _LABELED


@_table_of.register
def _(dataset: PairSet) -> Mapping[str, Any]:
    return {**_SCORED, **(_BINARY if dataset.binary else {})}


def _checked(
    measures: Sequence[str], dataset: Any, table: Mapping[str, Any] | None
) -> tuple[str, ...]:
    given = (measures,) if isinstance(measures, str) else measures
    names = tuple(dict.fromkeys(name.lower() for name in given))
    if not names:
        raise InvalidInputError("no measure was named; leave it out for the usual ones.")
    for name in names:
        if not (_known_ranked(name) if table is None else name in table):
            known = list(table) if table is not None else [
                base + {"must": "@K", "may": "[@K]", "cannot": ""}[cutoff]
                for base, cutoff in _CUTOFFS.items()
            ]  # fmt: skip
            raise InvalidInputError(
                f"there is no measure {name!r} for {dataset.name}; choose of {', '.join(known)}."
            )
    return names


def _unknown_set(dataset: Any) -> InvalidInputError:
    return InvalidInputError(
        f"the data set is of type {type(dataset).__name__}; pass what "
        "softcosine.evaluate.datasets.load gives."
    )
