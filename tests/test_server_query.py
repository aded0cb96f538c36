"""Queries of boosted words for servers: scores by Lucene's BM25 are those of soft BM25."""

from __future__ import annotations

import json
import math
from collections import Counter

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from softcosine.errors import InvalidInputError
from softcosine.index.search.server_query import SERVERS
from softcosine.index.soft_index import SoftIndex
from softcosine.text.analyzer import Analyzer
from softcosine.text.weighting import Weighting
from toys import ToySource, similarity_matrix

WORDS = ["tyre", "tire", "wheel", "tea", "pot", "cup"]
SOURCE = ToySource(
    {("tyre", "tire"): 0.9, ("tyre", "wheel"): 0.5, ("tire", "wheel"): 0.4, ("tea", "cup"): 0.3,
     ("rubber", "tyre"): 0.6},
    known=WORDS,
)  # fmt: skip
TEXTS = st.lists(
    st.lists(st.sampled_from(WORDS), max_size=8).map(" ".join), min_size=1, max_size=8
).filter(lambda texts: any(texts))


def lucene_bm25(texts, words, *, factor, k1=1.2, b=0.75):
    """Scores of boosted words, written from the formula of Lucene's BM25Similarity."""
    bags = [Counter(text.split()) for text in texts]
    average = sum(sum(bag.values()) for bag in bags) / len(bags)
    scores = np.zeros(len(bags))
    for word in words:
        n = sum(word.text in bag for bag in bags)
        idf = math.log(1 + (len(bags) - n + 0.5) / (n + 0.5))
        for i, bag in enumerate(bags):
            length = k1 * (1 - b + b * sum(bag.values()) / average)
            tf = bag[word.text] / (bag[word.text] + length) if bag[word.text] else 0.0
            scores[i] += word.boost * idf * tf * (k1 + 1 if factor else 1)
    return scores


def index_of(texts, **settings):
    settings = {"analyzer": Analyzer(), "source": SOURCE, "weighting": Weighting(), **settings}
    return SoftIndex.from_texts(texts, ids=[str(i) for i in range(len(texts))], **settings)


def plain_index(texts, **settings):
    return SoftIndex.from_texts(texts, **{"plain": True, "weighting": Weighting(), **settings})


@given(TEXTS, st.lists(st.sampled_from([*WORDS, "rubber"]), min_size=1, max_size=4))
def test_the_servers_scores_are_those_of_soft_bm25(texts, query):
    index = index_of(texts)
    for to, takes_json in SERVERS.items():
        sent = index.expand(" ".join(query), to=to, max_terms=None)
        scores = lucene_bm25(texts, sent.words, factor=takes_json)
        found = index.search(" ".join(query), k=100, ranking="soft_bm25", ask="words")
        own = {hit.id: hit.score for hit in found}
        wanted = [own.get(str(i), 0.0) for i in range(len(texts))]
        np.testing.assert_allclose(scores, wanted, rtol=1e-6, atol=1e-9)
        assert sent.n_left_out == 0


def test_the_factor_of_bm25_changes_all_boosts_alike():
    index = index_of(["tyre", "tea cup"])
    with_factor, without = (
        index.expand("tire", to="opensearch", k1_factor=given).words for given in (True, False)
    )
    assert [one.boost * 2.2 for one in with_factor] == pytest.approx(
        [one.boost for one in without], rel=1e-6
    )


def test_own_words_and_the_heaviest_others_are_sent():
    index = index_of([" ".join(WORDS), "tea"])
    assert [one.text for one in index.expand("tyre", to="lucene").words] == [
        "tyre",
        "tire",
        "wheel",
    ]
    few = index.expand("tyre", to="lucene", max_terms=1)
    assert [one.text for one in few.words] == ["tyre", "tire"]
    assert (few.n_terms, few.n_left_out) == (3, 1)


def test_operators_become_filters():
    index = plain_index(["a flat tyre", "tea"])
    body = index.expand(
        'flat +tyre -tea "flat tyre"^2 -"green tea"', syntax=True, to="elasticsearch"
    ).body
    clauses = body["query"]["bool"]
    assert clauses["minimum_should_match"] == 1
    assert clauses["filter"] == [
        {"term": {"text": {"value": "tyre"}}},
        {"match_phrase": {"text": {"query": "flat tyre"}}},
    ]
    assert clauses["must_not"] == [
        {"term": {"text": {"value": "tea"}}},
        {"match_phrase": {"text": {"query": "green tea"}}},
    ]
    several = index.expand("-e-mail tyre", syntax=True, to="opensearch").body["query"]["bool"][
        "must_not"
    ]
    assert several == [
        {"bool": {"filter": [{"term": {"text": {"value": word}}} for word in ("e", "mail")]}}
    ]
    text = index.expand('tyre +flat -"green tea" -e-mail', syntax=True, to="solr", field="body")
    assert str(text) == (
        '+(body:flat^2.2 body:tyre^2.2) +(body:flat)^0 -(body:"green tea") '
        "-(+(body:e)^0 +(body:mail)^0)"
    )
    plain = index.expand("-tea tyre", to="lucene", syntax=False)
    assert {one.text for one in plain.words} == {"tea", "tyre"}


def test_texts_to_paste_are_json_or_lucenes_syntax():
    index = plain_index(["c++ 5:1 a/b", "the tea"], analyzer=Analyzer())
    tokens = ["c++", "5:1", 'a"b', "AND", "tea"]
    sent = index.expand(tokens, to="lucene", field="my field:x", keep_stop_words=True)
    escaped = (r"c\+\+", r"5\:1", r"a\"b", r"\AND", "tea")
    clauses = {rf"my\ field\:x:{word}^2.2" for word in escaped}
    assert set(str(sent).replace("\\ ", "\\_").split()) == {
        one.replace("\\ ", "\\_") for one in clauses
    }
    made = index.expand("tea", to="elasticsearch")
    assert json.loads(str(made)) == made.body
    with pytest.raises(InvalidInputError, match="Lucene's query syntax"):
        _ = sent.body


def test_stems_are_sent_as_terms_or_as_forms():
    index = plain_index(["the tyres of cities", "a tyre"], analyzer=Analyzer("english"))
    sent = {
        words: index.expand("+tyre city unknowns", syntax=True, to="elasticsearch", words=words)
        for words in ("terms", "forms", "analyzed")
    }
    assert {kind: {one.text for one in query.words} for kind, query in sent.items()} == {
        "terms": {"tyre", "citi", "unknown"},
        "forms": {"tyre", "tyres", "cities", "unknowns"},
        "analyzed": {"tyre", "cities", "unknowns"},
    }
    clauses = {kind: query.body["query"]["bool"] for kind, query in sent.items()}
    assert clauses["terms"]["filter"] == [{"term": {"text": {"value": "tyre"}}}]
    assert clauses["analyzed"]["filter"] == [{"match": {"text": {"query": "tyre"}}}]
    any_form = [{"term": {"text": {"value": form}}} for form in ("tyre", "tyres")]
    assert clauses["forms"]["filter"] == [{"bool": {"should": any_form, "minimum_should_match": 1}}]


def test_forms_get_an_idf_of_their_own():
    texts = ["tyres"] * 4 + ["tyre"] * 2 + ["tea"]
    index = plain_index(texts, analyzer=Analyzer("english"))
    sent = index.expand("tyre", to="opensearch", words="forms")

    def idf(n):
        return math.log(1 + (7 - n + 0.5) / (n + 0.5))

    assert {one.text: one.boost for one in sent.words} == pytest.approx(
        {"tyres": idf(6) / idf(4), "tyre": idf(6) / idf(2)}, rel=1e-6
    )


def test_a_phrase_among_the_terms_is_sent_as_one():
    analyzer = Analyzer(phrases=["disk space"])
    texts = ["no disk space", "no space on the disk", "tea"]
    index = plain_index(texts, analyzer=analyzer)
    bool_query = index.expand("disk space", to="elasticsearch").body["query"]["bool"]
    (phrase,) = [one for one in bool_query["should"] if "match_phrase" in one]
    frequencies = {"disk": 2, "space": 2, "disk space": 1}
    idf = {word: math.log(1 + (3 - n + 0.5) / (n + 0.5)) for word, n in frequencies.items()}
    boost = idf["disk space"] / (idf["disk"] + idf["space"])
    assert phrase["match_phrase"]["text"]["boost"] == pytest.approx(boost)


def test_fields_have_names_and_weights_of_their_own():
    documents = [{"title": "tyre", "body": "tea"}, {"title": "tea", "body": "tyre"}]
    index = plain_index(documents, fields={"title": 3.0, "body": 1.0})
    sent = index.expand("tyre", to="lucene", field={"title": "headline"})
    assert [(one.field, one.boost) for one in sent.words] == [("headline", 6.6), ("body", 2.2)]
    assert "+(headline:tea body:tea)" in str(
        index.expand("+tea", syntax=True, to="lucene", field={"title": "headline"})
    )
    for field, message in (("x", "has the fields title, body"), ({"x": "y"}, "names 'x'")):
        with pytest.raises(InvalidInputError, match=message):
            index.expand("tyre", to="lucene", field=field)


def test_negative_weights_are_left_out_and_counted():
    index = plain_index(["tyre tea", "tea"])
    S = np.array([[1.0, -0.5], [-0.5, 1.0]])
    matrix = similarity_matrix(S, index.vocabulary)
    sent = index.with_similarity(matrix).expand("tyre", to="elasticsearch")
    assert [one.text for one in sent.words] == ["tyre"]
    assert sent.n_negative == 1


def test_a_query_without_words_matches_nothing():
    index = plain_index(["tea"])
    for query in ("", '-"tea"', "!"):
        assert index.expand(query, to="opensearch").body == {"query": {"match_none": {}}}
        assert str(index.expand(query, to="solr")) == "-*:*"


def test_wrong_settings_are_named():
    index = plain_index(["tea"])
    for settings, message in (
        ({"to": "elastic"}, "to is 'elastic'.*one of elasticsearch"),
        ({"to": "solr", "words": "stems"}, "words is 'stems'"),
        ({"to": "solr", "max_terms": 0}, "max_terms is 0"),
    ):
        with pytest.raises(InvalidInputError, match=message):
            index.expand("tea", **settings)


def test_the_command_prints_the_query(run, tmp_path):
    plain_index(["a flat tyre", "green tea"]).save(tmp_path / "index")
    printed = run(
        "server", "expand", tmp_path / "index", 'tyre -"tea"', "--to", "solr", "--field", "body"
    )
    assert printed == "+(body:tyre^2.2) -(body:tea)\n"
    printed = run(
        "server", "expand", tmp_path / "index", "flat", "--to", "opensearch", "--no-k1-factor"
    )
    assert json.loads(printed)["query"]["bool"]["should"] == [
        {"term": {"text": {"value": "flat", "boost": 2.2}}}
    ]
    wrong = run(
        "server",
        "expand",
        tmp_path / "index",
        "x",
        "--to",
        "solr",
        "--field",
        "a",
        "--field",
        "b",
        code=2,
    )
    assert "write OWN=FIELD" in wrong
