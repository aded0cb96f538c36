"""``softcosine export URL``, ``sync`` and ``search --server``."""

from __future__ import annotations

import json

import pytest

from server_processes import free_port
from softcosine.index.soft_index import SoftIndex
from softcosine.servers.registry import SERVERS

TEXTS = {
    "bike": "A flat tyre of a bicycle",
    "tea": "The tea is getting cold",
    "car": "Repair of cars and of a flat tyre",
    "dog": "My dog barks at the postman every morning",
}


@pytest.fixture
def folder(tmp_path):
    path = tmp_path / "a.index"
    metadata = [{"letters": len(id)} for id in TEXTS]
    SoftIndex.from_texts(TEXTS.values(), ids=TEXTS, metadata=metadata).save(path)
    return path


def test_an_index_is_exported_searched_changed_and_synced(run, folder, url, collection):
    place = ("--collection", collection)
    done = json.loads(run("export", folder, url, *place, "--json"))
    assert set(done) == {
        "index", "server", "collection", "documents", "ranking", "sent", "deleted", "seconds",
    }  # fmt: skip
    assert (done["sent"], done["documents"], done["ranking"]) == (4, 4, "soft_tf_bm25")
    query = ("search", folder, "bicycle repair", "--json")
    exact = json.loads(run(*query))
    found = json.loads(run(*query, "--server", url, *place, "--plan"))
    assert found["hits"] == exact["hits"]
    assert found["plan"]["proven"] is True
    assert found["plan"]["method"] in SERVERS
    only = json.loads(run(*query, "--server", url, *place, "--where", "letters>=4", "--exact"))
    assert [hit["id"] for hit in only["hits"]] == ["bike"]
    run("delete", folder, "dog")
    assert "sync INDEX URL" in run(*query, "--server", url, *place, code=1)
    shown = run("sync", folder, url, *place)
    assert "0 documents sent and 1 deleted" in " ".join(shown.split())
    assert f"--collection {collection}" in " ".join(shown.split())
    shown = run("search", folder, "tyre", "--server", url, *place, "--plan", "--explain")
    assert "; proven" in " ".join(shown.split())


def test_what_does_not_go_together_is_refused(run, folder, url, collection):
    place = ("--collection", collection)
    assert "for engines" in run("export", folder, url, *place, "--factory", "Flat", code=2)
    assert "for servers" in run("export", folder, "faiss", *place, code=2)
    assert "name it by --server" in run("search", folder, "tea", "--exact", code=2)
    assert "export the index first" in run("search", folder, "tea", "--server", url, *place, code=1)
    run("export", folder, url, *place)
    assert "--overwrite" in run("export", folder, url, *place, code=1)
    run("export", folder, url, *place, "--overwrite", "--ranking", "inner_product")
    search = ("search", folder, "tea", "--server", url, *place)
    assert "exported for inner_product" in run(*search, "--ranking", "soft_bm25", code=2)
    assert "leave --server out" in run(*search, "--fill", code=2)


def test_a_server_that_is_down_is_one_line(run, folder, postgresql):
    url = f"postgresql://somebody:secret@127.0.0.1:{free_port()}/x"
    for command in (("export",), ("sync",)):
        said = run(*command, folder, url, code=1)
        assert said.count("\n") == 1
        assert "secret" not in said
