"""The routes of searching answer as the index in process does."""

from __future__ import annotations

import json

import pytest

import softcosine as sc
from serve_answers import FAQ, problem


@pytest.fixture
def index(root):
    return sc.SoftIndex.open(root / "faq")


def found(answer):
    assert answer.status_code == 200, answer.text
    return answer.json()


@pytest.mark.smoke
@pytest.mark.parametrize(
    "asked",
    [
        {"q": "bicycle tyre"},
        {"q": "tea -cold", "k": 1, "syntax": True},
        {"q": "tea", "offset": 1, "where": {"n": {">": 1}}},
        {"q": ["tea", "tyre"], "ranking": "soft_cosine", "mmr": 0.5},
        {"q": "green tea", "expand": False, "fill": True},
        {"q": "grene", "correct": False},
        {"q": "tyre of the car", "first_stage": 4, "min_score": 0.01},
        {"q": "tea", "sort": "-n", "facets": ["kind"]},
        {"q": "+tea", "syntax": False, "expand": False, "max_terms": None},
    ],
)
def test_a_search_answers_as_the_index(client, index, asked):
    answer = found(client.post(f"{FAQ}/search", json=asked))
    hits = index.search(asked["q"], **{key: asked[key] for key in asked if key != "q"})
    assert [(hit["id"], hit["score"]) for hit in answer["hits"]] == [
        (hit.id, hit.score) for hit in hits
    ]
    assert answer["commit"] == index.commit
    assert answer["ranking"] == hits.ranking
    assert answer["plan"]["method"] == hits.plan.method
    for shown, hit in zip(answer["hits"], hits, strict=True):
        assert shown["text"] == hit.text
        assert shown["metadata"] == hit.metadata
        assert shown["snippet"]["text"] == hit.snippet.text
        marks = [(mark["start"], mark["end"], mark["kind"]) for mark in shown["snippet"]["marks"]]
        assert marks == [(mark.start, mark.end, mark.kind) for mark in hit.snippet.marks]
    if "facets" in asked:
        assert answer["facets"] == {"kind": [one._asdict() for one in hits.facets["kind"]]}


def test_an_explained_hit_has_parts_that_sum_to_its_score(client):
    answer = found(client.post(f"{FAQ}/search", json={"q": "bicycle tire", "explain": True}))
    assert answer["hits"]
    for hit in answer["hits"]:
        assert sum(part["contribution"] for part in hit["explanation"]) == pytest.approx(
            hit["score"], abs=1e-9
        )


def test_only_the_chosen_parts_of_a_hit_come(client):
    (hit,) = found(client.post(f"{FAQ}/search", json={"q": "cold", "fields": []}))["hits"]
    assert set(hit) == {"id", "score"}
    (hit,) = found(
        client.post(f"{FAQ}/search", json={"q": "cold", "fields": ["text"], "highlight": False})
    )["hits"]
    assert set(hit) == {"id", "score", "text"}


def test_the_last_page_has_the_total(client):
    assert found(client.post(f"{FAQ}/search", json={"q": "tea", "k": 10}))["total"] == 2
    assert "total" not in found(client.post(f"{FAQ}/search", json={"q": "tea", "k": 2}))


def test_unknown_words_have_suggestions(client):
    assert found(client.post(f"{FAQ}/search", json={"q": "grene"}))["corrected"] == {
        "grene": "green"
    }
    answer = found(client.post(f"{FAQ}/search", json={"q": "grene", "correct": False}))
    assert answer["unknown"] == ["grene"]
    assert answer["suggestions"][0]["candidates"][0]["word"] == "green"


def test_several_searches_get_answers_and_problems(client):
    asked = [{"index": "faq", "q": "tea"}, {"index": "gone", "q": "tea"}]
    asked.append({"index": "faq", "q": "tea", "ranking": "best"})
    answer = found(client.post("/v1/search", json={"searches": asked}))
    assert [hit["id"] for hit in answer["results"][0]["hits"]] == ["tea", "pot/1"]
    assert [one.get("type") for one in answer["results"]] == [
        None, "urn:softcosine:unknown-index", "urn:softcosine:invalid-input"
    ]  # fmt: skip


def test_similar_documents_are_those_of_the_index(client, index):
    answer = found(client.post(f"{FAQ}/similar", json={"id": "bike"}))
    assert [hit["id"] for hit in answer["hits"]] == index.similar("bike").ids


def test_an_explanation_is_that_of_the_index(client, index):
    answer = found(client.post(f"{FAQ}/explain", json={"q": "bicycle", "id": "bike"}))
    assert answer["score"] == index.explain("bicycle", "bike").score
    assert answer["parts"][0]["document_word"] == "bike"


def test_an_expanded_query_is_that_of_the_index(client, index):
    for to in ("lucene", "elasticsearch"):
        answer = found(client.post(f"{FAQ}/expand", json={"q": "tire", "to": to}))
        assert answer["query"] == str(index.expand("tire", to=to))
        assert answer["body"] == (json.loads(answer["query"]) if to == "elasticsearch" else None)


def test_a_prefix_is_completed_by_the_most_frequent_words(client):
    answer = found(client.post(f"{FAQ}/suggest", json={"prefix": "T"}))
    assert answer["words"][0]["n_docs"] == 3  # the
    assert {one["word"] for one in answer["words"]} >= {"tea", "tyre"}
    assert found(client.post(f"{FAQ}/suggest", json={"prefix": "zzz"}))["words"] == []


def test_a_word_has_its_neighbours_and_their_origins(client):
    answer = found(client.get(f"{FAQ}/terms/bicycle"))
    assert answer["indexed"] is False
    assert answer["neighbors"][0]["word"] == "bike"
    assert answer["neighbors"][0]["origin"]["name"]
    assert problem(client.get(f"{FAQ}/terms/qqqq"), 404) == "unknown-term"
    assert problem(client.get(f"{FAQ}/terms/green tea"), 422) == "invalid-input"
