"""S in a folder: its arrays, its vocabulary and its source."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from softcosine._validation import is_number
from softcosine.errors import CorruptIndexError, InvalidInputError
from softcosine.matrix.entries import Arrays
from softcosine.matrix.ranges import check_array, check_sizes
from softcosine.matrix.rules import Rules
from softcosine.similarity.registry import check_kinds, source_from_state
from softcosine.similarity.source import SourceState, TermSimilaritySource, state_of
from softcosine.storage import Folder, write_folder
from softcosine.text.packing import PackedStrings
from softcosine.text.vocabulary import Vocabulary

_SOURCE = "source"


# Words up to this number of bytes are checked on opening, in a few milliseconds.
_WORDS_AT_ONCE = 1 << 18

# The representative words.
Words = tuple[str, ...] | PackedStrings


def read_matrix_state(
    folder: Folder,
) -> tuple[Arrays, Vocabulary, PackedStrings | None, NDArray[np.float32] | None]:
    """Return entries, vocabulary, representative words (if not the terms) and scales of S.

    Of the entries, only the first and last row pointer are read.

    Raises
    ------
    CorruptIndexError
        If arrays do not fit each other, one is missing, or scales are out of range.
    """
    arrays = folder.arrays("matrix")
    try:
        entries = (arrays["indptr"], arrays["indices"], arrays["data"])
        vocabulary = Vocabulary.from_arrays(folder.arrays("vocabulary"))
        words = None
        if "representatives" in arrays:
            blob, offsets = arrays["representatives"], arrays["representatives_offsets"]
            words = PackedStrings(blob, offsets)
            if blob.nbytes + offsets.nbytes <= _WORDS_AT_ONCE:
                words.check()
    except InvalidInputError as error:
        raise CorruptIndexError(f"{folder.path} holds damaged terms: {error}") from error
    except KeyError as error:
        raise CorruptIndexError(f"{folder.path} lacks the array {error}; rebuild it.") from error
    n = len(vocabulary)
    check_sizes(*entries, n)
    if words is not None and len(words) != n:
        raise CorruptIndexError(f"{folder.path} holds {len(words)} words for its {n} terms.")
    scales = arrays.get("scales")
    if scales is not None:
        check_array("matrix/scales", scales, ("float32",), n)
        if not ((scales > 0) & (scales <= 1)).all():
            raise CorruptIndexError(
                f"a scale of the {n} terms of S is not in (0, 1]: a file has changed since it was "
                "written. `softcosine admin check` tells which."
            )
    return entries, vocabulary, words, scales


def checked_record(settings: Mapping[str, Any], folder: Folder) -> Mapping[str, Any]:
    """Return how S was made; raise CorruptIndexError if the record is invalid."""
    record = settings.get("matrix") if isinstance(settings, Mapping) else None
    try:
        if not isinstance(record, Mapping):
            raise InvalidInputError(f"the record is of type {type(record).__name__}.")
        Rules.from_settings(record, symmetric=True, usual=0)
        shrunk, extended = record.get("shrunk", 1.0), record.get("extended", [])
        if not (is_number(shrunk) and 0 <= shrunk <= 1 and isinstance(extended, list)):
            raise InvalidInputError(f"S was shrunk by {shrunk!r:.80}, extended {extended!r:.80}.")
    except (InvalidInputError, TypeError) as error:
        raise CorruptIndexError(
            f"the manifest of {folder.path} does not say how S was made: {error} Rebuild it."
        ) from error
    return record


def write_matrix(
    path: str | Path,
    settings: Mapping[str, Any],
    arrays: Mapping[str, NDArray[Any]],
    *,
    source: TermSimilaritySource | None,
    overwrite: bool,
) -> None:
    """Write the state of S, and a source, atomically."""
    every = dict(arrays)
    kept = None if source is None else source_settings(state_of(source), _SOURCE, every)
    write_folder(path, "matrix", {**settings, "source": kept}, every, overwrite=overwrite)


def stored_source(folder: Folder) -> TermSimilaritySource | None:
    """Return the source that `write_matrix` wrote to a folder, or None.

    Raises
    ------
    InvalidInputError
        If its kind is not registered in this process.
    CorruptIndexError
        If the stored state is invalid.
    """
    kept = folder.settings.get("source")
    if kept is None:
        return None
    try:
        state = source_state(kept, "", folder.arrays(_SOURCE))
    except (KeyError, TypeError, AttributeError, RecursionError) as error:
        raise CorruptIndexError(f"{folder.path} lacks a part of a source: {error!r}") from error
    check_kinds(state)
    try:
        return source_from_state(state)
    except (LookupError, ValueError) as error:
        raise CorruptIndexError(
            f"the source in {folder.path} cannot be built from what was saved ({error!r}); "
            "`softcosine admin check` tells whether a file has changed since."
        ) from error


def source_settings(
    state: SourceState, prefix: str, arrays: dict[str, NDArray[Any]]
) -> dict[str, Any]:
    """Add the arrays of a source to those of a folder; return the rest of its state as settings."""
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


def source_state(
    stored: Mapping[str, Any], prefix: str, arrays: Mapping[str, NDArray[Any]]
) -> SourceState:
    """Return the state of a source from its settings and its arrays in the folder."""
    kind, settings = stored["kind"], stored["settings"]
    if not isinstance(kind, str) or not isinstance(settings, dict):
        raise TypeError(f"a source is of kind {kind!r:.80} with the settings {settings!r:.80}")
    return SourceState(
        kind=kind,
        settings=settings,
        arrays={name: arrays[f"{prefix}{name}"] for name in stored["arrays"]},
        parts=tuple(
            source_state(part, f"{prefix}{number}/", arrays)
            for number, part in enumerate(stored["parts"])
        ),
    )
