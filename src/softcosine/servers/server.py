"""The protocol of servers, and what they take and return."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from softcosine.errors import ServerError
from softcosine.index.query.filters import Where
from softcosine.servers.documents import ServerDocument
from softcosine.servers.marker import Marker

__all__ = ["Candidates", "Failure", "Server", "TooManyClausesError"]


@dataclass(frozen=True, slots=True)
class Candidates:
    """Documents that a server returned for a query.

    Attributes
    ----------
    ids : list of str
    scores : ndarray of shape (n,), float64
        Scores of the server, descending.
    complete : bool
        Whether every document that is not among them has a score of at most the last one, or of 0
        if there are fewer than requested. False after a time-out, a failed shard or an approximate
        search.
    """

    ids: list[str]
    scores: NDArray[np.float64]
    complete: bool = True


@dataclass(frozen=True, slots=True)
class Failure:
    """A document that a server refused, and why."""

    id: str
    reason: str


class TooManyClausesError(ServerError):
    """A query has more clauses than a server takes, so that fewer terms may pass."""

    def __init__(self, server: str, address: str, reason: str, setting: str) -> None:
        super().__init__(
            server, address,
            f"the query has more clauses than the server takes ({reason}); raise {setting} there, "
            "or search for fewer words.",
        )  # fmt: skip


class Server(Protocol):
    """A collection on a server: documents with impacts, and a marker.

    All methods raise `softcosine.errors.ServerError` if the server cannot be reached, refuses, or
    does not answer in time. An adapter retries what is worth it.
    """

    @property
    def name(self) -> str:
        """Such as ``postgresql``."""
        ...

    @property
    def address(self) -> str:
        """The address for messages, without a password."""
        ...

    @property
    def stores_vectors(self) -> bool:
        """Whether coordinates of documents are stored, so that `nearest` returns candidates."""
        ...

    @property
    def max_terms(self) -> int | None:
        """Maximum number of terms of a search; None without a limit.

        A search that raises `TooManyClausesError` has lowered it, if fewer terms may pass.
        """
        ...

    @property
    def max_candidates(self) -> int | None:
        """Maximum number of documents that a search returns; None without a limit."""
        ...

    def relative_error(self, n_terms: int) -> float | None:
        """Return the proven relative error of a score of positive summands; None if unknown.

        It includes the rounding of impacts by the server. A true score is at most the server's
        score times ``1 + relative_error``, and 0 if the server's is 0.
        """
        ...

    def marker(self) -> tuple[Marker, int] | None:
        """Return the marker and its revision; None if there is no collection.

        Raises
        ------
        ServerError
            If there is a collection of this name that softcosine did not make.
        """
        ...

    def transaction(self) -> AbstractContextManager[None]:
        """Return a context of writes.

        A server with transactions makes them visible together at its end, or none of them. Others
        do nothing: there, a marker that is not `Marker.complete` shows a sync in progress.
        """
        ...

    def create(self, marker: Marker) -> int:
        """Create the collection with its first marker, and return the marker's revision.

        Raises
        ------
        ServerError
            If there is one already.
        """
        ...

    def write_marker(self, marker: Marker, *, expected: int) -> int:
        """Replace the marker if its revision is the expected one, and return its new revision.

        Raises
        ------
        ServerError
            If it has another revision, because of another sync.
        """
        ...

    def drop(self) -> None:
        """Delete the collection, if there is one that softcosine made."""
        ...

    def put(self, documents: Sequence[ServerDocument]) -> list[Failure]:
        """Add documents, or replace those of the same ids; return those that were refused."""
        ...

    def delete(self, ids: Sequence[str]) -> list[Failure]:
        """Delete documents; unknown ids do not matter."""
        ...

    def digests(self) -> Iterator[tuple[str, bytes]]:
        """Yield id and digest of every document, in any order."""
        ...

    def filter(self, where: Where) -> Any | None:
        """Return a metadata filter in the server's language; None if that cannot express it.

        A document that passes `where` must pass the server's filter.
        """
        ...

    def search(
        self,
        terms: NDArray[np.int64],
        weights: NDArray[np.float64],
        n: int,
        *,
        filter: Any | None = None,
        timeout: float | None = None,
    ) -> Candidates:
        """Return the n documents of the greatest sum of weight times impact, above 0.

        Parameters
        ----------
        terms : ndarray of shape (n_terms,), int64
            Distinct numbers as in `ServerDocument.terms`, at most `max_terms`.
        weights : ndarray of shape (n_terms,), float64
            Above 0, the greatest one is 1.
        n : int
            At most `max_candidates`.
        filter : object, optional
            A result of `filter`.
        timeout : float, optional
            In seconds.

        Raises
        ------
        TooManyClausesError
            If the server takes fewer terms than `max_terms`.
        """
        ...

    def nearest(
        self,
        unit: NDArray[np.float64],
        n: int,
        *,
        filter: Any | None = None,
        timeout: float | None = None,
    ) -> Candidates | None:
        """Return the n documents of the greatest cosine with a vector; None without vectors.

        Documents without coordinates are left out. For `n`, `filter` and `timeout` see `search`.
        """
        ...

    def close(self) -> None:
        """Close the connection."""
        ...
