from __future__ import annotations

import gzip
import io
import json
import re
from datetime import date, datetime, timedelta, timezone
from decimal import Decimal
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from reading import read_documents
from softcosine import SoftIndex
from softcosine.cli.reading import SeenIds, each_document
from softcosine.errors import DuplicateIdError, InvalidInputError, MalformedFileError
from softcosine.evaluate.datasets.collections import read_collection
from softcosine.files import Fields


def written(path: Path, content: str | bytes) -> str:
    data = content.encode() if isinstance(content, str) else content
    path.write_bytes(gzip.compress(data) if path.suffix == ".gz" else data)
    return str(path)


def test_json_lines_give_ids_texts_and_metadata(tmp_path):
    path = written(
        tmp_path / "a.jsonl",
        '{"id": 7, "text": "red", "lang": "en"}\n\n{"id": "b", "text": "blue"}\n',
    )
    documents = read_documents([path])
    assert documents.ids == ["7", "b"]
    assert documents.texts == ["red", "blue"]
    assert documents.metadata == [{"lang": "en"}, None]


@pytest.mark.parametrize("suffix", ["", ".gz"])
@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("a.jsonl", '{"text": "red"}\n{"text": "blue"}'),
        ("a.json", '[{"text": "red"}, {"text": "blue"}]'),
        ("a.csv", 'text\nred\n"blue"\n'),
        ("a.tsv", "text\nred\nblue\n"),
        ("a.txt", "red\n\nblue\r\n"),
        ("a.TXT", "\ufeffred\nblue"),
    ],
)
def test_every_text_format_is_read_also_compressed(tmp_path, name, content, suffix):
    documents = read_documents([written(tmp_path / (name + suffix), content)])
    assert documents.texts == ["red", "blue"]
    assert documents.ids == ["1", "2"]


def test_dates_of_parquet_are_stored_as_those_given_in_python_are(tmp_path):
    pa = pytest.importorskip("pyarrow")
    import pyarrow.parquet as pq

    path = tmp_path / "a.parquet"
    day, at = date(2024, 5, 1), datetime(2024, 5, 1, 12, tzinfo=timezone(timedelta(hours=2)))
    table = {
        "id": [1, 2], "text": ["red", None], "day": [day, None], "x": [float("nan"), 1.5],
        "at": [at, None], "all": [[at], []], "clock": [at.time(), None],
    }  # fmt: skip
    pq.write_table(pa.table(table), path)
    documents = read_documents([str(path)])
    assert documents.ids == ["1", "2"]
    assert documents.texts == ["red", ""]
    index = SoftIndex.from_texts(
        documents.texts, ids=documents.ids, metadata=documents.metadata, plain=True
    )
    (found,) = index.filter({"at": at, "day": {"<=": day}})
    moment = "2024-05-01T10:00:00.000000Z"
    assert found.metadata == {
        "day": "2024-05-01", "x": None, "at": moment, "all": [moment], "clock": "12:00:00"
    }  # fmt: skip
    assert index.get(["2"])[0].metadata["x"] == 1.5


def test_a_column_of_dates_is_taken_as_ids_and_texts(tmp_path):
    pa = pytest.importorskip("pyarrow")
    import pyarrow.parquet as pq

    path = tmp_path / "a.parquet"
    pq.write_table(pa.table({"id": [date(2024, 5, 1)], "text": [datetime(2024, 5, 1)]}), path)
    documents = read_documents([str(path)])
    assert (documents.ids, documents.texts) == (["2024-05-01"], ["2024-05-01 00:00:00"])


def test_decimals_of_parquet_are_numbers_and_keep_their_form_as_ids_and_texts(tmp_path):
    pa = pytest.importorskip("pyarrow")
    import pyarrow.parquet as pq

    path, whole = tmp_path / "a.parquet", 2**64 + 1
    price = pa.array(map(Decimal, ["9.50", "10.00", "100.25"]), pa.decimal128(8, 2))
    table = {
        "id": price, "text": price, "price": price, "all": [[Decimal("0.5")], [], None],
        "whole": pa.array([Decimal(whole), None, Decimal(-7)], pa.decimal128(38, 0)),
    }  # fmt: skip
    pq.write_table(pa.table(table), path)
    read = read_documents([str(path)])
    assert read.ids == read.texts == ["9.50", "10.00", "100.25"]
    index = SoftIndex.from_texts(read.texts, ids=read.ids, metadata=read.metadata, plain=True)
    first, last = index.get(["9.50", "100.25"])
    assert first.metadata == {"price": 9.5, "all": [0.5], "whole": whole}
    assert (last.metadata["price"], last.metadata["whole"]) == (100.25, -7)
    assert [one.id for one in index.filter({"price": {">=": 10}})] == ["10.00", "100.25"]
    assert [one.id for one in index.filter({"price": Decimal(10)})] == ["10.00"]
    assert [one.id for one in index.filter(sort="-price")] == ["100.25", "10.00", "9.50"]


@pytest.mark.parametrize(
    ("type", "value"), [("date32", 2**30), ("s", 253_402_300_800), ("ms", -(10**14))]
)
def test_dates_of_parquet_outside_the_years_of_python_name_their_column(tmp_path, type, value):
    pa = pytest.importorskip("pyarrow")
    import pyarrow.parquet as pq

    path, kind = tmp_path / "a.parquet", pa.date32() if type == "date32" else pa.timestamp(type)
    when = pa.array([0, value], pa.int32() if type == "date32" else pa.int64()).cast(kind)
    for own in (when, pa.array([[None], when.slice(1)], pa.list_(kind))):
        pq.write_table(pa.table({"text": ["red", "blue"], "when": own}), path)
        with pytest.raises(MalformedFileError, match=r"column 'when' .* years 1 to 9999.*; make"):
            read_documents([str(path)])


def test_a_file_that_is_no_parquet_is_named(tmp_path):
    pytest.importorskip("pyarrow")
    with pytest.raises(MalformedFileError, match=r"a\.parquet.*no readable parquet"):
        read_documents([written(tmp_path / "a.parquet", "red")])


def test_a_folder_gives_its_text_files_by_path_and_leaves_out_the_others(tmp_path):
    (tmp_path / "sub").mkdir()
    (tmp_path / ".git").mkdir()
    written(tmp_path / "b.md", "# red\nblue")
    written(tmp_path / "sub" / "a.txt", "green")
    written(tmp_path / "c.png", b"\x89PNG\0")
    written(tmp_path / ".git" / "x.txt", "hidden")
    documents = read_documents([str(tmp_path)])
    assert documents.ids == ["b.md", "sub/a.txt"]
    assert documents.texts == ["# red\nblue", "green"]
    assert read_documents([str(tmp_path)], pattern="*.md").ids == ["b.md"]
    for pattern in ("sub/*.txt", "**/*.txt", "sub/**/a.txt", "sub/**"):
        assert read_documents([str(tmp_path)], pattern=pattern).ids == ["sub/a.txt"]


def test_a_folder_without_text_files_says_what_it_holds(tmp_path):
    written(tmp_path / "c.png", b"\x89PNG\0")
    with pytest.raises(InvalidInputError, match=r"such as c\.png\. Choose.*--glob"):
        read_documents([str(tmp_path)])
    written(tmp_path / "d.png", b"\x89PNG\0")
    named = r"named \*\.txt, \*\.text, .*, \*\.org or \*\.tex; it holds others, such as c"
    with pytest.raises(InvalidInputError, match=named):
        read_documents([str(tmp_path)])


def test_standard_input_holds_a_document_a_line_or_what_is_said(monkeypatch):
    class Stdin:
        buffer = io.BufferedReader(io.BytesIO(b'{"text": "red"}\n'))

    monkeypatch.setattr("sys.stdin", Stdin)
    assert read_documents(["-"], format="jsonl").texts == ["red"]
    Stdin.buffer = io.BufferedReader(io.BytesIO(b"red\nblue\n"))
    assert read_documents(["-"]).texts == ["red", "blue"]


@pytest.mark.parametrize(
    ("content", "format", "texts"),
    [
        (b'\n{"text": "red"}\n{"text": "blue"}\n', None, ["red", "blue"]),
        (b'{"text": "red"}\n', "lines", ['{"text": "red"}']),
        (b'red\n{"text": "blue"}\n', None, ["red", '{"text": "blue"}']),
        (b"[1]\n{x}\n", None, ["[1]", "{x}"]),
    ],
)
def test_standard_input_holds_json_lines_if_its_first_is_an_object(
    monkeypatch, content, format, texts
):
    class Stdin:
        buffer = io.BufferedReader(io.BytesIO(content))

    monkeypatch.setattr("sys.stdin", Stdin)
    assert read_documents(["-"], format=format).texts == texts


def test_text_fields_are_joined_and_one_of_them_is_enough(tmp_path):
    path = written(
        tmp_path / "a.jsonl", '{"title": "A", "body": "red"}\n{"body": "blue", "title": null}\n'
    )
    documents = read_documents([path], fields=Fields(text=("title", "body")))
    assert documents.texts == ["A\nred", "blue"]
    assert documents.metadata == [{"title": "A"}, None]


def test_a_corpus_as_beir_lays_it_out_gives_its_ids_and_titles(tmp_path):
    path = written(
        tmp_path / "corpus.jsonl",
        '{"_id": "d1", "title": "Tyres", "text": "a flat one", "metadata": {"year": 2020}}\n'
        '{"_id": "d2", "title": "", "text": "green tea"}\n'
        '{"_id": "d3", "title": "Soft cosine", "text": "Soft cosine is a measure"}\n',
    )
    documents = read_documents([path])
    assert documents.ids == ["d1", "d2", "d3"]
    assert documents.texts == ["Tyres\na flat one", "green tea", "Soft cosine is a measure"]
    assert documents.metadata == [
        {"title": "Tyres", "metadata": {"year": 2020}}, None, {"title": "Soft cosine"}
    ]  # fmt: skip
    only_text = read_documents([path], fields=Fields(text=("text",)))
    assert only_text.texts[0] == "a flat one"
    assert (only_text.metadata[0] or {})["title"] == "Tyres"
    first = next(each_document([path], fields=Fields(id="title", text=("text",))))
    assert (first.id, first.metadata) == ("Tyres", {"_id": "d1", "metadata": {"year": 2020}})


@given(
    titles=st.lists(st.sampled_from(["", "red", "red tea", "tea"]), min_size=1, max_size=4),
    texts=st.lists(st.sampled_from(["red tea is good", "red", "tea\nred", ""]), min_size=4),
    names=st.sampled_from(["id", "_id"]),
)
def test_an_index_reads_a_corpus_as_an_evaluation_does(example_folder, titles, texts, names):
    folder = example_folder()
    rows = [{names: f"d{number}", "title": title, "text": text}
            for number, (title, text) in enumerate(zip(titles, texts, strict=False))]  # fmt: skip
    path = written(folder / "corpus.jsonl", "".join(json.dumps(row) + "\n" for row in rows))
    queries = written(folder / "queries", "q\tx\n")
    qrels = written(folder / "qrels", "q 0 d0 1\n")
    judged = read_collection([Path(path)], [Path(queries)], [Path(qrels)], name="toy")
    indexed = read_documents([path])
    assert tuple(indexed.ids) == judged.documents.ids
    assert indexed.texts == judged.documents.texts


@pytest.mark.parametrize(
    ("record", "id"),
    [
        ('{"id": 7, "_id": "7", "text": "red"}', "7"),
        ('{"docid": "m3", "text": "red"}', "m3"),
        ('{"id": "chunk", "docid": "whole", "text": "red"}', "chunk"),
        ('{"text": "red", "n": 1}', "1"),
    ],
)
def test_an_id_stands_in_one_of_the_usual_fields(tmp_path, record, id):
    documents = read_documents([written(tmp_path / "a.jsonl", record)])
    assert documents.ids == [id]
    assert not {"id", "_id"} & set(documents.metadata[0] or {})


def test_two_usual_ids_that_differ_ask_for_one(tmp_path):
    path = written(
        tmp_path / "a.jsonl",
        '{"id": 1, "_id": "1", "text": "x"}\n{"id": 2, "_id": "b", "text": "y"}\n',
    )
    with pytest.raises(InvalidInputError, match=r"line 2: the field 'id' is '2' .* '_id' is 'b'.*"):
        read_documents([path])
    with pytest.raises(InvalidInputError, match="--id NAME"):
        read_documents([path])
    chosen = read_documents([path], fields=Fields(id="_id"))
    assert (chosen.ids, chosen.metadata) == (["1", "b"], [{"id": 1}, {"id": 2}])


def test_a_title_that_is_no_text_is_an_error_unless_the_text_alone_is_asked_for(tmp_path):
    path = written(tmp_path / "a.jsonl", '{"title": ["Tyres"], "text": "red"}')
    with pytest.raises(InvalidInputError, match=r"line 1: the field 'title' is of type.*--text"):
        read_documents([path])
    (metadata,) = read_documents([path], fields=Fields(text=("text",))).metadata
    assert metadata == {"title": ["Tyres"]}


def test_a_text_field_that_no_document_has_is_an_error(tmp_path):
    path = written(tmp_path / "a.jsonl", '{"body": "red", "n": 1}\n')
    with pytest.raises(InvalidInputError, match=r"no document has a field 'titel'.*body, n"):
        read_documents([path], fields=Fields(text=("titel", "body")))


def test_a_missing_text_field_names_place_and_fields(tmp_path):
    path = written(tmp_path / "a.jsonl", '{"text": "red"}\n{"body": "blue", "n": 1}\n')
    with pytest.raises(
        InvalidInputError, match=r"a\.jsonl, line 2: there is no field 'text'.*body, n.*--text"
    ):
        read_documents([path])


def test_a_missing_id_names_place_and_option(tmp_path):
    path = written(tmp_path / "a.jsonl", '{"id": 1, "text": "red"}\n{"text": "blue"}\n')
    with pytest.raises(InvalidInputError, match=r"line 2: there is no field 'id'.*--id"):
        read_documents([path])


@pytest.mark.parametrize("id", ["null", '""', "true", "[1]"])
def test_an_id_must_be_a_text_or_a_number(tmp_path, id):
    path = written(tmp_path / "a.jsonl", f'{{"id": {id}, "text": "red"}}')
    with pytest.raises(InvalidInputError, match="line 1: the id is"):
        read_documents([path])


def test_a_text_must_be_a_text(tmp_path):
    path = written(tmp_path / "a.jsonl", '{"text": ["red"]}')
    with pytest.raises(InvalidInputError, match="line 1: the field 'text' is of type list"):
        read_documents([path])


def test_equal_ids_name_both_places_across_files(tmp_path):
    first = written(tmp_path / "a.jsonl", '{"id": 1, "text": "red"}')
    second = written(tmp_path / "b.csv", "id,text\n0,x\n1,y\n")
    with pytest.raises(DuplicateIdError, match=r"b\.csv, line 3: the id '1'.*a\.jsonl, line 1"):
        read_documents([first, second])


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("a.jsonl", '{"text": "red"}\n{"text": \n', "line 2: this is no JSON"),
        ("a.jsonl", '["red"]\n', "line 1: this is an array; an object was needed"),
        ("a.jsonl", "[" * 100_000, "line 1: this is no JSON .*nested too deeply"),
        ("a.jsonl", f'{{"text": "red", "x": {"9" * 5000}}}', "5,000 digits; write it as a string"),
        ("a.json", f'[{{"text": "red", "x": {"9" * 5000}}}]', "5,000 digits; write it as a string"),
        ("a.jsonl", '{"text": "red", "x": NaN}\n', "line 1: this is no JSON .*write null"),
        ("a.json", '{"text": "red"}\n{"text": "blue"}\n', "no JSON .*--format jsonl"),
        ("a.json", '{"text": "red"}', "it holds an object; an array of objects"),
        ("a.json", '[{"text": "red"}, 3]', "item 2 is a number"),
        ("a.csv", 'text\n"red" blue\n', "line 2: the quoting is broken"),
        ("a.csv", 'text\n"red\nblue\n', "line 3: the quoting is broken"),
        ("a.csv", "text,n\nred\n", "line 2: this row has 1 fields and the header 2"),
        ("a.csv", "text,text\nred,x\n", "line 1: the header names 'text' twice"),
        ("a.txt", b"red\n\x00\x01\n", "line 2: it holds NUL characters"),
        ("a.txt", "red\ncaf\u00e9\n".encode("latin-1"), "line 2: this is not utf-8.*--encoding"),
        ("a.txt", "red".encode("utf-16"), "it begins like utf-16.*--encoding utf-16"),
    ],
)
def test_a_malformed_file_is_named_with_the_line(tmp_path, name, content, message):
    with pytest.raises(MalformedFileError, match=rf"{re.escape(name)}.*{message}"):
        read_documents([written(tmp_path / name, content)])


@pytest.mark.parametrize("content", [b"red", gzip.compress(b"red\n" * 10_000, mtime=0)[:-20]])
def test_a_damaged_gzip_file_is_named(tmp_path, content):
    path = tmp_path / "a.txt.gz"
    path.write_bytes(content)
    with pytest.raises(MalformedFileError, match=r"a\.txt\.gz"):
        read_documents([str(path)])


@pytest.mark.parametrize(
    ("name", "content"), [("a.jsonl", ""), ("a.csv", "text\n"), ("a.txt", "\n")]
)
def test_a_file_without_documents_says_so(tmp_path, name, content):
    with pytest.raises(InvalidInputError, match="no documents found"):
        read_documents([written(tmp_path / name, content)])


@pytest.mark.parametrize("name", ["nowhere", "nowhere.jsonl", "no\0where"])
def test_a_file_that_is_not_there_is_named(name):
    with pytest.raises(FileNotFoundError, match="No such file"):
        read_documents([name])


def test_an_unknown_ending_asks_for_the_format(tmp_path):
    path = written(tmp_path / "a.dat", "red\nblue")
    with pytest.raises(InvalidInputError, match="--format"):
        read_documents([path])
    assert read_documents([path], format="lines").texts == ["red", "blue"]
    assert read_documents([path], format="text").texts == ["red\nblue"]
    with pytest.raises(InvalidInputError, match="format is 'xml'"):
        read_documents([path], format="xml")


def test_other_encodings_can_be_named(tmp_path):
    for encoding in ("latin-1", "utf-16"):
        path = written(tmp_path / "a.txt", "caf\u00e9\n".encode(encoding))
        assert read_documents([path], encoding=encoding).texts == ["caf\u00e9"]
    with pytest.raises(InvalidInputError, match="no text encoding 'latin-99'"):
        read_documents([path], encoding="latin-99")


def test_csv_takes_huge_fields_and_line_breaks_and_counts_lines(tmp_path):
    huge = "red " * 50_000
    path = written(tmp_path / "a.csv", f'text,n\n"a ""b""\nc",1\n{huge},2\nx,y,z\n')
    with pytest.raises(MalformedFileError, match="line 5"):
        read_documents([path])
    path = written(tmp_path / "a.csv", f'text,n\n"a ""b""\nc",1\n{huge},2\n')
    documents = read_documents([path])
    assert documents.texts == ['a "b"\nc', huge]
    assert documents.metadata == [{"n": 1}, {"n": 2}]


def test_tsv_takes_quotation_marks_as_they_are(tmp_path):
    path = written(tmp_path / "a.tsv", 'text\tn\n"red\t5" wide\n')
    assert read_documents([path]).texts == ['"red']


def test_progress_is_told_now_and_then(tmp_path):
    path = written(tmp_path / "a.txt", "red\n" * 2500)
    seen: list[tuple[object, ...]] = []
    read_documents([path], progress=lambda *told: seen.append(told))
    assert seen == [("reading documents", n_read, None) for n_read in (1000, 2000)]


@given(st.lists(st.dictionaries(st.text(), st.text() | st.integers() | st.none()), min_size=1))
def test_what_json_lines_hold_comes_back(example_folder, extras):
    records = [{**extra, "id": number, "text": "red"} for number, extra in enumerate(extras)]
    path = example_folder() / "a.jsonl"
    path.write_text("".join(json.dumps(record) + "\n" for record in records))
    documents = read_documents([str(path)])
    assert documents.ids == [str(number) for number in range(len(records))]
    for record, metadata in zip(records, documents.metadata, strict=True):
        assert {"id": record["id"], "text": "red", **(metadata or {})} == record


def test_documents_come_one_by_one_as_files_are_read(tmp_path):
    path = written(tmp_path / "a.jsonl", '{"id": 1, "text": "red"}\n{"id": 2}\n')
    documents = each_document([path])
    assert next(documents).id == "1"
    with pytest.raises(InvalidInputError, match="line 2: there is no field 'text'"):
        next(documents)


def test_separate_fields_stay_apart_and_count_together(tmp_path):
    path = written(tmp_path / "a.jsonl", '{"title": "A", "body": "red", "n": 1}\n{"body": null}\n')
    fields = Fields(text=("title", "body"), separate=True)
    first, second = each_document([path], fields=fields)
    assert (first.text, first.metadata) == ({"title": "A", "body": "red"}, {"n": 1})
    assert (second.text, second.metadata) == ({"body": ""}, None)
    assert (first.n_characters, second.n_characters) == (4, 0)


def test_running_numbers_begin_where_they_are_told_to(tmp_path):
    path = written(tmp_path / "a.txt", "red\nblue\n")
    assert [one.id for one in each_document([path], first_number=lambda: 7)] == ["7", "8"]
    path = written(tmp_path / "a.jsonl", '{"id": "x", "text": "red"}\n')

    def never():
        raise AssertionError

    assert [one.id for one in each_document([path], first_number=never)] == ["x"]


@given(st.lists(st.text(max_size=2), max_size=30))
def test_ids_that_were_seen_are_told_with_their_place(given_ids):
    seen: dict[str, str] = {}
    with SeenIds() as ids:
        for line, id in enumerate(given_ids):
            assert ids.add(id, f"line {line}") == seen.get(id)
            seen.setdefault(id, f"line {line}")
        assert ids.add("\ud800\0", "\udc80") is None
        assert ids.add("\ud800\0", "c") == "\udc80"
