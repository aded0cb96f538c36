"""``softcosine shards build``, and the commands on what it builds."""

from __future__ import annotations

import json

import pytest
from typer.testing import CliRunner

from softcosine.cli.app import app
from softcosine.cluster.manifest import ShardsManifest
from softcosine.cluster.sharded_index import ShardedIndex
from softcosine.errors import IndexFormatError
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
    "fields": (
        "--field", "title=2", "--field", "body=1", "--ranking", "soft_bm25", "--encoder", "static",
    ),
    "rare": ("--text", "body", "--min-df", "9", "--encoder", "none", "--source", "english"),
}  # fmt: skip


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
    told = json.loads(run("info", folder, "--json"))
    manifest = ShardsManifest.read(folder)
    assert (told["epoch"], told["documents"]) == (manifest.epoch, 60)
    assert [shard["n_docs"] for shard in told["shards"]] == [s.n_docs for s in manifest.shards]
    assert 0 < built["bytes"] == told["bytes"]


def test_people_read_what_was_built(tmp_path, documents, run):
    folder = tmp_path / "all.shards"
    options = ("--id", "sku", "--text", "body", "--docs-per-shard", 30, "--plain")
    said = run("shards", "build", documents, "-o", folder, *options, "--jobs", 2)
    assert "Indexed 60 documents in 2 shards with" in said
    said = run("shards", "build", documents, "-o", folder, *options, status=1)
    assert "exists already" in said


def test_a_file_as_target_is_left_alone_and_a_folder_is_no_input(tmp_path, documents, run):
    taken = tmp_path / "taken.jsonl"
    taken.write_text("{}")
    message = run("shards", "build", documents, "--id", "sku", "-o", taken, status=1)
    assert "taken.jsonl exists and is a file; choose another name." in message
    assert taken.read_text() == "{}"
    assert "this is a folder; name its files" in run(
        "shards", "build", tmp_path, "-o", tmp_path / "x.shards", status=1
    )


def test_wrong_kinds_of_folder_are_named_plainly(tmp_path, documents, run):
    shards, one = tmp_path / "all.shards", tmp_path / "one.index"
    options = (documents, "--id", "sku", "--text", "body", "--plain", "-o")
    run("shards", "build", *options, shards, "--jobs", 1)
    run("index", *options, one)
    with pytest.raises(IndexFormatError) as error:
        SoftIndex.open(shards)
    message = " ".join(str(error.value).split())
    assert "holds a softcosine sharded index; a softcosine index was needed." in message
    assert f"open a single shard, such as {shards}/shard-0000." in message
    message = run("search", documents.as_uri(), "tea", status=1)
    assert message.count("there is no index at file:///") == 1


def test_replicas_need_ray_also_in_a_server(tmp_path, documents, run):
    options = (documents, "--id", "sku", "--text", "body", "--plain", "--jobs", 1)
    run("shards", "build", *options, "-o", tmp_path / "all.shards")
    message = run("serve", tmp_path, "--replicas", 2, "--port", 0, status=2)
    assert "--replicas needs --engine ray" in message


def test_shards_are_changed_as_one_index(tmp_path, documents, run):
    shards, more = tmp_path / "all.shards", tmp_path / "more.jsonl"
    options = ("--id", "sku", "--text", "body", "--json")
    run("shards", "build", documents, *options, "--plain", "--docs-per-shard", 25, "-o", shards)
    more.write_text(
        '{"sku": "s1", "body": "black tea"}\n{"sku": "new", "body": "green green tea"}\n'
    )
    added = json.loads(run("add", shards, more, *options))
    assert (added["new"], added["replaced"], added["documents"]) == (1, 1, 61)
    deleted = json.loads(run("delete", shards, "s2", "none", "--missing-ok", "--json"))
    assert (deleted["deleted"], deleted["missing"], deleted["documents"]) == (1, 1, 60)
    assert json.loads(run("delete", shards, "--where", "n<5", "--json"))["deleted"] == 3
    assert json.loads(run("admin", "merge", shards, "--json"))["segments"] <= 3
    with ShardedIndex.open(shards) as index:
        assert len(index) == 57
        assert index.get(["s1", "new"])[1].text == "green green tea"


def test_shards_refuse_changes_that_need_one_index(tmp_path, documents, run):
    shards, more = tmp_path / "all.shards", tmp_path / "more.jsonl"
    options = ("--id", "sku", "--text", "body", "--plain", "-o")
    run("shards", "build", documents, *options, shards)
    more.write_text('{"id": "a", "text": "green tea"}\n')
    run("shards", "build", more, "--plain", "-o", tmp_path / "ids.shards")
    more.write_text('{"text": "green tea"}\n')
    message = run("add", tmp_path / "ids.shards", more, status=2)
    assert "those of a sharded index need some" in message
    for command in (["refresh"], ["refresh", "--thaw"], ["encode", "--encoder", "static"]):
        assert "build them anew" in run("admin", command[0], shards, *command[1:], status=2)
    assert run("delete", shards, "none", status=1).startswith("softcosine: there is no document")
    with ShardedIndex.open(shards) as index:
        assert len(index) == 60


@pytest.mark.parametrize("kind", ["index", "shards"])
def test_the_url_of_a_copy_is_shown_as_given(tmp_path, documents, run, kind):
    made, url = tmp_path / "made", (tmp_path / "copy").as_uri()
    options = (documents, "--id", "sku", "--text", "body", "--plain", "-o", made)
    run(*(("shards", "build") if kind == "shards" else ("index",)), *options)
    run("admin", "backup", made, url)
    assert run("info", url).replace("\n", "").startswith(url)  # it may be wrapped
    assert json.loads(run("info", url, "--json"))["index"] == url
