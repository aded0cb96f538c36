"""Scores, similar pairs and groups of documents over HTTP: limits and deadlines."""

from __future__ import annotations

import pytest

import softcosine as sc
from serve_answers import FAQ, problem


def test_more_ids_than_allowed_are_refused(serving):
    client = serving(limits={"k": 2})
    body = {"q": "tea", "ids": ["tea", "car", "tea"]}
    assert problem(client.post(f"{FAQ}/scores", json=body), 422) == "over-limit"
    body["ids"].pop()
    assert len(client.post(f"{FAQ}/scores", json=body).json()["scores"]) == 2


@pytest.mark.parametrize(
    ("route", "body"),
    [("pairs", {"min_similarity": 1e-9}), ("pairs", {"k": 2}), ("dedupe", {"min_similarity": 0.1})],
)
def test_more_pairs_than_allowed_are_refused(serving, root, route, body):
    with sc.SoftIndex.open(root / "faq").writer() as writer:
        writer.add_many(list("abcdef"), ["a pot of green tea"] * 6)
    answer = serving(limits={"pairs": 3}).post(f"{FAQ}/{route}", json=body)
    assert problem(answer, 422) == "over-limit"
    assert serving(limits={"pairs": 100}).post(f"{FAQ}/{route}", json=body).status_code == 200


@pytest.mark.parametrize(
    ("route", "body"),
    [
        ("scores", {"q": "tea", "ids": ["tea"]}),
        ("explain-similar", {"id": "tea", "other": "car"}),
        ("pairs", {"k": 1}),
        ("pairs", {"min_similarity": 0.5}),
        ("dedupe", {}),
    ],
)
def test_comparisons_have_a_deadline(serving, route, body):
    assert serving().post(f"{FAQ}/{route}", json=body).status_code == 200
    late = serving(limits={"timeout_ms": 0}).post(f"{FAQ}/{route}", json=body)
    assert problem(late, 504) == "deadline"


@pytest.mark.parametrize(
    "body", [{"k": 0}, {"k": -1}, {"by": "taste"}, {"min_similarity": "x"}, {}]
)
def test_wrong_values_are_problems(client, body):
    answer = client.post(f"{FAQ}/pairs", json=body)
    assert problem(answer, 422) in ("invalid-request", "invalid-input")
