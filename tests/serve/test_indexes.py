"""Indexes over HTTP: names, creation, deletion; what a server serves."""

from __future__ import annotations

import shutil
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

import softcosine as sc
from serve_answers import FAQ, problem
from softcosine._file_lock import FileLock
from softcosine.serve import ServeSettings, catalog, create_app
from softcosine.serve.served_index import ServedIndex


def test_all_indexes_of_a_folder_are_listed(client, root):
    sc.SoftIndex.create(root / "second", plain=True)
    (root / "no index").mkdir()
    (root / ".hidden").mkdir()
    answer = client.get("/v1/indexes").json()
    assert [one["name"] for one in answer["indexes"]] == ["faq", "second"]
    faq = client.get(FAQ).json()
    assert faq == answer["indexes"][0]
    assert faq["documents"] == 4
    assert faq["ranking"] == "soft_bm25"
    assert faq["commit"] == sc.SoftIndex.open(root / "faq").commit


def test_one_index_is_served_by_the_name_of_its_folder(serving, root):
    client = serving(root / "faq")
    assert client.get(FAQ).status_code == 200
    assert not (root / ".serve").exists()
    assert problem(client.put("/v1/indexes/new", json={}), 403) == "read-only"
    assert problem(client.delete(FAQ), 403) == "read-only"
    assert problem(client.put("/v1/aliases/a", json={"index": "faq"}), 403) == "read-only"
    assert client.put(f"{FAQ}/documents/a", json={"text": "x"}).status_code == 201
    assert client.post(f"{FAQ}/merge").status_code == 202
    assert [path.name for path in root.iterdir()] == ["faq"]


def test_an_index_is_created_filled_and_deleted(client, root):
    recipe = {"sources": ["edit-distance"], "max_neighbors": 5}
    made = client.put(
        "/v1/indexes/new", json={"similarity": recipe, "language": "english", "note": "mine"}
    )
    assert made.status_code == 201, made.text
    assert made.headers["location"] == "/v1/indexes/new"
    assert problem(client.put("/v1/indexes/new", json={}), 409) == "already-exists"
    client.put("/v1/indexes/new/documents/a", json={"text": "tyres and tyre"})
    assert client.post("/v1/indexes/new/search", json={"q": "tyre"}).json()["hits"]
    assert client.delete("/v1/indexes/new").status_code == 204
    assert not (root / "new").exists()
    assert problem(client.delete("/v1/indexes/new"), 404) == "unknown-index"
    assert client.put("/v1/indexes/new", json={"plain": True}).status_code == 201
    assert client.get("/v1/indexes/new").json()["documents"] == 0


@pytest.mark.parametrize(
    "name", ["..", "a b", ".x", "-x", "x" * 101, "ü", "a\x00", "..%2F..%2Fetc", "a%2Fb", "CON:"]
)
def test_names_that_could_leave_the_folder_are_refused(client, root, name):
    from urllib.parse import quote

    url = f"/v1/indexes/{quote(name, safe='%')}"
    assert client.put(url, json={"plain": True}).status_code in (404, 405, 422)
    assert client.get(url).status_code in (404, 405)
    assert client.post(f"{url}/search", json={"q": "x"}).status_code in (404, 422)
    assert sorted(path.name for path in root.parent.iterdir()) == ["indexes"]
    assert [path.name for path in root.iterdir()] == ["faq"]


@pytest.mark.parametrize(
    "similarity",
    [
        {"sources": ["/etc/passwd"]},
        {"sources": ["synonyms:/etc/passwd"]},
        {"sources": ["vectors:../x.txt"]},
        {"sources": ["english"], "proposer": "faiss"},
        {"sources": "english"},
        {"sources": [5]},
        {"format": "other"},
        {"odd": 1},
    ],
)
def test_a_recipe_reads_no_files_of_the_server(client, similarity):
    answer = client.put("/v1/indexes/new", json={"similarity": similarity})
    assert problem(answer, 422) == "invalid-input"
    assert (
        "passwd" not in answer.json()["detail"]
        or "of others cannot name" in answer.json()["detail"]
    )


def test_an_index_that_is_gone_is_unknown(client, root):
    assert client.get(FAQ).status_code == 200
    shutil.rmtree(root / "faq")
    end = time.monotonic() + 5
    while client.get(FAQ).status_code != 404:
        assert time.monotonic() < end
        time.sleep(0.05)
    assert client.get("/health").status_code == 200


def test_commits_and_aliases_are_seen_while_another_index_is_opened(client, root, monkeypatch):
    assert client.get(FAQ).status_code == 200
    shutil.copytree(root / "faq", root / "large")
    opens, opened = threading.Event(), threading.Event()

    class Slow(ServedIndex):
        def __init__(self, *arguments):
            opens.set()
            assert opened.wait(30)
            super().__init__(*arguments)

    monkeypatch.setattr(catalog, "ServedIndex", Slow)
    with ThreadPoolExecutor(1) as pool:
        opening = pool.submit(client.get, "/v1/indexes/large")
        assert opens.wait(30)
        try:
            assert client.put("/v1/aliases/best", json={"index": "faq"}).status_code < 300
            with sc.SoftIndex.open(root / "faq").writer() as writer:
                writer.add("new", "tea")
            end = time.monotonic() + 5
            while client.get("/v1/indexes/best/documents/new").status_code != 200:
                assert time.monotonic() < end
                time.sleep(0.05)
        finally:
            opened.set()
        assert opening.result().status_code == 200


def test_what_cannot_be_served_is_an_error(tmp_path):
    with pytest.raises(FileNotFoundError):
        create_app(ServeSettings(tmp_path / "gone"))
    (tmp_path / "file").write_text("x")
    with pytest.raises(NotADirectoryError):
        create_app(ServeSettings(tmp_path / "file"))


def test_a_read_only_server_refuses_changes_only(serving):
    client = serving(read_only=True)
    assert client.post(f"{FAQ}/search", json={"q": "tea"}).status_code == 200
    for answer in (
        client.put(f"{FAQ}/documents/a", json={"text": "x"}),
        client.delete(f"{FAQ}/documents/tea"),
        client.post(f"{FAQ}/documents", json={"documents": []}),
        client.put("/v1/indexes/new", json={}),
        client.delete(FAQ),
    ):
        assert problem(answer, 403) == "read-only"
    assert client.get(FAQ).json()["documents"] == 4


def test_an_index_at_a_url_refuses_changes(serving, root, tmp_path, monkeypatch):
    pytest.importorskip("fsspec")
    monkeypatch.setenv("SOFTCOSINE_CACHE", str(tmp_path / "cache"))
    client = serving(Path((root / "faq").as_uri()))
    assert client.post(f"{FAQ}/search", json={"q": "tea"}).status_code == 200
    for answer in (
        client.put(f"{FAQ}/documents/a", json={"text": "x"}),
        client.patch(f"{FAQ}/similarities", json={"pin": []}),
        client.post(f"{FAQ}/merge"),
        client.delete(FAQ),
    ):
        assert problem(answer, 403) == "read-only"
        assert "softcosine admin backup FOLDER URL --overwrite" in answer.json()["detail"]
    assert client.get("/session").json()["scopes"] == ["search"]


@pytest.mark.parametrize(
    "setting",
    [
        {"overrides": True}, {"overrides": 5}, {"overrides": "a = b 1"}, {"max_neighbors": ""},
        {"max_neighbors": False}, {"max_neighbors": []}, {"min_similarity": ""}, {"guard": 1},
        {"threshold": "x"}, {"exponent": {}}, {"combine": None}, {"scaling": []},
    ],
)  # fmt: skip
def test_a_faulty_recipe_is_refused(client, setting):
    recipe = {"sources": ["edit-distance"], **setting}
    answer = client.put("/v1/indexes/new", json={"similarity": recipe})
    assert problem(answer, 422) == "invalid-input"
    assert next(iter(setting)) in answer.json()["detail"]


def test_a_source_whose_data_is_missing_is_refused_by_name(client, monkeypatch):
    def missing():
        raise FileNotFoundError("looked in /srv/secret")

    monkeypatch.setattr("softcosine.lab.wordnet.files.find_wordnet", missing)
    answer = client.put("/v1/indexes/new", json={"similarity": {"sources": ["wordnet"]}})
    assert problem(answer, 422) == "invalid-input"
    assert "wordnet" in answer.json()["detail"]
    assert "secret" not in answer.text


def test_an_encoded_slash_separates_nothing(client, root):
    for method, path in (
        ("DELETE", "/v1/indexes/faq%2Fdocuments%2Ftea"),
        ("GET", "/v1/indexes/faq%2fdocuments/tea"),
        ("GET", "/v1%2Findexes/faq/documents/tea"),
        ("GET", "/v1/indexes/faq/documents%2Ftea"),
        ("GET", "/v1/indexes%2Ffaq"),
        ("GET", "/page%2Fpage.js"),
    ):
        assert problem(client.request(method, path), 404) == "not-found", path
    assert "tea" in sc.SoftIndex.open(root / "faq")
    assert client.get(f"{FAQ}/documents/pot%2F1").json()["id"] == "pot/1"
    assert client.get(f"{FAQ}/documents/pot/1").json()["id"] == "pot/1"
    assert "'a/b'" in client.get(f"{FAQ}/terms/a%2fb").json()["detail"]


def test_no_alias_is_lost_between_servers(serving):
    servers = [serving() for _ in range(3)]

    def put(number):
        answer = servers[number % 3].put(f"/v1/aliases/a{number}", json={"index": "faq"})
        return answer.status_code, f"a{number}" in answer.json()["aliases"]

    with ThreadPoolExecutor(6) as pool:
        assert set(pool.map(put, range(30))) == {(200, True)}
    servers[0].app.state.server.catalog.refresh()
    assert len(servers[0].get("/v1/aliases").json()["aliases"]) == 30


def test_a_file_that_stays_locked_is_busy(serving, root):
    client = serving(limits={"writer_seconds": 0.05})
    assert client.put("/v1/aliases/a", json={"index": "faq"}).status_code == 200
    with FileLock(root / ".serve" / "aliases.lock"):
        answer = client.put("/v1/aliases/b", json={"index": "faq"})
    assert problem(answer, 503) == "busy"
    assert str(root) not in answer.text
