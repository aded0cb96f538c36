"""Checks of user input: numbers, choices, flags, matrices.

A check returns None or raises InvalidInputError, ``NAME is X; it must be Y.``
This module does not import NumPy, because ``softcosine --help`` imports it.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Sequence
from difflib import get_close_matches
from numbers import Integral, Real
from typing import TYPE_CHECKING, Any

from softcosine.errors import InvalidInputError

if TYPE_CHECKING:
    from scipy.sparse import csr_array


NAME = re.compile(r"[A-Za-z0-9_][A-Za-z0-9._-]{0,99}")  # it may stand in an address
_SIZE = re.compile(r"(\d+\.?\d*|\.\d+)\s*([kMGT]?)(?:i?B)?", re.IGNORECASE)


def checked_name(name: Any, of: str = "an index") -> str:
    """Return the name of an index, alias or key of a server; InvalidInputError if it is none."""
    if not isinstance(name, str) or not NAME.fullmatch(name):
        raise InvalidInputError(
            f"{name!r:.120} is no name of {of}; use up to 100 letters, digits, '.', '_' and '-', "
            "and begin with a letter, a digit or '_'."
        )
    return name


def must_be(name: str, value: object, needed: str) -> InvalidInputError:
    """Return the error ``NAME is X; it must be NEEDED.``; a long X is truncated."""
    return InvalidInputError(f"{name} is {value!r:.80}; it must be {needed}.")


def check_whole(
    name: str, value: Any, *, least: int = 1, most: int | None = None, optional: bool = False
) -> None:
    """Require an integer in the range, not a bool; None passes if `optional`."""
    if optional and value is None:
        return
    if not is_whole(value) or value < least or (most is not None and value > most):
        needed = f"of {least:,} or more" if most is None else f"from {least:,} to {most:,}"
        raise must_be(name, value, f"a whole number {needed}{', or None' if optional else ''}")


def check_number(
    name: str,
    value: Any,
    *,
    least: float | None = None,
    above: float | None = None,
    most: float | None = None,
    below: float | None = None,
    optional: bool = False,
) -> None:
    """Require a finite number in the range; None passes if `optional`.

    `least` and `most` are inclusive, `above` and `below` exclusive; pass one of each pair.
    """
    if optional and value is None:
        return
    if (
        not is_number(value)
        or not math.isfinite(float(value))
        or (least is not None and value < least)
        or (above is not None and value <= above)
        or (most is not None and value > most)
        or (below is not None and value >= below)
    ):
        if least is not None and most is not None:
            needed = f"a number from {least:g} to {most:g}"
        else:
            limits = (("of at least", least), ("above", above), ("at most", most), ("below", below))
            words = [f"{word} {limit:g}" for word, limit in limits if limit is not None]
            finite = "finite " if most is None and below is None else ""
            needed = f"a {finite}number {' and '.join(words)}"
        raise must_be(name, value, f"{needed}{', or None' if optional else ''}")


def check_choice(name: str, value: Any, choices: Iterable[str], *, optional: bool = False) -> None:
    """Require one of the strings; the error suggests the nearest one."""
    if optional and value is None:
        return
    strings = list(choices)
    if isinstance(value, str) and value in strings:
        return
    error = must_be(name, value, f"one of {', '.join(strings)}{', or None' if optional else ''}")
    near = get_close_matches(value, strings, 1) if isinstance(value, str) else []
    raise InvalidInputError(f"{error} Did you mean {near[0]!r}?") if near else error


def check_flag(name: str, value: Any, *, optional: bool = False) -> None:
    """Require True or False; None passes if `optional`."""
    if not (isinstance(value, bool) or (optional and value is None)):
        raise must_be(name, value, "True, False or None" if optional else "True or False")


def check_type(name: str, value: Any, types: Any, advice: str) -> None:
    """Require an instance of `types`; `advice` begins with a verb and has no final dot."""
    if not isinstance(value, types):
        raise InvalidInputError(f"{name} is of type {type(value).__name__}; {advice}.")


def check_list(name: str, value: Any, of: str = "strings", *, types: Any = Iterable) -> None:
    """Require a collection of one of the types; a single string is refused."""
    if isinstance(value, str | bytes):
        raise InvalidInputError(f"{name} is a single string; wrap it in a list: [{name}].")
    if not isinstance(value, types):
        raise InvalidInputError(f"{name} is of type {type(value).__name__}; pass a list of {of}.")


def plain_number(value: Any) -> Any:
    """Return a number as JSON can hold it, an int or a float; None stays."""
    if value is None or type(value) in (int, float):
        return value
    return int(value) if is_whole(value) else float(value)


def size_in(text: str) -> int | None:
    """Return the bytes of a size such as 512M, 2G, 1.5GiB or 1000000000; None if it is none."""
    if (found := _SIZE.fullmatch(text.strip())) is None:
        return None
    return int(float(found[1]) * 1024 ** " KMGT".index(found[2].upper() or " "))


def is_number(value: object) -> bool:
    """Whether a value is a real number that float64 can hold; infinity is, NaN is not."""
    if isinstance(value, bool) or not isinstance(value, Real):
        return False
    try:
        return not math.isnan(float(value))
    except OverflowError:
        return False


def is_whole(value: object) -> bool:
    """Whether a value is an integer."""
    return isinstance(value, Integral) and not isinstance(value, bool)


def is_pair(value: object) -> bool:
    """Whether a value is a sequence of two items, not a string of two characters."""
    return isinstance(value, Sequence) and not isinstance(value, str) and len(value) == 2


def refuse_texts(X: Any, name: str) -> None:
    """Raise InvalidInputError if X holds texts instead of a matrix; the message says what to do."""
    from scipy.sparse import issparse

    if issparse(X) or getattr(X, "ndim", 1) != 1:
        return
    kept = isinstance(X, Sequence) or (isinstance(X, Iterable) and hasattr(X, "__array__"))
    if kept and isinstance(next(iter(X), None), str):
        raise InvalidInputError(
            f"{name} holds texts, and a document-term matrix is needed. Put a vectorizer first, as "
            "in make_pipeline(TfidfVectorizer(), ...), or let SoftIndex.from_texts(texts) search "
            "the texts."
        )


def read_matrix(X: Any, name: str) -> csr_array:
    """Return a matrix as canonical float64 CSR; the input is not changed.

    Raises
    ------
    InvalidInputError
        If the matrix is not two-dimensional, real and finite. The message calls it `name`.
    """
    import numpy as np
    from scipy.sparse import csr_array, issparse

    try:
        given = X if issparse(X) else np.asarray(X)
        if given.ndim != 2:
            raise InvalidInputError(f"{name} has {given.ndim} dimension(s); a matrix has two.")
        if given.dtype.kind == "c":
            raise InvalidInputError(f"{name} holds complex numbers; they must be real.")
        # NumPy reads an object array as numbers where it can; SciPy refuses all object arrays.
        given = given if issparse(given) else given.astype(np.float64)
        matrix = csr_array(given, dtype=np.float64)
    except (TypeError, ValueError, OverflowError) as error:
        if isinstance(error, InvalidInputError):
            raise
        raise InvalidInputError(f"{name} cannot be read as a matrix: {error}") from error
    if not matrix.has_canonical_format:
        matrix = matrix.copy()
        matrix.sum_duplicates()
    bad = np.flatnonzero(~np.isfinite(matrix.data))
    if bad.size:
        row = int(np.searchsorted(matrix.indptr, bad[0], "right")) - 1
        raise InvalidInputError(
            f"{name} holds NaN or infinity in row {row}; every value must be finite."
        )
    return matrix
