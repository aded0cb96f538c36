"""Creation of an index without documents, in a folder or in memory.

A plan of shards decides the language by the first documents (`decide`), counts all of them in
parallel, and then makes the index without documents that all shards begin with (`found`).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

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
from softcosine.index.directory.store_writer import Committed, StoreWriter
from softcosine.index.directory.stored import write_part
from softcosine.index.encoding import (
    IndexEncoder,
    default_weights,
    meaning_weights,
    new_space,
)
from softcosine.index.language import check_language
from softcosine.index.rankings import check_ranking
from softcosine.index.segment.statistics import FieldStatistics
from softcosine.index.writer.pending_commit import CountedDocuments, PendingCommit
from softcosine.matrix.recipe import SimilarityRecipe
from softcosine.matrix.term_similarity_matrix import (
    TermSimilarityMatrix,
    checked_similarity,
    checked_source,
)
from softcosine.similarity.registry import no_documents
from softcosine.similarity.source import SourceState, TermSimilaritySource, state_of
from softcosine.text.analyzer import Analyzer
from softcosine.text.counted_terms import check_df_limit
from softcosine.text.vocabulary import Vocabulary
from softcosine.text.weighting import Weighting, checked_weighting

if TYPE_CHECKING:
    from softcosine.encoders.encoder import Encoder
    from softcosine.space.meaning import MeaningSpace

_Made = tuple[Snapshot, Directory]


def create(path: str | Path | None, *, overwrite: bool = False, **given: Any) -> _Made:
    """Return a new index without documents; see `SoftIndex.create`.

    Parameters
    ----------
    path : path of a folder, or None for memory
    overwrite, **given
        See `SoftIndex.create`.
    """
    beginning = _Beginning.of(**given)
    if path is None:
        return _in_memory(beginning)
    with _creating(path, beginning, overwrite=overwrite):
        pass
    return beginning.opened(path)


@contextmanager
def creating(path: str | Path, *, overwrite: bool = False, **given: Any) -> Iterator[_Made]:
    """Make an index in a temporary folder, and rename it to `path` if no exception is raised.

    Close its writer before the block ends. Parameters and errors as in `SoftIndex.create`.
    """
    with _creating(path, _Beginning.of(**given), overwrite=overwrite) as made:
        yield made


@contextmanager
def _creating(path: str | Path, beginning: _Beginning, *, overwrite: bool) -> Iterator[_Made]:
    def fill(writer: StoreWriter) -> Committed:
        settings = beginning.settings
        if beginning.similarity is not None:
            settings = replace(settings, space=write_part(writer, "space", *beginning.similarity))
        if beginning.meaning is not None:
            settings = replace(settings, meaning=write_part(writer, "meaning", beginning.meaning))
        return Committed(settings.to_dict(), settings.parts)

    with Store.creating(path, fill, overwrite=overwrite) as store:
        yield beginning.opened(store.path)


def _in_memory(beginning: _Beginning) -> _Made:
    settings = beginning.settings
    S, source = beginning.similarity or (TermSimilarityMatrix.identity(Vocabulary([])), None)
    if beginning.similarity is not None:
        settings = replace(settings, space="space")
    statistics = (FieldStatistics.none(len(S)),) * len(settings.fields)
    if beginning.meaning is not None:
        settings = replace(settings, meaning="meaning")
    snapshot = Snapshot(
        settings, (), S, source, statistics, generation=1, meaning=beginning.meaning
    )
    return snapshot, MemoryDirectory(snapshot, beginning.encoder)


@dataclass(frozen=True, slots=True)
class _Beginning:
    """The initial state of an index.

    Attributes
    ----------
    settings : IndexSettings
        Without parts.
    similarity : tuple of TermSimilarityMatrix and TermSimilaritySource or None, or None
        None if the first commit builds S.
    meaning : MeaningSpace or None
    encoder : IndexEncoder or None
    """

    settings: IndexSettings
    similarity: tuple[TermSimilarityMatrix, TermSimilaritySource | None] | None
    meaning: MeaningSpace | None = None
    encoder: IndexEncoder | None = None

    @classmethod
    def of(
        cls,
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
        encoder: str | Encoder | None = ENCODER,
        encoder_cache: str | Path | None = None,
        meaning_space: MeaningSpace | str | Path | None = None,
        meaning: float | Mapping[str, float] | None = None,
    ) -> Self:
        """Check arguments of `SoftIndex.create`."""
        check_flag("plain", plain)
        given = {"similarity": similarity, "source": source, "S": S, "plain": plain or None}
        if sum(value is not None for value in given.values()) > 1:
            raise InvalidInputError(
                "similarity, source, S and plain exclude each other; give at most one of them."
            )
        recipe = None if S is not None else _recipe(similarity, source, plain, max_neighbors)
        if S is not None and max_neighbors is not None:
            raise _no_source()
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
            plain=recipe is not None and recipe.plain,
            min_df=check_df_limit("min_df", min_df),
            max_df=check_df_limit("max_df", max_df),
        )
        reading: tuple[Any, ...] = ()
        automatic = encoder == ENCODER
        words_alone = settings.plain or S is not None or not AUTOMATIC_WEIGHTS.get(ranking)
        if automatic and (encoder_cache, meaning_space) == (None, None) and not words_alone:
            # The language of the first texts decides; see `PendingCommit`.
            weights = meaning_weights(meaning, ranking, AUTOMATIC_WEIGHTS)
            settings = replace(settings, meaning_weights=weights)
        elif encoder is not None and not automatic:
            reading = new_space(encoder, encoder_cache, meaning_space)
            weights = meaning_weights(meaning, ranking, default_weights(reading[0]))
            settings = replace(settings, meaning_weights=weights)
        elif not (meaning is None and meaning_space is None and encoder_cache is None):
            raise InvalidInputError(
                "meaning, meaning_space and encoder_cache are for an index with an encoder; add "
                'encoder="minilm", or leave them out.'
            )
        if recipe is None:
            return cls(settings, (checked_similarity(S), None), *reading)
        if _waits(recipe):
            return cls(replace(settings, recipe=recipe), None, *reading)
        made, said = _without_terms(recipe)
        return cls(replace(settings, note=note or said), made, *reading)

    def opened(self, path: str | Path) -> _Made:
        """Open the folder of the index, with what a folder cannot hold."""
        recipe = self.settings.recipe
        made = FolderDirectory.open(path, recipe=recipe, encoder=self.encoder)
        source = None if self.similarity is None else self.similarity[1]
        stored = made[0].source
        if source is None or (stored is not None and not _has_encoder(state_of(stored))):
            return made
        return FolderDirectory.open(path, source, recipe=recipe, encoder=self.encoder)


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


def _recipe(
    similarity: SimilarityRecipe | None,
    source: TermSimilaritySource | None,
    plain: bool,
    max_neighbors: int | None,
) -> SimilarityRecipe:
    """Return the recipe that the parameters describe."""
    if similarity is not None:
        if max_neighbors is not None:
            raise InvalidInputError(
                "max_neighbors is a setting of the recipe; give it there, or leave it out."
            )
        return checked_recipe(similarity)
    if plain:
        if max_neighbors is not None:
            raise _no_source()
        return SimilarityRecipe(sources=())
    sources = None if source is None else (checked_source(source),)
    return SimilarityRecipe(sources=sources, max_neighbors=max_neighbors)


def _no_source() -> InvalidInputError:
    return InvalidInputError(
        "max_neighbors limits what a source says, and S or plain leaves no source to ask; leave "
        "it out."
    )


def _waits(recipe: SimilarityRecipe) -> bool:
    """Whether S is built at the first commit, and not term by term."""
    # Overrides apply on top of the guard, which depends on the language.
    return recipe.needs_texts() or recipe.overrides is not None or not recipe.guard


def _without_terms(
    recipe: SimilarityRecipe,
) -> tuple[tuple[TermSimilarityMatrix, TermSimilaritySource | None], str]:
    """Return an S without terms, which grows by the rules of the recipe, its source, and a note."""
    nothing = Vocabulary([])
    if recipe.plain:
        made = recipe.build(nothing)
        return (made.S, made.source), made.note
    source, note = recipe.joined()
    S = TermSimilarityMatrix.from_source(source, nothing, warn=False, **recipe.rules)
    return (S, source), note if recipe.names else ""


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
        pending = PendingCommit(writer, memory=memory, report=report)
        try:
            pending.found(documents)
        finally:
            pending.close()
