"""Complete check of a sharded index: of each of its folders, and that they belong together."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from softcosine._progress import Report, silent
from softcosine.cluster.manifest import ShardsManifest
from softcosine.cluster.ownership import owners_of
from softcosine.cluster.shard import NOT_FITTING
from softcosine.errors import CorruptIndexError
from softcosine.index.directory.check import check_index
from softcosine.index.directory.commit import Commit
from softcosine.index.directory.remote_store import open_store
from softcosine.index.directory.stored import read_snapshot


@dataclass(frozen=True, slots=True)
class ShardsCheck:
    """The result of `check_shards`.

    Attributes
    ----------
    manifest : ShardsManifest
        Of the checked commit.
    commits : dict of folder names to Commit
        Of the intact folders.
    damage : dict of folder names to str
        What is wrong with each of the others, at its first error.
    """

    manifest: ShardsManifest
    commits: dict[str, Commit]
    damage: dict[str, str]


def check_shards(folder: str | Path, progress: Report | None = None) -> ShardsCheck:
    """Check the last commit of a sharded index: its epoch and every shard, as `check_index` does.

    Shards have the epoch, commit and number of documents that the manifest states, the documents
    whose ids they own, and insertion numbers that no other document has. If a commit deletes files
    meanwhile, the newer one is checked.

    Raises
    ------
    FileNotFoundError, IndexFormatError, CorruptIndexError
        If the manifest cannot be read. All other damage is in the result.
    """
    while True:
        manifest = ShardsManifest.read(folder)
        found = _checked(folder, manifest, progress or silent)
        if not found.damage or ShardsManifest.read(folder).checksum == manifest.checksum:
            return found


def _checked(folder: str | Path, manifest: ShardsManifest, progress: Report) -> ShardsCheck:
    found = ShardsCheck(manifest, {}, {})
    seen = np.empty(0, np.int64)  # insertion numbers
    for shard in (None, *range(manifest.n_shards)):
        facts = None if shard is None else manifest.shards[shard]
        name = manifest.epoch_folder if facts is None else facts.folder
        try:
            store, checksum = open_store(f"{folder}/{name}"), facts and facts.checksum
            commit = check_index(store, _naming(name, progress), checksum)
            _require(commit.epoch == manifest.epoch, f"its epoch is {commit.epoch}")
            if shard is not None:
                seen = np.union1d(seen, _checked_numbers(commit, manifest, shard, seen))
            found.commits[name] = commit
        except OSError as error:
            found.damage[name] = str(error)
    return found


def _checked_numbers(
    commit: Commit, manifest: ShardsManifest, shard: int, seen: NDArray[np.int64]
) -> NDArray[np.int64]:
    """Return the insertion numbers of a shard, after comparing its documents with the manifest."""
    documents, n_docs = read_snapshot(commit).documents, manifest.shards[shard].n_docs
    _require(len(documents) == n_docs, f"it has {len(documents)} documents, not {n_docs}")
    owners = owners_of(documents.all_ids(), manifest.n_shards)
    _require(bool((owners == shard).all()), "it has documents whose ids another shard owns")
    numbers = documents.insertion_numbers(documents.numbers)
    ascending = bool((np.diff(numbers) > 0).all() and (numbers < manifest.next_number).all())
    _require(ascending, "insertion numbers do not ascend up to that of the manifest")
    _require(not np.isin(numbers, seen).any(), "insertion numbers are those of another shard")
    return numbers


def _naming(folder: str, progress: Report) -> Report:
    return lambda task, done, total: progress(f"{folder}: {task}", done, total)


def _require(holds: bool, otherwise: str) -> None:
    if not holds:
        raise CorruptIndexError(f"{otherwise}. {NOT_FITTING}")
