"""Stored folders that somebody altered and signed anew: an error of ours, never a crash or a hang.

What could end the process, or go on for ever, runs in a child.
"""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import subprocess
import sys
import zipfile
from io import BytesIO
from pathlib import Path

import numpy as np
import pytest

import crafted
from softcosine.errors import CorruptIndexError, IndexFormatError, InvalidInputError
from softcosine.index.directory.check import check_index
from softcosine.index.directory.store import Store
from softcosine.index.segment.segment import _CHECKS, ENTRIES, POSTINGS, STARTS, Segment
from softcosine.index.segment.stored_fields import StoredDocuments
from softcosine.index.soft_index import SoftIndex
from softcosine.index.writer.merging import MergePolicy
from softcosine.matrix.ranges import check_numbers
from softcosine.matrix.term_similarity_matrix import TermSimilarityMatrix
from softcosine.similarity.overrides.antonyms import Antonyms
from softcosine.similarity.overrides.guard import Guarded
from softcosine.similarity.pairs import PairSimilarity
from softcosine.storage.disk import open_regular
from softcosine.storage.folder import read_arrays
from softcosine.text.analyzer import Analyzer

HERE = Path(__file__).resolve().parent
TEXTS = ["a flat tyre on my bike bike", "tea and coffee", "the tire of a bike", "tea tea tea"]
SOURCE = PairSimilarity([("tyre", "tire", 0.8), ("bike", "bicycle", 0.7)])
RANKINGS = ("soft_bm25", "soft_tf_bm25", "soft_cosine", "inner_product", "expanded_cosine")
# Where the checks of large arrays begin; -1 takes every array for a large one.
LIMITS = (
    "softcosine.index.segment.segment._CHECKED_AT_ONCE",
    "softcosine.matrix.term_similarity_matrix._CHECKED_AT_ONCE",
    "softcosine.matrix.stored._WORDS_AT_ONCE",
    "softcosine.text.vocabulary._CHECKED_AT_ONCE",
)
FEW = 2**12  # a limit that a small segment exceeds


def grown(path, *, n_segments=1, **settings):
    """Make an index of segments of four documents each, of which d1 is deleted."""
    SoftIndex.create(
        path, source=SOURCE, analyzer=Analyzer(), ranking="soft_bm25", encoder=None, **settings
    )
    for first in range(0, 4 * n_segments, 4):
        with SoftIndex.open(path).writer(merge=None) as writer:
            for number, text in enumerate(TEXTS, first):
                writer.add(f"d{number}", text, {"year": 2000 + number})
    with SoftIndex.open(path).writer(merge=None) as writer:
        writer.delete("d1")
    return path


@pytest.fixture(scope="module")
def whole(tmp_path_factory):
    return grown(tmp_path_factory.mktemp("crafted") / "x", positions=True)


@pytest.fixture(scope="module")
def long(tmp_path_factory):
    """An index whose one segment has more than `FEW` postings."""
    path = tmp_path_factory.mktemp("long") / "x"
    texts = [" ".join(f"w{(i + j * j) % 97}" for j in range(42)) for i in range(200)]
    SoftIndex.from_texts(texts, plain=True, analyzer=Analyzer()).save(path)
    return path


@pytest.fixture
def copies(tmp_path):
    """Copy an index as often as it is asked for."""

    def copy(path):
        return Path(shutil.copytree(path, tmp_path / f"copy{len(list(tmp_path.iterdir()))}"))

    return copy


@pytest.fixture
def folder(whole, copies):
    return copies(whole)


def replaced(path):
    with SoftIndex.open(path).writer() as writer:
        writer.add("d3", "green tea on a bicycle")


def merged(path):
    with SoftIndex.open(path).writer() as writer:
        writer.merge()


BROAD = "a flat tyre on my bike tea and coffee the tire of"
# What is asked of an index: opened, and by its path.
ASKED = {
    **{
        ranking: lambda index, path, ranking=ranking: index.search("tire w9", ranking=ranking)
        for ranking in RANKINGS
    },
    "batch": lambda index, path: index.search_batch([f"{BROAD} w{n}" for n in range(80)]),
    "all": lambda index, path: index.search("tire tea w2", min_score=-1.0),
    "phrase": lambda index, path: index.search('tea +tyre -coffee "flat tire" w4', syntax=True),
    "explain": lambda index, path: index.explain("tea w5", "d3"),
    "similar": lambda index, path: index.similar("d3"),
    "pairs": lambda index, path: index.pairs(k=1),
    "replace": lambda index, path: replaced(path),
    "verify": lambda index, path: SoftIndex.open(path, verify=True),
    "merge": lambda index, path: merged(path),
}


def outcomes(paths, asked, limit):
    """Ask each index everything, opened anew each time; names of errors, or an empty string."""
    found = {}
    with pytest.MonkeyPatch.context() as patch:
        for name in LIMITS if limit is not None else ():
            patch.setattr(name, limit)
        for path in paths:
            found[path] = {}
            for name in asked:
                sys.stderr.write(f"{path} {name}\n")
                sys.stderr.flush()
                fresh = shutil.copytree(path, f"{path}.{name}")
                try:
                    ASKED[name](SoftIndex.open(fresh), fresh)
                    found[path][name] = ""
                except Exception as error:
                    found[path][name] = type(error).__name__
    return found


def in_child(paths, *, asked=tuple(ASKED), limit=None):
    """`outcomes` in a process of its own, which has to end well and in time."""
    names = [str(path) for path in paths]
    code = (
        f"import json, test_crafted as t; print(json.dumps(t.outcomes({names}, {asked}, {limit})))"
    )
    done = subprocess.run(
        [sys.executable, "-P", "-c", code],
        capture_output=True, text=True, timeout=300, check=False,
        env={**os.environ, "PYTHONPATH": os.pathsep.join([str(HERE), *filter(None, sys.path)])},
    )  # fmt: skip
    assert done.returncode == 0, f"{done.returncode}: {done.stderr[-1000:]}"
    return json.loads(done.stdout)


IMPOSSIBLE = {
    "pointers": lambda a: np.where(np.arange(len(a)) == 1, 2**40, a),
    "entries": lambda a: np.full_like(a, 0x00FFFFFF),
    "present_terms": lambda a: np.where(np.arange(len(a)) == 1, 2**30, a),
    "term_groups": lambda a: np.where(np.arange(len(a)) == 1, 2**31, a),
    "group_starts": lambda a: np.where(np.arange(len(a)) == 1, 2**31, a),
    "group_levels": lambda a: np.full_like(a, 65535),
    "documents": lambda a: np.full_like(a, 65535),
    "frequencies": lambda a: np.full_like(a, np.nan),
    "lengths": lambda a: np.full_like(a, -1),
    "tokens": lambda a: np.full_like(a, 2**31 - 1),
    "token_offsets": lambda a: np.where(np.arange(len(a)) == 1, 2**40, a),
}


def test_impossible_numbers_of_a_large_segment_never_lead_astray(whole, copies):
    paths = {}
    for name, change in IMPOSSIBLE.items():
        path = copies(whole)
        array = crafted.read_array(path, "segment", f"0/{name}")
        crafted.rewrite_array(path, "segment", f"0/{name}", change(array).astype(array.dtype))
        paths[str(path)] = name
    for name, change in {
        "present_terms": lambda a: a[::-1],
        "term_groups": lambda a: a[:-1],
        "group_levels": lambda a: a[:-1],
    }.items():
        path = copies(whole)
        array = crafted.read_array(path, "segment", f"0/{name}")
        crafted.rewrite_array(path, "segment", f"0/{name}", change(array))
        paths[str(path)] = name
    level = copies(whole)
    entries = crafted.read_array(level, "segment", "0/entries")
    crafted.rewrite_array(level, "segment", "0/entries", entries | np.uint32(0xFE000000))
    paths[str(level)] = "entries"
    spilled = copies(whole)
    crafted.rewrite_array(spilled, "segment", "0/entries", entries | np.uint32(0xFF000000))
    paths[str(spilled)] = "entries"
    found = in_child(paths, limit=-1)
    for path, name in paths.items():
        told = found[path]
        assert set(told.values()) <= {"", "CorruptIndexError"}, (name, told)
        assert told["verify"] == told["merge"] == "CorruptIndexError", (name, told)
        if name not in ("tokens", "token_offsets"):
            assert {told[ranking] for ranking in RANKINGS} == {"CorruptIndexError"}, (name, told)


def test_impossible_entries_of_s_never_lead_astray(whole, copies):
    paths = []
    for name, change in {
        "indptr": lambda a: np.where(np.arange(len(a)) == 1, 2**40, a),
        "indices": lambda a: np.full_like(a, 2**31 - 1),
        "data": lambda a: np.full_like(a, np.nan),
    }.items():
        paths.append(path := copies(whole))
        array = crafted.read_array(path, "space", f"matrix/{name}")
        crafted.rewrite_array(path, "space", f"matrix/{name}", change(array).astype(array.dtype))
    for told in in_child(paths, limit=-1).values():
        assert set(told.values()) <= {"", "CorruptIndexError"}, told
        for name in (*RANKINGS, "batch", "similar", "pairs", "verify"):
            assert told[name] == "CorruptIndexError"


def test_a_segment_of_more_postings_than_are_checked_at_once_is_checked(long, copies):
    names, paths = ("entries", "documents", "group_starts"), []
    for name in names:
        paths.append(path := copies(long))
        array = crafted.read_array(path, "segment", f"0/{name}")
        assert name != "entries" or len(array) > FEW
        crafted.rewrite_array(path, "segment", f"0/{name}", IMPOSSIBLE[name](array))
    asked = ("soft_bm25", "expanded_cosine", "verify")
    for told in in_child(paths, asked=asked, limit=FEW).values():
        assert set(told.values()) == {"CorruptIndexError"}


def test_a_sound_large_segment_is_searched_as_a_small_one(long, monkeypatch):
    monkeypatch.setattr(LIMITS[0], FEW)
    large = SoftIndex.open(long)
    monkeypatch.setattr(LIMITS[0], 2**40)
    checked = SoftIndex.open(long)
    (own,), (other,) = (one.snapshot.segments[0].fields for one in (large, checked))
    assert own._unchecked == set(_CHECKS)
    assert other._unchecked == set()
    assert large.search("w1 w2 w3", k=50) == checked.search("w1 w2 w3", k=50)
    assert own._unchecked == {ENTRIES}  # a search reads the documents that it ranks alone
    large.explain("w1", "0")
    assert own._unchecked == set()


def test_what_was_checked_once_is_not_read_again(monkeypatch):
    segment = Segment.empty(3)
    segment._unchecked.update(_CHECKS)
    read = []
    for name in _CHECKS:
        monkeypatch.setitem(_CHECKS, name, lambda segment, name=name: read.append(name))
    segment.require(STARTS, POSTINGS)
    segment.require(POSTINGS, STARTS)
    assert read == [STARTS, POSTINGS]
    segment.check()
    assert read == [STARTS, POSTINGS, *_CHECKS]


@pytest.mark.parametrize("limit", [0, 3, 255, 256, 257, 65536])
def test_unsigned_numbers_are_checked_against_any_limit(limit):
    for dtype in (np.uint8, np.uint16, np.int32):
        numbers = np.array([0, 255], dtype)
        with pytest.raises(CorruptIndexError) if limit <= 255 else contextlib.nullcontext():
            check_numbers("x", numbers, limit)


def test_a_document_has_a_number_among_those_of_its_segment(whole, copies):
    paths = {}
    for number in (-7, 4, 70_000, 2**63 - 1):
        path = copies(whole)
        crafted.rewrite_sql(
            path, "segment", f"UPDATE documents SET number = {number} WHERE id = 'd3'"
        )
        paths[str(path)] = number
    asked = ("explain", "similar", "replace", "merge")
    for path, told in in_child(paths, asked=asked).items():
        assert set(told.values()) == {"CorruptIndexError"}
        documents = SoftIndex.open(path).snapshot.segments[0].documents
        for ask in (
            lambda d=documents: d.number("d3"),
            lambda d=documents: d.numbers(["d0", "d3"]),
        ):
            with pytest.raises(
                CorruptIndexError, match=rf"the number {paths[path]}, but its 4 documents"
            ):
                ask()


COUNTED = "WITH RECURSIVE n(i) AS (SELECT 0 UNION ALL SELECT i FROM n)"


STATEMENTS = [
    (
        "DROP INDEX documents_by_id",
        "ALTER TABLE documents RENAME TO other",
        f"CREATE VIEW documents AS {COUNTED} SELECT i number, 'd3' id, '' text, '' metadata FROM n",
    ),
    (
        "DROP TABLE documents",
        f"CREATE VIEW documents(number, id, text, metadata) AS {COUNTED} "
        "SELECT i, 'd3', '', NULL FROM n WHERE i > 0",
    ),
    ("DROP TABLE documents",),
    ("DROP INDEX documents_by_id",),
    ("CREATE TABLE more (x)",),
    ("ALTER TABLE documents ADD COLUMN more",),
    ("DELETE FROM documents",),
    ("UPDATE documents SET id = 5 WHERE id = 'd3'",),
    ("UPDATE documents SET id = x'ff' WHERE id = 'd3'",),
    ("UPDATE documents SET id = NULL",),
    ("UPDATE documents SET text = 1.5",),
    ("UPDATE documents SET metadata = '[1]'",),
    (f"UPDATE documents SET metadata = '{'[' * 100_000}'",),
]


def test_whatever_sql_holds_there_is_an_error_of_ours_or_an_answer(whole, copies):
    paths = {}
    for statements in STATEMENTS:
        path = copies(whole)
        with contextlib.suppress(crafted.sqlite3.OperationalError):  # older versions of SQLite
            crafted.rewrite_sql(path, "segment", *statements)
            paths[str(path)] = statements
    asked = ("soft_bm25", "explain", "similar", "phrase", "replace", "merge")
    for path, told in in_child(paths, asked=asked).items():
        outcomes = set(told.values())
        assert outcomes <= {"", "CorruptIndexError", "UnknownDocumentError"}, (paths[path], told)
        assert "CorruptIndexError" in outcomes, (paths[path], told)


def test_a_document_that_is_there_twice_ends_a_merge_well(tmp_path):
    path = grown(tmp_path / "x", n_segments=2)
    part = sorted((path / "parts").glob("segment-*"))[0].name
    crafted.rewrite_sql(path, part, "UPDATE documents SET id = 'same' WHERE id in ('d0', 'd4')")
    other = sorted((path / "parts").glob("segment-*"))[1].name
    crafted.rewrite_sql(path, other, "UPDATE documents SET id = 'same' WHERE id in ('d0', 'd4')")
    with pytest.raises(CorruptIndexError, match="have the same id"):
        merged(path)
    assert SoftIndex.open(path).search("tea").ids


def test_files_of_documents_are_as_this_version_writes_them(whole, tmp_path):
    documents = SoftIndex.open(whole).snapshot.segments[0].documents
    assert isinstance(documents, StoredDocuments)
    assert documents.keeps_texts
    assert not SoftIndex.open(
        grown(tmp_path / "y", keep_texts=False)
    ).snapshot.segments[0].documents.keeps_texts  # fmt: skip


# Of the manifests of parts: kind, and settings in place of those that there are.
SETTINGS = [
    ("segment", {"fields": 10**9}),
    ("segment", {"fields": -1}),
    ("segment", {"fields": 0}),
    ("segment", {"fields": "1"}),
    ("segment", {"n_docs": -4}),
    ("segment", {"n_docs": 10**30}),
    ("segment", {"n_docs": 4.0}),
    ("segment", {"n_docs": None}),
    ("segment", {"n_terms": -1}),
    ("segment", {"n_terms": 10**30}),
    ("segment", {"n_terms": 2}),
    ("segment", {"n_terms": None}),
    ("segment", {"positions": "yes"}),
    ("norms", {"fields": 10**9}),
    ("norms", {"fields": 0}),
    ("norms", {"fields": True}),
    ("deleted", {"n_docs": -1}),
    ("deleted", {"n_docs": 10**12}),
    ("statistics", {"fields": []}),
    ("statistics", {"fields": {}}),
    ("statistics", {"fields": [7]}),
    ("statistics", {"fields": [{"n_docs": -1, "total_length": 1}]}),
    ("statistics", {"fields": [{"n_docs": 10**400, "total_length": 1}]}),
    *[
        ("statistics", {"fields": [{"n_docs": 3, "total_length": length}]})
        for length in (float("nan"), 1.0, -1, 2**53 + 1, 10**400, "4", None)
    ],
    ("space", {"similarity": None}),
    ("space", {"similarity": {}}),
    ("space", {"similarity": {"matrix": {"max_neighbors": -1}}}),
    ("space", {"similarity": {"matrix": {"shrunk": float("nan")}}}),
    ("space", {"similarity": {"matrix": {"extended": 5}}}),
    ("space", {"source": 5}),
    ("space", {"source": {"kind": "pairs"}}),
    ("space", {"source": {"kind": "pairs", "settings": {}, "arrays": ["x"], "parts": []}}),
    ("space", {"source": {"kind": [], "settings": {}, "arrays": [], "parts": []}}),
]


@pytest.mark.parametrize(("kind", "settings"), SETTINGS)
def test_what_the_manifest_of_a_part_says_is_checked(folder, kind, settings):
    crafted.rewrite_settings(folder, kind, **settings)
    with pytest.raises(CorruptIndexError):
        SoftIndex.open(folder)
    with pytest.raises(CorruptIndexError):
        check_index(Store.open(folder))


INDEX_SETTINGS = [
    {"segments": {}},
    {"segments": 5},
    {"segments": [5]},
    {"segments": [{"part": 7, "n_docs": 4}]},
    {"space": 7},
    {"space": "space-0000000000000000"},
    {"space": None},
    {"statistics": []},
    {"fields": []},
    {"fields": [{"name": "a"}, {"name": "a"}]},
    {"fields": [{"name": "a", "weight": float("nan")}]},
    {"fields": [{"name": "a", "weight": 1.0}, {"name": "b", "weight": 1.0}]},
    {"fields": 10**9},
    {"analyzer": 5},
    {"weighting": None},
    {"weighting": {"tf": "log", "idf": "smooth", "k1": float("inf"), "b": 0.75}},
    {"weighting": {"tf": [], "idf": "smooth", "k1": 1.2, "b": 0.75}},
    {"ranking": "best"},
    {"ranking": ["soft_bm25"]},
    {"note": 5},
    {"positions": 1},
    {"texts": None},
    {"plain": "no"},
    {"frozen": 1},
]


@pytest.mark.parametrize("settings", INDEX_SETTINGS)
def test_what_the_manifest_of_an_index_says_is_checked(folder, settings):
    crafted.rewrite_index_manifest(folder, lambda manifest: manifest["settings"].update(settings))
    with pytest.raises(CorruptIndexError):
        SoftIndex.open(folder)


@pytest.mark.parametrize("max_ngram", [10**9, 65, 0, -1, 1.5, "2", None, float("nan")])
def test_an_analyzer_makes_ngrams_of_a_few_words(folder, max_ngram):
    def change(manifest):
        manifest["settings"]["analyzer"]["max_ngram"] = max_ngram

    crafted.rewrite_index_manifest(folder, change)
    with pytest.raises(CorruptIndexError, match="max_ngram"):
        SoftIndex.open(folder)
    with pytest.raises(InvalidInputError, match="max_ngram"):
        Analyzer(max_ngram=max_ngram)
    assert Analyzer(max_ngram=64).terms("a b") == ["a", "a b", "b"]


def test_no_part_counts_twice(folder):
    def twice(manifest):
        manifest["settings"]["segments"] *= 2

    def often(manifest):
        manifest["settings"]["segments"] *= 20_000

    for change in (twice, often):
        crafted.rewrite_index_manifest(folder, change)
        with pytest.raises(CorruptIndexError, match=r"lists the part 'segment-.*' twice"):
            SoftIndex.open(folder)


@pytest.mark.parametrize(
    "change",
    [
        lambda manifest: manifest.update(generation=-1),
        lambda manifest: manifest.update(generation=1.5),
        lambda manifest: manifest.update(generation="3"),
        lambda manifest: manifest.update(generation=float("inf")),
        lambda manifest: manifest.pop("generation"),
        lambda manifest: manifest.update(settings=[]),
        lambda manifest: manifest.pop("settings"),
    ],
)
def test_a_manifest_that_is_none_of_an_index_is_refused(folder, change):
    crafted.rewrite_index_manifest(folder, change)
    with pytest.raises(CorruptIndexError):
        SoftIndex.open(folder)


@pytest.mark.parametrize("parts", [None, [], "x", 5, {"x": 5}, {"x": {"kind": 5}}, {"x": {}}])
def test_the_parts_of_an_index_have_kinds_and_checksums(folder, parts):
    file = folder / crafted.MANIFEST
    manifest = json.loads(file.read_text())
    crafted._rewrite(file, lambda own: own.update(parts=parts))
    with pytest.raises(CorruptIndexError):
        SoftIndex.open(folder)
    crafted._rewrite(file, lambda own: own.update(manifest))
    SoftIndex.open(folder)


@pytest.mark.parametrize(
    "files",
    [
        None,
        [],
        5,
        "x",
        {"x": 5},
        {"x": []},
        {"x": {"bytes": "1", "sha256": ""}},
        {"x": {"bytes": 1}},
    ],
)
def test_the_files_of_a_part_have_sizes_and_checksums(folder, files):
    crafted.rewrite_manifest(folder, "norms", lambda manifest: manifest.update(files=files))
    with pytest.raises(CorruptIndexError, match="every file's size and checksum"):
        SoftIndex.open(folder)


@pytest.mark.parametrize(
    "text",
    [
        '{"format":' * 100_000,
        "[" * 100_000 + "]" * 100_000,
        '{"format": "softcosine-index", "version": 3, "settings": '
        + '{"a":' * 50_000
        + "1"
        + "}" * 50_001,
        "5",
        "null",
        '"x"',
        "[1, 2]",
        "",
        "\0",
        '{"format": ' + "1" * 5000 + "}",
    ],
)
def test_a_manifest_that_is_no_manifest_is_refused(folder, text):
    part = crafted.part_folder(folder, "norms") / crafted.MANIFEST
    for file in (part, folder / crafted.MANIFEST):
        file.write_text(text)
        with pytest.raises(IndexFormatError):
            SoftIndex.open(folder)


def archive():
    stream = BytesIO()
    with zipfile.ZipFile(stream, "w") as file:
        file.writestr("x", "y")
    return stream.getvalue()


def headed(header):
    padded = header.encode().ljust(117) + b"\n"
    return b"\x93NUMPY\x01\x00" + len(padded).to_bytes(2, "little") + padded


@pytest.mark.parametrize(
    "content",
    [
        archive(),
        b"",
        b"\x80\x04K\x01.",  # a pickle
        headed("{'descr': '<f8', 'fortran_order': False, 'shape': (1000000000000,), }"),
        headed("{'descr': '<f8', 'fortran_order': True, 'shape': (1000000000000,), }"),
        headed("{'descr': '<f8', 'fortran_order': False, 'shape': (0, 9223372036854775808), }"),
        headed("{'descr': '<f8', 'fortran_order': True, 'shape': (-1,), }"),
        headed("{'descr': '|O', 'fortran_order': False, 'shape': (1,), }"),
        headed("{'descr': '<U0', 'fortran_order': False, 'shape': (1000000000,), }"),
        headed("((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((("),
        b"\x93NUMPY\x09\x00",
    ],
)
def test_what_is_no_array_is_refused(folder, content):
    crafted.rewrite_raw_array(folder, "norms", "0", content)
    with pytest.raises(CorruptIndexError):
        SoftIndex.open(folder)
    with pytest.raises(CorruptIndexError):
        check_index(Store.open(folder))


def test_an_array_has_as_many_numbers_as_its_header_says(tmp_path):
    path = tmp_path / "x.npys"
    path.write_bytes(crafted.npy(np.arange(4))[:-1])
    for mapped in (False, True):
        with pytest.raises(ValueError, match="31 bytes follow the header, not 32"):
            read_arrays(path, {"x": 0}, mapped=mapped)


@pytest.mark.parametrize("start", [-64, 1, 64, 128, 10**6, 2**70, "0", None, True, 0.0])
def test_an_array_begins_where_a_header_is(folder, start):
    def change(manifest):
        manifest["files"]["arrays.npys"]["arrays"]["0"] = start

    crafted.rewrite_manifest(folder, "norms", change)
    with pytest.raises(CorruptIndexError):
        SoftIndex.open(folder)


FIFOS = pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="there are no FIFOs here")


@FIFOS
@pytest.mark.parametrize("mapped", [False, True])
def test_a_fifo_or_a_device_is_never_waited_for(tmp_path, mapped):
    os.mkfifo(tmp_path / "fifo")
    for path in (tmp_path / "fifo", Path(os.devnull)):
        with pytest.raises(CorruptIndexError, match="is no regular file"):
            read_arrays(path, {"x": 0}, mapped=mapped)
        with pytest.raises(CorruptIndexError, match="is no regular file"):
            open_regular(path)
    with pytest.raises(IsADirectoryError):
        open_regular(tmp_path)


@FIFOS
@pytest.mark.parametrize(
    ("part", "name"),
    [
        ("", crafted.MANIFEST),
        ("norms", crafted.MANIFEST),
        ("norms", "arrays.npys"),
        ("segment", "0.npys"),
        ("segment", "documents.sqlite"),
    ],
)
def test_a_fifo_in_place_of_a_file_is_found_at_once(folder, part, name):
    file = crafted.part_folder(folder, part) / name
    file.unlink()
    os.mkfifo(file)
    if name != crafted.MANIFEST:
        crafted.rewrite_manifest(
            folder, part, lambda manifest: manifest["files"][name].update(bytes=0)
        )
    with pytest.raises(CorruptIndexError, match="is no regular file"):
        SoftIndex.open(folder)


@pytest.mark.parametrize(
    ("name", "array"),
    [
        ("indptr", [0, 5, 2, 4]),
        ("indices", [0, 1, 1, 3]),
        ("indices", [0, 1, 1, -1]),
        ("data", [1, 0.5, np.nan, 1]),
        ("indptr", [[0, 2, 4]]),
        ("data", [1, 0.5, 0.5]),
    ],
)
def test_a_saved_matrix_is_checked_as_that_of_an_index(tmp_path, monkeypatch, name, array):
    path = tmp_path / "S"
    TermSimilarityMatrix.from_matrix([[1, 0.5], [0.5, 1]]).save(path, source=SOURCE)
    dtype = crafted.read_array(path, "", f"matrix/{name}").dtype
    crafted.rewrite_array(path, "", f"matrix/{name}", np.array(array, dtype))
    for limit in (1 << 22, -1):
        monkeypatch.setattr(LIMITS[1], limit)
        with pytest.raises(CorruptIndexError):
            _ = TermSimilarityMatrix.load(path).arrays
        with pytest.raises(CorruptIndexError):
            TermSimilarityMatrix.load(path, verify=True)


def test_a_source_nested_too_deeply_is_refused(tmp_path):
    path = tmp_path / "S"
    TermSimilarityMatrix.from_matrix([[1, 0.5], [0.5, 1]]).save(path, source=SOURCE)
    nested = {"kind": "strongest", "settings": {}, "arrays": [], "parts": []}
    for _ in range(300):
        nested = {**nested, "parts": [nested]}
    crafted.rewrite_settings(path, "", source=nested)
    with pytest.raises((CorruptIndexError, InvalidInputError)):
        TermSimilarityMatrix.load_source(path)


def test_a_source_of_damaged_words_is_corrupt_and_is_never_left_out_of_a_copy(tmp_path):
    path = tmp_path / "x"
    guarded = Guarded(SOURCE, antonyms=Antonyms([("hot", "cold")]))
    SoftIndex.from_texts(TEXTS, source=guarded).save(path)
    (space,) = (path / "parts").glob("space-*")
    crafted.rewrite_array(path, space.name, "source/antonyms", np.full(7, 255, np.uint8))
    with pytest.raises(CorruptIndexError, match="packed strings are not UTF-8"):
        SoftIndex.open(path).save(tmp_path / "copy")
    assert not (tmp_path / "copy").exists()
    offsets = crafted.read_array(path, space.name, "source/0/word_offsets")
    crafted.rewrite_array(path, space.name, "source/0/word_offsets", offsets[::-1].copy())
    with pytest.raises(CorruptIndexError, match="cannot be built from what was saved"):
        SoftIndex.open(path).search("bicycle")


def test_falling_offsets_of_positions_end_a_merge_well(tmp_path):
    path = grown(tmp_path / "x", n_segments=2, positions=True)
    part = sorted((path / "parts").glob("segment-*"))[0].name
    offsets = crafted.read_array(path, part, "0/token_offsets")
    offsets[1:-1] = offsets[1:-1][::-1]
    crafted.rewrite_array(path, part, "0/token_offsets", offsets)
    SoftIndex.open(path).search('"flat tyre"')
    with pytest.raises(CorruptIndexError, match="token_offsets do not rise"):
        merged(path)
    with pytest.raises(CorruptIndexError, match="token_offsets do not rise"):
        SoftIndex.open(path, verify=True)
    assert MergePolicy().factor > 2  # so that nothing was merged before


def test_many_queries_are_asked_in_one_pass_over_the_documents(whole):
    answers = ASKED["batch"](SoftIndex.open(whole), "")
    assert {hits.plan.method for hits in answers} == {"panel"}
