"""Creation of an index without documents, in a folder or in memory.

A plan of shards decides the language by the first documents (`decide`), counts all of them in
parallel, and then makes the index without documents that all shards begin with (`found`).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from functools import partial
from pathlib import Path
from typing import Any

from softcosine._progress import Report, silent
from softcosine.index.defaults import AUTOMATIC_WEIGHTS, ENCODER
from softcosine.index.directory.directory import Directory
from softcosine.index.directory.folder import FolderDirectory
from softcosine.index.directory.manifest import IndexSettings
from softcosine.index.directory.memory import MemoryDirectory
from softcosine.index.directory.snapshot import Snapshot
from softcosine.index.directory.store import Store
from softcosine.index.directory.stored import write_snapshot
from softcosine.index.encoding import (
    IndexEncoder,
    default_weights,
    meaning_weights,
    new_space,
)
from softcosine.index.options import IndexOptions
from softcosine.index.segment.statistics import FieldStatistics
from softcosine.index.writer.document_vectors import DocumentEncoder
from softcosine.index.writer.pending_commit import CountedDocuments, PendingCommit
from softcosine.matrix.recipe import SimilarityRecipe
from softcosine.matrix.term_similarity_matrix import TermSimilarityMatrix
from softcosine.similarity.source import SourceState, TermSimilaritySource, state_of
from softcosine.space.meaning import STATIC
from softcosine.text.vocabulary import Vocabulary

_Made = tuple[Snapshot, Directory]


def create(path: str | Path | None, options: IndexOptions, *, overwrite: bool = False) -> _Made:
    """Return a new index without documents, in memory without a path; see `SoftIndex.create`."""
    if path is None:
        snapshot, encoder = _empty(options)
        return snapshot, MemoryDirectory(snapshot, encoder)
    with creating(path, options, overwrite=overwrite) as (_, made):
        pass
    return FolderDirectory.open(path, made.source, recipe=made.recipe, encoder=made.encoder)


@contextmanager
def creating(
    path: str | Path,
    options: IndexOptions,
    *,
    overwrite: bool = False,
    records: Mapping[str, Any] | None = None,
) -> Iterator[tuple[Snapshot, FolderDirectory]]:
    """Make an index in a temporary folder, and rename it to `path` if no exception is raised.

    Close its writer before the block ends. `records` are those of `IndexSettings`; errors as of
    `SoftIndex.create`.
    """
    snapshot, encoder = _empty(options, records)
    recipe, source = snapshot.settings.recipe, snapshot.source
    with Store.creating(path, partial(write_snapshot, snapshot), overwrite=overwrite) as store:
        made = FolderDirectory.open(store.path, recipe=recipe, encoder=encoder)
        stored = made[0].source
        if source is not None and (stored is None or _has_encoder(state_of(stored))):
            made = FolderDirectory.open(store.path, source, recipe=recipe, encoder=encoder)
        yield made


def _empty(
    options: IndexOptions, records: Mapping[str, Any] | None = None
) -> tuple[Snapshot, IndexEncoder | None]:
    """Return the first snapshot of an index, and its encoder."""
    space, reader, weights, cache = None, None, {}, options.encoder_cache
    if options.encoder == ENCODER:  # the first documents decide; see `PendingCommit`
        reader = None if cache is None else IndexEncoder(None, place=cache)
    elif options.encoder == STATIC and options.meaning_space is None:
        weights = AUTOMATIC_WEIGHTS
    elif options.encoder is not None:
        space, reader = new_space(options.encoder, cache, options.meaning_space)
        weights = default_weights(space)
    S, source, recipe, note = options.S, None, None, options.note
    if S is None and _waits(options.similarity):
        S, recipe = TermSimilarityMatrix.identity(Vocabulary([])), options.similarity
    elif S is None:
        S, source, said = _without_terms(options.similarity)
        note = note or said
    settings = options.settings(
        meaning_weights=meaning_weights(options.meaning, str(options.ranking), weights),
        meaning=None if space is None else "meaning", undecided=options.encoder == ENCODER,
        recipe=recipe, space="space" if recipe is None else None, note=note, records=records or {},
    )  # fmt: skip
    statistics = (FieldStatistics.none(len(S)),) * len(settings.fields)
    return Snapshot(settings, (), S, source, statistics, generation=1, meaning=space), reader


def _has_encoder(state: SourceState) -> bool:
    """Whether a source has an encoder, which is not stored with it."""
    return state.kind == "encoder" or any(map(_has_encoder, state.parts))


def _waits(recipe: SimilarityRecipe) -> bool:
    """Whether S is built at the first commit, and not term by term."""
    # Overrides apply on top of the guard, which depends on the language.
    if recipe.sources is None or recipe.adds_default:  # the language of the texts decides
        return True
    return recipe.needs_texts() or recipe.overrides is not None or not recipe.guard


def _without_terms(
    recipe: SimilarityRecipe,
) -> tuple[TermSimilarityMatrix, TermSimilaritySource | None, str]:
    """Return an S without terms, which grows by the rules of the recipe, its source, and a note."""
    nothing = Vocabulary([])
    if recipe.plain:
        made = recipe.build(nothing)
        return made.S, made.source, made.note
    source, note = recipe.joined()
    S = TermSimilarityMatrix.from_source(source, nothing, warn=False, **recipe.rules)
    return S, source, note if recipe.names else ""


def decide(directory: Directory, texts: Sequence[str], *, memory: int) -> tuple[IndexSettings, str]:
    """Return the settings of an index without documents, as its first documents decide them.

    Parameters
    ----------
    directory : Directory
        Not changed.
    texts : sequence of str
        All fields of the first document, then those of the second, and so on.
    memory : int
        Approximate limit in bytes.

    Returns
    -------
    settings : IndexSettings
    note : str
        On the language.
    """
    with closing(directory.writing(0)) as writer:
        return PendingCommit(writer, memory=memory).decided(texts)


def found(
    path: Path,
    options: IndexOptions,
    records: Mapping[str, Any],
    documents: CountedDocuments,
    *,
    memory: int,
    report: Report = silent,
) -> None:
    """Make a frozen index without documents under the epoch of some documents.

    Parameters
    ----------
    path : path of a folder
    options : IndexOptions
    records : mapping
        Those of `IndexSettings`.
    documents : CountedDocuments
    memory : int
        Approximate limit in bytes.
    report : callable, optional
        Called with (task, done, total); total may be None.
    """
    made = creating(path, options, records=records)
    with made as (_, directory), closing(directory.writing(0)) as writer:
        encoder = DocumentEncoder(directory.encoder, report)
        pending = PendingCommit(writer, memory=memory, encoder=encoder, report=report)
        try:
            pending.found(documents)
        finally:
            pending.close()
