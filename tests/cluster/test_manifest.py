"""The manifest of a sharded index, and which shard owns an id."""

import json

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from softcosine.cluster.manifest import ShardFacts, ShardsManifest
from softcosine.cluster.ownership import owned, owner_of, owners_of
from softcosine.errors import CorruptIndexError, IndexFormatError
from softcosine.index.writer.document import lasting_hashes
from softcosine.storage.remote import is_sharded


@given(st.lists(st.integers(0, 2**64 - 1)), st.integers(1, 2**31 - 1))
def test_owners_are_the_exact_quotients(hashes, n_shards):
    found = owner_of(np.array(hashes, np.uint64), n_shards).tolist()
    assert found == [one * n_shards >> 64 for one in hashes]


@given(st.lists(st.integers(0, 2**64 - 1)), st.integers(1, 9))
def test_a_shard_owns_a_range_of_hashes(hashes, n_shards):
    ascending = np.array(sorted(hashes), np.uint64)
    owners = owner_of(ascending, n_shards)
    for shard in range(n_shards):
        assert np.array_equal(
            ascending[owned(ascending, shard, n_shards)], ascending[owners == shard]
        )


def test_hashes_are_the_same_everywhere():
    assert lasting_hashes(["", "a", "tea/ü", "\ud800"]).tolist() == [
        16476032584258269876,
        4681665781835383343,
        12572337719905474852,
        4758185216457903464,
    ]


def test_a_path_that_cannot_be_one_has_no_shards():
    assert not is_sharded("a\0b")


def test_shards_own_about_as_many_ids_each():
    counts = np.bincount(owners_of(map(str, range(10_000)), 7), minlength=7)
    assert counts.min() > 1300
    assert counts.max() < 1560


def test_manifest_is_read_as_written(tmp_path):
    shards = (ShardFacts("shard-0000", "a" * 64, 3), ShardFacts("shard-0001", "b" * 64, 4))
    written = ShardsManifest("0123456789abcdef", 9, shards)
    written.write(tmp_path)
    read = ShardsManifest.read(tmp_path)
    assert (read.epoch, read.next_number, read.shards) == ("0123456789abcdef", 9, shards)
    assert (read.n_shards, read.n_docs) == (2, 7)
    assert [file.name for file in tmp_path.iterdir()] == ["manifest.json"]


def test_an_altered_manifest_is_refused(tmp_path):
    ShardsManifest("0123456789abcdef", 9, (ShardFacts("shard-0000", "a" * 64, 3),)).write(tmp_path)
    file = tmp_path / "manifest.json"
    file.write_text(file.read_text().replace(": 9", ": 8"))
    with pytest.raises(CorruptIndexError, match="has changed"):
        ShardsManifest.read(tmp_path)


def test_another_folder_is_refused(tmp_path):
    with pytest.raises(FileNotFoundError):
        ShardsManifest.read(tmp_path / "none")
    with pytest.raises(IndexFormatError):
        ShardsManifest.read(tmp_path)


def test_messages_name_a_url_as_it_is():
    with pytest.raises(CorruptIndexError, match=r"s3://bucket/x.shards/manifest.json lacks"):
        ShardsManifest.of({}, "s3://bucket/x.shards")


def test_shards_out_of_order_are_refused(tmp_path):
    ShardsManifest("e", 9, (ShardFacts("../shard", "a" * 64, 3),)).write(tmp_path)
    with pytest.raises(CorruptIndexError, match="shards"):
        ShardsManifest.read(tmp_path)
    assert json.loads((tmp_path / "manifest.json").read_text())["version"] == 1
