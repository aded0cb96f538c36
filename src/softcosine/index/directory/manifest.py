"""The manifest of an index: its segments, their parts, and its settings."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import TYPE_CHECKING, Annotated, Any, Self, TypeVar, get_type_hints

from msgspec import Meta, convert, defstruct
from msgspec.structs import asdict as values_of

from softcosine.errors import CorruptIndexError
from softcosine.index.defaults import Field
from softcosine.index.rankings import check_ranking, checked_weights
from softcosine.index.segment.segment import MAX_DOCS
from softcosine.text.analyzer import Analyzer
from softcosine.text.weighting import Weighting

if TYPE_CHECKING:
    from softcosine.matrix.recipe import SimilarityRecipe


_COUNTED = 2**53  # float64 is exact up to here
# Exceptions that a manifest with unexpected contents can raise.
UNFORESEEN = (
    LookupError, TypeError, ValueError, AttributeError, ArithmeticError, RecursionError
)  # fmt: skip

# Settings that manifests of earlier versions lack.
_LATER: dict[str, Any] = {"mean_cosine": None, "records": {}, "undecided": False}
_OPTIONAL = ("deleted", "norms", "updates", "coordinates")  # parts that a segment may lack
_T = TypeVar("_T")
# A number of documents, or a share of them.
DfLimit = Annotated[int, Meta(ge=0)] | Annotated[float, Meta(ge=0, le=1)]


@dataclass(frozen=True, slots=True)
class SegmentSettings:
    """The manifest entry of a segment: names of its parts, None for missing ones."""

    part: str
    n_docs: Annotated[int, Meta(ge=0, le=MAX_DOCS)]
    deleted: str | None = None
    norms: str | None = None
    updates: str | None = None
    coordinates: str | None = None

    @property
    def parts(self) -> dict[str, str]:
        """Kind of each existing part, by name."""
        kinds = {getattr(self, kind): kind for kind in _OPTIONAL}
        kinds.pop(None, None)
        return {self.part: "segment", **kinds}


@dataclass(frozen=True, slots=True)
class IndexSettings:
    """The settings in the manifest of an index.

    Attributes
    ----------
    segments : tuple of SegmentSettings
    space, statistics : str or None
        Part names; None in an index that never had a document.
    fields : tuple of Field
    analyzer : Analyzer or None
        None until the first documents determine it.
    weighting : Weighting
    ranking, note : str
    positions : bool
        Whether token positions are stored, for phrases.
    texts : bool
        Whether texts are stored.
    plain : bool
        Whether S = I; new terms are then similar only to themselves.
    language : str or None
        Of the texts, several with ``+`` between; ``"none"`` if no language applies, None until the
        first documents determine it.
    min_df, max_df : int or float
        Terms of the next commit with words that are in fewer, or in more, of its documents are left
        out; 1 and 1.0 after it.
    recipe : SimilarityRecipe or None
        How the first commit makes S; None where there is S already, or it has to be given.
    awaited : tuple of str
        Sources of a recipe that has to be given again, since they are files, models or objects:
        what reads an index of others does not read files that it names.
    frozen : bool
        Whether commits keep the epoch: no new statistics, no new terms.
    numbered : bool
        Whether every document has a number in the order of insertion into all shards.
    meaning : str or None
        Part name of the space that documents have coordinates in; None if they have none.
    meaning_weights : dict of str to float
        Weight of meaning in the scores of each ranking; rankings that are missing have 0.
    mean_cosine : float or None
        Between documents, from which meaning counts (`softcosine.space.chance`); None for cosines
        as they are, as without an encoder and in indexes of earlier versions.
    records : dict of str to object
        Fields of the records that the first documents were made of, for later ones: ``id``, a name,
        and ``text``, names, or None for the default. Empty if they were not read from files, and in
        indexes of earlier versions.
    undecided : bool
        Whether the first documents decide what reads them; the weights are those given.
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
    min_df: DfLimit = 1
    max_df: DfLimit = 1.0
    recipe: SimilarityRecipe | None = None
    awaited: tuple[str, ...] = ()
    frozen: bool = False
    numbered: bool = False
    meaning: str | None = None
    meaning_weights: Mapping[str, float] = field(default_factory=dict)
    mean_cosine: Annotated[float, Meta(ge=0, le=0.9)] | None = None
    records: Mapping[str, Any] = field(default_factory=dict)
    undecided: bool = False

    @property
    def leaves_terms_out(self) -> bool:
        """Whether terms of the first commit are removed by document frequency."""
        # An integer is a number of documents, so 1 and 1.0 differ.
        least = 0.0 if isinstance(self.min_df, float) else 1
        return self.min_df > least or not (isinstance(self.max_df, float) and self.max_df == 1.0)

    @property
    def has_epoch(self) -> bool:
        """Whether S, statistics and analyzer exist, which is the case from the first words on."""
        return None not in (self.space, self.statistics, self.analyzer)

    @property
    def parts(self) -> tuple[str, ...]:
        """Names of all parts."""
        named = [self.space, self.statistics, self.meaning]
        for segment in self.segments:
            named += segment.parts
        return tuple(name for name in named if name is not None)

    def to_dict(self) -> dict[str, Any]:
        """Return the settings as JSON values.

        A recipe of bundled and learned sources is stored whole, and of other sources the names.
        """
        awaited = self.awaited if self.recipe is None else self.recipe.outside
        recipe: dict[str, Any] | None = {"awaited": list(awaited)} if awaited else None
        if self.recipe is not None and not awaited:
            recipe = self.recipe.to_dict()
        return {
            **{name: getattr(self, name) for name in _Stored.__struct_fields__},
            "segments": [asdict(segment) for segment in self.segments],
            "fields": [asdict(one) for one in self.fields],
            "meaning_weights": dict(self.meaning_weights),
            "analyzer": None if self.analyzer is None else self.analyzer.to_dict(),
            "weighting": self.weighting.to_dict(),
            "recipe": recipe,
        }

    @classmethod
    def from_dict(cls, settings: Mapping[str, Any]) -> Self:
        """Return the settings of `to_dict`; CorruptIndexError if they are invalid."""
        try:
            analyzer, recipe = settings["analyzer"], settings["recipe"]
            waits = recipe is not None and "awaited" in recipe
            read = cls(
                **{
                    **values_of(convert(settings, _Stored)),
                    "analyzer": None if analyzer is None else Analyzer.from_dict(analyzer),
                    "weighting": Weighting.from_dict(settings["weighting"]),
                    "awaited": convert(recipe["awaited"], tuple[str, ...]) if waits else (),
                    "recipe": None if waits or recipe is None else _recipe(recipe),
                }
            )
            check_ranking(read.ranking)
            checked_weights(read.meaning_weights)
        except UNFORESEEN as error:
            raise CorruptIndexError(f"the manifest lacks a part of an index: {error!r}") from error
        names = [one.name for one in read.fields]
        for what, every in (("part", read.parts), ("field", names)):
            if len(set(every)) < len(every):
                twice = next(name for name in every if every.count(name) > 1)
                raise CorruptIndexError(
                    f"the manifest lists the {what} {twice!r} twice; rebuild the index."
                )
        if not names:
            raise CorruptIndexError("the manifest lists no field; rebuild the index.")
        if read.frozen and not read.has_epoch:
            raise CorruptIndexError(
                "the manifest is of a frozen index without S or statistics; rebuild the index."
            )
        return read


_KINDS = get_type_hints(IndexSettings, {**globals(), "SimilarityRecipe": Any}, include_extras=True)
_Stored = defstruct(  # what JSON holds as it is
    "_Stored",
    [
        (name, kind, _LATER[name]) if name in _LATER else (name, kind)
        for name, kind in _KINDS.items()
        if name not in ("analyzer", "weighting", "recipe", "awaited")
    ],
    kw_only=True,
)


def _recipe(stated: Mapping[str, Any]) -> SimilarityRecipe:
    from softcosine.matrix.recipe import SimilarityRecipe  # which an opened index does not need

    # Earlier versions could propose neighbours; now all are compared, and S is exact.
    earlier = {"proposer": None, "calibrate": False}
    return SimilarityRecipe.from_dict({**stated, **earlier}, trusted=False)


def given_in(settings: Mapping[str, Any], name: str, kind: type[_T]) -> _T:
    """Return a setting of a manifest; CorruptIndexError if it has the wrong type."""
    value = settings.get(name) if isinstance(settings, Mapping) else None
    if type(value) is not kind:
        raise CorruptIndexError(
            f"{name} is {value!r:.80} in a manifest, not a {kind.__name__}; rebuild the index."
        )
    return value


def count_in(settings: Mapping[str, Any], name: str, most: int = _COUNTED) -> int:
    """Return a number of a manifest; CorruptIndexError if it is not in [0, most]."""
    value = given_in(settings, name, int)
    if not 0 <= value <= most:
        raise CorruptIndexError(
            f"{name} is {value!r:.80} in a manifest, not from 0 to {most}; rebuild the index."
        )
    return value
