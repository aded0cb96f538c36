"""Where compiled kernels lie while tests run, so that no stale one passes.

Numba's disk cache does not notice an edit in a function that a kernel calls, so a stale cache
passes a broken kernel. Here the folder of the cache is named by the contents of all kernels, the
version of numba and that of Python: any edit begins an empty one, and runs without an edit share
one. This file stands at the root so that it is read for the doctests of the sources and of the
documentation as well; it must be read before anything imports softcosine.
"""

from __future__ import annotations

import gc
import hashlib
import os
import shutil
import signal
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import suppress
from importlib.metadata import version
from importlib.util import find_spec
from pathlib import Path

import pytest

_ROOT = Path(__file__).resolve().parent
_CACHES = _ROOT / ".pytest_cache" / "kernels"
_OLD = 7 * 24 * 3600  # seconds until the cache of other contents is removed


def _digest() -> str:
    digest = hashlib.sha256(f"{version('numba')} {version('numpy')} {sys.version}".encode())
    for file in sorted((_ROOT / "src" / "softcosine").glob("**/kernels/*.py")):
        digest.update(file.name.encode() + b"\0" + file.read_bytes())
    return digest.hexdigest()[:16]


def _cache() -> Path:
    cache = _CACHES / _digest()
    cache.mkdir(parents=True, exist_ok=True)
    os.utime(cache)
    for other in _CACHES.iterdir():
        with suppress(FileNotFoundError):  # another run removes it, too
            if other.stat().st_mtime < time.time() - _OLD:
                shutil.rmtree(other, ignore_errors=True)
    return cache


os.environ["NUMBA_CACHE_DIR"] = str(_cache())

# Where Python may not write byte code, each of the processes that tests start would compile all
# sources anew, four times as long as an import takes, and pytest all tests.
sys.dont_write_bytecode = False
os.environ.pop("PYTHONDONTWRITEBYTECODE", None)

# A shell without job control, such as that of cron, lets commands in the background ignore SIGINT,
# and children inherit that: tests could not interrupt them.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)

# A run holds many objects for long; to look through them for garbage as often as Python usually
# does takes a tenth of the time. The command line does the same.
gc.set_threshold(100_000, 50, 100)
_FRAMEWORKS = {"langchain": "langchain_core", "haystack": "haystack", "llama_index": "llama_index"}
# Tutorials are followed by a test of their own; the examples of gensim.md run gensim.
collect_ignore = [
    "docs/conf.py",
    "docs/building",
    "docs/index.md",  # made by the build, as the next
    "docs/reference",
    *map(str, (_ROOT / "docs").glob("tutorial*.md")),
    *([] if find_spec("gensim") else ["docs/gensim.md"]),
    *(
        []
        if find_spec("mcp")
        else ["docs/mcp.md", *(f"src/softcosine/mcp/{one}.py" for one in ("server", "tools"))]
    ),
    *([] if find_spec("starlette") else ["src/softcosine/serve", "tests/serve", "docs/serve.md"]),
    *(
        f"src/softcosine/integrations/{module}.py"
        for module, package in _FRAMEWORKS.items()
        if not find_spec(package)
    ),
    *([] if all(map(find_spec, _FRAMEWORKS.values())) else ["docs/integrations.md"]),
]


@pytest.fixture(scope="session", autouse=True)
def _own_temporary_folder() -> Iterator[None]:
    """Let all that tests, examples, libraries and child processes leave go with this run."""
    # Its path is short, because Ray makes sockets there.
    with (
        tempfile.TemporaryDirectory(prefix="softcosine-", ignore_cleanup_errors=True) as folder,
        pytest.MonkeyPatch.context() as patch,
    ):
        patch.setattr(tempfile, "tempdir", folder)
        patch.setenv("TMPDIR", folder)
        patch.setenv("SOFTCOSINE_HOME", f"{folder}/home")
        patch.delenv("COLUMNS", raising=False)  # the width of a terminal; xdist sets it, too
        yield
