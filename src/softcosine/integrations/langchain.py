"""An index as a vector store of LangChain, whose `as_retriever` makes a retriever of it.

Async methods run in LangChain's threads; searches release the interpreter lock.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Self
from uuid import uuid4

from softcosine import SoftIndex
from softcosine.errors import InvalidInputError, needing

with needing("langchain-core", "langchain", "A vector store"):
    from langchain_core.documents import Document
    from langchain_core.vectorstores import VectorStore


def _document(found: Any) -> Document:
    return Document(id=found.id, page_content=found.text, metadata=found.metadata)


class SoftVectorStore(VectorStore):  # type: ignore[misc]
    """A vector store of LangChain that needs no embeddings.

    Searches take ``filter``, a metadata filter of `softcosine.index.query.filters`, and the other
    parameters of `SoftIndex.search`.

    Parameters
    ----------
    index : SoftIndex, optional
        Every change is a commit. An empty index in memory by default.
    fill : bool
        Whether searches return k documents, as LangChain's other stores do: documents of score 0
        follow the others. If False, only documents that match the query are returned.

    Examples
    --------
    >>> store = SoftVectorStore.from_texts(["a flat tyre", "green tea"], ids=["bike", "tea"])
    >>> [document.id for document in store.similarity_search("puncture of a tyre", k=1)]
    ['bike']
    """

    def __init__(self, index: SoftIndex | None = None, *, fill: bool = True) -> None:
        self.index = SoftIndex.create() if index is None else index
        self.fill = fill

    @classmethod
    def from_texts(
        cls,
        texts: Iterable[str],
        embedding: None = None,
        metadatas: Iterable[Mapping[str, Any]] | None = None,
        *,
        ids: Iterable[str | None] | None = None,
        fill: bool = True,
        **options: Any,
    ) -> Self:
        """Return a store with texts; `options` are the parameters of `SoftIndex.create`.

        Raises
        ------
        InvalidInputError
            If `embedding` is not None, or an argument is not valid.
        """
        if embedding is not None:
            raise InvalidInputError(
                f"embedding is {embedding!r}, and this store uses none; pass encoder='minilm'."
            )
        store = cls(SoftIndex.create(**options), fill=fill)
        store.add_texts(texts, metadatas, ids=ids)
        return store

    # The base class has these too, but with an embedding that must be given.
    @classmethod
    def from_documents(
        cls, documents: list[Document], embedding: None = None, **options: Any
    ) -> Self:
        """Return a store with documents; see `from_texts`."""
        store: Self = super().from_documents(documents, embedding, **options)
        return store

    @classmethod
    async def afrom_documents(
        cls, documents: list[Document], embedding: None = None, **options: Any
    ) -> Self:
        """Return a store with documents; see `from_texts`."""
        store: Self = await super().afrom_documents(documents, embedding, **options)
        return store

    @classmethod
    async def afrom_texts(
        cls, texts: list[str], embedding: None = None, *args: Any, **options: Any
    ) -> Self:
        """Return a store with texts; see `from_texts`."""
        store: Self = await super().afrom_texts(texts, embedding, *args, **options)
        return store

    def add_texts(
        self,
        texts: Iterable[str],
        metadatas: Iterable[Mapping[str, Any]] | None = None,
        *,
        ids: Iterable[str | None] | None = None,
        batch_size: int | None = None,
    ) -> list[str]:
        """Add texts in one commit and return their ids; a text replaces that of the same id.

        Texts whose id is None get a random one. `batch_size`, which LangChain's indexing passes,
        has no effect.
        """
        texts = list(texts)
        given = [None] * len(texts) if ids is None else ids
        named = [str(uuid4()) if id is None else id for id in given]
        with self.index.writer() as writer:
            writer.add_many(named, texts, metadatas)
        return named

    def delete(
        self, ids: Iterable[str] | None = None, *, filter: Mapping[str, Any] | None = None
    ) -> bool:
        """Delete documents by id, or all that pass a filter; without arguments, all of them."""
        with self.index.writer() as writer:
            if ids is None:
                writer.delete(where=filter or {})
            for id in ids or ():
                writer.delete(id, missing_ok=True)
        return True

    def get_by_ids(self, ids: Sequence[str], /) -> list[Document]:
        """Return documents by id; unknown ids are left out."""
        return [_document(found) for found in self.index.get(ids, missing_ok=True)]

    def similarity_search(
        self, query: str, k: int = 4, filter: Mapping[str, Any] | None = None, **options: Any
    ) -> list[Document]:
        """Return the k best documents."""
        found = self.similarity_search_with_score(query, k, filter, **options)
        return [document for document, _ in found]

    def similarity_search_with_score(
        self, query: str, k: int = 4, filter: Mapping[str, Any] | None = None, **options: Any
    ) -> list[tuple[Document, float]]:
        """Return the k best documents with their scores; higher is better."""
        options = {"fill": self.fill, "syntax": False, **options}
        hits = self.index.search(query, k=k, where=filter, **options)
        return [(_document(hit), hit.score) for hit in hits]

    def _similarity_search_with_relevance_scores(
        self, query: str, k: int = 4, **options: Any
    ) -> list[tuple[Document, float]]:
        """Return documents with their soft cosines of words, which lie between 0 and 1."""
        options = {"ranking": "soft_cosine", "ask": "words", **options}
        found = self.similarity_search_with_score(query, k, **options)
        return [(document, min(score, 1.0)) for document, score in found]  # 1 + a rounding

    async def _asimilarity_search_with_relevance_scores(
        self, query: str, k: int = 4, **options: Any
    ) -> list[tuple[Document, float]]:
        search = self._similarity_search_with_relevance_scores
        return await asyncio.to_thread(search, query, k, **options)

    def max_marginal_relevance_search(
        self,
        query: str,
        k: int = 4,
        fetch_k: int = 20,
        lambda_mult: float = 0.5,
        filter: Mapping[str, Any] | None = None,
        **options: Any,
    ) -> list[Document]:
        """Return k documents that are relevant and differ; `fetch_k` has no effect.

        `lambda_mult` is ``mmr`` of `SoftIndex.search`, which names the number of candidates.
        """
        return self.similarity_search(query, k, filter, mmr=lambda_mult, **options)
