"""Indexes of every released format: opened, whole, answering as they did, and written on."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import numpy as np
import pytest

from softcosine.encoders.loading import load_encoder
from softcosine.errors import IndexFormatError, InvalidInputError
from softcosine.index.directory.check import check_index
from softcosine.index.directory.commit import VERSION
from softcosine.index.directory.store import Store
from softcosine.index.soft_index import SoftIndex
from softcosine.storage import MANIFEST


class Golden:
    """An encoder in place of the one of the stored indexes."""

    def encode(self, texts):
        return np.ones((len(texts), 2), np.float32)


GOLDEN = sorted((Path(__file__).parent / "golden").glob("index-*/"))


def answers_of(path):
    return json.loads(path.with_name(f"{path.name}.json").read_text(encoding="utf-8"))


def assert_answers(index, expected):
    for options, queries in expected.items():
        ranking, ask = options.split()
        for query, hits in queries.items():
            found = [
                [hit.id, hit.score]
                for hit in index.search(query, ranking=ranking, ask=ask, syntax=True)
            ]
            assert [id for id, _ in found] == [id for id, _ in hits], query
            assert [score for _, score in found] == pytest.approx([score for _, score in hits])


def test_there_is_one_of_the_present_format():
    assert f"index-{VERSION}" in [path.name for path in GOLDEN]


@pytest.mark.parametrize("path", GOLDEN, ids=lambda path: path.name)
def test_an_index_of_a_released_format_answers_as_it_did(path):
    index = SoftIndex.open(path, verify=True)
    check_index(Store.open(path))
    assert len(index) == 5
    assert "gone" not in index
    assert index.search("key", where={"number": 3})[0].metadata == {"number": 3, "lang": ["en"]}
    assert_answers(index, answers_of(path))


@pytest.mark.parametrize("path", GOLDEN, ids=lambda path: path.name)
def test_an_index_of_a_released_format_is_written_on(path, tmp_path):
    copy = shutil.copytree(path, tmp_path / "x")
    document = {"title": "new", "body": "a hound on a bike"}
    with SoftIndex.open(copy).writer() as writer:
        with pytest.raises(InvalidInputError, match="'golden' of this index is not known here"):
            writer.add("new", document)
        assert writer.n_docs == 5
    index = SoftIndex.open(copy, encoder=load_encoder(Golden(), name="golden"))
    with index.writer() as writer:
        writer.add("new", document)
        writer.merge()
    assert index.search("new hound")[0].id == "new"
    with index.writer() as writer:
        writer.delete("new")
    check_index(Store.open(copy))
    assert len(SoftIndex.open(copy)) == 5


def test_an_unknown_format_says_what_to_do(tmp_path):
    path = tmp_path / "x"
    SoftIndex.from_texts(["tea"], plain=True).save(path)
    manifest = json.loads((path / MANIFEST).read_text(encoding="utf-8"))
    (path / MANIFEST).write_text(json.dumps({**manifest, "version": 99}), encoding="utf-8")
    with pytest.raises(IndexFormatError, match=r"version 99.*[Ii]nstall"):
        SoftIndex.open(path)
