"""The adapter for Haystack: its mixins for document stores, the component, serialization."""

from __future__ import annotations

import asyncio

import numpy as np
import pytest

import softcosine as sc
from conftest import need_framework
from softcosine.errors import InvalidInputError

need_framework("haystack")

from haystack import Document, Pipeline  # noqa: E402
from haystack.components.retrievers import (  # noqa: E402
    AutoMergingRetriever,
    SentenceWindowRetriever,
)
from haystack.dataclasses import ByteStream, SparseEmbedding  # noqa: E402
from haystack.document_stores.errors import DuplicateDocumentError  # noqa: E402
from haystack.document_stores.types import DuplicatePolicy, FilterPolicy  # noqa: E402
from haystack.errors import FilterError  # noqa: E402
from haystack.testing import document_store as suites  # noqa: E402
from haystack.testing import document_store_async as async_suites  # noqa: E402
from haystack.utils.filters import document_matches_filter  # noqa: E402

from softcosine.integrations.haystack import SoftDocumentStore, SoftRetriever  # noqa: E402

TEXTS = ["a flat tyre of the bike", "a bike with a new tyre", "green tea", "a tyre of a car"]


def documents():
    return [
        Document(id=str(n), content=text, meta={"n": n, "any": n, "at": {"k": n}})
        for n, text in enumerate(TEXTS)
    ]


@pytest.fixture
def store():
    store = SoftDocumentStore(options={"language": "english"})
    store.write_documents(documents())
    return store


def whole_suite():
    """Test classes of Haystack for document stores, but those that others here inherit.

    The store has no methods about the values of metadata, which no component of Haystack calls.
    """
    classes = [
        value
        for module in (suites, async_suites)
        for name, value in vars(module).items()
        if name.endswith(("Test", "Tests"))
        and value.__module__ == module.__name__
        and "Metadata" not in name
    ]
    return [one for one in classes if not any(one in other.__mro__[1:] for other in classes)]


class TestDocumentStore(*whole_suite()):
    @pytest.fixture
    def document_store(self):
        return SoftDocumentStore()

    def test_write_documents(self, document_store):
        document = Document(content="test doc")
        assert document_store.write_documents([document]) == 1
        with pytest.raises(DuplicateDocumentError, match="already; pass DuplicatePolicy"):
            document_store.write_documents([document])

    async def test_write_documents_async(self, document_store):
        self.test_write_documents(document_store)


def test_meta_is_changed_by_filter(store):
    equal = [{"field": "n", "operator": "==", "value": value} for value in (1, 2, 7, None)]
    assert store.update_by_filter(equal[0], {"n": 7}) == 1
    assert store.update_by_filter(equal[1], {"n": None}) == 1
    assert [store.count_documents_by_filter(one) for one in equal] == [0, 0, 1, 1]
    assert store.delete_by_filter({"field": "n", "operator": "in", "value": [0, 7]}) == 2
    assert store.count_documents() == 2


def test_documents_keep_all_their_fields(tmp_path):
    given = [
        Document(content="tea", embedding=np.random.default_rng(0).random(5).tolist()),
        Document(blob=ByteStream(b"\x00\xff", mime_type="image/png"), meta={"page": 2.0}),
        Document(content="", sparse_embedding=SparseEmbedding([1, 5], [0.1, 0.2])),
    ]
    SoftDocumentStore(str(tmp_path / "faq.index")).write_documents(given)
    assert SoftDocumentStore(str(tmp_path / "faq.index")).filter_documents() == given


FILTERS = [
    {"field": field, "operator": operator, "value": value}
    for field in ("meta.n", "n", "meta.at.k", "meta.any", "meta.none")
    for operator, value in [
        ("==", 2), ("!=", 2), (">", 1), (">=", 1), ("<", 1), ("<=", 1), ("in", [1, 3]),
        ("not in", [1, 3]), ("==", None), ("!=", None), ("<", None), ("in", [1, None]),
        ("not in", [1, None]),
    ]
]  # fmt: skip
JOINED = [
    {"operator": operator, "conditions": [first, second]}
    for operator in ("AND", "OR", "NOT")
    for first, second in zip(FILTERS[::7], FILTERS[3::7], strict=False)
]


@pytest.mark.parametrize("filters", [*FILTERS, *JOINED], ids=str)
def test_filters_mean_what_they_mean_to_haystack(store, filters):
    expected = [one.id for one in documents() if document_matches_filter(filters, one)]
    assert [one.id for one in store.filter_documents(filters)] == expected
    found = store.search("tyre bike tea", filters, top_k=9)
    assert sorted(one.id for one in found) == expected


def test_documents_are_found_by_id(store):
    def ids(operator, value):
        found = store.filter_documents({"field": "id", "operator": operator, "value": value})
        return [document.id for document in found]

    assert ids("==", "2") == ["2"]
    assert ids("in", ["3", "unknown", "0"]) == ["3", "0"]


def test_components_of_haystack_find_what_they_need():
    tree = {"__block_size": 5, "__level": 1, "__parent_id": "whole", "__children_ids": []}
    pieces = [
        Document(id=f"{n}", content=text, meta={**tree, "source_id": "s", "split_id": n})
        for n, text in enumerate(TEXTS)
    ]
    children = [piece.id for piece in pieces]
    root = {"__block_size": 0, "__level": 0, "__children_ids": children}
    store = SoftDocumentStore()
    store.write_documents([*pieces, Document(id="whole", content=". ".join(TEXTS), meta=root)])
    window = SentenceWindowRetriever(store, window_size=1).run([pieces[1]])
    assert [one.id for one in window["context_documents"]] == ["0", "1", "2"]
    merged = AutoMergingRetriever(store, threshold=0.5).run(pieces[:3])
    assert [one.id for one in merged["documents"]] == ["whole"]


def test_a_retriever_gives_the_hits_of_the_index(store):
    retriever = SoftRetriever(
        store, filters={"field": "meta.n", "operator": "<", "value": 2}, top_k=1
    )
    hits = store.index.search("flat tyre", k=4, where={"n": {"<": 2}}, expand=False)
    found = retriever.run("flat tyre", top_k=4, options={"expand": False})["documents"]
    assert [(one.id, one.score) for one in found] == [(hit.id, hit.score) for hit in hits]
    assert len(retriever.run("flat tyre")["documents"]) == 1
    other = {"field": "meta.n", "operator": ">", "value": 0}
    assert [one.id for one in retriever.run("car tyre", other)["documents"]] == ["3"]
    retriever.filter_policy = FilterPolicy.MERGE
    merged = asyncio.run(retriever.run_async("car tyre", other | {"field": "meta.at.k"}))
    assert [one.id for one in merged["documents"]] == ["1"]


def test_a_query_is_text_unless_it_has_syntax(store):
    assert [one.id for one in store.search("tyre -car")] == store.index.search("tyre car").ids
    strict = [one.id for one in store.search("tyre -car", syntax=True)]
    assert strict == store.index.search("tyre -car", syntax=True).ids


def test_a_pipeline_survives_serialization(tmp_path, monkeypatch):
    monkeypatch.setenv("HAYSTACK_DESERIALIZATION_ALLOWLIST", "softcosine.*")
    path = str(tmp_path / "faq.index")
    store = SoftDocumentStore(path, {"language": "english"})
    store.write_documents(documents())
    pipeline = Pipeline()
    pipeline.add_component(
        "retriever",
        SoftRetriever(store, top_k=2, filter_policy=FilterPolicy.MERGE, options={"correct": False}),
    )
    loaded = Pipeline.loads(pipeline.dumps())
    assert loaded.to_dict() == pipeline.to_dict()
    asked = {"retriever": {"query": "a tire of the byke"}}
    assert loaded.run(asked) == pipeline.run(asked)
    assert len(loaded.run(asked)["retriever"]["documents"]) == 2


def test_an_index_can_be_given(tmp_path):
    index = sc.SoftIndex.from_texts(TEXTS, metadata=[{"n": n} for n in range(4)])
    store = SoftDocumentStore.from_index(index)
    assert store.filter_documents()[2] == Document(id="2", content=TEXTS[2], meta={"n": 2})
    assert SoftDocumentStore.from_dict(store.to_dict()).count_documents() == 0
    index.save(tmp_path / "faq.index")
    store = SoftDocumentStore.from_index(sc.SoftIndex.open(tmp_path / "faq.index"))
    assert SoftDocumentStore.from_dict(store.to_dict()).count_documents() == 4


def test_writing_is_all_or_nothing(store):
    new = Document(id="new", content="coffee")
    with pytest.raises(DuplicateDocumentError, match="'1'"):
        store.write_documents([new, *documents()[1:]], DuplicatePolicy.FAIL)
    with pytest.raises(DuplicateDocumentError, match="'new'"):
        store.write_documents([new, new], DuplicatePolicy.FAIL)
    assert store.count_documents() == 4
    assert store.write_documents([new, *documents(), new], DuplicatePolicy.SKIP) == 1


def test_errors_have_the_message_of_the_library(store):
    for filters, message in [
        ({"field": "meta.n", "operator": "near", "value": 1}, "has the operator 'near'"),
        ({"field": "meta.n", "operator": "in", "value": 1}, "pass a list"),
        ({"field": "content", "operator": "==", "value": "tea"}, "only keys of meta"),
        ({"field": 3, "operator": "==", "value": "tea"}, "only keys of meta"),
        ({"field": "n", "operator": ["=="], "value": "tea"}, "pass a string"),
        ({"operator": "XOR", "conditions": []}, "must be AND, OR or NOT"),
        ({"operator": "AND", "conditions": 3}, "join a list"),
        ({"operator": "AND", "conditions": [3]}, "filter 3 is no dictionary"),
        ("n", "filter 'n' is no dictionary"),
    ]:
        for call in (
            store.filter_documents,
            store.delete_by_filter,
            store.count_documents_by_filter,
        ):
            with pytest.raises(FilterError, match=message):
                call(filters)
    with pytest.raises(InvalidInputError, match=r"k is -1"):
        SoftRetriever(store).run("tea", top_k=-1)
    with pytest.raises(InvalidInputError, match="ids are strings"):
        store.delete_documents([7])
