"""``softcosine shards build`` and ``softcosine shards info``."""

from __future__ import annotations

import gzip
import json
import random

import pytest
from typer.testing import CliRunner

from softcosine.cli.app import app
from softcosine.cluster.manifest import ShardsManifest
from softcosine.index.soft_index import SoftIndex


@pytest.fixture
def run():
    def call(*arguments, status=0):
        result = CliRunner().invoke(app, [str(one) for one in arguments])
        assert result.exit_code == status, result.output
        return result.output

    return call


@pytest.fixture
def documents(tmp_path):
    rows = [
        {"sku": f"s{i}", "title": f"tea {i}", "body": f"green tea and tyre {i % 7}", "n": i}
        for i in range(60)
    ]
    (tmp_path / "all.jsonl").write_text("\n".join(map(json.dumps, rows)))
    return tmp_path / "all.jsonl"


OPTIONS = {
    "plain": ("--plain", "--text", "title", "--text", "body"),
    "fields": ("--field", "title=2", "--field", "body=1", "--ranking", "soft_bm25"),
    "rare": ("--text", "body", "--min-df", "9", "--encoder", "none", "--source", "english"),
}


@pytest.mark.parametrize("name", OPTIONS)
def test_shards_have_the_epoch_of_the_index_by_the_same_options(tmp_path, documents, run, name):
    options = (documents, "--id", "sku", *OPTIONS[name], "--json")
    one = json.loads(run("index", *options, "-o", tmp_path / "one.index"))
    folder = tmp_path / "all.shards"
    built = json.loads(
        run("shards", "build", *options, "-o", folder, "--docs-per-shard", 25, "--jobs", 1)
    )
    index = SoftIndex.open(tmp_path / "one.index")
    assert (built["epoch"], built["terms"]) == (index.epoch, one["terms"])
    assert (built["shards"], built["documents"], built["note"]) == (3, 60, one["note"])
    told = json.loads(run("shards", "info", folder, "--json"))
    manifest = ShardsManifest.read(folder)
    assert (told["epoch"], told["next_number"], told["documents"]) == (manifest.epoch, 60, 60)
    assert [shard["documents"] for shard in told["shards"]] == [s.n_docs for s in manifest.shards]
    assert 0 < max(shard["bytes"] for shard in told["shards"]) < told["bytes"] == built["bytes"]


def test_people_read_what_was_built(tmp_path, documents, run):
    folder = tmp_path / "all.shards"
    options = ("--id", "sku", "--text", "body", "--docs-per-shard", 30, "--plain")
    said = run("shards", "build", documents, "-o", folder, *options, "--jobs", 2)
    assert "Built 2 shards of 60 documents with" in said
    said = run("shards", "info", folder)
    assert "2 shards of 60 documents" in said
    assert "shard-0001" in said
    said = run("shards", "build", documents, "-o", folder, *options, status=1)
    assert "exists already" in said


def test_a_plan_is_about_right_and_writes_nothing(tmp_path, documents, run, monkeypatch):
    packed, few = tmp_path / "more.jsonl.gz", tmp_path / "few.jsonl"
    rng = random.Random(0)
    rows = ({"id": str(i), "text": f"{rng.getrandbits(400):x}"} for i in range(30_000))
    packed.write_bytes(gzip.compress("\n".join(map(json.dumps, rows)).encode()))
    few.write_text('{"id": "x", "text": "tea"}\n')
    before = sorted(tmp_path.iterdir())
    options = ("--docs-per-shard", 10_000, "--json")
    told = json.loads(run("shards", "plan", documents, few, *options))
    assert told == {
        "documents": 61, "shards": 1, "chunks": 2,
        "bytes": documents.stat().st_size + few.stat().st_size,
    }  # fmt: skip
    told = json.loads(run("shards", "plan", packed, *options))
    assert 25_000 < told["documents"] < 35_000
    assert told["shards"] in (3, 4)
    assert "About 61 documents in 1 shard, read in 2 chunks" in run(
        "shards", "plan", documents, few
    )
    assert sorted(tmp_path.iterdir()) == before
