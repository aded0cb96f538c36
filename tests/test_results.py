"""Hits: a sequence, a table, a view for notebooks."""

from __future__ import annotations

import builtins
import pickle

import pytest

from softcosine.errors import MissingDependencyError
from softcosine.index.results import Hit, Hits
from softcosine.index.soft_index import SoftIndex
from softcosine.text.analyzer import Analyzer
from toys import ToySource


def tea_hits(query="tea mocha nobody"):
    return SoftIndex.from_texts(
        ["green tea", "black <coffee>", "zebra"],
        ids=["a", "<b>", "c"],
        metadata=[{"lang": "en", "score": 3}, None, {}],
        source=ToySource({("tea", "coffee"): 0.5, ("mocha", "coffee"): 0.75}),
        analyzer=Analyzer(),
        ranking="soft_cosine",
    ).search(query)


@pytest.mark.parametrize(
    ("fields", "documents", "titles"),
    [
        ({"title": 2, "body": 1}, [{"title": "Tea", "body": "tea\ncup"}, {"body": "tea"}],
         ["Tea", None]),
        ({"body": 1, "title": 2}, [{"body": "tea\ncup", "title": "Tea"}, {"body": "tea"}],
         ["Tea", None]),
        ({"a": 1, "title": 2, "b": 1}, [{"a": "tea", "title": "Tea", "b": "x"},
                                        {"a": "tea\ncup", "title": "Tea"}], ["Tea", None]),
        ({"text": 1, "notes": 1}, [{"text": "tea"}, {"notes": "tea"}], [None, None]),
    ],
)  # fmt: skip
def test_a_field_called_title_is_the_title(fields, documents, titles):
    index = SoftIndex.from_texts(documents, fields=fields, plain=True, ids=["a", "b"])
    found = {hit.id: hit.title for hit in index.search("tea")}
    assert [found["a"], found["b"]] == titles


@pytest.mark.parametrize(
    ("metadata", "title"),
    [({"title": "Tea & <cups>"}, "Tea & <cups>"), ({"title": 1984}, "1984"), ({"title": ""}, None),
     ({"title": ["x"]}, None), ({"title": True}, None), ({}, None)],
)  # fmt: skip
def test_metadata_may_name_the_title(metadata, title):
    hits = SoftIndex.from_texts(["tea"], metadata=[metadata], plain=True).search("tea")
    assert hits[0].title == title
    assert pickle.loads(pickle.dumps(hits[0])).title == title
    assert ("<b>Tea &amp; &lt;cups&gt;</b>" in hits._repr_html_()) == (title == "Tea & <cups>")


def test_hits_are_a_sequence():
    hits = tea_hits()
    assert len(hits) == 2
    assert isinstance(hits[0], Hit)
    assert list(hits) == [hits[0], hits[1]] == list(hits[:2])
    assert hits[-1] is hits[1]
    assert hits[0] in hits
    assert hits.index(hits[1]) == 1
    assert hits.ids == [hit.id for hit in hits]
    assert hits.query == "tea mocha nobody"
    assert hits.ranking == "soft_cosine"
    assert hits.outside == ("mocha",)
    assert hits.unknown == ("nobody",)
    assert hits == tea_hits()
    with pytest.raises(IndexError):
        hits[2]


def test_a_hit_holds_its_document():
    hit = next(hit for hit in tea_hits() if hit.id == "a")
    assert hit.text == "green tea"
    assert hit.metadata == {"lang": "en", "score": 3}
    assert hit.number == 0
    assert type(hit.score) is float
    assert "_snippet" not in repr(hit)


def test_changing_a_hits_metadata_changes_no_document():
    index = SoftIndex.from_texts(["tea"], metadata=[{"list": [1]}], plain=True)
    index.search("tea")[0].metadata["list"].append(2)
    index.search("tea")[0].metadata["new"] = 1
    assert index.search("tea")[0].metadata == {"list": [1]}


def test_hits_become_a_table():
    pytest.importorskip("pandas")
    hits = tea_hits()
    frame = hits.to_pandas()
    assert frame.columns.tolist() == ["rank", "id", "score", "text", "lang", "metadata.score"]
    assert frame["rank"].tolist() == [1, 2]
    assert frame["id"].tolist() == hits.ids
    assert frame["score"].tolist() == [hit.score for hit in hits]
    assert frame.loc[frame["id"] == "a", "metadata.score"].tolist() == [3]
    assert len(Hits("", "soft_cosine", ()).to_pandas()) == 0


def test_a_notebook_shows_an_escaped_table():
    view = tea_hits("<tea> mocha nobody")._repr_html_()
    assert "<caption>&lt;tea&gt; mocha nobody</caption>" in view
    assert "&lt;b&gt;" in view
    assert "<b>tea</b>" in view
    assert "black &lt;<i>coffee</i>&gt;" in view
    assert "searched by their neighbours: mocha; unknown: nobody" in view
    assert "<p>" not in tea_hits("tea")._repr_html_()


def test_tables_need_pandas_and_say_how_to_get_it(monkeypatch):
    real = builtins.__import__

    def without_pandas(name, *arguments, **settings):
        if name == "pandas":
            raise ImportError(name)
        return real(name, *arguments, **settings)

    monkeypatch.setattr(builtins, "__import__", without_pandas)
    with pytest.raises(MissingDependencyError, match=r"pip install 'softcosine\[pandas\]'"):
        tea_hits().to_pandas()


@pytest.mark.parametrize("stored", [False, True])
def test_results_and_indexes_can_be_sent_to_other_processes(stored, tmp_path):
    index = SoftIndex.from_texts(["green tea", "black coffee"], plain=True)
    if stored:
        index.save(tmp_path / "index")
        index = SoftIndex.open(tmp_path / "index")
    hits = pickle.loads(pickle.dumps(index)).search("tea")
    again = pickle.loads(pickle.dumps(hits))
    assert again == hits == index.search("tea")
    assert again[0].snippet == hits[0].snippet


def test_a_page_counts_its_ranks_from_those_before():
    index = SoftIndex.from_texts(["tea"] * 5, analyzer=Analyzer(), plain=True)
    page = index.search("tea", offset=3)
    assert (page.ids, page.offset) == (["3", "4"], 3)
    assert "<tr><td>4</td>" in page._repr_html_()
    pytest.importorskip("pandas")
    assert page.to_pandas()["rank"].tolist() == [4, 5]


def test_a_notebook_names_words_that_did_not_count():
    words = [f"w{number:02}" for number in range(30)]
    index = SoftIndex.from_texts([" ".join(words)], analyzer=Analyzer(), plain=True)
    hits = index.search(" ".join(words), max_terms=5)
    assert hits.left_out == tuple(words[5:])
    view = hits._repr_html_()
    assert "of a long query, not counted: w05, " in view
    assert "w24, and 5 more" in view
    assert "not counted" not in index.search("w01")._repr_html_()
