"""The bootstrap and the randomisation test against loops over every resample."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from softcosine.errors import InvalidInputError
from softcosine.evaluate import significance
from softcosine.evaluate.significance import (
    bootstrap,
    holm,
    interval_of,
    paired_bootstrap,
    paired_bootstrap_of_collections,
    randomization_test,
    resampled_counts,
)
from softcosine.evaluate.statistics import (
    AreaUnderCurve,
    AveragePrecision,
    Correlation,
    MacroF1,
    Mean,
    RankCorrelation,
    Ratio,
)

values = st.integers(-3, 3).map(float)
columns = st.integers(2, 9).flatmap(
    lambda n: st.tuples(*[st.lists(values, min_size=n, max_size=n).map(np.array)] * 2)
)


def repeated(counts, *arrays):
    """What a resample holds, its units written out as often as they were drawn."""
    return [np.repeat(array, counts.astype(int)) for array in arrays]


def resamples(n: int) -> np.ndarray:
    return np.concatenate(list(resampled_counts(n, 40, 3)))


def statistics_of(a, b):
    """Every statistic, and how it is computed from units that are written out."""
    labels = b > 0
    truth, said = np.abs(a).astype(int), np.abs(b).astype(int)
    units = np.arange(len(a))
    return {
        "mean": (Mean(a), lambda a, b: a.mean()),
        "ratio": (
            Ratio(a, np.abs(b)),
            lambda a, b: a.sum() / np.abs(b).sum() if b.any() else 0.0,
        ),
        "pearson": (Correlation(a, b), _pearson),
        "spearman": (RankCorrelation(a, b), lambda a, b: _pearson(_ranks(a), _ranks(b))),
        "auc": (AreaUnderCurve(a, labels), lambda a, b: _auc(a, b > 0)),
        "average precision": (AveragePrecision(a, labels), lambda a, b: _ap(a, b > 0)),
        "macro f1": (
            MacroF1(len(a), 4, [(units, truth, said)]),
            lambda a, b: _f1(np.abs(a).astype(int), np.abs(b).astype(int)),
        ),
    }


def _pearson(a, b):
    if len(set(a)) < 2 or len(set(b)) < 2:
        return 0.0
    return np.corrcoef(a, b)[0, 1]


def _ranks(a):
    return np.array([np.sum(a < x) + (np.sum(a == x) + 1) / 2 for x in a])


def _auc(scores, labels):
    pairs = list(product(scores[labels], scores[~labels]))
    return np.mean([(x > y) + (x == y) / 2 for x, y in pairs]) if pairs else 0.5


def _ap(scores, labels):
    found = [labels[scores >= score].mean() for score in scores[labels]]
    return np.mean(found) if found else 0.0


def _f1(truth, said):
    of_classes = []
    for label in range(4):
        both = np.sum((truth == label) & (said == label))
        total = np.sum(truth == label) + np.sum(said == label)
        of_classes.append(2 * both / total if total else 0.0)
    return np.mean(of_classes)


@given(columns)
def test_a_statistic_of_counts_is_that_of_units_written_out(case):
    a, b = case
    counts = resamples(len(a))
    for name, (statistic, plain) in statistics_of(a, b).items():
        assert statistic.n_units == len(a)
        expected = [plain(*repeated(row, a, b)) for row in counts]
        np.testing.assert_allclose(statistic.resampled(counts), expected, atol=1e-9, err_msg=name)


@given(columns)
def test_the_interval_is_that_of_a_loop_over_the_resamples(case):
    a, b = case
    found = paired_bootstrap(a, b, n_resamples=40, random_state=3)
    differences = [
        np.mean(left) - np.mean(right)
        for left, right in (repeated(row, a, b) for row in resamples(len(a)))
    ]
    assert found.difference == pytest.approx(np.mean(a) - np.mean(b))
    assert (found.low, found.high) == pytest.approx(
        tuple(np.percentile(differences, [2.5, 97.5])), abs=1e-12
    )
    assert 0.0 < found.p <= 1.0


def test_equal_systems_never_differ():
    found = paired_bootstrap([0.1, 0.7, 0.3], [0.1, 0.7, 0.3])
    assert (found.difference, found.low, found.high, found.p) == (0.0, 0.0, 0.0, 1.0)
    assert not found.significant
    assert randomization_test([0.1, 0.7, 0.3], [0.1, 0.7, 0.3]) == 1.0


def test_rounding_is_no_difference():
    found = interval_of(0.0, np.array([1e-17, 3e-16, 0.0, 1e-16]))
    assert (found.low, found.high, found.p) == (0.0, 0.0, 1.0)
    assert not found.significant


def test_exchanging_the_systems_turns_the_interval_around():
    rng = np.random.default_rng(0)
    a, b = rng.random((2, 30))
    there, back = paired_bootstrap(a, b), paired_bootstrap(b, a)
    assert (back.difference, back.low, back.high) == pytest.approx(
        (-there.difference, -there.high, -there.low), abs=1e-12
    )
    assert there.p == back.p
    assert randomization_test(a, b) == randomization_test(b, a)


def test_the_same_seed_gives_the_same_bits_and_another_seed_others():
    rng = np.random.default_rng(1)
    a, b = rng.random((2, 50))
    first = paired_bootstrap(a, b, random_state=7)
    assert first == paired_bootstrap(a, b, random_state=7)
    assert first != paired_bootstrap(a, b, random_state=8)
    assert randomization_test(a, b, random_state=7) == randomization_test(a, b, random_state=7)


def test_every_resample_draws_as_many_units_as_there_are(monkeypatch):
    monkeypatch.setattr(significance, "_CHUNK", 64)
    chunks = list(resampled_counts(10, 25, 0))
    assert [chunk.shape for chunk in chunks] == [(6, 10)] * 4 + [(1, 10)]
    assert all((chunk.sum(axis=1) == 10).all() for chunk in chunks)


def test_an_interval_covers_the_truth_about_as_often_as_it_says():
    rng = np.random.default_rng(2)
    covered = 0
    for trial in range(200):
        found = paired_bootstrap(
            rng.normal(0.3, 1.0, 60), np.zeros(60), n_resamples=400, random_state=trial
        )
        covered += found.low <= 0.3 <= found.high
    assert 0.90 <= covered / 200 <= 0.98


def test_the_randomisation_test_is_that_of_all_exchanges():
    a, b = np.array([0.9, 0.4, 0.8, 0.6, 0.5, 0.9]), np.array([0.5, 0.5, 0.6, 0.2, 0.4, 0.3])
    signs = np.array(list(product([-1, 1], repeat=6)))
    sums = np.abs(signs @ (a - b))
    exact = np.mean(sums >= abs((a - b).sum()) - 1e-12)
    assert randomization_test(a, b, n_resamples=20_000) == pytest.approx(exact, abs=0.01)


def test_p_is_about_uniform_where_nothing_differs():
    rng = np.random.default_rng(3)
    found = [
        randomization_test(*rng.random((2, 25)), n_resamples=199, random_state=trial)
        for trial in range(300)
    ]
    assert np.mean(np.array(found) <= 0.1) == pytest.approx(0.1, abs=0.05)


def test_collections_count_the_same_whatever_their_size():
    rng = np.random.default_rng(4)
    small, large = rng.random((2, 5)), rng.random((2, 500))
    found = paired_bootstrap_of_collections([small[0], large[0]], [small[1], large[1]])
    expected = np.mean([small[0].mean() - small[1].mean(), large[0].mean() - large[1].mean()])
    assert found.difference == pytest.approx(expected)
    relative = paired_bootstrap_of_collections([small[0]], [small[1]], relative=True)
    assert relative.difference == pytest.approx(small[0].mean() / small[1].mean() - 1)
    assert relative.low < relative.difference < relative.high


def test_one_collection_is_resampled_like_its_own_bootstrap():
    a, b = np.random.default_rng(5).random((2, 20))
    own = bootstrap([Mean(a), Mean(b)], n_resamples=500, random_state=(0, 0))
    expected = interval_of(a.mean() - b.mean(), own[0] - own[1])
    found = paired_bootstrap_of_collections([a], [b], n_resamples=500)
    assert found.to_dict() == pytest.approx(expected.to_dict())


@given(st.lists(st.floats(0.0, 1.0), min_size=1, max_size=6))
def test_adjusted_p_are_at_least_the_given_ones_and_keep_their_order(given_p):
    adjusted = holm(given_p)
    for p, q in zip(given_p, adjusted, strict=True):
        assert p <= q <= 1.0
        assert q <= max(p * len(given_p), *adjusted)
    order = np.argsort(given_p, kind="stable")
    assert list(np.array(adjusted)[order]) == sorted(adjusted)


@pytest.mark.parametrize(
    ("a", "b", "message"),
    [
        ([1.0], [1.0, 2.0], r"shape \(1,\) and \(2,\)"),
        ([], [], "at least one unit"),
        ([[1.0]], [[1.0]], r"shape \(1, 1\)"),
        ([float("nan")], [1.0], "NaN or infinite"),
    ],
)
def test_values_that_cannot_be_paired_are_refused(a, b, message):
    for compare in (paired_bootstrap, randomization_test):
        with pytest.raises(InvalidInputError, match=message):
            compare(a, b)


def test_what_else_is_out_of_range_is_refused():
    with pytest.raises(InvalidInputError, match="n_resamples is 0"):
        paired_bootstrap([1.0], [2.0], n_resamples=0)
    with pytest.raises(InvalidInputError, match="n_resamples is -1"):
        bootstrap([Mean(np.zeros(2))], n_resamples=-1)
    with pytest.raises(InvalidInputError, match="n_resamples is -1"):
        paired_bootstrap_of_collections([[1.0]], [[2.0]], n_resamples=-1)
    with pytest.raises(InvalidInputError, match="confidence is 95"):
        paired_bootstrap([1.0], [2.0], confidence=95)
    with pytest.raises(InvalidInputError, match="0 and 1 collections"):
        paired_bootstrap_of_collections([], [[1.0]])
    with pytest.raises(InvalidInputError, match="the mean of collection 0 is 0"):
        paired_bootstrap_of_collections([[1.0]], [[0.0]], relative=True)
    with pytest.raises(InvalidInputError, match=r"statistics of \[1, 2\] units"):
        bootstrap([Mean(np.zeros(1)), Mean(np.zeros(2))])
