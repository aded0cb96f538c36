"""Metadata that change after their documents were written: nothing else of these does."""

from __future__ import annotations

import os
import pickle

import numpy as np
import pytest

from crafted import patch_array, rewrite_array
from softcosine.errors import CorruptIndexError, InvalidInputError, UnknownDocumentError
from softcosine.index.directory import snapshot as snapshots
from softcosine.index.directory.check import check_index
from softcosine.index.directory.folder import FolderWriter
from softcosine.index.directory.manifest import IndexSettings
from softcosine.index.directory.store import Store
from softcosine.index.segment.documents import Document
from softcosine.index.segment.metadata_updates import MetadataUpdates
from softcosine.index.soft_index import SoftIndex
from softcosine.index.writer import pending_commit as drafts
from softcosine.index.writer.merging import MergePolicy

TEXTS = ["a flat tyre", "tea and tea", "green tea", "a tyre of a bike", "coffee"]


@pytest.fixture
def index(tmp_path):
    """Three segments: 0 and 1, 2 and 3, 4."""
    index = SoftIndex.create(tmp_path / "x", plain=True, ranking="soft_cosine")
    for first in (0, 2, 4):
        with index.writer(merge=None) as writer:
            for number in range(first, min(first + 2, 5)):
                writer.add(str(number), TEXTS[number], {"n": number, "lang": "en"})
    return index


def settings_of(index):
    return IndexSettings.from_dict(Store.open(index.path).read().settings)


def answers(index):
    return [
        [(hit.id, hit.score, hit.number) for hit in index.search(query, ranking=ranking)]
        for query in ("tea", "tyre bike", "coffee")
        for ranking in ("soft_bm25", "soft_cosine", "inner_product", "expanded_cosine")
    ]


def test_no_text_is_analysed_and_no_score_or_place_changes(index, monkeypatch):
    before, old, settings = answers(index), SoftIndex.open(index.path), settings_of(index)
    assert old.filter({"n": 2}).ids == ["2"]

    def refuse(*arguments, **options):
        raise AssertionError("nothing is to be analysed, inverted or measured")

    for name in ("analyze", "analyze_in_language", "invert"):
        monkeypatch.setattr(drafts, name, refuse)
    monkeypatch.setattr(snapshots, "soft_norms", refuse)
    monkeypatch.setattr(FolderWriter, "write_segment", refuse)
    with index.writer(merge=None) as writer:
        writer.update_metadata("2", {"n": 20, "new": [1]})
        writer.update_metadata("0", {"only": True}, replace=True)
        writer.update_metadata("4", {}, replace=True)
    assert answers(index) == before
    assert [one.metadata for one in index.get(["0", "1", "2", "4"])] == [
        {"only": True}, {"n": 1, "lang": "en"}, {"n": 20, "lang": "en", "new": [1]}, {}
    ]  # fmt: skip
    assert index.filter({"n": {">": 2}}, sort="-n", facets=["lang"]).ids == ["2", "3"]
    assert index.search("tea", where={"new": {"contains": 1}}).ids == ["2"]
    assert index.filter({"n": 2}).ids == []
    assert list(index) == list("01234")
    # What was written is the updates alone.
    after = settings_of(index)
    assert {one.updates for one in settings.segments} == {None}
    assert [(one.part, one.norms, one.deleted) for one in after.segments] == [
        (one.part, one.norms, one.deleted) for one in settings.segments
    ]
    assert (after.space, after.statistics) == (settings.space, settings.statistics)
    for one, other in zip(index.snapshot.segments, old.snapshot.segments, strict=True):
        assert len(one.fields) == len(other.fields)
    check_index(Store.open(index.path))
    # A reader goes on with what it opened, until it refreshes.
    assert old.get(["2"])[0].metadata == {"n": 2, "lang": "en"}
    assert old.filter({"n": 2}).ids == ["2"]
    fields = [one.fields for one in old.snapshot.segments]
    assert old.refresh()
    assert [one.fields is own for one, own in zip(old.snapshot.segments, fields, strict=True)] == [
        True, True, True
    ]  # fmt: skip
    assert old.filter({"n": 2}).ids == []
    assert old.filter({"n": 20}).ids == ["2"]
    assert pickle.loads(pickle.dumps(old)).filter({"n": 20}).ids == ["2"]


def test_segments_that_no_update_is_of_are_shared(index):
    with index.writer(merge=None) as writer:
        writer.update_metadata("2", {"n": 20})
    columns = [one.columns for one in index.snapshot.segments]
    with index.writer(merge=None) as writer:
        writer.update_metadata("4", {"n": 40})
    same = [one.columns is own for one, own in zip(index.snapshot.segments, columns, strict=True)]
    assert same == [True, True, False]
    assert [one.metadata["n"] for one in index.filter()] == [0, 1, 20, 3, 40]


def test_statistics_are_not_counted_anew_for_metadata(index):
    with index.writer(merge=None) as writer:
        writer.add("5", "tea")
        writer.commit(refresh=False)
        before = answers(index)
        writer.update_metadata("5", {"n": 5})
    assert answers(index) == before
    assert index.snapshot.statistics[0].n_docs == 5
    with index.writer(merge=None) as writer:
        writer.update_metadata("5", {"n": 6})
        writer.commit(refresh=True)
    assert index.snapshot.statistics[0].n_docs == 6


def test_documents_in_the_buffer_are_updated_where_they_are(index):
    with index.writer(merge=None) as writer:
        writer.add("5", "milk", {"n": 5})
        writer.add("6", "milk tea", {"n": 6})
        writer.update_metadata("5", {"n": 50, "x": None})
    assert [(one.id, one.metadata) for one in index.filter({"n": {">": 4}})] == [
        ("5", {"n": 50, "x": None}), ("6", {"n": 6})
    ]  # fmt: skip


def test_updates_in_the_buffer_take_bounded_memory(index):
    given = [{"n": n, "long": "x" * 1600} for n in range(5, 10)]
    with index.writer(merge=None, memory=1 << 16) as writer:
        for one in given:
            writer.add(str(one["n"]), "milk", {"n": -1})
        for one in given:
            writer.update_metadata(str(one["n"]), one)
            assert sum(document.size for document in writer._buffer.values()) <= 4096
    assert [one.metadata for one in index.filter({"long": {"exists": True}})] == given
    assert index.filter().ids == [str(n) for n in range(10)]


def test_an_update_dies_with_its_document(index):
    with index.writer(merge=None) as writer:
        writer.update_metadata("1", {"n": 10})
        writer.delete("1")
        with pytest.raises(UnknownDocumentError, match="no document with the id '1'"):
            writer.update_metadata("1", {"n": 11})
        writer.add("1", "tea again", {"m": 1})
        writer.update_metadata("1", {"k": 2})
        writer.update_metadata("3", {"n": 30})
        writer.add("3", "tyre again")
    assert index.get(["1", "3"]) == [
        Document("1", "tea again", {"m": 1, "k": 2}), Document("3", "tyre again", {})
    ]  # fmt: skip
    with index.writer() as writer:
        writer.merge()
    assert index.get(["1"])[0].metadata == {"m": 1, "k": 2}


def test_what_changes_nothing_commits_nothing(index):
    generation = index.snapshot.generation
    with index.writer(merge=None) as writer:
        writer.update_metadata("1", {"n": 1})
        writer.update_metadata("1", {})
        assert writer.commit() == generation
        writer.update_metadata("1", {"n": True})  # equal in Python, and another value
    assert index.snapshot.generation == generation + 1
    assert index.get(["1"])[0].metadata["n"] is True


def test_updates_are_undone_with_the_rest(index):
    def fail():
        with index.writer() as writer:
            writer.update_metadata("0", {"n": 1000})
            raise KeyError

    with pytest.raises(KeyError):
        fail()
    with index.writer() as writer:
        writer.update_metadata("0", {"n": 1000})
        writer.rollback()
    index.refresh()
    assert index.get(["0"])[0].metadata["n"] == 0


def test_a_rollback_that_fails_undoes_nothing(index, monkeypatch):
    with index.writer(merge=None) as writer:
        writer.add("5", "milk")
        with monkeypatch.context() as patch:
            patch.setattr(FolderWriter, "snapshot", lambda *arguments, **options: 1 / 0)
            with pytest.raises(ZeroDivisionError):
                writer.rollback()
        writer.update_metadata("5", {"n": 5})
    assert index.get(["5"])[0].metadata == {"n": 5}


def test_a_commit_that_fails_may_be_tried_again(index, monkeypatch):
    with index.writer(merge=None) as writer:
        writer.update_metadata("0", {"n": 1000})
        writer.update_metadata("2", {"n": 2000})
        with monkeypatch.context() as patch:
            patch.setattr(os, "fsync", lambda descriptor: 1 / 0)
            with pytest.raises(ZeroDivisionError):
                writer.commit()
        assert SoftIndex.open(index.path).get(["0"])[0].metadata["n"] == 0
        writer.update_metadata("2", {"n": 2001})
        writer.commit()
    assert [one.metadata["n"] for one in index.get(["0", "2"])] == [1000, 2001]
    check_index(Store.open(index.path))


def test_merges_write_the_new_metadata_into_their_segments(index):
    with index.writer(merge=None) as writer:
        writer.update_metadata("0", {"n": 1000})
    with index.writer(merge=MergePolicy(factor=2, min_docs=1)) as writer:
        writer.update_metadata("2", {"n": 2000})
    assert [one.updates for one in settings_of(index).segments] == [None]
    assert [one.metadata["n"] for one in index.filter()] == [1000, 1, 2000, 3, 4]
    # A segment of its own is written anew for them too, where that is asked for.
    with index.writer(merge=None) as writer:
        writer.update_metadata("1", {"n": 100})
    assert settings_of(index).segments[0].updates is not None
    with index.writer(merge=None) as writer:
        writer.update_metadata("3", {"n": 300})
        writer.merge()
    assert [one.updates for one in settings_of(index).segments] == [None]
    assert [one.metadata["n"] for one in index.filter()] == [1000, 100, 2000, 300, 4]
    generation = index.snapshot.generation
    with index.writer(merge=None) as writer:
        writer.merge()
    assert index.snapshot.generation == generation
    check_index(Store.open(index.path))


def test_a_filter_deletes_what_passes_it(index):
    with index.writer(merge=None) as writer:
        writer.add("1", "milk", {"n": 100})  # in place of one with n = 1
        writer.add("5", "milk", {"n": 5})
        writer.update_metadata("2", {"n": 100})
        assert writer.delete(where={"n": 1}) == 0
        assert writer.delete(where={"n": {">=": 5}}) == 3
        assert writer.delete(where={"n": 2}) == 0
        with pytest.raises(UnknownDocumentError):
            writer.delete("1")
        writer.update_metadata("3", {"n": 0})
        assert writer.delete(where={"n": 0}) == 2
        assert writer.delete("4") == 1
        assert writer.delete("4", missing_ok=True) == 0
        writer.add("6", "tea")
    assert list(index) == ["6"]
    with index.writer() as writer:
        assert writer.delete(where={}) == 1
    assert len(index) == 0


def test_it_must_be_said_what_is_deleted_and_updated(index):
    with index.writer() as writer:
        for wrong in ({}, {"id": "1", "where": {"n": 1}}):
            with pytest.raises(InvalidInputError, match="the id of a document to delete, or a fil"):
                writer.delete(**wrong)
        with pytest.raises(InvalidInputError, match="the operator"):
            writer.delete(where={"n": {"?": 1}})
        with pytest.raises(InvalidInputError, match="is of type NoneType; pass a mapping"):
            writer.update_metadata("1", None)
        with pytest.raises(InvalidInputError, match="document '1' cannot be written as JSON"):
            writer.update_metadata("1", {"n": {1}})
        with pytest.raises(InvalidInputError, match="the id is 1, of type int"):
            writer.update_metadata(1, {})
        with pytest.raises(UnknownDocumentError, match="'x'"):
            writer.update_metadata("x", {})
        writer.close()
        with pytest.raises(InvalidInputError, match="closed"):
            writer.update_metadata("1", {})
    assert [one.metadata["n"] for one in index.filter()] == list(range(5))


def test_many_updates_take_bounded_memory(tmp_path, monkeypatch):
    monkeypatch.setattr(os, "fsync", lambda descriptor: None)
    index = SoftIndex.create(tmp_path / "x", plain=True)
    with index.writer(merge=None) as writer:
        writer.add_many([str(n) for n in range(300)], ["tea"] * 300)
    with index.writer(memory=1 << 16, merge=None) as writer:
        held = []
        for number in range(300):
            writer.update_metadata(str(number), {"n": number, "long": "x" * 100})
            (piece,) = writer._pending._segments
            held.append(len(piece.documents.updates._recent))
            assert len(list((index.path / "parts").glob("updates-*"))) <= 1
        assert max(held) < 100
        writer.update_metadata("7", {"n": -7})
    assert [one.metadata["n"] for one in index.filter(k=None)] == [
        -7 if number == 7 else number for number in range(300)
    ]
    assert index.filter({"n": {"<": 2}}).ids == ["0", "1", "7"]
    check_index(Store.open(index.path))


def test_an_update_that_fails_is_not_committed_later(index, monkeypatch):
    def fails(*arguments):
        raise OSError("no room")

    with index.writer(merge=None, memory=1 << 16) as writer:
        writer.update_metadata("0", {"n": 10})
        with monkeypatch.context() as patch:
            patch.setattr(FolderWriter, "write_and_open", fails)
            with pytest.raises(OSError, match="no room"):
                writer.update_metadata("1", {"n": 11, "long": "x" * (1 << 16)})
        writer.update_metadata("2", {"n": 12})
    assert [one.metadata["n"] for one in index.filter()] == [10, 1, 12, 3, 4]
    check_index(Store.open(index.path))


def test_a_copy_has_the_new_metadata(index, tmp_path):
    with index.writer(merge=None) as writer:
        writer.update_metadata("0", {"n": 1000})
        writer.update_metadata("4", {}, replace=True)
    index.save(tmp_path / "copy")
    copied = SoftIndex.open(tmp_path / "copy", verify=True)
    assert list(copied.filter()) == list(index.filter())
    assert {one.updates for one in settings_of(copied).segments} == {None}


def rewritten(path, arrays):
    """Put other arrays in the only part of updates; every checksum is right."""
    for name, array in arrays.items():
        rewrite_array(path, "updates", name, array)


@pytest.mark.parametrize(
    ("arrays", "message"),
    [
        ({"numbers": np.array([0, 2])}, "a number in numbers is not between 0 and 1"),
        ({"numbers": np.array([-1, 0])}, "a number in numbers is not between 0 and 1"),
        ({"numbers": np.array([1, 1])}, "do not ascend"),
        ({"numbers": np.array([0])}, "the array starts is of type int64 and shape"),
        ({"numbers": np.array([0.0, 1.0])}, "the array numbers is of type float64"),
        ({"starts": np.array([0, 9, 1])}, "the numbers in starts do not rise"),
        ({"starts": np.array([0, 2, 10**9])}, "the numbers in starts do not rise"),
        ({"values": np.zeros(3, np.uint8)}, "the numbers in starts do not rise"),
    ],
)
def test_contents_that_cannot_be_are_found_on_opening(index, arrays, message):
    with index.writer(merge=None) as writer:
        writer.update_metadata("0", {"n": 1000})
        writer.update_metadata("1", {"n": 1000})
    rewritten(index.path, arrays)
    for look in (lambda: SoftIndex.open(index.path), lambda: check_index(Store.open(index.path))):
        with pytest.raises(CorruptIndexError, match=message):
            look()


@pytest.mark.parametrize("content", [b"{", b"\xff\xff", b"[]x", b"[1]"])
def test_what_is_no_metadata_is_found_when_it_is_read(index, content):
    with index.writer(merge=None) as writer:
        writer.update_metadata("0", {"n": 1000})
    values = np.frombuffer(content, np.uint8)
    rewritten(index.path, {"values": values, "starts": np.array([0, len(values)])})
    opened = SoftIndex.open(index.path)
    assert opened.get(["1", "3"])[0].metadata["n"] == 1
    for look in (
        lambda: opened.get(["0"]),
        lambda: opened.documents.metadata(0),
        lambda: opened.filter({"n": 1}),
        lambda: check_index(Store.open(index.path)),
    ):
        with pytest.raises(CorruptIndexError, match="updates-"):
            look()
    with opened.writer() as writer, pytest.raises(CorruptIndexError):
        writer.merge()


def test_a_changed_byte_is_found(index):
    with index.writer(merge=None) as writer:
        writer.update_metadata("0", {"n": 1000})
    part = index.path / "parts" / settings_of(index).segments[0].updates
    patch_array(part, "values")
    with pytest.raises(CorruptIndexError, match=r"arrays\.npys has changed"):
        SoftIndex.open(index.path, verify=True)
    with (
        index.writer() as writer,
        pytest.raises(CorruptIndexError, match=r"arrays\.npys has changed"),
    ):
        writer.merge()


def test_updates_come_back_from_their_arrays():
    updates = MetadataUpdates()
    assert not updates
    for number, own in ((5, '{"a": 1}'), (2, None), (9, "{}"), (5, '{"b": 2}')):
        updates.put(number, own)
    again = MetadataUpdates.from_arrays(updates.to_arrays(), 10)
    expected = {2: None, 5: '{"b": 2}', 9: "{}"}
    assert updates.all() == again.all() == expected
    assert again
    again.put(2, '{"c": 3}')
    again.put(3, None)
    expected |= {2: '{"c": 3}', 3: None}
    for both in (again, MetadataUpdates.from_arrays(again.to_arrays(), 10)):
        assert both.all() == expected
        for first in range(11):
            for stop in range(first, 11):
                inside = {n: own for n, own in expected.items() if first <= n < stop}
                assert both.of(range(first, stop)) == inside
