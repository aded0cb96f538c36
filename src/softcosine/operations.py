"""The one table of what an index answers: name, request, result, and how.

The server's routes and its OpenAPI document, the methods of its clients, ``--json`` and the options
of the command line follow from it.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, TypedDict

from softcosine.index.near_duplicates.similar import SimilarGroup, SimilarPair
from softcosine.index.requests import (
    DedupeRequest,
    ExpandRequest,
    ExplainRequest,
    ExplainSimilarRequest,
    FilterRequest,
    NeighborsRequest,
    PairsRequest,
    Request,
    ScoresRequest,
    SearchRequest,
    SimilarRequest,
)
from softcosine.index.search.explanation import Explanation
from softcosine.index.search.results import Hits, Listing
from softcosine.index.search.server_query import ServerQuery
from softcosine.index.wire import form, wire


@dataclass(frozen=True, slots=True)
class Operation:
    """An operation of an index: its name, request and result.

    Attributes
    ----------
    name : str
        Of the method, the route and the command.
    request, result : type
        `softcosine.index.wire` writes and reads the result.
    first : tuple of str
        Options that are passed by position.
    key : str
        Of a result that is a list, in the record that a server sends.
    """

    name: str
    request: type[Request]
    result: Any
    first: tuple[str, ...] = ()
    key: str = ""

    @property
    def path(self) -> str:
        """The end of its address."""
        return self.name.replace("_", "-")

    def execute(self, index: Any, request: Request, **more: Any) -> Any:
        """Return the answer of an index: its method of this name."""
        names = self.request.__struct_fields__  # a subclass may have more
        options = {name: getattr(request, name) for name in names}
        first = [options.pop(name) for name in self.first]
        return getattr(index, self.name)(*first, **options, **more)

    def record(self, result: Any) -> dict[str, Any]:
        """Return a result as a JSON object."""
        record: dict[str, Any] = {self.key: wire(result)} if self.key else wire(result)
        return record

    def answer(self, name: str, **more: Any) -> Any:
        """Return the type of a record, with more fields."""
        if self.key:
            return shape(name, **{self.key: form(self.result)}, **more)
        return shape(name, self.result, **more)


OPERATIONS = {
    one.name: one
    for one in (
        Operation("search", SearchRequest, Hits, ("q",)),
        Operation("similar", SimilarRequest, Hits, ("id",)),
        Operation("explain", ExplainRequest, Explanation, ("q", "id")),
        Operation("explain_similar", ExplainSimilarRequest, Explanation, ("id", "other")),
        Operation("scores", ScoresRequest, list[float], ("q", "ids"), "scores"),
        Operation("filter", FilterRequest, Listing),
        Operation("neighbors", NeighborsRequest, list[tuple[str, float]], ("word",)),
        Operation("pairs", PairsRequest, list[SimilarPair], key="pairs"),
        Operation("dedupe", DedupeRequest, list[SimilarGroup], key="groups"),
        Operation("expand", ExpandRequest, ServerQuery, ("q",)),
    )
}


def shape(name: str, kind: Any = None, /, *names: str, **more: Any) -> Any:
    """Return the type of a record: fields of a result as JSON types, all by default, and more."""
    own = {} if kind is None else form(kind).__annotations__
    return TypedDict(name, {**{name: own[name] for name in names or own}, **more})  # type: ignore[operator]
