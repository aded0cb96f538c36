"""A tiny case of the study of SNOS still works. Time is never judged."""

from __future__ import annotations

import gzip
import json

import numpy as np
import pytest

from conftest import JIT

pytest.importorskip("ir_measures")

GROUPS = ("comp.graphics", "comp.windows.x")
WORDS = ("king", "queen", "car", "truck", "tea", "coffee")


@pytest.fixture
def small(tmp_path):
    """A folder of data like the real one."""
    random = np.random.default_rng(0)

    def keep(name, lines):
        path = tmp_path / name
        path.parent.mkdir(exist_ok=True)
        with gzip.open(path, "wt", encoding="utf-8") as file:
            file.write("\n".join(lines) + "\n")

    messages = []
    for i in range(40):
        words = [f"word{random.integers(6) + 6 * (i % 2)}" for _ in range(12)]
        label, split = GROUPS[i % 2], "train" if i < 28 else "test"
        text = f"From: a\nSubject: {words[0]}\n\n{' '.join(words)}"
        messages.append(json.dumps({"label": label, "split": split, "text": text}))
    keep("classification/20news_bydate.jsonl.gz", messages)
    edges = [
        f"{cue}\tresponse{(i // 2 + j) % 7}\t{j + 1}"
        for i, cue in enumerate(WORDS)
        for j in range(3)
    ]
    keep("lexica/assoc_USF.tsv.gz", ["cue\tresponse\tR1", *edges])
    pairs = [(a, b) for i, a in enumerate(WORDS) for b in WORDS[:i]]
    for name, scale in (
        ("EN-WS-353-ALL", 10),
        ("EN-SIMLEX-999", 10),
        ("EN-MEN-TR-3k", 50),
        ("EN-RG-65", 4),
    ):
        judged = [f"{a} {b} {scale * random.random():.2f}" for a, b in pairs]
        keep(f"wordsim/{name}.txt.gz", judged)
    clicks = [
        f"{word} {kind}\tentity {kind} {(i + j) % 5}\t{j + 1}"
        for i, word in enumerate(WORDS) for kind in ("news", "shop") for j in range(3)
    ]  # fmt: skip
    keep("clicks/clicks_zz.tsv.gz", ["query\tlabel\tclicks", *clicks])
    return tmp_path


@pytest.mark.skipif(not JIT, reason="takes minutes without the compiler")
def test_the_study_of_snos_writes_a_page_and_keeps_what_is_not_run_anew(
    study, small, monkeypatch, capsys
):
    main = study("snos")
    monkeypatch.setattr(study("snos_newsgroups"), "SHARES", {0.5: 2, 1.0: 1})
    monkeypatch.setattr(study("snos_newsgroups"), "DIMENSIONS", (2, 4))
    monkeypatch.setattr(study("snos_cues"), "DIMENSIONS", (2,))
    monkeypatch.setattr(study("snos_cues"), "PARTNERS", 2)
    out = small / "results"
    main.main(["--data", str(small), "--out", str(out), "--only", "titles,newsgroups,cues,clicks"])
    page = (out / "snos.md").read_text(encoding="utf-8")
    assert page in capsys.readouterr().out
    assert "| SNOS, B binary, λ spectral | 1.0 | 0.412 | 0.336 | 0.26 | 0.164 |" in page
    assert "| 50 % | 14 | 2 |" in page
    assert "SNOS, with the words of entities" in page
    before = json.loads((out / "snos.json").read_text(encoding="utf-8"))
    main.main(["--data", str(small), "--out", str(out), "--only", "clicks"])
    after = json.loads((out / "snos.json").read_text(encoding="utf-8"))
    assert after["cues"] == before["cues"]
    assert len(before["newsgroups"]) == 3


@pytest.mark.skipif(not JIT, reason="takes minutes without the compiler")
def test_the_study_of_snos_measures_a_graph(study, monkeypatch):
    scale = study("snos_scale")
    for name, value in (("N_EDGES", 2000), ("N_OBJECTS", 600), ("N_FEATURES", 400)):
        monkeypatch.setattr(scale, name, value)
    told = scale._measured(5)
    assert told["edges"] == 2000
    assert told["entries of S_o"] <= 600 * 11


def test_unknown_parts_and_missing_data_are_refused(study, small, capsys):
    main = study("snos")
    for arguments, message in (
        (["--only", "tables"], "no part is called tables; there are titles, newsgroups"),
        (["--data", str(small / "nowhere")], "give --data FOLDER"),
    ):
        with pytest.raises(SystemExit):
            main.main(["--data", str(small), *arguments])
        assert message in capsys.readouterr().err
