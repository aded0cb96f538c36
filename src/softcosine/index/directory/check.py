"""Complete check of an index on disk."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from softcosine._progress import Report, silent
from softcosine._ragged import running_sum
from softcosine.errors import CorruptIndexError, IndefiniteMatrixError
from softcosine.index.directory.commit import SHARED, Commit
from softcosine.index.directory.manifest import IndexSettings
from softcosine.index.directory.snapshot import IndexedSegment, Snapshot
from softcosine.index.directory.store import Store
from softcosine.index.directory.stored import read_snapshot, read_space, reading
from softcosine.index.rankings import soft_norms
from softcosine.index.segment.documents import loaded
from softcosine.index.segment.segment import Segment
from softcosine.index.segment.stored_fields import StoredDocuments
from softcosine.matrix.definiteness import is_symmetric
from softcosine.storage import Folder
from softcosine.text.vocabulary import Vocabulary

_ROUNDING = 1e-9


def check_index(
    store: Store, progress: Report | None = None, checksum: str | None = None
) -> Commit:
    """Check the last commit of an index: every checksum, then every invariant.

    Checksums detect files that changed; invariants detect invalid data that was written. Arrays
    match each other and point nowhere outside; postings are the inverse of the forward index;
    lookups by id and by number agree; ids are distinct; statistics do not exceed the documents; S
    is symmetric if it is marked so; norms are those of S and the weights.

    Parameters
    ----------
    store : Store
    progress : callable, optional
        Called with (task, parts done, all parts).
    checksum : str, optional
        Of the commit, if it is not the last one; see `Store.read`.

    Returns
    -------
    Commit
        The checked commit.

    Raises
    ------
    CorruptIndexError
        Names the part and, if a file has changed, the file.
    CommitNotFoundError
        If the index has another commit than that of the checksum.
    """

    def check(generation: Commit) -> Commit:
        generation.verify(progress)
        _check(generation, progress or silent)
        return generation

    return store.opened(check, checksum=checksum)


def _check(generation: Commit, progress: Report) -> None:
    settings = IndexSettings.from_dict(generation.settings)
    _check_names(generation, settings)
    if settings.space is not None:
        reading(generation.part(settings.space), _check_space)
    snapshot = read_snapshot(generation)
    n_segments = len(settings.segments)  # without any, a snapshot has an empty one
    for number, segment in enumerate(snapshot.segments[:n_segments]):
        progress("checking segments", number, n_segments)
        whole, names = replace(segment, coordinates=None), segment.names
        _named(generation, names.part, _check_segment, whole, snapshot.S.vocabulary, settings)
        updates = segment.documents.updates
        _named(generation, names.updates, lambda own: [*map(loaded, own.all().values())], updates)
        if segment.coordinates is not None:
            _named(generation, names.coordinates, segment.coordinates.check)
    _check_pieces(generation, snapshot)
    _check_ids(generation, snapshot.segments)
    _check_norms(generation, snapshot)


def _named(
    generation: Commit, part: str | None, check: Callable[..., object], *values: Any
) -> None:
    """Check a part, if there is one; errors name it."""
    if part is not None:
        reading(generation.part(part), lambda _: check(*values))


def _check_names(generation: Commit, settings: IndexSettings) -> None:
    """Compare the parts and kinds listed in the manifest with its settings."""
    shared = {kind: getattr(settings, kind) for kind in SHARED}
    kinds = {name: kind for kind, name in shared.items() if name is not None}
    for segment in settings.segments:
        kinds |= segment.parts
    listed = {name: part.kind for name, part in generation.parts.items()}
    if listed != kinds:
        wrong = sorted(str(name) for name, _ in listed.items() ^ kinds.items())
        raise CorruptIndexError(
            f"the manifest of {generation.path} does not list the parts that it uses, such as "
            f"{wrong[0]}; rebuild the index."
        )


def _check_pieces(generation: Commit, snapshot: Snapshot) -> None:
    """Derive the document frequencies of word pieces again, and compare."""
    pieces, again = snapshot.stored_pieces, replace(snapshot, stored_pieces=None).piece_frequencies
    if pieces is None or again is None:
        return
    same = np.array_equal(pieces.numbers, again.numbers) and _are_close(
        pieces.frequencies, again.frequencies
    )
    wrong = "the frequencies of word pieces are not those of the terms"
    _named(generation, snapshot.settings.statistics, _require, same, wrong)


def _check_space(folder: Folder) -> None:
    """Check the numbers, rows, diagonal and attributes of S."""
    S, _ = read_space(folder)
    S.check()
    indptr, indices, data = S.arrays
    rows = np.repeat(np.arange(len(S)), np.diff(indptr))
    ascending = (np.diff(indices) > 0) | (np.diff(rows) > 0)
    _require(bool(ascending.all()), "the columns of a row of S do not ascend")
    diagonal = data[rows == indices]
    whole = diagonal.shape[0] == len(S) and bool((diagonal == 1).all())
    _require(whole, "the diagonal of S is not 1")
    matrix = S.to_scipy()
    _require(S.symmetric == is_symmetric(matrix), "the entry symmetric of S is wrong")
    positive = bool((data >= 0).all())
    _require(S.non_negative == positive, "the entry non_negative of S is wrong")


def _check_segment(
    segment: IndexedSegment, vocabulary: Vocabulary, settings: IndexSettings
) -> None:
    """Check the fields, positions and stored documents, and that they match each other."""
    segment.check(len(vocabulary))
    for number, field in enumerate(segment.fields):
        _check_inverse(field, vocabulary)
        if segment.positions is not None:
            own = segment.positions[number]
            if settings.analyzer is not None and settings.analyzer.max_ngram == 1:
                running = running_sum(own.tokens >= 0)
                lengths = np.diff(running[own.token_offsets])
                phrases = settings.analyzer.longest > 1  # phrase terms beside their words
                _require(
                    bool((lengths <= field.lengths).all())
                    if phrases
                    else np.array_equal(lengths, field.lengths),
                    "a document's running words are not as many as its terms",
                )
    documents = segment.documents
    assert isinstance(documents, StoredDocuments)
    ids = [id for id, _, _ in documents.all_documents()]
    _require(
        documents.numbers(ids) == {id: number for number, id in enumerate(ids)},
        "a document is not found by its id",
    )


def _check_inverse(field: Segment, vocabulary: Vocabulary) -> None:
    """Invert the forward index again, and compare with the postings."""
    rows = np.repeat(np.arange(field.n_docs), np.diff(field.pointers))
    ascending = (np.diff(field.terms.astype(np.int64)) > 0) | (np.diff(rows) > 0)
    _require(bool(ascending.all()), "the terms of a document do not ascend")
    for name, array in Segment.from_counts(field.matrix(), vocabulary).to_arrays().items():
        _require(
            np.array_equal(getattr(field, name), array),
            f"the array {name} does not follow from the documents' terms",
        )


def _check_ids(generation: Commit, segments: Sequence[IndexedSegment]) -> None:
    """Check that ids are distinct: by hashes first, which take eight bytes per document."""
    every = (hash(id) for one in segments for id in one.of_live(one.documents.all_ids()))
    distinct, counts = np.unique(np.fromiter(every, np.int64), return_counts=True)
    twice = distinct[counts > 1]
    seen: dict[str, str] = {}
    for segment in segments if twice.size else ():
        for number, id in segment.of_live(enumerate(segment.documents.all_ids())):
            place = f"number {number} of {segment.part}"
            if np.isin(hash(id), twice) and (other := seen.setdefault(id, place)) != place:
                raise CorruptIndexError(
                    f"{generation.path}: the documents {other} and {place} have the same id "
                    f"{id!r}; rebuild the index."
                )


def _check_norms(generation: Commit, snapshot: Snapshot) -> None:
    """Recompute the stored norms and compare; deleted documents are ignored."""
    for segment in snapshot.segments:
        if segment.norms is None:
            continue
        for field, norms, statistics in zip(
            segment.fields, segment.norms, snapshot.statistics, strict=True
        ):
            live = slice(None) if segment.live is None else segment.live
            try:
                right = soft_norms(
                    field, snapshot.S, snapshot.settings.weighting, statistics, live=segment.live
                )
            except IndefiniteMatrixError:
                right = np.full_like(norms, np.nan)
            if not _are_close(norms[live], right[live]):
                raise CorruptIndexError(
                    f"{generation.path}: the norms of {segment.part} are not those of S and the "
                    "weights; rebuild the index."
                )


def _are_close(left: NDArray[np.float64], right: NDArray[np.float64]) -> bool:
    return bool(np.all(np.abs(left - right) <= _ROUNDING * np.maximum(right, 1.0)))


def _require(holds: bool, otherwise: str) -> None:
    if not holds:
        raise CorruptIndexError(f"{otherwise}; rebuild the index.")
