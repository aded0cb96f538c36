"""Filters over metadata: the plain statement, the fast one, and what they must be."""

from __future__ import annotations

import json
import math
import pickle
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from in_memory import documents_of
from softcosine.errors import InvalidInputError
from softcosine.index.query.filters import OPERATORS, Where
from softcosine.index.segment.documents import MemoryDocuments
from softcosine.index.segment.metadata_columns import MetadataColumns
from softcosine.index.segment.stored_fields import StoredDocuments, write_documents
from softcosine.index.soft_index import SoftIndex

# Values that are easily confused: 1, 1.0, true and "1"; whole numbers that no float holds.
scalars = st.sampled_from(
    [
        *(None, True, False, 0, 1, 1.0, -0.0, 2, 1.5, 10**400, -1e300),
        *(2**53, 2**53 + 1, float(2**53)),
        *("", "1", "a", "b", "ab", "null", "é", "\ud800", "\U0001f600"),
    ]
)
values = st.recursive(
    scalars,
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(st.sampled_from(["a", "b", "a.b"]), inner, max_size=2)
    ),
    max_leaves=4,
)
keys = st.sampled_from(["a", "b", "a.b", "any", "\\", "", "not"])
metadata = st.dictionaries(keys, values, max_size=4)
collections = st.lists(metadata, max_size=8)


def spelled(path):
    key = ".".join(part.replace("\\", "\\\\").replace(".", "\\.") for part in path)
    return f"\\{key}" if key in ("any", "all", "not") else key


paths = st.lists(keys, min_size=1, max_size=3)


@st.composite
def conditions(draw):
    """A filter on one key, and what it must mean, from the definitions."""
    path = draw(paths)
    operator = draw(st.sampled_from(list(OPERATORS)))
    operand = draw(
        {
            "in": st.lists(values, max_size=3),
            "not in": st.lists(values, max_size=3),
            "icontains": st.sampled_from(["", "A", "B", "aB", "É", "\ud800"]),
            "exists": st.booleans(),
        }.get(operator, values)
    )
    if operator in ("<", "<=", ">", ">=") and not ordered(operand):
        operand = draw(st.sampled_from([0, 1.0, 1.5, 2**53 + 1, 10**400, "", "a", "ab"]))
    key = spelled(path)
    short = operator == "==" and not isinstance(operand, dict) and draw(st.booleans())
    where = {key: operand if short else {operator: operand}}
    return where, lambda facts: holds(operator, reach(facts, path), operand)


filters = st.recursive(
    conditions(),
    lambda inner: (
        st.lists(inner, max_size=3).map(
            lambda f: ({"any": [w for w, _ in f]}, lambda x: any(m(x) for _, m in f))
        )
        | st.lists(inner, max_size=3).map(
            lambda f: ({"all": [w for w, _ in f]}, lambda x: all(m(x) for _, m in f))
        )
        | inner.map(lambda f: ({"not": f[0]}, lambda x: not f[1](x)))
    ),
    max_leaves=5,
)

ABSENT = object()


def readings(path):
    """The keys that a path may mean, those with the longest first keys first."""
    for n in range(len(path), 0, -1):
        yield from ((".".join(path[:n]), *rest) for rest in readings(path[n:]))
    if not path:
        yield ()


def reach(facts, path):
    for reading in readings(path):
        value = facts
        for key in reading:
            value = value.get(key, ABSENT) if type(value) is dict else ABSENT
        if value is not ABSENT:
            return value
    return ABSENT


def kind(value):
    return {int: "number", float: "number"}.get(type(value), type(value).__name__)


def ordered(value):
    return kind(value) in ("number", "str")


def equal(a, b):
    if kind(a) != kind(b):
        return False
    if isinstance(a, list):
        return len(a) == len(b) and all(map(equal, a, b))
    if isinstance(a, dict):
        return a.keys() == b.keys() and all(equal(a[key], b[key]) for key in a)
    return a == b


def holds(operator, value, operand):
    """What the documentation says of each operator."""
    comparable = value is not ABSENT and kind(value) == kind(operand)
    return {
        "==": lambda: value is not ABSENT and equal(value, operand),
        "!=": lambda: value is ABSENT or not equal(value, operand),
        "<": lambda: comparable and value < operand,
        "<=": lambda: comparable and value <= operand,
        ">": lambda: comparable and value > operand,
        ">=": lambda: comparable and value >= operand,
        "in": lambda: value is not ABSENT and any(equal(value, one) for one in operand),
        "not in": lambda: value is ABSENT or not any(equal(value, one) for one in operand),
        "contains": lambda: (
            (isinstance(value, str) and isinstance(operand, str) and operand in value)
            or (isinstance(value, list) and any(equal(one, operand) for one in value))
        ),
        "icontains": lambda: isinstance(value, str) and operand.casefold() in value.casefold(),
        "exists": lambda: (value is not ABSENT) == operand,
    }[operator]()


def columns(collection):
    return MetadataColumns(documents_of([""] * len(collection), metadata=collection))


@given(collections, filters)
@example([{"a": 2**53}, {"a": 2**53 + 1}], ({"a": float(2**53)}, lambda x: x["a"] == 2**53))
def test_filters_hold_as_documented_one_by_one_and_all_at_once(collection, drawn):
    where, meant = drawn
    parsed = Where.parse(where)
    expected = [meant(facts) for facts in collection]
    assert [parsed.matches(facts) for facts in collection] == expected
    kept = columns(collection)
    for _ in range(2):
        mask = kept.mask(parsed)
        assert mask.dtype == np.bool_
        assert mask.tolist() == expected
    assert parsed.mask(kept).tolist() == expected


@given(collections, filters, filters)
def test_all_that_one_filter_says_must_hold(collection, one, other):
    joined = Where.parse({"all": [one[0], other[0]]})
    assert columns(collection).mask(joined).tolist() == [
        one[1](facts) and other[1](facts) for facts in collection
    ]
    if not one[0].keys() & other[0].keys():
        assert Where.parse(one[0] | other[0]) == joined


@given(filters)
def test_a_key_is_a_filter_that_says_the_same(drawn):
    where = Where.parse(drawn[0])
    again = Where.parse(json.loads(where.key))
    assert again == where
    assert hash(again) == hash(where)
    assert Where.parse(where) is where
    assert pickle.loads(pickle.dumps(where)) == where


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ({"a": 1, "b": 2}, {"b": 2, "a": 1}),
        ({"a": 1}, {"a": {"==": 1.0}}),
        ({"a": 0}, {"a": -0.0}),
        ({"a": {">": 1, "<": 3}}, {"all": [{"a": {"<": 3}}, {"all": [{"a": {">": 1}}]}]}),
        ({"a": {"in": [1, 2, 2]}}, {"a": {"in": (2.0, 1)}}),
        ({"any": [{"a": 1}, {"b": 1}]}, {"any": [{"b": 1}, {"any": [{"a": 1}]}, {"a": 1}]}),
        ({"any": [{"a": 1}]}, {"a": 1}),
        ({"a": {"==": {"x": 1, "y": 2}}}, {"a": {"==": {"y": 2, "x": 1}}}),
        ({}, {"all": []}),
        ({"ab": 1}, {"\\a\\b": 1}),
    ],
)
def test_filters_that_say_the_same_are_equal(one, other):
    assert Where.parse(one) == Where.parse(other)
    assert len({Where.parse(one), Where.parse(other)}) == 1


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ({"a": 1}, {"a": True}),
        ({"a": 1}, {"a": "1"}),
        ({"a": None}, {"a": {"exists": False}}),
        ({"a.b": 1}, {"a\\.b": 1}),
        ({"all": []}, {"any": []}),
        ({"a": 2**53 + 1}, {"a": float(2**53)}),
    ],
)
def test_filters_that_differ_are_not(one, other):
    assert Where.parse(one) != Where.parse(other)


@pytest.mark.parametrize(
    ("where", "found"),
    [
        ({}, "012345"),
        ({"any": []}, ""),
        ({"lang": "en"}, "01"),
        ({"lang": {"!=": "en"}}, "2345"),
        ({"lang": None}, "3"),
        ({"lang": {"exists": True}}, "0123"),
        ({"lang": {"exists": False}}, "45"),
        ({"not": {"lang": "en"}}, "2345"),
        ({"year": {">=": 2020}}, "02"),
        ({"year": {">=": 2020}, "lang": "en"}, "0"),
        ({"year": {">": 2000, "<": 2021}}, "0"),
        ({"year": {">": "2"}}, "3"),
        ({"year": 1}, ""),
        ({"year": {"in": [2020, "2020", True]}}, "034"),
        ({"year": {"not in": [2020, "2020", True]}}, "125"),
        ({"tags": {"contains": "x"}}, "012"),
        ({"tags": {"icontains": "AX"}}, "2"),
        ({"tags": ["x"]}, "0"),
        ({"tags": {"contains": 1}}, "4"),
        ({"author.name": "Ann"}, "1"),
        ({"author.name": {"in": ["Ann", "Bob", "Cy"]}}, "12"),
        ({"author": {"==": {"name": "Ann"}}}, "1"),
        ({"author\\.name": "Bob"}, "2"),
        ({"\\any": 7}, "5"),
        ({"any": [{"lang": "de"}, {"author.name": "Ann"}]}, "12"),
    ],
)
def test_filters_by_example(where, found):
    collection = [
        {"lang": "en", "year": 2020, "tags": ["x"]},
        {"lang": "en", "year": 1999, "tags": ["x", "y"], "author": {"name": "Ann"}},
        {
            "lang": "de",
            "year": 2021.5,
            "tags": "axe",
            "author.name": "Bob",
            "author": {"name": "Cy"},
        },
        {"lang": None, "year": "2020", "tags": [], "author": "Ann"},
        {"year": True, "tags": [True, 1]},
        {"any": 7},
    ]
    parsed = Where.parse(where)
    assert "".join(str(i) for i, facts in enumerate(collection) if parsed.matches(facts)) == found
    assert "".join(map(str, np.flatnonzero(columns(collection).mask(parsed)))) == found


PRICES = {"usd": 5}, {"usd.": 2}


def test_a_key_with_a_dot_sorts_counts_and_filters_alike():
    metadata = [
        {"price.usd": 9, "price": {"usd": 1}},
        {"price": {"usd": 5}},
        {"price": {"usd.": 2}},
    ]
    index = SoftIndex.from_texts(["tea"] * 3, metadata=metadata, plain=True)
    assert index.search("tea", sort="price.usd").ids == ["1", "0", "2"]
    found = index.filter({"price.usd": {">=": 5}}, facets=["price.usd", "price.usd."])
    assert found.facets == {"price.usd": ((5, 1), (9, 1)), "price.usd.": ()}
    assert [one.id for one in index.filter({"price.usd.": 2})] == ["2"]


DEEP: list = []
for _ in range(5000):
    DEEP = [DEEP]


@pytest.mark.parametrize(
    ("where", "message"),
    [
        ("lang", "the filter 'lang' is of type str; pass a dictionary"),
        (None, "of type NoneType; pass a dictionary"),
        ([{"a": 1}], "of type list"),
        ({1: "x"}, "the key 1, of type int; keys of metadata are strings"),
        ({"year": {"=>": 1}}, r"'year' has the operator '=>'; operators are ==, !=, <, <=, >, "),
        ({"author": {"name": "x"}}, r"operator 'name'.* reached by a dot: 'author\.name'"),
        ({"year": {1: 1}}, "has the operator 1; operators are"),
        ({"year": {}}, "'year' has no operator; to ask for an empty object"),
        ({"year": math.nan}, "compares with nan, of type float, which metadata cannot hold"),
        ({"year": {"<": math.inf}}, "compares with inf, of type float"),
        ({"year": {"in": [1, math.nan]}}, "which metadata cannot hold"),
        ({"year": object}, "of type type, which metadata cannot hold"),
        ({"year": {"in": {1}}}, "of type set, which metadata cannot hold"),
        ({"year": b"x"}, "of type bytes"),
        ({"year": np.arange(3)}, "of type ndarray"),
        ({"year": DEEP}, "which metadata cannot hold"),
        ({"year": 10**5000}, "which metadata cannot hold"),
        ({"year": {"<": True}}, "'<' on 'year' compares with True; it needs a number or a string"),
        ({"year": {">=": None}}, "compares with None; it needs a number or a string"),
        ({"year": {"<": [1]}}, "it needs a number or a string"),
        ({"year": {"in": "abc"}}, "'in' on 'year' compares with 'abc'; it needs a list"),
        ({"year": {"not in": 3}}, "it needs a list"),
        ({"year": {"exists": 1}}, "it needs True or False"),
        ({"any": {"a": 1}}, "'any' in a filter stands beside .*; it needs a list of filters"),
        ({"all": [1]}, "it needs a list of filters"),
        ({"any": "x"}, r"A key of your metadata called any is written '\\any'"),
        ({"not": [{"a": 1}]}, "'not' in a filter .* it needs a filter"),
        ({"any": [{"a": {"??": 1}}]}, r"the operator '\?\?'"),
        ({"a\\": 1}, "ends in a lone backslash"),
    ],
)  # fmt: skip
def test_bad_filters_are_named(where, message):
    with pytest.raises(InvalidInputError, match=message):
        Where.parse(where)


def test_filters_that_are_nested_too_deep_are_refused():
    where = {"a": 1}
    for _ in range(3000):
        where = {"not": where}
    with pytest.raises(InvalidInputError, match="nested more than 50 deep"):
        Where.parse(where)
    endless: dict = {}
    endless["any"] = [endless]
    with pytest.raises(InvalidInputError, match="nested more than 50 deep"):
        Where.parse(endless)


def test_metadata_of_any_depth_compare():
    deep: list = ["x"]
    for _ in range(200):
        deep = [deep]
    collection = [{"a": deep}, {"a": [1, deep]}, {"a": 1}, {"a": deep}]
    kept = columns(collection)
    for where, found in [
        ({"a": {"contains": 1}}, [False, True, False, False]),
        ({"a": {"!=": 1}}, [True, True, False, True]),
        ({"a": [[]]}, [False] * 4),
        ({"a": {"exists": True}}, [True] * 4),
    ]:
        parsed = Where.parse(where)
        assert [parsed.matches(facts) for facts in collection] == found
        assert kept.mask(parsed).tolist() == found


def test_numbers_that_files_should_not_hold_do_no_harm(tmp_path):
    class Documents(MemoryDocuments):
        def all_metadata(self):
            return iter([{"a": math.nan}, {"a": math.inf}, {"a": 1}, {"a": [math.nan, 1]}])

    kept = MetadataColumns(Documents([""] * 4))
    assert kept.mask(Where.parse({"a": {">": 0}})).tolist() == [False, True, True, False]
    assert kept.mask(Where.parse({"a": {"!=": 1}})).tolist() == [True, True, False, True]
    assert kept.mask(Where.parse({"a": {"contains": 1}})).tolist() == [False, False, False, True]


@pytest.mark.parametrize("n", [0, 1, 3000])
def test_stored_documents_are_filtered_alike(tmp_path, n):
    memory = documents_of([""] * n, metadata=[{"n": i, "odd": i % 2 == 1} for i in range(n)])
    write_documents(memory, tmp_path / "documents.sqlite")
    stored = StoredDocuments(tmp_path / "documents.sqlite", n)
    where = Where.parse({"n": {">=": 100}, "odd": True})
    for documents in (memory, stored):
        found = np.flatnonzero(MetadataColumns(documents).mask(where)).tolist()
        assert found == [i for i in range(n) if i >= 100 and i % 2]


class Counting(MemoryDocuments):
    """Counts how often all metadata are read."""

    n_read = 0

    def all_metadata(self):
        self.n_read += 1
        return super().all_metadata()


def test_a_key_is_read_once_and_several_together():
    documents = documents_of(
        [""] * 9, metadata=[{"a": i, "b": {"c": i % 2}} for i in range(9)], kind=Counting
    )
    kept = MetadataColumns(documents)
    kept.mask(Where.parse({}))
    assert documents.n_read == 0
    kept.mask(Where.parse({"a": {">": 3}, "b.c": 1}))
    assert documents.n_read == 1
    kept.mask(Where.parse({"any": [{"a": 2}, {"b.c": {"exists": False}}]}))
    assert documents.n_read == 1
    kept.mask(Where.parse({"b": 3}))
    assert documents.n_read == 2


def test_equal_filters_share_one_read_only_mask():
    kept = columns([{"a": i} for i in range(5)])
    mask = kept.mask(Where.parse({"a": {">": 2, "<": 9}}))
    assert kept.mask(Where.parse({"all": [{"a": {"<": 9.0}}, {"a": {">": 2}}]})) is mask
    with pytest.raises(ValueError, match="read-only"):
        mask[0] = True


def test_what_is_kept_of_a_segment_can_be_pickled():
    kept = columns([{"a": i} for i in range(5)])
    where = Where.parse({"a": {">": 2}})
    mask = kept.mask(where)
    assert pickle.loads(pickle.dumps(kept)).mask(where).tolist() == mask.tolist()


def test_what_was_not_asked_for_longest_goes_when_there_is_no_room():
    documents = documents_of(
        [""] * 100, metadata=[{"a": i, "b": str(i)} for i in range(100)], kind=Counting
    )
    kept = MetadataColumns(documents, max_bytes=1)
    one, other = Where.parse({"a": {">": 50}}), Where.parse({"b": "7"})
    for _ in range(3):
        assert kept.mask(one).sum() == 49
        assert kept.mask(one) is kept.mask(one)
        assert kept.mask(other).sum() == 1
    assert documents.n_read == 6
    assert kept.mask(Where.parse({"a": 3, "b": "3"})).sum() == 1

    room = MetadataColumns(documents, max_bytes=1000)  # for some of the filters
    wheres = [Where.parse({"a": i}) for i in range(20)]
    masks = [room.mask(where) for where in wheres]
    assert room.mask(wheres[-1]) is masks[-1]
    assert room.mask(wheres[0]) is not masks[0]
    assert room.mask(wheres[0]).tolist() == masks[0].tolist()


def test_many_threads_may_filter_at_once():
    metadata = [{"a": i, "b": [i % 7], "c": str(i)} for i in range(2000)]
    documents = documents_of([""] * 2000, metadata=metadata, kind=Counting)
    wheres = [
        {"a": {">": 10}},
        {"b": {"contains": 3}},
        {"c": {"contains": "9"}},
        {"a": {"<": 100}, "b": [3]},
    ] * 25
    expected = [columns([*documents.all_metadata()]).mask(Where.parse(w)).sum() for w in wheres[:4]]
    documents.n_read = 0
    for _ in range(5):
        kept = MetadataColumns(documents)
        with ThreadPoolExecutor(8) as pool:
            found = list(pool.map(kept.mask, map(Where.parse, wheres)))
        assert [mask.sum() for mask in found] == expected * 25
    assert documents.n_read <= 5 * 3
