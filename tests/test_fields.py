"""Several fields: each a space of its own, the score the weighted sum of theirs."""

from __future__ import annotations

import math
from unittest.mock import patch

import numpy as np
import pytest
from hypothesis import given
from hypothesis import settings as examples
from hypothesis import strategies as st
from scipy.sparse import csr_array

import strategies as own
from conftest import JIT
from expected import RANKINGS, assert_ranked, scores
from softcosine.errors import IndefiniteMatrixError, InvalidInputError
from softcosine.index.defaults import Field, checked_fields
from softcosine.index.query.query_vectors import QueryVector
from softcosine.index.segment import segment as segments_of
from softcosine.index.soft_index import SoftIndex
from softcosine.text.analyzer import Analyzer
from softcosine.text.vocabulary import Vocabulary
from softcosine.text.weighting import Weighting
from toys import ToySource, same, similarity_matrix, space_of, summed, vector

N_DOCS, N_TERMS = (2500, 40) if JIT else (1100, 12)
RAW = Weighting("raw", "none")


def searcher_of_fields(Xs, weights, S, ranking="soft_cosine", weighting=None, **settings):
    spaces = [
        space_of(X, S, ranking, weighting, field=field, **settings) for field, X in enumerate(Xs)
    ]
    return summed(spaces, weights)


def search(searcher, vectors, **settings):
    """The answer of the fast path, the same as that of the slow one, and its plan's method."""
    (fast,) = searcher.search_batch([vectors], **settings)
    with patch("softcosine.index.spaces.sum.PreparedSum._decides", return_value=False):
        (slow,) = searcher.search_batch([vectors], **settings)
    assert same(fast, slow)
    return fast, fast.plan.method


def random_fields(generator, ranking, weighting, n_fields=3):
    """Fields of counts or weights with ties, empty documents, frequent and rare terms."""
    Xs = []
    for number in range(n_fields):
        values = generator.choice(
            [1, 1, 2, 7] if weighting else [0.3, 0.1 + 0.2, 1.7], (N_DOCS, N_TERMS)
        )
        share = generator.random(N_TERMS) ** (1 + number)  # some terms have columns
        X = np.where(generator.random(values.shape) < share, values, 0).astype(float)
        X[generator.integers(0, N_DOCS, 40)] = X[0]
        X[generator.integers(0, N_DOCS, 200)] = 0
        Xs.append(X)
    return Xs


def random_similarities(generator, n):
    S = np.triu(
        np.where(generator.random((n, n)) < 0.15, np.round(generator.random((n, n)), 2), 0), 1
    )
    return similarity_matrix(S + S.T + np.eye(n))


CASES = [
    *((ranking, Weighting("log", "smooth")) for ranking in RANKINGS),
    ("soft_cosine", Weighting("bm25", "bm25")),
    *((ranking, None) for ranking in RANKINGS[:3]),
]
WEIGHTS = [(1.0, 1.0, 1.0), (2.0, 1.0, 0.25), (1e-6, 1e6, 1.0)]
if not JIT:  # each kind of values that kernels read, once; they see no weights of fields
    CASES, WEIGHTS = CASES[::3], WEIGHTS[1:2]


@pytest.mark.parametrize("weights", WEIGHTS)
@pytest.mark.parametrize(("ranking", "weighting"), CASES)
def test_fast_and_slow_searches_agree_to_the_bit(ranking, weighting, weights):
    generator = np.random.default_rng(5)
    Xs, S = random_fields(generator, ranking, weighting), random_similarities(generator, N_TERMS)
    searcher = searcher_of_fields(Xs, weights, S, ranking, weighting)
    allowed = [generator.random(N_DOCS) < 0.3]
    for n_words in (1, 3, N_TERMS):
        chosen = generator.choice(N_TERMS, n_words, replace=False)
        vectors = []
        for _ in Xs:
            query = np.zeros(N_TERMS)
            query[chosen] = generator.choice([1.0, 1.0, 0.7, 3.3], n_words)
            vectors.append(vector(query))
        for k in (1, 7, 300, N_DOCS + 5):
            top, method = search(searcher, vectors, k=k)
            assert method == "fields"
            assert np.all(top.scores > 0)
            bound = float(top.scores[len(top.scores) // 2])
            for least in (bound, np.nextafter(bound, np.inf), bound / 2):
                found, _ = search(searcher, vectors, k=k, min_score=least)
                kept = top.scores >= least
                if len(top.scores) < k or not kept.all():
                    np.testing.assert_array_equal(found.documents, top.documents[kept])
            search(searcher, vectors, k=k, allowed=allowed)
        every, _ = search(searcher, vectors, k=N_DOCS)
        among, _ = search(searcher, vectors, k=N_DOCS, allowed=allowed)
        np.testing.assert_array_equal(among.documents, every.documents[allowed[0][every.documents]])
        again = searcher.scores(vectors, every.documents[::-1])
        assert again.tobytes() == every.scores[::-1].copy().tobytes()
        together = searcher.search_batch([vectors] * 5, k=9, threads=3)
        assert all(same(one, search(searcher, vectors, k=9)[0]) for one in together)


@pytest.mark.parametrize(("ranking", "weighting"), CASES)
def test_parts_give_the_bits_of_the_whole_and_deleted_documents_are_no_answers(ranking, weighting):
    generator = np.random.default_rng(6)
    Xs, S = random_fields(generator, ranking, weighting, 2), random_similarities(generator, N_TERMS)
    live = generator.random(N_DOCS) < 0.7
    query = [vector(np.where(generator.random(N_TERMS) < 0.2, 1.0, 0.0))] * 2
    for masks in (None, live):
        whole = searcher_of_fields(Xs, (2.0, 1.0), S, ranking, weighting, live=masks)
        cut = searcher_of_fields(
            Xs, (2.0, 1.0), S, ranking, weighting, live=masks, cuts=[1, N_DOCS - 500, N_DOCS - 1]
        )
        for k in (1, 20, N_DOCS):
            for settings in ({}, {"min_score": 0.5}, {"sharing": True}):
                top, _ = search(cut, query, k=k, **settings)
                assert same(top, search(whole, query, k=k, **settings)[0])
                assert masks is None or live[top.documents].all()


@given(
    own.collections(matrices=own.symmetric_matrices),
    st.data(),
    st.sampled_from(RANKINGS),
    st.sampled_from([0.25, 1.0, 8.0]),
    st.sampled_from([1, 2, 20]),
)
def test_a_score_is_the_weighted_sum_of_the_fields_scores(c, data, ranking, weight, k):
    other = data.draw(own.counts(c.n_docs, c.n_terms))
    S = similarity_matrix(c.S)
    searcher = searcher_of_fields([c.counts, other], (weight, 1.0), S, ranking, RAW)
    truth = weight * scores(ranking, c.queries, c.counts, c.S) + scores(
        ranking, c.queries, other, c.S
    )
    for counts, expected in zip(c.queries, truth, strict=True):
        vectors = []
        for _, one in searcher.ranking.summands:
            terms = np.flatnonzero(counts)
            vectors.append(
                QueryVector(terms.astype(np.int32), counts[terms] * one.ranking.term_weights[terms])
            )
        top, _ = search(searcher, vectors, k=k)
        n_sure = np.count_nonzero(expected > 1e-9 * max(1.0, expected.max()))
        assert len(top.documents) >= min(k, n_sure)
        assert_ranked(top.documents.tolist(), top.scores.tolist(), expected, k=len(top.documents))


@pytest.mark.parametrize("span", [1e-5, 1e-12, 1e-18, 1e-22, 1e-28, 1e-36])
def test_no_answer_is_lost_where_one_field_counts_far_less_than_another(span):
    # Document 0 has its score from the small field alone, and that from a rare and a light term.
    generator = np.random.default_rng(0)
    X = generator.choice([0.0, 0.5, 1.0], (50, 4))
    small = generator.choice([0.0, span, 1.0], (50, 4))
    X[0], small[0] = 0, [span, 0, 0, 0]
    searcher = searcher_of_fields(
        [X, small], (1e6, 1e-6), similarity_matrix(np.eye(4)), "inner_product"
    )
    for query in ([1, 1, 0, 0], [1e-9, 1, 0, 0]):
        top, method = search(searcher, [vector(query), vector(query)], k=50)
        assert 0 in top.documents
        if query[0] == 1 and span == 1e-5:
            assert method == "fields"
        if span < 1e-18:
            assert method == "all"


def test_a_field_that_float32_cannot_tell_makes_every_document_be_scored():
    S = similarity_matrix([[1, -0.5], [-0.5, 1]])
    searcher = searcher_of_fields([[[1, 0], [0, 1]], [[0, 1], [1, 1]]], (1.0, 1.0), S)
    top, method = search(searcher, [vector([1, 0])] * 2, k=2)
    assert method == "all"
    assert top.documents.tolist() == [0]
    # Where no document can have a score, none is looked at.
    top, method = search(searcher, [vector([0, 0])] * 2, k=2)
    assert (len(top.documents), method) == (0, "nothing")


def test_plans_of_fields_say_what_was_done():
    S = similarity_matrix(np.eye(2))
    searcher = searcher_of_fields([[[1, 0], [0, 1]], [[0, 1], [1, 1]]], (1.0, 1.0), S)
    (top,) = searcher.search_batch([[vector([1, 0])] * 2], k=2)
    assert top.plan.method == "fields"
    assert top.plan.reason


def test_a_refused_query_leaves_no_trace():
    S = similarity_matrix(np.eye(3) - 0.9 * (1 - np.eye(3)))
    searcher = searcher_of_fields([[[1, 0, 0], [0, 1, 0]]] * 2, (1.0, 2.0), S)
    before, _ = search(searcher, [vector([1, 0, 0])] * 2, k=2)
    for _ in range(3):
        with pytest.raises(IndefiniteMatrixError):
            searcher.search_batch([[vector([1, 0, 0]), vector([1, 1, 1])]], k=2)
        assert same(before, search(searcher, [vector([1, 0, 0])] * 2, k=2)[0])


# --- Indexes ------------------------------------------------------------------------------------

SOURCE = ToySource({("tea", "coffee"): 0.5, ("mocha", "coffee"): 0.75, ("car", "bus"): 0.5})
WORDS = ("bus", "car", "coffee", "tea", "zebra")
FIELDS = {"title": 2.0, "body": 1.0, "notes": 0.5}

pieces = st.lists(st.sampled_from(WORDS), max_size=4).map(" ".join)
documents = st.lists(
    st.fixed_dictionaries({}, optional=dict.fromkeys(FIELDS, pieces)), min_size=1, max_size=6
)
queries = st.lists(st.sampled_from([*WORDS, "mocha", "nobody"]), max_size=5).map(" ".join)


def index_of(texts, **settings):
    return SoftIndex.from_texts(
        texts,
        **{"fields": FIELDS, "analyzer": Analyzer(), "source": SOURCE, "encoder": None, **settings},
    )


def texts_of(texts, name):
    return [text.get(name, "") for text in texts]


@given(documents, queries, st.sampled_from(RANKINGS))
def test_an_index_of_fields_sums_up_the_scores_of_indexes_of_each(texts, query, ranking):
    index = index_of(texts, ranking=ranking)
    assert index.fields == tuple(Field(name, weight) for name, weight in FIELDS.items())
    total = np.zeros(len(texts))
    for name, weight in FIELDS.items():
        alone = SoftIndex.from_texts(
            texts_of(texts, name), S=index.S, analyzer=Analyzer(), ranking=ranking
        ).with_similarity(index.S, source=SOURCE)
        for hit in alone.search(query, k=99):
            total[hit.number] += weight * hit.score
    hits = index.search(query, k=99)
    order = np.lexsort((np.arange(len(texts)), -total))
    expected = [(int(d), float(total[d])) for d in order if total[d] > 0]
    assert [(hit.number, hit.score) for hit in hits] == expected
    assert [hit.text for hit in hits] == [
        "\n".join(texts[hit.number].get(name, "") for name in FIELDS) for hit in hits
    ]


@given(documents, queries, st.sampled_from(RANKINGS))
def test_explanations_say_in_which_field_words_stand(texts, query, ranking):
    index = index_of(texts, ranking=ranking)
    found = {hit.number: hit.score for hit in index.search(query, k=99)}
    for number, text in enumerate(texts):
        why = index.explain(query, str(number))
        assert why.score == found.get(number, 0)
        assert math.fsum(part.contribution for part in why.parts) == pytest.approx(
            why.score, abs=1e-9
        )
        for part in why.parts:
            assert part.document_word in text[part.field].split()
            assert part.query_word in query.split()
        keys = [(part.field, part.query_word, part.document_word) for part in why.parts]
        assert len(keys) == len(set(keys))
        assert {name for name, *_ in keys} == {name for one in why.words for name in one.fields}


@given(documents, st.sampled_from(RANKINGS))
def test_documents_are_compared_field_by_field(texts, ranking):
    index = index_of(texts, weighting=RAW)
    ids = [str(number) for number in range(len(texts))]
    for number, text in enumerate(texts):
        similar = {hit.id: hit.score for hit in index.similar(str(number), k=99)}
        assert str(number) not in similar
        itself = index.explain_similar(ids[number], ids[number])
        filled = sum(weight for name, weight in FIELDS.items() if text.get(name))
        assert itself.score == pytest.approx(filled)
        for other in ids:
            why = index.explain_similar(ids[number], other)
            assert why.score == pytest.approx(index.explain_similar(other, ids[number]).score)
            assert other == ids[number] or why.score == similar.get(other, 0.0)
            total = math.fsum(part.contribution for part in why.parts)
            assert total == pytest.approx(why.score, abs=1e-9)
        index.similar(str(number), ranking=ranking)


@examples(max_examples=12)  # each writes files
@given(documents, queries, st.sampled_from([1, 2, 3]))
def test_segments_and_files_change_no_bit(example_folder, texts, query, size):
    whole = index_of(texts)
    with patch.object(segments_of, "MAX_DOCS", size):
        cut = index_of(texts)
    assert len(cut.snapshot.segments) == max(1, -(-len(texts) // size))
    path = example_folder() / "index"
    cut.save(path)
    opened = SoftIndex.open(path, source=SOURCE)
    assert opened.fields == whole.fields
    for asked in (query, f'"{query}"', f"{query} +tea -car"):
        for asking in (
            {"syntax": True},
            {"k": 2, "offset": 1},
            {"expand": False},
        ):
            expected = whole.search(asked, **asking)
            assert list(cut.search(asked, **asking)) == list(expected)
            assert list(opened.search(asked, **asking)) == list(expected)


def test_a_phrase_stands_in_one_field():
    texts = [
        {"title": "flat", "body": "tyre flat"},
        {"title": "a flat tyre"},
        {"title": "tyre", "notes": "my flat tyre is a tyre"},
    ]
    index = index_of(texts)
    assert set(index.search('"flat tyre"').ids) == {"1", "2"}
    assert set(index.search('flat -"flat tyre"').ids) == {"0"}
    assert index.search('"tyre flat"').ids == ["0"]
    assert set(index.search("+flat +tyre", syntax=True).ids) == {"0", "1", "2"}
    stop = index_of(texts, analyzer=Analyzer(stop_words=["a", "is"]))
    assert stop.search('"tyre is a tyre"').ids == ["2"]
    assert stop.search('"tyre tyre"').ids == []


def test_frequencies_are_counted_by_field_and_limits_by_document():
    texts = [{"title": "tea", "body": "tea tea car"}, {"body": "tea"}, {"title": "car"}]
    index = index_of(texts)
    title, body, notes = index.snapshot.statistics
    number = index.vocabulary.index("tea")
    assert [one.document_frequencies[number] for one in (title, body, notes)] == [1, 2, 0]
    assert [one.n_docs for one in (title, body, notes)] == [3, 3, 3]
    assert index.vocabulary.document_frequencies[number] == 2
    assert index.vocabulary.n_docs == 3
    assert index_of(texts, max_df=1).vocabulary.terms == ()
    assert index_of([*texts, {"title": "zebra", "body": "zebra"}], min_df=2).vocabulary.terms == (
        "car",
        "tea",
    )


@given(st.lists(pieces, min_size=1, max_size=5), queries, st.sampled_from(RANKINGS))
def test_a_single_named_field_is_the_text_itself(texts, query, ranking):
    settings = {"analyzer": Analyzer(), "source": SOURCE, "ranking": ranking, "encoder": None}
    plain = SoftIndex.from_texts(texts, **settings)
    named = SoftIndex.from_texts([{"body": text} for text in texts], fields=["body"], **settings)
    assert [field.name for field in named.fields] == ["body"]
    assert list(named.search(query)) == list(plain.search(query))
    doubled = SoftIndex.from_texts(
        [{"body": text} for text in texts], fields={"body": 2}, **settings
    )
    assert [hit.score for hit in doubled.search(query)] == [
        2 * hit.score for hit in plain.search(query)
    ]


def test_views_of_an_explanation_name_the_fields():
    why = index_of([{"title": "tea", "body": "tea & car"}]).explain("tea bus", "0")
    assert {part.field for part in why.parts} == {"title", "body"}
    for view in (str(why), why._repr_html_()):
        assert "tea in title, body" in view
        assert "car in body" in view
    pytest.importorskip("pandas")
    assert why.to_pandas()["field"].tolist() == [part.field for part in why.parts]


def test_snippets_show_words_of_any_field():
    index = index_of([{"title": "A cup", "body": "tea in a red car"}])
    (hit,) = index.search("bus tea cup")
    assert (hit.title, hit.snippet.text) == ("A cup", "tea in a red car")
    assert {hit.snippet.text[m.start : m.end]: m.kind for m in hit.snippet.marks} == {
        "tea": "exact",
        "car": "near",
    }


def test_default_settings_read_fields_too():
    texts = [{"title": "Flat tyre", "body": "How to repair a bicycle"}, {"body": "tea is cold"}]
    index = SoftIndex.from_texts(texts, fields=["title", "body"])
    assert index.search("bike tires").ids == ["0"]
    told = []
    SoftIndex.from_texts(texts, fields=["title", "body"], progress=lambda *step: told.append(step))
    assert ("reading texts", 2, None) in told


@pytest.mark.parametrize("n_docs", [0, 1])
@pytest.mark.parametrize("ranking", RANKINGS)
def test_fields_without_words_find_nothing(n_docs, ranking, tmp_path):
    index = index_of([{}] * n_docs, ranking=ranking)
    index.save(tmp_path / "index")
    for one in (index, SoftIndex.open(tmp_path / "index")):
        assert len(one) == n_docs
        assert not one.search("tea")
        assert not one.search('"green tea" -car', syntax=True)


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({}, "such as"),
        ("title", "such as"),
        ({"title", "body"}, "in order"),
        (3, "a mapping of names to weights"),
        (["title", "title"], "that are distinct"),
        ({"": 1}, "a name is a string"),
        ({1: 1}, "a name is a string"),
        ({"title": 0}, "weight of field 'title' is 0; it must be a number from"),
        ({"title": -1}, "it must be a number"),
        ({"title": np.nan}, "it must be a number"),
        ({"title": 1e7}, "it must be a number"),
        ({"title": "2"}, "it must be a number"),
        ({"title": True}, "it must be a number"),
    ],
)
def test_bad_fields_are_named(fields, message):
    with pytest.raises(InvalidInputError, match=message):
        checked_fields(fields)
    with pytest.raises(InvalidInputError, match=message):
        SoftIndex.from_texts([{"title": "tea"}], fields=fields)


@pytest.mark.parametrize(
    ("texts", "message"),
    [
        (
            ["tea"],
            "document '0' is of type str; this index has the fields 'title', 'body'",
        ),
        ([{}, ["tea"]], "document '1' is of type list"),
        (
            [{"title": "tea"}, {"tittle": "x"}],
            "document '1' has a field 'tittle', and the index",
        ),
        ([{"title": None}], "field 'title' of document '0' is"),
        ([{"title": ["tea"]}], "field 'title' of document '0' is of type list"),
        ({"title": "tea"}, "texts is of type dict"),
        ("tea", "texts is a single string"),
        (None, "texts is"),
    ],
)
def test_documents_that_do_not_fit_the_fields_are_named(texts, message):
    with pytest.raises(InvalidInputError, match=message):
        SoftIndex.from_texts(texts, fields=["title", "body"])


def test_fields_need_fields():
    with pytest.raises(InvalidInputError, match="document '0' has a field 'title'"):
        SoftIndex.from_texts([{"title": "tea"}])


def test_weights_become_numbers_of_python():
    (field,) = checked_fields({"title": np.int64(2)})
    assert type(field.weight) is float
    assert checked_fields(None) == (Field("text"),)


def test_an_indefinite_matrix_is_found_whatever_the_field():
    S = np.eye(3) - 0.9 * (1 - np.eye(3))
    with pytest.raises(IndefiniteMatrixError):
        SoftIndex.from_texts(
            [{"body": "a b c"}], fields=["title", "body"], analyzer=Analyzer(),
            S=similarity_matrix(S, Vocabulary(["a", "b", "c"])), ranking="soft_cosine",
        )  # fmt: skip


def test_matrices_of_fields_are_of_one_shape():
    searcher = searcher_of_fields([csr_array((2, 2))] * 2, (1.0, 1.0), similarity_matrix(np.eye(2)))
    (top,) = searcher.search_batch([[vector([1, 1])] * 2], k=3)
    assert (len(top.documents), top.plan.method) == (0, "fields")


WORDS = st.sampled_from(("tea", "car", "cars", "the", "ship", "automobile", "x1", "zzz"))
SENTENCES = st.lists(WORDS, max_size=5).map(" ".join)
ROWS = st.lists(st.tuples(SENTENCES, SENTENCES), min_size=1, max_size=6)


def of_fields(rows, weights):
    texts = [{"title": title, "text": text} for title, text in rows]
    source = ToySource({("car", "automobile"): 0.5, ("ship", "automobile"): 0.25})
    return SoftIndex.from_texts(
        texts, fields=weights, source=source, language="english", encoder=None
    )


@given(ROWS, SENTENCES, SENTENCES, st.sampled_from(RANKINGS), st.sampled_from([None, 1, 2]))
def test_a_text_for_each_field_is_compared_with_that_field_alone(
    rows, title, text, ranking, max_terms
):
    weights = {"title": 2.0, "text": 0.5}
    index = of_fields(rows, weights)
    ids = list(index)
    options = {"ranking": ranking, "max_terms": max_terms}
    found = index.scores({"title": title, "text": text}, ids, **options)
    expected = np.zeros(len(rows))
    for number, (name, query) in enumerate((("title", title), ("text", text))):
        alone = SoftIndex.from_texts(
            [row[number] for row in rows], S=index.S, analyzer=index.analyzer, language="english"
        ).with_similarity(index.S, source=index.source)  # fmt: skip
        expected += weights[name] * alone.scores(query, ids, syntax=False, **options)
    np.testing.assert_array_equal(found, expected)
    hits = index.search({"title": title, "text": text}, k=9, **options)
    assert {hit.id: hit.score for hit in hits} == {
        id: score for id, score in zip(ids, found, strict=True) if score > 0
    }
    for hit in hits:
        told = index.explain({"title": title, "text": text}, hit.id, **options)
        assert told.score == hit.score


@given(ROWS, SENTENCES, st.sampled_from(RANKINGS))
def test_scores_are_those_of_a_search_and_other_weights_share_the_postings(rows, query, ranking):
    index = of_fields(rows, {"title": 1.0, "text": 1.0}).with_fields({"text": 0.5, "title": 2.0})
    anew = of_fields(rows, {"title": 2.0, "text": 0.5})
    assert index.fields == anew.fields
    scores = index.scores(query, list(index), ranking=ranking)
    assert scores.tolist() == anew.scores(query, list(index), ranking=ranking).tolist()
    hits = {hit.id: hit.score for hit in index.search(query, k=9, ranking=ranking)}
    assert hits == {id: s for id, s in zip(index, scores.tolist(), strict=True) if s > 0}
    (top,) = index.ranked([query], k=9, ranking=ranking)
    assert [index.documents.id(n) for n in top.documents] == [*hits]
    assert top.scores.tolist() == [*hits.values()]


def test_wrong_fields_and_ids_are_named():
    index = of_fields([("tea", "car")], {"title": 1.0, "text": 1.0})
    with pytest.raises(InvalidInputError, match="has a field 'body', and the index has title, te"):
        index.search({"body": "tea"})
    with pytest.raises(InvalidInputError, match="weights are of title, and the index has the fiel"):
        index.with_fields({"title": 2.0})
    with pytest.raises(KeyError):
        index.scores("tea", ["nobody"])
    with pytest.raises(InvalidInputError, match="ids is a single string"):
        index.scores("tea", "0")
