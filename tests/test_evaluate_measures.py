"""Measures against their definitions: by hand, by brute force, and by other libraries."""

from __future__ import annotations

import math
import re
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from softcosine.errors import InvalidInputError
from softcosine.evaluate.datasets import (
    ClassificationSet,
    PairSet,
    RankingSet,
    Split,
    load,
    seeded_splits,
)
from softcosine.evaluate.documents import Documents
from softcosine.evaluate.evaluation import evaluate
from softcosine.evaluate.measures import (
    best_threshold,
    decided,
    default_measures,
    lower_is_better,
    measured,
)
from softcosine.evaluate.neighbors import Choice, Predictions
from softcosine.evaluate.runs import Run
from softcosine.sklearn.votes import Voting

QUERIES, DOCUMENTS = "pqr", "abcdef"


def ranking_set(qrels, candidates=None) -> RankingSet:
    return RankingSet(
        "toy",
        Documents.of(DOCUMENTS, DOCUMENTS),
        Documents.of(QUERIES, QUERIES),
        qrels,
        candidates=candidates,
    )


@st.composite
def judged_runs(draw):
    levels = st.integers(-2, 3) | st.sampled_from([0.5, 1e-9, 2.75, 1200.0])
    gains = st.dictionaries(st.sampled_from(DOCUMENTS), levels, min_size=1)
    qrels = draw(st.dictionaries(st.sampled_from(QUERIES), gains, min_size=1))
    qrels["p"] = {**qrels.get("p", {}), "a": 2}  # something is relevant
    order = st.permutations(DOCUMENTS).flatmap(
        lambda ids: st.integers(0, len(ids)).map(lambda n: tuple(ids[:n]))
    )
    return qrels, draw(st.dictionaries(st.sampled_from(QUERIES), order))


def by_definition(name: str, ids, gains) -> float:
    """The measure of one query."""
    base, _, cutoff = name.partition("@")
    k = int(cutoff) if cutoff else len(ids)
    good = [gains.get(id, 0) > 0 for id in ids[:k]]
    n_relevant = sum(gain > 0 for gain in gains.values())
    if base == "map":
        precisions = [sum(good[: i + 1]) / (i + 1) for i, hit in enumerate(good) if hit]
        return sum(precisions) / n_relevant if n_relevant else 0.0
    if base in ("ndcg", "ndcg_exp"):
        # Exact numbers, for 2 ** 1200 is no float.
        worth = {id: Fraction(max(gain, 0)) for id, gain in gains.items()}
        if base == "ndcg_exp":
            worth = {id: power_of_two(gain) - 1 for id, gain in worth.items()}
        shares = [Fraction(1 / math.log2(i + 2)) for i in range(len(DOCUMENTS))]
        dcg = sum(worth.get(id, 0) * share for id, share in zip(ids[:k], shares, strict=False))
        best = sorted(worth.values(), reverse=True)
        best = best[:k] if cutoff else best
        ideal = sum(gain * share for gain, share in zip(best, shares, strict=False))
        return float(dcg / ideal) if ideal else 0.0
    if base == "judged":
        known = [gains.get(id, -1) != -1 for id in ids[:k]]
        return sum(known) / len(known) if known else 0.0
    if base == "mrr":
        return next((1 / (i + 1) for i, hit in enumerate(good) if hit), 0.0)
    if base == "success":
        return float(any(good))
    if base == "bpref":
        gains = {id: gain for id, gain in gains.items() if gain != -1}  # -1 is not judged
        n_wrong, judged, total = sum(gain <= 0 for gain in gains.values()), 0, 0.0
        for id in ids:
            if id in gains and gains[id] <= 0:
                judged += 1
            elif id in gains:
                of = min(n_relevant, n_wrong)
                total += 1 - min(judged, n_relevant) / of if judged else 1.0
        return total / n_relevant if n_relevant else 0.0
    if base == "rprec":
        return sum(good[:n_relevant]) / n_relevant if n_relevant else 0.0
    return sum(good) / (k if base == "p" else n_relevant) if n_relevant else 0.0


NAMES = (
    "map",
    "map@3",
    "ndcg",
    "ndcg@3",
    "ndcg_exp",
    "ndcg_exp@3",
    "p@4",
    "recall@2",
    "mrr",
    "mrr@2",
    "success@1",
    "rprec",
    "bpref",
    "judged@1",
    "judged@4",
)


def power_of_two(exponent: Fraction) -> Fraction:
    """2 to the power of a number, to 17 digits and without an end of floats."""
    whole = math.floor(exponent)
    rest = float(exponent - whole)
    # 2^x - 1 of a small x needs all digits of x.
    return Fraction(2) ** whole * (1 + Fraction(math.expm1(rest * math.log(2.0))))


@given(judged_runs())
def test_measures_of_rankings_are_those_of_their_definitions(case):
    qrels, rankings = case
    dataset = ranking_set(qrels)
    found = measured(dataset, Run(rankings), NAMES)
    assert found.units == tuple(id for id in QUERIES if id in qrels)
    for name in NAMES:
        expected = [by_definition(name, rankings.get(id, ()), qrels[id]) for id in found.units]
        assert found.per_unit[name] == pytest.approx(expected)
        assert found.values[name] == pytest.approx(np.mean(expected))


@given(judged_runs())
def test_ndcg_of_whole_gains_is_that_of_trec_eval(case):
    ir_measures = pytest.importorskip("ir_measures")
    qrels, rankings = case
    qrels = {q: {id: max(int(g), 0) for id, g in own.items()} for q, own in qrels.items()}
    small = {q: {id: min(gain, 9) for id, gain in own.items()} for q, own in qrels.items()}
    run = {q: {id: -float(i) for i, id in enumerate(ids)} for q, ids in rankings.items() if ids}
    powers = {gain: 2**gain - 1 for gain in range(10)}
    theirs = {
        "ndcg": ir_measures.nDCG,
        "ndcg@3": ir_measures.nDCG @ 3,
        "ndcg_exp@3": ir_measures.nDCG(gains=powers) @ 3,
    }
    found = measured(ranking_set(small), Run(rankings), list(theirs))
    for name, measure in theirs.items():
        # One at a time: the measures that it gives back are not always equal to those it got.
        values = dict.fromkeys(small, 0.0)
        for metric in ir_measures.iter_calc([measure], small, run) if run else ():
            values[metric.query_id] = metric.value
        expected = [values[q] for q in found.units]
        assert found.per_unit[name] == pytest.approx(expected, abs=1e-12)


def test_bpref_leaves_out_what_was_not_judged_and_map_counts_it_as_wrong():
    # c is judged and wrong, a was pooled and not judged: both stand before the relevant b.
    for marked in ({"a": -1}, {}):
        dataset = ranking_set({"p": {**marked, "b": 1, "c": 0}})
        names = ["bpref", "map", "judged@2"]
        found = measured(dataset, Run({"p": ("a", "b", "c")}), names).values
        assert found == {"bpref": 1.0, "map": 0.5, "judged@2": 0.5}
    dataset = ranking_set({"p": {"a": 0, "b": 1, "c": 0}})
    assert measured(dataset, Run({"p": ("a", "b", "c")}), ["bpref"]).values == {"bpref": 0.0}


def test_great_gains_cost_no_memory_and_have_no_end():
    dataset = ranking_set({"p": {"a": 1e300, "b": 1}, "q": {"a": 5e-324}})
    rankings = Run({"p": ("b", "a"), "q": ("a",)})
    found = measured(dataset, rankings, ["ndcg", "ndcg_exp", "map"])
    assert found.per_unit["ndcg"] == pytest.approx([1 / math.log2(3), 1.0])
    assert found.per_unit["ndcg_exp"] == pytest.approx([1 / math.log2(3), 1.0])
    assert found.values["map"] == 1.0


def test_exponential_gain_and_judged_have_intervals_of_resampled_queries():
    dataset = ranking_set({"p": {"a": 3, "b": 1}, "q": {"b": 0.5, "c": -1}, "r": {"c": 1}})
    runs = {
        "one": Run({"p": ("b", "a"), "q": ("c", "b"), "r": ("c",)}),
        "two": Run({"p": ("a", "b"), "q": ("b",), "r": ("d", "c")}),
    }
    made = evaluate(dataset, [], runs=runs, measures=["ndcg_exp@2", "judged@2"], n_resamples=500)
    for measure in made.measures:
        draws = np.random.default_rng(0).integers(0, 3, (500, 3))
        values = made.figures["two"].per_unit[measure] - made.figures["one"].per_unit[measure]
        own = made.intervals["two"][measure]
        assert own.difference == pytest.approx(values.mean())
        assert own.low >= values[draws].mean(axis=1).min() - 1e-12
        assert own.high <= values[draws].mean(axis=1).max() + 1e-12
        counts = np.array([[3.0, 0.0, 0.0], [1.0, 1.0, 1.0]])
        again = made.figures["two"].statistics[measure].resampled(counts)
        expected = made.figures["two"].per_unit[measure]
        assert again == pytest.approx([expected[0], expected.mean()])


def test_the_example_of_a_textbook():
    # Relevant at ranks 1, 3 and 6 of three: (1 + 2/3 + 3/6) / 3.
    dataset = ranking_set({"p": {"a": 1, "c": 1, "f": 1}})
    found = measured(dataset, Run({"p": tuple("abcdef")}), ["map", "p@3", "mrr"])
    assert found.values == pytest.approx({"map": 13 / 18, "p@3": 2 / 3, "mrr": 1.0})


def test_a_question_without_a_relevant_document_counts_zero():
    dataset = ranking_set({"p": {"a": 1}, "q": {"a": 0, "b": 0}, "r": {"c": 1}})
    found = measured(dataset, Run({"p": ("a",), "q": ("a", "b"), "r": ()}), ["map"])
    assert found.values["map"] == pytest.approx(1 / 3)


def test_equal_scores_keep_the_order_of_the_run():
    dataset = ranking_set({"p": {"b": 1}})
    for ids in ("ab", "ba"):
        value = measured(dataset, Run({"p": tuple(ids)}), ["mrr"]).values["mrr"]
        assert value == (1.0 if ids[0] == "b" else 0.5)


labels = st.lists(st.sampled_from("xyz"), min_size=4, max_size=20).filter(
    lambda found: len(set(found)) > 1
)


@given(labels, st.integers(0, 9))
def test_measures_of_labels_are_those_of_scikit_learn(found, seed):
    metrics = pytest.importorskip("sklearn.metrics")
    rng = np.random.default_rng(seed)
    n = len(found)
    splits = seeded_splits(n, n_splits=3, train_share=0.5, random_state=seed)
    dataset = ClassificationSet("toy", Documents.of("d" * n), tuple(found), splits)
    truth, n_classes = dataset.label_numbers, len(dataset.classes)
    said = tuple(rng.integers(0, n_classes, len(split.test)) for split in splits)
    got = measured(
        dataset,
        Predictions(said, (Choice(Voting(1, math.inf, 0.0, 0.0), 0.0),) * 3),
        ["error", "accuracy", "macro_f1"],
    )
    of_splits = list(zip(splits, said, strict=True))
    accuracies = [metrics.accuracy_score(truth[split.test], own) for split, own in of_splits]
    assert got.values["accuracy"] == pytest.approx(np.mean(accuracies))
    assert got.values["error"] == pytest.approx(1 - np.mean(accuracies))
    assert got.per_split["accuracy"] == pytest.approx(accuracies)
    f1 = [
        metrics.f1_score(
            truth[split.test], own, average="macro", labels=range(n_classes), zero_division=0
        )
        for split, own in of_splits
    ]
    assert got.values["macro_f1"] == pytest.approx(np.mean(f1))
    assert got.per_split["macro_f1"] == pytest.approx(f1)


numbers = st.integers(-2, 3).map(float)


@given(st.lists(st.tuples(numbers, numbers), min_size=2, max_size=15))
def test_correlations_are_those_of_scipy(rows):
    stats = pytest.importorskip("scipy.stats")
    scores, truth = np.array(rows).T
    if np.unique(truth).shape[0] < 2:
        return
    dataset = PairSet("toy", ("a",) * len(rows), ("b",) * len(rows), truth)
    found = measured(dataset, scores, ["pearson", "spearman"]).values
    if np.unique(scores).shape[0] < 2:
        assert found == {"pearson": 0.0, "spearman": 0.0}
        return
    assert found["pearson"] == pytest.approx(stats.pearsonr(scores, truth)[0], abs=1e-12)
    assert found["spearman"] == pytest.approx(stats.spearmanr(scores, truth)[0], abs=1e-12)


@given(st.lists(st.tuples(numbers, st.booleans()), min_size=2, max_size=15))
def test_measures_of_labelled_pairs_are_those_of_scikit_learn(rows):
    metrics = pytest.importorskip("sklearn.metrics")
    scores = np.array([score for score, _ in rows])
    truth = np.array([float(label) for _, label in rows])
    if np.unique(truth).shape[0] < 2:
        return
    dataset = PairSet("toy", ("a",) * len(rows), ("b",) * len(rows), truth)
    assert default_measures(dataset) == ("auc", "average_precision")
    found = measured(dataset, scores).values
    assert found["auc"] == pytest.approx(metrics.roc_auc_score(truth, scores))
    expected = metrics.average_precision_score(truth, scores)
    assert found["average_precision"] == pytest.approx(expected)


@given(st.lists(st.tuples(numbers, st.booleans()), min_size=1, max_size=12))
def test_the_least_score_of_a_label_errs_least(rows):
    scores = np.array([score for score, _ in rows])
    truth = np.array([label for _, label in rows])
    least = best_threshold(scores, truth)
    errors = {
        float(cut): int(np.sum((scores >= cut) != truth)) for cut in [*scores, np.inf, -np.inf]
    }
    assert np.sum((scores >= least) != truth) == min(errors.values())


def test_decisions_on_a_pair_know_nothing_of_its_label():
    rng = np.random.default_rng(0)
    scores, truth = rng.random(60), rng.random(60) < 0.5
    said = decided(scores, truth)
    for i in range(0, 60, 7):
        other = truth.copy()
        other[i] = not other[i]
        assert decided(scores, other)[i] == said[i]
    dataset = PairSet("toy", ("a",) * 60, ("b",) * 60, truth.astype(float))
    found = measured(dataset, scores, ["accuracy", "f1"]).values
    metrics = pytest.importorskip("sklearn.metrics")
    assert found["accuracy"] == pytest.approx(metrics.accuracy_score(truth, said))
    assert found["f1"] == pytest.approx(metrics.f1_score(truth, said))


@pytest.mark.parametrize(
    ("name", "known"),
    [
        ("nap", "map"),
        ("p", "p@K"),
        ("judged", "judged@K"),
        ("exp@3", "ndcg_exp[@K]"),
        ("ndcg@0", "ndcg"),
        ("rprec@3", "rprec"),
        ("error", "recall@K"),
    ],
)
def test_an_unknown_measure_is_refused_with_those_there_are(name, known):
    with pytest.raises(
        InvalidInputError,
        match=f"no measure '{name}' for toy; choose of.*{re.escape(known)}",
    ):
        measured(ranking_set({"p": {"a": 1}}), Run({}), [name])


def test_a_measure_of_another_kind_of_set_is_refused():
    dataset = PairSet("toy", ("a", "b"), ("c", "d"), np.array([1.0, 2.5]))
    with pytest.raises(InvalidInputError, match="choose of pearson, spearman"):
        measured(dataset, np.zeros(2), ["auc"])
    with pytest.raises(InvalidInputError, match="no measure was named"):
        measured(dataset, np.zeros(2), [])
    with pytest.raises(InvalidInputError, match=r"scores of shape \(3,\) were given for 2 pairs"):
        measured(dataset, np.zeros(3))
    with pytest.raises(InvalidInputError, match="one finite number"):
        measured(dataset, np.array([0.0, np.nan]))
    with pytest.raises(InvalidInputError, match="the data set is of type list"):
        measured([], np.zeros(2))


def test_predictions_of_other_splits_are_refused():
    split = Split(np.array([0]), np.array([1]))
    dataset = ClassificationSet("toy", Documents.of("ab"), ("x", "y"), (split,))
    with pytest.raises(InvalidInputError, match="predictions of 0 splits"):
        measured(dataset, Predictions((), ()))


def test_only_errors_are_better_when_lower():
    assert lower_is_better("error")
    assert not any(map(lower_is_better, ("accuracy", "map", "pearson")))


@pytest.mark.data
def test_the_search_engine_of_semeval_2016_reaches_its_published_map(data):
    # The candidates stand in the engine's order; the task's paper gives 74.75 for it.
    test = load(data / "semeval", split="test2016")
    found = measured(test, Run(test.candidates), ["map"])
    assert len(found.units) == 70
    assert round(100 * found.values["map"], 2) == 74.75
