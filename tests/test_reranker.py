"""Pairs of texts as numbers, and a model that ranks pairs by them."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import strategies as own
from crafted import patch_array
from softcosine.errors import (
    CorruptIndexError,
    InvalidInputError,
    NotFittedError,
    VocabularyMismatchError,
)
from toys import ToySource, similarity_matrix

pytest.importorskip("sklearn")

from sklearn.base import clone
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import cross_val_predict
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils.estimator_checks import parametrize_with_checks

import softcosine as sc
from softcosine.lab.text_pairs.alignment import paired_alignment
from softcosine.lab.text_pairs.grouped_precision import folds_of, mean_average_precision
from softcosine.lab.text_pairs.pair_features import PairFeatures
from softcosine.lab.text_pairs.pair_measures import MEASURES, PairMeasure
from softcosine.lab.text_pairs.reranker import PairReranker

PEOPLE = ToySource({("dead", "killed"): 0.9, ("tea", "coffee"): 0.8, ("king", "queen"): 0.5})
PAIRS = [
    ({"subject": "dead king", "body": "who killed him"}, {"subject": "killed", "body": "a king"}),
    ({"subject": "dead king", "body": "who killed him"}, {"subject": "tea", "body": "a cup"}),
    ({"subject": "tea", "body": "green or black"}, {"subject": "coffee", "body": "black"}),
    ({"subject": "tea", "body": "green or black"}, {"subject": "queen", "body": "him"}),
]
LABELS = [True, False, True, False]
GROUPS = ["q1", "q1", "q2", "q2"]


@pytest.fixture
def measures():
    return {
        "subjects": PairMeasure(left="subject", right="subject", source=PEOPLE),
        "all": PairMeasure(source=PEOPLE, analyzer=sc.Analyzer("english")),
        "plain": PairMeasure(weighting=sc.Weighting("raw", "none")),
        "jaccard": PairMeasure("soft_jaccard", source=PEOPLE),
        "runs": PairMeasure(characters=(2, 3)),
        "weighed": PairMeasure(weighting=sc.Weighting("raw", "none"), term_weights={"king": 3.0}),
    }


@parametrize_with_checks([PairReranker(), PairReranker(model="svm")])
def test_scikit_learn_finds_no_fault(estimator, check):
    check(estimator)


# --- alignment -----------------------------------------------------------------------------------


@given(own.collections())
def test_alignments_are_means_of_the_best(c):
    n = min(len(c.queries), c.n_docs)
    X, Y = c.queries[:n], c.counts[:n]
    found = paired_alignment(X, Y, similarity_matrix(c.S))

    def one_way(x, y):
        if not x.any():
            return 0.0
        best = [max((c.S[i, j] for j in np.flatnonzero(y)), default=0) for i in range(c.n_terms)]
        return x @ np.array(best) / x.sum()

    expected = [(one_way(x, y) + one_way(y, x)) / 2 for x, y in zip(X, Y, strict=True)]
    np.testing.assert_allclose(found, expected, atol=1e-9)


def test_alignments_refuse_what_they_cannot_read():
    S = similarity_matrix(np.eye(2))
    with pytest.raises(InvalidInputError, match="X has 1 rows and Y has 2"):
        paired_alignment([[1, 0]], [[1, 0]] * 2, S)
    with pytest.raises(InvalidInputError, match="a text has a weight of -1"):
        paired_alignment([[-1, 0]], [[1, 0]], S)
    with pytest.raises(InvalidInputError, match=r"1e\+308; scale it down"):
        paired_alignment([[1e308, 1e308]], [[1, 0]], S)
    with pytest.raises(VocabularyMismatchError):
        paired_alignment([[1]], [[1]], S)


# --- features ------------------------------------------------------------------------------------


def test_a_column_is_the_measure_of_the_fields(measures):
    features = PairFeatures(measures).fit(PAIRS)
    table = features.transform(PAIRS)
    assert features.get_feature_names_out().tolist() == list(measures)
    assert table.shape == (4, 6)
    named = dict(zip(measures, table.T, strict=True))
    # killed ~ dead; the other word of the subject, king, finds nothing like it.
    idf = features.fitted_["subjects"].S.vocabulary
    weights = sc.Weighting().term_weights(idf.document_frequencies, idf.n_docs)
    dead, king = (weights[idf.index(word)] for word in ("dead", "king"))
    expected = 0.9 * dead / np.hypot(dead, king)
    assert named["subjects"][0] == pytest.approx(expected, rel=1e-6)
    assert named["subjects"][2] == pytest.approx(0.8)
    assert named["subjects"][1] == named["subjects"][3] == 0
    words = [{"dead", "king", "who", "killed", "him"}, {"killed", "a", "king"}]
    assert named["plain"][0] == pytest.approx(len(words[0] & words[1]) / np.sqrt(15))
    assert named["weighed"][0] == pytest.approx((1 + 9) / np.sqrt((4 + 9) * (2 + 9)))
    assert named["runs"][2] > 0


@pytest.mark.parametrize("weight", [-1.0, np.nan, np.inf, "much", True])
def test_weights_of_terms_that_cannot_be_are_told(weight):
    with pytest.raises(InvalidInputError, match=r"term_weights has .* for 'tea'"):
        PairMeasure(term_weights={"tea": weight})


@given(st.data())
def test_a_pair_gets_the_same_numbers_alone_and_among_others(data):
    measures = {
        name: PairMeasure(
            name, source=PEOPLE, characters=data.draw(st.sampled_from((None, (1, 2))))
        )
        for name in MEASURES
    }
    texts = own.sentences()
    pairs = data.draw(st.lists(st.tuples(texts, texts), min_size=1, max_size=4))
    later = data.draw(st.lists(st.tuples(texts, texts), min_size=1, max_size=4))
    features = PairFeatures(measures).fit(pairs)
    together = features.transform([*pairs, *later])
    alone = np.vstack([features.transform([pair]) for pair in [*pairs, *later]])
    np.testing.assert_allclose(together, alone, rtol=1e-12, atol=1e-12)
    assert np.isfinite(together).all()


def test_words_that_only_the_background_has_find_what_is_like_them():
    measure = {"soft": PairMeasure(source=PEOPLE)}
    pair = [("coffee", "tea")]
    without = PairFeatures(measure).fit([("a", "b")]).transform(pair)
    with_it = PairFeatures(measure, background=["coffee or tea"]).fit([("a", "b")]).transform(pair)
    assert without == 0
    assert with_it == pytest.approx(0.8)


def test_numbers_that_are_known_of_pairs_become_columns(measures):
    pairs = [(*pair, {"rank": place}) for place, pair in enumerate(PAIRS)]
    features = PairFeatures({"all": measures["all"]}, numbers=["rank"]).fit(pairs)
    assert features.transform(pairs)[:, 1].tolist() == [0, 1, 2, 3]
    assert features.get_feature_names_out().tolist() == ["all", "rank"]
    with pytest.raises(InvalidInputError, match="pair 0 has no number 'rank'"):
        features.transform(PAIRS)


def test_a_ready_matrix_can_say_what_is_alike():
    words = sc.Vocabulary(["coffee", "tea"])
    S = sc.TermSimilarityMatrix.from_matrix([[1, 0.5], [0.5, 1]], words)
    features = PairFeatures({"soft": PairMeasure(source=S)}).fit([("coffee", "tea or milk")])
    assert features.transform([("coffee", "tea")]) == pytest.approx(0.5)


def test_what_is_no_pair_is_refused(measures):
    features = PairFeatures(measures)
    with pytest.raises(InvalidInputError, match=r"pair 0 is 'tea'; needed is \(left, right\)"):
        features.fit(["tea"])
    with pytest.raises(InvalidInputError, match="the right side of pair 0 has no field 'subject'"):
        features.fit([({"subject": "tea", "body": ""}, {"body": "tea"})])
    with pytest.raises(InvalidInputError, match="the left side of pair 0 is one text, and field"):
        features.fit([("tea", "coffee")])
    with pytest.raises(InvalidInputError, match="the left side of pair 0 is of type int"):
        PairFeatures().fit([(1, "coffee")])
    with pytest.raises(InvalidInputError, match="measure 'x' is of type str; pass a PairMeasure"):
        PairFeatures({"x": "soft_cosine"}).fit(PAIRS)
    with pytest.raises(InvalidInputError, match="measure is 'cosine'; it must be one of"):
        PairMeasure("cosine")
    with pytest.raises(InvalidInputError, match=r"characters is \(3, 2\)"):
        PairMeasure(characters=(3, 2))
    with pytest.raises(NotFittedError, match=r"call fit\(pairs\) first"):
        features.transform(PAIRS)


# --- the reranker --------------------------------------------------------------------------------


def noisy(n_groups=20, per_group=6, *, seed=0):
    random = np.random.default_rng(seed)
    n = n_groups * per_group
    y = random.random(n) < 0.4
    y[:2] = True, False
    X = np.column_stack([y + random.standard_normal(n), random.standard_normal(n), np.ones(n)])
    return X, y, np.repeat(np.arange(n_groups), per_group)


def test_it_is_the_linear_model_of_scikit_learn_over_standardised_features():
    X, y, _ = noisy()
    ours = PairReranker(C=0.5).fit(X, y)
    theirs = make_pipeline(StandardScaler(), LogisticRegression(C=0.5, max_iter=1000)).fit(X, y)
    np.testing.assert_allclose(ours.decision_function(X), theirs.decision_function(X), atol=1e-9)
    np.testing.assert_allclose(ours.predict_proba(X), theirs.predict_proba(X), atol=1e-9)
    np.testing.assert_array_equal(ours.predict(X), theirs.predict(X))
    assert not hasattr(PairReranker(model="svm"), "predict_proba")


def test_a_constant_feature_does_not_speak_where_rounding_makes_it_vary():
    X = np.random.default_rng(0).normal(size=(30, 3))
    X[:, 2] = 0.7  # of 30 of them the standard deviation is 2e-16
    reranker = PairReranker().fit(X, X[:, 0] > 0)
    assert reranker.scale_[2] == 1.0
    assert abs(reranker.decision_function([[0.0, 0.0, 0.8]])[0]) < 10.0


def test_equal_pairs_get_equal_scores_alone_and_among_others():
    X = np.random.default_rng(0).normal(size=(31, 23))
    reranker = PairReranker().fit(X, X[:, 0] > 0)
    (alone,) = reranker.decision_function(X[:1]).tolist()
    assert set(reranker.decision_function(np.repeat(X[:1], 31, axis=0)).tolist()) == {alone}


def test_grid_search_on_several_processes_and_pickles():
    import pickle

    from sklearn.model_selection import GridSearchCV

    pairs, labels = PAIRS * 4, LABELS * 4
    search = GridSearchCV(
        PairReranker(PairFeatures({"words": PairMeasure()})), {"C": [0.1, 1.0]}, cv=2, n_jobs=2
    ).fit(pairs, labels)
    again = pickle.loads(pickle.dumps(search.best_estimator_))
    np.testing.assert_array_equal(again.decision_function(PAIRS), search.decision_function(PAIRS))


@pytest.mark.parametrize("rank", [None, "first", float("nan"), float("inf"), True])
def test_numbers_of_pairs_are_finite(rank):
    features = PairFeatures({"words": PairMeasure()}, numbers=["rank"])
    with pytest.raises(InvalidInputError, match="number 'rank' of pair 0 is"):
        features.fit([("a", "b", {"rank": rank})])


def test_c_is_chosen_without_parting_groups():
    X, y, groups = noisy()
    reranker = PairReranker().fit(X, y, groups)
    assert set(reranker.precisions_) == {0.001, 0.01, 0.1, 1.0, 10.0, 100.0}
    assert reranker.precisions_[reranker.C_] == max(reranker.precisions_.values())
    for train, test in folds_of(groups, 5, 0):
        assert not set(groups[train]) & set(groups[test])
        assert len(train) + len(test) == len(groups)
    assert PairReranker().fit(X, y).C_ == 1.0
    assert PairReranker(C=3.0).fit(X, y, groups).C_ == 3.0


def test_mean_average_precision_is_that_of_the_definition():
    scores = np.array([3.0, 2.0, 2.0, 1.0, 5.0])
    wanted = np.array([False, True, True, False, False])
    groups = np.array(["a", "a", "a", "a", "b"])
    assert mean_average_precision(scores, wanted, groups) == pytest.approx((1 / 2 + 2 / 3) / 2 / 2)


def test_ranking_keeps_groups_together_and_equal_scores_in_order():
    X, y, _ = noisy()
    reranker = PairReranker(C=1.0).fit(X, y)
    rows = [[0.0, 0, 1], [2.0, 0, 1], [2.0, 0, 1], [3.0, 0, 1], [-1.0, 0, 1]]
    assert reranker.rank(rows).tolist() == [3, 1, 2, 0, 4]
    assert reranker.rank(rows, ["b", "a", "b", "a", "b"]).tolist() == [2, 0, 4, 3, 1]


def test_the_parts_of_an_explanation_sum_to_the_score(measures):
    reranker = PairReranker(PairFeatures(measures)).fit(PAIRS, LABELS, GROUPS)
    told = reranker.explain(PAIRS[0])
    total = told.intercept + sum(adds for _, _, adds in told.parts)
    assert told.score == pytest.approx(total)
    assert told.score == pytest.approx(reranker.decision_function(PAIRS)[0])
    assert set(reranker.coefficients()) == set(measures)
    assert str(told).startswith(f"score {told.score:.3f}\n  ")


def test_texts_are_ranked_by_what_they_mean(measures):
    reranker = PairReranker(PairFeatures(measures), model="svm").fit(PAIRS, LABELS)
    assert reranker.predict(PAIRS).tolist() == LABELS
    assert reranker.rank(PAIRS, GROUPS).tolist() == [0, 1, 2, 3]
    again = cross_val_predict(clone(reranker), PAIRS * 2, LABELS * 2, cv=2)
    assert again.tolist() == LABELS * 2


def test_saved_and_loaded_it_ranks_as_before(tmp_path, measures):
    pairs = [(*pair, {"rank": place}) for place, pair in enumerate(PAIRS)]
    features = PairFeatures(measures, numbers=["rank"])
    reranker = PairReranker(features).fit(pairs, ["yes", "no", "yes", "no"], GROUPS)
    reranker.save(tmp_path / "model")
    loaded = PairReranker.load(tmp_path / "model")
    unseen = [
        ({"subject": "queen dead", "body": "x"}, {"subject": "king", "body": "y"}, {"rank": 1})
    ]
    for some in (pairs, unseen):
        np.testing.assert_array_equal(
            loaded.decision_function(some), reranker.decision_function(some)
        )
    assert loaded.predict(pairs).tolist() == reranker.predict(pairs).tolist()
    assert loaded.coefficients() == reranker.coefficients()
    assert loaded.explain(pairs[0]) == reranker.explain(pairs[0])
    assert not list((tmp_path / "model").rglob("*.pkl"))
    loaded.save(tmp_path / "again")
    again = PairReranker.load(tmp_path / "again")
    np.testing.assert_array_equal(again.decision_function(pairs), loaded.decision_function(pairs))


def test_a_model_over_numbers_is_saved_too(tmp_path):
    X, y, groups = noisy()
    reranker = PairReranker(model="svm").fit(X, y, groups)
    reranker.save(tmp_path / "model")
    loaded = PairReranker.load(tmp_path / "model")
    np.testing.assert_array_equal(loaded.decision_function(X), reranker.decision_function(X))
    assert loaded.precisions_ == reranker.precisions_
    assert loaded.classes_.dtype == bool
    with pytest.raises(ValueError, match="features"):
        loaded.predict(X[:, :2])


def test_damaged_and_foreign_models_are_refused(tmp_path):
    X, y, _ = noisy()
    reranker = PairReranker(StandardScaler()).fit(X, y)
    with pytest.raises(InvalidInputError, match="features of type StandardScaler cannot be saved"):
        reranker.save(tmp_path / "model")
    assert not (tmp_path / "model").exists()
    PairReranker().fit(X, y).save(tmp_path / "model")
    patch_array(tmp_path / "model", "coef")
    with pytest.raises(CorruptIndexError):
        PairReranker.load(tmp_path / "model")


def test_an_altered_number_is_found(tmp_path):
    X = np.random.default_rng(0).normal(size=(12, 2))
    PairReranker().fit(X, X[:, 0] > 0).save(tmp_path / "model")
    patch_array(tmp_path / "model", "coef")
    with pytest.raises(CorruptIndexError, match=r"arrays\.npys has changed"):
        PairReranker.load(tmp_path / "model")


def test_what_cannot_be_learned_from_is_refused():
    X, y, groups = noisy()
    with pytest.raises(InvalidInputError, match="y has one class only"):
        PairReranker().fit(X, np.ones(len(X)))
    with pytest.raises(InvalidInputError, match="Only binary classification is supported"):
        PairReranker().fit(X, np.arange(len(X)) % 3)
    with pytest.raises(
        InvalidInputError, match="model is 'forest'; it must be one of logistic, svm"
    ):
        PairReranker(model="forest").fit(X, y)
    with pytest.raises(InvalidInputError, match="C is 0; it must be a finite number above 0"):
        PairReranker(C=0).fit(X, y)
    with pytest.raises(InvalidInputError, match="groups has shape"):
        PairReranker().fit(X, y, groups[1:])
    with pytest.raises(InvalidInputError, match="there is 1 group; cross-validation needs two"):
        PairReranker().fit(X, y, np.zeros(len(X)))
    with pytest.raises(InvalidInputError, match="only one class is left; give C, or more groups"):
        PairReranker().fit([[0.0], [1.0]], [False, True], [0, 1])
    with pytest.raises(InvalidInputError, match="there are 4 pairs, and y has shape"):
        PairReranker(PairFeatures()).fit(PAIRS, LABELS[1:])
    with pytest.raises(NotFittedError, match=r"call fit\(X, y\) first"):
        PairReranker().predict(X)
