"""Text fields of servers: the protocol, what a server knows of a term, and what it finds."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from softcosine.errors import ServerError
from softcosine.index.search.server_query import ServerQuery

__all__ = ["Candidates", "ServerField", "TermFacts", "TooManyClausesError"]


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


class TooManyClausesError(ServerError):
    """A query has more clauses than a server takes, so that fewer terms may pass."""

    def __init__(self, server: str, address: str, reason: str, setting: str) -> None:
        super().__init__(
            server, address,
            f"the query has more clauses than the server takes ({reason}); raise {setting} there, "
            "or search for fewer words.",
        )  # fmt: skip


@dataclass(frozen=True, slots=True)
class TermFacts:
    """What a server knows of a term, as it explains a score.

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


class ServerField(Protocol):
    """A text field that a server ranks by BM25; all methods raise `ServerError`."""

    @property
    def server(self) -> str:
        """Such as ``opensearch``."""
        ...

    @property
    def address(self) -> str:
        """The address for messages, without a password."""
        ...

    @property
    def name(self) -> str:
        """Name of the field."""
        ...

    @property
    def analyzer(self) -> str:
        """Name of the analyzer of the documents."""
        ...

    @property
    def search_analyzer(self) -> str:
        """Name of the analyzer of queries."""
        ...

    @property
    def n_shards(self) -> int:
        """Number of shards, each of which may have an idf of its own."""
        ...

    def tokens(self, words: Sequence[str]) -> list[list[str]]:
        """Return the tokens that the field's analyzer makes of each word."""
        ...

    def facts(self, token: str) -> TermFacts | None:
        """Return what the server knows of a token; None if no document has it.

        Raises
        ------
        InvalidInputError
            If the field is not ranked by BM25.
        """
        ...

    def texts(self) -> Iterator[tuple[str, str]]:
        """Yield id and text of every document that has the field.

        Raises
        ------
        InvalidInputError
            If the server does not store texts.
        """
        ...

    def stored_texts(self, ids: Sequence[str], *, timeout: float | None = None) -> dict[str, str]:
        """Return the texts of those documents that the server stores, by id."""
        ...

    def stored_tokens(
        self, ids: Sequence[str], *, timeout: float | None = None
    ) -> dict[str, list[str]]:
        """Return the tokens of those documents that have term vectors in the field, by id.

        They are in the order of the text if the server stores positions.
        """
        ...

    def search(self, query: ServerQuery, n: int, *, timeout: float | None = None) -> Candidates:
        """Return the n documents of greatest score by the server.

        Raises
        ------
        TooManyClausesError
            If the server takes fewer words.
        """
        ...
