"""Similarities, aliases and tasks over HTTP."""

from __future__ import annotations

import threading
import time

import pytest
from starlette.testclient import TestClient

import softcosine as sc
from serve_answers import FAQ, ended, problem
from softcosine.index.writer.index_writer import IndexWriter
from softcosine.serve import ServeSettings, create_app


def first(client, query, index="faq"):
    answer = client.post(f"/v1/indexes/{index}/search", json={"q": query})
    assert answer.status_code == 200, answer.text
    hits = answer.json()["hits"]
    return hits[0]["id"] if hits else None


def decided(client, change, index=FAQ):
    answer = client.patch(f"{index}/similarities", json=change)
    assert answer.status_code == 202, answer.text
    return ended(client, answer.json())


def test_pairs_are_pinned_forbidden_weighed_and_taken_back(client):
    assert client.get(f"{FAQ}/similarities").json()["decisions"] == []
    assert first(client, "bicycle") == "bike"
    pin = {"pin": [{"word": "kettle", "other": "pot", "similarity": 0.9}]}
    assert decided(client, pin)["result"]["decisions"] == [
        {"word": "kettle", "sign": "=", "other": "pot", "value": 0.9}
    ]
    assert first(client, "kettle") == "pot/1"
    neighbors = client.get(f"{FAQ}/terms/kettle").json()["neighbors"]
    assert neighbors[0]["word"] == "pot"
    assert neighbors[0]["origin"]["parts"][0]["name"] == "pinned"
    change = {
        "forbid": [{"word": "bike", "other": "bicycle"}],
        "weigh": [{"word": "kettle", "weight": 0.5}],
    }
    assert decided(client, change)["result"]["lines"] == [
        "kettle = pot 0.9",
        "bike ! bicycle",
        "kettle * 0.5",
    ]
    assert first(client, "bicycle") is None
    undo = {"remove": [{"word": "bicycle", "other": "bike"}, {"word": "pot", "other": "kettle"}]}
    assert decided(client, undo)["result"]["lines"] == ["kettle * 0.5"]
    assert first(client, "bicycle") == "bike"
    assert first(client, "kettle") is None


def test_decisions_are_a_task(client):
    pin = {"pin": [{"word": "kettle", "other": "pot", "similarity": 0.9}]}
    answer = client.patch(f"{FAQ}/similarities", json=pin)
    assert answer.status_code == 202
    assert answer.headers["location"] == f"/v1/tasks/{answer.json()['id']}"
    record = ended(client, answer.json())
    assert record["state"] == "done", record
    assert record["result"] == client.get(f"{FAQ}/similarities").json()
    assert record["result"]["lines"] == ["kettle = pot 0.9"]
    old = {"If-Match": '"old"'}
    record = ended(client, client.patch(f"{FAQ}/similarities", json=pin, headers=old).json())
    assert record["problem"]["type"] == "urn:softcosine:changed-meanwhile"


def test_building_similarities_is_cancelled(client, monkeypatch):
    release = threading.Event()

    def rebuilt(*_, progress):
        for done in range(100):
            release.wait(0.3)
            progress(done, 100)

    monkeypatch.setattr("softcosine.serve.index_routes.rebuilt", rebuilt)
    before = client.get(FAQ).json()["commit"]
    pin = {"pin": [{"word": "kettle", "other": "pot", "similarity": 0.9}]}
    task = client.patch(f"{FAQ}/similarities", json=pin).json()
    assert client.delete(f"/v1/tasks/{task['id']}").status_code == 200
    assert ended(client, task)["state"] == "cancelled"
    assert client.get(FAQ).json()["commit"] == before


def test_decisions_that_cannot_be_are_refused(client):
    before = client.get(f"{FAQ}/similarities").json()
    for change in (
        {"pin": [{"word": "a", "other": "b", "similarity": 1.5}]},
        {"pin": [{"word": "a", "other": "b"}]},
        {"pins": []},
    ):
        assert client.patch(f"{FAQ}/similarities", json=change).status_code == 422, change
    for change in (
        {"pin": [{"word": "a", "other": "A", "similarity": 0.5}]},
        {"pin": [{"word": "", "other": "b", "similarity": 1}]},
        {
            "pin": [{"word": "a", "other": "b", "similarity": 0.5}],
            "forbid": [{"word": "b", "other": "a"}],
        },
    ):
        record = decided(client, change)
        assert record["problem"]["type"] == "urn:softcosine:invalid-input", change
    assert client.get(f"{FAQ}/similarities").json() == before
    client.put("/v1/indexes/plain", json={"plain": True})
    record = decided(client, {"forbid": []}, "/v1/indexes/plain")
    assert record["problem"]["type"] == "urn:softcosine:invalid-input"


def test_an_alias_moves_searches_to_a_rebuilt_index(client, root):
    assert client.put("/v1/aliases/best", json={"index": "faq"}).json() == {
        "aliases": {"best": "faq"}
    }
    assert first(client, "bicycle", "best") == "bike"
    sc.SoftIndex.from_texts(["a bicycle"], ids=["new"], plain=True).save(root / "faq2")
    assert client.put("/v1/aliases/best", json={"index": "faq2"}).status_code == 200
    assert first(client, "bicycle", "best") == "new"
    assert client.get("/v1/indexes/faq2").json()["aliases"] == ["best"]
    assert problem(client.put("/v1/aliases/faq", json={"index": "faq2"}), 409) == "already-exists"
    assert problem(client.put("/v1/aliases/b", json={"index": "gone"}), 404) == "unknown-index"
    assert problem(client.put("/v1/aliases/..x", json={"index": "faq"}), 422) == "invalid-input"
    assert problem(client.put("/v1/indexes/best", json={}), 409) == "already-exists"
    assert problem(client.delete("/v1/indexes/faq2"), 409) == "already-exists"
    assert client.delete("/v1/aliases/best").status_code == 204
    assert problem(client.get("/v1/indexes/best"), 404) == "unknown-index"
    assert problem(client.delete("/v1/aliases/best"), 404) == "unknown-index"


def test_aliases_survive_and_are_shared(serving):
    serving().put("/v1/aliases/best", json={"index": "faq"})
    other = serving()
    assert other.get("/v1/aliases").json() == {"aliases": {"best": "faq"}}
    assert first(other, "bicycle", "best") == "bike"


def test_segments_are_merged_in_the_background(client):
    for id in "ab":
        client.put(f"{FAQ}/documents/{id}", json={"text": "x"})
    client.delete(f"{FAQ}/documents/a")
    answer = client.post(f"{FAQ}/merge")
    assert answer.status_code == 202
    assert answer.headers["location"] == f"/v1/tasks/{answer.json()['id']}"
    record = ended(client, answer.json())
    assert record["state"] == "done", record
    assert record["result"]["commit"] == client.get(FAQ).json()["commit"]
    assert client.get(FAQ).json()["segments"] == 1


@pytest.fixture
def slow_merge(monkeypatch):
    """Let merges report progress until they are cancelled or released."""
    release = threading.Event()

    def merge(writer):
        while not release.wait(0.01):
            writer._report("merging slowly", 0, None)
            time.sleep(0.3)
            writer._report("still merging", 1, None)

    monkeypatch.setattr(IndexWriter, "merge", merge)
    yield release
    release.set()


def test_a_task_is_cancelled(client, slow_merge):
    commit = client.get(FAQ).json()["commit"]
    task = client.post(f"{FAQ}/merge").json()
    assert client.delete(f"/v1/tasks/{task['id']}").status_code == 200
    assert ended(client, task)["state"] == "cancelled"
    assert client.get(FAQ).json()["commit"] == commit
    assert problem(client.get("/v1/tasks/none"), 404) == "unknown-task"
    assert problem(client.delete("/v1/tasks/none"), 404) == "unknown-task"


def test_the_end_of_the_server_cancels_its_tasks(serving, slow_merge):
    client = serving()
    task = client.post(f"{FAQ}/merge").json()
    time.sleep(0.2)
    client.__exit__(None, None, None)
    client.__enter__ = lambda *_: None
    assert client.app.state.server.store.task(task["id"])["state"] == "cancelled"


def test_the_owner_sets_the_encoder_of_new_indexes(tmp_path):
    settings = ServeSettings(tmp_path, encoder=None)
    document = {"id": "1", "text": "the tea is in the pot and it is green"}
    with TestClient(create_app(settings)) as client:
        for name, body, expected in (("a", {}, None), ("b", {"encoder": "static"}, "static")):
            made = client.put(f"/v1/indexes/{name}", json={"language": "english", **body})
            assert made.status_code == 201
            added = client.post(f"/v1/indexes/{name}/documents", json={"documents": [document]})
            assert added.status_code == 200, added.text
            meaning = client.get(f"/v1/indexes/{name}").json()["meaning"]
            assert (meaning and meaning["encoder"]) == expected
