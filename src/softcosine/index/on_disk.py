"""An index and its folder: created, saved, opened, refreshed, written."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Self

from softcosine.errors import InvalidInputError
from softcosine.index.defaults import WEIGHTING, check_one_similarity
from softcosine.index.fields import checked_fields
from softcosine.index.generation import Generation
from softcosine.index.language import check_language
from softcosine.index.rankings import check_ranking
from softcosine.index.snapshot import Snapshot
from softcosine.index.store import Store
from softcosine.index.store_writer import Committed, StoreWriter
from softcosine.index.stored import IndexSettings, read_snapshot, write_snapshot, write_space
from softcosine.matrix.term_similarity_matrix import (
    TermSimilarityMatrix,
    checked_similarity,
    checked_source,
)
from softcosine.sources.in_terms import phrases_in
from softcosine.sources.source import TermSimilaritySource
from softcosine.text.analyzer import Analyzer
from softcosine.text.vocabulary import Vocabulary
from softcosine.text.weighting import Weighting, checked_weighting

__all__ = ["OnDisk", "create", "save"]


@dataclass(frozen=True, slots=True)
class OnDisk:
    """Where an opened index lies.

    Attributes
    ----------
    store : Store
    generation : Generation
        That the index answers from.
    source : TermSimilaritySource or None
        In place of the one that was kept.
    """

    store: Store
    generation: Generation
    source: TermSimilaritySource | None

    @classmethod
    def open(
        cls, path: str | Path, source: TermSimilaritySource | None, *, verify: bool
    ) -> tuple[Snapshot, Self]:
        """Open the last generation; see `SoftIndex.open`."""
        store = Store.open(path)
        if source is not None:
            checked_source(source)

        def read(generation: Generation) -> tuple[Snapshot, Self]:
            if verify:
                generation.verify()
            snapshot = read_snapshot(generation, source=source)
            if verify:
                snapshot.check()
            return snapshot, cls(store, generation, source)

        return store.opened(read)

    def refreshed(self, snapshot: Snapshot) -> tuple[Snapshot, Self] | None:
        """Open the last generation if it is another one than the snapshot's."""
        # Not by its number: a copy of another index may have taken the folder's place.
        if self.store.checksum() == self.generation.checksum:
            return None

        def read(generation: Generation) -> tuple[Snapshot, Self]:
            newer = read_snapshot(generation, source=self.source, previous=snapshot)
            return newer, replace(self, generation=generation)

        return self.store.opened(read, self.generation)


def save(snapshot: Snapshot, path: str | Path, *, overwrite: bool) -> None:
    """Write a snapshot as the first generation of an index; see `SoftIndex.save`."""
    Store.create(
        path, lambda writer: write_snapshot(snapshot.with_norms(), writer), overwrite=overwrite
    )


def create(
    path: str | Path,
    *,
    source: TermSimilaritySource | None,
    S: TermSimilarityMatrix | None,
    plain: bool,
    analyzer: Analyzer | None,
    language: str,
    weighting: Weighting | None,
    ranking: str,
    fields: Any,
    max_neighbors: int | None,
    positions: bool,
    texts: bool,
    note: str,
    overwrite: bool,
) -> None:
    """Write an index without documents; see `SoftIndex.create`."""
    check_one_similarity(source=source is not None, S=S is not None, plain=plain)
    if max_neighbors is not None and source is None:
        raise InvalidInputError(
            "max_neighbors limits what a source says, and none was given; leave it out."
        )
    check_language(language, analyzer)
    if positions and analyzer is not None and analyzer.max_ngram > 1:
        raise InvalidInputError(
            "positions are kept of single words, and this analyzer makes n-grams; choose one."
        )
    chosen = analyzer
    if analyzer is None and language != "auto":
        chosen = Analyzer.for_language(language)
    settings = IndexSettings(
        fields=checked_fields(fields),
        weighting=WEIGHTING if weighting is None else checked_weighting(weighting),
        ranking=check_ranking(ranking),
        analyzer=None if chosen is None else chosen.with_phrases(phrases_in(source)),
        language=None if language == "auto" else language,
        note="Ordinary cosine: S = I." if plain else note,
        positions=bool(positions),
        texts=bool(texts),
        plain=plain,
    )
    make = _first_similarity(source, S, plain=plain, max_neighbors=max_neighbors)

    def fill(writer: StoreWriter) -> Committed:
        first = settings
        if make is not None:
            first = replace(settings, space=write_space(writer, *make()))
        return Committed(first.to_dict(), first.parts)

    Store.create(path, fill, overwrite=overwrite)


def _first_similarity(
    source: TermSimilaritySource | None,
    S: TermSimilarityMatrix | None,
    *,
    plain: bool,
    max_neighbors: int | None,
) -> Callable[[], tuple[TermSimilarityMatrix, TermSimilaritySource | None]] | None:
    """Return what makes the S that an index begins with; None for one yet to be learned."""
    if S is not None:
        return lambda: (checked_similarity(S), None)
    nothing = Vocabulary([])
    if plain:
        return lambda: (TermSimilarityMatrix.identity(nothing), None)
    if source is None:
        return None
    checked_source(source)
    return lambda: (
        TermSimilarityMatrix.from_source(
            source, nothing, max_neighbors=max_neighbors, balanced=True, warn=False
        ),
        source,
    )
