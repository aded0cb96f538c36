"""A cluster of two nodes, one of which dies during searches, exports and syncs."""

from __future__ import annotations

import json
import random
import threading
from urllib.error import HTTPError
from urllib.request import Request, urlopen

import pytest

import softcosine as sc
from softcosine.errors import ServerError
from softcosine.servers import sync as syncs
from softcosine.servers.elasticsearch import OpenSearch
from softcosine.servers.field_search import search_field
from softcosine.servers.learning import learn_from
from softcosine.servers.server_index import ServerIndex
from softcosine.servers.text_field import TextField

WORDS = [f"w{letter}{other}" for letter in "abcdefgh" for other in "abcdefgh"]


@pytest.fixture(autouse=True)
def _small_batches(monkeypatch):
    monkeypatch.setattr(syncs, "_MOST_DOCUMENTS", 20)


@pytest.fixture
def nodes(opensearch_nodes):
    """Both nodes, running and empty."""
    for node in opensearch_nodes:
        if node.process.ended:
            node.start(2)
    for path in ("softcosine*", "_index_template/copies"):
        call(opensearch_nodes[0], f"/{path}", "DELETE", missing=True)
    well(opensearch_nodes[0])
    return opensearch_nodes


def call(node, path, method="GET", body=None, *, missing=False):
    data = None if body is None else json.dumps(body).encode()
    headers = {"Content-Type": "application/json"}
    try:
        with urlopen(Request(node.url + path, data, headers, method=method), timeout=90) as reply:
            return json.load(reply)
    except HTTPError as error:
        if not missing or error.code != 404:
            raise
    return {}


def well(node):
    """Wait until both nodes have all shards."""
    told = call(node, "/_cluster/health?wait_for_status=green&wait_for_nodes=2&timeout=60s")
    assert not told["timed_out"]


def made(n=400):
    drawn = random.Random(1)
    texts = [" ".join(drawn.choices(WORDS, k=drawn.randint(1, 20))) for _ in range(n)]
    return sc.SoftIndex.from_texts(texts, plain=True, language="none", ranking="soft_bm25")


def connected(index, node):
    return ServerIndex.connect(index, node.url.replace("http:", "opensearch:"))


def wait_less(served):
    """Do not wait long for a cluster that cannot answer."""
    served.server._http._timeout = 5.0


def shown(hits):
    return [(hit.id, hit.score) for hit in hits]


def queries(n):
    drawn = random.Random(2)
    return [" ".join(drawn.choices(WORDS, k=3)) for _ in range(n)]


def assert_equal(index, served):
    for query in queries(10):
        hits = served.search(query, exact=True)
        assert shown(hits) == shown(index.search(query))
        assert hits.plan.proven


def copies(node, *, shards, replicas):
    settings = {"number_of_shards": shards, "number_of_replicas": replicas}
    body = {"index_patterns": ["softcosine*"], "template": {"settings": settings}}
    call(node, "/_index_template/copies", "PUT", body)


def after(monkeypatch, name, number, act):
    """Call `act` before the given call of a method of OpenSearch."""
    method, left = getattr(OpenSearch, name), iter(range(number))

    def counted(self, *arguments):
        if next(left, None) == number - 1:
            act()
        return method(self, *arguments)

    monkeypatch.setattr(OpenSearch, name, counted)


def test_searches_go_on_when_a_node_dies_during_them(nodes):
    manager, other = nodes
    index = made()
    with connected(index, manager) as served:
        served.export()
        well(manager)
        killer = threading.Timer(0.4, other.kill)
        killer.start()
        n_after = 0
        for query in queries(500):
            n_after += other.process.ended
            hits = served.search(query, exact=True)
            assert shown(hits) == shown(index.search(query))
            if n_after == 20:
                break
        killer.join()
        assert n_after == 20
        assert hits.plan.proven


def test_an_export_goes_on_when_a_node_dies_within_it(nodes, monkeypatch):
    manager, other = nodes
    copies(manager, shards=3, replicas=1)

    def die():
        well(manager)  # else a shard may not have a copy yet
        other.kill()

    index = made()
    after(monkeypatch, "put", 6, die)
    with connected(index, manager) as served:
        assert served.export().n_sent == len(index)
        assert_equal(index, served)
        assert not served.sync()


@pytest.mark.parametrize("dies", [0, 1], ids=["manager", "other"])
def test_a_sync_by_a_node_that_dies_is_completed_later(nodes, monkeypatch, dies):
    index = made()

    def die():
        well(nodes[0])
        wait_less(served)
        nodes[dies].kill()

    with connected(index, nodes[1]) as served, connected(index, nodes[0]) as elsewhere:
        with monkeypatch.context() as within:
            after(within, "put", 6, die)
            with pytest.raises(ServerError, match="see whether"):
                served.export()
        if dies == 0:  # the other node cannot write alone
            nodes[0].start(2)
        with pytest.raises(ServerError, match="broke off"):
            elsewhere.search("wab")
        assert 0 < elsewhere.sync().n_sent < len(index)
        assert_equal(index, elsewhere)
        assert not elsewhere.sync()


def test_answers_without_the_shards_of_a_node_are_partial(nodes):
    manager, other = nodes
    copies(manager, shards=4, replicas=0)
    index = made()
    with connected(index, manager) as served:
        served.export()
        _keep_the_marker_at(manager)
        field = text_field(manager, ["green tea", "a flat tyre", "tea for two"] * 20)
        learned = learn_from(field)
        whole = search_field(learned, field, "tea", k=60)
        assert "partial" not in whole.plan.reason
        other.kill()
        for query in queries(5):
            hits, exact = served.search(query, k=400, exact=True), index.search(query, k=400)
            assert not hits.plan.proven
            assert "partial" in hits.plan.reason
            assert set() < set(shown(hits)) < set(shown(exact))
        hits = search_field(learned, field, "tea", k=60)
        assert "partial" in hits.plan.reason
        assert set() < set(shown(hits)) < set(shown(whole))
        with pytest.raises(ServerError, match="of 4 shards failed or are not available"):
            learn_from(field)
        wait_less(served)
        with pytest.raises(ServerError, match="see whether"):
            served.sync()
        other.start(2)
        well(manager)
        with pytest.raises(ServerError, match="broke off"):
            served.search("wab")
        assert not served.sync()
        assert_equal(index, served)


def text_field(node, texts):
    properties = {"body": {"type": "text"}}
    call(node, "/softcosine_texts", "PUT", {"mappings": {"properties": properties}})
    for id, text in enumerate(texts):
        call(node, f"/softcosine_texts/_doc/{id}", "PUT", {"body": text})
    call(node, "/softcosine_texts/_refresh", "POST")
    url = node.url.replace("http:", "opensearch:")
    return TextField.open(f"{url}/softcosine_texts", "body")


def _keep_the_marker_at(node):
    """Move the shard of the marker to a node, if it is at the other one."""
    state = call(node, "/softcosine/_search_shards?routing=softcosine")
    own = call(node, "/_nodes/_local")["nodes"]
    (shard,) = state["shards"][0]
    if shard["node"] not in own:
        place = {"index": "softcosine", "shard": shard["shard"], "from_node": shard["node"]}
        move = {"move": {**place, "to_node": next(iter(own))}}
        call(node, "/_cluster/reroute", "POST", {"commands": [move]})
        call(node, "/_cluster/health?wait_for_no_relocating_shards=true&timeout=30s")
