"""Arrays come back from a file as they were, whoever reads it."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import array_shapes, arrays, boolean_dtypes, integer_dtypes

from softcosine.storage.folder import read_arrays, write_arrays

BOTH = pytest.mark.parametrize("mapped", [False, True])
NUMBERS = st.one_of(
    integer_dtypes(endianness="?"), boolean_dtypes(), st.sampled_from(["<f2", "<f4", "<f8", ">f8"])
)
GIVEN = arrays(NUMBERS, array_shapes(min_dims=0, min_side=0, max_dims=3), fill=st.just(1))


def written(path, given):
    with path.open("wb") as stream:
        return write_arrays(stream, given)["arrays"]


@BOTH
@given(many=st.lists(GIVEN, max_size=4), transposed=st.booleans())
def test_arrays_are_what_was_written_and_what_numpy_reads(example_folder, mapped, many, transposed):
    path = example_folder() / "x.npys"
    given = {str(number): one.T if transposed else one for number, one in enumerate(many)}
    starts = written(path, given)
    before = path.read_bytes()
    assert list(starts) == list(given)
    found = read_arrays(path, starts, mapped=mapped)
    for name, expected in given.items():
        array = found[name]
        assert (array.dtype, array.shape) == (expected.dtype, expected.shape)
        assert array.tobytes() == expected.tobytes()
        assert array.flags.c_contiguous
        assert array.flags.aligned
        with path.open("rb") as stream:
            stream.seek(starts[name])
            assert np.load(stream).tobytes() == expected.tobytes()
    for array in found.values():
        array[...] = 0  # compiled kernels take writable arrays only
    assert path.read_bytes() == before
    some = {name: start for name, start in starts.items() if name == "1"}
    assert list(read_arrays(path, some, mapped=mapped)) == list(some)


@pytest.mark.parametrize("array", [np.array(["a", "bc"]), np.array([None]), np.array([b"x"])])
def test_other_arrays_than_of_numbers_are_not_written(tmp_path, array):
    with pytest.raises(ValueError, match=r"the array x is of type .*, not of numbers"):
        written(tmp_path / "x.npys", {"x": array})


@BOTH
@pytest.mark.parametrize(
    "change",
    [
        lambda content: content[:-1],
        lambda content: content[:20],
        lambda content: b"",
        lambda content: b"PK" + content,
        lambda content: content.replace(b"(8,)", b"(9,)"),
        lambda content: content.replace(b"\x76\x00", b"\x77\x00"),
        lambda content: content.replace(b"'<i8'", b"'<i9'"),
        lambda content: content.replace(b"'<i8'", b"'|O8'"),
        lambda content: content.replace(b"False", b"True "),
        lambda content: content[:40] + content,
    ],
)
def test_what_is_no_array_is_refused(tmp_path, mapped, change):
    path = tmp_path / "x.npys"
    starts = written(path, {"x": np.arange(8)})
    content = path.read_bytes()
    path.write_bytes(change(content))
    assert path.read_bytes() != content
    with pytest.raises((ValueError, TypeError)):
        read_arrays(path, starts, mapped=mapped)
    for start in (1, 40, 64, 128, 2**70):
        path.write_bytes(content)
        with pytest.raises(ValueError, match=rf"at byte {start}$"):
            read_arrays(path, {"x": start}, mapped=mapped)


def test_a_mapped_array_outlives_its_file(tmp_path):
    path = tmp_path / "x.npys"
    starts = written(path, {"x": np.arange(100_000)})
    array = read_arrays(path, starts, mapped=True)["x"]
    try:
        path.unlink()
    except PermissionError:
        pytest.skip("mapped files cannot be deleted here")
    assert array.sum() == 99_999 * 50_000
