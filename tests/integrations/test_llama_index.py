"""The adapter for LlamaIndex: nodes, filters, fusion."""

from __future__ import annotations

import asyncio

import pytest

import softcosine as sc
from conftest import need_framework
from softcosine.errors import InvalidInputError

need_framework("llama_index")

from llama_index.core.llms import MockLLM  # noqa: E402
from llama_index.core.node_parser import TokenTextSplitter  # noqa: E402
from llama_index.core.retrievers import QueryFusionRetriever  # noqa: E402
from llama_index.core.schema import Document, NodeRelationship  # noqa: E402
from llama_index.core.vector_stores import (  # noqa: E402
    FilterCondition,
    FilterOperator,
    MetadataFilter,
    MetadataFilters,
)
from llama_index.core.vector_stores.utils import build_metadata_filter_fn  # noqa: E402

from softcosine.integrations.llama_index import SoftRetriever, where_of, write_nodes  # noqa: E402

TEXTS = ["a flat tyre of the bike", "a bike with a new tyre", "green tea", "a tyre of a car"]
FACTS = [
    {"n": 0, "tags": ["a"], "lang": "en", "any": "x"},
    {"n": 1, "tags": ["a", "b"], "lang": "EN"},
    {"n": 2, "tags": [], "lang": "de"},
    {"n": 3.5},
]


@pytest.fixture
def index():
    return sc.SoftIndex.from_texts(TEXTS, metadata=FACTS)


def filtered(*filters, condition=FilterCondition.AND):
    return MetadataFilters(
        filters=[
            MetadataFilter(key=key, operator=FilterOperator(operator), value=value)
            for key, operator, value in filters
        ],
        condition=condition,
    )


def found(results):
    return [(one.node_id, one.score) for one in results]


def test_a_retriever_gives_the_hits_of_the_index(index):
    retriever = SoftRetriever(
        index, similarity_top_k=2, filters=filtered(("n", "<", 3)), expand=False
    )
    hits = index.search("flat tyre", k=2, where={"n": {"<": 3}}, expand=False)
    results = retriever.retrieve("flat tyre")
    assert found(results) == [(hit.id, hit.score) for hit in hits]
    assert [(one.text, one.metadata) for one in results] == [(h.text, h.metadata) for h in hits]
    assert found(asyncio.run(retriever.aretrieve("flat tyre"))) == found(results)


def test_a_query_is_text_unless_it_has_syntax(index):
    plain = SoftRetriever(index).retrieve("tyre -car")
    assert [one.node_id for one in plain] == index.search("tyre car").ids
    strict = SoftRetriever(index, syntax=True).retrieve("tyre -car")
    assert [one.node_id for one in strict] == index.search("tyre -car", syntax=True).ids


COMPARISONS = [
    ("n", "==", 1), ("n", "!=", 1), ("n", ">", 1), ("n", ">=", 1), ("n", "<", 1), ("n", "<=", 1),
    ("n", "in", [0, 2]), ("n", "nin", [0, 2]), ("lang", "==", "en"), ("lang", "!=", "en"),
    ("lang", "in", ["en", "de"]), ("lang", "nin", ["en", "de"]), ("tags", "any", ["b", "c"]),
    ("tags", "all", ["a", "b"]), ("tags", "contains", "a"), ("lang", "text_match", "e"),
    ("lang", "text_match_insensitive", "E"), ("tags", "is_empty", None),
    ("lang", "is_empty", None), ("any", "==", "x"),
]  # fmt: skip


@pytest.mark.parametrize("condition", FilterCondition)
@pytest.mark.parametrize("first", COMPARISONS, ids=str)
def test_filters_mean_what_they_mean_to_llama_index(index, first, condition):
    for second in COMPARISONS[:: 1 + len(COMPARISONS) // 4]:
        filters = filtered(first, second, condition=condition)
        matches = build_metadata_filter_fn(lambda n: FACTS[int(n)], filters)
        expected = [str(n) for n in range(4) if matches(str(n))]
        assert index.filter(where_of(filters)).ids == expected


def test_filters_can_be_nested(index):
    inner = filtered(("n", "==", 0), ("n", "==", 2), condition=FilterCondition.OR)
    outer = MetadataFilters(filters=[inner, *filtered(("lang", "==", "de")).filters])
    assert index.filter(where_of(outer)).ids == ["2"]
    assert index.filter(where_of(MetadataFilters(filters=[]))).ids == list(index)


def test_nodes_come_back_whole(tmp_path):
    document = Document(text=". ".join(TEXTS * 9), metadata={"year": 2020}, id_="faq")
    nodes = TokenTextSplitter(chunk_size=90, chunk_overlap=0).get_nodes_from_documents([document])
    assert len(nodes) > 1
    index = sc.SoftIndex.create(tmp_path / "faq.index", language="english")
    write_nodes(index, nodes)
    opened = sc.SoftIndex.open(tmp_path / "faq.index")
    results = SoftRetriever(opened, filters=filtered(("year", "==", 2020))).retrieve("tea bike")
    assert {one.node_id: one.node for one in results} == {one.node_id: one for one in nodes}
    assert results[0].node.relationships[NodeRelationship.SOURCE].node_id == "faq"


@pytest.mark.parametrize("mode", ["reciprocal_rerank", "relative_score", "simple"])
def test_a_fusion_retriever_takes_it(index, mode):
    retrievers = [SoftRetriever(index), SoftRetriever(index, ranking="soft_cosine")]
    fusion = QueryFusionRetriever(
        retrievers, llm=MockLLM(), mode=mode, num_queries=1, similarity_top_k=3, use_async=False
    )
    results = fusion.retrieve("green tea")
    assert [one.node_id for one in results] == ["2"]
    assert [one.node_id for one in asyncio.run(fusion.aretrieve("green tea"))] == ["2"]
    assert len(fusion.retrieve("tyre")) == 3


def test_errors_are_those_of_the_library(index):
    for filters, message in [
        (("n", "in", 1), "needs a list"),
        (("n", "any", 1), "of LlamaIndex needs a list"),
        (("n", "text_match_insensitive", 1), "it needs a string"),
    ]:
        with pytest.raises(InvalidInputError, match=message):
            SoftRetriever(index, filters=filtered(filters)).retrieve("tea")
    with pytest.raises(InvalidInputError, match="k is -1"):
        SoftRetriever(index, similarity_top_k=-1).retrieve("tea")
