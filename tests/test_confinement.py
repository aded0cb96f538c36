"""A folder that somebody else made reads, changes and deletes nothing outside itself."""

from __future__ import annotations

import os
import shutil

import numpy as np
import pytest

from crafted import part_folder, rewrite_manifest
from killing import within
from softcosine import SoftIndex
from softcosine.errors import CorruptIndexError, IndexFormatError, InvalidInputError
from softcosine.index.directory.lock import WriteLock
from softcosine.similarity.pairs import PairSimilarity
from softcosine.storage import open_folder, write_folder
from written import tree

POSIX = pytest.mark.skipif(os.name == "nt", reason="links need a privilege on Windows")
pytestmark = POSIX

TEXTS = ["a flat tyre on my bike", "tea and coffee", "the tire of a bike"]


@pytest.fixture
def index(tmp_path):
    """An index of one segment, with deletions."""
    path = tmp_path / "a.index"
    source = PairSimilarity([("tyre", "tire", 0.8)])
    made = SoftIndex.create(path, source=source, ranking="soft_cosine")
    with made.writer() as writer:
        writer.add_many(["0", "1", "2"], TEXTS)
    with made.writer(merge=None) as writer:
        writer.delete("1")
    return path


@pytest.fixture
def outside(tmp_path):
    """A file that is none of the index's business."""
    file = tmp_path / "outside.txt"
    file.write_text("precious")
    return file


def linked(path):
    """Move what is at a path elsewhere, and let a link lead there."""
    elsewhere = path.with_name(f"moved-{path.name}")
    path.rename(elsewhere)
    path.symlink_to(elsewhere)


def add(path, id="new"):
    with SoftIndex.open(path).writer() as writer:
        writer.add(id, "a new bike")


@pytest.mark.parametrize("content", ["precious", None])
def test_a_linked_lock_leaves_the_file_outside_alone(index, tmp_path, content):
    outside = tmp_path / "outside.txt"
    if content is not None:
        outside.write_text(content)
    (index / "write.lock").unlink()
    (index / "write.lock").symlink_to(outside)
    before = tree(index)
    with pytest.raises(CorruptIndexError, match=r"write\.lock is a link; .* or remove it"):
        add(index)
    with pytest.raises(CorruptIndexError, match=r"write\.lock is a link"):
        SoftIndex.from_texts(TEXTS, plain=True).save(index, overwrite=True)
    assert (outside.read_text() if outside.exists() else None) == content
    outside.unlink(missing_ok=True)
    assert tree(index) == before
    (index / "write.lock").unlink()
    add(index)


def test_a_lock_with_a_second_name_outside_is_not_written_to(index, outside):
    (index / "write.lock").unlink()
    os.link(outside, index / "write.lock")
    add(index)
    assert outside.read_text() == "precious"
    assert len(SoftIndex.open(index)) == 3


def test_a_pipe_in_place_of_the_lock_is_refused_at_once(tmp_path):
    os.mkfifo(tmp_path / "write.lock")
    with within(5), pytest.raises(CorruptIndexError, match="is no regular file"):
        WriteLock(tmp_path, timeout=None)


@pytest.mark.parametrize("with_documents", [True, False])
def test_linked_parts_never_lead_a_writer_into_another_index(tmp_path, index, with_documents):
    before = tree(index)
    path = tmp_path / "b.index"
    made = SoftIndex.create(path, plain=True)
    if with_documents:
        add(path)
    shutil.rmtree(path / "parts")
    (path / "parts").symlink_to(index / "parts")
    with pytest.raises(CorruptIndexError, match=r"b\.index/parts is a link"):
        add(path)
    with pytest.raises(CorruptIndexError, match=r"b\.index/parts is a link"), made.writer() as one:
        one.add("x", "text")
    assert tree(index) == before
    SoftIndex.open(index, verify=True)


@pytest.mark.parametrize(
    "name",
    [
        "manifest.json",
        "parts",
        "parts/segment-*",
        "parts/segment-*/manifest.json",
        "parts/segment-*/0.npys",
        "parts/segment-*/documents.sqlite",
        "parts/space-*/source.npys",
        "parts/deleted-*",
        "parts/norms-*/arrays.npys",
    ],
)
def test_links_inside_an_index_are_refused(index, name):
    (path,) = index.glob(name)
    linked(path)
    for action in (
        lambda: SoftIndex.open(index),
        lambda: SoftIndex.open(index, verify=True),
        lambda: add(index),
    ):
        with pytest.raises(CorruptIndexError, match=f"{path} is a link; .* Replace the link"):
            action()


def test_an_index_is_reached_through_a_link(index, tmp_path):
    (tmp_path / "link.index").symlink_to(index)
    add(tmp_path / "link.index")
    assert len(SoftIndex.open(tmp_path / "link.index", verify=True)) == 3
    assert len(SoftIndex.open(index)) == 3


def test_a_link_in_place_of_the_next_manifest_is_not_written_through(index, outside):
    with SoftIndex.open(index).writer() as writer:
        writer.add("new", "a new bike")
        (index / "manifest.json.new").symlink_to(outside)
    assert outside.read_text() == "precious"
    assert not (index / "manifest.json").is_symlink()
    assert len(SoftIndex.open(index)) == 3


def test_a_pipe_in_place_of_arrays_is_refused_at_once(index):
    (file,) = index.glob("parts/segment-*/0.npys")
    file.unlink()
    os.mkfifo(file)
    with within(5), pytest.raises(CorruptIndexError, match=f"{file} is no regular file"):
        SoftIndex.open(index)


def test_a_pipe_in_place_of_a_manifest_is_refused_at_once(index):
    (index / "manifest.json").unlink()
    os.mkfifo(index / "manifest.json")
    with within(5), pytest.raises(IndexFormatError, match=r"manifest\.json is no regular file"):
        SoftIndex.open(index)
    with within(5), pytest.raises(FileExistsError, match="is no softcosine index"):
        SoftIndex.from_texts(TEXTS, plain=True).save(index, overwrite=True)


ESCAPES = [
    "0/../../x",
    "../x",
    "..",
    ".",
    "/etc/hostname",
    "0//x",
    "0/./x",
    "0/",
    "/",
    "",
    ".x",
    "0/.x",
    "0\\..\\x",
    "C:x",
    "c:/x",
    "//server/x",
    "x\0y",
    "x\n",
    "x" * 300,
    "ü",
    "x y",
]


@pytest.mark.parametrize("name", ESCAPES)
def test_names_of_files_stay_inside_their_folder(index, outside, name):
    facts = {"bytes": 8, "sha256": "0" * 64}
    shutil.copyfile(outside, part_folder(index, "segment").parent / "x")
    rewrite_manifest(index, "segment", lambda manifest: manifest["files"].update({name: facts}))
    for verify in (False, True):
        with pytest.raises(CorruptIndexError, match="which is no name of a file inside"):
            SoftIndex.open(index, verify=verify)


@pytest.mark.parametrize("name", ESCAPES)
def test_no_file_is_written_under_a_name_that_would_be_refused(tmp_path, name):
    with pytest.raises(InvalidInputError, match="cannot be the name of a file of this thing"):
        write_folder(tmp_path / "a", "thing", {}, {name: np.arange(3)})
    with pytest.raises(InvalidInputError, match="cannot be the name of a file of this thing"):
        write_folder(tmp_path / "a", "thing", {}, {}, files={name: lambda path: path.touch()})
    assert list(tmp_path.iterdir()) == []


def test_matrices_and_other_stored_folders_are_confined_too(tmp_path):
    path = tmp_path / "a"
    write_folder(path, "thing", {}, {"deep/a": np.arange(3)})
    linked(path / "deep.npys")
    with pytest.raises(CorruptIndexError, match="is a link"):
        open_folder(path, "thing")
    shutil.rmtree(path)
    write_folder(path, "thing", {}, {"deep/a": np.arange(3)})
    rewrite_manifest(path, "", lambda m: m["files"].update({"../a": m["files"]["deep.npys"]}))
    with pytest.raises(CorruptIndexError, match="no name of a file inside the folder"):
        open_folder(path, "thing")


def test_what_only_looks_like_a_leftover_does_not_stop_a_writer(tmp_path):
    os.mkfifo(tmp_path / ".x.0123456789ab.tmp")
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "file").touch()
    (tmp_path / ".x.0123456789ac.tmp").symlink_to(tmp_path / "mine")
    with within(5):
        write_folder(tmp_path / "x", "thing", {}, {})
    assert (tmp_path / "mine" / "file").exists()
