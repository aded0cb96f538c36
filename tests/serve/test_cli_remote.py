"""An address of `softcosine serve` in place of the folder of an index, on the command line."""

from __future__ import annotations

import inspect
import json
from functools import partial
from typing import get_type_hints

import pytest

import softcosine as sc
from serve_answers import bridge
from softcosine.cli.app import _COMMANDS, _GROUPS, command_of
from softcosine.cli.opening import name_of
from softcosine.cli.options import AnyIndex, Index
from softcosine.serve.keys import KeyRing

pytest.importorskip("httpx")

URL = "http://server:8080/faq"
UNLIKE = {
    "seconds",
    "index",
    "bytes",
    "note",
    "counted_before",
    "bytes_before",
    "per_second",
    "commit",
}


@pytest.fixture
def served(serving, monkeypatch):
    """Let the command line reach a server in this process."""

    def start(**settings):
        limits = {"timeout_ms": 300_000}  # kernels may be compiled first
        transport = bridge(serving(limits=limits, **settings))
        monkeypatch.setattr("softcosine.client.Client", partial(sc.Client, transport=transport))

    start()
    return start


@pytest.fixture
def encoded(root):
    """Give the documents of the index coordinates."""
    with sc.SoftIndex.open(root / "faq").writer() as writer:
        writer.encode("static")


@pytest.fixture
def files(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    records = [{"id": "tea", "text": "black tea"}, {"id": "x", "text": "a kettle", "n": 7}]
    (tmp_path / "new.jsonl").write_text("".join(f"{json.dumps(one)}\n" for one in records))
    (tmp_path / "lines.txt").write_text("a kettle\n")
    (tmp_path / "gone.txt").write_text("tea\nnobody\n")
    return tmp_path


def alike(shown):
    lines = [json.loads(line) for line in shown.splitlines()]
    return [
        {key: value for key, value in line.items() if key not in UNLIKE}
        if isinstance(line, dict)
        else line
        for line in lines
    ]


def at(command, place):
    """Return the arguments, with the index after the name of the command."""
    first = 2 if command[0] in ("admin", "collection", "server") else 1
    return (*command[:first], place, *command[first:])


READING = [
    ("search", "bicycle tire", "--explain", "--plan", "--where", "n<9"),
    ("search", "bicycle tire", "-k", "1", "--facet", "kind"),
    ("search", "tea", "--sort", "-n", "--offset", "1", "-k", "1"),
    ("similar", "bike", "--explain"),
    ("similar", "tea", "-k", "1", "--where", "kind=drink"),
    ("explain", "bicycle tires", "bike"),
    ("explain", "tea", "pot/1", "--ranking", "soft_cosine", "--ask", "words"),
    ("terms", "bicycle", "tyre", "-k", "2"),
    ("terms", "tea", "--origins"),
    ("collection", "pairs", "--min", "0.01"),
    ("collection", "pairs", "-k", "2"),
    ("dedupe", "--min", "0.1"),
    ("dedupe", "--min", "0.1", "--keep", "first"),
]


@pytest.mark.parametrize("command", READING, ids=" ".join)
def test_what_is_read_is_that_of_the_folder(run, served, root, command):
    found, expected = (run(*at(command, place), "--json") for place in (URL, root / "faq"))
    assert alike(found) == alike(expected)
    found, expected = (run(*at(command, place)).splitlines() for place in (URL, root / "faq"))
    differ = [line for line in found if line not in expected]
    assert all("loading included" in line for line in differ)


BY_MEANING = [
    ("search", "bicycle tire", "--meaning", "3"),
    ("similar", "tea", "-k", "1", "--meaning", "2"),
    ("explain", "bicycle tires", "bike", "--meaning", "2"),
    ("collection", "pairs", "-k", "1", "--by", "both"),
]


@pytest.mark.parametrize("command", [*READING, *BY_MEANING], ids=" ".join)
def test_what_is_read_by_meaning_is_that_of_the_folder(run, encoded, served, root, command):
    found, expected = (run(*at(command, place), "--json") for place in (URL, root / "faq"))
    assert alike(found) == alike(expected)


def test_a_query_for_another_server_is_that_of_the_folder(run, served, root):
    found, expected = (
        run("server", "expand", place, "bicycle tires", "--to", "solr", "--field", "body")
        for place in (URL, root / "faq")
    )
    assert found == expected


@pytest.mark.parametrize(
    "command",
    [
        ("add", "new.jsonl"),
        ("add", "new.jsonl", "--refresh"),
        ("delete", "tea", "car", "--where", "n=1"),
        ("delete", "--from", "gone.txt", "--missing-ok"),
        ("admin", "merge"),
        ("admin", "refresh"),
    ],
    ids=" ".join,
)
def test_what_is_changed_is_that_of_the_folder(run, served, root, files, command):
    copy = files / "copy"
    sc.SoftIndex.open(root / "faq").backup(copy)
    found, expected = (alike(run(*at(command, place), "--json"))[0] for place in (URL, copy))
    assert found == {key: expected[key] for key in found}
    own, other = (sc.SoftIndex.open(path) for path in (root / "faq", copy))
    assert own.get(list(own)) == other.get(list(other))


def test_the_summary_of_a_change_names_the_address(run, served, files):
    shown = run("add", URL, "new.jsonl")
    assert "Added 1 new document, and replaced 1" in shown
    assert f"{URL} has 5 documents" in shown


def test_documents_of_a_server_need_ids(run, served, files):
    assert "choose their field by --id" in run("add", URL, "lines.txt", code=2)


def test_a_change_that_is_refused_changes_nothing(run, served, root, files):
    before = sc.SoftIndex.open(root / "faq").commit
    assert "nobody" in run("delete", URL, "tea", "nobody", code=1)
    served(read_only=True)
    assert "--read-only" in run("add", URL, "new.jsonl", code=1)
    assert sc.SoftIndex.open(root / "faq").commit == before


def test_the_state_of_an_index(run, served, root):
    told = json.loads(run("info", URL, "--json"))
    expected = json.loads(run("info", root / "faq", "--json"))
    same = told.keys() & expected.keys() - {"index"}
    assert {key: told[key] for key in same} == {key: expected[key] for key in same}
    shown = run("info", URL)
    assert shown.startswith(URL)
    assert told["commit"] in shown


@pytest.mark.parametrize(
    ("command", "told"),
    [
        (("search", URL, "tea", "--encoder", "x"), "--encoder is for an index in a folder"),
        (("explain", URL, "tea", "car", "--plot", "a.png"), "--plot is for"),
        (("collection", "pairs", URL, "-k", "1", "--threads", "2"), "--threads is for"),
        (("add", URL, "new.jsonl", "--memory", "2G", "--wait", "3"), "--memory and --wait are"),
        (("admin", "refresh", URL, "--thaw"), "--thaw is for"),
        (("search", "http://server:8080/gone", "tea"), "there is no index 'gone'"),
        (("search", "http://server:8080", "tea"), "add its name: http://server:8080/faq"),
        (("index", "new.jsonl", "-o", URL), "needs the files of an index"),
        (("mcp", f"a={URL}"), "needs the files of an index"),
    ],
)
def test_what_a_server_does_not_take_is_named(run, served, files, command, told):
    code = 1 if "gone" in command[1] else 2
    assert told in " ".join(run(*command, code=code).split())


def test_the_key_is_that_of_the_environment(run, served, tmp_path, monkeypatch):
    secret = KeyRing(tmp_path / "keys.json").add("me", ["search"])
    served(keys=tmp_path / "keys.json")
    assert "SOFTCOSINE_KEY" in run("terms", URL, "tea", code=1)
    monkeypatch.setenv("SOFTCOSINE_KEY", secret)
    assert "coffee" not in run("terms", URL, "tea")
    assert "needs write" in run("delete", URL, "tea", code=1)


def places():
    """The commands with an argument INDEX, and what it may be."""
    tables = [("", _COMMANDS), *((f"{name} ", table) for name, _, _, table in _GROUPS)]
    for name, home in ((group + own[0], own[1]) for group, table in tables for own in table):
        command = command_of(name.split()[-1], home)
        if name != "collection tune" and "index" in inspect.signature(command).parameters:
            yield name, get_type_hints(command, include_extras=True)["index"]


def test_every_command_takes_an_address_or_says_that_it_needs_files(run):
    assert {kind for _, kind in places()} == {Index, AnyIndex}
    local = {name for name, kind in places() if kind == Index}
    more = {
        "admin backup": ["b"], "admin check": [], "admin encode": [],
        "collection batch": ["a", "-o", "b"],
        "server compare": [URL, "--field", "x"], "server search": [URL, "tea", "--field", "x"],
    }  # fmt: skip
    assert local == set(more)
    for name in local:
        shown = " ".join(run(*name.split(), URL, *more[name], code=2).split())
        assert f"needs the files of an index, and {URL} is on a server" in shown


def test_addresses_are_shown_as_given():
    from pathlib import Path

    assert name_of(Path("https://host/a/b/faq")) == "https://host/a/b/faq"
    assert name_of(Path("a/http/faq")) == str(Path("a/http/faq"))
