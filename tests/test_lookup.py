"""Documents without a query, sorted answers and counts by value: against their plain statements."""

from __future__ import annotations

from functools import cmp_to_key

import pytest
from hypothesis import given
from hypothesis import strategies as st

from softcosine.errors import InvalidInputError, UnknownDocumentError
from softcosine.index.query.filters import Where
from softcosine.index.query.parser import Clause
from softcosine.index.search.facets import FacetCount
from softcosine.index.segment.documents import Document
from softcosine.index.soft_index import SoftIndex
from test_queries import TERMS, collections, cut_index, plain_answer, queries, without
from test_queries import written as spelled

# Equal numbers of two types, values that have no order, and values that look alike.
values = st.sampled_from(
    [0, 1, 1.0, -2.5, 2**53 + 1, "", "a", "b", "1", True, False, None, {"a": 1}]
) | st.lists(st.sampled_from([1, 1.0, "a", None, True, ["a"], {"a": 1}]), max_size=3)
facts = st.none() | st.fixed_dictionaries(
    {},
    optional={
        "n": values, "-m": st.sampled_from([1, 2]), "o": st.fixed_dictionaries({"p": values}),
    },
)  # fmt: skip
sorts = st.sampled_from(
    [None, [], "n", "-n", ["o.p", "n"], ["-o.p", "-n"], [r"\-m", "n"], ["--m", "-n"], "none"]
)
wheres = st.sampled_from([None, {}, {"n": 1}, {"n": {"exists": True}}, {"not": {"n": "a"}}])
FACETS = ("n", "o.p", "-m", "none")


@st.composite
def sorted_collections(draw):
    documents = draw(collections())
    n = len(documents.texts)
    documents.metadata[:] = draw(st.lists(facts, min_size=n, max_size=n))
    return documents


# Those of `queries` demand so much that hardly any document meets it.
asked_words = st.lists(
    st.sampled_from(TERMS).map(lambda word: Clause(word, "should", False, 1.0)),
    min_size=1, max_size=3,
)  # fmt: skip
asking = asked_words | asked_words | queries
MISSING = object()


def reach(metadata, key):
    value = metadata or {}
    for part in {r"\-m": ["-m"], "-m": ["-m"]}.get(key, key.split(".")):
        if not isinstance(value, dict) or part not in value:
            return MISSING
        value = value[part]
    return value


def kind(value):
    return "number" if type(value) in (int, float) else type(value).__name__


def compare(one, other):
    """As documented: numbers, strings, booleans; what is none of them is equal."""
    kinds = ["number", "str", "bool"]
    places = [kinds.index(kind(value)) for value in (one, other)]
    if places[0] != places[1]:
        return places[0] - places[1]
    return (one > other) - (one < other)


def in_order(documents, sort, found):
    """Numbers and scores, sorted as documented."""
    keys = [sort] if isinstance(sort, str) else sort or []

    def cmp(left, right):
        for key in keys:
            descending, name = key.startswith("-"), key.removeprefix("-")
            values = [reach(documents.metadata[number], name) for number, _ in (left, right)]
            last = [kind(value) not in ("number", "str", "bool") for value in values]
            if any(last):
                if last[0] != last[1]:
                    return last[0] - last[1]
                continue
            way = compare(*values)
            if way:
                return -way if descending else way
        if left[1] != right[1]:
            return -1 if left[1] > right[1] else 1
        return left[0] - right[0]

    return sorted(found, key=cmp_to_key(cmp))


def counted(documents, key, numbers):
    """How many documents have each value, as documented: by kind and value."""
    counts = {}
    for number in numbers:
        value = reach(documents.metadata[number], key)
        parts = value if isinstance(value, list) else [value]
        scalars = [part for part in parts if kind(part) in ("number", "str", "bool", "NoneType")]
        for one in {(kind(part), part) for part in scalars}:
            counts[one] = counts.get(one, 0) + 1
    return counts


def assert_counted(facets, documents, numbers):
    assert list(facets) == list(FACETS)
    for key, found in facets.items():
        expected = counted(documents, key, numbers)
        assert {(kind(one.value), one.value): one.n_docs for one in found} == expected
        assert len(found) == len(expected)
        assert list(found) == sorted(found, key=cmp_to_key(before))


def before(one, other):
    """More documents first; then numbers, strings, booleans and null."""
    if one.n_docs != other.n_docs:
        return other.n_docs - one.n_docs
    if None in (one.value, other.value):
        return (one.value is None) - (other.value is None)
    return compare(one.value, other.value)


@given(
    sorted_collections(), wheres, sorts, st.sampled_from([1, 2, 3]), st.sets(st.integers(0, 6)),
    st.sampled_from([1, 3, None]), st.sampled_from([0, 0, 1, 5]),
)  # fmt: skip
def test_filter_and_count_give_what_passes(documents, where, sort, size, gone, k, offset):
    index = without(cut_index(documents, size), gone)
    parsed = Where.parse(where or {})
    passing = [
        number
        for number, own in enumerate(documents.metadata)
        if number not in gone and parsed.matches(own or {})
    ]
    found = index.filter(where, k=k, offset=offset, sort=sort, facets=FACETS)
    expected = [number for number, _ in in_order(documents, sort, [(n, 0.0) for n in passing])]
    expected = expected[offset:][:k]
    assert found.ids == [str(number) for number in expected]
    assert list(found) == index.get(found.ids)
    assert [(one.text, one.metadata) for one in found] == [
        (documents.texts[number], documents.metadata[number] or {}) for number in expected
    ]
    assert found.n_matching == index.count(where) == len(passing)
    assert_counted(found.facets, documents, passing)


@given(
    sorted_collections(), asking, wheres, sorts, st.sampled_from([1, 2, 9]),
    st.sampled_from([1, 3, 10]), st.sampled_from([0, 0, 2]), st.sampled_from([0.0, 0.5]),
    st.booleans(),
)  # fmt: skip
def test_searches_sort_and_count_all_documents_that_match(
    documents, query, where, sort, size, k, offset, min_score, expand
):
    index = cut_index(documents, size, ranking="soft_bm25")
    asked = {"where": where, "min_score": min_score, "expand": expand}
    matching = plain_answer(index, documents, query, **asked)
    hits = index.search(spelled(query), k=k, offset=offset, sort=sort, facets=FACETS, **asked)
    expected = in_order(documents, sort, matching)[offset : offset + k]
    assert [(hit.number, hit.score) for hit in hits] == expected
    assert_counted(hits.facets, documents, [number for number, _ in matching])
    assert index.search(spelled(query), k=k, offset=offset, sort=sort, **asked).hits == hits.hits


@given(sorted_collections(), asking, sorts, st.sampled_from([1, 2, None]))
def test_counted_batches_are_the_same(documents, query, sort, threads):
    index = cut_index(documents, 2)
    asked = {"k": 2, "sort": sort, "facets": FACETS}
    batch = index.search_batch([spelled(query), "a b"], threads=threads, **asked)
    assert batch == [index.search(text, **asked) for text in (spelled(query), "a b")]


@pytest.fixture
def index(tmp_path):
    index = SoftIndex.create(tmp_path / "x", fields={"title": 2, "body": 1}, plain=True)
    with index.writer(merge=None) as writer:
        for number in range(4):
            writer.add(
                f"d{number}", {"title": "Tea", "body": f"n{number}"}, {"year": 2000 + number}
            )
    with index.writer(merge=None) as writer:
        writer.add("d1", {"body": "coffee"}, {"year": 1990, "tags": ["a", "b", "a"]})
        writer.delete("d2")
    return index


def test_replaced_and_deleted_documents_are_shown_by_nothing(index):
    assert len(index.snapshot.segments) == 2
    assert list(index) == ["d0", "d3", "d1"]
    assert index.documents.numbers.tolist() == [0, 3, 4]
    assert len(index.documents) == 3
    assert [one.metadata["year"] for one in index.get(list(index))] == [2000, 2003, 1990]
    assert list(index.documents.all_ids()) == list(index)
    for gone in (1, 2, 5, -1):
        for ask in ("id", "text", "metadata", "owner"):
            with pytest.raises(UnknownDocumentError, match=f"no document number {gone}"):
                getattr(index.documents, ask)(gone)
        with pytest.raises(UnknownDocumentError, match=f"no document number {gone}"):
            index.documents.records([0, gone])
    assert index.filter().ids == list(index)
    assert index.filter({"year": {"<": 2002}}, sort="year").ids == ["d1", "d0"]
    assert index.count() == 3
    assert index.count({"year": 2001}) == 0


def test_documents_are_given_by_their_ids(index):
    one, again, other = index.get(["d1", "d1", "d0"])
    assert one == again == Document("d1", "\ncoffee", {"year": 1990, "tags": ["a", "b", "a"]})
    assert (other.id, other.text, other.metadata) == ("d0", "Tea\nn0", {"year": 2000})
    assert index.get([]) == []
    assert index.get(iter(["d3"]))[0].id == "d3"
    with pytest.raises(UnknownDocumentError, match="no document with the id 'd2'"):
        index.get(["d0", "d2"])
    assert [one.id for one in index.get(["x", "d0", "d2"], missing_ok=True)] == ["d0"]
    with pytest.raises(InvalidInputError, match=r"ids is a single string"):
        index.get("d0")
    with pytest.raises(InvalidInputError, match="ids is of type int"):
        index.get(3)
    with pytest.raises(InvalidInputError, match="the id is 3, of type int"):
        index.get([3], missing_ok=True)


def test_facets_come_by_frequency_and_then_by_value(index):
    hits = index.search("tea coffee", facets=["year", "tags", "none"])
    assert hits.facets == {
        "year": ((1990, 1), (2000, 1), (2003, 1)), "tags": (("a", 1), ("b", 1)), "none": ()
    }  # fmt: skip
    assert hits.facets["tags"][0] == FacetCount("a", 1)
    assert dict(hits.facets["tags"]) == {"a": 1, "b": 1}
    assert index.search("tea").facets == {}
    assert index.search("nothing of it", facets=["year"]).facets == {"year": ()}


def test_facets_keep_apart_what_is_not_equal():
    values = [1, 1.0, True, "1", [True, 1, 1.0], None]
    index = SoftIndex.from_texts(["tea"] * 6, metadata=[{"v": one} for one in values], plain=True)
    counted = [
        (type(one.value), one.value, one.n_docs) for one in index.filter(facets=["v"]).facets["v"]
    ]
    assert counted == [
        (int, 1, 3), (bool, True, 2), (str, "1", 1), (type(None), None, 1)
    ]  # fmt: skip


@pytest.mark.parametrize(
    "settings",
    [{}, {"sort": "year"}, {"mmr": 0.5}, {"fill": True}, {"offset": 1}],
)
def test_facets_may_be_counted_without_documents(index, settings):
    for query in ("tea coffee", "+tea", "nothing of it"):
        full = index.search(query, facets=["year"], syntax=True, **settings)
        none = index.search(query, k=0, facets=["year"], syntax=True, **settings)
        assert none.ids == []
        assert none.facets == full.facets
        assert index.search(query, k=0, **settings).ids == []
        assert index.similar(index.filter(k=1)[0].id, k=0).ids == []
    listed = index.filter({"year": {">": 1995}}, k=0, facets=["year"])
    assert (listed.ids, listed.n_matching) == ([], 2)
    assert listed.facets == index.filter({"year": {">": 1995}}, facets=["year"]).facets


def test_an_empty_index_gives_nothing(tmp_path):
    index = SoftIndex.create(tmp_path / "x", plain=True)
    assert list(index) == [] == list(index.filter(sort="n", facets=["n"]))
    assert index.count() == index.count({"n": 1}) == 0
    assert index.search("tea", sort="n", facets=["n"]).facets == {"n": ()}


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"sort": 3}, "sort is 3; it must be a string or a list of at most 32 strings, or None"),
        ({"sort": ["a", 3]}, r"sort is \['a', 3\]"),
        ({"sort": {"a": 1}}, "sort is {"),
        ({"sort": "-a\\"}, "ends in a lone backslash"),
        ({"facets": "lang"}, "facets is 'lang'; it must be a list of at most 100 strings"),
        ({"facets": 3}, "facets is 3; it must be a list"),
        ({"facets": ["a", None]}, r"facets is .* got `null`, at facets\[1\]"),
        ({"facets": ["a\\"]}, "ends in a lone backslash"),
        ({"k": -1}, "k is -1; it must be a whole number of 0 or more"),
        ({"offset": -1}, "offset is -1"),
        ({"offset": True}, "offset is True"),
        ({"where": {"a": {"??": 1}}}, "the operator"),
    ],
)
def test_what_makes_no_sense_is_refused(index, settings, message):
    with pytest.raises(InvalidInputError, match=message):
        index.filter(**settings)
    with pytest.raises(InvalidInputError, match=message):
        index.search("tea", **settings)


def test_answers_have_one_order(index):
    with pytest.raises(InvalidInputError, match="sort and mmr are orders"):
        index.search("tea", sort="a", mmr=0.5)
    assert index.search("tea", mmr=0.5, facets=["year"]).facets["year"] == ((2000, 1), (2003, 1))


def test_filled_answers_follow_the_sorted_ones_and_do_not_count(index):
    hits = index.search("tea", sort="-year", fill=True, facets=["year"])
    assert hits.ids == ["d3", "d0", "d1"]
    assert hits.facets["year"] == ((2000, 1), (2003, 1))
    assert index.search("tea", sort="-year", fill=True, k=1, offset=2).ids == ["d1"]


def test_a_listing_is_a_table(index):
    pd = pytest.importorskip("pandas")
    found = index.filter(sort="year")
    assert isinstance(found.to_pandas(), pd.DataFrame)
    assert found.to_pandas()["id"].tolist() == found.ids == ["d1", "d0", "d3"]
    assert list(found.to_pandas()) == ["id", "text", "year", "tags"]
    assert found[0].id == "d1"
    assert found[:2] == found.documents[:2]
