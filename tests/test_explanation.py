"""Why a document scores what it scores: parts by pairs of words, which sum to the score."""

from __future__ import annotations

import math
import re

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import strategies as own
from expected import IDF, RANKINGS, TF
from softcosine.errors import InvalidInputError, UnknownDocumentError
from softcosine.index.search.explanation import Explanation
from softcosine.index.soft_index import SoftIndex
from softcosine.index.spaces.part import Part
from softcosine.text.analyzer import Analyzer
from softcosine.text.vocabulary import Vocabulary
from softcosine.text.weighting import Weighting
from toy_encoder import ToyEncoder
from toys import ToySource, similarity_matrix

SOURCE = ToySource(
    {
        ("tea", "coffee"): 0.5,
        ("mocha", "coffee"): 0.75,
        ("mocha", "tea"): 0.25,
        ("latte", "mocha"): 0.875,
        ("car", "bus"): 0.5,
    }
)
WORDS = ("bus", "car", "coffee", "tea", "zebra")

inside = st.lists(st.sampled_from(WORDS), max_size=5)
queries = st.lists(st.sampled_from([*WORDS, "mocha", "latte", "nobody"]), max_size=6)


@given(
    st.lists(inside, min_size=1, max_size=5),
    queries,
    st.sampled_from(RANKINGS),
    st.builds(Weighting, st.sampled_from(TF), st.sampled_from(IDF)),
)
def test_parts_sum_to_the_score_of_the_search(documents, query, ranking, weighting):
    index = SoftIndex.from_texts(
        documents, source=SOURCE, analyzer=Analyzer(), weighting=weighting, ranking=ranking,
        encoder=None,
    )  # fmt: skip
    found = {hit.id: hit.score for hit in index.search(query, k=99)}
    for number in range(len(documents)):
        why = index.explain(query, str(number))
        assert why.score == pytest.approx(found.get(str(number), 0), abs=0)
        total = math.fsum(part.contribution for part in why.parts)
        assert total == pytest.approx(why.score, abs=1e-9)
        sizes = [abs(part.contribution) for part in why.parts]
        assert sizes == sorted(sizes, reverse=True)
        for part in why.parts:
            assert part.query_word in query
            assert part.document_word in documents[number]
            assert part.contribution != 0
            assert part.exact == (part.query_word == part.document_word)
            if part.exact:
                assert part.similarity == 1
        pairs = [(part.query_word, part.document_word) for part in why.parts]
        assert len(pairs) == len(set(pairs))


@given(own.collections(matrices=own.definite_matrices), st.data())
def test_parts_of_signed_similarities_sum_up_too(c, data):
    terms = data.draw(own.vocabularies(c.n_terms))
    texts = [
        [t for t, n in zip(terms, row, strict=True) for _ in range(int(n))] for row in c.counts
    ]
    index = SoftIndex.from_texts(
        texts,
        S=similarity_matrix(c.S, Vocabulary(terms)),
        analyzer=Analyzer(),
        ranking="soft_cosine",
    )
    for number, text in enumerate(texts):
        for other in range(len(texts)):
            why = index.explain_similar(str(number), str(other))
            total = math.fsum(part.contribution for part in why.parts)
            assert total == pytest.approx(why.score, abs=1e-9)
            assert why.query == f"like {number}"
        if text:
            assert index.explain_similar(str(number), str(number)).score == pytest.approx(1)


def tea_index(**settings):
    return SoftIndex.from_texts(
        ["green tea", "black coffee", ""], ids=["green", "black", "none"], source=SOURCE,
        **{"analyzer": Analyzer(), "weighting": Weighting("raw", "none"), "ranking": "soft_cosine",
           **settings},
    )  # fmt: skip


def test_forms_of_one_stem_are_one_term():
    index = SoftIndex.from_texts(["two pictures"], analyzer=Analyzer("english"), plain=True)
    (part,) = index.explain("a picture", "0").parts
    assert (part.query_word, part.sign, part.document_word) == ("picture", "=", "pictures")


def test_an_explanation_reads_as_a_table():
    why = tea_index().explain("coffee tea", "black")
    factor = 1 / math.sqrt(2 * 3)
    assert why == Explanation(
        query="coffee tea",
        id="black",
        score=why.score,
        parts=(
            Part("coffee", "coffee", 1.0, pytest.approx(factor), exact=True),
            Part("tea", "coffee", 0.5, pytest.approx(factor / 2), exact=False),
        ),
        ranking="soft_cosine",
    )
    assert why.sums == {
        "same words": pytest.approx(factor),
        "similar words": pytest.approx(factor / 2),
    }
    assert str(why) == (
        "score 0.6124 (soft cosine) of document black: same words 0.4082, similar words 0.2041\n"
        "  coffee  adds 0.4082  coffee\n"
        "  tea     adds 0.2041  coffee"
    )


def test_outside_words_are_explained():
    why = tea_index().explain("mocha", "black")
    assert [(p.query_word, p.document_word, p.similarity) for p in why.parts] == [
        ("mocha", "coffee", 0.75)
    ]
    assert why.parts[0].contribution == pytest.approx(why.score)


def test_what_has_nothing_in_common_says_so():
    index = tea_index()
    for query, id in (("zebra", "green"), ("tea", "none"), ("", "green")):
        why = index.explain(query, id)
        assert why.score == 0
        assert why.parts == ()
        assert str(why) == (
            f"score 0.0000 (soft cosine) of document {id}: "
            "no word of it is like a word of the query"
        )


def test_stems_show_as_the_words_of_query_and_document():
    index = SoftIndex.from_texts(
        ["He was running", "teas"], analyzer=Analyzer("english"), ranking="soft_cosine",
        source=ToySource({("running", "jogs"): 0.5}),
    )  # fmt: skip
    parts = index.explain("run jogs", "0").parts
    assert {(p.query_word, p.document_word) for p in parts} == {
        ("run", "running"),
        ("jogs", "running"),
    }


@pytest.mark.parametrize("ranking", RANKINGS)
def test_another_ranking_is_explained_on_request(ranking):
    index = tea_index()
    why = index.explain("tea", "green", ranking=ranking)
    assert why.ranking == ranking
    assert why.score == index.search("tea", ranking=ranking)[0].score
    with pytest.raises(InvalidInputError, match="ranking is"):
        index.explain("tea", "green", ranking="best")


def test_parts_become_a_table():
    pytest.importorskip("pandas")
    why = tea_index().explain("coffee tea", "black")
    frame = why.to_pandas()
    assert frame.columns.tolist() == [
        "query_word", "document_word", "similarity", "contribution", "exact",
    ]  # fmt: skip
    assert frame["contribution"].sum() == pytest.approx(why.score)
    assert len(tea_index().explain("zebra", "black").to_pandas()) == 0


def test_real_numbers_come_out_as_python_numbers():
    why = tea_index().explain("coffee mocha", "black")
    assert type(why.score) is float
    for part in why.parts:
        assert type(part.similarity) is type(part.contribution) is float
    with pytest.raises(UnknownDocumentError):
        tea_index().explain("tea", "x")
    assert np.isfinite(why.score)


def test_an_explanation_has_a_notebook_view():
    view = tea_index().explain("tea coffee <b>", "black")._repr_html_()
    assert ">tea coffee &lt;b&gt;: black</caption>" in view
    assert "<td>coffee</td><td>0." in view
    assert "same words" in view
    assert "similar words" in view
    widths = [int(width) for width in re.findall(r"width:(\d+)px", view)]
    assert widths[0] == 120
    assert widths[1:4] == [0, 0, 0]
    assert widths[4] > 0
    assert "no word of the document" in tea_index().explain("nothing", "black")._repr_html_()


def test_a_query_is_explained_as_it_was_searched():
    index = tea_index()
    query = "tea -coffee"
    strict = index.explain(query, "black", syntax=True)
    assert [part.query_word for part in strict.parts] == ["tea"]
    words = {part.query_word for part in index.explain(query, "black").parts}
    assert words == {"tea", "coffee"}
    for most, found in ((1, 1), (None, 2)):
        why = index.explain("coffee tea", "black", max_terms=most)
        assert why.score == index.search("coffee tea", max_terms=most)[0].score
        assert len(why.parts) == found
    with pytest.raises(InvalidInputError, match="max_terms is 0"):
        index.explain("tea", "black", max_terms=0)


class Meaning(ToyEncoder):
    """The toy encoder, for which *bike* is *bicycle*, and which cuts text without spaces."""

    def encode(self, texts, /):
        return super().encode([text.replace("bike", "bicycle") for text in texts])

    def cut(self, run):
        return [run[i : i + 3] for i in range(0, len(run), 3)]


def test_an_encoder_without_a_table_explains_the_words_of_a_query():
    """A word adds what the score loses without it; stop words are with the rest."""
    texts = ["The bicycle rolls", "tea and milk", "moon rises", "stars", "sea wind", "sand dune"]
    index = SoftIndex.from_texts(texts, encoder=Meaning(), plain=True, language="english")
    n_scaled = 0
    for query, id in [(q, id) for q in ("the red bike", "red bike", "old bike") for id in "0123"]:
        explanation = index.explain(query, id)
        meant = {one.query_word: one for one in explanation.parts if one.space == "meaning"}
        assert set(meant) <= {*query.split()[-2:], "(whole question)"}
        (score,) = index.scores(query, [id])
        assert math.fsum(one.contribution for one in explanation.parts) == pytest.approx(score)
        if "the" in query:
            continue
        first, last = query.split()
        losses = {
            word: max(0.0, float(score - index.scores(rest, [id])[0]))
            for word, rest in ((first, last), (last, first))
        }
        scale = min(1.0, max(0.0, score) / (sum(losses.values()) or 1.0))
        n_scaled += scale < 1.0
        for word, loss in losses.items():
            own = meant[word].contribution if word in meant else 0.0
            assert own == pytest.approx(scale * loss, abs=1e-9)
    assert n_scaled
    assert index.explain("red bike", "0").words[0].word in {"bike", "(whole question)"}
    assert [one.query_word for one in index.explain("bike", "0").parts] == ["bike"]


def test_text_without_spaces_is_explained_by_words_of_the_encoder():
    index = SoftIndex.from_texts(
        ["自転車パンク", "請求書", "荷物"], encoder=Meaning(), language="none", plain=True
    )
    for ask in ("自転車パンク修理", "自転車 パンク修理"):
        words = [one.query_word for one in index.explain(ask, "0").parts if one.space == "meaning"]
        assert set(words) <= {"自転車", "パンク", "修理", "(whole question)"}


def test_the_nearest_sentence_is_found_by_the_encoder_where_there_is_no_table():
    text = "Moon rises。 bicycle tyre！stars"
    index = SoftIndex.from_texts([text, "sea"], encoder=Meaning(), plain=True)
    assert index.explain("bike tyre", "0").passage == "bicycle tyre！"
    assert index.explain("bike tyre", "1").passage == ""
    long = f"{'moon rises. ' * 400}bicycle tyre. stars"  # beyond what is encoded
    index = SoftIndex.from_texts([long], encoder=Meaning(), plain=True)
    index._directory.encoder.encoder.texts.clear()
    assert index.explain("bike tyre", "0").passage == "moon rises."
    assert sum(map(len, index._directory.encoder.encoder.texts)) < 3_000
