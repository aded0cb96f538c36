"""An index as a document store of Haystack, and a retriever component.

A document's content is the text, and its meta the metadata of the index. Async methods run in
threads; searches release the interpreter lock.
"""

from __future__ import annotations

import asyncio
import os
from collections.abc import Callable, Coroutine, Mapping
from datetime import datetime
from functools import wraps
from pathlib import Path
from typing import Any, ParamSpec, Self, TypeVar

from softcosine import SoftIndex, Where
from softcosine.errors import InvalidInputError, needing

# Read by the first import of Haystack, which writes an id of the user.
os.environ.setdefault("HAYSTACK_TELEMETRY_ENABLED", "False")
with needing("haystack-ai", "haystack", "A document store"):
    from haystack import Document, component, default_from_dict, default_to_dict
    from haystack.document_stores.errors import DuplicateDocumentError
    from haystack.document_stores.types import (
        DuplicatePolicy,
        FilterPolicy,
        apply_filter_policy,
    )
    from haystack.errors import FilterError

_OTHER_FIELDS = "_haystack"  # metadata key of a document's blob and embeddings
_UNFILTERED = {"id", "content", "blob", "score", "embedding", "sparse_embedding"}

_P = ParamSpec("_P")
_R = TypeVar("_R")


def _in_thread(method: Callable[_P, _R]) -> Callable[_P, Coroutine[Any, Any, _R]]:
    """Return a method as a coroutine function."""

    @wraps(method)
    async def call(*args: _P.args, **options: _P.kwargs) -> _R:
        return await asyncio.to_thread(method, *args, **options)

    return call


class SoftDocumentStore:
    """A document store of Haystack that needs no embeddings.

    Parameters
    ----------
    path : str, optional
        Folder of an index, which is created if it does not exist. By default the index is in
        memory; it is then serialized without its documents.
    options : dict, optional
        Parameters of `SoftIndex.create` for a new index, such as ``{"language": "german"}``.

    Attributes
    ----------
    index : SoftIndex

    Examples
    --------
    >>> store = SoftDocumentStore()
    >>> store.write_documents([Document(id="bike", content="a flat tyre", meta={"year": 2021})])
    1
    >>> [one.id for one in store.search("puncture of a tyre", top_k=1)]
    ['bike']
    """

    def __init__(self, path: str | None = None, options: dict[str, Any] | None = None) -> None:
        self._options = options
        if path is not None and Path(path).exists():
            self.index = SoftIndex.open(path)
        else:
            self.index = SoftIndex.create(path, **options or {})

    @classmethod
    def from_index(cls, index: SoftIndex) -> Self:
        """Return a store of the documents of an index."""
        store = cls.__new__(cls)
        store._options = None
        store.index = index
        return store

    def to_dict(self) -> dict[str, Any]:
        """Return the path and options; documents are those of the folder."""
        path = self.index.path
        where: dict[str, Any] = default_to_dict(
            self, path=None if path is None else str(path), options=self._options
        )
        return where

    @classmethod
    def from_dict(cls, data: dict[str, Any]) -> Self:
        """Return the store of `to_dict`."""
        store: Self = default_from_dict(cls, data)
        return store

    def count_documents(self) -> int:
        """Return the number of documents."""
        return len(self.index)

    def count_documents_by_filter(self, filters: dict[str, Any]) -> int:
        """Return the number of documents that pass a filter."""
        return self.index.count(where_of(filters))

    def filter_documents(self, filters: dict[str, Any] | None = None) -> list[Document]:
        """Return the documents that pass a filter, in order of insertion.

        A filter on the field ``id`` alone, by ``==`` or ``in``, is allowed, too.

        Raises
        ------
        FilterError
            With the message of the library.
        """
        match filters:
            case {"field": "id", "operator": "==", "value": id}:
                found = self.index.get([id], missing_ok=True)
            case {"field": "id", "operator": "in", "value": ids}:
                found = self.index.get(ids, missing_ok=True)
            case _:
                found = list(self.index.filter(where_of(filters), k=None))
        return [_document(one) for one in found]

    def search(
        self,
        query: str,
        filters: dict[str, Any] | None = None,
        top_k: int = 10,
        **options: Any,
    ) -> list[Document]:
        """Return the best documents with their scores; `options` as in `SoftIndex.search`."""
        options = {"syntax": False, **options}
        hits = self.index.search(query, k=top_k, where=where_of(filters), **options)
        return [_document(hit, hit.score) for hit in hits]

    def write_documents(
        self, documents: list[Document], policy: DuplicatePolicy = DuplicatePolicy.NONE
    ) -> int:
        """Add documents in one commit and return how many were written.

        Raises
        ------
        DuplicateDocumentError
            If an id is there already and the policy is ``FAIL`` (or ``NONE``); nothing is written.
        """
        if not isinstance(documents, list) or not all(
            isinstance(document, Document) for document in documents
        ):
            raise InvalidInputError("documents is no list of Haystack documents; pass one.")
        written: set[str] = set()
        with self.index.writer() as writer:
            self.index.refresh()  # what other processes committed before this writer
            for document in documents:
                if policy != DuplicatePolicy.OVERWRITE and (
                    document.id in written or document.id in self.index
                ):
                    if policy == DuplicatePolicy.SKIP:
                        continue
                    raise DuplicateDocumentError(
                        f"the id {document.id!r} is there already; pass DuplicatePolicy.OVERWRITE."
                    )
                writer.add(document.id, document.content or "", _metadata(document))
                written.add(document.id)
        return len(documents) if policy == DuplicatePolicy.OVERWRITE else len(written)

    def update_by_filter(self, filters: dict[str, Any], meta: dict[str, Any]) -> int:
        """Change the meta of all documents that pass a filter and return their number."""
        where = where_of(filters)
        with self.index.writer() as writer:
            self.index.refresh()
            ids = self.index.filter(where, k=None).ids
            for id in ids:
                writer.update_metadata(id, meta)
        return len(ids)

    def delete_documents(self, document_ids: list[str]) -> None:
        """Delete documents by id; unknown ids have no effect."""
        with self.index.writer() as writer:
            for id in document_ids:
                writer.delete(id, missing_ok=True)

    def delete_by_filter(self, filters: dict[str, Any]) -> int:
        """Delete all documents that pass a filter and return their number."""
        where = where_of(filters)
        with self.index.writer() as writer:
            return writer.delete(where=where)

    def delete_all_documents(self) -> None:
        """Delete all documents."""
        self.delete_by_filter({})

    count_documents_async = _in_thread(count_documents)
    count_documents_by_filter_async = _in_thread(count_documents_by_filter)
    filter_documents_async = _in_thread(filter_documents)
    search_async = _in_thread(search)
    write_documents_async = _in_thread(write_documents)
    update_by_filter_async = _in_thread(update_by_filter)
    delete_documents_async = _in_thread(delete_documents)
    delete_by_filter_async = _in_thread(delete_by_filter)
    delete_all_documents_async = _in_thread(delete_all_documents)


@component
class SoftRetriever:
    """A component that retrieves documents from a `SoftDocumentStore`.

    Parameters
    ----------
    document_store : SoftDocumentStore
    filters : dict, optional
        Filters of Haystack.
    top_k : int
        Maximum number of documents.
    filter_policy : FilterPolicy
        Whether the filters of a run replace `filters`, or are merged with them.
    options : dict, optional
        Other parameters of `SoftIndex.search`, such as ``{"correct": False}``.
    """

    def __init__(
        self,
        document_store: SoftDocumentStore,
        filters: dict[str, Any] | None = None,
        top_k: int = 10,
        filter_policy: FilterPolicy = FilterPolicy.REPLACE,
        options: dict[str, Any] | None = None,
    ) -> None:
        self.document_store = document_store
        self.filters = filters
        self.top_k = top_k
        self.filter_policy = filter_policy
        self.options = options

    def to_dict(self) -> dict[str, Any]:
        """Return the parameters, with the store's own."""
        parameters: dict[str, Any] = default_to_dict(
            self,
            document_store=self.document_store.to_dict(),
            filters=self.filters,
            top_k=self.top_k,
            filter_policy=self.filter_policy.value,
            options=self.options,
        )
        return parameters

    @classmethod
    def from_dict(cls, data: dict[str, Any]) -> Self:
        """Return the component of `to_dict`."""
        given = dict(data["init_parameters"])
        given["document_store"] = SoftDocumentStore.from_dict(given["document_store"])
        given["filter_policy"] = FilterPolicy.from_str(given.get("filter_policy", "replace"))
        retriever: Self = default_from_dict(cls, data | {"init_parameters": given})
        return retriever

    @component.output_types(documents=list[Document])  # type: ignore[untyped-decorator]
    def run(
        self,
        query: str,
        filters: dict[str, Any] | None = None,
        top_k: int | None = None,
        options: dict[str, Any] | None = None,
    ) -> dict[str, list[Document]]:
        """Return the best documents, as ``{"documents": [...]}``; see `SoftDocumentStore.search`.

        `options` are added to those of the component.
        """
        filters = apply_filter_policy(self.filter_policy, self.filters, filters)
        options = {**(self.options or {}), **(options or {})}
        k = self.top_k if top_k is None else top_k
        documents = self.document_store.search(query, filters, k, **options)
        return {"documents": documents}

    run_async = _in_thread(run)


def where_of(filters: Mapping[str, Any] | None) -> dict[str, Any]:
    """Return the filter of the index (`softcosine.Where`) for one of Haystack.

    As in Haystack, a missing key equals None, and ordered comparisons with None hold for nothing.
    Dates compare as their ISO strings do.

    Raises
    ------
    FilterError
        If it is not a filter of Haystack, or compares something else than meta.
    """
    where = _translated(filters) if filters else {}
    try:
        Where.parse(where)
    except InvalidInputError as error:
        raise FilterError(str(error)) from error
    return where


def _translated(filters: Any) -> dict[str, Any]:
    if not isinstance(filters, Mapping):
        raise FilterError(f"the filter {filters!r} is no dictionary.")
    if "field" in filters:
        return _comparison(*(_value(filters, key) for key in ("field", "operator", "value")))
    operator, conditions = _value(filters, "operator"), _value(filters, "conditions")
    if operator not in ("AND", "OR", "NOT") or not isinstance(conditions, list):
        raise FilterError(
            f"the operator {operator!r} of {conditions!r} must be AND, OR or NOT, and join a list."
        )
    joined = {"any" if operator == "OR" else "all": [_translated(one) for one in conditions]}
    return {"not": joined} if operator == "NOT" else joined


def _value(filters: Mapping[str, Any], key: str) -> Any:
    if key not in filters:
        raise FilterError(f"the filter {filters} has no {key!r}; add it.")
    return filters[key]


def _comparison(field: Any, operator: Any, value: Any) -> dict[str, Any]:
    if not isinstance(field, str) or field in _UNFILTERED:
        raise FilterError(f"the filter compares {field!r}; only keys of meta can be filtered.")
    if not isinstance(operator, str):
        raise FilterError(f"the filter on {field!r} has the operator {operator!r}; pass a string.")
    key = field.removeprefix("meta.")
    key = f"\\{key}" if key in ("all", "any", "not") else key  # a key, not a joint of filters
    missing = {"any": [{key: {"==": None}}, {key: {"exists": False}}]}
    if operator in ("==", "!=") and value is None:
        return missing if operator == "==" else {"not": missing}
    if operator in ("in", "not in"):
        if not isinstance(value, list):
            raise FilterError(f"the operator {operator!r} compares with {value!r}; pass a list.")
        if None in value:
            found = {"any": [missing, {key: {"in": value}}]}
            return found if operator == "in" else {"not": found}
    if operator in (">", ">=", "<", "<="):
        if value is None:
            return {"any": []}
        if isinstance(value, str):
            _check_date(value, operator)
    return {key: {operator: value}}


def _check_date(value: str, operator: str) -> None:
    try:
        datetime.fromisoformat(value)
    except ValueError as error:
        raise FilterError(
            f"the operator {operator!r} compares {value!r}; only numbers and ISO dates are ordered."
        ) from error


def _metadata(document: Document) -> dict[str, Any]:
    """Return the meta of a document, and its other fields under one key."""
    others = {
        name: value
        for name, value in document.to_dict(flatten=False).items()
        if name not in ("id", "content", "meta") and value is not None
    }
    if document.content is None:
        others["content"] = None
    return {**document.meta, **({_OTHER_FIELDS: others} if others else {})}


def _document(found: Any, score: float | None = None) -> Document:
    """Return a hit, or a document of the index, as a document of Haystack."""
    meta = dict(found.metadata)
    fields = {"content": found.text, **meta.pop(_OTHER_FIELDS, {}), "id": found.id, "meta": meta}
    return Document.from_dict(fields if score is None else {**fields, "score": score})
