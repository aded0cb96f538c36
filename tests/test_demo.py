from __future__ import annotations

import unicodedata

import pytest

from softcosine import Analyzer
from softcosine.cli import demo, symbols
from softcosine.cli import output as showing
from softcosine.cli.app import main
from softcosine.storage.home import data_folder

FEW = (
    ("\N{CAT FACE}", "cat face"),
    ("\N{INFINITY}", "infinity"),
    ("\N{HAMBURGER}", "hamburger"),
    ("\N{FACE WITH MEDICAL MASK}", "face with medical mask"),
    ("\N{AIRPLANE}", "airplane"),
)


@pytest.fixture
def run(capsys):
    def call(*arguments: str) -> str:
        showing._console.cache_clear()
        with pytest.raises(SystemExit) as stop:
            main(["demo", "--encoder", "none", *arguments])
        showing._console.cache_clear()
        captured = capsys.readouterr()
        assert not stop.value.code, captured.err
        return captured.out

    return call


@pytest.fixture
def few_symbols(monkeypatch, tmp_path):
    monkeypatch.setenv("SOFTCOSINE_HOME", str(tmp_path / "home"))
    monkeypatch.setenv("COLUMNS", "80")
    monkeypatch.setattr(symbols, "symbols", lambda: dict(FEW))
    return tmp_path / "home"


def test_the_symbols_are_those_of_this_python():
    found = symbols.symbols()
    assert len(found) > 6000
    assert found["\N{INFINITY}"] == "infinity"
    assert found["\N{MUSICAL KEYBOARD}"] == "musical keyboard"
    assert all(unicodedata.category(character)[0] in "SP" for character in found)
    left_out = ("braille pattern", "signwriting", "hexagram for", "musical symbol", "radical")
    assert not any(name.startswith(left_out) for name in found.values())


def test_no_word_of_a_question_stands_in_any_name_not_even_its_stem():
    stemming = Analyzer("english")
    names = {word for name in symbols.symbols().values() for word in stemming.words(name)}
    stems = set(stemming.stem(sorted(names)))
    for question in demo.QUESTIONS:
        for word in question.split():
            assert word not in names
            assert not stems.intersection(stemming.stem([word]))


def test_the_demo_answers_by_meaning_and_keeps_its_index(few_symbols, run):
    shown = run()
    assert "infinite ~ infinity" in shown
    assert "plain cosine: nothing" in shown
    assert "Built the index in" in shown
    assert "softcosine index" in shown
    assert max(map(len, shown.splitlines())) <= 80
    again = run()
    assert "Built the index in" not in again
    assert len(list(few_symbols.iterdir())) == 1


def test_the_demo_answers_own_words(few_symbols, run):
    shown = run("sick", "kitten", "-k", "2")
    assert "cat face" in shown.splitlines()[1]
    assert "plain cosine: nothing" in shown
    assert f"plain cosine: {FEW[4][0]} airplane" in run("airplane")


def test_an_unknown_word_is_named(few_symbols, run):
    shown = run("xyzzyx")
    assert "nothing found" in shown
    assert "unknown words, ignored: xyzzyx" in shown


def test_a_broken_index_is_built_again(few_symbols, run):
    run("kitten")
    (folder,) = few_symbols.iterdir()
    (folder / "manifest.json").write_text("{}")
    assert "Built the index in" in run("kitten")
    assert "Built the index in" not in run("kitten")


def test_an_index_of_other_settings_is_replaced(few_symbols, run, monkeypatch):
    run("kitten")
    monkeypatch.setattr(symbols, "_SETTINGS", {"ranking": "soft_cosine", "max_neighbors": 50})
    assert "Built the index in" in run("kitten")
    assert "Built the index in" not in run("kitten")
    assert len(list(few_symbols.iterdir())) == 1


def test_an_index_that_cannot_be_kept_is_used_all_the_same(few_symbols, run):
    few_symbols.write_text("a file, no folder")
    shown = run("kitten")
    assert "cat face" in shown
    assert "was not stored" in shown


@pytest.mark.parametrize(
    ("platform", "variables", "place"),
    [
        ("linux", {"XDG_DATA_HOME": "/data"}, "/data/softcosine"),
        ("linux", {"XDG_DATA_HOME": "relative"}, "/home/me/.local/share/softcosine"),
        ("darwin", {}, "/home/me/Library/Application Support/softcosine"),
        ("win32", {"LOCALAPPDATA": "/local"}, "/local/softcosine"),
        ("win32", {}, "/home/me/AppData/Local/softcosine"),
        ("linux", {"SOFTCOSINE_HOME": "/own"}, "/own"),
    ],
)
def test_data_lie_where_the_system_keeps_them(monkeypatch, platform, variables, place):
    for name in ("XDG_DATA_HOME", "LOCALAPPDATA", "SOFTCOSINE_HOME"):
        monkeypatch.delenv(name, raising=False)
    for name, value in variables.items():
        monkeypatch.setenv(name, value)
    monkeypatch.setattr("sys.platform", platform)
    monkeypatch.setattr(symbols.Path, "home", lambda: symbols.Path("/home/me"))
    folder = data_folder()
    assert folder is not None
    assert folder.as_posix() == place
