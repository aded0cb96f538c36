"""Faults of Elasticsearch and OpenSearch as servers of an index."""

from __future__ import annotations

import json

import numpy as np
import pytest

import softcosine as sc
from scripted_server import serving
from softcosine.errors import InvalidInputError, ServerError
from softcosine.servers import retries
from softcosine.servers.documents import documents_of
from softcosine.servers.marker import Marker
from softcosine.servers.registry import server_of
from softcosine.servers.server import Failure
from softcosine.servers.server_index import ServerIndex

NONE = (404, {"error": {"reason": "no such index"}})
SHARDS = {"total": 2, "successful": 2, "failed": 0}


@pytest.fixture(autouse=True)
def _without_waits(monkeypatch):
    monkeypatch.setattr(retries, "_FIRST_WAIT", 0.0)


def opened(port):
    return server_of(f"elasticsearch://127.0.0.1:{port}")


def two_documents():
    index = sc.SoftIndex.from_texts(["tea", "pot"], ids=["a", "b"], plain=True, language="none")
    marker = Marker.of(index.snapshot, "soft_bm25", vectors=False)
    return list(documents_of(index.snapshot, marker))


def items(*statuses):
    error = {"type": "full", "reason": "queue is full"}
    results = [
        {"status": status, **({"error": error} if status > 400 else {})} for status in statuses
    ]
    return 200, {"errors": True, "items": [{"index": result} for result in results]}


def test_documents_that_a_busy_server_refuses_are_sent_again():
    with serving(NONE, items(201, 429), items(201)) as (port, seen):
        assert opened(port).put(two_documents()) == []
    first, second = (body.splitlines() for *_, body in seen[1:])
    assert (len(first), len(second)) == (4, 2)
    assert first[2:] == second
    with serving(NONE, items(429, 201), *[items(429)] * 4) as (port, _):
        assert opened(port).put(two_documents()) == [Failure("a", "queue is full")]


def test_refused_documents_are_told_by_their_ids():
    with serving(NONE, items(201, 403)) as (port, _):
        assert opened(port).put(two_documents()) == [Failure("b", "queue is full")]


def test_a_shard_that_takes_no_documents_ends_the_sync():
    told = r"a shard takes no documents \(queue is full\); sync again"
    with serving(NONE, items(201, 503)) as (port, _), pytest.raises(ServerError, match=told):
        opened(port).put(two_documents())


def test_a_server_that_goes_down_within_a_bulk_is_named():
    with serving(NONE, *[b""] * 5) as (port, seen):
        with pytest.raises(ServerError, match="lost"):
            opened(port).put(two_documents())
        assert len(seen) == 6


def test_answers_of_some_shards_are_not_complete():
    hit = {"fields": {"id": ["a"]}, "_score": 1.0}
    failed = {"total": 2, "successful": 1, "failed": 1}
    missing = {"total": 2, "successful": 1, "failed": 0}  # a shard without any copy
    for timed_out, shards, complete in (
        (False, SHARDS, True), (True, SHARDS, False), (False, failed, False),
        (False, missing, False),
    ):  # fmt: skip
        reply = {"timed_out": timed_out, "_shards": shards, "hits": {"hits": [hit]}}
        with serving(NONE, (200, reply)) as (port, seen):
            found = opened(port).search(np.array([3]), np.array([1.0]), 5, timeout=2.0)
        assert (found.ids, found.complete) == (["a"], complete)
    body = json.loads(seen[1][3])
    assert body["query"]["bool"]["should"] == [{"term": {"impacts": {"value": "3", "boost": 1.0}}}]
    assert body["timeout"] == "2000ms"


def test_a_list_of_digests_without_some_shards_is_an_error():
    shards = {"total": 2, "successful": 1, "failed": 0}
    page = {"timed_out": False, "_shards": shards, "_scroll_id": "x", "hits": {"hits": []}}
    with serving(NONE, (200, {}), (200, page), (200, {})) as (port, _):
        server = opened(port)
        with pytest.raises(ServerError, match="1 of 2 shards failed or are not available"):
            list(server.digests())


@pytest.mark.parametrize("name", ["elasticsearch", "opensearch"])
def test_an_index_of_somebody_else_is_left_alone(name, request):
    from urllib.request import Request, urlopen

    url = request.getfixturevalue(name)
    urlopen(Request(f"{url}/theirs", method="PUT"), timeout=60).close()
    index = sc.SoftIndex.from_texts(["tea"], plain=True, language="none")
    address = url.replace("http:", f"{name}:")
    with ServerIndex.connect(index, address, collection="theirs") as served:
        for work in (served.export, served.sync, lambda: served.export(overwrite=True)):
            with pytest.raises(ServerError, match="no marker of this version"):
                work()
    with pytest.raises(InvalidInputError, match="has a path"):
        ServerIndex.connect(index, f"{address}/theirs")


def test_a_server_with_a_low_limit_of_clauses_gets_fewer_terms_at_once(few_clauses):
    random = np.random.default_rng(2)
    words = [f"wb{letter}" for letter in "abcdefghijklmnopqrst"]
    texts = [" ".join(random.choice(words, random.integers(1, 9))) for _ in range(300)]
    index = sc.SoftIndex.from_texts(texts, plain=True, language="none")
    address = few_clauses.replace("http:", "opensearch:")
    with ServerIndex.connect(index, address, collection="clauses") as served:
        served.export()
        query = " ".join(words)
        hits = served.search(query)
        assert "5 of 20 terms (as many as the server takes)" in hits.plan.reason
        assert not hits.plan.proven
        hits = served.search(query, exact=True)
        assert "20 of 20 terms in 4 batches" in hits.plan.reason
        assert hits.plan.proven
        assert hits.hits == index.search(query).hits
        where = {"any": [{"year": {">": year}} for year in range(9)]}
        with pytest.raises(ServerError, match=r"raise indices\.query\.bool\.max_clause_count"):
            served.search(query, where=where)
        assert len(served.search("wba wbb").ids) == 10


@pytest.mark.parametrize("name", ["elasticsearch", "opensearch"])
def test_impacts_lose_less_than_the_error_that_is_claimed(name, request):
    url = request.getfixturevalue(name).replace("http:", f"{name}:")
    random = np.random.default_rng(1)
    texts = [" ".join(random.choice(list("abcdefgh"), random.integers(1, 30))) for _ in range(300)]
    index = sc.SoftIndex.from_texts(texts, plain=True, language="none")
    with ServerIndex.connect(index, url, collection="rounded") as served:
        served.export()
        server = served.server
        marker = server.marker()[0]
        terms = np.arange(8)
        weights = random.uniform(0.01, 1.0, 8)
        found = server.search(terms, weights, 300)
        scores = dict(zip(found.ids, found.scores, strict=True))
        exact = {
            one.id: float(weights[one.terms] @ one.impacts.astype(np.float64))
            for one in documents_of(index.snapshot, marker)
        }
        assert scores.keys() == exact.keys()
        ratios = np.array([exact[id] / scores[id] for id in exact])
        assert 1.0 < ratios.max() <= 1.0 + server.relative_error(8)
        assert ratios.min() > 1.0 - 1e-6
        server.drop()
        assert server.marker() is None
