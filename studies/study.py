"""What all studies share: what is asked of them, how far they are, the encoder, and reports."""

from __future__ import annotations

import argparse
import json
import os
import platform
import sys
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from importlib import metadata
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from softcosine.encoders.loading import MINILM, load_encoder
from softcosine.evaluate.systems.sentence_model import SentenceModel
from softcosine.storage import write_text
from softcosine.storage.home import kept_file

__all__ = [
    "Clock",
    "Encode",
    "Report",
    "argument_parser",
    "markdown",
    "minilm",
    "read_arguments",
    "versions",
    "write",
]

_REPOSITORY = Path(__file__).resolve().parent.parent
_PACKAGES = (
    "softcosine",
    "numpy",
    "scipy",
    "numba",
    "bm25s",
    "scikit-learn",
    "onnxruntime",
    "softcosine-minilm",
    "ir-measures",
)

Encode = Callable[[Sequence[str]], NDArray[np.float64]]
Report = Callable[[str], object]


def argument_parser(description: str | None) -> argparse.ArgumentParser:
    """Return what reads a study's arguments: where the data lies, and where the report goes."""
    made = argparse.ArgumentParser(
        description=description, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    usual = os.environ.get("SOFTCOSINE_DATA") or _REPOSITORY.parent / "shared" / "data"
    made.add_argument(
        "--data", type=Path, default=Path(usual),
        help="folder of the evaluation data; by default $SOFTCOSINE_DATA, or shared/data beside "
        "the clone",
    )  # fmt: skip
    made.add_argument(
        "--out", type=Path, default=_REPOSITORY / "docs" / "results",
        help="folder of the report, by default docs/results",
    )  # fmt: skip
    made.add_argument("--json", action="store_true", help="print the figures, not the page")
    return made


def read_arguments(
    parser: argparse.ArgumentParser, arguments: Sequence[str] | None
) -> argparse.Namespace:
    """Read the arguments; the program ends where the data is not there."""
    given = parser.parse_args(arguments)
    if not given.data.is_dir():
        parser.error(f"there is no evaluation data in {given.data}; give --data FOLDER.")
    return given


class Clock:
    """Says on standard error how far a study is, and for how long it has run."""

    def __init__(self) -> None:
        self._started = time.perf_counter()

    @property
    def seconds(self) -> float:
        """Since the study began."""
        return time.perf_counter() - self._started

    def __call__(self, what: str) -> None:
        """Say what is being done."""
        print(f"{self.seconds:6.0f} s  {what}", file=sys.stderr, flush=True)


def minilm(report: Report) -> Encode:
    """Return what encodes texts by all-MiniLM-L6-v2, each once: kept among the user's data."""

    def progress(done: int, total: int) -> None:
        if done % 1024 < 256 or done == total:
            report(f"encoded {done:,} of {total:,} texts")

    model = SentenceModel(
        MINILM,
        lambda: load_encoder(MINILM, download=False).encode,
        cache=kept_file("encoded.sqlite"),
        progress=progress,
    )
    return model.vectors


def markdown(columns: Sequence[str], rows: Iterable[Sequence[object]]) -> list[str]:
    """Return the lines of a table."""
    lines = ["| " + " | ".join(columns) + " |", "|" + "---|" * len(columns)]
    return [*lines, *("| " + " | ".join(map(str, row)) + " |" for row in rows)]


def versions() -> dict[str, str]:
    """Return the versions of Python and of what was used."""
    found = {"python": platform.python_version()}
    for package in _PACKAGES:
        try:
            found[package] = metadata.version(package)
        except metadata.PackageNotFoundError:
            continue
    return found


def write(
    name: str, given: argparse.Namespace, page: Iterable[str], told: Mapping[str, Any]
) -> None:
    """Write ``NAME.md`` and ``NAME.json``, each whole or not at all, and print one of them."""
    given.out.mkdir(parents=True, exist_ok=True)
    text = json.dumps({**told, "versions": versions()}, indent=1, ensure_ascii=False)
    lines = "\n".join(page)
    write_text(given.out / f"{name}.json", text + "\n")
    write_text(given.out / f"{name}.md", lines + "\n")
    print(text if given.json else lines)
