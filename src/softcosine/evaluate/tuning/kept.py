"""Figures of settings kept in a file, so that a search goes on where it was stopped."""

from __future__ import annotations

import contextlib
import hashlib
import json
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from softcosine.errors import AlreadyExistsError
from softcosine.evaluate.datasets.ranking import RankingSet
from softcosine.evaluate.tuning.settings import Settings
from softcosine.storage import write_text
from softcosine.version import __version__

__all__ = ["KeptFigures", "fingerprint"]

_FORMAT = "softcosine-tuning"


class KeptFigures:
    """The figures that were measured, by settings; a line of JSON each, behind a first one.

    Every line says what it is about, so that two runs which write to one file at once take nothing
    from each other that is not theirs.

    Parameters
    ----------
    path : Path or None
        None keeps them in memory alone. A file about other data is begun anew.
    data : str
        What the figures are about; see `fingerprint`.

    Raises
    ------
    AlreadyExistsError
        If there is a file that is something else.
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
        """Return the figures of all queries by some settings, or None."""
        return self._figures.get(settings.key())

    def put(self, settings: Settings, figures: NDArray[np.float64]) -> None:
        """Keep the figures of some settings; the line is whole before the next is measured."""
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
        """Take what an earlier run left, and leave the file so that lines may follow."""
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
                    settings = Settings.from_dict(found["settings"])
                    self._figures[settings.key()] = np.array(found["figures"], np.float64)
                    whole.append(line)
        if len(whole) + 1 < len(lines):  # the last was cut off, or another run was here
            self._begin(path, whole)

    def _begin(self, path: Path, lines: Iterable[str]) -> None:
        write_text(path, json.dumps(self._head) + "\n" + "".join(lines))


def fingerprint(dataset: RankingSet, *others: Any) -> str:
    """Return a checksum of all that figures of a data set depend on, in hexadecimal.

    Parameters
    ----------
    dataset : RankingSet
        The part that is tuned on.
    *others
        Whatever else counts, with a representation that says all of it.
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
