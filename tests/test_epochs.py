"""Statistics that add up, epochs, and indexes that are frozen under one and joined."""

from __future__ import annotations

import json
import pickle
import re

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.sparse import csr_array

import strategies
from crafted import rewrite_index_manifest, rewrite_settings
from softcosine.errors import CorruptIndexError
from softcosine.index.directory.check import verify_index
from softcosine.index.directory.store import Store
from softcosine.index.segment.segment import Segment
from softcosine.index.segment.statistics import FieldStatistics
from softcosine.index.soft_index import SoftIndex
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
    assert pickle.loads(pickle.dumps(index)).epoch == epoch  # in memory
    in_memory = SoftIndex.from_texts(DOCUMENTS.values(), plain=True)
    assert in_memory.epoch == epoch
    with index.writer() as writer:
        writer.update_metadata("a", {"n": 1})
    with index.writer() as writer:
        writer.merge()
    assert index.epoch == epoch


@pytest.mark.parametrize("what", ["document", "S", "weighting"])
def test_what_changes_scores_makes_a_new_epoch(tmp_path, what):
    for index in (made(tmp_path / "x"), SoftIndex.from_texts(DOCUMENTS.values(), plain=True)):
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
    verify_index(Store.open(index.path))
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
