"""Checkpoints: folders with the intermediate results of a comparison of all pairs.

A manifest names the documents, S, the ranking, the parameters and the progress; data files are
beside it. Data are written and synced before the manifest, and renaming the manifest makes them
valid. So a crash loses only the data since the last manifest. After the comparison the folder
stays, and the same call returns the same result at once; delete it when you no longer need it.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import re
import time
import zlib
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from softcosine.errors import CorruptIndexError, IndexLockedError, InvalidInputError
from softcosine.index.search.parts import Part
from softcosine.index.writer.lock import WriteLock
from softcosine.matrix.term_similarity_matrix import TermSimilarityMatrix
from softcosine.storage import (
    MANIFEST,
    checked_path,
    file_size,
    naming_a_full_disk,
    read_manifest,
    signed_manifest,
    sync,
    write_manifest,
)
from softcosine.version import __version__

__all__ = ["NeighborGraphCheckpoint", "PairCheckpoint", "checksum", "fingerprint"]

_KIND = "comparison"
_VERSION = 1
_NEW = "manifest.new"
_PAIRS = "pairs.bin"
_NEIGHBORS = re.compile(r"neighbors-[0-9]+\.npz")
_BEFORE = {_NEW, "write.lock"}  # files that may exist before the first manifest
_PAIR = np.dtype([("first", "<i8"), ("second", "<i8"), ("similarity", "<f8")])
_PAIRS_AT_A_TIME = 2**16
# Seconds between two saves: the work that a crash can lose.
_PAIRS_PAUSE, _NEIGHBORS_PAUSE = 1.0, 30.0


def fingerprint(parts: Sequence[Part], S: TermSimilarityMatrix) -> str:
    """Return a hexadecimal checksum of everything that similarities of words depend on."""
    values: list[object] = [*S.arrays]
    for part in parts:
        segment, ranking = part.segment, part.ranking
        values += [part.first, part.live, ranking.name, ranking.kind, ranking.k1, ranking.table]
        values += [ranking.saturation, ranking.factors, ranking.term_weights, segment.scales]
        values += [*segment.forward, segment.reals]
    return checksum(values)


def checksum(values: Iterable[object]) -> str:
    """Return a hexadecimal checksum of arrays and other values."""
    digest = hashlib.blake2b(digest_size=16)
    for value in values:
        if isinstance(value, np.ndarray):
            digest.update(f"{value.dtype.str}{value.shape}".encode())
            digest.update(np.ascontiguousarray(value).view(np.uint8).data)
        else:
            digest.update(f"{value!r};".encode())
    return digest.hexdigest()


class _Checkpoint:
    """The folder of a checkpoint: created or opened, checked, and locked until `close`.

    Parameters
    ----------
    path : path of a folder
        New, empty, or from an earlier run.
    question : mapping
        The parameters of the comparison, as JSON values; an earlier run must have the same.
    prints : callable
        Returns the `fingerprint`.

    Raises
    ------
    InvalidInputError
        If the folder belongs to other documents, other parameters or another version.
    IndexFormatError
        If it is not a checkpoint, or was altered.
    IndexLockedError
        If another comparison uses it.
    """

    def __init__(
        self, path: str | Path, question: Mapping[str, Any], prints: Callable[[], str]
    ) -> None:
        self.path = checked_path(path)
        if not self.path.exists():
            self.path.mkdir()
        if not self._fresh():
            read_manifest(self.path, _KIND, _VERSION)  # before anything is written to the folder
        try:
            self._lock = WriteLock(self.path)
        except IndexLockedError as error:
            raise IndexLockedError(
                f"another comparison keeps its progress in {self.path}; wait for it, or name "
                "another folder."
            ) from error
        self._content: dict[str, Any] = {
            "question": dict(question), "fingerprint": prints(), "softcosine": __version__,
        }  # fmt: skip
        self.state: dict[str, Any] = {"panels": 0}
        if self._fresh():
            self.keep(self.state)
        else:
            manifest = read_manifest(self.path, _KIND, _VERSION)
            self._check(manifest)
            self.state = dict(manifest["state"])
            self.kept_at = time.monotonic()

    def _fresh(self) -> bool:
        """Whether nothing has been saved, perhaps by a run that crashed early."""
        return self.path.is_dir() and {file.name for file in self.path.iterdir()} <= _BEFORE

    def _check(self, found: Mapping[str, Any]) -> None:
        if found.get("softcosine") != __version__:  # which may compute otherwise
            raise InvalidInputError(
                f"{self.path} holds the progress of another version of softcosine; name another "
                "folder, or delete this one to begin anew."
            )
        if found["question"] != self._content["question"]:
            asked, given = (
                json.dumps(content["question"], sort_keys=True)
                for content in (found, self._content)
            )
            raise InvalidInputError(
                f"{self.path} holds the progress of another question, {asked}, and {given} is "
                "asked now; name another folder, or delete this one to begin anew."
            )
        if found["fingerprint"] != self._content["fingerprint"]:
            raise InvalidInputError(
                f"{self.path} holds the progress of comparing other documents, or of another S, "
                "weighting or ranking; name another folder, or delete this one to begin anew."
            )

    def keep(self, state: Mapping[str, Any]) -> None:
        """Save a state whose data have been synced."""
        manifest = signed_manifest(_KIND, _VERSION, {**self._content, "state": dict(state)})
        with naming_a_full_disk(self.path):
            write_manifest(manifest, self.path / _NEW)
            sync(self.path / _NEW)
            (self.path / _NEW).replace(self.path / MANIFEST)
            sync(self.path)
        self.state = dict(state)
        self.kept_at = time.monotonic()

    def close(self) -> None:
        """Release the folder."""
        self._lock.release()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exception: object) -> None:
        self.close()

    def damaged(self, file: str) -> CorruptIndexError:
        """Return the error for a data file that was altered."""
        return CorruptIndexError(
            f"{self.path / file} has changed since it was written; delete the folder to begin anew."
        )


class PairCheckpoint(_Checkpoint):
    """The stored pairs, in order, and the number of their panels."""

    def __init__(
        self, path: str | Path, question: Mapping[str, Any], prints: Callable[[], str]
    ) -> None:
        super().__init__(path, question, prints)
        self._panels, self._n, self._sum = int(self.state["panels"]), 0, 0

    def stored(self) -> Iterator[NDArray[Any]]:
        """Yield the stored pairs: first, second, similarity; checked before the first."""
        file, n = self.path / _PAIRS, int(self.state.get("pairs", 0))
        if not file.is_symlink():
            file.touch()
        if file_size(file) < n * _PAIR.itemsize:
            raise self.damaged(_PAIRS)
        os.truncate(file, n * _PAIR.itemsize)  # drop data after the last save
        for pairs in _records(file):
            self._sum = zlib.crc32(pairs.view(np.uint8).data, self._sum)
        if self._sum != self.state.get("crc32", 0):
            raise self.damaged(_PAIRS)
        self._n = n
        yield from _records(file)

    def add(
        self,
        first: NDArray[np.int64],
        second: NDArray[np.int64],
        similarities: NDArray[np.float64],
        panels: int,
    ) -> None:
        """Add the pairs of the next panel; saved within a second or by `finish`."""
        pairs = np.empty(first.shape[0], _PAIR)
        pairs["first"], pairs["second"], pairs["similarity"] = first, second, similarities
        if pairs.shape[0]:
            with naming_a_full_disk(self.path), (self.path / _PAIRS).open("ab") as stream:
                stream.write(pairs.view(np.uint8).data)
            self._sum = zlib.crc32(pairs.view(np.uint8).data, self._sum)
            self._n += pairs.shape[0]
        self._panels = panels
        if time.monotonic() - self.kept_at > _PAIRS_PAUSE:
            self.finish()

    def finish(self) -> None:
        """Save all added pairs."""
        if self._panels > self.state["panels"]:
            sync(self.path / _PAIRS)
            self.keep({"panels": self._panels, "pairs": self._n, "crc32": self._sum})


class NeighborGraphCheckpoint(_Checkpoint):
    """The stored best neighbors of every document."""

    @property
    def due(self) -> bool:
        """Whether it is time for the next save."""
        return time.monotonic() - self.kept_at > _NEIGHBORS_PAUSE

    def stored(self) -> dict[str, NDArray[Any]]:
        """Return the saved arrays; empty before the first save."""
        name = self.state.get("file")
        if name is None:
            return {}
        if not (isinstance(name, str) and _NEIGHBORS.fullmatch(name)):
            raise self.damaged(MANIFEST)
        file = self.path / name
        try:
            file_size(file)
            content = file.read_bytes()
        except FileNotFoundError as error:
            raise self.damaged(name) from error
        if zlib.crc32(content) != self.state["crc32"]:
            raise self.damaged(name)
        with np.load(file, allow_pickle=False) as arrays:
            return dict(arrays)

    def save(self, panels: int, arrays: Mapping[str, NDArray[Any]]) -> None:
        """Save the arrays of completed panels."""
        old, name = self.state.get("file"), f"neighbors-{panels}.npz"
        if name == old:
            return
        file = self.path / name
        with naming_a_full_disk(self.path), file.open("wb") as stream:
            np.savez(stream, allow_pickle=False, **arrays)
        sync(file)
        self.keep({"panels": panels, "file": name, "crc32": zlib.crc32(file.read_bytes())})
        for other in self.path.glob("neighbors-*.npz"):
            if other.name != name:
                with contextlib.suppress(OSError):
                    other.unlink()


def _records(file: Path) -> Iterator[NDArray[Any]]:
    with file.open("rb") as stream:
        while content := stream.read(_PAIRS_AT_A_TIME * _PAIR.itemsize):
            yield np.frombuffer(content, _PAIR)
