"""A proxy of TCP connections that cuts replies short."""

from __future__ import annotations

import socket
import threading
from contextlib import suppress


class CutProxy:
    """Forwards connections of a port to another one, until a number of reply bytes has passed.

    Attributes
    ----------
    port : int
    n_left : int or None
        Bytes of replies that still pass; None for all.
    """

    def __init__(self, target: int) -> None:
        self._target, self.n_left = target, None
        self._socket = socket.create_server(("127.0.0.1", 0))
        self.port = self._socket.getsockname()[1]
        threading.Thread(target=self._accept, daemon=True).start()

    def close(self) -> None:
        """Accept no more connections."""
        self._socket.close()

    def _accept(self) -> None:
        with suppress(OSError):
            while True:
                client, _ = self._socket.accept()
                server = socket.create_connection(("127.0.0.1", self._target))
                for pair, replies in (((client, server), False), ((server, client), True)):
                    threading.Thread(target=self._copy, args=(*pair, replies), daemon=True).start()

    def _copy(self, source: socket.socket, target: socket.socket, replies: bool) -> None:
        with suppress(OSError), source, target:
            while data := source.recv(4096):
                if replies and self.n_left is not None:
                    data, self.n_left = data[: self.n_left], max(0, self.n_left - len(data))
                target.sendall(data)
                if replies and self.n_left == 0:
                    source.shutdown(socket.SHUT_RDWR)
                    target.shutdown(socket.SHUT_RDWR)
