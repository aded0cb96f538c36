"""An index on disk: what its parts hold and what its manifest says (see docs/format.md).

Writing and reading of each kind of part stand side by side; `softcosine.index.store` knows how
parts become a generation.
"""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from softcosine.errors import CorruptIndexError, InvalidInputError, SoftCosineError
from softcosine.index.documents import Documents, MemoryDocuments
from softcosine.index.fields import Field
from softcosine.index.generation import Generation
from softcosine.index.phrases import Positions
from softcosine.index.segment import Segment
from softcosine.index.snapshot import IndexedSegment, Snapshot
from softcosine.index.statistics import FieldStatistics
from softcosine.index.store_writer import Committed, StoreWriter
from softcosine.index.stored_documents import StoredDocuments, write_documents
from softcosine.matrix.ranges import check_array, check_numbers, check_values
from softcosine.matrix.stored import built_source, source_settings, source_state
from softcosine.matrix.term_similarity_matrix import TermSimilarityMatrix
from softcosine.sources.source import TermSimilaritySource, state_of
from softcosine.storage import Folder
from softcosine.text.analyzer import Analyzer
from softcosine.text.vocabulary import Vocabulary
from softcosine.text.weighting import Weighting

__all__ = [
    "IndexSettings",
    "SegmentSettings",
    "read_deleted",
    "read_norms",
    "read_segment",
    "read_snapshot",
    "read_space",
    "read_statistics",
    "write_deleted",
    "write_norms",
    "write_segment",
    "write_snapshot",
    "write_space",
    "write_statistics",
]

_logger = logging.getLogger(__name__)
_DOCUMENTS = "documents.sqlite"


@dataclass(frozen=True, slots=True)
class SegmentSettings:
    """What a manifest says of a segment: names of its parts, None for those it lacks."""

    part: str
    n_docs: int
    deleted: str | None = None
    norms: str | None = None


@dataclass(frozen=True, slots=True)
class IndexSettings:
    """What a manifest says of an index.

    Attributes
    ----------
    segments : tuple of SegmentSettings
    space, statistics : str or None
        Parts; None in an index that never had a document.
    fields : tuple of Field
    analyzer : Analyzer or None
        None until the first documents decide it.
    weighting : Weighting
    ranking, note : str
    positions : bool
        Whether the places of words are kept, for phrases.
    texts : bool
        Whether the documents' texts are kept.
    plain : bool
        Whether S = I, so that new terms are like no other.
    language : str or None
        Of the texts; ``"none"`` where none was recognised, None until the first documents decide
        it.
    """

    fields: tuple[Field, ...]
    weighting: Weighting
    ranking: str
    analyzer: Analyzer | None = None
    segments: tuple[SegmentSettings, ...] = ()
    space: str | None = None
    statistics: str | None = None
    note: str = ""
    positions: bool = False
    texts: bool = True
    plain: bool = False
    language: str | None = None

    @property
    def parts(self) -> tuple[str, ...]:
        """Names of all parts."""
        named = [self.space, self.statistics]
        for segment in self.segments:
            named += [segment.part, segment.deleted, segment.norms]
        return tuple(name for name in named if name is not None)

    def to_dict(self) -> dict[str, Any]:
        """Return the settings in JSON's types."""
        return {
            "segments": [asdict(segment) for segment in self.segments],
            "space": self.space,
            "statistics": self.statistics,
            "fields": [asdict(one) for one in self.fields],
            "analyzer": None if self.analyzer is None else self.analyzer.to_dict(),
            "weighting": self.weighting.to_dict(),
            "ranking": self.ranking,
            "note": self.note,
            "positions": self.positions,
            "texts": self.texts,
            "plain": self.plain,
            "language": self.language,
        }

    @classmethod
    def from_dict(cls, settings: Mapping[str, Any]) -> Self:
        """Return the settings whose `to_dict` gave these; CorruptIndexError if they lack a part."""
        try:
            analyzer = settings["analyzer"]
            return cls(
                segments=tuple(SegmentSettings(**segment) for segment in settings["segments"]),
                space=settings["space"],
                statistics=settings["statistics"],
                fields=tuple(Field(**one) for one in settings["fields"]),
                analyzer=None if analyzer is None else Analyzer.from_dict(analyzer),
                weighting=Weighting.from_dict(settings["weighting"]),
                ranking=str(settings["ranking"]),
                note=str(settings["note"]),
                positions=bool(settings["positions"]),
                texts=bool(settings["texts"]),
                plain=bool(settings["plain"]),
                language=_optional_text(settings.get("language")),  # which older indexes lack
            )
        except (KeyError, TypeError, InvalidInputError) as error:
            raise CorruptIndexError(f"the manifest lacks a part of an index: {error!r}") from error


def _optional_text(value: object) -> str | None:
    return None if value is None else str(value)


def write_segment(
    writer: StoreWriter,
    fields: Sequence[Segment],
    documents: Documents,
    positions: Sequence[Positions] | None = None,
) -> str:
    """Write a segment; its name."""
    arrays = {
        f"{number}/{name}": array
        for number, segment in enumerate(fields)
        for name, array in segment.to_arrays().items()
    }
    for number, of_field in enumerate(positions or ()):
        for name, array in of_field.to_arrays().items():
            arrays[f"{number}/{name}"] = array
    return writer.write(
        "segment",
        {"n_docs": fields[0].n_docs, "fields": len(fields), "positions": positions is not None},
        arrays,
        {_DOCUMENTS: lambda file: write_documents(documents, file)},
    )


def read_segment(folder: Folder, *, part: str = "") -> IndexedSegment:
    """Open a segment, its deleted documents and norms aside."""
    settings = folder.settings
    n_docs = int(settings["n_docs"])
    arrays = [folder.arrays(str(number)) for number in range(int(settings["fields"]))]
    try:
        fields = tuple(Segment.from_arrays(of_field) for of_field in arrays)
    except CorruptIndexError as error:
        raise CorruptIndexError(f"{folder.path}: {error}") from error
    if not fields or any(segment.n_docs != n_docs for segment in fields):
        raise CorruptIndexError(
            f"{folder.path} speaks of {n_docs} documents, but its postings of "
            f"{[segment.n_docs for segment in fields]}; rebuild the index."
        )
    positions = None
    if settings["positions"]:
        positions = tuple(Positions.from_arrays(of_field, n_docs) for of_field in arrays)
    documents = StoredDocuments(folder.file(_DOCUMENTS), n_docs)
    return IndexedSegment(fields, documents, positions=positions, part=part)


def write_space(
    writer: StoreWriter, S: TermSimilarityMatrix, source: TermSimilaritySource | None
) -> str:
    """Write S with its vocabulary and its source; its name."""
    settings, arrays = S.state()
    kept = None
    if source is not None:
        try:
            kept = source_settings(state_of(source), "source", arrays)
        except InvalidInputError as error:  # the source, or a part of it, has no state
            _logger.warning(
                "An opened index will not know query words that no document has, unless it is "
                "opened with source=: %s",
                error,
            )
    return writer.write("space", {"similarity": settings, "source": kept}, arrays)


def read_space(folder: Folder) -> tuple[TermSimilarityMatrix, TermSimilaritySource | None]:
    """Open S and its source."""
    S = TermSimilarityMatrix.from_folder(folder, folder.settings["similarity"], "matrix")
    kept = folder.settings["source"]
    if kept is None:
        return S, None
    return S, built_source(source_state(kept, "source", folder), folder)


def write_statistics(writer: StoreWriter, statistics: Sequence[FieldStatistics]) -> str:
    """Write the statistics of all fields; their name."""
    return writer.write(
        "statistics",
        {"fields": [of_field.to_settings() for of_field in statistics]},
        {
            f"{number}/document_frequencies": of_field.document_frequencies
            for number, of_field in enumerate(statistics)
        },
    )


def read_statistics(folder: Folder, n_terms: int) -> tuple[FieldStatistics, ...]:
    """Open the statistics of all fields; terms that came later stand in no document."""
    read = []
    for number, settings in enumerate(folder.settings["fields"]):
        frequencies = folder.array(f"{number}/document_frequencies")
        check_array("document_frequencies", frequencies, ("int64",))
        n_docs = int(settings["n_docs"])
        check_numbers("document_frequencies", frequencies, n_docs + 1)
        if frequencies.shape[0] > n_terms:
            raise CorruptIndexError(
                f"{folder.path} speaks of {frequencies.shape[0]} terms, but S of {n_terms}; "
                "rebuild the index."
            )
        padded = np.zeros(n_terms, np.int64)
        padded[: frequencies.shape[0]] = frequencies
        read.append(FieldStatistics(n_docs, padded, float(settings["average_length"])))
    return tuple(read)


def write_deleted(writer: StoreWriter, live: NDArray[np.bool_]) -> str:
    """Write which documents of a segment are deleted; its name."""
    return writer.write("deleted", {"n_docs": live.shape[0]}, {"deleted": np.packbits(~live)})


def read_deleted(folder: Folder) -> NDArray[np.bool_]:
    """Return which documents of a segment are not deleted, shape (n_docs,)."""
    n_docs = int(folder.settings["n_docs"])
    bits = folder.array("deleted")
    check_array("deleted", bits, ("uint8",), (n_docs + 7) // 8)
    return ~np.unpackbits(np.asarray(bits), count=n_docs).astype(bool)


def write_norms(writer: StoreWriter, norms: Sequence[NDArray[np.float64]]) -> str:
    """Write the soft norms of a segment, field by field; its name."""
    return writer.write(
        "norms", {"fields": len(norms)}, {str(number): own for number, own in enumerate(norms)}
    )


def read_norms(folder: Folder, n_docs: int) -> tuple[NDArray[np.float64], ...]:
    """Return the soft norms of a segment, field by field, each of shape (n_docs,)."""
    norms = tuple(folder.array(str(number)) for number in range(int(folder.settings["fields"])))
    for own in norms:
        check_array("norms", own, ("float64",), n_docs)
        check_values("norms", own, least=0.0)
    return norms


def read_snapshot(
    generation: Generation,
    *,
    source: TermSimilaritySource | None = None,
    previous: Snapshot | None = None,
) -> Snapshot:
    """Open a generation.

    Parameters
    ----------
    generation : Generation
    source : TermSimilaritySource, optional
        In place of the one that was kept.
    previous : Snapshot, optional
        Of the same index; segments that both have are shared.
    """
    settings = IndexSettings.from_dict(generation.settings)
    known = {} if previous is None else {one.part: one for one in previous.segments}
    try:
        S, kept = _space(generation, settings)
        segments = tuple(
            _segment(generation, one, known.get(one.part)) for one in settings.segments
        )
        statistics = tuple(
            FieldStatistics(0, np.zeros(len(S), np.int64), 0.0) for _ in settings.fields
        )
        if settings.statistics is not None:
            statistics = read_statistics(generation.part(settings.statistics), len(S))
    except SoftCosineError:
        raise
    except (KeyError, TypeError, ValueError) as error:
        raise CorruptIndexError(f"{generation.path} lacks a part of an index: {error!r}") from error
    _check_together(generation.path, settings, segments, len(S))
    return Snapshot(
        segments=segments or (_nothing(settings, len(S)),),
        S=S,
        source=kept if source is None else source,
        analyzer=settings.analyzer or Analyzer(),
        weighting=settings.weighting,
        ranking=settings.ranking,
        fields=settings.fields,
        statistics=statistics,
        note=settings.note,
        plain=settings.plain,
        language=settings.language,
        generation=generation.number,
    )


def write_snapshot(snapshot: Snapshot, writer: StoreWriter) -> Committed:
    """Write all of a snapshot, for the first commit of an index."""
    segments = []
    for one in snapshot.segments:
        if one.n_docs == 0:
            continue
        segments.append(
            SegmentSettings(
                part=write_segment(writer, one.fields, one.documents, one.positions),
                n_docs=one.n_docs,
                deleted=None if one.live is None else write_deleted(writer, one.live),
                norms=None if one.norms is None else write_norms(writer, one.norms),
            )
        )
    settings = IndexSettings(
        segments=tuple(segments),
        space=write_space(writer, snapshot.S, snapshot.source),
        statistics=write_statistics(writer, snapshot.statistics),
        fields=snapshot.fields,
        analyzer=snapshot.analyzer,
        weighting=snapshot.weighting,
        ranking=snapshot.ranking,
        note=snapshot.note,
        positions=snapshot.segments[0].positions is not None,
        texts=snapshot.documents.keeps_texts,
        plain=snapshot.plain,
        language=snapshot.language,
    )
    return Committed(settings.to_dict(), settings.parts)


def _space(
    generation: Generation, settings: IndexSettings
) -> tuple[TermSimilarityMatrix, TermSimilaritySource | None]:
    if settings.space is None:
        return TermSimilarityMatrix.identity(Vocabulary([])), None
    return read_space(generation.part(settings.space))


def _statistics(
    generation: Generation, settings: IndexSettings, n_terms: int
) -> tuple[FieldStatistics, ...]:
    if settings.statistics is not None:
        return read_statistics(generation.part(settings.statistics), n_terms)
    return tuple(FieldStatistics(0, np.zeros(n_terms, np.int64), 0.0) for _ in settings.fields)


def _segment(
    generation: Generation, settings: SegmentSettings, known: IndexedSegment | None
) -> IndexedSegment:
    part = generation.part(settings.part)
    segment = read_segment(part, part=settings.part) if known is None else known
    live = None if settings.deleted is None else read_deleted(generation.part(settings.deleted))
    norms = None
    if settings.norms is not None:
        norms = read_norms(generation.part(settings.norms), segment.n_docs)
    return replace(segment, live=live, norms=norms)


def _nothing(settings: IndexSettings, n_terms: int) -> IndexedSegment:
    """Return a segment of no documents, so that there is one."""
    empty = Segment.empty(n_terms)
    return IndexedSegment(tuple(empty for _ in settings.fields), MemoryDocuments([]))


def _check_together(
    path: Path, settings: IndexSettings, segments: Sequence[IndexedSegment], n_terms: int
) -> None:
    """Raise CorruptIndexError where the parts do not fit each other."""
    for stated, one in zip(settings.segments, segments, strict=True):
        if (
            one.n_docs != stated.n_docs
            or len(one.fields) != len(settings.fields)
            or any(segment.n_terms > n_terms for segment in one.fields)
            or (one.live is not None and one.live.shape[0] != one.n_docs)
        ):
            raise CorruptIndexError(
                f"{path}: the segment {stated.part} holds {one.n_docs} documents in "
                f"{len(one.fields)} fields over {one.fields[0].n_terms} terms, which does not fit "
                f"the manifest's {stated.n_docs}, {len(settings.fields)} and S's {n_terms}; "
                "rebuild the index."
            )
