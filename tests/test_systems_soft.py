"""The soft systems are the package's own index, search and measures."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import softcosine as sc
from softcosine.errors import InvalidInputError
from softcosine.evaluate.documents import Documents
from softcosine.evaluate.systems import from_spec, named

TEXTS = [
    "the king is dead and the queen lives in the castle",
    "a flat tyre on the bicycle of the monarch",
    "repairing the puncture of a bike wheel",
    "killed by the crown",
    "the queen drinks hot tea",
    "wheels of cars and bikes",
]
DOCUMENTS = Documents.of(TEXTS, list("abcdef"))
QUERIES = Documents.of(["bicycle repair", "who murdered the king", "a hot drink +tea -cold"])
ALL = np.arange(len(TEXTS))
TITLED = Documents(
    tuple("abcdef"),
    {"title": [text.split()[-1] for text in TEXTS], "text": TEXTS},
)


def scores(fitted, queries=QUERIES):
    return np.array(fitted.scored(queries, [ALL] * len(queries)))


def check_ranks_as(fitted, index):
    """Check rankings and scores, those of documents without words of the query too."""
    ranked = fitted.ranked(QUERIES, k=len(TEXTS))
    for row, text in enumerate(QUERIES.texts):
        hits = index.search(text, k=len(TEXTS), syntax=False, max_terms=None)
        assert ranked.numbers[row][: len(hits)].tolist() == [hit.number for hit in hits]
        assert ranked.scores[row][: len(hits)].tolist() == [hit.score for hit in hits]
        assert (ranked.numbers[row][len(hits) :] == -1).all()
        own = index.scores(text, [str(n) for n in ALL], syntax=False, max_terms=None)
        np.testing.assert_array_equal(scores(fitted)[row], own)


def test_by_default_it_is_what_soft_index_does():
    fitted = from_spec("soft").fit(DOCUMENTS)
    index = sc.SoftIndex.from_texts(TEXTS)
    check_ranks_as(fitted, index)
    assert fitted.note == index.note
    assert index.snapshot.n_encoded == len(TEXTS)


@pytest.mark.parametrize(
    ("spec", "settings"),
    [
        ("soft_cosine", {"ranking": "soft_cosine"}),
        ("soft:encoder=none", {"encoder": None}),
        ("soft:meaning=3", {"meaning": 3.0}),
        ("soft:language=none", {"language": "none"}),
        ("soft:plain=true", {"plain": True}),
        ("soft:tf=raw,idf=none,ranking=inner_product", {
            "weighting": sc.Weighting("raw", "none", 1.6, 0.75), "ranking": "inner_product",
        }),
        ("soft:k1=0.9,b=0.4", {"weighting": sc.Weighting("log", "smooth", 0.9, 0.4)}),
        ("soft:max_neighbors=2", {"max_neighbors": 2}),
        ("soft:stemmer=none,stop_words=english", {"analyzer": sc.Analyzer(stop_words="english")}),
        ("soft:stemmer=english,max_ngram=2,min_df=2", {
            "analyzer": sc.Analyzer("english", max_ngram=2), "min_df": 2,
        }),
        ("soft:sources=english,exponent=2,threshold=0.2", {
            "source": sc.EmbeddingSimilarity.english(threshold=0.2, exponent=2),
        }),
        ("soft:sources=edit-distance+english,join=first", {
            "source": sc.first(sc.EditDistanceSimilarity(), sc.EmbeddingSimilarity.english()),
        }),
        ("soft:sources=edit-distance+english,join=strongest", {
            "source": sc.strongest(sc.EditDistanceSimilarity(), sc.EmbeddingSimilarity.english()),
        }),
    ],
)  # fmt: skip
def test_settings_are_those_of_soft_index(spec, settings):
    index = sc.SoftIndex.from_texts(TEXTS, **settings)
    check_ranks_as(from_spec(spec).fit(DOCUMENTS), index)


def test_other_rules_of_s_are_those_of_from_source():
    spec = "soft:sources=english,strategy=dominant,order=idf,min_similarity=0.05,guard=false"
    fitted = from_spec(spec).fit(DOCUMENTS)
    S = sc.TermSimilarityMatrix.from_source(
        sc.EmbeddingSimilarity.english(), fitted.index.vocabulary, strategy="dominant",
        order="idf", min_similarity=0.05, guard=False,
    )  # fmt: skip
    assert (fitted.index.S.to_scipy() != S.to_scipy()).nnz == 0
    given_way = from_spec("soft:sources=english,definite=true,balanced=false").fit(DOCUMENTS)
    S = sc.TermSimilarityMatrix.from_source(
        sc.EmbeddingSimilarity.english(), fitted.index.vocabulary, definite=True
    )
    assert (given_way.index.S.to_scipy() != S.to_scipy()).nnz == 0


def test_the_default_source_takes_another_exponent():
    weak, strong = (from_spec(f"soft:exponent={e}").fit(DOCUMENTS).index.S for e in (8, 2))
    assert 0 < weak.to_scipy().sum() - len(weak) < strong.to_scipy().sum() - len(strong)


def test_a_source_may_be_given_or_made_of_the_texts():
    source = sc.PairSimilarity([("bicycl", "bike", 0.9)])
    seen = []

    def make(texts):
        seen.append(texts)
        return source

    given, made = named("soft", source=source), named("soft", source=make, label="mine")
    assert given.name == "soft:source=PairSimilarity"
    np.testing.assert_array_equal(
        scores(given.fit(DOCUMENTS)), scores(made.fit(DOCUMENTS, background=()))
    )
    made.fit(DOCUMENTS, background=["more to learn from"])
    assert [texts.n_docs for texts in seen] == [6, 7]
    with pytest.raises(InvalidInputError, match="are of sources that are named; give the source"):
        named("soft", source=source, exponent=2)


def test_the_background_counts_in_the_statistics_and_teaches():
    fitted = from_spec("cosine").fit(DOCUMENTS, background=["tyre"] * 5)
    soft = from_spec("soft_cosine:plain=true,keep_stop_words=true").fit(
        DOCUMENTS, background=["tyre"] * 5
    )
    np.testing.assert_allclose(scores(soft), scores(fitted), atol=1e-12)
    assert not np.allclose(scores(soft), scores(from_spec("cosine").fit(DOCUMENTS)))


def test_only_documents_that_share_a_term_are_found_without_expansion():
    near = Documents.of(["bicycle"])
    whole, shared = (from_spec(f"soft:expand={e}").fit(DOCUMENTS) for e in ("true", "false"))
    assert set(shared.ranked(near, k=6).numbers[0].tolist()) == {1, -1}
    assert {1, 2, 5} <= set(whole.ranked(near, k=6).numbers[0].tolist())
    np.testing.assert_array_equal(scores(whole, near), scores(shared, near))


def test_long_queries_are_cut_as_the_index_cuts_them():
    fitted = from_spec("soft:max_terms=2").fit(DOCUMENTS)
    index = sc.SoftIndex.from_texts(TEXTS)
    expected = [index.search(text, k=9, syntax=False, max_terms=2) for text in QUERIES.texts]
    for row, hits in enumerate(expected):
        numbers = fitted.ranked(QUERIES, k=len(hits)).numbers[row]
        assert numbers.tolist() == [hit.number for hit in hits]
    told = fitted.explained(QUERIES.taken([1]), 0)
    assert sum(part.contribution for part in told.parts) == pytest.approx(told.score)


def test_fields_are_spaces_of_their_own():
    fitted = from_spec("soft:fields=title:2+text:1").fit(TITLED)
    texts = [
        {"title": title, "text": text}
        for title, text in zip(TITLED.fields["title"], TEXTS, strict=True)
    ]
    index = sc.SoftIndex.from_texts(texts, fields={"title": 2, "text": 1})
    check_ranks_as(fitted, index)
    told = fitted.explained(QUERIES.taken([0]), 2)
    assert {part.field for part in told.parts if part.field} == {"title", "text"}
    assert told.score == scores(fitted)[0, 2]
    with_background = from_spec("soft:fields=title+text").fit(TITLED, background=["a bike"])
    assert with_background.ranked(QUERIES, k=9).numbers.max() < len(TEXTS)


def test_fields_may_be_compared_with_the_same_fields_of_queries():
    queries = Documents(("q",), {"title": ["wheel"], "text": ["the queen"]})
    fitted = from_spec("soft:fields=title+text,match=fields,plain=true").fit(TITLED)
    whole = from_spec("soft:fields=title+text,plain=true").fit(TITLED)
    of_titles = from_spec("soft:fields=title,plain=true").fit(TITLED)
    of_texts = from_spec("soft:fields=text,plain=true").fit(TITLED)
    wheel, queen = Documents.of(["wheel"]), Documents.of(["the queen"])
    np.testing.assert_allclose(
        scores(fitted, queries), scores(of_titles, wheel) + scores(of_texts, queen)
    )
    assert not np.allclose(scores(fitted, queries), scores(whole, queries))


def test_fields_that_documents_lack_are_named():
    with pytest.raises(InvalidInputError, match="the field 'body', and the documents have title"):
        from_spec("soft:fields=body").fit(TITLED)


def test_partners_are_compared_by_soft_cosine_over_new_words_too():
    fitted = from_spec("soft:sources=english").fit(DOCUMENTS)
    left = ["a kitten in the castle", "the king is dead", "unseen words"]
    right = ["the cat", "the king is dead", "words that nobody has seen"]
    found = fitted.paired(left, right)
    assert found[1] == pytest.approx(1.0)
    assert found[0] > from_spec("cosine").fit(DOCUMENTS).paired(left, right)[0] + 0.1
    known = ["the king is dead", "a flat tyre"], ["the queen lives", "wheels of bikes"]
    index = fitted.index
    X, Y = (
        index.weighting.transform(
            np.array([[sc.Analyzer("english").terms(text).count(term)
                       for term in index.vocabulary.terms] for text in texts]),
            document_frequencies=index.vocabulary.document_frequencies, n_docs=len(TEXTS),
        )
        for texts in known
    )  # fmt: skip
    expected = np.diag(sc.soft_cosine_similarity(X, Y, index.S))
    np.testing.assert_allclose(fitted.paired(*known), expected)


WORDS = st.sampled_from(["tea", "cup", "the", "a", "kettle", "pot", "unheard"])
SENTENCES = st.lists(WORDS, max_size=8).map(" ".join)


@given(
    st.lists(SENTENCES, min_size=1, max_size=8),
    st.lists(SENTENCES, min_size=1, max_size=3),
    st.sampled_from([(1.2, 0.75), (0.9, 0.4), (0.0, 0.0), (2.0, 1.0)]),
)
def test_soft_bm25_without_similarities_ranks_as_bm25s(texts, queries, settings):
    k1, b = settings
    documents, asked = Documents.of(texts), Documents.of(queries)
    candidates = [np.arange(len(texts))] * len(queries)
    plain = named("soft", plain=True, k1=k1, b=b, stemmer=None, keep_stop_words=True).fit(documents)
    peer = named("bm25", k1=k1, b=b, stemmer=None).fit(documents)
    ours, theirs = (np.array(one.scored(asked, candidates)) for one in (plain, peer))
    # Lucene leaves the factor k1 + 1 out, which is the same for all documents.
    np.testing.assert_allclose(ours, (k1 + 1) * theirs, atol=1e-12)
    for row, numbers in enumerate(plain.ranked(asked, k=len(texts)).numbers):
        found = numbers[numbers >= 0]
        other = peer.ranked(asked, k=len(texts)).numbers[row]
        np.testing.assert_allclose(theirs[row][found], theirs[row][other[other >= 0]], atol=1e-12)


@given(
    st.lists(SENTENCES, min_size=1, max_size=8),
    st.lists(SENTENCES, min_size=1, max_size=3),
    st.sampled_from(["raw", "log", "binary"]),
    st.sampled_from(["none", "smooth", "bm25"]),
)
def test_soft_cosine_without_similarities_is_the_cosine(texts, queries, tf, idf):
    documents, asked = Documents.of(texts), Documents.of(queries)
    candidates = [np.arange(len(texts))] * len(queries)
    plain = named("soft_cosine", plain=True, tf=tf, idf=idf, keep_stop_words=True).fit(documents)
    peer = named("cosine", tf=tf, idf=idf).fit(documents)
    np.testing.assert_allclose(
        plain.scored(asked, candidates), peer.scored(asked, candidates), atol=1e-12
    )
    partners = [texts[0]] * len(queries)
    np.testing.assert_allclose(
        plain.paired(queries, partners), peer.paired(queries, partners), atol=1e-12
    )
