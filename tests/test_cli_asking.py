"""``softcosine search`` and ``similar``: filters, pages, the query language, long queries."""

from __future__ import annotations

import io
import json
from pathlib import Path

import pytest

from softcosine.cli.conditions import read_where
from softcosine.errors import InvalidInputError
from softcosine.index.query.filters import Where
from softcosine.index.soft_index import SoftIndex
from softcosine.similarity.pairs import PairSimilarity

DOCUMENTS = {
    "bike": ("A flat tyre of a bicycle", {"lang": "en", "year": 2019, "tags": ["road"]}),
    "tea": ("The tea is getting cold", {"lang": "en", "year": 2021, "any": 3}),
    "car": ("Repair of cars and of a flat tyre", {"lang": "de", "year": "2021"}),
    "bike2": ("Bicycle tyres for sale, a flat to let", {"lang": "en", "year": 2023}),
}


@pytest.fixture(scope="module")
def folder(tmp_path_factory) -> Path:
    path = tmp_path_factory.mktemp("asking") / "a.index"
    texts, metadata = zip(*DOCUMENTS.values(), strict=True)
    SoftIndex.from_texts(texts, ids=DOCUMENTS, metadata=metadata, encoder=None).save(path)
    return path


def found(run, *arguments):
    return [hit["id"] for hit in json.loads(run(*arguments, "--json"))["hits"]]


@pytest.mark.parametrize(
    ("where", "ids"),
    [
        (["lang=de"], {"car"}),
        (["lang == en", "year>=2021"], {"tea", "bike2"}),
        (["year=2021"], {"tea", "car"}),  # also where it is text, as in CSV files
        (["year!=2021"], {"bike", "bike2"}),
        (['year="2021"'], {"car"}),
        (['year>"2020"'], {"car"}),
        (["year<2021"], {"bike"}),
        (['tags=["road"]'], {"bike"}),
        (['{"tags": {"contains": "road"}}'], {"bike"}),
        (['{"any": [{"lang": "de"}, {"year": 2019}]}', "lang=en"], {"bike"}),
        (["any=3"], {"tea"}),
        (["lang="], set()),
    ],
)
def test_filters_are_json_or_comparisons_that_all_must_hold(run, folder, where, ids):
    given = [argument for one in where for argument in ("--where", one)]
    assert set(found(run, "search", folder, "tyre bicycle tea", *given)) == ids


def test_answers_are_sorted_and_counted_by_metadata(run, folder):
    asked = ("search", folder, "flat tyre bicycle", "-k", 2, "--sort", "-year")
    assert found(run, *asked) == ["car", "bike2"]  # strings, then numbers, where descending
    assert found(run, *asked, "--sort", "lang", "--where", "lang=en") == ["bike2", "bike"]
    record = json.loads(run(*asked, "--facet", "lang", "--facet", "none", "--json"))
    en, de = ({"value": value, "n_docs": n} for value, n in (("en", 2), ("de", 1)))
    assert record["facets"] == {"lang": [en, de], "none": []}
    assert json.loads(run(*asked, "--json"))["facets"] == {}
    shown = run(*asked, "--facet", "lang", "--facet", "year", "--facet", "none")
    assert "lang: en 2, de 1\n" in shown
    assert "year: 2019 1, 2023 1, 2021 1\n" in shown
    assert "none: no values\n" in shown


def test_hits_show_the_metadata_that_was_asked_for(run, folder):
    asked = ("search", folder, "flat tyre bicycle", "--sort", "-year", "--where", "lang=en")
    assert 'year: 2019, tags: ["road"], lang: en\n' in run(*asked, "--facet", "tags")
    assert "lang:" not in run("search", folder, "flat tyre bicycle")


def test_long_ids_stand_above_the_text(run, tmp_path):
    ids = ["short", "https://example.org/how-to-mend-a-flat-tyre"]
    SoftIndex.from_texts(["flat tyre", "A flat tyre"], ids=ids, plain=True).save(tmp_path / "x")
    lines = run("search", tmp_path / "x", "flat tyre").splitlines()
    (place,) = {line.index("flat tyre") for line in lines if line.endswith("  flat tyre")}
    assert place < 24
    assert any(line.endswith(ids[1]) for line in lines)
    assert f"{' ' * place}A flat tyre" in lines


@pytest.mark.parametrize("columns", [("--text", "question", "--text", "answer"),
                                     ("--field", "question=1", "--field", "answer=1")])  # fmt: skip
def test_the_first_of_several_text_columns_is_the_title(run, tmp_path, columns):
    rows = [{"id": "a", "question": "Can I send it back?", "answer": "Within\ntwo weeks.", "n": 1},
            {"id": "b", "question": "back " * 60, "answer": "x"}]  # fmt: skip
    (tmp_path / "faq.jsonl").write_text("\n".join(map(json.dumps, rows)))
    run("index", tmp_path / "faq.jsonl", "-o", tmp_path / "faq", *columns)
    hits = {
        hit["id"]: hit
        for hit in json.loads(run("search", tmp_path / "faq", "back", "--json"))["hits"]
    }
    assert hits["a"]["title"] == "Can I send it back?"
    assert hits["a"]["snippet"]["text"] == "Within two weeks."
    assert hits["b"]["title"] is None
    shown = run("search", tmp_path / "faq", "back", "-k", 2)
    assert "Can I send it back?\n" in shown
    assert " Within two weeks.\n" in shown


def test_many_values_are_cut_where_people_read(run, tmp_path):
    path = tmp_path / "x"
    SoftIndex.from_texts(["tea"] * 25, metadata=[{"n": n} for n in range(25)], plain=True).save(
        path
    )
    shown = run("search", path, "tea", "--facet", "n")
    assert "19 1, 5 more values\n" in shown
    assert "20 1" not in shown


def test_a_filter_holds_for_similar_documents_too(run, folder):
    assert found(run, "similar", folder, "bike", "--where", "lang=de") == ["car"]


@pytest.mark.parametrize(
    ("where", "message"),
    [
        ("lang", "--where 'lang' is not a filter; write KEY=VALUE"),
        ("=en", "is not a filter"),
        ('{"lang": en}', "begins like JSON but is not valid"),
        ('{"lang": {"like": "e"}}', "operators are =="),
        ("year>true", "it needs a number or a string"),
        ("all~3", "is not a filter"),
        ("x" * 300, "is not a filter"),
    ],
)
def test_a_filter_that_is_none_says_how_to_write_one(run, folder, where, message):
    shown = run("search", folder, "tea", "--where", where, code=2)
    assert message in shown
    assert shown.count("\n") == 1


def test_numbers_that_json_lacks_are_text():
    assert Where.parse(read_where(["x=NaN"])).matches({"x": "NaN"})  # type: ignore[arg-type]
    with pytest.raises(InvalidInputError, match="no JSON number"):
        read_where(['{"x": NaN}'])


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ("year>>1", r"the unknown operator '>>'; use one of =, ==, !=, <, <=, >, >="),
        ("year=>1", "the unknown operator '=>'"),
        ("year=<1", "the unknown operator '=<'"),
        ("year === 1", "the unknown operator '==='"),
        ("year<>1", "the unknown operator '<>'"),
        ("year!1", "the unknown operator '!'"),
        ("lang~=x", "the unknown operator '~='"),
        ("lang=~x", r"the unknown operator '=~'.*'lang=\"~...\"'"),
        ("lang~x", "is not a filter"),
        ("year>=", r"no value after >=.*'year>=2020'"),
        ("year < ", "no value after <"),
        ("year>=1e999", r"above 1.8e\+308"),
        ("year=-1e999", "above 1.8e"),
        ("year=" + "9" * 400, "above 1.8e"),
        ("year=" + "9" * 5000, "above 1.8e"),
        ('{"year": {">=": 1e999}}', "beyond the range"),
    ],
)
def test_a_comparison_that_means_nothing_is_an_error(given, message):
    with pytest.raises(InvalidInputError, match=f"--where .*{message}"):
        read_where([given])


@pytest.mark.parametrize(
    ("given", "filter"),
    [
        ("a~b=1", {"a~b": {"in": [1, "1"]}}),
        ('lang="~x"', {"lang": {"in": ["~x"]}}),
        ('note=">= 5"', {"note": {"in": [">= 5"]}}),
        ("path=a=b", {"path": {"in": ["a=b"]}}),
        ("lang=", {"lang": {"in": [""]}}),
        ('year>="1e999"', {"year": {">=": "1e999"}}),
        ("x<1e308", {"x": {"<": 1e308}}),
        ("code=01", {"code": {"in": ["01"]}}),
        ("stock=False", {"stock": {"in": [False, "False"]}}),
    ],
)
def test_signs_inside_keys_and_values_stay_theirs(given, filter):
    assert read_where([given]) == filter


def test_without_filters_there_is_none():
    assert read_where(None) is None
    assert read_where([]) is None


@pytest.mark.parametrize(
    ("where", "told"),
    [
        ("year>2030", "'year' is text, such as 'n/a', and is compared with a number; text has no"),
        ("day>=2024", "'day' is a date, such as 2023-05-01, and is compared with a number"),
        ('n>"1"', "'n' is a number and is compared with text"),
        ("author.nmae=x", "No document has the key 'author.nmae'."),
        ("lang=fr", "Nothing found. No document passes the filter. 0 of"),
    ],
)
def test_a_filter_that_no_document_passes_is_told_with_the_reason(run, tmp_path, where, told):
    path = tmp_path / "x"
    metadata = [{"year": "2021", "n": 3, "lang": "en", "day": "2023-05-01"}, {"n": 4},
                {"year": "20", "lang": "en"}, {"year": "n/a"}]  # fmt: skip
    SoftIndex.from_texts(["tea"] * 4, metadata=metadata, plain=True).save(path)
    shown = " ".join(run("search", path, "tea", "--where", where).split())
    assert "Nothing found. No document passes the filter." in shown
    assert told in shown
    assert ("holds" in shown, "has the key" in shown) == ("holds" in told, "has the key" in told)


def test_a_filter_that_documents_pass_is_not_blamed_for_finding_nothing(run, folder):
    for query in ('"tea bicycle"', "xyzzyx"):
        shown = run("search", folder, query, "--where", "year>2018")
        assert "Nothing found." in shown
        assert "where" not in shown


def test_a_key_to_sort_or_count_by_that_no_document_has_is_told(run, folder):
    asked = ("search", folder, "tyre", "--sort", "-nokey", "--sort", "year", "--facet", "no.key")
    shown = " ".join(run(*asked).split())
    assert "No document has the key 'nokey'; sort ignores it." in shown
    assert "No document has the key 'no.key'; facets ignores it." in shown
    assert "key year" not in run(*asked, "--facet", "year")
    counted = run("search", folder, "tyre", "-k", "0", "--facet", "year")
    assert counted.startswith("year: ")
    assert json.loads(run(*asked, "--json"))["hits"]


def test_each_of_several_queries_stands_above_its_answers(run, folder, monkeypatch):
    lines = io.BytesIO(b"cold tea\n\n  \nflat tyre\n")
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BufferedReader(lines)))
    shown = run("search", folder, "-", "-k", 1).split("\n\n")
    assert [one.splitlines()[0] for one in shown] == ["cold tea", "flat tyre"]
    assert "tea is getting cold" in shown[0]


def test_several_words_without_similar_ones_are_similar_to_none_as_a_whole(run, tmp_path):
    path = tmp_path / "x"
    similar = PairSimilarity({("inner tube", "rim"): 0.7})
    SoftIndex.from_texts(["an inner tube", "a tyre"], source=similar).save(path)
    shown = run("terms", path, "inner tube")
    assert "no indexed word is similar to it as a whole; 'search' also uses its words" in shown


def test_marks_in_a_query_demand_exclude_quote_and_weigh(run, folder):
    assert set(found(run, "search", folder, "+tyre -car bicycle", "--syntax")) == {"bike", "bike2"}
    assert set(found(run, "search", folder, '"flat tyre"')) == {"bike", "car"}
    assert found(run, "search", folder, "tyre^0.01 tea^9", "--syntax")[0] == "tea"
    assert "'tea^0' is 0" in run("search", folder, "tea^0", "--syntax", code=2)


def test_a_question_about_an_option_is_text_and_says_so(run, folder):
    asked = ("search", folder, "what does tyre -car do")
    assert "car" in found(run, *asked)
    assert "Searched as text: -car. --syntax takes signs as operators." in run(*asked)
    assert "Searched as text" not in run("search", folder, "tyre -- well-known")
    shown = run(*asked, "--syntax")
    assert "Searched as text" not in shown
    assert "Without: car." in shown
    assert 'With: "flat tyre".\nWithout: "tea".' in run("search", folder, '"flat tyre" -"tea"')
    record = json.loads(run("search", folder, "+tyre -car", "--syntax", "--json"))
    assert (record["required"], record["excluded"]) == (["tyre"], ["car"])


def test_without_syntax_marks_mean_nothing(run, folder):
    plain = json.loads(run("search", folder, "tyre car bicycle", "--json", "--explain"))
    marked = json.loads(
        run("search", folder, "+tyre -car bicycle", "--no-syntax", "--json", "--explain")
    )
    assert plain["hits"] == marked["hits"]
    for hit in marked["hits"]:
        total = sum(part["contribution"] for part in hit["parts"])
        assert total == pytest.approx(hit["score"])


def test_a_query_of_exclusions_alone_is_told(run, folder):
    assert "only excludes words" in run("search", folder, "--syntax", "--", "-tea")
    assert "only what must not be" not in run("search", folder, "--no-syntax", "--", "-xyzzyx")


def test_a_query_that_begins_like_an_option_is_told_how_to_be_given(run, folder):
    message = run("search", folder, "-tyre", code=2)
    assert "Put words that begin with - at the end, after --: " in message
    assert "search INDEX -- '-word'." in message
    assert "after --" not in run("info", folder, "-tyre", code=2)


def test_pages_go_on_where_the_last_ended(run, folder):
    whole = json.loads(run("search", folder, "tyre tea", "--json"))["hits"]
    record = json.loads(run("search", folder, "tyre tea", "-k", 2, "--offset", 2, "--json"))
    assert record["offset"] == 2
    assert record["hits"] == whole[2:4]
    assert [hit["rank"] for hit in whole[2:4]] == [3, 4]
    lines = run("search", folder, "tyre tea", "-k", 1, "--offset", 1).splitlines()
    assert lines[0].split()[0] == "2"
    beyond = run("search", folder, "tyre tea", "--offset", 80)
    assert "There are at most 80 results." in beyond
    assert "Unknown" in run("search", folder, "xyzzyx", "--offset", 80)


def test_words_of_a_long_query_that_did_not_count_are_told(run, folder):
    query = "tyre bicycle tea"
    record = json.loads(run("search", folder, query, "--max-terms", 1, "--json"))
    assert len(record["left_out"]) == 2
    shown = " ".join(run("search", folder, query, "--max-terms", 1, "-e").split())
    assert f"and were ignored: {', '.join(record['left_out'])}." in shown
    assert not json.loads(run("search", folder, query, "--max-terms", 0, "--json"))["left_out"]


def test_the_plan_of_a_search_is_told_when_asked(run, folder):
    assert "Plan: terms (a single query" in run("search", folder, "tea", "--plan")
    plan = json.loads(run("search", folder, "tea", "--plan", "--json"))["plan"]
    assert plan["method"] == "terms"
    assert plan["reason"]


def test_unknown_words_are_asked_about_and_searched_by_spelling(run, folder):
    said = run("search", folder, "bycicle flta zzzzzz")
    assert "Unknown words, ignored: bycicle, flta, zzzzzz." in said
    assert "Did you mean: bicycle for bycicle; flat for flta?" in said
    assert found(run, "search", folder, "bycicle") == []
    record = json.loads(run("search", folder, "bycicle", "--json"))
    ((suggestion,),) = [one["candidates"] for one in record["suggestions"]]
    assert (suggestion["word"], suggestion["distance"], suggestion["n_docs"]) == ("bicycle", 2, 2)
    corrected = run("search", folder, "bicycel", "--explain")
    assert "Searched bicycle for bicycel; --no-correct searches as written." in corrected
    assert set(found(run, "search", folder, "bicycel")) >= {"bike", "bike2"}
    assert found(run, "search", folder, "bicycel", "--no-correct") == []
    assert json.loads(run("search", folder, "bicycel", "--json"))["corrected"] == {
        "bicycel": "bicycle"
    }
    assert "Did you mean" not in run("search", folder, "bicycle")


def test_answers_are_filled_up_and_made_to_differ(run, folder):
    assert found(run, "search", folder, "getting cold", "--fill") == ["tea", "bike", "car", "bike2"]
    assert found(run, "search", folder, "getting cold", "--fill", "--min", "0.01") == ["tea"]
    plain = found(run, "search", folder, "flat tyre bicycle")
    differing = found(run, "search", folder, "flat tyre bicycle", "--mmr", "0.1")
    assert plain[0] == differing[0]
    assert set(plain) == set(differing)
    assert found(run, "search", folder, "flat tyre bicycle", "--mmr", "1") == plain


def test_stop_words_of_a_question_count_on_request(run, folder):
    plain = found(run, "search", folder, "how do I mend the tyre")
    assert plain == found(run, "search", folder, "mend tyre")
    assert plain != found(run, "search", folder, "how do I mend the tyre", "--keep-stop-words")
    explained = ("explain", folder, "the tyre", "bike", "--json")
    words = {part["query_word"] for part in json.loads(run(*explained))["parts"]}
    assert "the" not in words
    both = {
        part["query_word"] for part in json.loads(run(*explained, "--keep-stop-words"))["parts"]
    }
    assert words < both
