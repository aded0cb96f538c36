"""How long ``softcosine demo "kitten"`` takes, the process and all, the first time and later.

Run ``python benchmarks/startup.py``. The first time, kernels are compiled and the index of the
symbols is made: every run of that begins with empty folders.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path

from measure import interleave, parser_of, write_report

DEMO = ("-m", "softcosine", "demo", "kitten")


def run(arguments: Sequence[str], home: Path) -> str:
    """Run Python whose caches and data lie in `home`; what it prints."""
    folders = {"NUMBA_CACHE_DIR": str(home / "kernels"), "SOFTCOSINE_HOME": str(home / "data")}
    done = subprocess.run(
        [sys.executable, *arguments],
        env={**os.environ, **folders},
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


def check(home: Path) -> None:
    """Exit unless the first run and a later one answer alike."""
    first, later = run_fresh(DEMO), run(DEMO, home)
    if len(hits(first)) < 3 or hits(first) != hits(later):
        raise SystemExit("the first run and a later one answer differently; compare no times.")


def contestants(home: Path) -> dict[str, Callable[[], object]]:
    return {
        "demo, later": lambda: run(DEMO, home),
        "demo, the first time": lambda: run_fresh(DEMO),
        "softcosine --help": lambda: run(("-m", "softcosine", "--help"), home),
        "import softcosine": lambda: run(("-c", "import softcosine"), home),
        "Python alone": lambda: run(("-c", "pass"), home),
    }


def main() -> None:
    options = parser_of(__doc__, runs=7).parse_args()
    with tempfile.TemporaryDirectory() as folder:
        home = Path(folder)
        run(DEMO, home)
        check(home)
        timings = interleave(contestants(home), runs=options.runs)
    first = next(iter(timings.values()))
    # Processor time of child processes is not this process's.
    rows = [
        {key: value for key, value in timing.row(relative_to=first).items() if "cpu" not in key}
        for timing in timings.values()
    ]
    notes = (
        "Whole processes, started one after the other. Files are in the system's cache.",
        "The first time: empty NUMBA_CACHE_DIR and SOFTCOSINE_HOME, so kernels are compiled and "
        "the symbols indexed. Checked first: it answers the same as later runs.",
    )
    title = "Starting up: softcosine demo kitten"
    parameters = {"command": "python " + " ".join(DEMO), "timed rounds": options.runs}
    print(write_report("startup", title, rows, parameters, notes=notes))


if __name__ == "__main__":
    main()
