"""Ids, texts and metadata, in memory and in a file: one contract for both."""

from __future__ import annotations

import json
import os
import sqlite3
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing

import pytest
from hypothesis import given
from hypothesis import strategies as st

from in_memory import documents_of
from softcosine.errors import (
    CorruptIndexError,
    DuplicateIdError,
    InvalidInputError,
    UnknownDocumentError,
)
from softcosine.index.segment.stored_fields import StoredDocuments, write_documents
from softcosine.index.soft_index import SoftIndex

# Any characters at all, lone surrogates and NUL included.
strings = st.text(st.characters(exclude_categories=()), max_size=6)
json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False)
    | strings,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(strings, inner, max_size=3),
    max_leaves=6,
)  # fmt: skip


@st.composite
def collections(draw):
    ids = draw(st.lists(strings, unique=True, max_size=5))
    texts = draw(st.lists(strings, min_size=len(ids), max_size=len(ids)))
    metadata = draw(
        st.lists(
            st.none() | st.dictionaries(strings, json_values, max_size=3),
            min_size=len(ids),
            max_size=len(ids),
        )
    )
    return ids, texts, metadata


def stored(documents, folder):
    write_documents(documents, folder / "documents.sqlite")
    return StoredDocuments(folder / "documents.sqlite", len(documents))


def test_texts_of_many_documents_fill_their_pages(tmp_path):
    # Two of these fit a page of 4 KB, and leave a third of it empty.
    texts = [f"{number:1400}" for number in range(5_000)]
    write_documents(documents_of(texts), tmp_path / "many", len(texts))
    assert (tmp_path / "many").stat().st_size < 1.1 * sum(map(len, texts))
    found = StoredDocuments(tmp_path / "many", len(texts))
    assert [one.text for one in found.records([4_999, 0, 2_048])] == [
        texts[4_999], texts[0], texts[2_048],
    ]  # fmt: skip
    assert found.number("4095") == 4_095
    write_documents(documents_of(["a"]), tmp_path / "one", 1)
    assert (tmp_path / "one").stat().st_size < 1 << 14


@given(collections())
def test_documents_are_given_back_as_they_came(example_folder, collection):
    ids, texts, metadata = collection
    memory = documents_of(texts, ids=ids, metadata=metadata)
    for documents in (memory, stored(memory, example_folder())):
        assert len(documents) == len(ids)
        for number, (id, text, facts) in enumerate(zip(ids, texts, metadata, strict=True)):
            assert documents.id(number) == id
            assert documents.text(number) == text
            assert documents.metadata(number) == (facts or {})
            assert documents.number(id) == number
        assert list(documents.all_metadata()) == [facts or {} for facts in metadata]
        for absent in ("not there", None, 0, b"x"):
            if absent not in ids:
                with pytest.raises(UnknownDocumentError, match="there is no document"):
                    documents.number(absent)


@pytest.mark.parametrize("kept", ["memory", "stored"])
def test_numbers_are_the_ids_where_none_are_given(tmp_path, kept):
    documents = documents_of([f"text {i}" for i in range(12)])
    if kept == "stored":
        documents = stored(documents, tmp_path)
    for number in (0, 9, 11):
        assert documents.id(number) == str(number)
        assert documents.number(str(number)) == number
        assert documents.metadata(number) == {}
    for absent in ("12", "-1", "01", "+1", "1.0", " 1", "١", "²", "9" * 5000, "", 1, None):
        with pytest.raises(UnknownDocumentError):
            documents.number(absent)


def test_metadata_is_what_json_makes_of_it(tmp_path):
    given_metadata = [{1: (2, 3), "x": {"deep": (1,)}, None: True}]
    memory = documents_of(["text"], metadata=given_metadata)
    assert memory.metadata(0) == {"1": [2, 3], "x": {"deep": [1]}, "null": True}
    assert stored(memory, tmp_path).metadata(0) == memory.metadata(0)


def test_documents_stay_as_they_are(tmp_path):
    mine = {"list": [1]}
    memory = documents_of(["text"], metadata=[mine])
    for documents in (memory, stored(memory, tmp_path)):
        documents.metadata(0)["list"].append(2)
        documents.metadata(0)["new"] = 1
        mine["list"].append(3)
        assert documents.metadata(0) == {"list": [1]}


@pytest.mark.parametrize(
    ("settings", "error", "message"),
    [
        ({"ids": ["a"]}, InvalidInputError, "there are fewer ids than documents"),
        ({"ids": ["a", "b", "c"]}, InvalidInputError, "there are more ids than documents"),
        ({"ids": "ab"}, InvalidInputError, "ids is of type str"),
        ({"ids": 3}, InvalidInputError, "ids is of type int"),
        ({"ids": ["a", 3]}, InvalidInputError, r"document 1 is 3, of type int.*pass str\(id\)"),
        ({"ids": ["a", "a"]}, DuplicateIdError, "documents 0 and 1 have the same id 'a'"),
        ({"metadata": [{}]}, InvalidInputError, "there are fewer metadata than documents"),
        ({"metadata": {}}, InvalidInputError, "metadata is of type dict"),
        ({"metadata": [{}, "x"]}, InvalidInputError, "document '1' is of type str"),
        ({"metadata": [{"x": float("nan")}, {}]}, InvalidInputError, "document '0' cannot"),
        ({"metadata": [{"x": float("inf")}, {}]}, InvalidInputError, "document '0' cannot"),
        ({"metadata": [{}, {"x": object()}]}, InvalidInputError, "document '1' cannot"),
        ({"metadata": [{}, {("a", "b"): 1}]}, InvalidInputError, "document '1' cannot"),
    ],
)
def test_bad_arguments_are_named(settings, error, message):
    with pytest.raises(error, match=message):
        SoftIndex.from_texts(["x", "y"], plain=True, **settings)


def test_endless_metadata_is_refused():
    endless = {}
    endless["self"] = endless
    with pytest.raises(InvalidInputError, match="document '0' cannot be written as JSON"):
        SoftIndex.from_texts(["x"], metadata=[endless], plain=True)
    deep = {}
    for _ in range(100_000):
        deep = {"x": deep}
    with pytest.raises(InvalidInputError, match="document '0' cannot be written as JSON"):
        SoftIndex.from_texts(["x"], metadata=[deep], plain=True)


def test_a_file_that_is_no_database_is_named(tmp_path):
    path = tmp_path / "documents.sqlite"
    path.write_bytes(b"no database at all" * 100)
    documents = StoredDocuments(path, 1)
    for ask in (
        lambda: documents.id(0),
        lambda: documents.text(0),
        lambda: documents.metadata(0),
        lambda: documents.number("a"),
    ):
        with pytest.raises(CorruptIndexError, match=r"documents\.sqlite cannot be read"):
            ask()
    with pytest.raises(CorruptIndexError, match=r"cannot be opened"):
        StoredDocuments(tmp_path / "none.sqlite", 1).id(0)


def test_a_missing_row_is_named(tmp_path):
    documents = stored(documents_of(["x"]), tmp_path)
    with pytest.raises(CorruptIndexError, match="has no document number 1"):
        documents.text(1)


@pytest.mark.parametrize("kept", ["memory", "stored"])
def test_texts_may_be_left_out(tmp_path, kept):
    documents = documents_of(["x", "y"], ids=["a", "b"], metadata=[{"n": 1}, None])
    assert documents.keeps_texts
    assert stored(documents, tmp_path).keeps_texts
    (tmp_path / "documents.sqlite").unlink()
    documents = documents_of(
        ["x", "y"], ids=["a", "b"], metadata=[{"n": 1}, None], keep_texts=False
    )
    if kept == "stored":
        documents = stored(documents, tmp_path)
    assert not documents.keeps_texts
    assert len(documents) == 2
    assert [documents.text(0), documents.text(1)] == ["", ""]
    assert [documents.id(0), documents.number("b")] == ["a", 1]
    assert list(documents.all_metadata()) == [{"n": 1}, {}]


@pytest.mark.parametrize("kept", ["memory", "stored"])
def test_metadata_of_many_blocks_stands_in_order(tmp_path, kept):
    documents = documents_of([""] * 2500, metadata=[{"n": n} for n in range(2500)])
    if kept == "stored":
        documents = stored(documents, tmp_path)
    assert [facts["n"] for facts in documents.all_metadata()] == list(range(2500))


@pytest.mark.parametrize("damage", ["{", "7", '{"n": 1}, {"n": 2}', b"{}", None])
def test_all_metadata_is_what_is_read_one_by_one_of_damaged_files(tmp_path, damage):
    documents = stored(documents_of([""] * 5, metadata=[{"n": n} for n in range(5)]), tmp_path)
    with closing(sqlite3.connect(tmp_path / "documents.sqlite")) as connection:
        if damage is None:
            connection.execute("DELETE FROM documents WHERE number = 3")
        else:
            connection.execute("UPDATE documents SET metadata = ? WHERE number = 3", (damage,))
        connection.commit()
    documents = StoredDocuments(tmp_path / "documents.sqlite", 5)
    if damage == b"{}":
        assert list(documents.all_metadata())[3] == documents.metadata(3) == {}
        return
    with pytest.raises(CorruptIndexError, match="number 3"):
        list(documents.all_metadata())


def test_awkward_folder_names_are_opened(tmp_path):
    folder = tmp_path / "a b?c#d%20é;'"
    folder.mkdir()
    assert stored(documents_of(["x"]), folder).text(0) == "x"


def test_many_threads_may_read_at_once(tmp_path):
    documents = stored(documents_of([f"text {i}" for i in range(50)]), tmp_path)
    with ThreadPoolExecutor(8) as pool:
        found = list(pool.map(documents.text, list(range(50)) * 10))
    assert found == [f"text {i}" for i in range(50)] * 10


def test_the_file_holds_plain_text_where_it_can(tmp_path):
    stored(documents_of(["plain", "\0"], ids=["a", "b"], metadata=[{"x": 1}, None]), tmp_path)
    with closing(sqlite3.connect(tmp_path / "documents.sqlite")) as connection:
        rows = connection.execute("SELECT * FROM documents ORDER BY number").fetchall()
    assert rows == [(0, "a", "plain", json.dumps({"x": 1})), (1, "b", b"\0", None)]


@given(collections(), st.lists(strings, max_size=4))
def test_many_ids_are_looked_up_at_once(example_folder, collection, others):
    ids, texts, metadata = collection
    memory = documents_of(texts, ids=ids, metadata=metadata)
    documents = stored(memory, example_folder())
    assert list(documents.all_ids()) == ids
    asked = [*ids, *others]
    for one in (memory, documents):
        assert one.numbers(asked) == {id: ids.index(id) for id in asked if id in ids}
    facts = [None if not own else json.dumps(own) for own in metadata]
    for read in (memory, documents):
        assert list(read.all_documents()) == list(zip(ids, texts, facts, strict=True))


def test_more_ids_than_a_statement_takes_are_looked_up(tmp_path):
    ids = [str(number) for number in range(2500)]
    documents = stored(documents_of(ids, ids=ids), tmp_path)
    asked = [str(number) for number in range(1000, 4000)]
    assert documents.numbers(asked) == {id: int(id) for id in asked if int(id) < 2500}
    assert list(documents.all_ids()) == ids


@pytest.mark.parametrize("n_docs", [3, 100_000])
def test_a_small_file_keeps_no_descriptor_and_both_outlive_their_name(tmp_path, n_docs):
    ids = [str(number) for number in range(n_docs)]
    documents = stored(documents_of(ids, ids=ids), tmp_path)
    large = documents._path.stat().st_size >= 1 << 20
    assert large is (n_docs > 3)
    if not large or os.name != "nt":
        (tmp_path / "documents.sqlite").unlink()
    assert documents.id(2) == "2"


@pytest.mark.parametrize("content", [b"", b"no database", b"SQLite format 3\0" + b"\xff" * 200])
def test_a_small_file_that_is_no_database_is_named(tmp_path, content):
    (tmp_path / "documents.sqlite").write_bytes(content)
    with pytest.raises(CorruptIndexError, match=r"documents\.sqlite"):
        StoredDocuments(tmp_path / "documents.sqlite", 1).id(0)
    with pytest.raises(CorruptIndexError, match=r"nowhere\.sqlite"):
        StoredDocuments(tmp_path / "nowhere.sqlite", 1)
