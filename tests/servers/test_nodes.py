"""A text field of a cluster of two nodes, one of which dies."""

from __future__ import annotations

import json
from urllib.error import HTTPError
from urllib.request import Request, urlopen

import pytest

from softcosine.errors import ServerError
from softcosine.servers.field_search import search_field
from softcosine.servers.learning import learn_from
from softcosine.servers.text_field import TextField


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


def shown(hits):
    return [(hit.id, hit.score) for hit in hits]


def copies(node, *, shards, replicas):
    settings = {"number_of_shards": shards, "number_of_replicas": replicas}
    body = {"index_patterns": ["softcosine*"], "template": {"settings": settings}}
    call(node, "/_index_template/copies", "PUT", body)


def test_answers_without_the_shards_of_a_node_are_partial(nodes):
    manager, other = nodes
    copies(manager, shards=4, replicas=0)
    field = text_field(manager, ["green tea", "a flat tyre", "tea for two"] * 20)
    learned = learn_from(field)
    whole = search_field(learned, field, "tea", k=60)
    assert "partial" not in whole.plan.reason
    other.kill()
    hits = search_field(learned, field, "tea", k=60)
    assert "partial" in hits.plan.reason
    assert set() < set(shown(hits)) < set(shown(whole))
    with pytest.raises(ServerError, match="of 4 shards failed or are not available"):
        learn_from(field)


def text_field(node, texts):
    properties = {"body": {"type": "text"}}
    call(node, "/softcosine_texts", "PUT", {"mappings": {"properties": properties}})
    for id, text in enumerate(texts):
        call(node, f"/softcosine_texts/_doc/{id}", "PUT", {"body": text})
    call(node, "/softcosine_texts/_refresh", "POST")
    url = node.url
    return TextField.open(f"{url}/softcosine_texts", "body")
