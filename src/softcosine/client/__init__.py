"""A client of ``softcosine serve`` with the API of `SoftIndex`, blocking or for asyncio.

``client.py``
    `Client` and `AsyncClient`: the calls of a server, and what differs between the two.
``index_calls.py``
    The calls of an index, each written once for both clients; changes that are sent as one bulk.
``exchange.py``
    One request: repetitions, replies, and errors as exceptions.
"""

from softcosine.client.client import (
    AsyncClient,
    AsyncRemoteIndex,
    AsyncRemoteWriter,
    Client,
    RemoteIndex,
    RemoteWriter,
)
