"""Types of the columns of CSV and TSV files."""

from __future__ import annotations

import io
import re
from datetime import UTC, date, datetime
from pathlib import Path
from types import SimpleNamespace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from reading import read_documents
from softcosine import ShardPlan, SoftIndex
from softcosine.cli.reading import Types, types_named
from softcosine.cluster.sharded_index import ShardedIndex
from softcosine.errors import InvalidInputError, MalformedFileError
from softcosine.files.column_types import ColumnTypes, parsed_cell

BOOKS = """\
id;text;words;price;published;stock;phone;zip;version;isbn
1;flat tyre;120;12.50;2024-05-01;true;030 123456;01234;1.9;9783161484100001
2.50;007;70;7.00;2023-11-20;False;+49 30 99;90210;1.10;9783161484100002
3;roses;;9;;TRUE;0800-555;04109;2.0;
"""
TYPES = {
    "words": "integer", "price": "decimal", "published": "date", "stock": "boolean",
    "phone": "text", "zip": "text", "version": "decimal", "isbn": "text",
}  # fmt: skip


def written(path: Path, content: str) -> str:
    path.write_text(content)
    return str(path)


def inferred(*cells: str) -> str:
    columns = ColumnTypes()
    for cell in cells:
        columns.read({"x": cell})
    return columns.inferred()["x"]


@pytest.mark.parametrize(
    ("type", "cells"),
    [
        ("integer", ["1", "", "-20", " 3 ", "0"]),
        ("decimal", ["1", "0.5", ".5", "-1e-3"]),
        ("decimal", ["12.50", "7.00", "3"]),
        ("boolean", ["true", "FALSE", "False"]),
        ("date", ["2024-05-01", "2024-05-01 10:00", "2024-05-01T10:00:00.5+02:00"]),
        ("text", ["1", "n/a"]),
        ("text", ["007", "12"]),
        ("text", ["+4930", "4930"]),
        ("decimal", ["9.99", "10", "100.00", "19.5"]),
        ("decimal", ["-0.50", "1.9", "1.10", "1E3", "1000"]),
        ("text", ["+1.50", "2.5"]),
        ("text", ["00.50", "2.5"]),
        ("text", ["1.2.3", "1.2"]),
        ("text", ["1234567890123456"]),
        ("text", ["1e999"]),
        ("text", ["1,5", "2"]),
        ("text", ["2024-02-30"]),
        ("text", ["01.05.2024"]),
        ("text", ["true", "1"]),
        ("text", ["2024-05-01", "1.5"]),
        ("text", ["nan", "inf"]),
        ("text", ["", " "]),
    ],
)
def test_a_column_has_the_type_of_all_its_cells(type, cells):
    assert inferred(*cells) == type
    assert inferred(*reversed(cells)) == type


VALUES = {
    "integer": st.integers(-(10**15) + 1, 10**15 - 1),
    "decimal": st.floats(allow_nan=False, allow_infinity=False, width=32).filter(
        lambda x: abs(x) < 1e15
    ),
    "boolean": st.booleans(),
    "date": st.dates() | st.datetimes(timezones=st.none() | st.just(UTC)),
}


@given(st.sampled_from(sorted(VALUES)).flatmap(
    lambda name: st.tuples(st.just(name), st.lists(VALUES[name], min_size=1))
))  # fmt: skip
def test_what_python_writes_is_read_as_the_same_value(example):
    type, values = example
    assert inferred(*map(str, values)) == type
    assert [parsed_cell(str(value), type) for value in values] == values


def test_metadata_of_csv_have_types_and_ids_and_texts_stay_as_they_are(tmp_path):
    types = Types()
    read = read_documents([written(tmp_path / "a.csv", BOOKS)], types=types)
    assert types.found == TYPES
    assert str(types) == (
        "Types of columns: words: integer, price: decimal, published: date, stock: boolean, "
        "version: decimal; others are text."
    )
    assert (read.ids, read.texts) == (["1", "2.50", "3"], ["flat tyre", "007", "roses"])
    assert read.metadata[0] == {
        "words": 120, "price": 12.5, "published": date(2024, 5, 1), "stock": True,
        "phone": "030 123456", "zip": "01234", "version": 1.9, "isbn": "9783161484100001",
    }  # fmt: skip
    assert read.metadata[2] == {
        "price": 9.0, "stock": True, "phone": "0800-555", "zip": "04109", "version": 2.0
    }  # fmt: skip
    index = SoftIndex.from_texts(read.texts, ids=read.ids, metadata=read.metadata, plain=True)
    assert [one.id for one in index.filter({"words": {">=": 100}})] == ["1"]
    assert [one.id for one in index.filter(sort="words")] == ["2.50", "1", "3"]
    assert [one.id for one in index.filter({"published": {">=": "2024-01-01"}})] == ["1"]
    facets = index.filter(facets=["stock", "published"]).facets
    assert facets["stock"] == ((True, 2), (False, 1))
    assert [value for value, _ in facets["published"]] == ["2023-11-20", "2024-05-01"]


@pytest.mark.parametrize("delimiter", [",", ";", "\t", "|"])
def test_the_delimiter_of_csv_is_seen_from_the_header(tmp_path, delimiter):
    rows = [["id", "text", '"a, b; c"'], ["1", '"x, y; z"', "7"]]
    content = "\n\n" + "\n".join(delimiter.join(row) for row in rows)
    read = read_documents([written(tmp_path / "a.csv", content)])
    assert (read.texts, read.metadata) == (["x, y; z"], [{"a, b; c": 7}])
    path = written(tmp_path / "b.csv", content + f"\n2{delimiter}y\n")
    with pytest.raises(
        MalformedFileError, match=rf"line 5.*separated by {re.escape(repr(delimiter))}"
    ):
        read_documents([path])


def test_a_first_line_that_names_no_delimiter_is_the_header(tmp_path):
    read = read_documents([written(tmp_path / "a.csv", "sep=,text\nx,tea\n")])
    assert read.metadata == [{"sep=": "x"}]
    with pytest.raises(InvalidInputError, match="there are the fields sep=\\."):
        read_documents([written(tmp_path / "a.csv", "sep=\ntea\n")])


@pytest.mark.parametrize("line", ["sep=;", '"sep=;"', "\ufeffSEP=;", "sep=\t", "sep=^"])
@pytest.mark.parametrize("end", ["\n", "\r\n"])
def test_the_delimiter_of_csv_may_be_named_by_its_first_line(tmp_path, line, end):
    delimiter = line.strip('"')[-1]
    rows = ["id", "text", "a, b, c"], ["1", "x, y, z", "7"], ["2", "tea", "8"]
    content = end.join([line, *(delimiter.join(row) for row in rows)])
    path = written(tmp_path / "a.csv", content)
    read = read_documents([path])
    assert (read.ids, read.texts) == (["1", "2"], ["x, y, z", "tea"])
    assert read.metadata == [{"a, b, c": 7}, {"a, b, c": 8}]
    path = written(tmp_path / "b.csv", f"{content}{end}3")
    with pytest.raises(MalformedFileError, match=r"line 5.*has 1 fields and the header 3"):
        read_documents([path])


def test_a_column_of_several_files_has_one_type(tmp_path):
    first = written(tmp_path / "a.csv", "text,n,m\nred,1,1\n")
    second = written(tmp_path / "b.tsv", "text\tm\tn\nblue\t0.5\tx\n")
    lines = written(tmp_path / "c.jsonl", '{"text": "green", "n": "1", "m": null}\n')
    for inputs in ([first, second, lines], [lines, second, first]):
        read = read_documents(inputs)
        found = dict(zip(read.texts, read.metadata, strict=True))
        assert found["red"] == {"n": "1", "m": 1.0}
        assert found["blue"] == {"n": "x", "m": 0.5}
        assert found["green"] == {"n": "1", "m": None}


def test_standard_input_is_read_twice(monkeypatch):
    for encoding in ("utf-8", "latin-1", "utf-16"):
        content = 'id,text,n\r\na,"caf\u00e9\r\nau lait",1\r\nb,tea,2\r\n'.encode(encoding)
        stream = SimpleNamespace(buffer=io.BufferedReader(io.BytesIO(content)))
        monkeypatch.setattr("sys.stdin", stream)
        read = read_documents(["-"], format="csv", encoding=encoding)
        assert read.texts == ["caf\u00e9\r\nau lait", "tea"]
        assert read.metadata == [{"n": 1}, {"n": 2}]
    content = io.BytesIO(b"text\ntea\ncaf\xe9\n")
    monkeypatch.setattr("sys.stdin", SimpleNamespace(buffer=io.BufferedReader(content)))
    with pytest.raises(MalformedFileError, match=r"standard input, line 3: .* --encoding latin-1"):
        read_documents(["-"], format="csv")


def test_an_endless_file_as_csv_is_an_error():
    with pytest.raises(MalformedFileError, match="/dev/zero, line 1: it holds NUL characters"):
        read_documents(["/dev/zero"], format="csv")


def test_given_types_are_taken_and_must_be_those_of_the_cells(tmp_path):
    path = written(tmp_path / "a.csv", BOOKS)
    types = Types(types_named(["words=text", "phone=text", "zip=integer"]))
    assert read_documents([path], types=types).metadata[0]["words"] == "120"
    assert [one["zip"] for one in read_documents([path], types=types).metadata] == [
        1234, 90210, 4109
    ]  # fmt: skip
    message = r"a\.csv, line 2: '030 123456' is no integer, .*'phone'.*--types phone=text"
    with pytest.raises(InvalidInputError, match=message):
        read_documents([path], types=Types({"phone": "integer"}))
    with pytest.raises(InvalidInputError, match=r"no column 'wrods'.*: words, price"):
        read_documents([path], types=Types({"wrods": "text"}))
    with pytest.raises(InvalidInputError, match=r"'words' is 'int'; .*Did you mean 'integer'"):
        read_documents([path], types=Types({"words": "int"}))
    with pytest.raises(InvalidInputError, match=r"--types is 'words'"):
        types_named(["words"])


def test_columns_that_an_index_has_keep_its_types(tmp_path):
    metadata = [
        {"words": 1, "price": 2, "published": "2024-05-01", "zip": "04109", "any": True,
         "a.b": "2024-05-01T10:00:00.000000Z", "mixed": 1, "nothing": None},
        {"price": 2.5, "mixed": "x", "a.b": "soon"},
    ]  # fmt: skip
    index = SoftIndex.from_texts(["red", "blue"], metadata=metadata, plain=True)
    content = "text,words,price,published,zip,any,a.b,mixed,nothing,new\n"
    fine = written(
        tmp_path / "a.csv", content + "tea,1.5,3,2024-06-01 10:00,10115,false,2024-01-01,7,1,1\n"
    )
    types = Types(index=index)
    (read,) = read_documents([fine], types=types).metadata
    assert types.found == {
        "words": "decimal", "price": "decimal", "published": "date", "zip": "text",
        "any": "boolean", "a.b": "text", "mixed": "integer", "nothing": "integer", "new": "integer",
    }  # fmt: skip
    assert (read["zip"], read["published"]) == ("10115", datetime(2024, 6, 1, 10))
    for name, cell in (("words", "n/a"), ("published", "May"), ("any", "yes")):
        path = written(tmp_path / "b.csv", f"text,{name}\ntea,{cell}\n")
        with pytest.raises(InvalidInputError, match=rf"line 2: '{cell}' is no .*{name}=text"):
            read_documents([path], types=Types(index=index))
        read = read_documents([path], types=Types({name: "text"}, index))
        assert read.metadata == [{name: cell}]


def test_shards_have_the_types_of_an_index(tmp_path):
    path = written(tmp_path / "a.csv", BOOKS)
    plan = ShardPlan([path], docs_per_shard=1, plain=True, types={"words": "decimal"})
    plan.build(tmp_path / "a.shards")
    assert plan.types_ == {**TYPES, "words": "decimal"}
    with ShardedIndex.open(tmp_path / "a.shards") as index:
        assert [one.id for one in index.filter({"words": {">=": 100}})] == ["1"]
        assert index.get(["3"])[0].metadata["price"] == 9.0
    with pytest.raises(InvalidInputError, match="no column 'x'"):
        ShardPlan([path], plain=True, types={"x": "text"}).build(tmp_path / "b.shards")


def test_a_header_may_have_many_names_and_none_twice(tmp_path):
    names = [f"c{i}" for i in range(50_000)]
    path = written(tmp_path / "a.csv", f"text,{','.join(names)}\nred,{'1,' * 49_999}2\n")
    (metadata,) = read_documents([path]).metadata
    assert (len(metadata), metadata["c49999"]) == (50_000, 2)
    path = written(tmp_path / "b.csv", ",".join(["text", *names, "c7"]))
    with pytest.raises(MalformedFileError, match="line 1: the header names 'c7' twice"):
        read_documents([path])
