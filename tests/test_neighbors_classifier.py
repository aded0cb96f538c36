"""Classes by the votes of soft neighbours: right by the definition, and worth having."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import softcosine as sc
from softcosine.errors import InvalidInputError, NotFittedError, VocabularyMismatchError

pytest.importorskip("sklearn")

from sklearn.base import clone
from sklearn.utils.estimator_checks import parametrize_with_checks

from softcosine.sklearn.neighbors_classifier import SoftNeighborsClassifier
from softcosine.sklearn.votes import (
    AROUND,
    Neighborhood,
    Voting,
    VotingGrid,
    best_voting,
    class_votes,
    hub_levels,
    leave_one_out,
    lowered,
)

KILL = sc.TermSimilarityMatrix.from_matrix([[1, 0.5, 0], [0.5, 1, 0], [0, 0, 1]])
SMALL = VotingGrid((1, 2, 5), (np.inf, 0.1), (0.0, 0.5), (0.0, 0.5))


@parametrize_with_checks([SoftNeighborsClassifier(), SoftNeighborsClassifier(n_neighbors=3)])
def test_scikit_learn_finds_no_fault(estimator, check):
    check(estimator)


# --- the oracle: votes, written out over all pairs ------------------------------------------------


def neighbourhood(scores, rows, width):
    """Lists of the best of a square matrix, nobody's own."""
    ids, values = [], []
    for row in rows:
        others = [d for d in range(len(scores)) if d != row]
        best = sorted(others, key=lambda d: (-scores[row, d], d))[:width]
        ids.append(best)
        values.append([scores[row, d] for d in best])
    return Neighborhood(np.array(ids, np.int64), np.array(values))


def level(scores, d, without=None):
    """Mean similarity of d with its nearest, as if one were not there."""
    others = sorted((-scores[d, e], e) for e in range(len(scores)) if e not in (d, without))
    return np.mean([-value for value, _ in others[:AROUND]]) if others else 0.0


def plain_votes(scores, asked, labels, n_classes, voting, levels):
    """Votes for every class, from the definition."""
    known = {d: scores[asked, d] - voting.hubness * levels[d] for d in levels}
    near = sorted(known, key=lambda d: (-known[d], d))[: voting.n_neighbors]
    votes = np.zeros(n_classes)
    for d in near:
        votes[labels[d]] += np.exp((known[d] - known[near[0]]) / voting.temperature)
    shares = np.bincount([labels[d] for d in range(len(labels))], minlength=n_classes) / len(labels)
    return votes * np.where(shares > 0, shares, 1.0) ** -voting.balance


@st.composite
def similarities(draw):
    n = draw(st.integers(3, 14))
    seed = draw(st.integers(0, 2**16))
    values = np.random.default_rng(seed).random((n, n))  # no ties: they would be of rounding
    symmetric = draw(st.booleans())  # soft BM25 is not
    scores = (values + values.T) / 2.0 if symmetric else values
    labels = np.random.default_rng(seed + 1).integers(0, 3, n)
    return scores, labels


@given(similarities(), st.sampled_from(SMALL.votings))
def test_votes_are_those_of_the_definition(case, voting):
    scores, labels = case
    n = len(scores)
    around = neighbourhood(scores, range(n), n - 1)
    near = leave_one_out(around, voting.hubness)
    found = class_votes(near, labels, 3, voting)
    for q in range(n):
        levels = {d: level(scores, d, without=q) for d in range(n) if d != q}
        expected = plain_votes(scores, q, labels, 3, voting, levels)
        np.testing.assert_allclose(found[q], expected / expected.sum(), atol=1e-5)


@given(similarities())
def test_levels_are_means_over_the_nearest(case):
    scores, _ = case
    n = len(scores)
    around = neighbourhood(scores, range(n), n - 1)
    np.testing.assert_allclose(hub_levels(around), [level(scores, d) for d in range(n)])


@given(similarities())
def test_the_best_voting_has_the_least_error_of_all(case):
    scores, labels = case
    n = len(scores)
    around = neighbourhood(scores, range(n), n - 1)
    best, error = best_voting(around, labels, 3, SMALL)
    errors = {}
    for voting in SMALL.votings:
        near = leave_one_out(around, voting.hubness)
        predicted = class_votes(near, labels, 3, voting).argmax(axis=1)
        errors[voting] = np.mean(predicted != labels)
    assert errors[best] == error
    assert error <= min(errors.values()) + 1e-12


def test_lowered_scores_are_sorted_anew():
    found = Neighborhood(np.array([[0, 1, 2]]), np.array([[0.9, 0.8, 0.4]]))
    near = lowered(found, np.array([0.8, 0.2, 0.0]), 0.5)
    assert near.ids.tolist() == [[1, 0, 2]]
    np.testing.assert_allclose(near.scores, [[0.7, 0.5, 0.4]])


def test_what_has_nothing_in_common_is_no_neighbour_and_has_no_vote():
    found = Neighborhood.of(
        np.array([[0, 1, 2], [0, 1, 2]]), np.array([[0.0, 0.5, 0.2], [0.0] * 3])
    )
    assert found.ids.tolist() == [[1, 2, -1], [-1, -1, -1]]
    labels, equal = np.array([0, 0, 1]), Voting(3, np.inf, 0.0, 0.0)
    shares = class_votes(lowered(found, np.array([0.0, 1.0, 0.0]), 1.0), labels, 2, equal)
    np.testing.assert_allclose(shares, [[0.5, 0.5], [2 / 3, 1 / 3]], atol=1e-5)
    assert shares[0].argmax() == 1  # held back, the first is behind the second


# --- the classifier -------------------------------------------------------------------------------


def test_a_similar_term_votes_where_no_term_is_shared():
    classifier = SoftNeighborsClassifier(KILL, n_neighbors=1).fit([[1, 0, 0], [0, 0, 1]], [7, 8])
    assert classifier.predict([[0, 2, 0], [0, 0, 3]]).tolist() == [7, 8]


def test_a_hub_is_held_back():
    # Both topics share a common word; the hub is made of it.
    X = np.array([[1, 0, 2], [1, 0, 2], [1, 0, 1.9], [3, 0, 0.9], [0, 1, 0]])
    y = ["hub", "hub", "hub", "a", "b"]
    S = sc.TermSimilarityMatrix.from_matrix(np.eye(3))
    settings = {"n_neighbors": 1, "temperature": np.inf, "balance": 0.0}
    asked = [[1.05, 0, 1]]
    plain = SoftNeighborsClassifier(S, hubness=0.0, **settings).fit(X, y)
    held = SoftNeighborsClassifier(S, hubness=1.0, **settings).fit(X, y)
    assert plain.predict(asked).tolist() == ["hub"]
    assert held.predict(asked).tolist() == ["a"]


def test_a_document_without_neighbours_gets_the_most_frequent_class():
    X, y = [[1, 0, 0], [0, 0, 1], [0, 0, 2]], ["a", "b", "b"]
    classifier = SoftNeighborsClassifier(KILL, n_neighbors=1).fit(X, y)
    assert classifier.predict([[0, 0, 0], [0, 1, 0]]).tolist() == ["b", "a"]
    assert classifier.nearest([[0, 0, 0]]).ids.tolist() == [[-1]]


def test_probabilities_are_shares():
    X = np.abs(np.random.default_rng(0).normal(size=(30, 3)))
    y = np.arange(30) % 3
    shares = SoftNeighborsClassifier(KILL).fit(X, y).predict_proba(X)
    assert shares.shape == (30, 3)
    np.testing.assert_allclose(shares.sum(axis=1), 1.0)


def test_what_is_chosen_is_told():
    random = np.random.default_rng(0)
    y = np.arange(60) % 2
    X = np.abs(random.normal(size=(60, 3))) + 2 * np.eye(3)[2 * y]
    classifier = SoftNeighborsClassifier(KILL, hubness=0.25).fit(X, y)
    assert isinstance(classifier.voting_, Voting)
    assert classifier.voting_.hubness == 0.25
    assert 0 <= classifier.leave_one_out_error_ < 0.2
    fixed = clone(classifier).set_params(n_neighbors=5, temperature=0.1, hubness=0.0, balance=0.0)
    assert np.isnan(fixed.fit(X, y).leave_one_out_error_)
    assert fixed.voting_ == Voting(5, 0.1, 0.0, 0.0)


def test_weightings_take_counts():
    counts = [[3, 0, 0], [0, 0, 2], [1, 1, 0]]
    weighting = sc.Weighting("log", "smooth")
    classifier = SoftNeighborsClassifier(KILL, n_neighbors=1, weighting=weighting)
    assert classifier.fit(counts, [0, 1, 0]).predict([[0, 1, 0], [0, 0, 5]]).tolist() == [0, 1]


@pytest.mark.parametrize(
    "setting",
    [{"balance": 1e3}, {"balance": 1e300}, {"hubness": 1e300}, {"temperature": 5e-324}],
)
def test_extreme_settings_give_shares_too(setting):
    X = np.random.default_rng(0).integers(0, 3, (40, 3))
    classifier = SoftNeighborsClassifier(KILL, **setting).fit(X, [0] * 36 + [1] * 4)
    shares = classifier.predict_proba(X)
    np.testing.assert_allclose(shares.sum(axis=1), 1.0)
    assert (shares >= 0.0).all()


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"temperature": 0.0}, "temperature is 0.0; needed is a number above 0"),
        ({"hubness": -1}, "hubness is -1; needed is a number from 0 to 1e[+]300"),
        ({"balance": np.inf}, "balance is inf"),
        ({"n_neighbors": 0}, "n_neighbors"),
        ({"n_neighbors": 20, "n_candidates": 10}, "no more can vote than are found"),
    ],
)
def test_settings_out_of_range_are_told(settings, message):
    with pytest.raises(InvalidInputError, match=message):
        SoftNeighborsClassifier(KILL, **settings).fit([[1, 0, 0], [0, 0, 1]], [0, 1])


def test_other_mistakes_are_told():
    with pytest.raises(NotFittedError, match="not fitted yet"):
        SoftNeighborsClassifier(KILL).predict([[1, 0, 0]])
    with pytest.raises(InvalidInputError, match="Negative values"):
        SoftNeighborsClassifier(KILL).fit([[-1, 0, 0], [0, 0, 1]], [0, 1])
    with pytest.raises(VocabularyMismatchError, match="2"):
        SoftNeighborsClassifier(KILL).fit([[1, 0], [0, 1]], [0, 1])
