"""Addresses of servers: URLs with a scheme that names the server."""

from __future__ import annotations

from dataclasses import dataclass
from ipaddress import ip_address
from typing import Self
from urllib.parse import SplitResult, urlsplit

from softcosine.errors import InvalidInputError

__all__ = ["ServerAddress"]


@dataclass(frozen=True, slots=True)
class ServerAddress:
    """A parsed URL, such as ``http://host:9200/index`` or ``opensearch+https://host:9200``.

    Attributes
    ----------
    server : str
        Name of the server, the scheme up to ``+``.
    transport : str
        The rest of the scheme, such as ``https``; empty if there is none.
    parts : SplitResult
        Of the URL.
    rest : str
        The URL after the scheme and ``://``.
    """

    server: str
    transport: str
    parts: SplitResult
    rest: str

    @classmethod
    def parse(cls, url: str) -> Self:
        """Return the address of a URL.

        Raises
        ------
        InvalidInputError
            If it is not a URL. The message has no password.
        """
        try:
            parts = urlsplit(url)
            _ = parts.port
        except (ValueError, AttributeError, TypeError) as error:
            raise InvalidInputError(
                f"the address of the server is not a URL: {error}; write it as "
                "http://host:9200/index."
            ) from None
        server, _, transport = parts.scheme.partition("+")
        if not server or "://" not in url:
            raise InvalidInputError(
                "the address of the server has no scheme; write it as http://host:9200/index."
            )
        return cls(server, transport, parts, url.partition("://")[2])

    @property
    def host(self) -> str:
        """The host; empty for a local socket or path."""
        return self.parts.hostname or ""

    @property
    def loopback(self) -> bool:
        """Whether the host is this machine, so that TLS is not needed."""
        if self.host in ("", "localhost"):
            return True
        try:
            return ip_address(self.host).is_loopback
        except ValueError:
            return False

    def __str__(self) -> str:
        """Return the URL without user, password and parameters."""
        host = f"[{self.host}]" if ":" in self.host else self.host
        port = "" if self.parts.port is None else f":{self.parts.port}"
        return f"{self.parts.scheme}://{host}{port}{self.parts.path}"
