"""Reading and writing of each kind of part (see docs/format.md).

`softcosine.index.directory.store` combines parts to commits.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from softcosine.errors import CorruptIndexError, InvalidInputError, SoftCosineError
from softcosine.index.directory.commit import Commit
from softcosine.index.directory.manifest import (
    UNFORESEEN,
    IndexSettings,
    SegmentSettings,
    count_in,
    given_in,
)
from softcosine.index.directory.snapshot import IndexedSegment, Snapshot
from softcosine.index.directory.store_writer import StoreWriter
from softcosine.index.segment.coordinates import MAX_DIMENSIONS, Coordinates
from softcosine.index.segment.documents import WrittenDocuments
from softcosine.index.segment.metadata_updates import MetadataUpdates
from softcosine.index.segment.positions import Positions
from softcosine.index.segment.segment import MAX_DOCS, Segment
from softcosine.index.segment.statistics import FieldStatistics
from softcosine.index.segment.stored_fields import StoredDocuments, write_documents
from softcosine.matrix.ranges import check_array, check_ascending, check_numbers, check_values
from softcosine.matrix.stored import source_settings, source_state, stored_source
from softcosine.matrix.term_similarity_matrix import TermSimilarityMatrix
from softcosine.similarity.source import TermSimilaritySource, state_of
from softcosine.storage import Folder
from softcosine.text.vocabulary import Vocabulary

if TYPE_CHECKING:
    from softcosine.matrix.recipe import SimilarityRecipe
    from softcosine.space.meaning import MeaningSpace, PieceFrequencies

_logger = logging.getLogger(__name__)
_Content = tuple[dict[str, Any], dict[str, NDArray[Any]]]  # settings and arrays of a part
_T = TypeVar("_T")
_DOCUMENTS = "documents.sqlite"
_INSERTION = "insertion_numbers"
_LEAST_NORM = 1e-100


def write_segment(
    writer: StoreWriter,
    fields: Sequence[Segment],
    documents: WrittenDocuments,
    positions: Sequence[Positions] | None = None,
) -> str:
    """Write a segment; return the part name."""
    arrays = {
        f"{number}/{name}": array
        for number, segment in enumerate(fields)
        for name, array in segment.to_arrays().items()
    }
    for number, of_field in enumerate(positions or ()):
        for name, array in of_field.to_arrays().items():
            arrays[f"{number}/{name}"] = array
    if documents.insertion_numbers is not None:
        arrays[_INSERTION] = documents.insertion_numbers
    return writer.write(
        "segment",
        {
            "n_docs": fields[0].n_docs,
            "n_terms": max(segment.n_terms for segment in fields),
            "fields": len(fields),
            "positions": positions is not None,
            "numbered": documents.insertion_numbers is not None,
        },
        arrays,
        {_DOCUMENTS: lambda file: write_documents(documents, file, fields[0].n_docs)},
    )


def read_segment(folder: Folder) -> IndexedSegment:
    """Open a segment, without deletes and norms."""
    settings = folder.settings
    n_docs, n_terms = count_in(settings, "n_docs", MAX_DOCS), count_in(settings, "n_terms")
    arrays, fields = [], []
    for number in range(count_in(settings, "fields")):
        arrays.append(folder.arrays(str(number)))
        fields.append(Segment.from_arrays(arrays[-1], n_terms))  # raises if there are no arrays
    if not fields or any(segment.n_docs != n_docs for segment in fields):
        raise CorruptIndexError(
            f"{folder.path} has {n_docs} documents, but its postings have "
            f"{[segment.n_docs for segment in fields]}; rebuild the index."
        )
    positions = None
    if given_in(settings, "positions", bool):
        positions = tuple(Positions.from_arrays(of_field, n_docs) for of_field in arrays)
    numbers = None
    if given_in(settings, "numbered", bool):
        numbers = folder.array(_INSERTION)
        check_array(_INSERTION, numbers, ("int64",), n_docs)
        check_ascending(_INSERTION, numbers)
    documents = StoredDocuments(folder.file(_DOCUMENTS), n_docs, insertion_numbers=numbers)
    names = SegmentSettings(folder.path.name, n_docs)
    return IndexedSegment(tuple(fields), documents, positions=positions, names=names)


def _space_content(S: TermSimilarityMatrix, source: TermSimilaritySource | None) -> _Content:
    settings, arrays = S.state()
    kept = None
    if source is not None:
        try:
            kept = source_settings(state_of(source), "source", arrays)
        except InvalidInputError as error:  # the source, or one inside it, has no state
            _logger.warning(
                "An opened index will not know query words that no document has, unless it is "
                "opened with source=: %s",
                error,
            )
    return {"similarity": settings, "source": kept}, arrays


def reading(folder: Folder, read: Callable[..., _T], *values: Any) -> _T:
    """Return what a function reads in a part; its errors name the part."""
    try:
        return read(folder, *values)
    except (CorruptIndexError, *UNFORESEEN) as error:
        foreign = isinstance(error, SoftCosineError) and not isinstance(error, CorruptIndexError)
        if foreign or str(folder.path) in str(error):
            raise
        raise CorruptIndexError(f"{folder.path}: {error}") from error


def read_space(folder: Folder) -> tuple[TermSimilarityMatrix, TermSimilaritySource | None]:
    """Open S and its source."""
    S = TermSimilarityMatrix.from_folder(folder, folder.settings["similarity"])
    return S, stored_source(folder)


def _statistics_content(
    statistics: Sequence[FieldStatistics], pieces: PieceFrequencies | None = None
) -> _Content:
    frequencies: dict[str, NDArray[Any]] = {
        f"{number}/document_frequencies": of_field.document_frequencies
        for number, of_field in enumerate(statistics)
    }
    if pieces is not None:
        frequencies["pieces/numbers"] = pieces.numbers
        frequencies["pieces/frequencies"] = pieces.frequencies
    return {
        "fields": [{"n_docs": own.n_docs, "total_length": own.total_length} for own in statistics],
        "pieces": pieces is not None,
    }, frequencies


def read_statistics(folder: Folder, n_terms: int, n_fields: int) -> tuple[FieldStatistics, ...]:
    """Open the statistics of all fields; later terms have document frequency 0."""
    read = []
    for number, settings in enumerate(given_in(folder.settings, "fields", list)):
        frequencies = folder.array(f"{number}/document_frequencies")
        check_array("document_frequencies", frequencies, ("int64",))
        n_docs = count_in(settings, "n_docs")
        length = count_in(settings, "total_length")
        check_numbers("document_frequencies", frequencies, n_docs + 1)
        if frequencies.shape[0] > n_terms:
            raise CorruptIndexError(
                f"{folder.path} has {frequencies.shape[0]} terms, but S has {n_terms}; rebuild "
                "the index."
            )
        read.append(FieldStatistics(n_docs, frequencies, length).padded(n_terms))
    if len(read) != n_fields:
        raise CorruptIndexError("it has not one entry a field; rebuild the index.")
    return tuple(read)


def read_pieces(folder: Folder, n_docs: int) -> PieceFrequencies | None:
    """Open the document frequencies of word pieces, if the statistics have them."""
    if not given_in(folder.settings, "pieces", bool):
        return None
    from softcosine.space.meaning import PieceFrequencies  # which few indexes need

    numbers, frequencies = folder.array("pieces/numbers"), folder.array("pieces/frequencies")
    check_array("pieces/numbers", numbers, ("int32",))
    check_array("pieces/frequencies", frequencies, ("float64",), numbers.shape[0])
    check_ascending("pieces/numbers", numbers)
    check_values("pieces/frequencies", frequencies, least=0.0)
    # The sums of logarithms round; no piece occurs in more documents than there are.
    return PieceFrequencies(numbers, np.minimum(frequencies, n_docs), n_docs)


def _meaning_content(meaning: MeaningSpace) -> _Content:
    from softcosine.space.meaning_file import reference

    if (bundled := reference(meaning)) is not None:
        return {"bundled": bundled}, {}
    arrays: dict[str, NDArray[Any]] = {}
    return {"own": source_settings(meaning.state(), "meaning", arrays)}, arrays


def read_meaning(folder: Folder) -> MeaningSpace:
    """Open the space of the documents' coordinates."""
    from softcosine.space.meaning import MeaningSpace
    from softcosine.space.meaning_file import referred_to  # which few indexes need

    settings = folder.settings
    try:
        if "bundled" in settings:
            return referred_to(given_in(settings, "bundled", dict))
    except (LookupError, TypeError) as error:
        raise CorruptIndexError(f"{folder.path} names no bundled space: {error!r:.200}") from error
    try:
        return MeaningSpace.from_state(source_state(settings["own"], "", folder.arrays("meaning")))
    except (InvalidInputError, *UNFORESEEN) as error:
        raise CorruptIndexError(
            f"{folder.path} lacks a part of a space of meaning: {error!r:.200}"
        ) from error


def _check_n_docs(folder: Folder, n_docs: int) -> None:
    """Raise CorruptIndexError if a part is of a segment with another number of documents."""
    own = count_in(folder.settings, "n_docs", MAX_DOCS)
    if own != n_docs:
        raise CorruptIndexError(f"it has {own} documents, not {n_docs}; rebuild the index.")


def read_coordinates(folder: Folder, n_docs: int) -> Coordinates:
    """Open the coordinates of a segment's documents."""
    _check_n_docs(folder, n_docs)
    dimensions = count_in(folder.settings, "dimensions", MAX_DIMENSIONS)
    known = {name for file in folder.files.values() for name in file.get("arrays", {})}
    names = ("vectors", "inverse_lengths", *(known & {"estimated"}))
    arrays = {name: folder.array(name) for name in names}
    return Coordinates.from_arrays(arrays, n_docs, dimensions)


def read_deleted(folder: Folder, n_docs: int) -> NDArray[np.bool_]:
    """Return the mask of live documents of a segment, shape (n_docs,)."""
    _check_n_docs(folder, n_docs)
    bits = folder.array("deleted")
    check_array("deleted", bits, ("uint8",), (n_docs + 7) // 8)
    deleted = np.unpackbits(np.asarray(bits)).astype(bool)
    if deleted[n_docs:].any():
        raise CorruptIndexError("bits are set behind the last document; rebuild the index.")
    return ~deleted[:n_docs]


def n_live_docs(generation: Commit) -> int:
    """Return the number of live documents of a commit."""
    return sum(
        one.n_docs
        if one.deleted is None
        else int(np.count_nonzero(read_deleted(generation.part(one.deleted), one.n_docs)))
        for one in IndexSettings.from_dict(generation.settings).segments
    )


def read_updates(folder: Folder, n_docs: int) -> MetadataUpdates:
    """Open updated metadata of a segment."""
    _check_n_docs(folder, n_docs)
    arrays = {name: folder.array(name) for name in ("numbers", "starts", "values")}
    return MetadataUpdates.from_arrays(arrays, n_docs, path=folder.path)


# What a part of each kind holds; segments are written by `write_segment`.
_CONTENT: dict[str, Callable[..., _Content]] = {
    "space": _space_content,
    "statistics": _statistics_content,
    "meaning": _meaning_content,
    "deleted": lambda live: ({"n_docs": len(live)}, {"deleted": np.packbits(~live)}),
    "updates": lambda updates, n_docs: ({"n_docs": n_docs}, updates.to_arrays()),
    "norms": lambda norms, epoch: (
        {"fields": len(norms), "epoch": epoch},
        {str(n): own for n, own in enumerate(norms)},
    ),
    "coordinates": lambda coordinates, n_docs: (
        {"n_docs": n_docs, "dimensions": coordinates.vectors.shape[1]},
        coordinates.to_arrays(),
    ),
}


def write_part(writer: StoreWriter, kind: str, *values: Any) -> str:
    """Write a part of a kind, such as ``"norms"`` of a list of arrays; return its name."""
    return writer.write(kind, *_CONTENT[kind](*values))


def read_norms(
    folder: Folder, n_docs: int, n_fields: int, epoch: str
) -> tuple[NDArray[np.float64], ...]:
    """Return the soft norms of a segment, field by field, each of shape (n_docs,).

    CorruptIndexError if they belong to another epoch.
    """
    if (own := folder.settings.get("epoch")) != epoch:
        raise CorruptIndexError(
            f"{folder.path} holds norms of the epoch {own!r:.80}, but the index is of {epoch!r}; "
            "rebuild the index."
        )
    if count_in(folder.settings, "fields") != n_fields:
        raise CorruptIndexError("it has not one array a field; rebuild the index.")
    norms = tuple(folder.array(str(number)) for number in range(n_fields))
    for own in norms:
        check_array("norms", own, ("float64",), n_docs)
        check_values("norms", own, least=0.0)
        # Valid norms are far larger, and scores must not overflow float64.
        check_values("norms", own[own > 0], least=_LEAST_NORM)
    return norms


def read_snapshot(
    generation: Commit,
    *,
    source: TermSimilaritySource | None = None,
    recipe: SimilarityRecipe | None = None,
    previous: Snapshot | None = None,
) -> Snapshot:
    """Return the snapshot of a commit.

    Parameters
    ----------
    generation : Commit
    source : TermSimilaritySource, optional
        In place of the one that was kept.
    recipe : SimilarityRecipe, optional
        In place of the one that was kept, as long as there is no S.
    previous : Snapshot, optional
        An earlier one of the same index; common segments and spaces of meaning are shared.
    """
    settings = IndexSettings.from_dict(generation.settings)
    if recipe is not None and settings.space is None:
        settings = replace(settings, recipe=recipe, awaited=())
    known = {} if previous is None else {one.part: one for one in previous.segments}
    S, kept = TermSimilarityMatrix.identity(Vocabulary([])), None
    if settings.space is not None:
        S, kept = reading(generation.part(settings.space), read_space)
    n_fields, meaning, pieces = len(settings.fields), None, None
    statistics = (FieldStatistics.none(len(S)),) * n_fields
    if previous is not None and previous.settings.meaning == settings.meaning:
        meaning = previous.meaning
    elif settings.meaning is not None:
        meaning = reading(generation.part(settings.meaning), read_meaning)
    if settings.statistics is not None:
        counted = generation.part(settings.statistics)
        statistics = reading(counted, read_statistics, len(S), n_fields)
        if meaning is not None:
            pieces = reading(counted, read_pieces, statistics[0].n_docs)
    segments = tuple(
        _read_indexed(generation, one, n_fields, known.get(one.part)) for one in settings.segments
    )
    for stated, one in zip(settings.segments, segments, strict=True):
        _check_together(generation.path, stated, one, n_fields, len(S), meaning)
    return Snapshot(
        settings, segments, S, kept if source is None else source, statistics,
        generation=generation.number, meaning=meaning, stored_pieces=pieces,
    )  # fmt: skip


def write_snapshot(snapshot: Snapshot, writer: StoreWriter) -> tuple[dict[str, Any], Sequence[str]]:
    """Write all of a snapshot, for the first commit of an index."""
    settings = replace(snapshot.settings, segments=())
    if settings.space is not None:
        settings = replace(settings, space=write_part(writer, "space", snapshot.S, snapshot.source))
    if settings.statistics is not None:
        counted = write_part(writer, "statistics", snapshot.statistics, snapshot.piece_frequencies)
        settings = replace(settings, statistics=counted)
    if settings.meaning is not None and snapshot.meaning is not None:
        settings = replace(settings, meaning=write_part(writer, "meaning", snapshot.meaning))
    epoch = writer.epoch(settings.to_dict())
    segments = []
    for one in snapshot.segments:
        if one.n_docs:
            part = write_segment(writer, one.fields, one.documents, one.positions)
            unwritten = replace(one, names=SegmentSettings(part, one.n_docs))
            segments.append(unwritten.written(partial(write_part, writer), epoch).names)
    settings = replace(settings, segments=tuple(segments))
    return settings.to_dict(), settings.parts


def _read_indexed(
    generation: Commit, settings: SegmentSettings, n_fields: int, known: IndexedSegment | None
) -> IndexedSegment:
    """Open a segment with its deletes, norms, updated metadata and coordinates.

    Parameters
    ----------
    generation : Commit
    settings : SegmentSettings
    n_fields : int
    known : IndexedSegment or None
        The same segment, opened earlier.
    """

    def part(kind: str, read: Callable[..., _T], *values: Any) -> _T | None:
        name = getattr(settings, kind)
        return None if name is None else reading(generation.part(name), read, *values)

    segment, n_docs = known, settings.n_docs
    if segment is None:
        segment = reading(generation.part(settings.part), read_segment)
    if segment.names.updates != settings.updates:
        updates = part("updates", read_updates, n_docs) or MetadataUpdates()
        segment = segment.with_updates(settings.updates, updates)
    return replace(
        segment,
        live=part("deleted", read_deleted, n_docs),
        norms=part("norms", read_norms, n_docs, n_fields, generation.epoch),
        coordinates=part("coordinates", read_coordinates, n_docs),
        names=settings,
    )


def _check_together(
    path: Path,
    stated: SegmentSettings,
    segment: IndexedSegment,
    n_fields: int,
    n_terms: int,
    meaning: MeaningSpace | None,
) -> None:
    """Raise CorruptIndexError if a segment does not match the manifest and the other parts."""
    found = segment.n_docs, len(segment.fields)
    own_terms = max(own.n_terms for own in segment.fields)
    if found != (stated.n_docs, n_fields) or own_terms > n_terms:
        raise CorruptIndexError(
            f"{path}: the segment {stated.part} holds {found[0]} documents in {found[1]} fields "
            f"over {own_terms} terms, which does not fit the manifest's {stated.n_docs}, "
            f"{n_fields} and S's {n_terms}; rebuild the index."
        )
    if segment.coordinates is not None:
        dimensions = segment.coordinates.vectors.shape[1]
        if meaning is None or dimensions != meaning.dimensions:
            raise CorruptIndexError(
                f"{path}: the segment {stated.part} has coordinates of {dimensions} dimensions, "
                "and its space of meaning has others, or is missing; rebuild the index."
            )
