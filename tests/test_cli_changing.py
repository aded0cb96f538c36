"""``softcosine add``, ``delete``, ``merge``, ``refresh``, ``shard`` and ``join``."""

from __future__ import annotations

import io
import json
import os
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest

from softcosine.cli.options import bytes_in
from softcosine.cluster.sharded_index import ShardedIndex
from softcosine.errors import IndexLockedError, InvalidInputError
from softcosine.index.soft_index import SoftIndex
from softcosine.index.writer.index_writer import IndexWriter
from softcosine.storage.remote import is_sharded

TEXTS = {"bike": "A flat tyre of a bicycle", "tea": "The tea is cold", "car": "Repair of cars"}


@pytest.fixture
def folder(tmp_path, monkeypatch) -> Path:
    monkeypatch.chdir(tmp_path)
    path = tmp_path / "a.index"
    SoftIndex.from_texts(TEXTS.values(), ids=TEXTS).save(path)
    return path


def written(name: str, *records: object) -> str:
    text = "".join(f"{r if isinstance(r, str) else json.dumps(r)}\n" for r in records)
    Path(name).write_text(text, encoding="utf-8")
    return name


def texts_of(path: Path) -> dict[str, str]:
    index = SoftIndex.open(path)
    return {id: index.documents.text(index.documents.number(id)) for id in TEXTS if id in index}


def opened(path: Path):
    return ShardedIndex.open(path) if is_sharded(path) else SoftIndex.open(path)


def told(shown: str) -> str:
    return " ".join(shown.split())


@pytest.mark.parametrize("command", ["add", "delete", "admin merge", "admin refresh"])
def test_every_command_has_help_with_an_example(run, command):
    shown = run(*command.split(), "--help")
    assert f"    softcosine {command}" in shown
    assert "JSON: index," in shown


def test_documents_are_added_and_take_the_place_of_those_with_their_id(run, folder):
    path = written("b.jsonl", {"id": "tea", "text": "Hot cocoa"}, {"id": "x", "text": "green"})
    record = json.loads(run("add", folder, path, "--json"))
    assert set(record) == {
        "index", "new", "replaced", "documents", "terms", "new_terms", "segments", "generation",
        "bytes", "seconds", "types", "note",
    }  # fmt: skip
    assert record["note"] == ""
    assert (record["new"], record["replaced"], record["documents"]) == (1, 1, 4)
    assert record["new_terms"] == 3
    assert record["generation"] == 2
    assert texts_of(folder)["tea"] == "Hot cocoa"
    shown = told(run("add", folder, path))
    assert "Added 0 new documents, and replaced 2, with 0 new terms" in shown
    assert "a.index has 4 documents." in shown


def test_metadata_and_new_words_are_found_afterwards(run, folder):
    path = written("b.jsonl", {"id": "x", "text": "a motorbike and cocoa", "lang": "en"})
    run("add", folder, path)
    hits = json.loads(run("search", folder, "bicycle", "--where", "lang=en", "--json"))["hits"]
    assert [(hit["id"], hit["metadata"]) for hit in hits] == [("x", {"lang": "en"})]


def test_new_words_that_no_source_can_be_asked_about_are_told(run, folder):
    path = folder.with_name("unsourced.index")
    made = SoftIndex.open(folder)
    made.with_similarity(made.S).save(path)
    new = written("b.jsonl", {"id": "x", "text": "cocoa"})
    assert "new terms have no similar terms." in told(run("add", path, new))
    assert "new terms are similar" not in told(run("add", path, new))


def test_running_numbers_go_on_where_those_of_the_index_end(run, folder, monkeypatch):
    run("add", folder, written("a.txt", "red", "blue"))
    raw = io.BytesIO(b"green\n")
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BufferedReader(raw)))
    record = json.loads(run("add", folder, "-", "--json"))
    assert (record["new"], record["replaced"]) == (1, 0)
    index = SoftIndex.open(folder)
    assert [index.documents.text(index.documents.number(id)) for id in "123"] == [
        "red", "blue", "green",
    ]  # fmt: skip


def test_fields_of_an_index_are_read_by_their_names(run, folder):
    path = folder.with_name("fields.index")
    SoftIndex.create(path, fields={"title": 2, "body": 1}, plain=True)
    run(
        "add",
        path,
        written("b.jsonl", {"id": 1, "title": "red", "body": "tea"}, {"title": "x", "id": 2}),
    )
    index = SoftIndex.open(path)
    assert [hit.id for hit in index.search("red")] == ["1"]
    message = run("add", path, "b.jsonl", "--text", "body", code=2)
    assert "has the fields title, body" in message
    assert "there is no field 'title' or 'body'" in run(
        "add", path, written("c.jsonl", {"id": 1, "text": "red"}), code=2
    )


@pytest.mark.parametrize("command", ["index", "shards build"])
def test_the_columns_that_made_an_index_are_those_of_later_files(run, folder, tmp_path, command):
    def table(name, *rows):
        path = tmp_path / name
        path.write_text("\n".join(["sku,question,answer,text,n", *rows]))
        return path

    path, first = tmp_path / "faq", table("a.csv", "a,How to pay?,By card,other,1")
    chosen = "--id", "sku", "--text", "question", "--text", "answer"
    run(*command.split(), first, "-o", path, *chosen, "--encoder", "none")
    run("add", path, table("b.csv", "b,How to send?,By parcel,other,2", "a,Why?,No,other,3"))
    documents = opened(path).get(["a", "b"])
    assert {one.id: (one.text, one.metadata) for one in documents} == {
        "a": ("Why?\nNo", {"title": "Why?", "text": "other", "n": 3}),
        "b": ("How to send?\nBy parcel", {"title": "How to send?", "text": "other", "n": 2}),
    }
    run("add", path, table("c.csv", "c,How?,So,tea,2"), "--id", "answer", "--text", "text")
    assert opened(path).get(["So"])[0].text == "tea"
    message = run("add", path, written("d.jsonl", {"sku": "d", "text": "tea"}), code=2)
    assert "no field 'question' or 'answer'" in told(message)
    assert "Choose by --text NAME." in told(message)


def test_the_id_column_is_remembered_with_fields_of_their_own_scores(run, tmp_path):
    path, file = tmp_path / "a.index", tmp_path / "a.csv"
    file.write_text("sku,name,body\na,tea,green\n")
    run("index", file, "-o", path, "--id", "sku", "--field", "name=2", "--field", "body")
    file.write_text("sku,name,body\nb,tea,black\n")
    run("add", path, file)
    assert [(one.id, one.text) for one in opened(path).get(["b"])] == [("b", "tea\nblack")]


def test_documents_are_deleted_by_name_and_from_a_list(run, folder, monkeypatch):
    assert "Deleted 1 document, in" in told(run("delete", folder, "tea"))
    raw = io.BytesIO(b"bike\n\nnobody\nbike\n")
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BufferedReader(raw)))
    record = json.loads(run("delete", folder, "--from", "-", "--missing-ok", "--json"))
    assert set(record) == {
        "index", "deleted", "missing", "documents", "segments", "generation", "bytes", "seconds"
    }  # fmt: skip
    assert (record["deleted"], record["missing"], record["documents"]) == (1, 1, 1)
    assert "1 ids not found" in told(run("delete", folder, "nobody", "--missing-ok"))
    assert list(texts_of(folder)) == ["car"]


def test_an_empty_list_deletes_nothing(run, folder):
    assert "Deleted 0 documents" in run("delete", folder, "--from", written("none.txt"))
    assert SoftIndex.open(folder).snapshot.generation == 1


def test_what_is_not_there_is_an_error_and_nothing_is_deleted(run, folder):
    message = run("delete", folder, "tea", "nobody", code=1)
    assert message == "softcosine: there is no document with the id 'nobody' in the index.\n"
    assert len(texts_of(folder)) == 3
    assert "nothing to delete" in run("delete", folder, code=2)


def test_segments_are_merged_and_room_is_freed(run, folder):
    for number in range(3):
        run("add", folder, written("b.jsonl", {"id": number, "text": f"red {number}"}))
    run("delete", folder, "tea")
    record = json.loads(run("admin", "merge", folder, "--json", "--refresh"))
    assert set(record) == {
        "index", "segments_before", "bytes_before", "documents", "segments", "generation",
        "bytes", "seconds",
    }  # fmt: skip
    assert (record["segments_before"], record["segments"]) == (4, 1)
    facts = json.loads(run("info", folder, "--json"))
    assert (facts["deleted"], facts["documents"], facts["counted"]) == (0, 5, 5)
    shown = told(run("admin", "merge", folder))
    assert shown.startswith("Merged 1 segment of")
    assert " into 1 of " in shown


def test_words_are_counted_anew_on_demand(run, folder):
    run("delete", folder, "tea", "--no-refresh")
    shown = told(run("info", folder))
    assert "2, and 1 deleted, which take space until a merge" in shown
    assert "computed for 3 documents" in shown
    assert json.loads(run("info", folder, "--json"))["counted"] == 3
    record = json.loads(run("admin", "refresh", folder, "--json"))
    assert set(record) == {
        "index", "counted_before", "documents", "segments", "generation", "bytes", "seconds"
    }  # fmt: skip
    assert record["counted_before"] == 3
    assert json.loads(run("info", folder, "--json"))["counted"] == 2
    assert "The term weights were up to date" in told(run("admin", "refresh", folder))


@pytest.mark.parametrize("command", [["add"], ["delete"], ["admin", "merge"], ["admin", "refresh"]])
def test_a_second_writer_is_told_how_to_wait(run, folder, command):
    written("b.jsonl", {"id": "x", "text": "red"})
    rest = {"add": ["b.jsonl"], "delete": ["tea"]}.get(command[-1], [])
    with SoftIndex.open(folder).writer():
        message = told(run(*command, folder, *rest, "--wait", 0, code=1))
        assert "has the index" in message
        assert message.endswith("one at a time; wait longer by --wait SECONDS.")
        message = told(run(*command, folder, *rest, "--wait", "0.05", code=1))
        assert "open still after 0.05 seconds" in message
        assert message.endswith("; wait longer by --wait SECONDS.")


def test_a_filter_deletes_the_documents_that_pass_it(run, folder):
    with SoftIndex.open(folder).writer() as writer:
        writer.update_metadata("tea", {"year": 2019})
        writer.update_metadata("car", {"year": 2021})
    record = json.loads(run("delete", folder, "--where", "year>2020", "--json"))
    assert (record["deleted"], record["missing"], record["documents"]) == (1, 0, 2)
    record = json.loads(run("delete", folder, "bike", "--where", "year=2019", "--json"))
    assert (record["deleted"], record["documents"]) == (2, 0)
    assert "a filter by --where" in run("delete", folder, code=2)


def test_a_second_writer_waits(run, folder):
    writer = SoftIndex.open(folder).writer()
    writer.delete("tea")
    writer.commit()
    timer = threading.Timer(0.2, writer.close)
    timer.start()
    record = json.loads(run("delete", folder, "car", "--json"))
    timer.join()
    assert (record["deleted"], record["documents"]) == (1, 1)
    assert record["generation"] > 2


def test_an_interrupted_change_leaves_the_index_as_it_was(run, folder, monkeypatch):
    def interrupt(*arguments, **options):
        raise KeyboardInterrupt

    before = {path: path.read_bytes() for path in folder.rglob("*.*") if path.is_file()}
    monkeypatch.setattr(IndexWriter, "commit", interrupt)
    written("b.jsonl", {"id": "x", "text": "red"})
    for command in ("add FOLDER b.jsonl", "delete FOLDER tea", "admin merge FOLDER"):
        given = command.replace("FOLDER", str(folder)).split()
        assert "interrupted; nothing was left half-written." in run(*given, code=130)
    after = {path: path.read_bytes() for path in folder.rglob("*.*") if path.is_file()}
    del after[folder / "write.lock"]
    assert after == before


@pytest.mark.parametrize(
    ("records", "message"),
    [
        ([{"id": 1, "text": "red"}, {"id": 1, "text": "blue"}], "the id '1' was given before"),
        ([{"id": 1, "text": "red"}, {"id": 2}], "line 2: there is no field 'text'"),
        (["{"], "line 1: this is no JSON"),
        ([], "no documents found"),
    ],
)
def test_bad_documents_are_one_line_and_nothing_is_added(run, folder, records, message):
    shown = run("add", folder, written("b.jsonl", *records), code=2)
    assert message in shown
    assert shown.count("\n") == 1
    assert SoftIndex.open(folder).snapshot.generation == 1
    assert len(SoftIndex.open(folder)) == 3


@pytest.mark.parametrize(
    ("arguments", "code", "message"),
    [
        (["add", "nowhere", "b.txt"], 1, "there is no index at nowhere"),
        (["add", "INDEX", "nowhere.txt"], 1, "nowhere.txt: No such file"),
        (["add", "INDEX"], 2, "Missing argument"),
        (["add", "INDEX", "b.txt", "--memory", "much"], 2, "--memory is 'much'; give a size"),
        (["add", "INDEX", "b.txt", "--wait", "-1"], 2, "'--wait'"),
        (["delete", "nowhere", "x"], 1, "there is no index at nowhere"),
        (["delete", "INDEX", "--from", "nowhere"], 1, "nowhere: No such file"),
        (["admin", "merge", "nowhere"], 1, "there is no index at nowhere"),
        (["admin", "refresh", "."], 1, "is no softcosine index"),
    ],
)
def test_every_error_is_one_clear_line(run, folder, arguments, code, message):
    arguments = [folder if argument == "INDEX" else argument for argument in arguments]
    shown = run(*arguments, code=code)
    assert message in shown
    assert shown.startswith("softcosine: ")
    assert shown.count("\n") == 1


@pytest.mark.parametrize(
    ("given", "n_bytes"),
    [("1M", 1 << 20), ("2g", 2 << 30), ("1.5 GiB", 3 << 29), ("2000000", 2_000_000)],
)
def test_sizes_of_memory_have_units(given, n_bytes):
    assert bytes_in(given) == n_bytes


@pytest.mark.parametrize("given", ["", "M", "1X", "-1G", "1K", "1,5G", "nan"])
def test_what_is_no_size_of_memory_is_named(given):
    with pytest.raises(InvalidInputError, match="give a size of at least 1M"):
        bytes_in(given)


@pytest.mark.skipif(os.name == "nt", reason="signals come otherwise there")
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_process_that_is_ended_lets_the_next_writer_in(folder, number):
    child = subprocess.Popen(
        [sys.executable, "-m", "softcosine", "add", str(folder), "-", "--wait", "60"],
        stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
    )  # fmt: skip
    assert child.stdin is not None
    child.stdin.write(b"red\nblue\n")
    child.stdin.flush()
    while child.poll() is None:  # until it has the lock
        try:
            with SoftIndex.open(folder).writer(timeout=0):
                time.sleep(0.05)
        except IndexLockedError:
            break
    child.send_signal(number)
    _, message = child.communicate()
    assert child.returncode == (130 if number == signal.SIGINT else 128 + number), message
    assert b"Traceback" not in message
    with SoftIndex.open(folder).writer() as writer:
        writer.delete("tea")
    assert len(SoftIndex.open(folder)) == 2


def test_an_index_is_frozen_and_released(run, folder):
    assert "Updated the term weights and froze the index" in told(
        run("admin", "refresh", folder, "--freeze")
    )
    epoch = json.loads(run("info", folder, "--json"))["epoch"]
    assert f"{epoch}, frozen" in told(run("info", folder))
    assert "is frozen, so it cannot count" in run("admin", "refresh", folder, code=2)
    assert "Updated the term weights and thawed the index" in told(
        run("admin", "refresh", folder, "--thaw")
    )
