"""Real servers that tests start on free ports of loopback, as a plain user, and end."""

from __future__ import annotations

import os
import shutil
import socket
import subprocess
import tempfile
import time
from collections.abc import Callable, Sequence
from pathlib import Path

_PLAIN_USER = 65534  # nobody: these servers refuse to run as root


def folder_of_servers() -> Path:
    """Folder that ``.ci/servers`` fills."""
    given = os.environ.get("SOFTCOSINE_SERVERS")
    caches = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    return Path(given or Path(caches) / "softcosine-servers")


def free_port() -> int:
    """Return a port of loopback that nobody listens on."""
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        return int(one.getsockname()[1])


def as_plain_user() -> dict[str, object]:
    """Arguments of a process that may not run as root."""
    if os.geteuid() != 0:
        return {}
    return {"user": _PLAIN_USER, "group": _PLAIN_USER, "extra_groups": []}


def plain_folder(prefix: str) -> Path:
    """Return a new folder of the plain user, who may not enter the folders of the tests."""
    folder = Path(tempfile.mkdtemp(prefix=f"softcosine-{prefix}-", dir="/tmp"))
    if os.geteuid() == 0:
        os.chown(folder, _PLAIN_USER, _PLAIN_USER)
    return folder


class ServerProcess:
    """A server that runs until `stop`."""

    def __init__(
        self, command: Sequence[str], folder: Path, *, ready: Callable[[], bool], patience: float
    ) -> None:
        self._command, self._folder = list(command), folder
        self._ready, self._patience = ready, patience
        self.start()

    def start(self) -> None:
        """Start the process, and wait until it answers."""
        with (self._folder / "log").open("ab") as log:
            self._process = subprocess.Popen(
                self._command, stdout=log, stderr=log, stdin=subprocess.DEVNULL,
                cwd=self._folder, **as_plain_user(),
            )  # fmt: skip
        end = time.monotonic() + self._patience
        while not self._ready():
            if self._process.poll() is not None or time.monotonic() > end:
                self.stop()
                log_text = (self._folder / "log").read_text(errors="replace")[-2000:]
                raise RuntimeError(f"{self._command[0]} does not answer: {log_text}")
            time.sleep(0.05)

    def stop(self) -> None:
        """End the process."""
        self._process.terminate()
        try:
            self._process.wait(20)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()

    def remove(self) -> None:
        """End the process, and delete its folder."""
        self.stop()
        shutil.rmtree(self._folder, ignore_errors=True)
