"""Several changes in one commit over HTTP."""

from __future__ import annotations

import json

import pytest

from serve_answers import FAQ, problem
from softcosine.cluster.opening import open_either

URL = f"{FAQ}/changes"
NDJSON = {"Content-Type": "application/x-ndjson"}
ADD = {"op": "add", "id": "new", "text": "a kettle"}


@pytest.fixture(params=["saved", "saved_shards"])
def variant(request):
    """Both kinds of index."""
    return request.param


def lines(*changes):
    return "\n\n".join(json.dumps(one) for one in changes)


def send(client, *changes, **headers):
    return client.post(URL, content=lines(*changes), headers={**NDJSON, **headers})


def test_changes_are_one_commit(client, root):
    answer = send(
        client, ADD, {"op": "delete", "where": {"kind": "drink"}},
        {"op": "update_metadata", "id": "new", "metadata": {"n": 7}},
        {"op": "delete", "id": "gone", "missing_ok": True},
        {"op": "add", "id": "bike", "text": "a bell"},
    )  # fmt: skip
    told = answer.json()
    assert answer.headers["etag"] == f'"{told.pop("commit")}"'
    assert told == {"added": 1, "replaced": 1, "deleted": 2, "missing": 1, "updated": 1}
    assert list(open_either(root / "faq")) == ["car", "new", "bike"]


@pytest.mark.parametrize(
    ("last", "status", "kind"),
    [
        ({"op": "delete", "id": "gone"}, 404, "unknown-document"),
        ({"op": "delete"}, 422, "invalid-input"),
        ({"op": "delete", "id": "tea", "where": {}}, 422, "invalid-input"),
        ({"op": "delete", "id": "tea", "speed": 3}, 422, "invalid-request"),
        ({"op": "update_metadata", "id": "gone", "metadata": {}}, 404, "unknown-document"),
        ({"op": "update_metadata", "id": "tea", "metadata": [1]}, 422, "invalid-request"),
        ({"op": "destroy"}, 422, "invalid-request"),
        ({"id": "x", "text": "y"}, 422, "invalid-request"),
        ("{", 400, "malformed-request"),
        ([ADD], 422, "invalid-request"),
    ],
)
def test_a_fault_in_the_last_line_changes_nothing(client, root, last, status, kind):
    before = open_either(root / "faq").commit
    end = last if isinstance(last, str) else json.dumps(last)
    answer = client.post(URL, content=f"{lines(ADD)}\n{end}\n", headers=NDJSON)
    assert problem(answer, status) == kind
    if kind in ("invalid-request", "malformed-request"):
        assert "line 2" in answer.json()["detail"]
    assert open_either(root / "faq").commit == before


def test_statistics_are_computed_anew_if_asked(client, variant):
    if variant == "saved_shards":  # they keep those that they were built with
        answer = client.post(URL, params={"refresh": "true"}, headers=NDJSON)
        assert problem(answer, 422) == "invalid-input"
        return
    send(client, ADD)
    before = client.get(FAQ).json()
    epoch = {
        refresh: client.post(URL, params={"refresh": refresh}, headers=NDJSON).json()["commit"]
        for refresh in ("false", "true", "true")
    }
    assert epoch["false"] == before["commit"]
    answer = client.post(URL, params={"refresh": "soon"}, headers=NDJSON)
    assert problem(answer, 422) == "invalid-request"


def test_only_json_lines_are_taken(client):
    assert problem(client.post(URL, json=ADD), 415) == "unsupported-type"
    assert problem(client.post(URL, content=lines(ADD)), 415) == "unsupported-type"


def test_another_commit_refuses_a_bulk(client):
    commit = client.get(FAQ).json()["commit"]
    assert send(client, {"op": "delete", "id": "tea"}).json()["deleted"] == 1
    answer = send(client, ADD, **{"If-Match": f'"{commit}"'})
    assert problem(answer, 412) == "changed-meanwhile"


def test_a_bulk_may_be_larger_than_another_body(serving):
    client = serving(limits={"body_bytes": 1000, "bulk_bytes": 100_000})
    many = [{**ADD, "id": str(number)} for number in range(100)]
    assert send(client, *many).json()["added"] == 100
    assert problem(send(client, *many * 30), 413) == "too-large"


def test_the_description_names_the_fields_of_every_change(client):
    told = client.get("/openapi.json").json()
    body = told["paths"]["/v1/indexes/{i}/changes"]["post"]["requestBody"]
    change = body["content"]["application/x-ndjson"]["schema"]
    assert set(change["discriminator"]["mapping"]) == {"add", "delete", "update_metadata"}
