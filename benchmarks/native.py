"""Our search in C (native/search.c), compiled where there is a compiler, called through ctypes."""

from __future__ import annotations

import ctypes
import os
import shutil
import subprocess
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from newsgroups import Workload
from softcosine.index.query.query_vectors import QueryVector
from softcosine.index.segment.segment import Segment
from softcosine.index.spaces.bounds import HALF
from softcosine.index.spaces.space import (
    Top,
)

__all__ = ["FLAGS", "NativeSearch", "NoCompilerError", "library"]

SOURCE = Path(__file__).resolve().parent / "native" / "search.c"
FLAGS = ("-O3", "-march=native", "-shared", "-fPIC")
COMPILERS = ("gcc", "cc", "clang")


class NoCompilerError(Exception):
    """There is no C compiler, or it compiles nothing that runs here."""


def library(folder: Path | None = None) -> ctypes.CDLL:
    """Compile the C source and load it.

    Raises
    ------
    NoCompilerError
        With the reason, to be shown in place of numbers.
    """
    names = (os.environ["CC"],) if "CC" in os.environ else COMPILERS
    compiler = next((found for name in names if (found := shutil.which(name))), None)
    if compiler is None:
        raise NoCompilerError(f"no C compiler: none of {', '.join(names)} is on the path")
    made = Path(tempfile.mkdtemp(dir=folder)) / "search.so"
    # -ffp-contract: sums of the exact stage are to be the same to the bit.
    command = [compiler, *FLAGS, "-ffp-contract=off", "-o", str(made), str(SOURCE), "-lm"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        raise NoCompilerError(f"{compiler} fails: {done.stderr.strip()[-300:]}")
    try:
        return ctypes.CDLL(str(made))
    except OSError as error:
        raise NoCompilerError(str(error)) from error


_SIZES = ("n_docs", "n_terms", "first", "longest_list", "longest_document")
_ARRAYS = (
    *("term_groups", "group_starts", "group_weights", "documents", "column_of", "columns"),
    *("factors32", "pointers", "terms", "levels", "table", "factors"),
)
_SPACE = (
    *("s_pointers", "s_indices", "s_values", "term_weights", "expansion", "seen", "touched"),
    *("weights", "scores", "candidates", "rows", "row_weights"),
)


class _Segment(ctypes.Structure):
    _fields_ = [
        *((name, ctypes.c_int64) for name in _SIZES),
        *((name, ctypes.c_void_p) for name in _ARRAYS),
    ]


class _Space(ctypes.Structure):
    _fields_ = [(name, ctypes.c_void_p) for name in _SPACE]


class NativeSearch:
    """The search in C over a workload of counts; one thread, soft cosine.

    Parameters
    ----------
    workload : Workload
    k : int
    native : ctypes.CDLL
    """

    def __init__(self, workload: Workload, k: int, native: ctypes.CDLL) -> None:
        self._kept: list[Any] = []  # what C points to
        parts = workload.parts
        table = workload.searcher.table
        columns, longest = table.columns, table.longest
        self._segments = (_Segment * len(parts))()
        for target, part, dense in zip(self._segments, parts, columns, strict=True):
            segment, ranking = part.segment, part.ranking
            for name, size in zip(
                _SIZES,
                (segment.n_docs, segment.n_terms, part.first, dense.longest_list, longest),
                strict=True,
            ):
                setattr(target, name, size)
            self._point(
                target, term_groups=every_term(segment), column_of=column_of(segment, dense.slots),
                group_starts=segment.group_starts.astype(np.int64),
                group_weights=ranking.table32[segment.group_levels], documents=segment.documents,
                columns=dense.values, factors32=ranking.factors32,
                pointers=segment.pointers, terms=segment.terms,
                levels=segment.levels.astype(np.uint16), table=ranking.table,
                factors=ranking.factors,
            )  # fmt: skip
        n_terms = len(workload.S)
        n_docs = max(part.segment.n_docs for part in parts)
        n_rows = max(dense.values.shape[0] for dense in columns) + 3
        indptr, indices, data = workload.S.arrays
        self._space = _Space()
        self._point(
            self._space, s_pointers=indptr, s_indices=indices, s_values=data,
            term_weights=workload.ranking.term_weights, expansion=np.zeros(n_terms),
            seen=np.zeros(n_terms, np.uint8), touched=np.zeros(n_terms + 1, np.int32),
            weights=np.zeros(n_terms + 1),
            scores=np.zeros(n_docs, np.float32), candidates=np.zeros(n_docs, np.uint32),
            rows=np.zeros(n_rows, np.uintp), row_weights=np.zeros(n_rows, np.float32),
        )  # fmt: skip
        self._documents, self._scores = np.zeros(k, np.uint32), np.zeros(k)
        self._k = k
        self._half = HALF if table.half else 0.0
        self._call = native.search
        self._call.restype = ctypes.c_int64
        pointer, whole, real = ctypes.c_void_p, ctypes.c_int64, ctypes.c_double
        self._call.argtypes = [
            *(pointer, pointer, whole, pointer, pointer, whole, whole, real, real),
            *(pointer, pointer),
        ]

    def search(self, query: QueryVector) -> Top:
        """Return the k best documents."""
        n = self._call(
            ctypes.byref(self._space), self._segments, len(self._segments),
            query.terms.ctypes.data, query.weights.ctypes.data, query.terms.shape[0], self._k,
            2.0**-24, self._half, self._documents.ctypes.data, self._scores.ctypes.data,
        )  # fmt: skip
        return Top(self._documents[:n].astype(np.int64), self._scores[:n].copy())

    def check(self, queries: Sequence[QueryVector], right: Sequence[Top]) -> None:
        """Exit unless it answers as ours does, to the bit."""
        for query, top in zip(queries, right, strict=True):
            found = self.search(query)
            if (
                found.documents.tolist() != top.documents.tolist()
                or found.scores.tobytes() != top.scores.tobytes()
            ):
                raise SystemExit("the search in C answers otherwise; compare no times.")

    def _point(self, target: ctypes.Structure, **arrays: NDArray[Any]) -> None:
        """Set pointers of a structure, and keep what they point to."""
        for name, array in arrays.items():
            contiguous = np.ascontiguousarray(array)
            self._kept.append(contiguous)
            setattr(target, name, contiguous.ctypes.data)


def every_term(segment: Segment) -> NDArray[np.int64]:
    """Return where the groups of each term begin, also of those that no document has."""
    groups = np.zeros(segment.n_terms + 1, np.int64)
    groups[segment.present_terms + 1] = np.diff(segment.term_groups)
    return np.cumsum(groups)


def column_of(segment: Segment, slots: NDArray[np.int32]) -> NDArray[np.int32]:
    """Return the column of each term, -1 for those without one."""
    columns = np.full(segment.n_terms, -1, np.int32)
    columns[segment.present_terms[slots]] = np.arange(slots.shape[0])
    return columns
