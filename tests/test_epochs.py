"""Statistics that add up, epochs, and indexes that are frozen under one."""

from __future__ import annotations

import json
import pickle
import re
import shutil

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.sparse import csr_array

import strategies
from crafted import array_names, patch_array, rewrite_index_manifest, rewrite_settings
from sharded import shard_of
from softcosine.errors import CorruptIndexError, InvalidInputError
from softcosine.index.directory import store_writer
from softcosine.index.directory.check import check_index
from softcosine.index.directory.store import Store
from softcosine.index.segment.segment import Segment
from softcosine.index.segment.statistics import FieldStatistics
from softcosine.index.soft_index import SoftIndex
from softcosine.similarity.embeddings.embedding import EmbeddingSimilarity
from softcosine.text.weighting import Weighting


@st.composite
def segments_with_deletes(draw):
    """Segments of one space, of which later ones may know more terms, and what is deleted."""
    segments, live = [], []
    n_terms = 1
    for _ in range(draw(st.integers(0, 4))):
        n_docs, n_terms = draw(strategies.sizes(5)), draw(st.integers(n_terms, 8))
        counts = draw(strategies.counts(n_docs, n_terms))
        segments.append(Segment.from_counts(csr_array(counts.astype(np.int64))))
        masks = st.lists(st.booleans(), min_size=n_docs, max_size=n_docs)
        live.append(draw(st.none() | masks.map(lambda mask: np.array(mask, np.bool_))))
    return segments, live


@given(segments_with_deletes())
def test_statistics_of_parts_add_up_to_those_of_the_whole(drawn):
    segments, live = drawn
    whole = FieldStatistics.of(segments, 8, live=live)
    parts = FieldStatistics.none(0)
    for segment, mask in zip(segments, live, strict=True):
        parts = parts + FieldStatistics.of([segment], segment.n_terms, live=[mask])
    assert parts.padded(8) == whole
    assert (parts.average_length, type(parts.total_length)) == (whole.average_length, int)
    rows = [
        row
        for segment, mask in zip(segments, live, strict=True)
        for number, row in enumerate(dense(segment))
        if mask is None or mask[number]
    ]
    assert whole.n_docs == len(rows)
    assert whole.total_length == sum(row.sum() for row in rows)
    assert whole.document_frequencies.tolist() == [
        sum(row[term] > 0 for row in rows if term < len(row)) for term in range(8)
    ]


def dense(segment):
    for document in range(segment.n_docs):
        row = np.zeros(segment.n_terms)
        terms, values = segment.row(document)
        row[terms] = values
        yield row


DOCUMENTS = {"a": "a flat tyre", "b": "green tea", "c": "tea and coffee"}


def made(path, documents=DOCUMENTS, **options):
    """An index on disk, filled by one commit."""
    index = SoftIndex.create(path, **{"plain": True, **options})
    with index.writer() as writer:
        writer.add_many(documents, documents.values())
    return index


def test_an_epoch_is_that_of_the_content_wherever_it_is(tmp_path):
    index = made(tmp_path / "x")
    epoch = index.epoch
    assert re.fullmatch("[0-9a-f]{16}", epoch)
    assert made(tmp_path / "another").epoch == epoch
    index.backup(tmp_path / "copy")
    index.save(tmp_path / "saved")
    for name in ("copy", "saved"):
        assert SoftIndex.open(tmp_path / name).epoch == epoch
    assert pickle.loads(pickle.dumps(index)).epoch == epoch
    assert SoftIndex.from_texts(DOCUMENTS.values(), plain=True).epoch == ""
    with index.writer() as writer:
        writer.update_metadata("a", {"n": 1})
    with index.writer() as writer:
        writer.merge()
    assert index.epoch == epoch


@pytest.mark.parametrize("what", ["document", "S", "weighting"])
def test_what_changes_scores_makes_a_new_epoch(tmp_path, what):
    index = made(tmp_path / "x")
    epoch = index.epoch
    with index.writer() as writer:
        if what == "document":
            writer.add("d", "tea")
        elif what == "S":
            writer.set_similarity(index.S)
            writer.add("d", "no word that was there before")
        else:
            writer.set_weighting(Weighting(b=0.5))
    assert index.epoch != epoch


def test_norms_state_their_epoch_where_they_did_not_have_to_be_computed_anew(tmp_path):
    index = made(tmp_path / "x")
    with index.writer(merge=None) as writer:
        writer.add("d", "a new word")
        writer.commit(refresh=False)
    check_index(Store.open(index.path))
    manifests = [json.loads(file.read_text()) for file in index.path.glob("parts/norms-*/*.json")]
    assert [one["settings"]["epoch"] for one in manifests] == [index.epoch] * 2


def test_norms_of_another_epoch_are_refused(tmp_path):
    index = made(tmp_path / "x")
    rewrite_settings(index.path, "norms", epoch="0" * 16)
    with pytest.raises(CorruptIndexError, match=rf"of the epoch '0+', .* of '{index.epoch}'"):
        SoftIndex.open(index.path)


def test_an_epoch_that_is_not_that_of_the_parts_is_refused(tmp_path):
    index = made(tmp_path / "x")
    rewrite_index_manifest(index.path, lambda manifest: manifest.update(epoch="0" * 16))
    with pytest.raises(CorruptIndexError, match=r"the epoch '0+', which is not that of its parts"):
        SoftIndex.open(index.path)


PLACES = ["folder", "memory"]


def whole_and_shard(tmp_path, place, **options):
    """A frozen index of the documents, and one without any under its epoch."""
    if place == "folder":
        index = made(tmp_path / "whole", **options)
    else:
        index = SoftIndex.from_texts(
            DOCUMENTS.values(), ids=DOCUMENTS, **{"plain": True, **options}
        )
    with index.writer() as writer:
        writer.freeze()
    return index, shard_of(index, tmp_path / "shard" if place == "folder" else None)


def scored(index, query, **options):
    return {hit.id: hit.score for hit in index.search(query, **options)}


@pytest.mark.parametrize("place", PLACES)
def test_a_frozen_index_scores_new_documents_by_the_statistics_that_it_has(tmp_path, place):
    index, shard = whole_and_shard(tmp_path, place)
    epoch, before = index.epoch, scored(index, "tea")
    assert (index.frozen, shard.frozen, shard.epoch, len(shard)) == (True, True, epoch, 0)
    for one in (index, shard):
        with one.writer() as writer:
            writer.add_many(["d", "e"], [DOCUMENTS["b"], "tea of an unheard-of kind"])
        assert one.epoch == epoch
        assert len(one.vocabulary) == len(index.S)
        assert one.get(["e"])[0].text == "tea of an unheard-of kind"
        assert scored(one, "kind unheard") == {}
        assert "d" in one.search('"green tea"').ids
        assert scored(one, "tea")["d"] == before["b"]
    assert {id: scored(index, "tea")[id] for id in before} == before
    assert scored(index, "tea") == before | scored(shard, "tea")


@pytest.mark.parametrize("place", PLACES)
def test_a_frozen_index_refuses_what_would_change_its_epoch(tmp_path, place):
    index, shard = whole_and_shard(tmp_path, place)
    for one in (index, shard):
        with one.writer() as writer:
            for change in (
                lambda: writer.commit(refresh=True),
                lambda: writer.set_similarity(one.S),  # noqa: B023
                lambda: writer.set_weighting(Weighting(b=0.5)),
            ):
                with pytest.raises(InvalidInputError, match=r"is frozen, so it cannot .*thaw\(\)"):
                    change()
            writer.set_weighting(one.weighting, ranking="soft_cosine")
        assert (one.ranking, one.epoch) == ("soft_cosine", index.epoch)


@pytest.mark.parametrize("place", PLACES)
def test_a_thawed_index_counts_again(tmp_path, place):
    index, _ = whole_and_shard(tmp_path, place)
    with index.writer() as writer:
        writer.add("d", "a word or two")
        writer.thaw()
        assert not index.frozen
        writer.add("d", "a word or two")
        writer.commit()
    expected = {**DOCUMENTS, "d": "a word or two"}
    anew = SoftIndex.from_texts(expected.values(), ids=expected, plain=True)
    assert scored(index, "word tea") == scored(anew, "word tea")


@pytest.mark.parametrize("place", PLACES)
def test_what_was_added_before_freezing_is_counted(tmp_path, place):
    index = SoftIndex.create(tmp_path / "x" if place == "folder" else None, plain=True)
    with index.writer() as writer:
        with pytest.raises(InvalidInputError, match="never had a document"):
            writer.freeze()
        writer.add("a", "")
        with pytest.raises(InvalidInputError, match="never had a document with words"):
            writer.freeze()
        writer.add("a", "tea")
        writer.freeze()
        assert index.frozen
    assert index.snapshot.statistics[0].n_docs == len(index.vocabulary) == 1


def test_copies_of_a_frozen_index_are_frozen_and_variants_in_memory_are_not(tmp_path):
    index, _ = whole_and_shard(tmp_path, "folder")
    index.save(tmp_path / "saved")
    index.backup(tmp_path / "copy")
    copies = [SoftIndex.open(tmp_path / name) for name in ("whole", "saved", "copy")]
    copies.append(pickle.loads(pickle.dumps(index)))
    assert [(one.frozen, one.epoch) for one in copies] == [(True, index.epoch)] * 4
    assert not index.with_weighting(Weighting(b=0.5)).frozen


def test_an_index_without_documents_that_says_it_is_frozen_is_refused(tmp_path):
    path = SoftIndex.create(tmp_path / "x", plain=True).path
    rewrite_index_manifest(path, lambda manifest: manifest["settings"].update(frozen=True))
    with pytest.raises(CorruptIndexError, match="of a frozen index without S"):
        SoftIndex.open(path)


def tables(path):
    return sorted(path.glob("parts/space-*/source.npys"))


def test_indexes_of_one_folder_share_large_tables(tmp_path, monkeypatch):
    rows = np.random.default_rng(0).standard_normal((1 << 12, 80)).astype(np.float32)
    source = EmbeddingSimilarity([f"w{number}" for number in range(len(rows))], rows)
    first = made(tmp_path / "first", {"a": "w1 w2"}, plain=False, source=source)
    (shared,) = tables(first.path)
    assert shared.stat().st_size > 1 << 20
    content, place = shared.read_bytes(), shared.stat().st_ino
    second = made(tmp_path / "second", {"a": "w3 w4 w5"}, plain=False, source=source)
    with second.writer() as writer:
        writer.add("b", "w6")  # another S, beside the same table
    assert [file.stat().st_ino for file in tables(second.path)] == [place]
    (tmp_path / "apart").mkdir()
    apart = made(tmp_path / "apart" / "x", {"a": "w1 w2"}, plain=False, source=source)
    assert [file.stat().st_ino == place for file in tables(apart.path)] == [False]
    for index in (first, second):
        with index.writer() as writer:
            writer.add("c", "w7 w8")
            writer.merge()
        check_index(Store.open(index.path))
        assert [file.read_bytes() for file in tables(index.path)] == [content]
    shutil.rmtree(first.path)
    check_index(Store.open(second.path))
    (damaged,) = tables(second.path)
    patch_array(damaged.parent, array_names(damaged.parent)[-1])
    damaged.write_bytes(damaged.read_bytes()[:-1] + b"x")
    third = made(tmp_path / "third", {"a": "w1"}, plain=False, source=source)
    assert [file.read_bytes() for file in tables(third.path)] == [content]
    (whole,) = tables(third.path)
    monkeypatch.setattr(store_writer, "_USER", -1)  # as if it were another user's
    fourth = made(tmp_path / "fourth", {"a": "w1"}, plain=False, source=source)
    assert [file.stat().st_ino == whole.stat().st_ino for file in tables(fourth.path)] == [False]


@pytest.mark.parametrize("place", PLACES)
def test_documents_of_a_shard_keep_their_place_among_all_documents(tmp_path, place):
    index, _ = whole_and_shard(tmp_path, place)
    made = tmp_path / "numbered" if place == "folder" else None
    shard = shard_of(index, made, numbered=True)
    for numbers in ([3, 10], [11, 20, 21]):
        with shard.writer() as writer:
            for number in numbers:
                writer.add(f"d{number}", "green tea", number=number)
    with shard.writer() as writer:
        writer.add("d10", "black tea", number=30)
        with pytest.raises(InvalidInputError, match=r"number is 30.*31"):
            writer.add("d31", "black tea", number=30)
        with pytest.raises(InvalidInputError, match="change the sharded index"):
            writer.add("d31", "black tea")
        writer.delete("d20")
        writer.merge()

    def found():
        documents = shard.snapshot.documents
        numbers = documents.insertion_numbers(documents.numbers)
        return dict(zip(documents.all_ids(), numbers.tolist(), strict=True))

    expected = {"d3": 3, "d11": 11, "d21": 21, "d10": 30}
    assert found() == expected
    shard = pickle.loads(pickle.dumps(shard)) if made is None else SoftIndex.open(made)
    assert found() == expected
    with index.writer() as writer, pytest.raises(InvalidInputError, match="leave it out"):
        writer.add("x", "tea", number=1)
