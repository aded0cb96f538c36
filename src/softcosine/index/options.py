"""`IndexOptions`: how an index is made; every option with its limits, default and description.

All doors make one of these: `SoftIndex.create` and `from_texts`, plans of shards, ``softcosine
index``, and HTTP by `IndexRequest`. Modules that the options alone do not need are imported where
an index is made, because ``softcosine --help`` imports this one.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, TypedDict

from msgspec import Meta
from msgspec.structs import force_setattr

from softcosine._validation import check_type
from softcosine.errors import InvalidInputError
from softcosine.index.requests import Request

if TYPE_CHECKING:
    from softcosine.encoders.encoder import GivenEncoder
    from softcosine.index.directory.manifest import IndexSettings
    from softcosine.matrix.recipe import SimilarityRecipe
    from softcosine.matrix.term_similarity_matrix import TermSimilarityMatrix
    from softcosine.similarity.source import TermSimilaritySource
    from softcosine.space.meaning import GivenSpace
    from softcosine.text.analyzer import Analyzer
    from softcosine.text.weighting import Weighting

_Limit = Annotated[int, Meta(ge=0)] | Annotated[float, Meta(ge=0, le=1)]
_Weight = Annotated[float, Meta(ge=0, le=1e6)]
_SETTINGS = (
    "fields", "weighting", "ranking", "analyzer", "language", "note", "positions", "plain",
    "min_df", "max_df",
)  # fmt: skip


class IndexRequest(Request, frozen=True, kw_only=True):
    """How an index is made, as JSON and a command line can say it."""

    similarity: Annotated[Any, Meta(description="A recipe: how similarities are made.")] = None
    plain: Annotated[bool, Meta(description="Rank by equal words alone: ordinary BM25.")] = False
    max_neighbors: Annotated[
        Annotated[int, Meta(ge=0)] | None,
        Meta(
            description="Maximum number of similar words per word [100; 10 if the texts are the "
            "only source]."
        ),
    ] = None
    language: Annotated[
        str,
        Meta(
            description="Language of the texts, such as german, or several, as english+german, or "
            "none; sets the stemmer, the segmenter and the word vectors. auto detects it."
        ),
    ] = "auto"
    ranking: Annotated[
        str | None,
        Meta(
            description="Default ranking: soft_tf_bm25 (by default), soft_bm25, soft_cosine, "
            "inner_product or expanded_cosine."
        ),
    ] = None
    fields: Annotated[Any, Meta(description="Text fields with scores of their own, by weight.")] = (
        None
    )
    min_df: Annotated[
        _Limit, Meta(description="Drop words in fewer documents: a number, or a share: 0.001.")
    ] = 1
    max_df: Annotated[
        _Limit, Meta(description="Drop words in more documents: a number, or a share: 0.5.")
    ] = 1.0
    positions: Annotated[
        bool | None,
        Meta(
            description="Store positions, so that phrases are found without stored texts [if there "
            "are several fields]."
        ),
    ] = None
    keep_texts: Annotated[bool, Meta(description="Store the texts.")] = True
    encoder: Annotated[
        Any,
        Meta(
            description="Sentence encoder that reads each document once, so that searches also "
            "rank by meaning: minilm (English), or the folder or name of another, or hub:NAME; "
            "static for a bundled table of English word pieces in place of one; none for words "
            "alone; auto for minilm if it is installed and the documents are English and few, else "
            "static."
        ),
    ] = "auto"
    meaning: Annotated[
        _Weight | Annotated[dict[str, _Weight], Meta(max_length=100)] | None,
        Meta(description="Weight of meaning in the score; 0 for words alone."),
    ] = None
    note: Annotated[str, Meta(description="Where the similarities come from, for people.")] = ""


class IndexOptions(IndexRequest, frozen=True, kw_only=True):
    """The options of `SoftIndex.create`, checked, with one form of each.

    Afterwards `similarity` is a recipe, whatever was given; `language` is None until documents
    decide it; and `fields`, `weighting`, `ranking` and `positions` are those of the index.

    Raises
    ------
    InvalidInputError
    """

    OBJECTS: ClassVar = (
        "similarity", "source", "S", "analyzer", "weighting", "fields", "encoder", "encoder_cache",
        "meaning_space",
    )  # fmt: skip

    source: Annotated[Any, Meta(description="A source of similarities, without a recipe.")] = None
    S: Annotated[Any, Meta(description="A ready matrix, without a recipe.")] = None
    analyzer: Annotated[Any, Meta(description="In place of that of the language.")] = None
    weighting: Annotated[Any, Meta(description="Term weights, and k1 and b of BM25.")] = None
    encoder_cache: Annotated[
        Any, Meta(description="File of encoded texts, so that no text is encoded twice.")
    ] = None
    meaning_space: Annotated[
        Any,
        Meta(
            description="Query table of the encoder, made by 'admin teach', or static for that of "
            "the package softcosine-multilingual; that of minilm is bundled. A number keeps the "
            "first N components of vectors (Matryoshka encoders)."
        ),
    ] = None

    def __post_init__(self) -> None:
        from softcosine.index.defaults import (
            AUTOMATIC_WEIGHTS,
            ENCODER,
            RANKING,
            WEIGHTING,
            checked_fields,
        )
        from softcosine.index.language import check_language
        from softcosine.index.rankings import check_ranking
        from softcosine.matrix.term_similarity_matrix import checked_similarity
        from softcosine.space.meaning import STATIC
        from softcosine.text.analyzer import Analyzer
        from softcosine.text.weighting import checked_weighting

        recipe, fields = self._recipe(), checked_fields(self.fields)
        S = None if self.S is None else checked_similarity(self.S)
        plain, ranking = S is None and recipe.plain, check_ranking(self.ranking or RANKING)
        language, analyzer = check_language(self.language, self.analyzer), self.analyzer
        if analyzer is None and language != "auto":
            analyzer = Analyzer.for_language(language)
        encoder = None if self.encoder == "none" else self.encoder
        automatic = encoder in (ENCODER, STATIC) and self.meaning_space is None
        if encoder == ENCODER and not (automatic and self.meaning != 0 and language != "none"):
            encoder = STATIC  # which leaves the first documents nothing to decide
        by_words = plain or S is not None or not AUTOMATIC_WEIGHTS.get(ranking)
        cached = encoder == STATIC and self.encoder_cache is not None
        if automatic and (cached or (by_words and not self.meaning)):
            encoder = None
        of_encoders = (self.meaning, self.meaning_space, self.encoder_cache)
        if encoder is None and any(one is not None for one in of_encoders):
            raise InvalidInputError(
                "meaning, meaning_space and encoder_cache are for an index with an encoder; add "
                'encoder="minilm", or leave them out.'
            )
        checked = {
            "similarity": recipe, "S": S, "plain": plain, "ranking": ranking, "fields": fields,
            "language": None if language == "auto" else language, "analyzer": analyzer,
            "weighting": WEIGHTING if self.weighting is None else checked_weighting(self.weighting),
            "positions": len(fields) > 1 if self.positions is None else self.positions,
            "encoder": encoder,
        }  # fmt: skip
        for name, value in checked.items():
            force_setattr(self, name, value)

    def _recipe(self) -> SimilarityRecipe:
        """Return the recipe that is given, or that of the source, or the default."""
        from softcosine.matrix.recipe import SimilarityRecipe
        from softcosine.similarity.source import checked_source

        given = [self.similarity, self.source, self.S, self.plain or None]
        others = [one for one in given if one is not None]
        if len(others) > 1:
            raise InvalidInputError(
                "similarity, source, S and plain exclude each other; give at most one of them."
            )
        if self.max_neighbors is not None and others and self.source is None:
            raise InvalidInputError(
                "max_neighbors limits what a source says: a recipe has a setting of its own for "
                "it, and S or plain leaves no source to ask; leave it out."
            )
        if self.similarity is not None:
            return checked_recipe(self.similarity)
        own = None if self.source is None else (checked_source(self.source),)
        return SimilarityRecipe(sources=() if self.plain else own, max_neighbors=self.max_neighbors)

    def settings(self, **more: Any) -> IndexSettings:
        """Return the settings of the index before its first document, and others."""
        from softcosine.index.directory.manifest import IndexSettings

        given = {name: getattr(self, name) for name in _SETTINGS}
        return IndexSettings(**{**given, "texts": self.keep_texts, **more})


def checked_recipe(recipe: object) -> SimilarityRecipe:
    """Return a recipe with absolute paths; InvalidInputError if no index can be made by it."""
    from softcosine.matrix.recipe import SimilarityRecipe
    from softcosine.similarity.registry import no_documents

    if isinstance(recipe, Mapping):
        recipe = SimilarityRecipe.from_dict(recipe)
    check_type("similarity", recipe, SimilarityRecipe, "pass a SimilarityRecipe")
    assert isinstance(recipe, SimilarityRecipe)
    if any(name.partition(":")[0] == "documents" for name in recipe.names):
        raise no_documents()
    return recipe.absolute()


class IndexKeywords(TypedDict, total=False):
    """The options of `SoftIndex.create`, for callers that pass them on."""

    similarity: SimilarityRecipe | Mapping[str, Any] | None
    source: TermSimilaritySource | None
    S: TermSimilarityMatrix | None
    plain: bool
    analyzer: Analyzer | None
    language: str
    weighting: Weighting | None
    ranking: str | None
    fields: Mapping[str, float] | Iterable[str] | None
    max_neighbors: int | None
    min_df: int | float
    max_df: int | float
    positions: bool | None
    keep_texts: bool
    encoder: GivenEncoder | None
    encoder_cache: str | Path | None
    meaning_space: GivenSpace | None
    meaning: float | Mapping[str, float] | None
    note: str
