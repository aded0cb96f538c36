"""`IndexOptions`: how an index is made; every option with its limits, default and description.

All doors make one of these: `SoftIndex.create` and `from_texts`, plans of shards, ``softcosine
index``, and HTTP by `IndexRequest`. Modules that the options alone do not need are imported where
an index is made, because ``softcosine --help`` imports this one.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, TypedDict

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

_Count = Annotated[int, Meta(ge=0)]
_Limit = _Count | Annotated[float, Meta(ge=0, le=1)]
_Weight = Annotated[float, Meta(ge=0, le=1e6)]
_Weights = Annotated[dict[str, _Weight], Meta(max_length=100)]


def _is(text: str) -> Meta:
    return Meta(description=text)


class IndexRequest(Request, frozen=True, kw_only=True):
    """How an index is made, as JSON and a command line can say it."""

    similarity: Annotated[Any, _is("Recipe of the similarities of words.")] = None
    plain: Annotated[bool, _is("Rank by equal words alone: ordinary BM25.")] = False
    max_neighbors: Annotated[
        _Count | None, _is("Maximum number of similar words per word [100; 10 from texts alone].")
    ] = None
    language: Annotated[
        str, _is("Language of the texts: german, english+german, ...; none, or auto to detect it.")
    ] = "auto"
    ranking: Annotated[
        str | None, _is("Default ranking [soft_tf_bm25], or soft_bm25, soft_cosine, ...")
    ] = None
    fields: Annotated[Any, _is("Text fields with scores of their own, by weight.")] = None
    min_df: Annotated[_Limit, _is("Drop words in fewer documents: a number, or a share.")] = 1
    max_df: Annotated[_Limit, _is("Drop words in more documents: a number, or a share.")] = 1.0
    positions: Annotated[
        bool | None, _is("Store positions, so that phrases are found without stored texts.")
    ] = None
    keep_texts: Annotated[bool, _is("Store the texts.")] = True
    encoder: Annotated[
        Any, _is("Encoder that reads the documents: auto, minilm, static, none, a folder.")
    ] = "auto"
    meaning: Annotated[_Weight | _Weights | None, _is("Weight of meaning, 0 for none.")] = None
    note: Annotated[str, _is("Where the similarities come from, for people.")] = ""


class IndexOptions(IndexRequest, frozen=True, kw_only=True):
    """The options of `SoftIndex.create`, checked, with one form of each.

    Afterwards `similarity` is a recipe, whatever was given; `language` is None until documents
    decide it, and `encoder` None, ``"auto"`` if the first documents choose it, ``"static"`` or a
    model; `fields`, `weighting`, `ranking` and `positions` are those of the index.

    Raises
    ------
    InvalidInputError
    """

    source: Annotated[Any, _is("A source of similarities, without a recipe.")] = None
    S: Annotated[Any, _is("A ready matrix, without a recipe.")] = None
    analyzer: Annotated[Any, _is("In place of that of the language.")] = None
    weighting: Annotated[Any, _is("Term weights, and k1 and b of BM25.")] = None
    encoder_cache: Annotated[
        Any, _is("File of encoded texts, so that no text is encoded twice; may be new.")
    ] = None
    meaning_space: Annotated[
        Any, _is("Query table of the encoder, by 'admin teach', or components to keep.")
    ] = None

    def __post_init__(self) -> None:
        from softcosine.index import defaults
        from softcosine.index.language import check_language
        from softcosine.index.rankings import check_ranking
        from softcosine.matrix.term_similarity_matrix import checked_similarity
        from softcosine.space.meaning import STATIC
        from softcosine.text.analyzer import Analyzer
        from softcosine.text.weighting import checked_weighting

        recipe, fields = self._recipe(), defaults.checked_fields(self.fields)
        S = None if self.S is None else checked_similarity(self.S)
        plain, ranking = S is None and recipe.plain, check_ranking(self.ranking or defaults.RANKING)
        language, analyzer = check_language(self.language, self.analyzer), self.analyzer
        if analyzer is None and language != "auto":
            analyzer = Analyzer.for_language(language)
        encoder = None if self.encoder == "none" else self.encoder
        automatic = encoder in (defaults.ENCODER, STATIC) and self.meaning_space is None
        decided = not automatic or self.meaning == 0 or language == "none"
        if encoder == defaults.ENCODER and decided:
            encoder = STATIC
        by_words = plain or S is not None or not defaults.AUTOMATIC_WEIGHTS.get(ranking)
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
            "weighting": checked_weighting(
                defaults.WEIGHTING if self.weighting is None else self.weighting
            ),
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

        shared = set(IndexSettings.__slots__).intersection(self.__struct_fields__)
        given = {name: getattr(self, name) for name in shared}
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
