"""The check of a sharded index: what is damaged in each folder, and folders that do not fit."""

from __future__ import annotations

import json
import shutil
from collections import Counter
from dataclasses import replace

import numpy as np
import pytest
from typer.testing import CliRunner

from sharded import documents_of, epoch, epoch_name, filled, in_folders, parts_of, shard_of
from softcosine.cli.app import app
from softcosine.cluster import sharded_check
from softcosine.cluster.manifest import ShardFacts, ShardsManifest, epoch_folder, shard_folder
from softcosine.cluster.sharded_check import check_shards
from softcosine.cluster.sharded_writer import ShardedWriter
from softcosine.errors import CorruptIndexError


@pytest.fixture
def folder(tmp_path):
    documents = documents_of("words", np.random.default_rng(4), 30)
    return in_folders(epoch("words"), tmp_path / "big.shards", documents, 3, ["doc2", "doc7"])


def run(*arguments, code=0):
    result = CliRunner().invoke(app, [str(one) for one in arguments])
    assert result.exit_code == code, result.output
    return result.output


def flip(file):
    data = bytearray(file.read_bytes())
    data[len(data) // 2] ^= 1
    file.write_bytes(data)


def test_an_intact_index_is_checked_whole(folder):
    found, own = check_shards(folder), ShardsManifest.read(folder)
    assert (found.damage, found.manifest) == ({}, own)
    assert list(found.commits) == [own.epoch_folder, *(one.folder for one in own.shards)]
    told = json.loads(run("admin", "check", folder, "--json"))
    files = [one for one in folder.glob("*/**/*") if one.is_file() and one.name != "write.lock"]
    assert (told["index"], told["shards"], told["files"]) == (str(folder), 3, len(files))
    assert f"is intact: {len(files)} files" in run("admin", "check", folder).replace("\n", " ")


def test_every_altered_file_is_found_in_its_folder(folder, tmp_path):
    files = [
        one.relative_to(folder) for one in folder.glob("*/**/*")
        if one.is_file() and one.name != "write.lock"
    ]  # fmt: skip
    chosen = {(one.parts[0], one.name): one for one in files}  # one of each kind
    for (name, _), file in chosen.items():
        copy = tmp_path / "copy"
        shutil.copytree(folder, copy)
        flip(copy / file)
        damage = check_shards(copy).damage
        assert list(damage) == [name], file
        assert str(copy / file) in damage[name]
        shutil.rmtree(copy)


def test_all_damaged_folders_are_named(folder):
    (first,) = (folder / "shard-0000" / "parts").glob("norms-*/*.npys")
    flip(first)
    shutil.rmtree(folder / "shard-0002")
    output = run("admin", "check", folder, code=1)
    lines = [line for line in output.splitlines() if line]
    assert len(lines) == 3
    assert lines[0].startswith("softcosine: shard-0000: ")
    assert first.name in lines[0]
    assert lines[1].startswith("softcosine: shard-0002: ")
    assert "2 of 4 folders" in lines[2]
    assert "are damaged: shard-0000, shard-0002. Restore them from a backup" in lines[2]
    (folder / "manifest.json").write_text("{}")
    with pytest.raises(CorruptIndexError):
        check_shards(folder)


def test_folders_that_do_not_fit_are_found(folder, tmp_path):
    old = tmp_path / "old"
    shutil.copytree(folder / "shard-0001", old)
    with ShardedWriter(folder) as writer:
        for number in range(30, 40):
            writer.add(f"doc{number}", "green tea")
    assert not check_shards(folder).damage
    shutil.rmtree(folder / "shard-0001")
    shutil.copytree(old, folder / "shard-0001")
    damage = check_shards(folder).damage
    assert list(damage) == ["shard-0001"]
    assert "no longer has the commit" in damage["shard-0001"]

    own = ShardsManifest.read(folder)
    shutil.move(folder / own.epoch_folder, tmp_path / "epoch")
    shard_of(epoch("static"), folder / own.epoch_folder)
    assert "its epoch is" in check_shards(folder).damage[own.epoch_folder]


@pytest.mark.parametrize("wrong", ["owner", "number", "next_number", "n_docs"])
def test_documents_that_contradict_the_manifest_are_found(tmp_path, wrong):
    documents, path = documents_of("words", np.random.default_rng(4), 20), tmp_path / "x"
    path.mkdir()
    parts, facts = parts_of(documents, 2), []
    if wrong == "owner":
        parts.reverse()
    if wrong == "number":
        parts[1][0] = (parts[0][-1][0] if parts[0][-1][0] < 3 else 0, *parts[1][0][1:])
        parts[0][0] = (0, *parts[0][0][1:])
    shard_of(epoch("words"), path / epoch_folder(epoch_name(epoch("words"))))
    for number, part in enumerate(parts):
        shard = filled(shard_of(epoch("words"), path / shard_folder(number), numbered=True), part)
        facts.append(ShardFacts(shard_folder(number), shard.commit, len(shard)))
    if wrong == "n_docs":
        facts[1] = replace(facts[1], n_docs=3)
    next_number = 10 if wrong == "next_number" else 20
    ShardsManifest(epoch_name(epoch("words")), next_number, tuple(facts)).write(path)
    said = " ".join(check_shards(path).damage.values())
    assert {
        "owner": "another shard owns", "number": "those of another shard",
        "next_number": "do not ascend up to", "n_docs": f"{len(parts[1])} documents, not 3",
    }[wrong] in said  # fmt: skip


def test_a_commit_during_the_check_is_checked(folder, monkeypatch):
    real, n_calls = sharded_check.check_index, Counter()

    def meddling(*arguments):
        n_calls["all"] += 1
        if n_calls["all"] in (3, 6):
            with ShardedWriter(folder) as writer:
                for number in range(30, 40):
                    writer.add(f"doc{number}", "green tea")
                writer.merge()
                writer.commit()
        return real(*arguments)

    monkeypatch.setattr(sharded_check, "check_index", meddling)
    found = check_shards(folder)
    assert not found.damage
    assert found.manifest == ShardsManifest.read(folder)


def test_a_copy_at_a_url_is_checked(folder, tmp_path, monkeypatch):
    pytest.importorskip("fsspec")
    monkeypatch.setenv("SOFTCOSINE_CACHE", str(tmp_path / "cache"))
    url = (tmp_path / "copy").as_uri()
    run("admin", "backup", folder, url)
    assert json.loads(run("admin", "check", url, "--json"))["index"] == url
    flip(next((tmp_path / "copy" / "shard-0001" / "parts").glob("segment-*/documents.sqlite")))
    shutil.rmtree(tmp_path / "cache")
    assert "shard-0001" in run("admin", "check", url, code=1)
