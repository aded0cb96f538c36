"""What is left of a damaged index."""

from __future__ import annotations

import json
import shutil

import pytest

import crafted
from softcosine import MergePolicy, SoftIndex
from softcosine.errors import (
    AlreadyExistsError,
    CorruptIndexError,
    InvalidInputError,
)
from softcosine.index.directory.check import check_index
from softcosine.index.directory.store import Store
from softcosine.similarity.pairs import PairSimilarity
from toy_encoder import ToyEncoder, toy_space
from toys import ToySource

TEXTS = ["a flat tyre on my bike", "tea and coffee", "the tire of a bike", "green tea", "old bike"]


@pytest.fixture(scope="module")
def written(tmp_path_factory):
    """Three segments: 0 and 1 (1 deleted), 2 and 3, 4."""
    path = tmp_path_factory.mktemp("salvage") / "x"
    SoftIndex.create(path, source=ToySource({("tyre", "tire"): 0.8}), ranking="soft_cosine")
    for first in (0, 2, 4):
        with SoftIndex.open(path).writer(merge=None) as writer:
            for number in range(first, min(first + 2, len(TEXTS))):
                writer.add(str(number), TEXTS[number], {"n": number})
    with SoftIndex.open(path).writer(merge=None) as writer:
        writer.delete("1")
    return path


@pytest.fixture
def copied(written, tmp_path):
    return shutil.copytree(written, tmp_path / "x")


def spoil(path, kind, name, *, number=0):
    """Alter the last byte of a file of the segment `number`, or of the only part of a kind."""
    settings = Store.open(path).read().settings
    segments = settings["segments"]
    part = settings[kind] if kind in settings else segments[number][kind]
    file = path / "parts" / part / name
    content = file.read_bytes()
    file.write_bytes(content[:-1] + bytes([content[-1] ^ 1]))
    return file


def ids_of(index):
    return sorted(hit.id for hit in index.search("bike tea tyre coffee old", k=10))


def scores_of(index):
    return {hit.id: hit.score for hit in index.search("tyre tea bike old", k=10)}


@pytest.mark.parametrize(
    ("kind", "name", "number", "left", "lost"),
    [
        ("part", "documents.sqlite", 0, ["2", "3", "4"], 2),
        ("part", "0.npys", 1, ["0", "4"], 2),
        ("part", "manifest.json", 2, ["0", "2", "3"], 1),
        ("deleted", "arrays.npys", 0, ["2", "3", "4"], 2),
    ],
)
def test_a_damaged_segment_is_left_out_and_the_others_keep_their_scores(
    copied, tmp_path, kind, name, number, left, lost
):
    before = scores_of(SoftIndex.open(copied))
    file = spoil(copied, kind, name, number=number)
    report = SoftIndex.salvage(copied, tmp_path / "y")
    assert (report.n_docs, report.n_lost) == (len(left), lost)
    assert len(report.damage) == 1
    assert str(file.parent if name == "manifest.json" else file.name) in report.damage[0]
    index = SoftIndex.open(tmp_path / "y", verify=True)
    assert ids_of(index) == left
    assert scores_of(index) == {id: before[id] for id in left}
    assert [index.documents.metadata(index.documents.number(id))["n"] for id in left] == [
        int(id) for id in left
    ]
    check_index(Store.open(tmp_path / "y"))
    with index.writer(merge=MergePolicy(2)) as writer:  # what was lost is added anew
        for number in range(len(TEXTS)):
            if str(number) not in left:
                writer.add(str(number), TEXTS[number])
    assert ids_of(index) == ["0", "1", "2", "3", "4"]


@pytest.mark.parametrize(
    ("kind", "name"), [("norms", "arrays.npys"), ("statistics", "manifest.json")]
)
def test_norms_and_statistics_are_computed_anew(copied, tmp_path, kind, name):
    before = scores_of(SoftIndex.open(copied))
    spoil(copied, kind, name)
    report = SoftIndex.salvage(copied, tmp_path / "y")
    assert (report.n_docs, report.n_lost, len(report.damage)) == (4, 0, 1)
    found = scores_of(SoftIndex.open(tmp_path / "y"))
    if kind == "norms":
        assert found == before
    assert set(found) == set(before)


def test_a_missing_part_and_two_damaged_ones_leave_what_is_whole(copied, tmp_path):
    spoil(copied, "part", "0.npys", number=1)
    settings = Store.open(copied).read().settings
    shutil.rmtree(copied / "parts" / settings["segments"][0]["part"])
    report = SoftIndex.salvage(copied, tmp_path / "y")
    assert (report.n_docs, report.n_lost, len(report.damage)) == (1, 4, 2)
    assert ids_of(SoftIndex.open(tmp_path / "y")) == ["4"]


def test_without_any_document_left_nothing_is_written(copied, tmp_path):
    for number in range(3):
        spoil(copied, "part", "documents.sqlite", number=number)
    with pytest.raises(CorruptIndexError, match=r"no document is left, up to 5 are lost\..*sqlite"):
        SoftIndex.salvage(copied, tmp_path / "y")
    assert not (tmp_path / "y").exists()


def test_an_index_without_documents_is_rescued_whole(tmp_path):
    SoftIndex.create(tmp_path / "x")
    assert SoftIndex.salvage(tmp_path / "x", tmp_path / "y").n_docs == 0


@pytest.mark.parametrize("deleted", [True, False])
def test_a_damaged_source_is_left_out_and_said_to_be_lost(tmp_path, deleted):
    path = tmp_path / "x"
    source = PairSimilarity({("tyre", "tire"): 0.8, ("tyre", "pneu"): 0.7})
    SoftIndex.from_texts(TEXTS, source=source).save(path)
    before = scores_of(SoftIndex.open(path))
    (part,) = (path / "parts").glob("space-*")
    file = part / "source.npys"
    content = file.read_bytes()
    file.unlink()
    if not deleted:
        file.write_bytes(content[:-1] + bytes([content[-1] ^ 1]))
    report = SoftIndex.salvage(path, tmp_path / "y")
    assert (report.n_docs, report.n_lost, len(report.damage)) == (len(TEXTS), 0, 1)
    assert str(file) in report.damage[0]
    assert "The source of the similarities is lost" in report.damage[0]
    index = SoftIndex.open(tmp_path / "y", verify=True)
    assert index.source is None
    assert scores_of(index) == before
    assert not len(index.search("pneu"))
    check_index(Store.open(tmp_path / "y"))


def test_a_whole_index_is_rescued_whole(written, tmp_path):
    report = SoftIndex.salvage(written, tmp_path / "y")
    assert (report.n_docs, report.n_lost, report.damage) == (4, 0, ())
    assert scores_of(SoftIndex.open(tmp_path / "y")) == scores_of(SoftIndex.open(written))


def test_what_cannot_be_rescued_says_why_and_writes_nothing(copied, tmp_path):
    with pytest.raises(InvalidInputError, match="is the damaged index itself"):
        SoftIndex.salvage(copied, copied, overwrite=True)
    (tmp_path / "y").mkdir()
    with pytest.raises(AlreadyExistsError, match="is no softcosine index"):
        SoftIndex.salvage(copied, tmp_path / "y")
    with pytest.raises(FileNotFoundError):
        SoftIndex.salvage(tmp_path / "nothing", tmp_path / "z")
    spoil(copied, "space", "matrix.npys")
    with pytest.raises(CorruptIndexError, match=r"without its vocabulary: .*matrix\.npys"):
        SoftIndex.salvage(copied, tmp_path / "z")
    (copied / "manifest.json").write_text("{}")
    with pytest.raises(OSError, match="manifest"):
        SoftIndex.salvage(copied, tmp_path / "z")
    assert not (tmp_path / "z").exists()


def test_parts_that_the_manifest_does_not_list_are_lost_and_named(copied, tmp_path):
    settings = Store.open(copied).read().settings
    first = settings["segments"][0]["part"]
    crafted.rewrite_index_manifest(copied, lambda manifest: manifest["parts"].pop(first))
    salvaged = SoftIndex.salvage(copied, tmp_path / "y")
    assert (salvaged.n_docs, salvaged.n_lost) == (3, 2)
    assert f"does not list the part {first}" in salvaged.damage[0]
    space = settings["space"]
    crafted.rewrite_index_manifest(copied, lambda manifest: manifest["parts"].pop(space))
    with pytest.raises(CorruptIndexError, match=f"without its vocabulary: .* the part {space}"):
        SoftIndex.salvage(copied, tmp_path / "z")


def test_the_command_tells_what_is_left(run, copied, tmp_path):
    spoil(copied, "part", "documents.sqlite", number=1)
    told = run("admin", "salvage", copied, "-o", tmp_path / "y")
    assert "documents.sqlite" in told
    assert "has 2 documents; up to 2 were lost." in " ".join(told.split())
    facts = json.loads(
        run("admin", "salvage", copied, "-o", tmp_path / "y", "--overwrite", "--json")
    )
    assert (facts["n_docs"], facts["n_lost"], len(facts["damage"])) == (2, 2, 1)
    assert "exists already" in run("admin", "salvage", copied, "-o", tmp_path / "y", code=1)
    told = run("admin", "salvage", tmp_path / "y", "-o", tmp_path / "z")
    assert "has all 2 documents." in " ".join(told.split())


def test_a_damaged_space_of_meaning_costs_the_coordinates_alone(tmp_path):
    index = SoftIndex.from_texts(
        TEXTS, encoder=ToyEncoder(), meaning_space=toy_space(["bike", "tea"]),
        source=ToySource({("tyre", "tire"): 0.8}), ranking="soft_cosine",
    )  # fmt: skip
    index.save(tmp_path / "x")
    part = Store.open(tmp_path / "x").read().settings["meaning"]
    (tmp_path / "x" / "parts" / part / "manifest.json").write_text("{", "utf-8")
    salvaged = SoftIndex.salvage(tmp_path / "x", tmp_path / "y")
    assert (salvaged.n_docs, salvaged.n_lost) == (len(TEXTS), 0)
    left = SoftIndex.open(tmp_path / "y", verify=True)
    assert left.snapshot.n_encoded == 0
    by_words = index.search("tyre tea", ask="words")
    assert [(hit.id, hit.score) for hit in left.search("tyre tea")] == [
        (hit.id, hit.score) for hit in by_words
    ]
