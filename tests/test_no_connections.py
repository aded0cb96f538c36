"""Nothing connects anywhere, and the home folder gets the library's own files only."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import pytest

from conftest import need_framework

pytestmark = pytest.mark.skipif(shutil.which("strace") is None, reason="needs strace")

# ONNX Runtime sends its events after ten seconds.
COMMANDS = """
import contextlib, json, os, signal, socket, sys, threading, time, urllib.request
from pathlib import Path
from softcosine.cli import symbols
from softcosine.cli.app import main
symbols.symbols = lambda: {"x": "cat face", "y": "infinity", "z": "hamburger"}
def call(*arguments):
    try: main(list(arguments))
    except SystemExit as ended: assert not ended.code, arguments
Path("root").mkdir()
Path("faq.csv").write_text("id,text\\n1,a flat tyre of the bike\\n2,green tea is in the pot\\n")
call("index", "faq.csv", "-o", "root/faq")
call("search", "root/faq", "bicycle")
call("similar", "root/faq", "1")
call("demo", "endless")
with socket.socket() as free:
    free.bind(("127.0.0.1", 0))
    port = free.getsockname()[1]
def ask():
    body = json.dumps({"q": "bicycle"}).encode()
    request = urllib.request.Request(
        f"http://127.0.0.1:{port}/v1/indexes/faq/search", body,
        {"Content-Type": "application/json"})
    for attempt in range(200):
        time.sleep(.1)
        with contextlib.suppress(OSError), urllib.request.urlopen(request) as answer:
            print("served", json.load(answer)["hits"][0]["id"])
            break
    time.sleep(11)
    os.kill(os.getpid(), signal.SIGTERM)
threading.Thread(target=ask).start()
call("serve", "root", "--port", str(port))
"""

HAYSTACK = """
import sys, time
import softcosine as sc
from softcosine.integrations.haystack import SoftDocumentStore, SoftRetriever
from haystack import Pipeline
sc.SoftIndex.from_texts(["a flat tyre", "green tea"], encoder=None).save("faq")
pipeline = Pipeline()
pipeline.add_component("found", SoftRetriever(SoftDocumentStore("faq")))
print("served", pipeline.run({"found": {"query": "tea"}})["found"]["documents"][0].id)
time.sleep(2)
"""

FRAMEWORKS = """
import time
import softcosine as sc
index = sc.SoftIndex.from_texts(["a flat tyre", "green tea"], encoder=None)
from softcosine.integrations.langchain import SoftVectorStore
from softcosine.integrations.llama_index import SoftRetriever
from softcosine.integrations.dspy import SoftRetriever as OfDspy
SoftVectorStore(index).as_retriever().invoke("tea")
SoftRetriever(index).retrieve("tea")
print("served", OfDspy(index)("tea")[0].id)
time.sleep(2)
"""


def addresses_of(script: str, folder: Path) -> list[str]:
    """Run a script with a home of its own; return the other machines that it connects to."""
    home, log = folder / "home", folder / "log"
    home.mkdir()
    known = ("ORT_", "HAYSTACK_", "XDG_", "SOFTCOSINE_HOME", "SOFTCOSINE_CACHE")
    environment = {name: value for name, value in os.environ.items() if not name.startswith(known)}
    environment |= {"HOME": str(home), "PYTHONPATH": os.pathsep.join(sys.path)}
    done = subprocess.run(
        ["strace", "-f", "--seccomp-bpf", "-e", "trace=connect,sendto,sendmsg,sendmmsg", "-o", log,
         sys.executable, "-W", "ignore", "-c", script],
        check=False, capture_output=True, text=True, cwd=folder, env=environment, timeout=300,
    )  # fmt: skip
    if "ptrace" in done.stderr or "seccomp" in done.stderr:
        pytest.skip(f"strace may not trace here: {done.stderr.splitlines()[0]}")
    assert done.returncode == 0, done.stderr
    assert "served" in done.stdout
    found = re.findall(r'(?:inet_addr\(|inet_pton\(AF_INET6, )"([^"]+)"', log.read_text())
    return [address for address in found if address not in ("127.0.0.1", "::1")]


def foreign(home: Path) -> list[str]:
    """Return the files in a home folder that are not the library's own."""
    files = (file.relative_to(home) for file in home.rglob("*") if file.is_file())
    return [str(file) for file in files if "softcosine" not in file.parts]


@pytest.mark.skipif(not find_spec("softcosine_minilm"), reason="needs the encoder minilm")
def test_commands_and_the_server_connect_nowhere(tmp_path):
    pytest.importorskip("onnxruntime")
    pytest.importorskip("starlette")
    assert addresses_of(COMMANDS, tmp_path) == []
    assert foreign(tmp_path / "home") == []
    assert list((tmp_path / "home").rglob("*"))  # the demo's index


@pytest.mark.parametrize(
    ("packages", "script"),
    [(["haystack"], HAYSTACK), (["langchain_core", "llama_index"], FRAMEWORKS)],
)
def test_adapters_for_frameworks_connect_nowhere(tmp_path, packages, script):
    for package in packages:
        need_framework(package)
    assert addresses_of(script, tmp_path) == []
    assert foreign(tmp_path / "home") == []
