"""Inputs of sharded indexes: chunks that together are the file."""

import gzip
import json

import pytest

from softcosine.cluster import splitting
from softcosine.cluster.splitting import inputs_at, split
from softcosine.errors import MalformedFileError


@pytest.fixture
def small_chunks(monkeypatch):
    monkeypatch.setattr(splitting, "_LEAST_BYTES", 100)


def rows(n):
    return [{"id": str(number), "text": "tea ü\n" * (number % 7)} for number in range(n)]


def chunks_of(path, **settings):
    return split(inputs_at([path]), settings.get("format"), settings.get("encoding", "utf-8"))


def values_in(chunks):
    return [record.values for chunk in chunks for record in chunk.records()]


@pytest.mark.parametrize("end", ["\n", "\r\n"])
@pytest.mark.parametrize("last", ["", "\n"])
def test_byte_ranges_of_json_lines_are_the_file(tmp_path, small_chunks, end, last):
    file = tmp_path / "all.jsonl"
    file.write_bytes((end.join(map(json.dumps, rows(200))) + last).encode())
    chunks = chunks_of(file)
    assert len(chunks) > 50
    assert values_in(chunks) == rows(200)
    assert all(list(chunk.records()) for chunk in chunks)


def test_lines_longer_than_a_chunk_stay_whole(tmp_path, small_chunks):
    file = tmp_path / "all.jsonl"
    long = [
        {"id": "1", "text": "x" * 1000},
        {"id": "2", "text": "y"},
        {"id": "3", "text": "z" * 99},
    ]
    file.write_text("\n".join(map(json.dumps, long)))
    assert values_in(chunks_of(file)) == long


def test_compressed_and_other_files_are_one_chunk(tmp_path, small_chunks):
    packed, array = tmp_path / "all.jsonl.gz", tmp_path / "all.json"
    packed.write_bytes(gzip.compress("\n".join(map(json.dumps, rows(100))).encode()))
    array.write_text(json.dumps(rows(100)))
    for file in (packed, array):
        (chunk,) = chunks_of(file)
        assert values_in([chunk]) == rows(100)


def test_row_groups_of_parquet_are_the_file(tmp_path, small_chunks):
    pa = pytest.importorskip("pyarrow")
    from pyarrow import parquet

    parquet.write_table(
        pa.Table.from_pylist(rows(500)), tmp_path / "all.parquet", row_group_size=40
    )
    chunks = chunks_of(tmp_path / "all.parquet")
    assert len(chunks) > 5
    assert values_in(chunks) == rows(500)


def test_urls_are_read_through_fsspec(small_chunks):
    fsspec = pytest.importorskip("fsspec")
    content = "\n".join(map(json.dumps, rows(100)))
    with fsspec.open("memory://test/all.jsonl", "w") as file:
        file.write(content)
    (one,) = inputs_at(["memory://test/all.jsonl"])
    assert one.n_bytes == len(content.encode())
    chunks = split([one], None, "utf-8")
    assert len(chunks) > 5
    assert values_in(chunks) == rows(100)


def test_a_fault_names_the_chunk_and_the_line(tmp_path, small_chunks):
    file = tmp_path / "all.jsonl"
    lines = [json.dumps(row) for row in rows(100)]
    lines[-1] = "{"
    file.write_text("\n".join(lines))
    with pytest.raises(MalformedFileError, match=r"all.jsonl from byte \d+, line"):
        values_in(chunks_of(file))


def test_a_missing_input_is_an_error(tmp_path):
    with pytest.raises(FileNotFoundError):
        inputs_at([tmp_path / "none.jsonl"])
