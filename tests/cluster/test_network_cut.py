"""A network that is cut between two machines of Ray during searches, by network namespaces."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from contextlib import ExitStack, contextmanager, suppress
from tempfile import TemporaryDirectory

import numpy as np
import pytest

from conftest import ROOT, need_ray
from sharded import documents_of, epoch, in_folders, one_index

HERE, THERE, PORT = "10.213.77.1", "10.213.77.2", 6379
DRIVER = """
import json, os, sys, time
import ray
import softcosine as sc

end = time.monotonic() + 120
while True:  # the other machine joins
    try:
        ray.init(os.environ["RAY_ADDRESS"], log_to_driver=False)
        if sum(node["Alive"] for node in ray.nodes()) == 2:
            break
        ray.shutdown()
    except (ConnectionError, RuntimeError) as error:
        print(error, file=sys.stderr)
    assert time.monotonic() < end
    time.sleep(0.5)
away = []
while not 0 < len(away) < 4:  # a machine that joined a moment ago may get no actors yet
    assert time.monotonic() < end
    index = sc.ShardedIndex.open(sys.argv[1], engine="ray", timeout=60.0)
    away = []
    for number, shard in enumerate(index._shards._workers.shards):
        process = ray.get(shard.actors[0].process.remote())
        if os.readlink(f"/proc/{process}/ns/net") != os.readlink("/proc/self/ns/net"):
            away.append(f"shard-{number:04}")
print(json.dumps(away), flush=True)
for line in sys.stdin:
    index._shards._timeout = float(line)
    hits = index.search("green tea", k=40)
    found = [(hit.id, hit.score) for hit in hits]
    print(json.dumps({"found": found, "missing": list(hits.missing_shards)}), flush=True)
"""


def ip(*arguments):
    subprocess.run(["ip", *arguments], check=True, capture_output=True, text=True)


@contextmanager
def two_namespaces():
    """Yield the names of two network namespaces with a link between them, and its end."""
    names = [f"softcosine-{os.getpid()}-{end}" for end in ("here", "there")]
    links = [f"sc{os.getpid()}{end}" for end in "ab"]
    with ExitStack() as undone:
        try:
            for name in names:
                ip("netns", "add", name)
                undone.callback(ip, "netns", "delete", name)
            ip("link", "add", links[0], "netns", names[0], "type", "veth",
               "peer", "name", links[1], "netns", names[1])  # fmt: skip
        except FileNotFoundError:
            pytest.skip("needs the command ip, of Debian's package iproute2")
        except subprocess.CalledProcessError as error:
            pytest.skip(f"network namespaces are not permitted here: {error.stderr.strip()}")
        for name, link, address in zip(names, links, (HERE, THERE), strict=True):
            ip("-n", name, "address", "add", f"{address}/30", "dev", link)
            ip("-n", name, "link", "set", link, "up")
            ip("-n", name, "link", "set", "lo", "up")
        yield (*names, links[0])


@contextmanager
def running(namespace, *command, **options):
    """Run a process group in a namespace; end it afterwards."""
    command = ["ip", "netns", "exec", namespace, *map(str, command)]
    with subprocess.Popen(command, start_new_session=True, text=True, **options) as process:
        try:
            yield process
        finally:
            with suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGTERM)
            with suppress(subprocess.TimeoutExpired):
                process.wait(20)
            with suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)


def ray_node(namespace, *options):
    start = "from ray.scripts.scripts import main; main()"
    quiet = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
    common = ("--num-cpus=1", "--object-store-memory=80000000", "--disable-usage-stats", "--block")
    return running(namespace, sys.executable, "-c", start, "start", *options, *common, **quiet)


@pytest.mark.skipif(sys.platform != "linux", reason="network namespaces are of Linux")
def test_a_cut_network_makes_shards_missing_until_it_is_back(tmp_path, monkeypatch):
    need_ray()
    documents = documents_of("words", np.random.default_rng(9), 40)
    folder = in_folders(epoch("words"), tmp_path / "big.shards", documents, 4)
    whole = one_index(epoch("words"), documents).search("green tea", k=40)
    complete = [[hit.id, hit.score] for hit in whole]
    monkeypatch.setenv("PYTHONPATH", str(ROOT / "src"))
    monkeypatch.setenv("RAY_ADDRESS", f"{HERE}:{PORT}")
    monkeypatch.setenv("RAY_AUTH_MODE", "disabled")  # nobody else reaches the namespaces
    head = ("--head", f"--node-ip-address={HERE}", f"--port={PORT}", "--include-dashboard=false")
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE}
    with (
        two_namespaces() as (here, there, link),
        TemporaryDirectory(dir="/tmp", ignore_cleanup_errors=True) as sessions,  # sockets: short
        ray_node(here, *head, f"--temp-dir={sessions}"),
        ray_node(there, f"--address={HERE}:{PORT}", f"--node-ip-address={THERE}"),
        running(here, sys.executable, "-c", DRIVER, folder, **pipes) as driver,
    ):

        def search(seconds):
            driver.stdin.write(f"{seconds}\n")
            driver.stdin.flush()
            return json.loads(driver.stdout.readline())

        away = json.loads(driver.stdout.readline())
        assert search(60) == {"found": complete, "missing": []}
        ip("-n", here, "link", "set", link, "down")
        cut = search(3)
        assert cut["missing"] == away
        assert [one for one in complete if one in cut["found"]] == cut["found"] != complete
        ip("-n", here, "link", "set", link, "up")
        end = time.monotonic() + 120
        while (found := search(10))["missing"]:
            assert time.monotonic() < end
        assert found["found"] == complete
