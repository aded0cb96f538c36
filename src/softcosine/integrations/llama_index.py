"""An index as a retriever of LlamaIndex.

Async methods run in threads; searches release the interpreter lock.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterable
from typing import Any

from softcosine import SoftIndex
from softcosine.errors import InvalidInputError, needing

with needing("llama-index-core", "llama-index", "A retriever"):
    from llama_index.core.retrievers import BaseRetriever
    from llama_index.core.schema import BaseNode, NodeWithScore, QueryBundle, TextNode
    from llama_index.core.vector_stores import MetadataFilter, MetadataFilters
    from llama_index.core.vector_stores.utils import metadata_dict_to_node, node_to_metadata_dict


class SoftRetriever(BaseRetriever):  # type: ignore[misc]
    """A retriever of LlamaIndex, alone or inside a fusion retriever.

    Parameters
    ----------
    index : SoftIndex
        Nodes that `write_nodes` wrote are returned with their relationships; other documents
        become text nodes.
    similarity_top_k : int
        Maximum number of nodes.
    filters : MetadataFilters, optional
        Filters of LlamaIndex; keys are those of `softcosine.Where`.
    callback_manager : CallbackManager, optional
    **options
        Other parameters of `SoftIndex.search`, such as ``correct=False``.

    Examples
    --------
    >>> index = SoftIndex.from_texts(["a flat tyre", "green tea"], ids=["bike", "tea"])
    >>> [found.node_id for found in SoftRetriever(index).retrieve("cup of tea")]
    ['tea']
    """

    def __init__(
        self,
        index: SoftIndex,
        *,
        similarity_top_k: int = 10,
        filters: MetadataFilters | None = None,
        callback_manager: Any = None,
        **options: Any,
    ) -> None:
        super().__init__(callback_manager=callback_manager)
        self.index = index
        self.similarity_top_k = similarity_top_k
        self.filters = filters
        self.options = {"syntax": False, **options}

    def _retrieve(self, query_bundle: QueryBundle) -> list[NodeWithScore]:
        query, k, where = query_bundle.query_str, self.similarity_top_k, where_of(self.filters)
        hits = self.index.search(query, k=k, where=where, **self.options)
        return [NodeWithScore(node=_node(hit), score=hit.score) for hit in hits]

    async def _aretrieve(self, query_bundle: QueryBundle) -> list[NodeWithScore]:
        return await asyncio.to_thread(self._retrieve, query_bundle)


def write_nodes(index: SoftIndex, nodes: Iterable[BaseNode]) -> None:
    """Add nodes in one commit; a node replaces that of the same id.

    Their texts are indexed without metadata, which can be filtered.
    """
    with index.writer() as writer:
        for node in nodes:
            metadata = node_to_metadata_dict(node, remove_text=True)
            writer.add(node.node_id, node.get_content(), metadata)


def _node(hit: Any) -> BaseNode:
    if "_node_content" in hit.metadata:  # written by `write_nodes`
        return metadata_dict_to_node(hit.metadata, text=hit.text)
    return TextNode(id_=hit.id, text=hit.text, metadata=hit.metadata)


def where_of(filters: MetadataFilters | None) -> dict[str, Any]:
    """Return the filter of the index (`softcosine.Where`) for one of LlamaIndex.

    Raises
    ------
    InvalidInputError
        If the index has no such operator.
    """
    if filters is None:
        return {}
    parts = [
        where_of(one) if isinstance(one, MetadataFilters) else _comparison(one)
        for one in filters.filters
    ]
    condition = getattr(filters.condition, "value", "and")
    if condition == "not":  # as in LlamaIndex, none of them holds
        return {"not": {"any": parts}}
    return {"any" if condition == "or" else "all": parts}


def _comparison(filter: MetadataFilter) -> dict[str, Any]:
    key, value, operator = filter.key, filter.value, filter.operator.value
    key = f"\\{key}" if key in ("all", "any", "not") else key  # a key, not a joint of filters
    if operator in ("any", "all"):
        if not isinstance(value, list):
            raise InvalidInputError(
                f"{key!r} is compared with {value!r}; {operator!r} of LlamaIndex needs a list."
            )
        return {operator: [{key: {"contains": one}} for one in value]}
    if operator == "is_empty":
        return {"any": [{key: {"exists": False}}, {key: {"in": [None, "", []]}}]}
    names = {"nin": "not in", "text_match": "contains", "text_match_insensitive": "icontains"}
    return {key: {names.get(operator, operator): value}}
