"""A client of ``softcosine serve`` with the API of `SoftIndex`, blocking or for asyncio.

``client.py``
    `Client` and `AsyncClient`: what differs between the two, the connection.
``server_calls.py``, ``index_calls.py``
    The calls of a server and of an index, each written once for both clients.
``writer_calls.py``
    Changes that are collected and sent as one bulk.
``calls.py``
    Calls as generators of requests, and the decorator that makes a method of one.
``exchange.py``
    One request: repetitions, replies, and errors as exceptions (``failures.py``).
``bodies.py``
    Parameters as JSON.
"""

from softcosine.client.client import (
    AsyncClient,
    AsyncRemoteIndex,
    AsyncRemoteWriter,
    Client,
    RemoteIndex,
    RemoteWriter,
)

__all__ = [
    "AsyncClient",
    "AsyncRemoteIndex",
    "AsyncRemoteWriter",
    "Client",
    "RemoteIndex",
    "RemoteWriter",
]
