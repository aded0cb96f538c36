"""``--plot``."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest

from softcosine.index.soft_index import SoftIndex

TEXTS = {
    "bike": "A flat tyre of a bicycle",
    "tea": "The tea is getting cold",
    "car": "Repair of cars and of a flat tyre",
    "bike2": "Bicycle tyres for sale, a flat to let",
    "pot": "A pot of green tea",
}
PNG = b"\x89PNG"

pytest.importorskip("matplotlib")


@pytest.fixture(scope="module")
def folder(tmp_path_factory) -> Path:
    path = tmp_path_factory.mktemp("pictures") / "a.index"
    SoftIndex.from_texts(TEXTS.values(), ids=TEXTS).save(path)
    return path


COMMANDS = {
    "search": ["search", "INDEX", "flat tyre", "-k", 3],
    "similar": ["similar", "INDEX", "bike", "-k", 3],
    "explain": ["explain", "INDEX", "flat tyre", "bike"],
    "terms": ["terms", "INDEX", "tyre", "tea"],
}


@pytest.fixture(params=COMMANDS)
def command(request, folder):
    return [folder if word == "INDEX" else word for word in COMMANDS[request.param]]


def test_a_picture_is_drawn_beside_what_is_printed(run, command, tmp_path):
    first, second = tmp_path / "a.png", tmp_path / "b.png"
    shown = run(*command, "--plot", first)
    assert run(*command).splitlines()[0] == shown.splitlines()[0]
    record = [json.loads(line) for line in run(*command, "--plot", second, "--json").splitlines()]
    assert record
    assert first.read_bytes().startswith(PNG)
    assert first.read_bytes() == second.read_bytes()
    assert sorted(tmp_path.iterdir()) == [first, second]


def test_a_picture_that_is_there_is_replaced_only_when_asked(run, command, tmp_path):
    path = tmp_path / "a.svg"
    path.write_text("mine", encoding="utf-8")
    assert "a.svg already exists; pass --overwrite" in run(*command, "--plot", path, code=1)
    assert path.read_text(encoding="utf-8") == "mine"
    run(*command, "--plot", path, "--overwrite")
    assert path.read_bytes().startswith(b"<?xml")


def test_a_picture_that_cannot_be_is_refused_before_any_work(run, command, tmp_path):
    missing = [tmp_path / "no.index" if isinstance(one, Path) else one for one in command]
    assert "a.gif: a picture is saved as .png" in run(
        *missing, "--plot", tmp_path / "a.gif", code=2
    )
    assert "does not exist; create it first" in run(
        *missing, "--plot", tmp_path / "no" / "a.png", code=1
    )
    (tmp_path / "d.png").mkdir()
    assert "is a folder; choose the name of a file" in run(
        *missing, "--plot", tmp_path / "d.png", "--overwrite", code=1
    )


def test_a_missing_matplotlib_is_told_in_one_line(run, command, tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    shown = run(*command, "--plot", tmp_path / "a.png", code=1)
    assert "pip install 'softcosine[plots]'" in shown
    assert shown.count("\n") == 1


def test_too_many_documents_for_a_heat_map_are_refused(run, folder, tmp_path):
    plot = ["--plot", tmp_path / "a.png"]
    assert "at most 200 documents, not 201" in run(
        "search", folder, "tea", "-k", 201, *plot, code=2
    )
    # the document itself is drawn too
    assert "not 201" in run("similar", folder, "tea", "-k", 200, *plot, code=2)
    run("search", folder, "tea", "-k", 200, *plot)


def test_a_list_of_queries_has_no_picture(run, folder, tmp_path):
    shown = run("search", folder, "-", "--plot", tmp_path / "a.png", code=2)
    assert "the answer to one query" in shown


def test_finding_nothing_draws_that(run, folder, tmp_path):
    shown = run("search", folder, "zzqx", "--plot", tmp_path / "a.png")
    assert "Nothing found." in shown
    assert (tmp_path / "a.png").read_bytes().startswith(PNG)


def test_words_that_nobody_knows_draw_nothing(run, folder, tmp_path):
    assert "stands in no document" in run(
        "terms", folder, "tea", "zzqx", "--plot", tmp_path / "t.png", code=1
    )
    assert "no document with the id" in run(
        "explain", folder, "tea", "nobody", "--plot", tmp_path / "t.png", code=1
    )
    assert list(tmp_path.iterdir()) == []


def test_commands_without_a_picture_do_not_load_matplotlib(folder):
    import subprocess

    code = (
        "import sys; from softcosine.cli.app import main\n"
        f"try: main(['search', {str(folder)!r}, 'tea'])\n"
        "except SystemExit: pass\n"
        "print(sorted({'matplotlib', 'softcosine.evaluate'} & set(sys.modules)))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.splitlines()[-1] == "[]"
