"""Range checks of stored arrays: kernels do not check bounds, so these functions do.

A file that was altered without changing its size passes the check of sizes on opening, and its
checksum may have been altered with it. These checks read an array once, at memory speed, so that
such a file gives an error, never a crash or NaN. Small arrays are checked on opening. Large arrays
are checked before their first use, so that opening stays fast
(`softcosine.index.segment.segment`, `softcosine.matrix.entries`). An altered value in the valid
range is detected by its checksum only, and with a matching checksum at most by ``softcosine admin
check``.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from softcosine.errors import CorruptIndexError


def check_array(
    name: str, array: NDArray[Any], dtypes: tuple[str, ...], length: int | None = None
) -> None:
    """Raise CorruptIndexError unless an array is flat and has an allowed dtype and the length."""
    if (
        array.ndim != 1
        or str(array.dtype) not in dtypes
        or (length is not None and array.shape[0] != length)
    ):
        wanted = "" if length is None else f"{length} of "
        raise _damaged(
            f"the array {name} is of type {array.dtype} and shape {array.shape}; one dimension of "
            f"{wanted}{' or '.join(dtypes)} was written"
        )


def check_sizes(
    starts: NDArray[Any],
    columns: NDArray[Any],
    values: NDArray[Any],
    n: int,
) -> None:
    """Raise CorruptIndexError unless arrays have the sizes of a sparse matrix of order `n`.

    Only the first and last element of `starts` are read.
    """
    check_array("matrix/indptr", starts, ("int64",), n + 1)
    check_array("matrix/indices", columns, ("int32",))
    check_array("matrix/data", values, ("float32",), columns.shape[0])
    check_starts("matrix/indptr", starts[[0, -1]], columns.shape[0])


def check_compressed(
    starts: NDArray[Any],
    columns: NDArray[Any],
    values: NDArray[Any],
    n: int,
) -> None:
    """Raise CorruptIndexError unless arrays are a valid, finite sparse matrix of order `n`."""
    check_sizes(starts, columns, values, n)
    check_starts("matrix/indptr", starts, columns.shape[0])
    check_numbers("matrix/indices", columns, n)
    check_values("matrix/data", values)


def check_starts(name: str, starts: NDArray[np.integer[Any]], end: int) -> None:
    """Raise CorruptIndexError unless numbers go from 0 to `end` and never decrease."""
    rising = starts.shape[0] > 0 and not bool((starts[1:] < starts[:-1]).any())
    if not rising or int(starts[0]) != 0 or int(starts[-1]) != end:
        raise _damaged(f"the numbers in {name} do not rise from 0 to {end}")


def check_ascending(name: str, numbers: NDArray[np.integer[Any]]) -> None:
    """Raise CorruptIndexError unless numbers are strictly increasing."""
    if bool((numbers[1:] <= numbers[:-1]).any()):
        raise _damaged(f"the numbers in {name} do not ascend")


def check_numbers(name: str, numbers: NDArray[np.integer[Any]], limit: int) -> None:
    """Raise CorruptIndexError unless all numbers are at least 0 and below a limit."""
    least = np.iinfo(numbers.dtype).min
    if least == 0 and np.iinfo(numbers.dtype).max < limit:
        return  # true for all values of the dtype
    if numbers.shape[0] and not (
        (least == 0 or int(numbers.min()) >= 0) and int(numbers.max()) < limit
    ):
        raise _damaged(f"a number in {name} is not between 0 and {limit - 1}")


def check_values(name: str, values: NDArray[np.floating[Any]], *, least: float = -np.inf) -> None:
    """Raise CorruptIndexError unless all values are finite and not below `least`."""
    # Minimum and maximum propagate NaN, and need no temporary array.
    if values.shape[0]:
        lowest, highest = float(values.min()), float(values.max())
        if not (np.isfinite(lowest) and np.isfinite(highest) and lowest >= least):
            raise _damaged(f"a value in {name} is not finite or too small")


def _damaged(what: str) -> CorruptIndexError:
    return CorruptIndexError(
        f"{what}: a file has changed since it was written. `softcosine admin check` tells which; "
        "rebuild the index, or restore the file from a copy."
    )
