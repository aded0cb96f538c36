"""Hits: a sequence, a table, a view for notebooks."""

from __future__ import annotations

import builtins
import pickle
from dataclasses import replace

import pytest

from softcosine.errors import InvalidInputError, MissingDependencyError
from softcosine.index.search.results import Hit, Hits
from softcosine.index.soft_index import SoftIndex
from softcosine.text.analyzer import Analyzer
from toys import ToySource


def tea_hits(query="tea mocha nobody", **options):
    return SoftIndex.from_texts(
        ["green tea", "black <coffee>", "zebra"],
        ids=["a", "<b>", "c"],
        metadata=[{"lang": "en", "score": 3}, None, {}],
        source=ToySource({("tea", "coffee"): 0.5, ("mocha", "coffee"): 0.75}),
        analyzer=Analyzer(),
        ranking="soft_cosine",
    ).search(query, **options)


@pytest.mark.parametrize(
    ("fields", "documents", "titles"),
    [
        ({"title": 2, "body": 1}, [{"title": "Tea", "body": "tea\ncup"}, {"body": "tea"}],
         ["Tea", None]),
        ({"body": 1, "title": 2}, [{"body": "tea\ncup", "title": "Tea"}, {"body": "tea"}],
         ["Tea", None]),
        ({"a": 1, "title": 2, "b": 1}, [{"a": "tea", "title": "Tea", "b": "x"},
                                        {"a": "tea\ncup", "title": "Tea"}], ["Tea", None]),
        ({"text": 1, "notes": 1}, [{"text": "tea"}, {"notes": "tea"}], ["tea", None]),
        ({"question": 1, "answer": 1}, [{"question": "Tea?", "answer": "tea\ncup"},
                                        {"question": "tea " * 61, "answer": "x"}], ["Tea?", None]),
    ],
)  # fmt: skip
def test_the_field_title_is_the_title_or_else_a_short_first_field(fields, documents, titles):
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
    assert ">&lt;tea&gt; mocha nobody</caption>" in view
    assert "&lt;b&gt;" in view
    assert "<b>tea</b>" in view
    assert "black &lt;<i>coffee</i>&gt;" in view
    assert "replaced by similar words: mocha. Unknown words, ignored: nobody." in view
    assert "<p>" not in tea_hits("tea")._repr_html_()


def test_a_notebook_says_that_nothing_was_found():
    view = tea_hits("nobody")._repr_html_()
    notes = "Nothing found. Nothing contains these words. Unknown words, ignored: nobody."
    assert f"<p>{notes}</p>" in view


def test_a_notebook_shows_a_title_once():
    documents = [{"title": "Green tea", "body": "from China"}]
    index = SoftIndex.from_texts(documents, fields=["title", "body"], plain=True)
    (hit,) = hits = index.search("china")
    assert hits._repr_html_().count("Green tea") == 1
    view = Hits("q", "soft_bm25", (replace(hit, title="Another"),))._repr_html_()
    assert "<b>Another</b><br>Green tea from" in view


def test_a_listing_is_shown_as_a_table():
    texts = ["green <tea>\n\u202e", "black coffee " * 40, "x"]
    metadata = [{"lang": "en", "<k>": ["v"]}, None, None]
    index = SoftIndex.from_texts(texts, ids=["a", "b" * 40, "c"], metadata=metadata, plain=True)
    found = index.filter(k=2)
    assert str(found).splitlines() == [
        "Documents 1 to 2 of 3",
        f"  {'a':<24}  green <tea> \N{REPLACEMENT CHARACTER}",
        f"  {'b' * 23}…  {('black coffee ' * 5)[:59]}…",
    ]
    view = found._repr_html_()
    assert "<td style='text-align:left'>lang: en, &lt;k&gt;: [&#x27;v&#x27;]</td>" in view
    assert "green &lt;tea&gt; \N{REPLACEMENT CHARACTER}" in view
    assert "\u202e" not in view
    assert str(index.filter({"lang": "de"})) == "0 of 0 documents"
    assert str(index.filter(offset=2)).startswith("Documents 3 to 3 of 3")
    assert str(index.filter(k=0)) == "0 of 3 documents"


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
    assert "and were ignored: w05, " in view
    assert "w24, and 5 more" in view
    assert "were ignored" not in index.search("w01")._repr_html_()


def test_hits_print_as_a_short_table():
    shown = str(tea_hits("tea mocha cofee"))
    assert shown.splitlines() == [
        "Hits for 'tea mocha cofee': 2",
        "rank  score  id   soft cosine",
        f"   1  {tea_hits('tea mocha cofee')[0].score:.3f}  <b>  black <coffee>",
        f"   2  {tea_hits('tea mocha cofee')[1].score:.3f}  a    green tea",
        "Searched coffee for cofee; correct=False searches as written.",
        "Words in no document, replaced by similar words: mocha.",
    ]
    assert repr(tea_hits()) == str(tea_hits())
    assert str(tea_hits("")) == "Hits for '': 0\nThe query has no words."
    page = tea_hits("tea mocha cofee", correct=False)._repr_html_()
    assert "Did you mean: coffee for cofee?" in page


def test_long_answers_are_printed_in_part_and_disturb_no_terminal():
    texts = [f"tea \x1b[31m number {n} " + "and so on " * 50 for n in range(30)]
    index = SoftIndex.from_texts(texts, plain=True, ids=[f"{n} " + "x" * 90 for n in range(30)])
    lines = str(index.search("tea", k=25, offset=3)).splitlines()
    assert len(lines) == 13
    assert lines[0] == "Hits for 'tea': 25"
    assert lines[2].startswith("   4  ")
    assert lines[-1] == "and 15 more"
    assert max(map(len, lines)) < 110
    assert "\x1b" not in "".join(lines)
    assert str(index.search("tea", mmr=0.5)).endswith("by relevance and difference, mmr 0.5.")


def test_titles_are_printed_before_the_passage():
    index = SoftIndex.from_texts(
        ["green tea", "tea"], metadata=[{"title": "Drinks"}, {"title": "tea"}], plain=True
    )
    lines = str(index.search("tea")).splitlines()[2:]
    assert sorted(line.split("  ")[-1].strip() for line in lines) == ["Drinks: green tea", "tea"]


def test_pairs_are_found_as_they_are_asked_for_and_can_be_read_again():
    pytest.importorskip("pandas")
    texts = ["green tea", "green tea", "tea", "car"]
    index = SoftIndex.from_texts(texts, plain=True, analyzer=Analyzer())
    pairs = index.pairs(min_similarity=0.1)
    first = next(iter(pairs))
    assert (first.id, first.other) == ("0", "1")
    frame = pairs.to_pandas()
    assert frame.columns.tolist() == ["id", "other", "score"]
    assert list(frame.itertuples(index=False, name=None)) == list(pairs) == list(pairs)
    assert len(pairs.to_pandas()) == 3
    found = index.pairs(k=1)
    nearest = found.to_pandas()
    assert len(found.to_pandas()) == len(nearest)
    assert list(zip(nearest["id"], nearest["other"], strict=True)) == [
        ("0", "1"), ("1", "0"), ("2", "0"),
    ]  # fmt: skip
    alone = SoftIndex.from_texts(["car"], plain=True).pairs(min_similarity=0.1)
    assert alone.to_pandas().columns.tolist() == ["id", "other", "score"]
    assert repr(pairs).startswith("SimilarPairs(min_similarity=0.1, k=None, by='words', ")


class TestFrames:
    """SoftIndex.from_frame."""

    @pytest.fixture
    def pandas(self):
        return pytest.importorskip("pandas")

    def test_rows_become_documents(self, pandas):
        frame = pandas.DataFrame(
            {
                "key": [10, 11, 12],
                "body": ["green tea", "a tyre", "tea pot"],
                "n": [1, 2, 3],
                "share": [0.5, float("nan"), 1.0],
                "lang": ["en", None, "de"],
                "maybe": pandas.array([1, None, 3], dtype="Int64"),
            },
            index=["x", "y", "z"],
        )
        index = SoftIndex.from_frame(frame, text="body", id="key", plain=True)
        assert [index.documents.id(n) for n in range(3)] == ["10", "11", "12"]
        assert index.documents.metadata(0) == {"n": 1, "share": 0.5, "lang": "en", "maybe": 1}
        assert index.documents.metadata(1) == {"n": 2}
        assert index.search("tea", where={"n": {">": 1}}).ids == ["12"]
        chosen = SoftIndex.from_frame(frame, text="body", metadata=["lang"], plain=True)
        assert chosen.documents.metadata(2) == {"lang": "de"}
        assert chosen.documents.id(2) == "2"
        assert SoftIndex.from_frame(frame[["body"]], text="body").documents.metadata(0) == {}

    def test_several_columns_are_fields(self, pandas):
        frame = pandas.DataFrame({"title": ["tea", "car"], "body": ["", "green tea"], "n": [1, 2]})
        index = SoftIndex.from_frame(frame, text=["title", "body"], plain=True)
        assert [field.name for field in index.fields] == ["title", "body"]
        heavy = SoftIndex.from_frame(
            frame, text=["title", "body"], fields={"title": 2, "body": 1}, plain=True
        )
        assert [field.weight for field in heavy.fields] == [2.0, 1.0]
        assert heavy.documents.metadata(1) == {"n": 2}
        assert heavy.search("tea").ids == ["0", "1"]

    def test_columns_without_a_header_are_named_by_integers(self, pandas):
        frame = pandas.DataFrame([["a", "green tea", "en", 1], ["b", "a tyre", "de", 2]])
        index = SoftIndex.from_frame(frame, text=1, id=0, plain=True)
        assert index.search("tea").ids == ["a"]
        assert index.documents.metadata(1) == {"2": "de", "3": 2}
        index = SoftIndex.from_frame(frame, text=[1, 2], id=0, metadata=[3], plain=True)
        assert [field.name for field in index.fields] == ["1", "2"]
        assert index.search("tea", where={"3": 1}).ids == ["a"]
        with pytest.raises(InvalidInputError, match="there is no column 7; the data frame has 0,"):
            SoftIndex.from_frame(frame, text=7)

    def test_a_column_that_is_there_twice_is_refused(self, pandas):
        frame = pandas.DataFrame([["green tea", "a tyre"]], columns=["text", "text"])
        with pytest.raises(InvalidInputError, match="there are 2 columns 'text'"):
            SoftIndex.from_frame(frame, text="text")

    def test_frames_of_polars_will_do(self):
        polars = pytest.importorskip("polars")
        frame = polars.DataFrame({"id": ["a", "b"], "text": ["tea", "car"], "n": [1, None]})
        index = SoftIndex.from_frame(frame, text="text", id="id", plain=True)
        assert index.search("tea", where={"n": 1}).ids == ["a"]
        assert index.documents.metadata(1) == {}

    @pytest.mark.parametrize(
        ("columns", "options", "message"),
        [
            ({"a": ["x"]}, {"text": "b"}, "there is no column 'b'; the data frame has 'a'"),
            ({"a": ["x"]}, {"text": "a", "id": "key"}, "there is no column 'key'"),
            ({"a": ["x"]}, {"text": "a", "metadata": ["m"]}, "there is no column 'm'"),
            ({"a": ["x"]}, {"text": "a", "metadata": "a"}, r"pass a list of columns, as \['a'\]"),
            ({"a": ["x"]}, {"text": "a", "metadata": 2}, r"pass a list of columns, as \[2\]"),
            ({"a": ["x"]}, {"text": []}, "text names no column"),
            ({"a": ["x", None]}, {"text": "a"}, "column 'a' has no text in row 1"),
            ({"a": ["x", 3]}, {"text": "a"}, "column 'a' has 3 in row 1; every row needs a string"),
            ({"a": ["x"], "i": [1.5]}, {"text": "a", "id": "i"}, "column 'i' has 1.5 in row 0"),
            ({"a": ["x"], "i": [None]}, {"text": "a", "id": "i"}, "column 'i' has no id in row 0"),
        ],
    )
    def test_what_is_wrong_with_a_frame_is_named(self, pandas, columns, options, message):
        with pytest.raises(InvalidInputError, match=message):
            SoftIndex.from_frame(pandas.DataFrame(columns), **options)

    def test_what_is_no_frame_is_refused(self):
        with pytest.raises(InvalidInputError, match="the data frame is of type list"):
            SoftIndex.from_frame(["tea"], text="a")
        with pytest.raises(InvalidInputError, match="the data frame is of type dict"):
            SoftIndex.from_frame({"a": ["tea"]}, text="a")
