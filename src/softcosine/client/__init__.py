"""A client of ``softcosine serve`` with the API of `SoftIndex`, blocking or for asyncio.

``client.py``
    `Client` and `AsyncClient`: what differs between the two, the connection.
``server_calls.py``, ``index_calls.py``
    The calls of a server and of an index, each written once for both clients.
``calls.py``
    Calls as generators of requests, and the decorator that makes a method of one.
``exchange.py``
    One request: repetitions, replies, and errors as exceptions (``failures.py``).
``results.py``
    JSON as `Hits`, `Explanation`, `Listing` and `ServerQuery`.
"""

from softcosine.client.client import AsyncClient, AsyncRemoteIndex, Client, RemoteIndex

__all__ = ["AsyncClient", "AsyncRemoteIndex", "Client", "RemoteIndex"]
