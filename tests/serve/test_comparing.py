"""Scores, similar pairs and groups of documents over HTTP: limits and deadlines."""

from __future__ import annotations

import threading
import time

import pytest

import softcosine as sc
from serve_answers import FAQ, ended, problem
from softcosine._deadline import check_deadline
from softcosine.serve.keys import KeyRing


def compared(client, route, body):
    answer = client.post(f"{FAQ}/{route}", json=body)
    assert answer.status_code == 202, answer.text
    return ended(client, answer.json())


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
    few = serving(limits={"pairs": 3})
    if "k" in body:
        assert problem(few.post(f"{FAQ}/{route}", json=body), 422) == "over-limit"
    else:
        record = compared(few, route, body)
        assert record["problem"]["type"] == "urn:softcosine:over-limit"
    assert compared(serving(limits={"pairs": 100}), route, body)["state"] == "done"


@pytest.mark.parametrize(
    ("route", "body"),
    [("scores", {"q": "tea", "ids": ["tea"]}), ("explain-similar", {"id": "tea", "other": "car"})],
)
def test_scores_have_a_deadline(serving, route, body):
    assert serving().post(f"{FAQ}/{route}", json=body).status_code == 200
    late = serving(limits={"timeout_ms": 0}).post(f"{FAQ}/{route}", json=body)
    assert problem(late, 504) == "deadline"


@pytest.mark.parametrize("route", ["pairs", "dedupe"])
def test_comparisons_are_tasks_with_a_deadline_of_their_own(serving, root, route):
    body = {"min_similarity": 0.01}
    record = compared(serving(limits={"timeout_ms": 0}), route, body)
    index = sc.SoftIndex.open(root / "faq")
    assert record["result"]["commit"] == index.commit
    if route == "pairs":
        found = [tuple(one.values()) for one in record["result"]["pairs"]]
        assert found == list(map(tuple, index.pairs(**body)))
        assert found
    else:
        assert [one["id"] for one in record["result"]["groups"]] == [
            one.id for one in index.dedupe(**body)
        ]
    assert (record["step"], record["kind"]) == ("comparing", route)
    late = compared(serving(limits={"comparison_ms": 0}), route, body)
    assert late["problem"]["type"] == "urn:softcosine:deadline"
    assert "comparison was ended after its deadline of 0 s" in late["problem"]["detail"]


@pytest.fixture
def slow(monkeypatch):
    """Let comparisons report progress until they are released."""
    release = threading.Event()

    def pairs(self, *, progress, **_):
        done = 0
        while not release.wait(0.35):
            progress(done := done + 1, 100)
        return iter(())

    monkeypatch.setattr(sc.SoftIndex, "pairs", pairs)
    yield release
    release.set()


def test_comparisons_are_cancelled_and_limited(serving, slow):
    client = serving(limits={"waiting": 1})
    first = client.post(f"{FAQ}/pairs", json={"k": 1})
    url = first.headers["location"]
    while client.get(url).json().get("done", 0) < 1:
        time.sleep(0.05)
    assert client.get(url).json()["total"] == 100
    second = client.post(f"{FAQ}/pairs", json={"k": 1}).json()
    third = client.post(f"{FAQ}/dedupe", json={})
    while third.status_code == 202:  # until the second one waits
        third = client.post(f"{FAQ}/dedupe", json={})
    assert problem(third, 429) == "too-many-searches"
    assert third.json()["detail"].startswith("2 comparisons run or wait")
    assert client.post(f"{FAQ}/search", json={"q": "tea"}).status_code == 200
    for task in (first.json(), second):
        assert client.delete(f"/v1/tasks/{task['id']}").status_code == 200
        assert ended(client, task)["state"] == "cancelled"


def test_a_comparison_that_waits_has_its_deadline_from_its_start(serving, monkeypatch):
    def pairs(*_, **__):
        time.sleep(0.6)
        check_deadline()
        return iter(())

    monkeypatch.setattr(sc.SoftIndex, "pairs", pairs)
    client = serving()
    body = {"k": 1, "timeout_ms": 1000}
    tasks = [client.post(f"{FAQ}/pairs", json=body).json() for _ in range(3)]
    assert [ended(client, task)["state"] for task in tasks] == ["done"] * 3
    late = ended(client, client.post(f"{FAQ}/pairs", json={"k": 1, "timeout_ms": 200}).json())
    assert "after its deadline of 0.2 seconds; raise" in late["problem"]["detail"]


def test_who_may_compare_may_cancel_that_alone(serving, tmp_path, slow):
    key = KeyRing(tmp_path / "keys.json").add("reader", ["search"])
    client = serving(keys=tmp_path / "keys.json", read_only=True)
    client.headers["Authorization"] = f"Bearer {key}"
    task = client.post(f"{FAQ}/pairs", json={"k": 1}).json()
    assert client.delete(f"/v1/tasks/{task['id']}").status_code == 200
    assert ended(client, task)["state"] == "cancelled"
    record = {"id": "m", "kind": "merge", "index": "faq", "state": "running"}
    client.app.state.server.store.put_task("m", record, ended=False)
    assert problem(client.delete("/v1/tasks/m"), 403) == "wrong-scope"


@pytest.mark.parametrize(
    "body", [{"k": 0}, {"k": -1}, {"by": "taste"}, {"min_similarity": "x"}, {}]
)
def test_wrong_values_are_problems(client, body):
    answer = client.post(f"{FAQ}/pairs", json=body)
    if answer.status_code == 202:
        record = ended(client, answer.json())
        assert record["problem"]["type"] == "urn:softcosine:invalid-input"
    else:
        assert problem(answer, 422) == "invalid-request"
