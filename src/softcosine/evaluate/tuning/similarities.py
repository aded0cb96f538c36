"""Term similarity matrices by recipes, with shared sources and neighbour lists."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from softcosine._progress import silent
from softcosine.evaluate.tuning.remembered import Remembered
from softcosine.matrix.recipe import BuiltSimilarity, SimilarityRecipe
from softcosine.matrix.term_similarity_matrix import TermSimilarityMatrix
from softcosine.similarity.combine.by_name import join_by
from softcosine.similarity.cooccurrence.cooccurrence import CooccurrenceSimilarity
from softcosine.similarity.embeddings.embedding import EmbeddingSimilarity
from softcosine.similarity.embeddings.encoder import EncoderSimilarity
from softcosine.similarity.overrides.guard import Guarded
from softcosine.similarity.registry import SourceSettings, kind_named, source_named
from softcosine.similarity.source import (
    SourceState,
    TermSimilaritySource,
    source_from_state,
    state_of,
)

if TYPE_CHECKING:
    from softcosine._progress import Report
    from softcosine.index.language import AnalyzedInLanguage

_KEPT_NUMBERS = 1 << 24  # cached entries of S and of neighbour lists


def resettled(
    source: TermSimilaritySource, *, exponent: float, threshold: float
) -> TermSimilaritySource:
    """Return a source of vectors with another exponent and threshold; other sources unchanged.

    The new source shares the vectors.
    """
    if isinstance(source, EmbeddingSimilarity | EncoderSimilarity):
        return EmbeddingSimilarity.of_table(source.table, exponent=exponent, threshold=threshold)
    if isinstance(source, Guarded):  # co-occurrence, with a guard for word pieces
        return source.over(resettled(source.source, exponent=exponent, threshold=threshold))
    if isinstance(source, CooccurrenceSimilarity):
        state = state_of(source)
        settings = {**state.settings, "exponent": exponent, "threshold": threshold}
        return source_from_state(SourceState(state.kind, settings, state.arrays, state.parts))
    return source


class Similarities:
    """Builder of S by recipes over one vocabulary, with caches shared by the recipes.

    Sources are read or learned once. The neighbours of all terms are computed once per join,
    exponent and threshold, with the largest limit; shorter lists are cut from these. The caches
    change no bit of S.

    Parameters
    ----------
    words : AnalyzedInLanguage
        Texts with the vocabulary of S.
    longest : int
        Maximum number of neighbours over all recipes.
    report : callable, optional
        Called with the step, the number done, and the total or None.
    outside : iterable of str
        Words of queries outside the vocabulary.
    ready : dict of str to TermSimilaritySource, optional
        Receives the sources that do not learn from texts, for use with other texts.
    """

    def __init__(
        self,
        words: AnalyzedInLanguage,
        *,
        longest: int,
        report: Report | None = None,
        outside: Iterable[str] = (),
        ready: dict[str, TermSimilaritySource] | None = None,
    ) -> None:
        self._words = words
        self._vocabulary = words.texts.vocabulary
        self._longest = longest
        self._report = report or silent
        self._outside = tuple(outside)
        self._taught: dict[str, TermSimilaritySource] = {}
        self._ready = {} if ready is None else ready
        self._largest = max(1, len(self._vocabulary) * longest)
        self._remembered: OrderedDict[SimilarityRecipe, Remembered] = OrderedDict()
        self._matrices: OrderedDict[SimilarityRecipe, BuiltSimilarity] = OrderedDict()

    def leaf(self, name: str) -> TermSimilaritySource:
        """Return a source by name, with its own exponent and threshold.

        Raises
        ------
        InvalidInputError, FileNotFoundError, MalformedFileError
            If the source is unknown or cannot be read.
        """
        made = self._taught if kind_named(name).learned else self._ready
        if name not in made:
            plain = SourceSettings(
                None, None, texts=self._words.texts, words=None, report=self._report
            )
            made[name] = source_named(name, plain)
        return made[name]

    def of(self, recipe: SimilarityRecipe) -> BuiltSimilarity:
        """Return S by a recipe that names its sources, and their source for other words."""
        if recipe not in self._matrices:
            _make_room(self._matrices, max(1, _KEPT_NUMBERS // self._largest))
            self._matrices[recipe] = self._made(recipe)
        self._matrices.move_to_end(recipe)
        return self._matrices[recipe]

    def _made(self, recipe: SimilarityRecipe) -> BuiltSimilarity:
        if recipe.plain:
            return recipe.build(self._vocabulary)
        lists = recipe.changed(max_neighbors=None, scaling="auto")
        if lists not in self._remembered:
            _make_room(self._remembered, max(1, _KEPT_NUMBERS // self._largest))
            joined = self.source(recipe)
            self._remembered[lists] = Remembered(joined, limit=self._longest, words=self._outside)
        self._remembered.move_to_end(lists)
        remembered = self._remembered[lists]
        S = TermSimilarityMatrix.from_source(
            remembered, self._vocabulary, guard=False, warn=False, **recipe.rules
        )
        return BuiltSimilarity(S, remembered, "")

    def source(self, recipe: SimilarityRecipe) -> TermSimilaritySource:
        """Return the combined and guarded sources of a recipe, in the terms of the texts."""
        exponent, threshold, leaves = recipe.exponent, recipe.threshold, []
        for one in recipe.sources or ():
            leaf = self.leaf(one) if isinstance(one, str) else one
            if isinstance(one, str) and exponent is not None and threshold is not None:
                leaf = resettled(leaf, exponent=exponent, threshold=threshold)
            leaves.append(leaf)
        joined = leaves[0] if len(leaves) == 1 else join_by(recipe.combine)(*leaves)
        return recipe.finished(
            joined, vocabulary=self._vocabulary, analyzer=self._words.analyzer,
            language=self._words.language,
        )  # fmt: skip


def _make_room(kept: OrderedDict[Any, Any], most: int) -> None:
    """Remove the least recently used entries of a cache."""
    while len(kept) >= most:
        kept.popitem(last=False)
