"""Settings of term similarity: sources, their combination, and the construction of S."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from softcosine.errors import InvalidInputError
from softcosine.evaluate.systems.analysis import TextSettings
from softcosine.evaluate.systems.settings import (
    choice,
    flag,
    number,
    optional,
    setting,
    several,
    whole,
)
from softcosine.matrix.recipe import BuiltSimilarity, Scaling, SimilarityRecipe
from softcosine.similarity.registry import JOINS
from softcosine.similarity.source import TermSimilaritySource
from softcosine.text.analyzer import Analyzer
from softcosine.text.corpus import AnalyzedTexts
from softcosine.text.vocabulary import Vocabulary

MakeSource = Callable[[AnalyzedTexts], TermSimilaritySource]


@dataclass(frozen=True, kw_only=True)
class SimilaritySettings(TextSettings):
    """Settings of every system with term similarities.

    Parameters
    ----------
    sources : tuple of str or None
        Names, files, or ``KIND:PLACE``, as for ``softcosine index --source``; None for the
        default of `SoftIndex`: the English table, or the spelling of words.
    join : str
        Method to combine several sources.
    threshold, exponent : float or None
        Minimum and exponent of cosines of vectors; None for the default of each source.
    max_neighbors : int or None
    min_similarity : float
    strategy, order : str
    balanced, definite : bool or None
        See `TermSimilarityMatrix.from_source`; default: as `SoftIndex.from_texts`.
    guard : bool
        Whether to drop similarities of antonyms and of terms with digits.
    plain : bool
        True for S = I.
    source : TermSimilaritySource, or callable from AnalyzedTexts to a source, optional
        Source instead of `sources`; not possible in a spec. The callable gets documents and
        background.
    **settings
        See `TextSettings`.
    """

    sources: tuple[str, ...] | None = setting(
        None, optional(several, none="default"), "sources of term similarity"
    )
    join: str = setting("strongest", choice(*JOINS), "method to combine several sources")
    threshold: float | None = setting(
        None, optional(number(0.0, 1.0), none="default"), "minimum cosine of vectors"
    )
    exponent: float | None = setting(
        None, optional(number(0.01), none="default"), "exponent of the cosines of vectors"
    )
    max_neighbors: int | None = setting(
        None, optional(whole(0), none="default"), "maximum number of similar terms per term"
    )
    min_similarity: float = setting(0.0, number(0.0, 1.0), "minimum similarity in S")
    strategy: str = setting(
        "symmetric", choice("symmetric", "dominant", "rows"), "how S is made sparse"
    )
    order: str = setting(
        "rare_first",
        choice("rare_first", "frequent_first", "idf", "vocabulary"),
        "terms whose neighbours are added first",
    )
    balanced: bool | None = setting(
        None, optional(flag, none="auto"), "divides by the square roots of the terms' sums"
    )
    definite: bool | None = setting(
        None, optional(flag, none="auto"), "scales similarities until S is definite"
    )
    guard: bool = setting(True, flag, "drops similarities of antonyms and terms with digits")
    plain: bool = setting(False, flag, "uses S = I")
    source: TermSimilaritySource | MakeSource | None = None

    def __post_init__(self) -> None:
        TextSettings.__post_init__(self)
        if sum([self.plain, self.sources is not None, self.source is not None]) > 1:
            raise InvalidInputError(
                f"source, sources and plain of {self.called!r} exclude each other; give at most "
                "one of them."
            )
        if self.source is not None and (self.threshold, self.exponent) != (None, None):
            raise InvalidInputError(
                f"threshold and exponent of {self.called!r} are of sources that are named; give "
                "the source its own."
            )
        try:
            self._recipe()
        except InvalidInputError as error:
            raise InvalidInputError(f"{self.called}: {error}") from error

    def _recipe(self, given: TermSimilaritySource | None = None) -> SimilarityRecipe:
        """Return the recipe of the settings; `given` replaces the named sources."""
        scaling: Scaling = "auto"
        if (self.balanced, self.definite) != (None, None):
            scaling = "definite" if self.definite else "balanced" if self.balanced else "none"
        sources: Any = self.sources
        if self.plain:
            sources = ()
        elif given is not None:
            sources = (given,)
        return SimilarityRecipe(
            sources=sources, combine=self.join,
            threshold=self.threshold, exponent=self.exponent, guard=self.guard,
            max_neighbors=self.max_neighbors, min_similarity=self.min_similarity,
            strategy=self.strategy, order=self.order,  # type: ignore[arg-type]
            scaling=scaling,
        )  # fmt: skip

    def _phrases(self) -> tuple[str, ...]:
        given: Any = self.source
        return self._recipe(given if hasattr(given, "neighbors") else None).phrases()

    def similarities(
        self,
        analyzed: AnalyzedTexts,
        analyzer: Analyzer,
        vocabulary: Vocabulary,
        *,
        language: str,
    ) -> BuiltSimilarity:
        """Return S over a vocabulary; reads or learns its sources."""
        given: Any = self.source
        if given is not None and not hasattr(given, "neighbors"):
            given = given(analyzed)
        recipe = self._recipe(given)
        return recipe.build(vocabulary, analyzed, analyzer=analyzer, language=language)
