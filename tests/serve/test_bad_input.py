"""Bad requests to every route: a problem that says what is wrong, and the server goes on."""

from __future__ import annotations

import json
import shutil
import threading
from concurrent.futures import ThreadPoolExecutor

import pytest

import softcosine as sc
from serve_answers import FAQ, problem
from softcosine.serve.catalog import Catalog
from softcosine.serve.problems import Problem

JSON = {"Content-Type": "application/json"}
# A body that each route takes.
BODIES = {
    ("POST", f"{FAQ}/search"): {"q": "tea"},
    ("POST", "/v1/search"): {"searches": [{"index": "faq", "q": "tea"}]},
    ("POST", f"{FAQ}/similar"): {"id": "tea"},
    ("POST", f"{FAQ}/explain"): {"q": "tea", "id": "tea"},
    ("POST", f"{FAQ}/expand"): {"q": "tea"},
    ("POST", f"{FAQ}/suggest"): {"prefix": "t"},
    ("PUT", f"{FAQ}/documents/a"): {"text": "x"},
    ("POST", f"{FAQ}/documents"): {"documents": [{"id": "a", "text": "x"}]},
    ("PATCH", f"{FAQ}/similarities"): {"pin": []},
    ("PUT", "/v1/indexes/new"): {"plain": True},
    ("PUT", "/v1/aliases/best"): {"index": "faq"},
}
DEEP = b'{"q": ' + b"[" * 50_000 + b"]" * 50_000 + b"}"
MALFORMED = {
    "cut": b'{"q": "tea"',
    "empty": b"",
    "nan": b'{"q": "tea", "min_score": NaN}',
    "infinite": b'{"q": "tea", "min_score": -Infinity}',
    "too large": b'{"q": "tea", "min_score": 1e999}',
    "many digits": b'{"q": "tea", "k": ' + b"9" * 5000 + b"}",
    "latin-1": '{"q": "thé"}'.encode("latin-1"),
    "utf-16": '{"q": "tea"}'.encode("utf-16"),
    "deep": DEEP,
    "text": b"q=tea",
    "null bytes": b"\x00" * 100,
    "two values": b'{"q": "tea"} {"q": "tea"}',
}


@pytest.mark.parametrize("body", MALFORMED.values(), ids=MALFORMED.keys())
def test_bodies_that_are_no_json(client, body):
    before = client.get("/v1/indexes").json()
    for method, url in BODIES:
        answer = client.request(method, url, content=body, headers=JSON)
        assert problem(answer, 400) == "malformed-request"
    assert client.get("/v1/indexes").json() == before


@pytest.mark.parametrize("value", [None, [], "text", 5, True, [[]], {"": {}}])
def test_bodies_of_a_wrong_type(client, value):
    for method, url in BODIES:
        answer = client.request(method, url, content=json.dumps(value), headers=JSON)
        assert problem(answer, 422) == "invalid-request"


def test_unknown_fields_are_named(client):
    for (method, url), body in BODIES.items():
        answer = client.request(method, url, json={**body, "qeury": 1})
        assert problem(answer, 422) == "invalid-request"
        assert answer.json()["errors"] == [{"field": "qeury", "problem": "unknown field"}]
    answer = client.post("/v1/search", json={"searches": [{"index": "faq", "q": "x", "odd": 1}]})
    assert answer.json()["errors"][0]["field"] == "searches.0.odd"
    assert "unknown field `odd`, at searches[0]" in answer.json()["detail"]


def test_values_are_not_converted(client):
    for field, value in (
        ("k", "3"), ("k", 3.5), ("k", True), ("k", -1), ("q", 5), ("q", None), ("q", [1]),
        ("offset", -1), ("fill", 1), ("fill", "yes"), ("where", "x"), ("where", []),
        ("facets", "n"), ("facets", [1]), ("fields", ["id"]), ("timeout_ms", 0), ("sort", 5),
        ("min_score", "0"), ("ask", "me"), ("first_stage", "32"), ("first_stage", {"odd": 1}),
        ("mmr", "1"), ("max_terms", "all"),
    ):  # fmt: skip
        answer = client.post(f"{FAQ}/search", json={"q": "tea", field: value})
        assert problem(answer, 422) == "invalid-request", (field, value)
        assert answer.json()["errors"][0]["field"].startswith(field)


def test_values_that_the_library_refuses_come_with_its_message(client):
    index = sc.SoftIndex.from_texts(["tea"], plain=True)
    for field, value in (
        ("ranking", "best"), ("mmr", 2.0), ("where", {"n": {"~": 1}}),
        ("first_stage", -1), ("max_terms", 0), ("meaning", -1.0),
    ):  # fmt: skip
        answer = client.post(f"{FAQ}/search", json={"q": "tea", field: value})
        assert problem(answer, 422) in ("invalid-input", "invalid-request"), (field, value)
        with pytest.raises(ValueError) as told:  # noqa: PT011
            index.search("tea", **{field: value})
        assert answer.json()["detail"] == str(told.value)
    deep = {"n": 1}
    for _ in range(100):
        deep = {"not": deep}
    answer = client.post(f"{FAQ}/search", json={"q": "tea", "where": deep})
    assert problem(answer, 422) == "invalid-input"


@pytest.mark.parametrize(
    "query",
    [
        "",
        " ",
        "+",
        '"',
        "-",
        "^2",
        "+-tea",
        '"tea',
        "a^1e9",
        "\x00",
        "\u202e",
        "😀",
        "x" * 10_000,
        [],
    ],
)
def test_odd_queries_are_answered(client, query):
    answer = client.post(f"{FAQ}/search", json={"q": query})
    assert answer.status_code in (200, 422), answer.text


def test_lone_surrogates_are_malformed(client):
    for method, url in BODIES:
        for text in (b"\\ud800", b"\\uDFFF", b"\\uD83D "):
            answer = client.request(
                method, url, content=b'{"q": {"x": "' + text + b'"}}', headers=JSON
            )
            assert problem(answer, 400) == "malformed-request"
    body = b'{"text": "kettle", "metadata": {"tea": "\\ud83c\\udf75"}}'
    assert client.put(f"{FAQ}/documents/s", content=body, headers=JSON).status_code == 201
    assert client.get(f"{FAQ}/documents/s").json()["metadata"] == {
        "tea": "\N{TEACUP WITHOUT HANDLE}"
    }


def test_other_types_of_content_are_refused(client):
    for method, url in BODIES:
        for kind in ("text/plain", "application/x-www-form-urlencoded", "multipart/form-data"):
            headers = {"Content-Type": kind}
            answer = client.request(method, url, content=b'{"q": "tea"}', headers=headers)
            assert problem(answer, 415) == "unsupported-type"


def test_methods_and_routes_that_are_not_there(client):
    assert problem(client.delete(f"{FAQ}/search"), 405) == "method-not-allowed"
    for path, methods in (("search", "POST"), ("documents/tea", "DELETE, GET, PUT")):
        assert client.options(f"{FAQ}/{path}").headers["allow"] == methods
    assert client.delete(f"{FAQ}/search").headers["allow"] == "POST"
    for url in ("/v1", "/v1/", "/v2/indexes", "/v1/indexes/", "/v1/indexes/faq/", "//etc/passwd"):
        assert problem(client.get(url), 404) == "not-found"


def test_an_index_that_is_deleted_during_a_search(client, root, monkeypatch):
    started, deleted = threading.Event(), threading.Event()
    search = sc.SoftIndex.search

    def slow(index, *arguments, **options):
        started.set()
        deleted.wait(30)
        return search(index, *arguments, **options)

    client.put("/v1/indexes/new", json={"plain": True})
    client.put("/v1/indexes/new/documents/a", json={"text": "green tea"})
    monkeypatch.setattr(sc.SoftIndex, "search", slow)
    with ThreadPoolExecutor(1) as pool:
        running = pool.submit(client.post, "/v1/indexes/new/search", json={"q": "tea"})
        started.wait(30)
        assert client.delete("/v1/indexes/new").status_code == 204
        deleted.set()
        answer = running.result()
    # The files are open, so the search finishes; else the index is unknown.
    assert answer.status_code == 200 or problem(answer, 404) == "unknown-index"
    assert problem(client.post("/v1/indexes/new/search", json={"q": "tea"}), 404)


def test_a_damaged_index_is_named_and_others_go_on(client, root):
    sc.SoftIndex.create(root / "bad", plain=True)
    (root / "bad" / "manifest.json").write_text("{}")
    assert problem(client.get("/v1/indexes/bad"), 500) == "corrupt-index"
    assert client.get(FAQ).status_code == 200
    listed = client.get("/v1/indexes").json()
    assert [one["name"] for one in listed["indexes"]] == ["faq"]
    assert listed["broken"] == ["bad"]
    shutil.rmtree(root / "bad")


@pytest.mark.parametrize(
    ("url", "body"),
    [
        ("search", {"q": [1] * 50_000}),
        ("search", {"q": {str(i): 1 for i in range(10_000)}}),
        ("search", {"q": "tea", **{str(i): 1 for i in range(10_000)}}),
        ("scores", {"q": "tea", "ids": [1] * 50_000}),
        ("documents", {"documents": [1] * 50_000}),
        ("documents", {"documents": [{"id": "a", "text": [1] * 50_000}]}),
    ],
)
def test_validation_ends_with_its_first_errors(client, url, body):
    answer = client.post(f"{FAQ}/{url}", json=body)
    assert problem(answer, 422) == "invalid-request"
    assert len(answer.json()["errors"]) <= 4  # one for each type that a value may have


def test_lists_are_counted(client):
    for url, body in (
        ("search", {"q": "tea", "facets": ["n"] * 101}),
        ("search", {"q": "tea", "sort": ["n"] * 33}),
        ("search", {"q": ["a"] * 1001}),
        ("documents", {"documents": [{"id": "a", "text": "x"}] * 100_001}),
    ):
        answer = client.post(f"{FAQ}/{url}", json=body)
        assert problem(answer, 422) == "invalid-request"
        assert "at most" in answer.json()["detail"]
    answer = client.post(f"{FAQ}/filter", json={"facets": ["n"] * 101})
    assert problem(answer, 422) == "invalid-request"


def test_a_body_of_many_small_lists_is_refused(client):
    body = b'{"text": "x", "metadata": {"n": [' + b"[]," * 250_000 + b"[]]}}"
    answer = client.put(f"{FAQ}/documents/a", content=body, headers=JSON)
    assert problem(answer, 400) == "malformed-request"
    assert "250,000 lists and objects" in answer.json()["detail"]


def test_an_index_that_is_deleted_meanwhile_is_unknown(client, root):
    catalog = client.app.state.server.catalog
    client.put("/v1/indexes/new", json={"plain": True})
    shutil.rmtree(root / "new")
    assert problem(client.put("/v1/indexes/new/documents/a", json={"text": "x"}), 404)
    catalog._open.clear()
    catalog._exists = lambda name: True  # as just before the deletion
    for call in (catalog.get, catalog.delete):
        with pytest.raises(Problem, match="deleted meanwhile"):
            call("new")


def test_the_list_of_indexes_leaves_out_one_that_is_deleted_meanwhile(client, monkeypatch):
    monkeypatch.setattr(Catalog, "names", ["faq", "gone"])
    listed = client.get("/v1/indexes")
    assert listed.status_code == 200
    assert [one["name"] for one in listed.json()["indexes"]] == ["faq"]
    assert listed.json()["broken"] == []
