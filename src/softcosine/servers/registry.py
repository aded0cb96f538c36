"""Servers by the scheme of their URLs; each is imported on demand."""

from __future__ import annotations

from importlib import import_module

from softcosine._validation import check_choice, check_number, check_type
from softcosine.errors import InvalidInputError
from softcosine.servers.address import ServerAddress
from softcosine.servers.server import Server
from softcosine.servers.server_field import ServerField

__all__ = ["SERVERS", "open_field", "server_of"]

# Each is called with an address, ``collection=`` and ``timeout=`` (of connecting, in seconds).
SERVERS: dict[str, str] = {
    "elasticsearch": "softcosine.servers.elasticsearch:Elasticsearch",
    "lucene": "softcosine.servers.lucene:Lucene",
    "opensearch": "softcosine.servers.elasticsearch:OpenSearch",
    "postgresql": "softcosine.servers.postgresql:PostgreSQL",
    "qdrant": "softcosine.servers.qdrant:Qdrant",
}

_MOST_CHARACTERS = 48  # PostgreSQL cuts names after 63 bytes, and tables have suffixes


def server_of(url: str, *, collection: str = "softcosine", timeout: float = 10.0) -> Server:
    """Return a connected server.

    Parameters
    ----------
    url : str
        Its scheme names the server: ``postgresql://...``, ``qdrant+https://...``.
    collection : str
        Name of the collection or table: letters, digits and underscores.
    timeout : float
        In seconds, to connect.

    Raises
    ------
    InvalidInputError
        If the URL or the name of the collection is not valid.
    MissingDependencyError
        If the client's package is not installed; gives the pip command.
    ServerError
        If the server cannot be reached.
    """
    check_type("the address", url, str, "pass a URL")
    address = ServerAddress.parse(url)
    if address.server in ("http", "https"):
        raise InvalidInputError(
            f"{address} names no kind of server; write elasticsearch://host:9200 or "
            "opensearch://host:9200, and for a text field that is there its name (--field)."
        )
    check_choice("the scheme of the address", address.server, SERVERS)
    check_number("timeout", timeout, least=0.001)
    named = isinstance(collection, str) and collection.isascii() and collection.isidentifier()
    if not named or len(collection) > _MOST_CHARACTERS or collection != collection.lower():
        raise InvalidInputError(
            f"the collection is {collection!r}; its name has up to {_MOST_CHARACTERS} lower-case "
            "letters, digits and underscores, and begins with a letter."
        )
    module, _, kind = SERVERS[address.server].partition(":")
    made = getattr(import_module(module), kind)
    server: Server = made(address, collection=collection, timeout=timeout)
    return server


def open_field(url: str, name: str) -> ServerField:
    """Return a text field of Elasticsearch, OpenSearch or Lucene.

    Parameters
    ----------
    url : str
        See `softcosine.servers.text_field.TextField.open` for ``http://host:9200/articles``, and
        `softcosine.servers.lucene_field.LuceneField.open` for ``lucene:///folder``.
    name : str

    Raises
    ------
    InvalidInputError, MissingDependencyError, ServerError
    """
    if ServerAddress.parse(url).server == "lucene":
        from softcosine.servers.lucene_field import LuceneField

        return LuceneField.open(url, name)
    from softcosine.servers.text_field import TextField

    return TextField.open(url, name)
