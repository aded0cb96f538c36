"""A sharded index is served as any other; the tests of changes run on both kinds."""

from __future__ import annotations

import time

import numpy as np
import pytest

from serve_answers import ended, problem
from sharded import documents_of, epoch, in_folders, one_index
from softcosine.cluster import opening
from softcosine.cluster.sharded_writer import ShardedWriter

BIG = "/v1/indexes/big.shards"


@pytest.fixture
def one(root):
    documents = documents_of("words", np.random.default_rng(2), 20)
    in_folders(epoch("words"), root / "big.shards", documents, 3)
    return one_index(epoch("words"), documents)


def found(answer):
    assert answer.status_code == 200, answer.text
    return answer.json()


def test_reading_answers_as_one_index(one, serving, root):
    for client in (serving(), serving(root / "big.shards")):
        for asked in ({"q": "green tea", "explain": True}, {"q": "car", "facets": ["tag"]}):
            hits = one.search(asked["q"], facets=asked.get("facets", ()))
            answer = found(client.post(f"{BIG}/search", json=asked))
            assert [(hit["id"], hit["score"]) for hit in answer["hits"]] == [
                (hit.id, hit.score) for hit in hits
            ]
            assert answer["missing_shards"] == []
        similar = found(client.post(f"{BIG}/similar", json={"id": "doc1"}))
        assert [hit["id"] for hit in similar["hits"]] == one.similar("doc1").ids
        score = found(client.post(f"{BIG}/explain", json={"q": "tea", "id": "doc2"}))["score"]
        assert score == one.explain("tea", "doc2").score
        assert found(client.get(f"{BIG}/documents/doc3"))["text"] == one.get(["doc3"])[0].text
        assert found(client.get(f"{BIG}/documents?k=4"))["n_matching"] == 20
        assert found(client.get(BIG))["documents"] == 20
        assert found(client.get(f"{BIG}/similarities"))["decisions"] == []
        assert problem(client.get(f"{BIG}/documents/nobody"), 404) == "unknown-document"


def test_documents_of_all_shards_are_compared(one, serving):
    client, least = serving(), {"min_similarity": 0.5}
    record = ended(client, client.post(f"{BIG}/pairs", json=least).json())
    found = {frozenset([pair["id"], pair["other"]]) for pair in record["result"]["pairs"]}
    assert found == {frozenset(pair[:2]) for pair in one.pairs(**least)}
    assert found
    record = ended(client, client.post(f"{BIG}/dedupe", json=least).json())
    groups = [len(group["others"]) for group in record["result"]["groups"]]
    assert sorted(groups) == sorted(len(group.others) for group in one.dedupe(**least))


def test_what_needs_one_index_says_so(one, serving):
    answer = serving().post(f"{BIG}/search", json={"q": "tea", "plain": True})
    assert problem(answer, 422) == "invalid-input"
    assert "needs an index that is not sharded" in answer.json()["detail"]


def test_shards_are_merged_and_keep_what_they_were_built_with(one, serving):
    client, lines = serving(), {"Content-Type": "application/x-ndjson"}
    for number in range(3):
        add = {"text": "green tea and a wheel"}
        assert client.put(f"{BIG}/documents/new{number}", json=add).status_code == 201
    before = found(client.get(BIG))
    record = ended(client, client.post(f"{BIG}/merge").json())
    assert record["state"] == "done", record
    merged = found(client.get(BIG))
    assert record["result"]["commit"] == merged["commit"]
    assert merged["segments"] < before["segments"]
    pin = {"pin": [{"word": "tea", "other": "wheel", "similarity": 0.5}]}
    answer = client.post(f"{BIG}/changes", params={"refresh": "true"}, headers=lines)
    assert problem(answer, 422) == "invalid-input"
    assert "build them anew" in answer.json()["detail"]
    record = ended(client, client.patch(f"{BIG}/similarities", json=pin).json())
    assert "build them anew" in record["problem"]["detail"]
    assert found(client.get(BIG)) == merged


def test_commits_of_another_process_are_seen(one, serving, root):
    client = serving()
    found(client.get(BIG))
    with ShardedWriter(root / "big.shards") as writer:
        writer.add_many([f"n{number}" for number in range(9)], ["green tea"] * 9)
    end = time.monotonic() + 5
    while client.get(f"{BIG}/documents/n8").status_code == 404:
        assert time.monotonic() < end
        time.sleep(0.05)
    assert found(client.get(BIG))["documents"] == 29


def test_shards_are_searched_where_the_settings_say(one, serving, monkeypatch):
    opened = []
    of_threads = opening.ShardedIndex.open

    def threads(path, **options):
        opened.append(options)
        return of_threads(path)

    monkeypatch.setattr(opening.ShardedIndex, "open", threads)
    client = serving(shards=opening.ShardOptions("ray", 2, 0.5))
    assert found(client.post(f"{BIG}/search", json={"q": "green tea"}))["hits"]
    assert opened == [{"engine": "ray", "replicas": 2, "timeout": 0.5}]
