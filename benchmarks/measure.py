"""Timing contestants side by side, and reports that say how the numbers came about."""

from __future__ import annotations

import argparse
import gc
import gzip
import importlib.metadata
import json
import os
import platform
import statistics
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

__all__ = [
    *("Timing", "data_folder", "each", "interleave", "parser_of", "peak_memory", "read_jsonl"),
    "write_report",
]

_T = TypeVar("_T")
REPOSITORY = Path(__file__).resolve().parent.parent
REPORTS = REPOSITORY / "docs" / "benchmarks"
PACKAGES = (
    *("softcosine", "numpy", "scipy", "numba", "PyStemmer", "scikit-learn", "gensim", "bm25s"),
    *("sparse_dot_topn", "nmslib", "tantivy", "ir-measures", "faiss-cpu", "annoy"),
    *("networkx", "scikit-sparse"),
)


@dataclass(frozen=True, slots=True)
class Timing:
    """Seconds that one contestant took, over all its runs.

    Attributes
    ----------
    name : str
    seconds : tuple of float
        By the clock, run by run.
    cpu_seconds : tuple of float
        Of processor time, over all threads; on a busy machine the steadier number.
    """

    name: str
    seconds: tuple[float, ...]
    cpu_seconds: tuple[float, ...]

    @property
    def median(self) -> float:
        """The middle run."""
        return statistics.median(self.seconds)

    @property
    def minimum(self) -> float:
        """The fastest run."""
        return min(self.seconds)

    @property
    def maximum(self) -> float:
        """The slowest run."""
        return max(self.seconds)

    def scaled(self, factor: float) -> Timing:
        """Return all times multiplied by a factor."""
        seconds, cpu_seconds = self.seconds, self.cpu_seconds
        return Timing(
            self.name, tuple(factor * s for s in seconds), tuple(factor * s for s in cpu_seconds)
        )

    def row(self, *, relative_to: Timing | None = None, unit: str = "s") -> dict[str, object]:
        """One line of a table: name, median, fastest and slowest, in s, ms or us."""
        factor = {"s": 1.0, "ms": 1e3, "us": 1e6}[unit]
        row: dict[str, object] = {
            "contestant": self.name,
            f"median {unit}": round(self.median * factor, 4),
            f"min {unit}": round(self.minimum * factor, 4),
            f"max {unit}": round(self.maximum * factor, 4),
            f"median cpu {unit}": round(statistics.median(self.cpu_seconds) * factor, 4),
        }
        if relative_to is not None:
            row["times the first"] = round(self.median / relative_to.median, 2)
        return row


def each(call: Callable[[_T], object], arguments: Sequence[_T]) -> Callable[[], object]:
    """Bind a call to many arguments, one after the other."""
    return lambda: [call(argument) for argument in arguments]


def interleave(
    contestants: Mapping[str, Callable[[], object]], *, runs: int = 5, warmups: int = 1
) -> dict[str, Timing]:
    """Run all contestants in turn, round after round, so that a slow minute hits all alike.

    Parameters
    ----------
    contestants : mapping of str to callable
    runs : int, optional
        Timed rounds.
    warmups : int, optional
        Rounds before them that are not counted.

    Returns
    -------
    dict of str to Timing
        In the order of `contestants`.
    """
    seconds: dict[str, list[float]] = {name: [] for name in contestants}
    cpu_seconds: dict[str, list[float]] = {name: [] for name in contestants}
    for round_ in range(warmups + runs):
        for name, contestant in contestants.items():
            gc.collect()
            start, cpu_start = time.perf_counter(), time.process_time()
            contestant()
            elapsed, cpu_elapsed = time.perf_counter() - start, time.process_time() - cpu_start
            if round_ >= warmups:
                seconds[name].append(elapsed)
                cpu_seconds[name].append(cpu_elapsed)
    return {
        name: Timing(name, tuple(seconds[name]), tuple(cpu_seconds[name])) for name in contestants
    }


def peak_memory(call: Callable[[], object]) -> float | None:
    """Peak resident memory of a call above the level before it, in MiB; None where not Linux.

    Memory that the process keeps from earlier calls and reuses does not show, so this is a lower
    bound: ask before timing, and the hungriest contestant last.
    """
    gc.collect()
    try:
        Path("/proc/self/clear_refs").write_text("5")  # sets the peak back to the present level
        before = _status("VmRSS")
        call()
        return round((_status("VmHWM") - before) / 1024, 1)
    except OSError:
        return None


def write_report(
    name: str,
    title: str,
    rows: Sequence[Mapping[str, object]],
    parameters: Mapping[str, object],
    *,
    notes: Sequence[str] = (),
    folder: Path = REPORTS,
    script: str | None = None,
) -> str:
    """Write ``NAME.json`` and a table in ``NAME.md``, and return the table.

    Parameters
    ----------
    name : str
        File name without ending.
    title : str
        The question that the benchmark answers.
    rows : sequence of mappings
        One a line; the table has all their keys for columns.
    parameters : mapping
        What was run on: data, sizes, settings. JSON types.
    notes : sequence of str, optional
        What was checked first, and what the numbers do not say.
    folder : Path, optional
        By default ``docs/benchmarks``.
    script : str, optional
        What made it, if it is not called like the report.

    Returns
    -------
    str
        The page in Markdown.
    """
    setting = {"machine": machine(), "versions": versions(), "parameters": dict(parameters)}
    report = {"name": name, "title": title, "rows": [dict(row) for row in rows]}
    folder.mkdir(parents=True, exist_ok=True)
    text = json.dumps({**report, "notes": list(notes), **setting}, indent=2, ensure_ascii=False)
    (folder / f"{name}.json").write_text(text + "\n", encoding="utf-8")
    page = "\n".join(_page(name, title, rows, parameters, notes, script or name)) + "\n"
    (folder / f"{name}.md").write_text(page, encoding="utf-8")
    return page


def parser_of(
    description: str | None,
    *,
    cache: Path | None = None,
    runs: int | None = None,
    queries: int | None = None,
    tiny: bool = False,
) -> argparse.ArgumentParser:
    """Return a command line with those of the common options that have a default here."""
    parser = argparse.ArgumentParser(description=description)
    if tiny:
        parser.add_argument("--tiny", action="store_true", help="a small case, nothing written")
    if cache is not None:
        parser.add_argument("--cache", type=Path, default=cache, help="for what takes long to make")
    if runs is not None:
        parser.add_argument("--runs", type=int, default=runs)
    if queries is not None:
        parser.add_argument("--queries", type=int, default=queries)
    return parser


def machine() -> dict[str, object]:
    """Describe the machine and the limits that this process runs under."""
    threads = {
        variable: os.environ[variable]
        for variable in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "NUMBA_NUM_THREADS")
        if variable in os.environ
    }
    return {
        "cpu": _cpu_model(),
        "cpus usable": len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else None,
        "load average": round(os.getloadavg()[0], 2) if hasattr(os, "getloadavg") else None,
        "thread limits": threads,
        "peak memory of the process MiB": process_peak(),
        "system": f"{platform.system()} {platform.machine()}",
    }


def versions() -> dict[str, str]:
    """Versions of Python and of the packages at hand."""
    found = {"python": platform.python_version()}
    for package in PACKAGES:
        try:
            found[package] = importlib.metadata.version(package)
        except importlib.metadata.PackageNotFoundError:
            continue
    return found


def data_folder() -> Path:
    """Return the evaluation data: ``$SOFTCOSINE_DATA``, or ``shared/data`` beside the clone."""
    folder = Path(os.environ.get("SOFTCOSINE_DATA", REPOSITORY.parent / "shared" / "data"))
    if not folder.is_dir():
        raise SystemExit(f"there is no evaluation data in {folder}; set SOFTCOSINE_DATA.")
    return folder


def read_jsonl(path: Path) -> Iterator[dict[str, Any]]:
    """Yield the records of a ``.jsonl.gz`` file."""
    with gzip.open(path, "rt", encoding="utf-8") as lines:
        for line in lines:
            yield json.loads(line)


def _page(
    name: str,
    title: str,
    rows: Sequence[Mapping[str, object]],
    parameters: Mapping[str, object],
    notes: Sequence[str],
    script: str,
) -> Iterator[str]:
    columns = list(dict.fromkeys(key for row in rows for key in row))
    yield from (f"# {title}", "")
    yield "| " + " | ".join(columns) + " |"
    yield "|" + "---|" * len(columns)
    for row in rows:
        cells = ("" if row.get(column) is None else str(row[column]) for column in columns)
        yield "| " + " | ".join(cells) + " |"
    yield ""
    yield from (f"- {note}" for note in notes)
    yield from (f"- {key}: {value}" for key, value in parameters.items())
    yield from (f"- {key}: {value}" for key, value in machine().items() if value)
    yield "- versions: " + ", ".join(f"{key} {value}" for key, value in versions().items())
    yield from (
        "",
        f"Made by `python benchmarks/{script}.py`; raw numbers in [{name}.json]({name}.json).",
    )


def _status(field: str) -> int:
    """Read a field of /proc/self/status, in KiB."""
    for line in Path("/proc/self/status").read_text().splitlines():
        if line.startswith(f"{field}:"):
            return int(line.split()[1])
    raise OSError(f"/proc/self/status has no {field}")


def process_peak() -> float | None:
    try:
        return round(_status("VmHWM") / 1024, 1)
    except OSError:
        return None


def _cpu_model() -> str:
    try:
        for line in Path("/proc/cpuinfo").read_text().splitlines():
            if line.startswith("model name"):
                return line.partition(":")[2].strip()
    except OSError:
        pass
    return platform.processor()
