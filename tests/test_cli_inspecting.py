"""``softcosine info`` and ``check``."""

from __future__ import annotations

import json

import pytest

from softcosine.index.soft_index import SoftIndex


@pytest.fixture
def folder(tmp_path):
    path = tmp_path / "a.index"
    SoftIndex.from_texts(["A flat tyre of a bicycle", "The tea is cold"], ids=["bike", "tea"]).save(
        path
    )
    return path


def test_info_tells_what_is_kept_and_how_it_lies_on_disk(run, folder):
    facts = json.loads(run("info", folder, "--json"))
    assert facts["generation"] == 1
    assert (facts["documents"], facts["deleted"], facts["segments"]) == (2, 0, 1)
    assert facts["fields"] == [{"name": "text", "weight": 1.0}]
    assert facts["texts"]
    assert not facts["positions"]
    shown = run("info", folder)
    assert "in 1 segment, generation 1" in shown
    assert "stored         texts" in shown
    assert "counts" not in shown
    n_terms, similarity = facts["terms"], facts["similarity"]
    n_with = similarity["n_terms_with_neighbors"]
    told = f"{n_with} of {n_terms} terms have some; {similarity['mean_neighbors']:.1f} per term"
    assert f"{told} on average" in " ".join(shown.split())


def test_an_index_without_documents_is_described_searched_and_filled(run, tmp_path):
    path = tmp_path / "empty.index"
    SoftIndex.create(path, positions=True, keep_texts=False)
    facts = json.loads(run("info", path, "--json"))
    assert (facts["documents"], facts["segments"], facts["terms"]) == (0, 0, 0)
    assert facts["positions"]
    assert not facts["texts"]
    assert "chosen by the first documents" in run("info", path)
    assert "Nothing found." in run("search", path, "tea")
    assert run("collection", "pairs", path, "--min", 0.5) == run("dedupe", path) == ""
    assert "is intact" in " ".join(run("admin", "check", path).split())
    (tmp_path / "a.txt").write_text("green tea\n")
    run("add", path, tmp_path / "a.txt")
    run("delete", path, "1")
    facts = json.loads(run("info", path, "--json"))
    assert (facts["documents"], facts["positions"]) == (0, True)
    assert "Nothing found." in run("search", path, "tea")
