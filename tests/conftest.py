"""How the tests run: hypothesis profiles, and where the evaluation data lies.

Environment
-----------
SOFTCOSINE_DATA
    Folder of the evaluation data; ``../shared/data`` beside the clone by default.
SOFTCOSINE_REQUIRE
    Comma-separated markers whose tests fail, instead of being skipped, where what they need is
    missing. Known: ``browser`` (Chromium and playwright), ``data``, ``engines`` (the packages of
    vector stores), ``frameworks`` (those of the dependency group of this name), ``multilingual``
    (the package softcosine-multilingual), ``ray`` (with Dask), ``servers`` (what ``.ci/servers``
    installs).
SOFTCOSINE_SERVERS
    Folder of servers that ``.ci/servers`` fills; ``~/.cache/softcosine-servers`` by default.
HYPOTHESIS_PROFILE
    ``quick`` (default without ``--all`` and paths), ``ci`` (default): 10 and 25 examples, the same
    in every run. ``search``: many random ones.
NUMBA_DISABLE_JIT
    ``1`` runs the kernels as plain Python, with fewer and smaller examples.
"""

from __future__ import annotations

import os
import shutil
import sys
import tempfile
from collections.abc import Callable, Iterator
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, settings

ROOT = Path(__file__).resolve().parent.parent
JIT = os.environ.get("NUMBA_DISABLE_JIT", "0") in ("", "0")

# A first example may compile a kernel, so neither a deadline nor slowness says anything.
_COMMON = settings(deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.register_profile("ci", _COMMON, derandomize=True, max_examples=25 if JIT else 10)
settings.register_profile("search", _COMMON, max_examples=1000 if JIT else 100, print_blob=True)
settings.register_profile("quick", _COMMON, derandomize=True, max_examples=10)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "ci"))


# Files whose tests run in one process: those of Ray, and those of servers.
_TOGETHER = (
    tuple(f"tests/cluster/test_{one}.py" for one in ("cli_shards", "network_cut", "plan", "ray")),
    ("tests/servers/",),
)

# Doors of the core, what stands above it, the laboratory, and files that start processes: a run
# without paths and without --all has only their tests that are marked `smoke`.
_DOORS = (
    *("tests/cluster/", "tests/integrations/", "tests/serve/", "tests/servers/", "tests/test_cli"),
    *("tests/test_benchmarks", "tests/test_evaluate", "tests/test_fuzz", "tests/test_mcp"),
    *("tests/test_index_faults", "tests/test_regression", "tests/test_snos"),
    *("tests/test_object_storage", "tests/test_plots", "tests/test_studies", "tests/test_systems"),
    *("tests/test_tuning", "tests/test_tutorial", "tests/test_vector_stores", "docs/"),
    *("tests/test_dependency", "tests/test_pair_weights", "tests/test_phonetic"),
    *("tests/test_reranker", "tests/test_soft_cardinality", "tests/test_syntactic"),
    *("tests/test_taught_vectors", "tests/test_wordnet"),
    *("tests/test_compilation", "tests/test_concurrency", "tests/test_confinement"),
    *("tests/test_no_connections", "tests/test_pickled_index", "tests/test_running"),
    *("tests/test_writer_threads",),
    *("src/softcosine/evaluate/", "src/softcosine/integrations/", "src/softcosine/lab/"),
)
_REQUIRABLE = ("browser", "data", "engines", "frameworks", "multilingual", "ray", "servers")


def required() -> set[str]:
    """Markers whose tests may not be skipped in this run; a name that is none is an error."""
    given = os.environ.get("SOFTCOSINE_REQUIRE", "")
    names = {name.strip() for name in given.split(",")} - {""}
    if unknown := sorted(names.difference(_REQUIRABLE)):
        raise pytest.UsageError(
            f"SOFTCOSINE_REQUIRE is {given!r}, and {', '.join(map(repr, unknown))} is no name of "
            f"tests that can be required; there are {', '.join(_REQUIRABLE)}."
        )
    return names


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add ``--all``."""
    parser.addoption("--all", action="store_true", help="run all tests of all doors")


def pytest_configure(config: pytest.Config) -> None:
    """Say what is wrong with the environment before any test runs; choose which tests do."""
    required()
    without_paths = config.args_source is config.ArgsSource.TESTPATHS  # also in workers of xdist
    config.option.quick = without_paths and not config.option.all
    if config.option.quick and "HYPOTHESIS_PROFILE" not in os.environ:
        settings.load_profile("quick")


def pytest_ignore_collect(collection_path: Path, config: pytest.Config) -> bool | None:
    """Do not import what has no test for a quick run."""
    if not config.option.quick or collection_path.is_dir():
        return None
    door = collection_path.relative_to(ROOT).as_posix().startswith(_DOORS)
    return (door and "smoke" not in collection_path.read_text(errors="ignore")) or None


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Leave out the tests of doors in a quick run, except those marked `smoke`."""
    if config.option.quick:
        doors = [
            item
            for item in items
            if item.nodeid.startswith(_DOORS) and not item.get_closest_marker("smoke")
        ]
        config.hook.pytest_deselected(items=doors)
        items[:] = [item for item in items if item not in set(doors)]


def find_data() -> Path:
    """Folder of the evaluation data; skips the test, or fails it if required, when missing."""
    folder = Path(os.environ.get("SOFTCOSINE_DATA") or ROOT.parent / "shared" / "data")
    if folder.is_dir():
        return folder
    reason = f"needs the evaluation data, but {folder} is no folder; set SOFTCOSINE_DATA"
    if "data" in required():
        pytest.fail(f"{reason} (SOFTCOSINE_REQUIRE asks for it)", pytrace=False)
    pytest.skip(reason)


def need_engine(package: str) -> None:
    """Skip the test, or fail it if required, where the package of a vector store is missing."""
    _need(package, "engines")


def need_framework(package: str) -> None:
    """Skip the module, or fail it if required, where a framework is missing."""
    _need(package, "frameworks", allow_module_level=True)


def need_multilingual() -> None:
    """Skip the module, or fail it if required, without softcosine-multilingual."""
    _need("softcosine_multilingual", "multilingual", allow_module_level=True)


def need_ray(package: str = "ray") -> None:
    """Skip the test, or fail it if required, without Ray, which has no wheels for Python 3.14."""
    if package == "ray" and sys.version_info >= (3, 14):
        pytest.skip("needs ray, which is tested with Python up to 3.13")
    _need(package, "ray")


def _need(package: str, kind: str, *, allow_module_level: bool = False) -> None:
    if find_spec(package) is None:
        reason = f"needs {package}, which is not installed"
        if kind in required():
            pytest.fail(f"{reason} (SOFTCOSINE_REQUIRE asks for it)", pytrace=False)
        pytest.skip(reason, allow_module_level=allow_module_level)


def need_browser() -> str:
    """Path of Chromium; skips the test, or fails it if required, without it or playwright."""
    found = shutil.which("chromium") or shutil.which("google-chrome")
    if found is not None and find_spec("playwright") is not None:
        return found
    missing = "playwright" if found else "Chromium (Debian's package chromium)"
    reason = f"needs {missing}, which is not installed"
    if "browser" in required():
        pytest.fail(f"{reason} (SOFTCOSINE_REQUIRE asks for it)", pytrace=False)
    pytest.skip(reason)


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> Any:
    """Keep the tests of a file in one process, and those of Ray and of servers in one each."""
    from xdist.scheduler import LoadScopeScheduling

    class Together(LoadScopeScheduling):  # type: ignore[misc]
        def _split_scope(self, nodeid: str) -> str:
            file = nodeid.partition("::")[0]
            return next((files[0] for files in _TOGETHER if file.startswith(files)), file)

    return Together(config, log)


def pytest_runtest_setup(item: pytest.Item) -> None:
    """Tests marked ``data`` run only where the data is."""
    if item.get_closest_marker("data"):
        find_data()


@pytest.fixture(scope="session", autouse=True)
def _no_automatic_encoder() -> Iterator[None]:
    """Let ``encoder="auto"`` take the bundled table: most tests are about words."""
    from softcosine.index import encoding

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(encoding, "FEW", dict.fromkeys(encoding.FEW, (-1, 0)))
        yield


@pytest.fixture
def automatic_encoder(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let ``encoder="auto"`` take an installed encoder, as outside of tests."""
    from softcosine.index import encoding

    monkeypatch.setattr(encoding, "FEW", dict.fromkeys(encoding.FEW, (5_000, 1 << 21)))


@pytest.fixture(scope="session")
def data() -> Path:
    """Folder of the evaluation data."""
    return find_data()


@pytest.fixture(scope="session")
def example_folder(tmp_path_factory: pytest.TempPathFactory) -> Callable[[], Path]:
    """Function that makes an empty folder, for one example of hypothesis, and removes the last."""
    place = tmp_path_factory.mktemp("examples")

    def made() -> Path:
        shutil.rmtree(place, ignore_errors=True)
        place.mkdir(exist_ok=True)
        return Path(tempfile.mkdtemp(dir=place))

    return made


@pytest.fixture
def console(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Let the command line write to the streams of this test, 80 columns wide."""
    from softcosine.cli import output as showing

    # A console keeps the stream that it met first, and every test has its own.
    showing._console.cache_clear()
    monkeypatch.setenv("COLUMNS", "80")
    monkeypatch.delenv("SOFTCOSINE_DEBUG", raising=False)
    yield
    showing._console.cache_clear()


@pytest.fixture
def run(console: None, capsys: pytest.CaptureFixture[str]) -> Callable[..., str]:
    """Call the command line; what it prints, or its errors where it is to end with a `code`."""
    from softcosine.cli.app import main

    def call(*arguments: object, code: int = 0) -> str:
        with pytest.raises(SystemExit) as stop:
            main([str(argument) for argument in arguments])
        captured = capsys.readouterr()
        assert (stop.value.code or 0) == code, captured.err
        assert "Traceback" not in captured.err
        return captured.err if code else captured.out

    return call


@pytest.fixture
def study(monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[[str], Any]]:
    """Import a script of ``studies`` by its name; what it imports is found there."""
    for package in ("ir_measures", "bm25s", "sklearn"):
        pytest.importorskip(package)
    folder = ROOT / "studies"
    monkeypatch.syspath_prepend(str(folder))
    names = {path.stem for path in folder.glob("*.py")}
    yield import_module
    for name in names & sys.modules.keys():
        del sys.modules[name]
