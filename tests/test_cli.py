from __future__ import annotations

import io
import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from conftest import JIT
from softcosine import __version__
from softcosine.cli import output as showing
from softcosine.cli import progress
from softcosine.cli.app import _COMMANDS, main
from softcosine.index.requests import SearchRequest

TEXTS = {
    "bike": "A puncture in the [bold]tyre[/bold] of a bicycle",
    "tea": "The tea is getting cold",
    "car": "Repair of cars and other automobiles",
    "bike2": "Bicycle tyres for sale",
}


@pytest.fixture(autouse=True)
def _console(console):
    """Every test has a console of its own, also where it does not use `run`."""


@pytest.fixture(scope="module")
def source_file(tmp_path_factory) -> Path:
    path = tmp_path_factory.mktemp("cli") / "docs.jsonl"
    lines = (json.dumps({"id": id, "text": text, "n": 1}) for id, text in TEXTS.items())
    path.write_text("\n".join(lines), encoding="utf-8")
    return path


@pytest.fixture(scope="module")
def folder(source_file) -> Path:
    path = source_file.with_name("docs.index")
    with pytest.raises(SystemExit) as stop:
        main(
            ["index", str(source_file), "-o", str(path), "--source", "english", "--encoder", "none"]
        )
    assert not stop.value.code
    return path


@pytest.mark.smoke
def test_the_version_is_told(run):
    assert run("--version").strip() == f"softcosine {__version__}"


@pytest.mark.parametrize(
    "command", ["index", "search", "similar", "explain", "terms", "info", "admin check", "demo"]
)
def test_every_command_has_help_with_an_example(run, command):
    shown = run(*command.split(), "--help")
    assert f"    softcosine {command}" in shown
    assert command == "demo" or "JSON" in shown


def test_the_help_of_search_fits_on_a_screen_and_the_rest_is_in_help_all(run, monkeypatch):
    monkeypatch.setenv("COLUMNS", "80")
    short, whole = (run("search", option).splitlines() for option in ("--help", "--help-all"))
    assert len(short) <= 40
    assert max(map(len, short)) <= 80
    assert sum(line.startswith("  -") for line in short) <= 15
    shown = "\n".join(whole)
    for name in SearchRequest.__struct_fields__:
        flag = {"k": "-k", "min_score": "--min", "facets": "--facet", "q": "WORDS"}.get(name)
        assert (flag or f"--{name.replace('_', '-')}") in shown


def test_the_top_of_the_command_line_has_few_commands():
    assert len(_COMMANDS) <= 14


def test_commands_of_evaluation_need_an_installation_and_say_so(run, monkeypatch):
    monkeypatch.setattr("importlib.metadata.entry_points", lambda **_: ())
    assert "evaluate" in run("--help")
    assert "install softcosine again" in run("evaluate", "--systems", code=1)


def test_help_and_version_import_nothing_heavy():
    code = (
        "import sys\nfrom softcosine.cli.app import main\n"
        "try:\n    main(['--help'])\nexcept SystemExit:\n    pass\n"
        "print(sorted({'numpy', 'numba', 'scipy', 'pyarrow'} & set(sys.modules)))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.splitlines()[-1] == "[]"


def loaded_by(*arguments: object) -> set[str]:
    """The modules that the process of a command has loaded at its end."""
    code = (
        "import sys\nfrom softcosine.cli.app import main\n"
        f"try:\n    main({list(map(str, arguments))!r})\nexcept SystemExit as end:\n"
        "    assert not end.code\nprint('\\n', *sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    return set(done.stdout.splitlines()[-1].split())


NOT_FOR_SEARCHES = {
    "onnxruntime", "tokenizers", "scipy.sparse", "scipy.linalg", "numba.np.arraymath",
    "softcosine.cluster", "softcosine.serve", "softcosine.evaluate", "softcosine.lab",
    "softcosine.client", "softcosine.cli.indexing", "softcosine.cli.http_server",
    "softcosine.matrix.building", "softcosine.similarity.provenance",
}  # fmt: skip


@pytest.mark.skipif(not JIT, reason="numba compiles what it does not find in its cache")
@pytest.mark.parametrize("encoder", ["none", "static", "minilm"])
def test_a_search_loads_only_what_it_uses(run, source_file, tmp_path, encoder):
    if encoder == "minilm":
        pytest.importorskip("softcosine_minilm")
        pytest.importorskip("onnxruntime")
    path = tmp_path / "docs.index"
    run("index", source_file, "-o", path, "--source", "english", "--encoder", encoder)
    searches = [("search", path, "tyre"), ("similar", path, "bike")]
    if encoder == "minilm":  # which reads other queries
        searches = [("search", path, "tyre", "--ask", "words"), searches[1]]
        searches.append(("search", path, "tyre", "--meaning", "0"))
    for search in searches:
        run(*search)  # compiles the kernels
        assert not NOT_FOR_SEARCHES & loaded_by(*search), search
    assert "softcosine.matrix.term_similarity_matrix" in loaded_by(*searches[0])


@pytest.mark.smoke
def test_indexing_says_what_was_made(run, source_file, tmp_path):
    shown = run("index", source_file, "-o", tmp_path / "a.index", "--json", "--plain")
    record = json.loads(shown)
    assert record["documents"] == 4
    assert record["index"] == str(tmp_path / "a.index")
    assert set(record) == {
        "index", "documents", "terms", "epoch", "bytes", "seconds", "note", "meaning", "list_use",
        "types",
    }  # fmt: skip


def test_indexing_takes_the_options_of_from_texts(run, source_file, tmp_path):
    path = tmp_path / "a.index"
    run(
        "index", source_file, "-o", path, "--source", "english", "--stemmer", "english",
        "--ranking", "soft_bm25", "--max-neighbors", 3, "--min-df", "1",
    )  # fmt: skip
    facts = json.loads(run("info", path, "--json"))
    assert facts["analyzer"]["stemmer"] == "english"
    assert facts["ranking"] == "soft_bm25"
    assert facts["similarity"]["max_neighbors"] <= 3


def test_vectors_from_a_file_are_used(run, source_file, tmp_path):
    vectors = tmp_path / "v.txt"
    vectors.write_text("tea 1 0\ntyre 0.9 0.1\ncocoa 1 0.1\n")
    path = tmp_path / "a.index"
    run("index", source_file, "-o", path, "--source", vectors, "--stemmer", "none")
    record = json.loads(run("terms", path, "cocoa", "--json"))
    assert not record["indexed"]
    assert [neighbor["word"] for neighbor in record["neighbors"]] == ["tyre", "tea"]


def test_sources_of_every_kind_and_decisions_are_joined(run, source_file, tmp_path):
    synonyms, pins = tmp_path / "s.txt", tmp_path / "pins.txt"
    synonyms.write_text("tyre, hoop\n")
    pins.write_text("tea = tyres 0.25\n")
    path = tmp_path / "a.index"
    run(
        "index", source_file, "-o", path, "--source", synonyms, "--source", "edit-distance",
        "--source", "texts", "--join", "noisy-or", "--decisions", pins, "--stemmer", "english",
    )  # fmt: skip
    assert "joined by noisy-or" in json.loads(run("info", path, "--json"))["note"]
    shown = run("terms", path, "hoop", "tea", "--origins")
    assert "tyre" in shown
    # Of tyres was decided, tyre is in the texts, and both have one stem.
    assert "pinned 0.25" in shown


def test_decisions_alone_stand_above_the_default(run, source_file, tmp_path):
    pins = tmp_path / "pins.txt"
    pins.write_text("tea = tyre 0.25\nnyc ! E99\n")
    run("index", source_file, "-o", tmp_path / "a.index", "--decisions", pins)
    assert "pinned 0.25" in run("terms", tmp_path / "a.index", "tea", "--origins")
    note = json.loads(run("info", tmp_path / "a.index", "--json"))["note"]
    assert "2 decisions override them." in note


def test_an_index_is_not_overwritten_unasked(run, source_file, folder, tmp_path):
    message = run("index", source_file, "-o", folder, code=1)
    assert "exists already; choose another name, or pass --overwrite." in message
    (tmp_path / "empty").mkdir()
    for place in (tmp_path / "empty", source_file):
        message = run("index", source_file, "-o", place, code=1)
        assert "is no softcosine index, so it is not overwritten; choose another name." in message
    path = tmp_path / "b.index"
    run("index", source_file, "-o", path, "--plain")
    run("index", source_file, "-o", path, "--plain", "--overwrite")


@pytest.mark.smoke
def test_search_finds_by_meaning(run, folder):
    shown = run("search", folder, "bike repair", "-k", 2)
    assert "bike" in shown
    assert "2 of 4 documents" in shown
    assert "ranked by words and similar words." in " ".join(shown.split())
    shown = " ".join(run("search", folder, "bike", "--ranking", "soft_cosine").split())
    assert "ranked by words and similar words, soft cosine." in shown


def test_text_is_never_read_as_markup(run, folder):
    assert "[bold]tyre[/bold]" in run("search", folder, "puncture")


@pytest.mark.smoke
def test_search_as_json_has_documented_keys(run, folder):
    record = json.loads(run("search", folder, "wheel", "xyzzyx", "--json", "--explain", "-k", 1))
    assert set(record) == {
        "query", "ranking", "hits", "outside", "unknown", "left_out", "required", "excluded",
        "offset", "plan", "mmr", "facets", "missing_shards", "corrected", "note", "suggestions",
        "meaning", "seconds",
    }  # fmt: skip
    assert record["query"] == "wheel xyzzyx"
    assert record["outside"] == ["wheel"]
    assert record["unknown"] == ["xyzzyx"]
    (hit,) = record["hits"]
    assert set(hit) == {
        "rank", "id", "score", "title", "text", "metadata", "number", "snippet", "parts"
    }  # fmt: skip
    assert hit["text"] == TEXTS[hit["id"]]
    assert hit["metadata"] == {"n": 1}
    assert sum(part["contribution"] for part in hit["parts"]) == pytest.approx(hit["score"])
    for mark in hit["snippet"]["marks"]:
        assert hit["snippet"]["text"][mark["start"] : mark["end"]]
        assert mark["kind"] in ("exact", "near")


def test_outside_and_unknown_words_are_named(run, folder):
    shown = run("search", folder, "wheel", "xyzzyx", "-e")
    assert "Words in no document, replaced by similar words: wheel." in shown
    assert "Unknown words, ignored: xyzzyx." in shown
    assert "wheel ~ " in shown
    assert ", loading included; ranked by" in shown


def test_finding_nothing_is_no_error(run, folder):
    assert "Nothing found." in run("search", folder, "xyzzyx")
    assert json.loads(run("search", folder, "xyzzyx", "--json"))["hits"] == []
    assert "Nothing found." in run("search", folder, "tea", "--min", "9")


def test_queries_come_from_standard_input(run, folder, monkeypatch):
    raw = io.BytesIO(b"tea\n\nbicycle\n")
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BufferedReader(raw)))
    answers = [json.loads(line) for line in run("search", folder, "-", "--json").splitlines()]
    assert [answer["query"] for answer in answers] == ["tea", "bicycle"]
    assert answers[0]["hits"][0]["id"] == "tea"


@pytest.mark.smoke
def test_similar_leaves_the_document_itself_out(run, folder):
    assert "bike2" in run("similar", folder, "bike", "-k", 1, "--explain")
    record = json.loads(run("similar", folder, "bike", "--json", "--explain"))
    assert record["hits"][0]["id"] == "bike2"
    assert "bike" not in [hit["id"] for hit in record["hits"]]
    assert sum(part["contribution"] for part in record["hits"][0]["parts"]) == pytest.approx(
        record["hits"][0]["score"]
    )


def test_an_explanation_is_a_table_that_ends_with_the_score(run, folder):
    record = json.loads(run("explain", folder, "bike tire", "bike2", "--json"))
    shown = run("explain", folder, "bike tire", "bike2")
    assert f"{record['score']:.4f}" in shown
    assert "Bicycle tyres for sale" in shown
    nothing = run("explain", folder, "xyzzyx", "bike2")
    assert "No word of the document is similar to a word of the query." in nothing


def test_terms_shows_similar_words(run, folder):
    assert "bicycle" in run("terms", folder, "bike")
    assert "in no document" in run("terms", folder, "bike")
    assert "holds 2 terms" in run("terms", folder, "green tea", code=2)
    assert "is not indexed" in run("terms", folder, "xyzzyx", code=1)


@pytest.mark.smoke
def test_info_and_verify_describe_an_index(run, folder):
    assert "documents" in run("info", folder)
    facts = json.loads(run("info", folder, "--json"))
    assert facts["documents"] == 4
    assert facts["bytes"] > 0
    assert "is intact" in run("admin", "check", folder)
    assert json.loads(run("admin", "check", folder, "--json"))["files"] > 5


def test_verify_finds_an_altered_file(run, source_file, tmp_path):
    path = tmp_path / "a.index"
    run("index", source_file, "-o", path, "--plain")
    (file,) = path.rglob("documents.sqlite")
    data = bytearray(file.read_bytes())
    data[-1] ^= 1
    file.write_bytes(data)
    message = run("admin", "check", path, code=1)
    assert "documents.sqlite has changed" in message
    assert "Restore a backup, or index its documents anew." in message


@pytest.mark.parametrize(
    ("arguments", "code", "message"),
    [
        (["search", "nowhere", "tea"], 1, "there is no index at nowhere"),
        (["search", ".", "tea"], 1, "is no softcosine index"),
        (["similar", "INDEX", "nobody"], 1, "no document with the id 'nobody'"),
        (["explain", "INDEX", "tea", "nobody"], 1, "no document with the id 'nobody'"),
        (["search", "INDEX", "tea", "--ranking", "best"], 2, "ranking is 'best'"),
        (["search", "INDEX", "tea", "-k", "-1"], 2, "k is -1; it must be a whole number of 0 or"),
        (["terms", "INDEX", "tea", "-k", "0"], 2, "k is 0; it must be a whole number of 1 or"),
        (["search", "INDEX", "tea", "-k", "many"], 2, "many"),
        (["searhc", "INDEX"], 2, "No such command 'searhc'"),
        (["search", "INDEX", "tea", "--best"], 2, "--best"),
        (["search", "INDEX"], 2, "Missing argument"),
        (["index", "nowhere.txt", "-o", "a.index"], 1, "nowhere.txt: No such file"),
        (["index", "FILE", "-o", "no/where/a.index"], 1, "the folder no/where does not exist"),
        (["index", "FILE", "-o", "a.index", "--text", "body"], 2, "there is no field 'body'"),
        (["index", "FILE", "-o", "a.index", "--min-df", "few"], 2, "min_df is 'few'"),
        (["index", "FILE", "-o", "a.index", "--stemmer", "klingon"], 2, "stemmer is 'klingon'"),
        (["index", "FILE", "-o", "a.index", "--plain", "--source", "x"], 2, "--plain excludes --s"),
        (["index", "nowhere.txt", "-o", "a.index", "--source", "x"], 2, "'x' is not understood"),
        (["index", "FILE", "-o", "a.index", "--plain", "--max-neighbors", "3"], 2, "excludes"),
        (["index", "nowhere.txt", "-o", "a.index", "--join", "x"], 2, "join is 'x'"),
    ],
)  # fmt: skip
def test_every_error_is_one_clear_line(
    run, folder, source_file, tmp_path, monkeypatch, arguments, code, message
):
    monkeypatch.chdir(tmp_path)
    stand_ins = {"INDEX": folder, "FILE": source_file}
    shown = run(*(stand_ins.get(argument, argument) for argument in arguments), code=code)
    assert message in shown
    assert shown.startswith("softcosine: ")
    assert shown.count("\n") == 1
    assert list(tmp_path.iterdir()) == []


def test_debug_shows_where_an_error_arose(capsys):
    with pytest.raises(SystemExit):
        main(["--debug", "search", "nowhere", "tea"])
    assert "Traceback" in capsys.readouterr().err


def test_an_interrupt_leaves_nothing_half_written(run, source_file, tmp_path, monkeypatch):
    def interrupt(*arguments, **options):
        raise KeyboardInterrupt

    monkeypatch.setattr("softcosine.index.directory.folder.write_part", interrupt)
    message = run("index", source_file, "-o", tmp_path / "a.index", "--plain", code=130)
    assert "interrupted" in message
    assert list(tmp_path.iterdir()) == []


@pytest.mark.skipif(os.name == "nt", reason="pipes break otherwise there")
@pytest.mark.parametrize("options", [[], ["--json"]])
def test_a_reader_that_leaves_early_is_no_error_message(folder, options):
    command = [sys.executable, "-m", "softcosine", "search", str(folder), "-", *options]
    child = subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE
    )
    assert child.stdin is not None
    assert child.stdout is not None
    assert child.stderr is not None
    child.stdout.close()
    child.stdin.write(b"tea\nbicycle\n" * 50)  # less than a pipe holds
    child.stdin.close()
    with child.stderr:
        assert child.stderr.read() == b""
    assert child.wait() == 1


def test_control_characters_do_not_reach_the_terminal():
    assert "\x1b" not in showing.printable("a\x1b[31mb\n")


@pytest.mark.parametrize(
    ("seconds", "shown"), [(0.00042, "0.4 ms"), (0.012, "12 ms"), (1.25, "1.2 s"), (600, "10 min")]
)
def test_times_are_readable(seconds, shown):
    assert showing.duration(seconds) == shown


@pytest.mark.parametrize(
    ("n_bytes", "shown"),
    [(0, "0 bytes"), (999, "999 bytes"), (1500, "1.5 kB"), (9_990_000_000, "10.0 GB")],
)
def test_sizes_are_readable(n_bytes, shown):
    assert showing.size(n_bytes) == shown


def test_progress_shows_on_a_terminal_only(monkeypatch, capsys):
    monkeypatch.setattr(progress, "_SLOW", 0.0)
    with progress.Reporter() as report:
        report("reading", 1, 2)
    assert capsys.readouterr().err == ""
    monkeypatch.setattr("sys.stderr.isatty", lambda: True)
    with progress.Reporter() as report:
        report("reading", 1, 2)
        report("writing", 0, None)
    assert "writing" in capsys.readouterr().err


def test_progress_has_the_rate_and_the_time_left_of_encoding(monkeypatch):
    monkeypatch.setattr(progress, "_SLOW", 0.0)
    monkeypatch.setattr("sys.stderr.isatty", lambda: True)
    with progress.Reporter() as report:
        for done in range(1, 5):
            report("encoding texts", done, 8)
        report("encoding texts", 5, 8)
        (task,) = report._progress.tasks
        assert re.fullmatch(r"5 of 8, [\d,]+ a second, about .* left", task.fields["far"])
        report("encoding texts", 1, 8)  # another pass
        (task,) = report._progress.tasks
        assert task.fields["far"] == "1 of 8"


def test_without_options_similarities_come_from_the_vectors_and_the_texts(run, tmp_path):
    path = tmp_path / "notes"
    path.mkdir()
    for name, text in TEXTS.items():
        (path / f"{name}.txt").write_text(text)
    shown = run("index", path, "-o", tmp_path / "a.index")
    assert "Indexed 4 documents" in shown
    assert "English vectors" in shown
    assert "bike.txt" in run("search", tmp_path / "a.index", "bike")


@pytest.fixture(scope="module")
def decided_folder(tmp_path_factory) -> Path:
    from softcosine.index.soft_index import SoftIndex
    from softcosine.similarity.embeddings.embedding import EmbeddingSimilarity
    from softcosine.similarity.overrides.decision_list import Decisions
    from softcosine.similarity.overrides.decisions import decided

    decisions = Decisions.of(
        pinned={("bicycle", "tea"): 0.4}, forbidden=[("bicycle", "car")], weighed={"tyre": 0.5}
    )
    source = decided(EmbeddingSimilarity.english(), decisions)
    path = tmp_path_factory.mktemp("cli") / "decided.index"
    texts = [text.replace("cars", "car") for text in TEXTS.values()]
    SoftIndex.from_texts(texts, source=source).save(path)
    return path


def test_terms_shows_where_each_neighbour_comes_from(run, decided_folder):
    shown = run("terms", decided_folder, "bicycle", "--origins")
    assert "pinned 0.40" in shown
    assert "times 0.5" in shown
    assert "car  forbidden (english 0." in shown
    plain = run("terms", decided_folder, "bicycle")
    assert "english" not in plain
    assert plain.splitlines()[1].split()[1] == shown.splitlines()[1].split()[1]


def test_origins_as_json_are_trees(run, decided_folder):
    record = json.loads(run("terms", decided_folder, "bicycle", "-o", "--json"))
    assert set(record) == {"word", "indexed", "neighbors", "forbidden"}
    neighbors = {one["word"]: one["origin"] for one in record["neighbors"]}
    assert "car" not in neighbors
    assert neighbors["tea"]["parts"][0]["name"] == "pinned"
    assert [one["word"] for one in record["forbidden"]] == ["car"]
    outside = json.loads(run("terms", decided_folder, "bike", "-o", "--json"))
    assert not outside["indexed"]
    assert all("origin" in one for one in outside["neighbors"])
    assert outside == json.loads(run("terms", decided_folder, "bike", "--json"))


def test_origins_need_a_source(run, source_file, tmp_path):
    run("index", source_file, "-o", tmp_path / "a.index", "--plain")
    assert "there is no source of term similarity" in run(
        "terms", tmp_path / "a.index", "tea", "-o", code=2
    )
