"""A sharded index is served as any other, but for changes."""

from __future__ import annotations

import numpy as np
import pytest

from serve_answers import problem
from sharded import documents_of, epoch, in_folders, one_index

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
            assert "missing_shards" not in answer
        similar = found(client.post(f"{BIG}/similar", json={"id": "doc1"}))
        assert [hit["id"] for hit in similar["hits"]] == one.similar("doc1").ids
        score = found(client.post(f"{BIG}/explain", json={"q": "tea", "id": "doc2"}))["score"]
        assert score == one.explain("tea", "doc2").score
        assert found(client.get(f"{BIG}/documents/doc3"))["text"] == one.get(["doc3"])[0].text
        assert found(client.get(f"{BIG}/documents?sort=-n&k=4"))["total"] == 20
        assert found(client.get(BIG))["documents"] == 20
        assert found(client.get(f"{BIG}/similarities"))["decisions"] == []
        assert problem(client.get(f"{BIG}/documents/nobody"), 404) == "unknown-document"


def test_changes_are_refused(one, serving):
    client = serving()
    add = {"documents": [{"id": "new", "text": "green tea"}]}
    for answer in (
        client.post(f"{BIG}/documents", json=add),
        client.put(f"{BIG}/documents/new", json={"text": "green tea"}),
        client.delete(f"{BIG}/documents/doc1"),
    ):
        assert problem(answer, 403) == "read-only"
        assert "the index big.shards is sharded" in answer.json()["detail"]
    assert problem(client.post(f"{BIG}/backup", json={"to": "copy"}), 422) == "invalid-input"
    plain = client.post(f"{BIG}/search", json={"q": "tea", "plain": True})
    assert problem(plain, 422) == "invalid-input"
