"""Vectors of terms that an encoder taught: against the definition, densely solved."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from softcosine.errors import InvalidInputError
from softcosine.lab.text_pairs.taught_vectors import WEIGHTING, TaughtVectors
from softcosine.text.corpus import analyze
from softcosine.text.vocabulary import Vocabulary

WORDS = ("river", "bank", "money", "flood", "loan", "the")
TEXTS = st.lists(st.lists(st.sampled_from(WORDS), max_size=5).map(" ".join), min_size=2, max_size=7)


def unit(rows):
    lengths = np.linalg.norm(rows, axis=1, keepdims=True)
    return rows / np.where(lengths > 0, lengths, 1.0)


def dense(texts, encodings, terms, penalty, n_removed):
    """Solve the two least squares of the docstring as they stand."""
    corpus = analyze(texts)
    X = unit(WEIGHTING.transform(corpus.counts()).toarray())
    D = unit(encodings)
    D = D - D.mean(axis=0)
    if n_removed:
        axes = np.linalg.svd(D, full_matrices=False)[2][:n_removed]
        D = D - D @ axes.T @ axes
    n = X.shape[1]
    start = np.zeros((n, D.shape[1]))
    if terms is not None:
        T = unit(terms - terms.mean(axis=0))
        Z = X @ T
        start = T @ np.linalg.solve(Z.T @ Z + np.eye(Z.shape[1]), Z.T @ D)
    right = X.T @ D + penalty * start
    return np.linalg.solve(X.T @ X + penalty * np.eye(n), right)


@given(TEXTS, st.sampled_from([0.1, 1.0, 10.0]), st.booleans(), st.sampled_from([0, 1]), st.data())
def test_vectors_are_the_solution_of_the_least_squares(texts, penalty, alone, n_removed, data):
    corpus = analyze(texts)
    rng = np.random.default_rng(data.draw(st.integers(0, 2**32 - 1)))
    encodings = rng.normal(size=(len(texts), 3))
    terms = rng.normal(size=(len(corpus.vocabulary), 4)) if alone else None
    taught = TaughtVectors.fit(
        corpus,
        encodings,
        term_encodings=terms if len(corpus.vocabulary) else None,
        penalty=penalty,
        remove_components=n_removed,
    )
    if len(corpus.vocabulary):
        expected = dense(texts, encodings, terms, penalty, n_removed)
        np.testing.assert_allclose(taught.vectors, expected, atol=1e-4)


def test_weights_are_lengths_in_units_of_their_median():
    taught = TaughtVectors(Vocabulary(["a", "b", "c"]), np.array([[3.0, 4], [0, 2], [0, 0]]), 2.0)
    assert taught.weights.tolist() == [2.5, 1.0, 1.0]


def test_a_text_without_an_encoding_teaches_nothing():
    texts, encodings = ["river bank", "money loan", "flood"], [[1.0, 0], [0, 1], [0, 0]]
    taught = TaughtVectors.fit(analyze(texts), encodings)
    known = dict(zip(taught.vocabulary.terms, taught.vectors.any(axis=1).tolist(), strict=True))
    assert known == {"bank": True, "flood": False, "loan": True, "money": True, "river": True}
    assert taught.weights[taught.vocabulary.index("flood")] == 1.0
    assert taught.similarity().similarities(["flood"], ["river"]).tolist() == [0.0]


def test_a_term_without_an_encoding_of_its_own_means_what_its_texts_say():
    corpus = analyze(["river bank", "money loan"])
    told = np.array([[1.0, 0.2], [0.1, 1], [0, 0], [0.9, 0]])  # bank, loan, money, river
    taught = TaughtVectors.fit(corpus, [[1.0, 0], [0, 1]], term_encodings=told)
    assert taught.alone is not None
    np.testing.assert_allclose(taught.alone[0], told[[0, 1, 3]].mean(axis=0))
    bare = taught.extended(Vocabulary(["stream"]), [[0.0, 0]])
    assert not bare.vectors.any()


def test_removing_all_components_leaves_nothing():
    corpus = analyze(["river bank", "money loan", "flood"])
    taught = TaughtVectors.fit(corpus, [[1.0, 0], [0, 1], [1, 1]], remove_components=2)
    assert not taught.vectors.any()


def test_term_weights_say_how_much_a_term_is_heard():
    corpus = analyze(["river bank", "money bank"])
    weights = [float(term != "bank") for term in corpus.vocabulary.terms]
    taught = TaughtVectors.fit(corpus, [[1.0, 0], [0, 1]], term_weights=weights)
    assert not taught.vectors[corpus.vocabulary.index("bank")].any()


def test_terms_that_were_not_taught_have_the_meaning_that_they_have_alone():
    corpus = analyze(["river bank", "money loan", "river flood"])
    alone = {"river": [1.0, 0.1], "bank": [0.6, 0.5], "money": [0, 1], "loan": [0.1, 1]}
    alone |= {"flood": [1, 0], "stream": [1, 0.05]}
    of = lambda terms: np.array([alone[term] for term in terms], float)  # noqa: E731
    taught = TaughtVectors.fit(
        corpus, [[1.0, 0], [0, 1], [1, 0.1]], term_encodings=of(corpus.vocabulary.terms)
    )
    wider = Vocabulary(["stream", "river", "loan"])
    more = taught.extended(wider, of(wider.terms))
    same = [corpus.vocabulary.index(term) for term in ("river", "loan")]
    np.testing.assert_array_equal(more.vectors[1:], taught.vectors[same])
    near, far = more.similarity(threshold=0.0).similarities(["stream"] * 2, ["river", "loan"])
    assert near > 0.5 > far


def test_forms_of_a_stem_share_its_vector():
    from softcosine.text.analyzer import Analyzer

    corpus = analyze(["rivers flood", "river floods", "money"], Analyzer("english"))
    source = TaughtVectors.fit(corpus, [[1.0, 0], [1, 0.1], [0, 1]]).similarity()
    assert source.similarities(["rivers"], ["river"]).tolist() == [1.0]


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"encodings": [[1.0, 0]]}, "encodings has the shape (1, 2); needed is (2, dimensions)"),
        ({"encodings": [[1.0], [np.nan]]}, "row 1 of encodings holds NaN or infinity"),
        ({"encodings": [["a"], ["b"]]}, "encodings is no array of numbers"),
        ({"term_encodings": [[1.0]]}, "term_encodings has the shape (1, 1); needed is (3,"),
        ({"term_weights": [1.0]}, "term_weights has shape (1,)"),
        ({"penalty": 0.0}, "penalty is 0.0; it must be a finite number above 0."),
        ({"remove_components": -1}, "remove_components is -1; it must be a whole number"),
    ],
)
def test_bad_input_is_told(settings, message):
    given_ = {"encodings": [[1.0, 0], [0, 1]], **settings}
    with pytest.raises(InvalidInputError) as error:
        TaughtVectors.fit(analyze(["river bank", "bank loan"]), **given_)
    assert message in str(error.value)


def test_a_corpus_has_to_be_analyzed():
    with pytest.raises(InvalidInputError, match="analyze"):
        TaughtVectors.fit(["river"], [[1.0]])


def test_extending_needs_what_terms_mean_alone_by_the_same_encoder():
    corpus = analyze(["river bank", "bank loan"])
    bare = TaughtVectors.fit(corpus, [[1.0, 0], [0, 1]])
    with pytest.raises(InvalidInputError, match="call fit with term_encodings"):
        bare.extended(corpus.vocabulary, np.ones((3, 2)))
    whole = TaughtVectors.fit(corpus, [[1.0, 0], [0, 1]], term_encodings=np.eye(3))
    with pytest.raises(InvalidInputError, match="2 dimensions, and there were 3"):
        whole.extended(corpus.vocabulary, np.ones((3, 2)))
