"""The rivals compute what their definitions, or the packages they stand for, compute."""

from __future__ import annotations

import re
import warnings

import numpy as np
import pytest

import softcosine as sc
from softcosine.errors import InvalidInputError
from softcosine.evaluate.documents import Documents
from softcosine.evaluate.systems import from_spec, named

TEXTS = [
    "the king is dead and the queen lives",
    "a flat tyre on the bicycle of the king",
    "repairing the puncture of a bike wheel",
    "the queen drinks hot tea and the king drinks cold tea",
    "wheels of cars and bikes",
    "hot coffee",
]
DOCUMENTS = Documents.of(TEXTS)
QUERIES = Documents.of(["bicycle tyre", "the hot tea of the queen", "a dead king king"])
BACKGROUND = ["cold coffee and tea", "the bicycle"]
ALL = np.arange(len(TEXTS))
WORDS = sorted({word for text in TEXTS for word in text.split()})


def scores(fitted, queries=QUERIES):
    return np.array(fitted.scored(queries, [ALL] * len(queries)))


def unit(X):
    lengths = np.linalg.norm(X, axis=1, keepdims=True)
    return X / np.where(lengths > 0, lengths, 1)


def counts(texts, words=WORDS):
    return np.array([[text.split().count(word) for word in words] for text in texts], float)


def idf(texts, words=WORDS):
    df = (counts(texts, words) > 0).sum(axis=0)
    return np.log((1 + len(texts)) / (1 + df)) + 1


def vectors_of(words):
    """Unit vectors of the bundled table."""
    table, numbers = sc.EmbeddingSimilarity.english().table.look_up(words)
    vectors = np.zeros((len(words), 128))
    units, _ = table.units(numbers[numbers >= 0])
    vectors[numbers >= 0] = units
    return vectors


def test_the_cosine_is_that_of_scikit_learn():
    from sklearn.feature_extraction.text import TfidfVectorizer

    peer = TfidfVectorizer(analyzer=sc.Analyzer().terms, sublinear_tf=True)
    X = peer.fit_transform(TEXTS)
    expected = (peer.transform(QUERIES.texts) @ X.T).toarray()
    np.testing.assert_allclose(scores(named("cosine", stemmer=None).fit(DOCUMENTS)), expected)
    peer = TfidfVectorizer(analyzer=sc.Analyzer("english").terms).fit([*TEXTS, *BACKGROUND])
    expected = (peer.transform(QUERIES.texts) @ peer.transform(TEXTS).T).toarray()
    fitted = named("cosine", tf="raw").fit(DOCUMENTS, background=BACKGROUND)
    np.testing.assert_allclose(scores(fitted), expected)


@pytest.mark.parametrize("method", ["lucene", "robertson", "atire"])
def test_bm25_is_that_of_bm25s(method):
    import bm25s

    analyzer = sc.Analyzer("english", stop_words="english")
    peer = bm25s.BM25(k1=0.9, b=0.4, method=method)
    peer.index(list(map(analyzer.terms, [*TEXTS, *BACKGROUND])), show_progress=False)
    expected = [peer.get_scores(analyzer.terms(text)) for text in QUERIES.texts]
    fitted = named("bm25", k1=0.9, b=0.4, method=method, stop_words="english").fit(
        DOCUMENTS, background=BACKGROUND
    )
    np.testing.assert_allclose(scores(fitted), np.array(expected)[:, : len(TEXTS)], rtol=1e-5)


def test_bm25_of_partners_is_taken_both_ways():
    fitted = from_spec("bm25").fit(DOCUMENTS)
    pair = Documents.of([TEXTS[0], TEXTS[3]])
    one = np.array(fitted.scored(pair, [np.array([0, 3])] * 2))
    expected = (one[0, 1] + one[1, 0]) / (one[0, 0] + one[1, 1])
    assert fitted.paired([TEXTS[0]], [TEXTS[3]])[0] == pytest.approx(expected)


@pytest.mark.parametrize(("by", "peer"), [("bm25", "bm25"), ("cosine", "cosine")])
def test_expansion_by_nothing_is_its_base(by, peer):
    base = from_spec(peer).fit(DOCUMENTS, background=BACKGROUND)
    for nothing in ({"weight": 0.0}, {"max_neighbors": 0}, {"plain": True}):
        fitted = named("expansion", by=by, **nothing).fit(DOCUMENTS, background=BACKGROUND)
        np.testing.assert_allclose(scores(fitted), scores(base), atol=1e-12)
        left, right = TEXTS[:3], TEXTS[3:]
        np.testing.assert_allclose(fitted.paired(left, right), base.paired(left, right))


def test_expansion_asks_for_similar_terms_too():
    source = sc.PairSimilarity([("bike", "bicycle", 0.5), ("tyre", "wheel", 0.25)])
    settings = {"stemmer": None, "k1": 1.2, "b": 0.75}
    expanded = named("expansion", source=source, balanced=False, weight=0.8, **settings)
    base = named("bm25", **settings).fit(DOCUMENTS)
    terms = [["bicycle"], ["tyre"], ["bike"], ["wheel"]]
    own = {word: scores(base, Documents.of([word]))[0] for (word,) in terms}
    found = scores(expanded.fit(DOCUMENTS), Documents.of(["bicycle tyre tyre"]))[0]
    expected = own["bicycle"] + 2 * own["tyre"] + 0.8 * (0.5 * own["bike"] + 0.5 * own["wheel"])
    np.testing.assert_allclose(found, expected)


def test_expansion_asks_for_words_that_no_document_has():
    source = sc.PairSimilarity([("velocipede", "bicycle", 0.5)])
    fitted = named("expansion", source=source, stemmer=None, balanced=False).fit(DOCUMENTS)
    bicycle = named("bm25", stemmer=None).fit(DOCUMENTS)
    np.testing.assert_allclose(
        scores(fitted, Documents.of(["velocipede"])),
        0.5 * scores(bicycle, Documents.of(["bicycle"])),
    )


def test_lsi_with_all_dimensions_is_the_cosine_and_with_few_the_truncated_one():
    cosine = scores(from_spec("cosine:stemmer=none").fit(DOCUMENTS))
    X = unit(counts(TEXTS))  # of queries outside the span of the documents only a part remains
    whole = from_spec("lsi:stemmer=none").fit(DOCUMENTS)
    own = np.array(whole.scored(DOCUMENTS, [ALL] * len(TEXTS)))
    documents = from_spec("cosine:stemmer=none").fit(DOCUMENTS)
    expected = np.array(documents.scored(DOCUMENTS, [ALL] * len(TEXTS)))
    np.testing.assert_allclose(own, expected, atol=1e-9)
    assert (np.sign(scores(whole).round(9)) == np.sign(cosine)).all()
    few = named("lsi", stemmer=None, tf="raw", idf="none", n_components=2).fit(DOCUMENTS)
    _, _, Vt = np.linalg.svd(X)
    D, Q = unit(X @ Vt[:2].T), unit(unit(counts(QUERIES.texts)) @ Vt[:2].T)
    np.testing.assert_allclose(scores(few), Q @ D.T, atol=1e-9)


def test_lda_compares_topics_of_texts():
    from sklearn.decomposition import LatentDirichletAllocation

    X = counts([*TEXTS, *BACKGROUND], WORDS)
    peer = LatentDirichletAllocation(3, random_state=7, max_iter=5).fit(X)
    P, Q = peer.transform(X[: len(TEXTS)]), peer.transform(counts(QUERIES.texts))
    settings = {"stemmer": None, "n_components": 3, "seed": 7, "max_iter": 5}
    fitted = named("lda", **settings).fit(DOCUMENTS, background=BACKGROUND)
    np.testing.assert_allclose(scores(fitted), np.sqrt(Q) @ np.sqrt(P).T, atol=1e-9)
    fitted = named("lda", by="cosine", **settings).fit(DOCUMENTS, background=BACKGROUND)
    np.testing.assert_allclose(scores(fitted), unit(Q) @ unit(P).T, atol=1e-9)


def test_mean_vectors_are_weighted_as_they_say():
    words = sorted({*WORDS, *" ".join([*QUERIES.texts, *BACKGROUND]).split()})
    V, X, Q = vectors_of(words), counts(TEXTS, words), counts(QUERIES.texts, words)
    fitted = from_spec("mean_vector:weights=none").fit(DOCUMENTS)
    np.testing.assert_allclose(scores(fitted), unit(Q @ V) @ unit(X @ V).T, atol=1e-6)
    every = [*TEXTS, *BACKGROUND]
    weights = idf(every, words)[:, None]
    fitted = from_spec("mean_vector").fit(DOCUMENTS, background=BACKGROUND)
    expected = unit(Q @ (weights * V)) @ unit(X @ (weights * V)).T
    np.testing.assert_allclose(scores(fitted), expected, atol=1e-6)
    share = counts(every, words).sum(axis=0) / counts(every, words).sum()
    S = V * (0.01 / (0.01 + share))[:, None]
    means = unit(counts(every, words) @ S)
    common = np.linalg.svd(means)[2][:2]

    def without(points):
        return unit(unit(points) - unit(points) @ common.T @ common)

    spec = "mean_vector:weights=sif,smoothing=0.01,remove_components=2"
    fitted = from_spec(spec).fit(DOCUMENTS, background=BACKGROUND)
    np.testing.assert_allclose(scores(fitted), without(Q @ S) @ without(X @ S).T, atol=1e-6)


def test_vectors_of_words_may_come_from_a_file(tmp_path):
    path = tmp_path / "tiny.vec"
    path.write_text("2 2\nking 1 0\nqueen 0.6 0.8\n")
    fitted = named("mean_vector", vectors=f"vectors:{path}", weights="none").fit(DOCUMENTS)
    assert fitted.note.startswith("12% of the running words")
    found = scores(fitted, Documents.of(["queen"]))[0]
    both = np.array([1.6, 0.8]) / np.hypot(1.6, 0.8)
    expected = [both @ [0.6, 0.8], 0.6, 0, both @ [0.6, 0.8], 0, 0]
    np.testing.assert_allclose(found, expected, atol=1e-6)


def test_gensim_gives_the_soft_cosine_of_its_own_matrix():
    fitted = from_spec("gensim:threshold=0.3,exponent=2").fit(DOCUMENTS)
    table = np.maximum(vectors_of(WORDS) @ vectors_of(WORDS).T, 0)
    known = vectors_of(WORDS).any(axis=1)
    S = np.where(table >= 0.3, table**2, 0) * np.outer(known, known)
    np.fill_diagonal(S, 1)
    tf = counts(TEXTS)
    Y = np.where(tf > 0, 1 + np.log(np.maximum(tf, 1)), 0) * idf(TEXTS)
    tf = counts(QUERIES.texts)
    X = np.where(tf > 0, 1 + np.log(np.maximum(tf, 1)), 0) * idf(TEXTS)
    norms = np.sqrt(np.outer(np.diag(X @ S @ X.T), np.diag(Y @ S @ Y.T)))
    expected = X @ S @ Y.T / norms
    np.testing.assert_allclose(scores(fitted), expected, atol=1e-5)
    partners = [TEXTS[row] for row in (1, 3, 0)]
    np.testing.assert_allclose(
        fitted.paired(QUERIES.texts, partners), expected[[0, 1, 2], [1, 3, 0]], atol=1e-5
    )


def test_gensim_is_refused_what_would_take_it_hours():
    many = Documents.of(["tea"] * 2001)
    with pytest.raises(InvalidInputError, match=r"there are 2,001 documents, .* raise max_docs"):
        from_spec("gensim").fit(many)
    assert from_spec("gensim:max_docs=2001").fit(many).ranked(QUERIES, k=1).numbers[1, 0] == 0


def test_gensim_shows_no_bar_and_warns_of_nothing(capfd):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        from_spec("gensim").fit(DOCUMENTS).ranked(QUERIES, k=1)
    shown = capfd.readouterr()
    assert not shown.out
    assert not re.search(r"\d+%", shown.err)


@pytest.mark.parametrize(
    "name", ["cosine", "bm25", "soft", "expansion", "lsi", "mean_vector", "rwmd", "wmd", "gensim"]
)
def test_terms_that_are_left_out_do_not_come_back_as_new_ones(name):
    texts = ["the tea", "the tyre", "the king", "the queen"]
    fitted = from_spec(f"{name}:max_df=3").fit(Documents.of(texts))
    assert fitted.paired(["the", "the tea"], ["the", "the tea"]).round(9).tolist() == [0, 1]
    fitted = from_spec(f"{name}:min_df=2").fit(Documents.of([*texts, "tea"]))
    assert fitted.paired(["tyre", "tea"], ["tyre", "tea"]).round(9).tolist() == [0, 1]


def test_explanations_of_exact_matches_show_the_words_of_both_texts():
    documents = Documents.of(["Repairing bicycles", "tea"], ["a", "b"])
    told = from_spec("bm25").fit(documents).explained(Documents.of(["bicycle repairs now"]), 0)
    assert {(part.query_word, part.document_word) for part in told.parts} == {
        ("bicycle", "bicycles"),
        ("repairs", "repairing"),
    }
    assert str(told).startswith(f"score {told.score:.4f} (BM25) of document a")
    told = from_spec("cosine").fit(documents).explained(Documents.of(["coffee"]), 0)
    assert (told.score, told.parts) == (0.0, ())
    assert "(cosine)" in told._repr_html_() or "cosine" in told._repr_html_()
