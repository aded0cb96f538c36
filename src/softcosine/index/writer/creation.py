"""Creation of an index without documents, in a folder or in memory.

A plan of shards decides the language by the first documents (`decide`), counts all of them in
parallel, and then makes the index without documents that all shards begin with (`found`).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from softcosine._progress import Report, silent
from softcosine._validation import check_flag, check_type
from softcosine.errors import InvalidInputError
from softcosine.index.defaults import AUTOMATIC_WEIGHTS, ENCODER, RANKING, WEIGHTING, checked_fields
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
from softcosine.index.language import check_language
from softcosine.index.rankings import check_ranking
from softcosine.index.segment.statistics import FieldStatistics
from softcosine.index.writer.document_vectors import DocumentEncoder
from softcosine.index.writer.pending_commit import CountedDocuments, PendingCommit
from softcosine.matrix.recipe import SimilarityRecipe
from softcosine.matrix.term_similarity_matrix import TermSimilarityMatrix, checked_similarity
from softcosine.similarity.registry import no_documents
from softcosine.similarity.source import SourceState, TermSimilaritySource, checked_source, state_of
from softcosine.space.meaning import STATIC
from softcosine.text.analyzer import Analyzer
from softcosine.text.counted_terms import check_df_limit
from softcosine.text.vocabulary import Vocabulary
from softcosine.text.weighting import Weighting, checked_weighting

if TYPE_CHECKING:
    from softcosine.encoders.encoder import GivenEncoder
    from softcosine.space.meaning import GivenSpace

_Made = tuple[Snapshot, Directory]


def create(path: str | Path | None, *, overwrite: bool = False, **given: Any) -> _Made:
    """Return a new index without documents; see `SoftIndex.create`.

    Parameters
    ----------
    path : path of a folder, or None for memory
    overwrite, **given
        See `SoftIndex.create`.
    """
    if path is None:
        snapshot, encoder = _empty(**given)
        return snapshot, MemoryDirectory(snapshot, encoder)
    with creating(path, overwrite=overwrite, **given) as (_, made):
        pass
    return FolderDirectory.open(path, made.source, recipe=made.recipe, encoder=made.encoder)


@contextmanager
def creating(
    path: str | Path, *, overwrite: bool = False, **given: Any
) -> Iterator[tuple[Snapshot, FolderDirectory]]:
    """Make an index in a temporary folder, and rename it to `path` if no exception is raised.

    Close its writer before the block ends. Parameters and errors as in `SoftIndex.create`.
    """
    snapshot, encoder = _empty(**given)
    recipe, source = snapshot.settings.recipe, snapshot.source
    with Store.creating(path, partial(write_snapshot, snapshot), overwrite=overwrite) as store:
        made = FolderDirectory.open(store.path, recipe=recipe, encoder=encoder)
        stored = made[0].source
        if source is not None and (stored is None or _has_encoder(state_of(stored))):
            made = FolderDirectory.open(store.path, source, recipe=recipe, encoder=encoder)
        yield made


def _empty(
    *,
    similarity: SimilarityRecipe | None = None,
    source: TermSimilaritySource | None = None,
    S: TermSimilarityMatrix | None = None,
    plain: bool = False,
    analyzer: Analyzer | None = None,
    language: str = "auto",
    weighting: Weighting | None = None,
    ranking: str = RANKING,
    fields: Any = None,
    max_neighbors: int | None = None,
    min_df: int | float = 1,
    max_df: int | float = 1.0,
    positions: bool | None = None,
    keep_texts: bool = True,
    note: str = "",
    encoder: GivenEncoder | None = ENCODER,
    encoder_cache: str | Path | None = None,
    meaning_space: GivenSpace | None = None,
    meaning: float | Mapping[str, float] | None = None,
    records: Mapping[str, Any] | None = None,
) -> tuple[Snapshot, IndexEncoder | None]:
    """Check arguments of `SoftIndex.create`; return its first snapshot, and its encoder.

    `records` are those of `IndexSettings`.
    """
    check_flag("plain", plain)
    encoder = None if encoder == "none" else encoder
    given = {"similarity": similarity, "source": source, "S": S, "plain": plain or None}
    if sum(value is not None for value in given.values()) > 1:
        raise InvalidInputError(
            "similarity, source, S and plain exclude each other; give at most one of them."
        )
    if max_neighbors is not None and similarity is not None:
        raise InvalidInputError(
            "max_neighbors is a setting of the recipe; give it there, or leave it out."
        )
    if max_neighbors is not None and (plain or S is not None):
        raise InvalidInputError(
            "max_neighbors limits what a source says, and S or plain leaves no source to ask; "
            "leave it out."
        )
    if similarity is not None:
        recipe = checked_recipe(similarity)
    else:
        sources = () if plain else None if source is None else (checked_source(source),)
        recipe = SimilarityRecipe(sources=sources, max_neighbors=max_neighbors)
    check_language(language, analyzer)
    check_flag("keep_texts", keep_texts)
    check_flag("positions", positions, optional=True)
    check_type("note", note, str, "pass a string")
    chosen = analyzer
    if analyzer is None and language != "auto":
        chosen = Analyzer.for_language(language)
    chosen_fields = checked_fields(fields)
    settings = IndexSettings(
        fields=chosen_fields,
        weighting=WEIGHTING if weighting is None else checked_weighting(weighting),
        ranking=check_ranking(ranking),
        analyzer=chosen,
        language=None if language == "auto" else language,
        note=note,
        positions=len(chosen_fields) > 1 if positions is None else positions,
        texts=keep_texts,
        plain=S is None and recipe.plain,
        records=records or {},
        min_df=check_df_limit("min_df", min_df),
        max_df=check_df_limit("max_df", max_df),
    )
    space, reader = None, None
    automatic = encoder in (ENCODER, STATIC) and meaning_space is None
    undecided = automatic and encoder == ENCODER and meaning != 0 and language != "none"
    words_alone = settings.plain or S is not None or not AUTOMATIC_WEIGHTS.get(ranking)
    if automatic and (undecided or encoder_cache is None) and (meaning or not words_alone):
        # The first documents decide; see `PendingCommit`.
        weights = meaning_weights(meaning, ranking, {} if undecided else AUTOMATIC_WEIGHTS)
        settings = replace(settings, meaning_weights=weights, undecided=undecided)
        if encoder_cache is not None:
            reader = IndexEncoder(None, place=encoder_cache)
    elif encoder is not None and not automatic:
        model = STATIC if encoder == ENCODER else encoder
        space, reader = new_space(model, encoder_cache, meaning_space)
        weights = meaning_weights(meaning, ranking, default_weights(space))
        settings = replace(settings, meaning_weights=weights, meaning="meaning")
    elif not (meaning is None and meaning_space is None and encoder_cache is None):
        raise InvalidInputError(
            "meaning, meaning_space and encoder_cache are for an index with an encoder; add "
            'encoder="minilm", or leave them out.'
        )
    if S is not None:
        S, source = checked_similarity(S), None
        settings = replace(settings, space="space")
    elif _waits(recipe):
        S, source = TermSimilarityMatrix.identity(Vocabulary([])), None
        settings = replace(settings, recipe=recipe)
    else:
        S, source, said = _without_terms(recipe)
        settings = replace(settings, space="space", note=note or said)
    statistics = (FieldStatistics.none(len(S)),) * len(settings.fields)
    return Snapshot(settings, (), S, source, statistics, generation=1, meaning=space), reader


def _has_encoder(state: SourceState) -> bool:
    """Whether a source has an encoder, which is not stored with it."""
    return state.kind == "encoder" or any(map(_has_encoder, state.parts))


def checked_recipe(recipe: object) -> SimilarityRecipe:
    """Return a recipe with absolute paths; InvalidInputError if no index can be made by it."""
    check_type("similarity", recipe, SimilarityRecipe, "pass a SimilarityRecipe")
    assert isinstance(recipe, SimilarityRecipe)
    if any(name.partition(":")[0] == "documents" for name in recipe.names):
        raise no_documents()
    return recipe.absolute()


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
    documents: CountedDocuments,
    *,
    memory: int,
    report: Report = silent,
    **given: Any,
) -> None:
    """Make a frozen index without documents under the epoch of some documents.

    Parameters
    ----------
    path : path of a folder
    documents : CountedDocuments
    memory : int
        Approximate limit in bytes.
    report : callable, optional
        Called with (task, done, total); total may be None.
    **given
        As for `SoftIndex.create`.
    """
    with creating(path, **given) as (_, directory), closing(directory.writing(0)) as writer:
        encoder = DocumentEncoder(directory.encoder, report)
        pending = PendingCommit(writer, memory=memory, encoder=encoder, report=report)
        try:
            pending.found(documents)
        finally:
            pending.close()
