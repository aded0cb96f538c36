"""From texts to the parts of an index."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable, Mapping
from typing import Any

from scipy.sparse import csr_array

from softcosine.errors import InvalidInputError
from softcosine.index.defaults import WEIGHTING, check_one_similarity, default_source
from softcosine.index.documents import MemoryDocuments
from softcosine.index.field_texts import field_texts, joined_texts
from softcosine.index.fields import checked_fields
from softcosine.index.inverting import positions_of
from softcosine.index.language import analyze_in_language, antonyms_of, check_language
from softcosine.index.metadata_values import Default
from softcosine.index.phrases import Positions
from softcosine.index.rankings import check_ranking
from softcosine.index.segment import Segment, cut
from softcosine.index.snapshot import IndexedSegment, Snapshot
from softcosine.index.statistics import FieldStatistics
from softcosine.matrix.rules import Rules
from softcosine.matrix.term_similarity_matrix import (
    TermSimilarityMatrix,
    checked_similarity,
    checked_source,
)
from softcosine.sources.constraints.guard import guarded
from softcosine.sources.in_terms import TermKeys, in_terms, phrases_in
from softcosine.sources.progress import silent
from softcosine.sources.source import TermSimilaritySource
from softcosine.text.analyzer import Analyzer
from softcosine.text.corpus import check_corpus
from softcosine.text.vocabulary import Vocabulary
from softcosine.text.weighting import Weighting, checked_weighting

__all__ = ["Progress", "build", "in_vocabulary"]

_logger = logging.getLogger(__name__)

Progress = Callable[[str, int, "int | None"], None]


def build(
    texts: Iterable[Any],
    *,
    fields: Mapping[str, float] | Iterable[str] | None,
    ids: Iterable[str] | None,
    metadata: Iterable[Mapping[str, Any] | None] | None,
    source: TermSimilaritySource | None,
    S: TermSimilarityMatrix | None,
    plain: bool,
    analyzer: Analyzer | None,
    language: str,
    weighting: Weighting | None,
    ranking: str,
    max_neighbors: int | None,
    min_df: int | float,
    max_df: int | float,
    progress: Progress | None,
    default: Default | None = None,
) -> Snapshot:
    """Return an index of texts in memory; see `SoftIndex.from_texts`."""
    check_one_similarity(source=source is not None, S=S is not None, plain=plain)
    if max_neighbors is not None:
        Rules(max_neighbors)
        if S is not None or plain:
            raise InvalidInputError(
                "max_neighbors limits what a source says, and S or plain leaves no source to ask; "
                "leave it out."
            )
    check_ranking(ranking)
    check_language(language, analyzer)
    if weighting is not None:
        checked_weighting(weighting)
    if progress is not None and not callable(progress):
        raise InvalidInputError(f"progress is {progress!r}; pass a function, or None.")
    if default is not None and not callable(default):
        raise InvalidInputError(f"default is {default!r}; pass a function, or None.")
    if S is not None:
        checked_similarity(S)
    if source is not None:
        checked_source(source)
    tell = progress or silent
    chosen_fields = checked_fields(fields)
    n_fields = len(chosen_fields)
    if fields is not None:
        texts = field_texts(texts, [field.name for field in chosen_fields])
    check_corpus(texts)
    kept = list(texts)
    found = analyze_in_language(
        kept, language, analyzer, phrases=phrases_in(source), min_df=min_df, max_df=max_df,
        n_fields=n_fields,
        progress=lambda done: tell("reading texts", done // n_fields, None),
    )  # fmt: skip
    analyzed, rules = found.texts, found.analyzer
    documents = MemoryDocuments(
        [text if isinstance(text, str) else " ".join(text) for text in kept]
        if n_fields == 1
        else joined_texts(kept, n_fields),
        ids=ids, metadata=metadata, default=default,
    )  # fmt: skip
    counts, vocabulary, note = analyzed.counts(), analyzed.vocabulary, ""
    if S is not None:
        counts, vocabulary = in_vocabulary(counts, vocabulary, S.vocabulary), S.vocabulary
    elif plain:
        S, note = TermSimilarityMatrix.identity(vocabulary), "Ordinary cosine: S = I."
    else:
        given = source is not None
        if source is None:
            tell("learning from the texts", 0, None)
            chosen = default_source(
                analyzed,
                language=found.language,
                progress=lambda done, total: tell("learning from the texts", done, total),
            )
            source, note = chosen.source, chosen.note
            _logger.info(note)
        else:
            guard = guarded(source, antonyms=antonyms_of(found.language))
            source = in_terms(guard, TermKeys(rules))
        tell("finding similar terms", 0, None)
        S = TermSimilarityMatrix.from_source(
            source, vocabulary, max_neighbors=max_neighbors,
            balanced=given, definite=not given, warn=False,
            progress=lambda done, total: tell("finding similar terms", done, total),
        )  # fmt: skip
    tell("inverting", 0, None)
    segments = _inverted(counts, n_fields)
    positions = None
    if n_fields > 1:  # the joined texts could not tell a phrase from words on either side
        positions = [positions_of(kept[f::n_fields], rules, vocabulary) for f in range(n_fields)]
    return Snapshot(
        segments=_indexed(segments, documents, positions),
        S=S,
        source=source,
        analyzer=rules,
        weighting=weighting or WEIGHTING,
        ranking=ranking,
        fields=chosen_fields,
        statistics=tuple(FieldStatistics.of(own, len(vocabulary)) for own in segments),
        note=" ".join(filter(None, (note, found.note))),
        plain=plain,
        language=found.language,
    )


def _inverted(counts: csr_array, n_fields: int) -> list[list[Segment]]:
    """Invert counts whose rows are the fields of every document: for each field, its segments."""
    of_fields = [counts] if n_fields == 1 else [counts[f::n_fields] for f in range(n_fields)]
    return [[Segment.from_counts(piece) for piece in cut(own)] for own in of_fields]


def _indexed(
    segments: list[list[Segment]], documents: MemoryDocuments, positions: list[Positions] | None
) -> tuple[IndexedSegment, ...]:
    """Join the fields' segments with their documents, and their running words if these are kept."""
    together = list(zip(*segments, strict=True))
    if len(together) == 1:
        return (IndexedSegment(together[0], documents, positions=_tuple(positions)),)
    indexed, first = [], 0
    for fields in together:
        last = first + fields[0].n_docs
        numbers = range(first, last)
        own = MemoryDocuments(
            [documents.text(number) for number in numbers],
            ids=[documents.id(number) for number in numbers],
            metadata=[documents.metadata(number) for number in numbers],
        )
        running = None if positions is None else [one.part(first, last) for one in positions]
        indexed.append(IndexedSegment(fields, own, positions=_tuple(running)))
        first = last
    return tuple(indexed)


def _tuple(positions: list[Positions] | None) -> tuple[Positions, ...] | None:
    return None if positions is None else tuple(positions)


def in_vocabulary(counts: csr_array, own: Vocabulary, given: Vocabulary) -> csr_array:
    """Return counts in the columns of another vocabulary; terms that it lacks are left out."""
    columns = given.indices(own.terms)
    coo = counts.tocoo()
    rows, places = coo.coords[0], columns[coo.coords[1]]
    kept = places >= 0
    moved = csr_array(
        (coo.data[kept], (rows[kept], places[kept])), shape=(counts.shape[0], len(given))
    )
    moved.sum_duplicates()
    return moved
