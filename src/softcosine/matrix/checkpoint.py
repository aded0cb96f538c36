"""Checkpoint of a search for neighbours: results on disk, to resume after an interruption."""

from __future__ import annotations

import contextlib
import hashlib
import json
import zipfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Self

import numpy as np

from softcosine.errors import AlreadyExistsError
from softcosine.matrix.neighbor_chunks import CHUNK_TERMS
from softcosine.similarity.source import Neighbors, SourceState, TermSimilaritySource, state_of
from softcosine.storage import checked_path, naming_a_full_disk
from softcosine.version import __version__

__all__ = ["NeighborCheckpoint"]

_PLAN = "plan.json"
_SHARED = "search.pickle"
_FORMAT = "softcosine-answers"


class NeighborCheckpoint:
    """A folder with the results of one search; each file is written atomically.

    Open it with `opened`.
    """

    __slots__ = ("_folder", "_n_found")

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._n_found = 0

    @classmethod
    def opened(
        cls,
        folder: str | Path,
        source: TermSimilaritySource,
        words: Sequence[str],
        *,
        max_neighbors: int,
    ) -> Self:
        """Open the checkpoint of an equal search; the results of another search are removed.

        Two searches are equal if their sources have equal contents and their words are the same.

        Raises
        ------
        InvalidInputError
            If the source has no ``state()``, so that it cannot be compared.
        AlreadyExistsError
            If the path is not a folder, or contains anything else.
        """
        plan = {
            "format": _FORMAT,
            "version": __version__,
            "search": _fingerprint(source, words, max_neighbors),
            "chunk": CHUNK_TERMS,
        }
        path = checked_path(folder)
        kept = cls(path)
        if path.exists() and _read_plan(path) != plan:
            kept.remove()
        path.mkdir(exist_ok=True)
        _replace(path / _PLAN, json.dumps(plan).encode())
        return kept

    @property
    def n_found(self) -> int:
        """Number of results read so far."""
        return self._n_found

    def get(self, number: int) -> Neighbors | None:
        """Return the result of a chunk, or None if it is absent or damaged."""
        try:
            # NumPy does not close a file that is not an archive.
            with (
                self._file(number).open("rb") as file,
                np.load(file, allow_pickle=False) as arrays,
            ):
                answer = Neighbors(arrays["indptr"], arrays["indices"], arrays["similarities"])
        except (OSError, ValueError, KeyError, EOFError, zipfile.BadZipFile):
            return None
        self._n_found += 1
        return answer

    def put(self, number: int, answer: Neighbors) -> None:
        """Write the result of a chunk."""
        file = self._file(number)
        part = file.with_suffix(".part")
        with naming_a_full_disk(self._folder), part.open("wb") as stream:
            np.savez(
                stream,
                indptr=answer.indptr,
                indices=answer.indices,
                similarities=answer.similarities,
            )
        part.replace(file)

    def missing(self, n_chunks: int) -> list[int]:
        """Return the numbers of chunks without a result."""
        return [number for number in range(n_chunks) if not self._file(number).exists()]

    def share(self, content: bytes) -> Path:
        """Write what tasks in other processes need; return the file."""
        file = self._folder / _SHARED
        _replace(file, content)
        return file

    def remove(self) -> None:
        """Remove the folder.

        Raises
        ------
        AlreadyExistsError
            If the path is not a folder, or contains anything but results.
        """
        if self._folder.exists() and not self._folder.is_dir():
            raise AlreadyExistsError(f"{self._folder} is a file; name a new folder.")
        # A search interrupted at its start leaves an incomplete plan.
        if (
            self._folder.is_dir()
            and _read_plan(self._folder) is None
            and any(file.name != f"{_PLAN}.part" for file in self._folder.iterdir())
        ):
            raise AlreadyExistsError(
                f"{self._folder} holds no answers of an earlier search; name a new folder."
            )
        for pattern in ("answer-*.npz", "answer-*.part", f"{_SHARED}*", f"{_PLAN}*"):
            for file in self._folder.glob(pattern):
                file.unlink(missing_ok=True)
        with contextlib.suppress(FileNotFoundError):
            self._folder.rmdir()

    def _file(self, number: int) -> Path:
        return self._folder / f"answer-{number:06d}.npz"


def _read_plan(folder: Path) -> dict[str, Any] | None:
    try:
        plan = json.loads((folder / _PLAN).read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return None
    return plan if isinstance(plan, dict) and plan.get("format") == _FORMAT else None


def _replace(file: Path, content: bytes) -> None:
    part = file.with_name(f"{file.name}.part")
    with naming_a_full_disk(file.parent):
        part.write_bytes(content)
    part.replace(file)


def _fingerprint(source: TermSimilaritySource, words: Sequence[str], max_neighbors: int) -> str:
    digest = hashlib.blake2b(digest_size=20)
    _add_state(digest, state_of(source))
    digest.update(json.dumps([max_neighbors, list(words)]).encode())
    return digest.hexdigest()


def _add_state(digest: Any, state: SourceState) -> None:
    digest.update(json.dumps([state.kind, dict(state.settings)], sort_keys=True).encode())
    for name in sorted(state.arrays):
        array = np.ascontiguousarray(state.arrays[name])
        digest.update(json.dumps([name, array.dtype.str, array.shape]).encode())
        digest.update(array.reshape(-1).view(np.uint8).data)
    digest.update(json.dumps(len(state.parts)).encode())
    for part in state.parts:
        _add_state(digest, part)
