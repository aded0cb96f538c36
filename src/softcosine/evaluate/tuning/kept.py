"""Checkpoint file of figures, so that a search can resume."""

from __future__ import annotations

import contextlib
import hashlib
import json
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from softcosine import __version__
from softcosine.errors import AlreadyExistsError
from softcosine.evaluate.datasets.ranking import RankingSet
from softcosine.evaluate.tuning.settings import Settings
from softcosine.storage import write_text

_FORMAT = "softcosine-tuning"


class KeptFigures:
    """Figures by settings, in memory and in a file with a header and one line of JSON each.

    Every line has the fingerprint of its data, so two runs can write to one file at the same time.

    Parameters
    ----------
    path : Path or None
        None for memory only. A file for other data is overwritten.
    data : str
        Fingerprint of the data; see `fingerprint`.

    Raises
    ------
    AlreadyExistsError
        If the file exists and is not a checkpoint.
    """

    def __init__(self, path: Path | None, data: str) -> None:
        self._path = path
        self._head = {"format": _FORMAT, "version": __version__, "data": data}
        self._figures: dict[str, NDArray[np.float64]] = {}
        if path is not None:
            self._read(path)

    def __len__(self) -> int:
        return len(self._figures)

    def get(self, settings: Settings) -> NDArray[np.float64] | None:
        """Return the figures of all queries for settings, or None."""
        return self._figures.get(settings.key())

    def put(self, settings: Settings, figures: NDArray[np.float64]) -> None:
        """Store the figures of settings; the line is written completely before returning."""
        self._figures[settings.key()] = figures
        if self._path is not None:
            line = {
                "data": self._head["data"],
                "settings": settings.to_dict(),
                "figures": figures.tolist(),
            }
            with self._path.open("a", encoding="utf-8") as file:
                file.write(json.dumps(line) + "\n")

    def _read(self, path: Path) -> None:
        """Read the lines of an earlier run, and prepare the file for more lines."""
        lines: list[str] = []
        if path.exists():
            if not path.is_file():
                raise AlreadyExistsError(f"{path} is no file; choose another place for figures.")
            lines = path.read_text(encoding="utf-8", errors="replace").splitlines(keepends=True)
        head = _parsed(lines[0]) if lines else None
        if lines and (head is None or head.get("format") != _FORMAT):
            raise AlreadyExistsError(
                f"{path} holds something other than figures of an earlier run; choose another "
                "place, or remove it."
            )
        if head != self._head:
            self._begin(path, [])
            return
        whole = []
        for line in lines[1:]:
            found = _parsed(line)
            with contextlib.suppress(KeyError, TypeError, ValueError):
                about = found is not None and found.get("data") == self._head["data"]
                if found is not None and about and line.endswith("\n"):
                    key = json.dumps(found["settings"], sort_keys=True)
                    self._figures[key] = np.array(found["figures"], np.float64)
                    whole.append(line)
        if len(whole) + 1 < len(lines):  # an incomplete last line, or lines of another run
            self._begin(path, whole)

    def _begin(self, path: Path, lines: Iterable[str]) -> None:
        write_text(path, json.dumps(self._head) + "\n" + "".join(lines))


def fingerprint(dataset: RankingSet, *others: Any) -> str:
    """Return a hexadecimal checksum of everything that the figures of a data set depend on.

    Parameters
    ----------
    dataset : RankingSet
        The data set with the training queries.
    *others
        Other values with a complete ``repr``.
    """
    digest = hashlib.blake2b(digest_size=16)

    def add(value: Any) -> None:
        if isinstance(value, Mapping):
            value = [[key, own] for key, own in value.items()]
        if isinstance(value, list | tuple):
            digest.update(b"[")
            for own in value:
                add(own)
            digest.update(b"]")
        else:
            digest.update(f"{value!r};".encode(errors="surrogatepass"))

    for texts in (dataset.documents, dataset.queries):
        add([list(texts.ids), {name: list(own) for name, own in texts.fields.items()}])
    add([dataset.qrels, dataset.candidates or {}, dataset.background, *others])
    return digest.hexdigest()


def _parsed(line: str) -> dict[str, Any] | None:
    try:
        found = json.loads(line)
    except ValueError:
        return None
    return found if isinstance(found, dict) else None
