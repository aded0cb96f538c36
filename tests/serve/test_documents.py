"""Documents over HTTP: read, list, add, replace, delete; all or nothing."""

from __future__ import annotations

import json
from urllib.parse import quote

import pytest

from serve_answers import FAQ, problem
from softcosine.cluster.opening import open_either
from softcosine.serve import app
from softcosine.serve.served_index import ServedIndex

NDJSON = {"Content-Type": "application/x-ndjson"}
ODD_IDS = [
    "a/b",
    "../../etc",
    "with space",
    "ü",
    "line\nbreak",
    "\r\nX-Evil: 1",
    "?q#f",
    "\u202e",
    "delete",
    '"',
    "\x00",
]


@pytest.fixture(params=["saved", "saved_shards"])
def variant(request):
    """Both kinds of index."""
    return request.param


def lines(*documents):
    return "\n".join(json.dumps(one) for one in documents)


@pytest.mark.parametrize("id", ODD_IDS)
def test_any_id_can_be_written_read_and_deleted(client, id):
    url = f"{FAQ}/documents/{quote(id, safe='')}"
    made = client.put(url, json={"text": "coffee", "metadata": {"n": 9}})
    assert made.status_code == 201
    assert "x-evil" not in made.headers
    assert client.get(made.headers["location"]).json()["id"] == id
    answer = client.get(url)
    assert answer.json()["id"] == id
    assert answer.json()["metadata"] == {"n": 9}
    assert client.put(url, json={"text": "more coffee"}).json()["replaced"] == 1
    hits = client.post(f"{FAQ}/search", json={"q": "coffee"}).json()["hits"]
    assert hits[0]["id"] == id
    assert client.delete(url).json()["deleted"] == 1
    assert problem(client.get(url), 404) == "unknown-document"


def test_documents_are_listed_by_filter(client):
    page = {"where": {"kind": "drink"}, "sort": "-n"}
    answer = client.post(f"{FAQ}/filter", json=page)
    assert [one["id"] for one in answer.json()["documents"]] == ["pot/1", "tea"]
    answer = client.post(f"{FAQ}/filter", json={"offset": 1, "k": 2, "facets": ["kind"]}).json()
    assert [one["id"] for one in answer["documents"]] == ["tea", "pot/1"]
    assert answer["n_matching"] == 4
    assert answer["facets"]["kind"][0] == {"value": "drink", "n_docs": 2}
    listed = client.get(f"{FAQ}/documents", params={"offset": 1, "k": 2}).json()
    assert listed == answer | {"facets": {}}
    for where in ([], {"n": {"~": 1}}):
        assert client.post(f"{FAQ}/filter", json={"where": where}).status_code == 422, where
    refused = client.get(f"{FAQ}/documents", params={"where": "{}"})
    assert problem(refused, 422) == "invalid-request"


@pytest.mark.parametrize("form", ["json", "lines"])
def test_documents_are_added_in_one_commit(client, root, form):
    documents = [{"id": "tea", "text": "black tea"}, {"id": "new", "text": "a kettle"}]
    if form == "json":
        answer = client.post(f"{FAQ}/documents", json={"documents": documents})
    else:
        answer = client.post(f"{FAQ}/documents", content=lines(*documents), headers=NDJSON)
    assert answer.json()["added"] == 1
    assert answer.json()["replaced"] == 1
    assert answer.headers["etag"] == f'"{answer.json()["commit"]}"'
    index = open_either(root / "faq")
    assert index.commit == answer.json()["commit"]
    assert [one.text for one in index.get(["tea", "new"])] == ["black tea", "a kettle"]
    assert client.get(FAQ).json()["documents"] == 5


@pytest.mark.parametrize(
    ("last", "kind"),
    [
        ('{"id": "z"}', "invalid-request"),
        ('{"id": "z", "text": "x", "odd": 1}', "invalid-request"),
        ('{"id": 5, "text": "x"}', "invalid-request"),
        ('{"id": "z", "text": {"title": "x"}}', "invalid-input"),
        ('{"id": "z", "text": "x", "metadata": {"n": NaN}}', "malformed-request"),
        ('{"id": "z", ', "malformed-request"),
        ("[" * 100_000, "malformed-request"),
        ('{"id": "z", "text": "x", "metadata": {"a": 1' + "0" * 5000 + "}}", "malformed-request"),
    ],
)
def test_a_bulk_with_a_fault_adds_nothing(client, last, kind):
    before = client.get(FAQ).json()
    body = "\n".join([lines(*({"id": f"n{i}", "text": "kettle"} for i in range(50))), last])
    answer = client.post(f"{FAQ}/documents", content=body, headers=NDJSON)
    assert problem(answer, 400 if kind.startswith("malformed") else 422) == kind
    if kind != "invalid-input":
        assert "line 51" in answer.json()["detail"]
    assert client.get(FAQ).json() == before


def test_a_change_of_another_commit_is_refused(client):
    first = client.get(FAQ).headers["etag"]
    url = f"{FAQ}/documents/x"
    changed = client.put(url, json={"text": "one"}, headers={"If-Match": first})
    assert changed.status_code == 201
    for send in (
        lambda headers: client.put(url, json={"text": "two"}, headers=headers),
        lambda headers: client.delete(url, headers=headers),
        lambda headers: client.post(f"{FAQ}/documents", json={"documents": []}, headers=headers),
    ):
        assert problem(send({"If-Match": first}), 412) == "changed-meanwhile"
        assert problem(send({"If-Match": "nonsense"}), 422) == "invalid-input"
    assert client.get(url).json()["text"] == "one"
    etag = client.get(url).headers["etag"]
    assert client.get(url, headers={"If-None-Match": etag}).status_code == 304
    assert client.get(url, headers={"If-None-Match": first}).status_code == 200
    assert client.delete(url, headers={"If-Match": etag}).status_code == 200


def test_the_commit_of_a_change_is_its_own(serving, root, monkeypatch):
    monkeypatch.setattr(app, "_REFRESH", 3600)
    client, refresh = serving(), ServedIndex.refresh

    def refresh_after_another(served):
        monkeypatch.setattr(ServedIndex, "refresh", refresh)
        with open_either(root / "faq").writer() as writer:
            writer.add("x", "another process")
        return served.refresh()

    url = f"{FAQ}/documents/x"
    monkeypatch.setattr(ServedIndex, "refresh", refresh_after_another)
    etag = client.put(url, json={"text": "one"}).headers["etag"]
    assert client.get(url).json()["text"] == "another process"
    answer = client.put(url, json={"text": "two"}, headers={"If-Match": etag})
    assert problem(answer, 412) == "changed-meanwhile"


def test_commits_of_others_are_seen(client, root):
    import time

    with open_either(root / "faq").writer() as writer:
        writer.add("other", "a samovar")
    end = time.monotonic() + 5
    while client.get(f"{FAQ}/documents/other").status_code == 404:
        assert time.monotonic() < end
        time.sleep(0.05)


def test_odd_values_survive(client):
    metadata = {"big": 2**70, "deep": [[[1]]], "none": None, "x": 1.5e300}
    answer = client.put(f"{FAQ}/documents/odd", json={"text": "odd text", "metadata": metadata})
    assert answer.status_code == 201
    assert client.get(f"{FAQ}/documents/odd").json()["metadata"] == metadata
