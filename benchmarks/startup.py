"""How long commands of ``softcosine`` take, the process and all, against ``import numpy``.

Run ``python benchmarks/startup.py``. One index has 3,204 documents (CACM) and the default options:
where softcosine-minilm is installed, that encoder reads documents and queries. The other one is
that of ``softcosine demo``, also the first time: then kernels are compiled and the index of the
symbols is made, so every run of that begins with empty folders.
"""

from __future__ import annotations

import json
import os
import resource
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path

from measure import data_folder, interleave, parser_of, write_report

DEMO = ("-m", "softcosine", "demo", "kitten")
QUERY = "time sharing operating systems"


def run(arguments: Sequence[str], home: Path) -> str:
    """Run Python whose caches and data lie in `home`; what it prints.

    Modules are compiled once, as in any installation.
    """
    folders = {"NUMBA_CACHE_DIR": str(home / "kernels"), "SOFTCOSINE_HOME": str(home / "data")}
    inherited = {k: v for k, v in os.environ.items() if k != "PYTHONDONTWRITEBYTECODE"}
    done = subprocess.run(
        [sys.executable, *arguments],
        env={**inherited, **folders},
        capture_output=True,
        check=True,
        encoding="utf-8",
    )
    return done.stdout


def run_fresh(arguments: Sequence[str]) -> str:
    """Run Python with empty folders."""
    with tempfile.TemporaryDirectory() as home:
        return run(arguments, Path(home))


def hits(output: str) -> list[str]:
    """Return the lines of the demo up to the results of plain cosine."""
    return output.partition("plain cosine")[0].splitlines()


def check(home: Path, index: Path) -> None:
    """Exit unless the first run and a later one answer alike, and a search as the library does."""
    first, later = run_fresh(DEMO), run(DEMO, home)
    if len(hits(first)) < 3 or hits(first) != hits(later):
        raise SystemExit("the first run and a later one answer differently; compare no times.")
    code = f"import softcosine as sc; print([hit.id for hit in sc.SoftIndex.open({str(index)!r})"
    of_library = run(("-c", f"{code}.search({QUERY!r})])"), home)
    shown = json.loads(run(("-m", "softcosine", "search", str(index), QUERY, "--json"), home))
    if str([hit["id"] for hit in shown["hits"]]) != of_library.strip():
        raise SystemExit("the command and the library find other documents; compare no times.")


def contestants(home: Path, index: Path) -> dict[str, Callable[[], object]]:
    words, best = (str(index), QUERY), "1938"
    commands: dict[str, tuple[str, ...]] = {
        "import numpy": ("-c", "import numpy"),
        "softcosine search INDEX WORDS": ("-m", "softcosine", "search", *words),
        "... --ask words": ("-m", "softcosine", "search", *words, "--ask", "words"),
        "softcosine similar INDEX ID": ("-m", "softcosine", "similar", str(index), best),
        "softcosine explain INDEX WORDS ID": ("-m", "softcosine", "explain", *words, best),
        "softcosine info INDEX": ("-m", "softcosine", "info", str(index)),
        "softcosine --help": ("-m", "softcosine", "--help"),
        "demo, later": DEMO,
        "import softcosine": ("-c", "import softcosine"),
        "import numba": ("-c", "import numba"),
        "import onnxruntime": ("-c", "import onnxruntime"),
        "import typer, pydantic": ("-c", "import typer, pydantic.types"),
        "Python alone": ("-c", "pass"),
    }
    called: dict[str, Callable[[], object]] = {
        name: lambda arguments=arguments: run(arguments, home)  # type: ignore[misc]
        for name, arguments in commands.items()
    }
    return {**called, "demo, the first time": lambda: run_fresh(DEMO)}


def counting(call: Callable[[], object], seconds: list[float]) -> Callable[[], object]:
    """Return a call that adds the processor time of the processes that it starts."""

    def counted() -> None:
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        call()
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        seconds.append(after.ru_utime - before.ru_utime + after.ru_stime - before.ru_stime)

    return counted


def measured(calls: dict[str, Callable[[], object]], runs: int) -> list[dict[str, object]]:
    """Return the rows of the table."""
    used: dict[str, list[float]] = {name: [] for name in calls}
    timings = interleave({name: counting(calls[name], used[name]) for name in calls}, runs=runs)
    first = next(iter(timings.values()))
    cpu = {name: statistics.median(seconds[-runs:]) for name, seconds in used.items()}
    return [
        {
            **{k: v for k, v in timing.row(relative_to=first).items() if "cpu" not in k},
            "median processor s": round(cpu[name], 4),
            "times that of the first": round(cpu[name] / cpu[first.name], 2),
        }
        for name, timing in timings.items()
    ]


def main() -> None:
    options = parser_of(__doc__, runs=7).parse_args()
    with tempfile.TemporaryDirectory() as folder:
        home, index = Path(folder), Path(folder, "cacm.index")
        corpus = data_folder() / "retrieval" / "cacm" / "corpus.jsonl.gz"
        run(("-m", "softcosine", "index", str(corpus), "-o", str(index)), home)
        run(DEMO, home)
        check(home, index)
        read_by = run(("-m", "softcosine", "info", str(index), "--json"), home)
        rows = measured(contestants(home, index), options.runs)
    notes = (
        "Whole processes, started one after the other. Files are in the system's cache, kernels in "
        "numba's, modules are compiled. The output is no terminal.",
        "Checked first: the command finds what the library finds. The first time: empty "
        "NUMBA_CACHE_DIR and SOFTCOSINE_HOME, so kernels are compiled and the symbols indexed; it "
        "answers the same as later runs.",
        "Processor time counts all threads: those that OpenBLAS starts add to that of numpy.",
    )
    title = "Starting up: softcosine search, whole process"
    facts = json.loads(read_by)
    parameters = {
        "documents": facts["documents"],
        "read by": (facts["meaning"] or {}).get("encoder"),
        "query": QUERY,
        "timed rounds": options.runs,
    }
    print(write_report("startup", title, rows, parameters, notes=notes))


if __name__ == "__main__":
    main()
