"""What an index was created with stays until its first words, wherever it goes."""

from __future__ import annotations

import copy
import os
import pickle

import numpy as np
import pytest

from softcosine.errors import CorruptIndexError, InvalidInputError
from softcosine.index.soft_index import SoftIndex
from softcosine.matrix.recipe import SimilarityRecipe
from softcosine.similarity.pairs import PairSimilarity

TEXTS = ["a flat tyre", "green tea in a tea pot", "the wheel of a bike", "tea for two"]
PAIRS = PairSimilarity({("tyre", "wheel"): 0.75, ("tea", "infusion"): 0.5})


class Stateless:
    """A source that cannot be written to a folder."""

    def __init__(self):
        self.knows, self.neighbors = PAIRS.knows, PAIRS.neighbors
        self.similarities = PAIRS.similarities


def saved(index, tmp_path):
    index.save(tmp_path / "saved")
    return SoftIndex.open(tmp_path / "saved")


COPIES = {
    "pickle": lambda index, _: pickle.loads(pickle.dumps(index)),
    "deepcopy": lambda index, _: copy.deepcopy(index),
    "save": saved,
    "weighting": lambda index, _: index.with_weighting(index.snapshot.settings.weighting),
    "note": lambda index, _: index.with_note(index.note),
}


def filled(index):
    with index.writer() as writer:
        writer.add_many(map(str, range(len(TEXTS))), TEXTS)
    return index


def shown(index):
    return [
        index.vocabulary.terms, index.analyzer, index.language, index.snapshot.settings.positions,
        index.note, [document.text for document in index.get(["0", "1"])],
        [[(hit.id, hit.score) for hit in index.search(query)] for query in ("wheel", "infusion")],
    ]  # fmt: skip


@pytest.mark.parametrize("emptied", [False, True])
@pytest.mark.parametrize("in_folder", [False, True])
@pytest.mark.parametrize("copied", COPIES)
@pytest.mark.parametrize(
    "options",
    [
        {"positions": True, "keep_texts": False, "language": "german", "min_df": 2},
        {"similarity": SimilarityRecipe(sources=["texts"], max_neighbors=3), "max_df": 2},
        {"source": PAIRS},
    ],
    ids=["rules", "recipe", "source"],
)
def test_a_copy_without_documents_has_all_settings(tmp_path, options, copied, in_folder, emptied):
    def made(name):
        index = SoftIndex.create(tmp_path / name if in_folder else None, **options)
        if emptied:
            filled(index)
            with index.writer() as writer:
                writer.delete(where={})
        return index

    copied_index = COPIES[copied](made("copied"), tmp_path)
    assert shown(filled(copied_index)) == shown(filled(made("itself")))


def test_with_similarity_of_an_empty_index_stays(tmp_path):
    S = SoftIndex.create().S
    index = saved(SoftIndex.create().with_similarity(S, source=PAIRS), tmp_path)
    assert sorted(filled(index).search("wheel").ids) == ["0", "2"]


@pytest.mark.parametrize(
    "options",
    [
        {"source": Stateless()},
        {"similarity": SimilarityRecipe(sources=[Stateless()], guard=False)},
        {"similarity": SimilarityRecipe(sources=[PAIRS, "texts"])},
    ],
    ids=["source", "recipe", "learned"],
)
def test_who_creates_an_index_in_a_folder_keeps_its_sources(tmp_path, options):
    index = filled(SoftIndex.create(tmp_path / "x", **options))
    memory = filled(SoftIndex.create(**options))
    assert np.array_equal(index.S.to_scipy().toarray(), memory.S.to_scipy().toarray())
    assert shown(index)[-1][0] == shown(memory)[-1][0]


@pytest.fixture
def waiting(tmp_path, monkeypatch):
    """An index made from a file of another folder that is gone since."""
    (tmp_path / "there").mkdir()
    monkeypatch.chdir(tmp_path / "there")
    (tmp_path / "there" / "own.txt").write_text("tyre, wheel\n")
    recipe = SimilarityRecipe(sources=["own.txt", "texts"])
    index = SoftIndex.create(tmp_path / "x", similarity=recipe)
    monkeypatch.chdir(tmp_path)
    return index


def test_files_of_a_recipe_are_found_from_another_folder(waiting):
    assert sorted(filled(waiting).search("wheel").ids) == ["0", "2"]


def test_only_who_names_files_has_them_read(waiting, tmp_path):
    (tmp_path / "there" / "own.txt").unlink()
    if hasattr(os, "mkfifo"):
        os.mkfifo(tmp_path / "there" / "own.txt")  # to open it would block
    opened = SoftIndex.open(waiting.path, verify=True)
    opened.backup(tmp_path / "copy")
    for path in (waiting.path, tmp_path / "copy"):
        opened = SoftIndex.open(path)
        with pytest.raises(InvalidInputError, match=r"own\.txt.*similarity="):
            filled(opened)
        assert not len(opened)
    with pytest.raises(InvalidInputError, match="similarity is of type str"):
        SoftIndex.open(waiting.path, similarity="new.txt")
    (tmp_path / "new.txt").write_text("tyre, wheel\n")
    given = SimilarityRecipe(sources=["new.txt", "texts"])
    opened = filled(SoftIndex.open(waiting.path, similarity=given))
    assert sorted(opened.search("wheel").ids) == ["0", "2"]
    with pytest.raises(InvalidInputError, match="set_similarity"):
        SoftIndex.open(waiting.path, similarity=given)


def test_a_manifest_names_no_file_as_a_source(waiting):
    settings = waiting.snapshot.settings
    state = {**settings.to_dict(), "recipe": {"sources": ["/etc/hosts"]}}
    with pytest.raises(CorruptIndexError, match="/etc/hosts"):
        type(settings).from_dict(state)
    for recipe in (3, [], {"awaited": 3}, {"sources": 3}, {"sources": [[]]}):
        with pytest.raises(CorruptIndexError):
            type(settings).from_dict({**state, "recipe": recipe})
