"""S in a folder: its arrays, its vocabulary, and the source that it came from."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from softcosine.errors import CorruptIndexError, InvalidInputError, SoftCosineError
from softcosine.matrix.ranges import check_array, check_compressed
from softcosine.sources.source import (
    SourceState,
    TermSimilaritySource,
    source_from_state,
    state_of,
)
from softcosine.storage import Folder, write_folder
from softcosine.text.packing import pack_strings, unpack_strings
from softcosine.text.vocabulary import Vocabulary

__all__ = [
    "built_source",
    "matrix_state",
    "read_matrix_state",
    "source_settings",
    "source_state",
    "stored_source",
    "write_matrix",
]

_SOURCE = "source"


def matrix_state(
    entries: tuple[NDArray[np.int64], NDArray[np.int32], NDArray[np.float32]],
    vocabulary: Vocabulary,
    words: tuple[str, ...] | None,
    scales: NDArray[np.float32] | None,
) -> dict[str, NDArray[Any]]:
    """Return S as named arrays.

    Parameters
    ----------
    entries : tuple of ndarray
        Row pointers, column indices and values.
    vocabulary : Vocabulary
    words : tuple of str or None
        The words that stand for the terms, if not the terms themselves.
    scales : ndarray of shape (n_terms,), float32, or None
        See `TermSimilarityMatrix`.
    """
    names = ("matrix/indptr", "matrix/indices", "matrix/data")
    arrays: dict[str, NDArray[Any]] = dict(zip(names, entries, strict=True))
    for name, array in vocabulary.to_arrays().items():
        arrays[f"vocabulary/{name}"] = array
    if words is not None:
        blob, offsets = pack_strings(words)
        arrays["matrix/representatives"] = blob
        arrays["matrix/representatives_offsets"] = offsets
    if scales is not None:
        arrays["matrix/scales"] = scales
    return arrays


def read_matrix_state(
    folder: Folder, prefix: str
) -> tuple[csr_array, Vocabulary, list[str] | None, NDArray[np.float32] | None]:
    """Return S, its vocabulary, the words that stand for its terms and its terms' scales."""
    arrays = folder.arrays(prefix)
    try:
        vocabulary = Vocabulary.from_arrays(folder.arrays("vocabulary"))
        words = None
        if "representatives" in arrays:
            words = unpack_strings(arrays["representatives"], arrays["representatives_offsets"])
    except InvalidInputError as error:
        raise CorruptIndexError(f"{folder.path} holds damaged terms: {error}") from error
    n = len(vocabulary)
    check_compressed(prefix, arrays["indptr"], arrays["indices"], arrays["data"], n)
    if words is not None and len(words) != n:
        raise CorruptIndexError(f"{folder.path} holds {len(words)} words for its {n} terms.")
    S = csr_array((arrays["data"], arrays["indices"], arrays["indptr"]), shape=(n, n))
    S.has_sorted_indices = True
    scales = arrays.get("scales")
    if scales is not None:
        check_array(f"{prefix}/scales", scales, ("float32",), n)
        if not ((scales > 0) & (scales <= 1)).all():
            raise CorruptIndexError(f"{folder.path} holds impossible scales of its {n} terms.")
    return S, vocabulary, words, scales


def write_matrix(
    path: str | Path,
    settings: Mapping[str, Any],
    arrays: Mapping[str, NDArray[Any]],
    *,
    source: TermSimilaritySource | None,
    overwrite: bool,
) -> None:
    """Write what `matrix_state` gave, and a source, whole or not at all."""
    every = dict(arrays)
    kept = None if source is None else source_settings(state_of(source), _SOURCE, every)
    write_folder(path, "matrix", {**settings, "source": kept}, every, overwrite=overwrite)


def stored_source(folder: Folder) -> TermSimilaritySource | None:
    """Return the source that `write_matrix` kept in a folder, or None."""
    kept = folder.settings.get("source")
    if kept is None:
        return None
    try:
        state = source_state(kept, _SOURCE, folder)
    except (KeyError, TypeError) as error:
        raise CorruptIndexError(f"{folder.path} lacks a part of a source: {error!r}") from error
    return built_source(state, folder)


def built_source(state: SourceState, folder: Folder) -> TermSimilaritySource:
    """Build a source that was kept in a folder.

    Raises
    ------
    CorruptIndexError
        If that fails in a way that the source did not foresee.
    """
    try:
        return source_from_state(state)
    except (SoftCosineError, OSError, MemoryError):
        raise
    except Exception as error:
        raise CorruptIndexError(
            f"the source in {folder.path} cannot be built from what was saved ({error!r}); "
            "`softcosine verify` tells whether a file has changed since."
        ) from error


def source_settings(
    state: SourceState, prefix: str, arrays: dict[str, NDArray[Any]]
) -> dict[str, Any]:
    """Put a source's arrays among those of a folder, and return the rest for its settings."""
    for name, array in state.arrays.items():
        arrays[f"{prefix}/{name}"] = np.asarray(array)
    return {
        "kind": state.kind,
        "settings": dict(state.settings),
        "arrays": sorted(state.arrays),
        "parts": [
            source_settings(part, f"{prefix}/{number}", arrays)
            for number, part in enumerate(state.parts)
        ],
    }


def source_state(stored: Mapping[str, Any], prefix: str, folder: Folder) -> SourceState:
    """Return the state that `source_settings` took apart."""
    return SourceState(
        kind=stored["kind"],
        settings=stored["settings"],
        arrays={name: folder.array(f"{prefix}/{name}") for name in stored["arrays"]},
        parts=tuple(
            source_state(part, f"{prefix}/{number}", folder)
            for number, part in enumerate(stored["parts"])
        ),
    )
