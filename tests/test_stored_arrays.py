"""Arrays are read from files as NumPy reads them, only sooner."""

from __future__ import annotations

import io

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import array_shapes, arrays, boolean_dtypes, integer_dtypes

from softcosine.storage.arrays import read_array

BOTH = pytest.mark.parametrize("mapped", [False, True])
NUMBERS = st.one_of(
    integer_dtypes(endianness="?"), boolean_dtypes(), st.sampled_from(["<f2", "<f4", "<f8", ">f8"])
)


@BOTH
@given(array=arrays(NUMBERS, array_shapes(min_dims=0, min_side=0, max_dims=3), fill=st.just(1)))
def test_an_array_is_what_numpy_reads(tmp_path_factory, mapped, array):
    path = tmp_path_factory.mktemp("arrays") / "x.npy"
    np.save(path, array)
    found = read_array(path, mapped=mapped)
    expected = np.load(path)
    assert found.dtype == expected.dtype
    assert found.shape == expected.shape
    assert found.tobytes() == expected.tobytes()
    assert found.flags.c_contiguous
    before = path.read_bytes()
    found[...] = 0  # compiled kernels take writable arrays only
    assert path.read_bytes() == before


@BOTH
def test_unusual_arrays_are_left_to_numpy(tmp_path, mapped):
    path = tmp_path / "x.npy"
    for array in (np.array(["a", "bc"]), np.asfortranarray(np.arange(6).reshape(2, 3))):
        np.save(path, array)
        np.testing.assert_array_equal(read_array(path, mapped=mapped), array)
    stream = io.BytesIO()
    np.lib.format.write_array(stream, np.arange(3), version=(2, 0))
    path.write_bytes(stream.getvalue())
    assert read_array(path, mapped=mapped).tolist() == [0, 1, 2]


@BOTH
@pytest.mark.parametrize(
    "change",
    [
        lambda content: content[:-1],
        lambda content: content[:20],
        lambda content: b"",
        lambda content: b"PK" + content,
        lambda content: content.replace(b"(3,)", b"(9,)"),
        lambda content: content.replace(b"\x76\x00", b"\x77\x00"),
        lambda content: content.replace(b"'<i8'", b"'<i9'"),
        lambda content: content.replace(b"'<i8'", b"'|O8'"),
    ],
)
def test_what_is_no_array_is_refused(tmp_path, mapped, change):
    path = tmp_path / "x.npy"
    np.save(path, np.arange(3))
    content = path.read_bytes()
    path.write_bytes(change(content))
    assert path.read_bytes() != content
    with pytest.raises((ValueError, TypeError, EOFError)):
        read_array(path, mapped=mapped)


def test_a_mapped_array_outlives_its_file(tmp_path):
    path = tmp_path / "x.npy"
    np.save(path, np.arange(100_000))
    array = read_array(path, mapped=True)
    try:
        path.unlink()
    except PermissionError:
        pytest.skip("mapped files cannot be deleted here")
    assert array.sum() == 99_999 * 50_000
