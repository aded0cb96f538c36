"""A text field of an index of Elasticsearch or OpenSearch: analysis, statistics, texts."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import accumulate
from typing import Any, Self
from urllib.parse import quote, unquote

import numpy as np
from numpy.typing import NDArray

from softcosine.errors import InvalidInputError
from softcosine.index.search.server_query import ServerQuery
from softcosine.servers.http import Http, why_partial

_ANALYZED_AT_ONCE = 1000  # words; a server's limit is 10,000 tokens a request
_READ_AT_ONCE = 1000  # documents
_ALL_SHARDS = "?search_type=dfs_query_then_fetch"  # statistics of all, not of each
_KEPT = "2m"  # how long a server keeps the place in its texts between two requests


@dataclass(frozen=True, slots=True)
class Candidates:
    """Documents that a server returned for a query.

    Attributes
    ----------
    ids : list of str
    scores : ndarray of shape (n,), float64
        Scores of the server, descending.
    complete : bool
        False after a time-out or a failed shard.
    """

    ids: list[str]
    scores: NDArray[np.float64]
    complete: bool = True


@dataclass(frozen=True, slots=True)
class TermFacts:
    """Statistics of a term on the server, read from an explained score.

    Attributes
    ----------
    token : str
    document_frequency, n_docs : int
        Number of documents with the term, and with the field.
    average_length, k1, b : float
    k1_factor : bool
        Whether BM25 has the factor k1 + 1.
    """

    token: str
    document_frequency: int
    n_docs: int
    average_length: float
    k1: float
    b: float
    k1_factor: bool


class TextField:
    """A text field of an index of Elasticsearch or OpenSearch.

    Attributes
    ----------
    http : Http
    index, name : str
    analyzer, search_analyzer : str
        Names of the field's analyzers.
    n_shards : int
        Each shard has its own idf, unless searches have ``search_type=dfs_query_then_fetch``.
    """

    def __init__(
        self, http: Http, index: str, name: str, mapping: dict[str, Any], n_shards: int
    ) -> None:
        self.http, self.index, self.name, self.n_shards = http, index, name, n_shards
        self.analyzer = str(mapping.get("analyzer", "default"))
        self.search_analyzer = str(mapping.get("search_analyzer", self.analyzer))

    @classmethod
    def open(cls, url: str, name: str, *, timeout: float = 30.0) -> Self:
        """Return a field of the index (or alias) that the path of the URL names.

        Parameters
        ----------
        url : str
            ``http://localhost:9200/articles``; see `Http`.
        name : str
            Such as ``body``, or ``title.english``.

        Raises
        ------
        InvalidInputError
            If the URL has no index, or the field is no text field.
        ServerError
        """
        http = Http(url, timeout=timeout)
        index = quote(unquote(http.path.strip("/")), safe=",*")
        if not index or "%2F" in index:
            raise InvalidInputError(
                f"the address {http.address} names no index; write http://host:9200/index."
            )
        mappings = http.request("GET", f"/{index}/_mapping").json
        found = {index: _field_mapping(one, name) for index, one in mappings.items()}
        if len({repr(mapping) for mapping in found.values()}) > 1:
            raise InvalidInputError(
                f"{index} stands for indexes in which {name} differs: {', '.join(found)}; name one."
            )
        mapping = next(iter(found.values()), None)
        if mapping is None or mapping.get("type") != "text":
            there = sorted({text for one in mappings.values() for text in _text_fields(one)})
            kind = "is not in the index" if mapping is None else f"is of type {mapping.get('type')}"
            raise InvalidInputError(
                f"the field {name} {kind}; its text fields are {', '.join(there) or 'none'}."
            )
        settings = http.request("GET", f"/{index}/_settings").json.values()
        shards = sum(int(one["settings"]["index"].get("number_of_shards", 1)) for one in settings)
        return cls(http, index, name, mapping, shards)

    @property
    def server(self) -> str:
        """Name of the server."""
        return self.http.name

    @property
    def address(self) -> str:
        """The address for messages."""
        return self.http.address

    def tokens(self, words: Sequence[str]) -> list[list[str]]:
        """Return the tokens that the field's analyzer makes of each word."""
        found: list[list[str]] = [[] for _ in words]
        for begin in range(0, len(words), _ANALYZED_AT_ONCE):
            some = words[begin : begin + _ANALYZED_AT_ONCE]
            body = {"field": self.name, "text": "\n".join(some)}
            reply = self.http.request("POST", f"/{self.index}/_analyze", body).json
            # Offsets count UTF-16 units.
            sizes = [len(word.encode("utf-16-le", "surrogatepass")) // 2 + 1 for word in some]
            starts = [0, *accumulate(sizes)]
            for token in reply["tokens"]:
                place = bisect_right(starts, token["start_offset"]) - 1
                found[begin + min(place, len(some) - 1)].append(token["token"])
        return found

    def facts(self, token: str) -> TermFacts | None:
        """Return the server's statistics of a token; None if no document contains it.

        Raises
        ------
        InvalidInputError
            If the field is not ranked by BM25.
        """
        body = {"query": {"term": {self.name: {"value": token}}}, "size": 1, "explain": True}
        path = f"/{self.index}/_search{_ALL_SHARDS}"
        reply = self.http.request("POST", path, {**body, "_source": False}).json
        self.http.check_complete(reply)
        hits = reply["hits"]["hits"]
        if not hits:
            return None
        values: dict[str, float] = {}
        explanation = hits[0]["_explanation"]
        _collect(explanation, values)
        try:
            score = values["idf"] * values["tf"]
            k1 = values["k1"]
            ratio = explanation["value"] / score
            counts = int(values["n"]), int(values["N"])
            has_factor = abs(ratio - k1 - 1.0) < abs(ratio - 1.0)
            return TermFacts(token, *counts, values["avgdl"], k1, values["b"], has_factor)
        except KeyError as error:
            raise InvalidInputError(
                f"the field {self.name} is not ranked by BM25 with lengths of documents, but by "
                f"{explanation['description'][:200]}."
            ) from error

    def texts(self) -> Iterator[tuple[str, str]]:
        """Yield id and text of every document that has the field.

        Raises
        ------
        InvalidInputError
            If the server does not store texts.
        ServerError
            If a shard fails, so that documents would be missing.
        """
        query = {"exists": {"field": self.name}}
        body = {"size": _READ_AT_ONCE, "query": query, "_source": self._sources}
        for hit in self.http.scrolled(f"/{self.index}", body, kept=_KEPT):
            if "_source" not in hit:
                raise InvalidInputError(
                    f"{self.index} does not store its documents (_source is disabled); index files."
                )
            if text := _value(hit["_source"], self.name):
                yield hit["_id"], text

    @property
    def _sources(self) -> list[str]:
        """The field, and the one of which it is a field."""
        return [self.name, self.name.rpartition(".")[0]]

    def stored_texts(self, ids: Sequence[str], *, timeout: float | None = None) -> dict[str, str]:
        """Return the stored texts of documents, by id; documents without text are left out."""
        if not ids:
            return {}
        query = {"ids": {"values": list(ids)}}
        body = {"query": query, "size": len(ids), "_source": self._sources}
        # OpenSearch refuses (400) if it stores no documents; Elasticsearch returns hits without.
        path = f"/{self.index}/_search"
        reply = self.http.request("POST", path, body, accept=(400,), timeout=timeout)
        hits = reply.json["hits"]["hits"] if reply.status == 200 else []
        texts = {hit["_id"]: _value(hit.get("_source", {}), self.name) for hit in hits}
        return {id: text for id, text in texts.items() if text}

    def search(self, query: ServerQuery, n: int, *, timeout: float | None = None) -> Candidates:
        """Return the n documents of greatest score by the server."""
        path = f"/{self.index}/_search{_ALL_SHARDS}"
        body = {**query.body, "size": n, "_source": False}
        reply = self.http.request("POST", path, body, timeout=timeout).json
        hits = reply["hits"]["hits"]
        scores = np.array([hit["_score"] for hit in hits], np.float64)
        return Candidates([hit["_id"] for hit in hits], scores, not why_partial(reply))


def _field_mapping(mapping: dict[str, Any], name: str) -> dict[str, Any] | None:
    """Return the mapping of a field, which may be inside an object or a field of a field."""
    node: Any = mapping["mappings"]
    for part in name.split("."):
        node = (node.get("properties") or {}).get(part) or (node.get("fields") or {}).get(part)
        if node is None:
            return None
    return dict(node)


def _text_fields(mapping: dict[str, Any]) -> Iterator[str]:
    def walk(node: dict[str, Any], path: str) -> Iterator[str]:
        if node.get("type") == "text":
            yield path
        inner = {**(node.get("properties") or {}), **(node.get("fields") or {})}
        for name, one in inner.items():
            yield from walk(one, f"{path}.{name}" if path else name)

    yield from walk(mapping["mappings"], "")


def _value(source: dict[str, Any], name: str) -> str:
    """Return the text of a field; a field of a field has the text of that."""
    node: Any = source
    for part in name.split("."):
        if not isinstance(node, dict):
            break
        node = node.get(part)
    values = node if isinstance(node, list) else [node]
    return "\n".join(str(value) for value in values if value is not None)


def _collect(explanation: dict[str, Any], values: dict[str, float]) -> None:
    """Collect the numbers of an explanation by their names in the formula of BM25."""
    name = explanation["description"].split(",")[0]
    values.setdefault(name, float(explanation["value"]))
    for detail in explanation.get("details", ()):
        _collect(detail, values)
