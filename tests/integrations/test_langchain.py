"""The adapter for LangChain: its standard suites, and what they leave open."""

from __future__ import annotations

import asyncio

import pytest

import softcosine as sc
from conftest import need_framework
from softcosine.errors import InvalidInputError

need_framework("langchain_core")
need_framework("langchain_tests")

from langchain_core.documents import Document  # noqa: E402
from langchain_core.indexing import InMemoryRecordManager, aindex  # noqa: E402
from langchain_core.indexing import index as indexing  # noqa: E402
from langchain_tests import integration_tests as suites  # noqa: E402

from softcosine.integrations.langchain import SoftVectorStore  # noqa: E402

TEXTS = ["a flat tyre of the bike", "a bike with a new tyre", "green tea", "a tyre of a car"]
FACTS = [{"n": n, "lang": "en"} for n in range(4)]


@pytest.fixture
def index():
    return sc.SoftIndex.from_texts(TEXTS, metadata=FACTS)


class TestVectorStore(suites.VectorStoreIntegrationTests):
    @pytest.fixture
    def vectorstore(self):
        return SoftVectorStore()


class TestVectorStoreInAFolder(suites.VectorStoreIntegrationTests):
    @pytest.fixture
    def vectorstore(self, tmp_path):
        return SoftVectorStore(sc.SoftIndex.create(tmp_path / "texts.index"))


@pytest.mark.smoke
def test_searches_give_the_hits_of_the_index(index):
    hits = index.search("flat tyre", k=3, where={"n": {"<": 3}})
    store = SoftVectorStore(index, fill=False)
    found = store.similarity_search_with_score("flat tyre", k=3, filter={"n": {"<": 3}})
    assert [(document.id, score) for document, score in found] == [(h.id, h.score) for h in hits]
    assert [document.metadata for document, _ in found] == [hit.metadata for hit in hits]


def test_a_store_fills_up_to_k_unless_told_otherwise(index):
    store = SoftVectorStore(index)
    assert [one.id for one in store.similarity_search("tea", k=3)] == ["2", "0", "1"]
    assert [one.id for one in store.similarity_search("tea", k=3, fill=False)] == ["2"]
    retriever = SoftVectorStore(index, fill=False).as_retriever()
    assert [one.id for one in retriever.invoke("tea")] == ["2"]
    bounded = store.as_retriever(search_kwargs={"k": 2, "filter": {"n": {">": 2}}})
    assert [one.id for one in bounded.invoke("tyre")] == ["3"]


def test_a_query_is_text_unless_it_has_syntax(index):
    store = SoftVectorStore(index, fill=False)
    for find in (store.similarity_search, store.as_retriever().invoke):
        assert {"0", "3"} <= {one.id for one in find('"tyre bike" tyre -car')}
        assert [one.id for one in find('"flat tyre" -car', syntax=True)] == ["0"]


def test_relevance_scores_are_soft_cosines(index):
    store = SoftVectorStore(index)
    scored = store.similarity_search_with_relevance_scores(TEXTS[2], k=4)
    assert scored[0][1] == pytest.approx(1)
    assert all(0 <= score <= 1 for _, score in scored)
    later = store.asimilarity_search_with_relevance_scores(TEXTS[2], k=4)
    assert asyncio.run(later) == scored
    near = store.similarity_search_with_relevance_scores(TEXTS[2], score_threshold=0.9)
    assert [document.id for document, _ in near] == ["2"]


def test_marginal_relevance_is_that_of_the_index(index):
    found = SoftVectorStore(index).search("tyre of a bike", "mmr", k=3, lambda_mult=0.3)
    assert [one.id for one in found] == index.search("tyre of a bike", k=3, mmr=0.3, fill=True).ids


def test_ids_that_are_missing_are_made():
    store = SoftVectorStore.from_documents(
        [Document(id="a", page_content="tea"), Document(page_content="coffee")], plain=True
    )
    first, second = store.index
    assert first == "a"
    assert len(second) == 36


@pytest.mark.parametrize("asynchronous", [False, True])
def test_indexing_of_langchain_writes_what_changed_alone(asynchronous):
    store, record = SoftVectorStore(), InMemoryRecordManager("faq")

    def counts(texts):
        docs = [Document(text, metadata={"source": text[0]}) for text in texts]
        options = {"cleanup": "full", "source_id_key": "source", "key_encoder": "sha256"}
        if asynchronous:
            result = asyncio.run(aindex(docs, record, store, **options))
        else:
            result = indexing(docs, record, store, **options)
        return result["num_added"], result["num_skipped"], result["num_deleted"]

    assert counts(TEXTS) == (4, 0, 0)
    assert counts([*TEXTS[1:], "black coffee"]) == (1, 3, 1)
    assert sorted(one.text for one in store.index.filter(k=None)) == sorted(
        [*TEXTS[1:], "black coffee"]
    )


def test_a_store_is_made_of_texts_or_documents_without_an_embedding():
    docs = [Document(id=str(n), page_content=text) for n, text in enumerate(TEXTS)]
    for store in (
        SoftVectorStore.from_documents(docs, plain=True),
        asyncio.run(SoftVectorStore.afrom_documents(docs, plain=True)),
        asyncio.run(SoftVectorStore.afrom_texts(TEXTS, ids=list("0123"), plain=True)),
    ):
        assert list(store.index) == list("0123")


def test_what_is_deleted_is_named_by_ids_or_a_filter(index):
    store = SoftVectorStore(index)
    store.delete(["0", "unknown"])
    assert list(index) == ["1", "2", "3"]
    store.delete(filter={"n": 1})
    assert list(index) == ["2", "3"]
    store.delete([])
    assert len(index) == 2
    store.delete()
    assert len(index) == 0


def test_concurrent_additions_are_all_committed(tmp_path):
    store = SoftVectorStore(sc.SoftIndex.create(tmp_path / "texts.index", plain=True))

    async def add():
        await asyncio.gather(*(store.aadd_texts([f"text {n}"], ids=[f"{n}"]) for n in range(8)))
        return await store.asimilarity_search("text", k=20)

    assert sorted(one.id for one in asyncio.run(add())) == [f"{n}" for n in range(8)]


def test_errors_are_those_of_the_library(index):
    store = SoftVectorStore(index)
    for call, message in [
        (lambda: store.similarity_search("tea", k=0.5), "k is 0.5"),
        (lambda: store.similarity_search("tea", filter={"n": {"near": 3}}), "operator 'near'"),
        (lambda: store.add_texts(["tea"], ids=[7]), "ids are strings"),
        (lambda: store.add_texts(["tea", "coffee"], ids=["7"]), "fewer ids than documents"),
        (lambda: store.add_texts(["tea"], [{"n": object()}]), "metadata"),
        (lambda: SoftVectorStore.from_texts(["tea"], embedding="e"), "uses none"),
        (lambda: store.as_retriever().invoke("tea", filter=3), "where is 3"),
    ]:
        with pytest.raises(InvalidInputError, match=message):
            call()
    assert len(index) == 4
