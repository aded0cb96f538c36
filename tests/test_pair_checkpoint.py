"""Comparisons that are stopped and go on."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from conftest import JIT
from softcosine.errors import (
    CorruptIndexError,
    IndexFormatError,
    IndexLockedError,
    InvalidInputError,
)
from softcosine.index.near_duplicates import checkpoint as pair_checkpoint
from softcosine.index.near_duplicates.all_pairs import (
    nearest_neighbors,
    pair_documents,
    similar_pairs,
)
from test_all_pairs import many, matrix, neighbors_of, pairs_of, parts_of

N = 300 if JIT else 140


@pytest.fixture(scope="module")
def compared():
    """Parts and S of several panels."""
    X, S = many(N, 16)
    return parts_of(X, S, cuts=(N // 3,), gap=2), S


@pytest.fixture(params=[0.0, 1e9], ids=["always", "at the end"])
def pause(request, monkeypatch):
    """How long nothing is kept."""
    monkeypatch.setattr(pair_checkpoint, "_PAIRS_PAUSE", request.param)
    monkeypatch.setattr(pair_checkpoint, "_NEIGHBORS_PAUSE", request.param)


class StoppedError(Exception):
    """What a user's progress callback raises."""


def stopping(n_calls):
    """A progress callback that fails at some call."""
    calls = []

    def progress(done, total):
        calls.append(done)
        if len(calls) == n_calls:
            raise StoppedError

    return progress


@pytest.mark.parametrize("threads", [1, 3])
def test_pairs_go_on_where_they_were_stopped(tmp_path, compared, pause, threads):
    parts, S = compared
    options = {"min_similarity": 0.6, "threads": threads, "checkpoint": tmp_path / "kept"}
    stream = similar_pairs(pair_documents(parts, S), **options)
    first = next(stream)
    stream.close()
    seen = []
    again = pairs_of(parts, S, progress=lambda *at: seen.append(at[0]), **options)
    assert again == pairs_of(parts, S, min_similarity=0.6)
    assert len(first) <= len(again)
    assert seen[0] > 0
    # All is done now, and nothing is compared any more.
    seen.clear()
    assert pairs_of(parts, S, progress=lambda *at: seen.append(at[0]), **options) == again
    assert len(seen) == 1


@pytest.mark.parametrize("threads", [1, 3])
@pytest.mark.parametrize("n_calls", [1, 2, 3])
def test_neighbors_go_on_where_they_were_stopped(tmp_path, compared, pause, threads, n_calls):
    parts, S = compared
    options = {"k": 3, "threads": threads, "checkpoint": tmp_path / "kept"}
    with pytest.raises(StoppedError):
        nearest_neighbors(pair_documents(parts, S), progress=stopping(n_calls), **options)
    with pytest.raises(StoppedError):
        nearest_neighbors(pair_documents(parts, S), progress=stopping(2), **options)
    assert neighbors_of(parts, S, **options) == neighbors_of(parts, S, k=3)
    assert neighbors_of(parts, S, **options) == neighbors_of(parts, S, k=3)
    assert len(list((tmp_path / "kept").glob("*.npz"))) == 1


_KILLED = """
import os, sys
sys.path.insert(0, sys.argv[3])
from softcosine.index.near_duplicates import checkpoint as pair_checkpoint
from softcosine.index.near_duplicates.all_pairs import pair_documents, similar_pairs
from test_all_pairs import many, parts_of
pair_checkpoint._PAIRS_PAUSE = 0.0
X, S = many(int(sys.argv[2]), 16)
parts = parts_of(X, S, cuts=(int(sys.argv[2]) // 3,), gap=2)
documents = pair_documents(parts, S)
for n, block in enumerate(similar_pairs(documents, min_similarity=0.6, checkpoint=sys.argv[1])):
    if n == 1:
        os._exit(9)
"""


def test_pairs_go_on_after_their_process_died(tmp_path, compared):
    parts, S = compared
    kept = tmp_path / "kept"
    here = Path(__file__).parent
    died = subprocess.run([sys.executable, "-c", _KILLED, kept, str(N), here], check=False)
    assert died.returncode == 9
    with (kept / "pairs.bin").open("ab") as stream:  # written, and not kept any more
        stream.write(b"half a pair")
    seen = []
    found = pairs_of(
        parts, S, min_similarity=0.6, checkpoint=kept, progress=lambda *at: seen.append(at[0])
    )
    assert found == pairs_of(parts, S, min_similarity=0.6)
    assert seen[0] > 0


@pytest.mark.parametrize("left", [[], ["manifest.new"], ["manifest.new", "write.lock"]])
def test_a_folder_of_a_run_that_died_at_once_begins_anew(tmp_path, compared, left):
    parts, S = compared
    for name in left:
        (tmp_path / name).write_text("{")
    found = pairs_of(parts, S, min_similarity=0.6, checkpoint=tmp_path)
    assert found == pairs_of(parts, S, min_similarity=0.6)


def test_progress_of_other_documents_or_of_another_question_is_refused(tmp_path, compared):
    parts, S = compared
    X, _ = many(N, 16)
    pairs_of(parts, S, min_similarity=0.9, checkpoint=tmp_path / "pairs")
    nearest_neighbors(pair_documents(parts, S), k=2, checkpoint=tmp_path / "best")
    X[7, 3] += 1
    deleted = np.arange(N) != 11
    T = matrix(np.eye(16))
    for others, R in (
        (parts_of(X, S, cuts=(N // 3,), gap=2), S),
        (parts_of(many(N, 16)[0], S, cuts=(N // 3,), gap=2, live=deleted), S),
        (parts, T),
    ):
        with pytest.raises(InvalidInputError, match="comparing other documents, or of another S"):
            similar_pairs(
                pair_documents(others, R), min_similarity=0.9, checkpoint=tmp_path / "pairs"
            )
        with pytest.raises(InvalidInputError, match="comparing other documents, or of another S"):
            nearest_neighbors(pair_documents(others, R), k=2, checkpoint=tmp_path / "best")
    with pytest.raises(InvalidInputError, match=r"another question, .*0\.9.*, and .*0\.8"):
        similar_pairs(pair_documents(parts, S), min_similarity=0.8, checkpoint=tmp_path / "pairs")
    with pytest.raises(InvalidInputError, match="another question"):
        nearest_neighbors(pair_documents(parts, S), k=3, checkpoint=tmp_path / "best")
    with pytest.raises(InvalidInputError, match="another question"):
        nearest_neighbors(pair_documents(parts, S), k=2, checkpoint=tmp_path / "pairs")


def test_progress_of_another_version_is_refused(tmp_path, compared, monkeypatch):
    parts, S = compared
    pairs_of(parts, S, min_similarity=0.9, checkpoint=tmp_path / "pairs")
    monkeypatch.setattr(pair_checkpoint, "__version__", "9.0")
    with pytest.raises(InvalidInputError, match="the progress of another version of softcosine"):
        similar_pairs(pair_documents(parts, S), min_similarity=0.9, checkpoint=tmp_path / "pairs")


def test_what_is_no_checkpoint_is_refused_and_left_alone(tmp_path, compared):
    parts, S = compared
    (tmp_path / "mine.txt").write_text("mine")
    with pytest.raises(IndexFormatError, match="is no softcosine comparison"):
        similar_pairs(pair_documents(parts, S), min_similarity=0.9, checkpoint=tmp_path)
    assert [file.name for file in tmp_path.iterdir()] == ["mine.txt"]
    with pytest.raises(IndexFormatError, match="is no softcosine comparison"):
        nearest_neighbors(pair_documents(parts, S), k=1, checkpoint=tmp_path / "mine.txt")
    with pytest.raises(FileNotFoundError):
        nearest_neighbors(pair_documents(parts, S), k=1, checkpoint=tmp_path / "none" / "such")


def test_altered_files_are_found(tmp_path, compared):
    parts, S = compared
    pairs, best = tmp_path / "pairs", tmp_path / "best"
    pairs_of(parts, S, min_similarity=0.6, checkpoint=pairs)
    nearest_neighbors(pair_documents(parts, S), k=2, checkpoint=best)
    (file,) = best.glob("*.npz")
    for data in (pairs / "pairs.bin", file):
        content = bytearray(data.read_bytes())
        content[len(content) // 2] ^= 1
        data.write_bytes(content)
    with pytest.raises(CorruptIndexError, match=r"pairs\.bin has changed .* delete the folder"):
        list(similar_pairs(pair_documents(parts, S), min_similarity=0.6, checkpoint=pairs))
    with pytest.raises(CorruptIndexError, match=r"neighbors-.*npz has changed"):
        nearest_neighbors(pair_documents(parts, S), k=2, checkpoint=best)
    (pairs / "pairs.bin").write_bytes(b"")
    with pytest.raises(CorruptIndexError, match=r"pairs\.bin has changed"):
        list(similar_pairs(pair_documents(parts, S), min_similarity=0.6, checkpoint=pairs))
    file.unlink()
    with pytest.raises(CorruptIndexError, match="has changed"):
        nearest_neighbors(pair_documents(parts, S), k=2, checkpoint=best)
    manifest = json.loads((best / "manifest.json").read_text())
    manifest["state"]["panels"] += 1
    (best / "manifest.json").write_text(json.dumps(manifest))
    with pytest.raises(CorruptIndexError, match="has changed since it was written"):
        nearest_neighbors(pair_documents(parts, S), k=2, checkpoint=best)


def test_a_folder_in_use_is_refused(tmp_path, compared):
    parts, S = compared
    stream = similar_pairs(pair_documents(parts, S), min_similarity=0.6, checkpoint=tmp_path)
    next(stream)
    with pytest.raises(IndexLockedError, match="another comparison keeps its progress"):
        similar_pairs(pair_documents(parts, S), min_similarity=0.6, checkpoint=tmp_path)
    stream.close()
    list(similar_pairs(pair_documents(parts, S), min_similarity=0.6, checkpoint=tmp_path))
