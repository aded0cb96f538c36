"""What commands print cannot disturb a terminal, whatever documents and arguments hold."""

from __future__ import annotations

import io
import json
import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from softcosine.cli import output as showing
from softcosine.cli.app import main
from softcosine.cli.terminal import SafeConsole

# An ANSI escape, a C1 control, overrides and marks of direction, a backspace.
EVIL = "\x1b[31m\x9b2J\u202egnp\u2066\u2069\u200f\u061c\x08\x7f"
HARMFUL = {*map(chr, range(32)), *map(chr, range(127, 160)), *"\u061c\u200e\u200f"}
HARMFUL |= {
    chr(c) for start, stop in ((0x202A, 0x202F), (0x2066, 0x206A)) for c in range(start, stop)
}
HARMFUL -= {"\n", "\t"}
WORDS = f"flat{EVIL}"


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    rows = [
        {"id": f"a{EVIL}", "title": f"Tyres{EVIL}", "text": f"a flat{EVIL} tyre [bold]here[/bold]",
         f"key{EVIL}": f"value{EVIL}"},
        {"id": f"b{EVIL}", "text": "a flat tyre here bold"},
        {"id": "c[red]", "text": "a puncture in a tyre, tea \N{SMILING FACE WITH OPEN MOUTH}"},
    ]  # fmt: skip
    (tmp_path / f"docs{EVIL}.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    judged = tmp_path / f"judged{EVIL}"
    judged.mkdir()
    (judged / "corpus.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    asked = [{"_id": f"q{n}{EVIL}", "text": f"flat{EVIL} tyre"} for n in range(3)]
    (judged / "queries.jsonl").write_text("".join(json.dumps(row) + "\n" for row in asked))
    qrels = "".join(f"q{n}{EVIL}\tb{EVIL}\t1\n" for n in (0, 1)) + f"x{EVIL}\tc[red]\t1\n"
    (judged / "qrels.tsv").write_text(qrels)
    (tmp_path / "words.csv").write_text(f"tyre,puncture\nflat,here{EVIL}\n")
    return tmp_path


def printed(capsys, *arguments: str) -> str:
    showing._console.cache_clear()
    with pytest.raises(SystemExit):
        main(list(arguments))
    captured = capsys.readouterr()
    return str(captured.out + captured.err)


DOCS, INDEX, JUDGED = f"docs{EVIL}.jsonl", f"my{EVIL}.index", f"judged{EVIL}"
COMMANDS = [
    ("index", DOCS, "-o", INDEX, "--source", "words.csv"),
    ("search", INDEX, WORDS, "tyre", "--explain", "--plan"),
    ("search", INDEX, f"unknownword{EVIL}x"),
    ("similar", INDEX, f"a{EVIL}", "--explain"),
    ("explain", INDEX, f"tyre{EVIL}", f"a{EVIL}"),
    ("terms", INDEX, "tyre", "--origins"),
    ("collection", "pairs", INDEX, "--min", "0.1"),
    ("dedupe", INDEX, "--min", "0.1"),
    ("info", INDEX),
    ("admin", "check", INDEX),
    ("admin", "backup", INDEX, f"copy{EVIL}.index"),
    ("search", INDEX, f"tyyre{EVIL}"),
    ("evaluate", JUDGED, "--compare", "cosine,bm25", "--differences", "1", "--measures", "map"),
    ("add", INDEX, DOCS),
    ("delete", INDEX, f"a{EVIL}"),
    # Errors name what was given.
    ("search", f"nowhere{EVIL}", "x"),
    ("index", f"nowhere{EVIL}.jsonl", "-o", "x.index"),
    ("index", DOCS, "-o", "x.index", "--text", f"body{EVIL}"),
    ("index", DOCS, "-o", "x.index", "--id", f"sku{EVIL}"),
    ("index", DOCS, "-o", "x.index", "--format", f"xml{EVIL}"),
    ("similar", INDEX, f"nobody{EVIL}"),
    ("search", INDEX, "tyre", "--where", f"a{EVIL}>>b"),
    ("search", INDEX, "tyre", f"--no\n-such{EVIL}"),
    (f"no\n-such{EVIL}",),
    ("--debug", "search", f"nowhere{EVIL}", "x"),
]  # fmt: skip


def test_no_command_prints_what_could_disturb_a_terminal(folder, capsys):
    seen = ""
    for command in COMMANDS:
        shown = printed(capsys, *command)
        assert not HARMFUL & set(shown), (command[:2], sorted(HARMFUL & set(shown)), shown)
        assert "unexpected" not in shown, shown
        seen += shown
    assert r"a\x1b[31m\x9b2J\u202egnp" in seen
    assert "[bold]here[/bold]" in seen
    assert "c[red]" in seen


def test_a_line_break_in_a_name_begins_no_line(folder, capsys):
    name = "my\nforged\r.index"
    shown = printed(capsys, "index", DOCS, "-o", name, "--plain")
    for command in ("info", "admin check", "admin merge", "admin refresh", "add"):
        shown += printed(capsys, *command.split(), name, *([DOCS] if command == "add" else []))
    shown += printed(capsys, "admin", "backup", name, f"copy {name}")
    next((folder / name / "parts").glob("norms-*/manifest.json")).write_text("")
    assert not [line for line in shown.split("\n") if line.startswith("forged")], shown
    assert shown.count(r"my\nforged\r.index") >= 8


def test_json_comes_back_as_it_was_also_where_a_terminal_shows_it(folder, capsys, monkeypatch):
    printed(capsys, "index", DOCS, "-o", INDEX, "--plain")
    piped = printed(capsys, "search", INDEX, "flat", "--json")
    assert "\u202e" in piped
    monkeypatch.setattr("sys.stdout.isatty", lambda: True)
    shown = printed(capsys, "search", INDEX, "flat", "--json")
    assert not HARMFUL & set(shown)
    without_time = [{**json.loads(one), "seconds": 0} for one in (piped, shown)]
    assert without_time[0] == without_time[1]
    (hit,) = [hit for hit in without_time[0]["hits"] if hit["id"] == f"a{EVIL}"]
    assert hit["title"] == f"Tyres{EVIL}"
    assert hit["metadata"] == {
        "title": f"Tyres{EVIL}", f"key{EVIL}": f"value{EVIL}"
    }  # fmt: skip


def test_ids_to_drop_are_escaped_for_a_terminal_alone(folder, capsys, monkeypatch):
    printed(capsys, "index", DOCS, "-o", INDEX, "--plain")
    asked = ("dedupe", INDEX, "--min", "0.1", "--keep", "first")
    assert f"b{EVIL}\n" in printed(capsys, *asked)
    monkeypatch.setattr("sys.stdout.isatty", lambda: True)
    shown = printed(capsys, *asked)
    assert r"b\x1b[31m" in shown
    assert not HARMFUL & set(shown)


@given(st.text())
def test_a_printable_text_holds_nothing_that_a_terminal_obeys(text):
    shown = showing.printable(text)
    for character in shown:
        assert (
            unicodedata.category(character)[0] != "C" and character not in "\u2028\u2029"
        ) or character in "\u200c\u200d"
    assert showing.printable(shown) == shown
    if text.isprintable():
        assert shown == text


def test_blanks_and_joiners_of_scripts_stay():
    for text in ("1\u00a0000", "東京\u3000都", "می\u200cخواهم", "\U0001f469\u200d\U0001f680"):
        assert showing.printable(text) == text
    assert showing.printable("a\nb\t\x1b\u202e\ud800") == r"a\nb\t\x1b\u202e\ud800"


@given(st.text(max_size=30))
def test_a_console_escapes_what_was_not_made_printable(text):
    stream = io.StringIO()
    SafeConsole(file=stream, width=10_000, markup=False, emoji=False, highlight=False).print(text)
    assert not HARMFUL & set(stream.getvalue()) - {"\t"}
