"""Term similarity matrices by recipes, with shared sources and neighbour lists."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from softcosine._progress import silent
from softcosine._ragged import running_sum
from softcosine.matrix.recipe import BuiltSimilarity, SimilarityRecipe
from softcosine.matrix.term_similarity_matrix import TermSimilarityMatrix
from softcosine.similarity.composite import SourceOfOne
from softcosine.similarity.cooccurrence.cooccurrence import CooccurrenceSimilarity
from softcosine.similarity.embeddings.embedding import EmbeddingSimilarity
from softcosine.similarity.embeddings.encoder import EncoderSimilarity
from softcosine.similarity.overrides.guard import Guarded
from softcosine.similarity.registry import SourceSettings, join_by, kind_named, source_named
from softcosine.similarity.source import Neighbors, TermSimilaritySource

if TYPE_CHECKING:
    from softcosine._progress import Report
    from softcosine.index.language import AnalyzedInLanguage


_MOST_QUESTIONS = 2_000  # cached arrays of pair similarities, some hundred numbers each


class Remembered(SourceOfOne):
    """Source that caches the neighbour lists of another source.

    Neighbours follow one total order, so a shorter list is the beginning of a longer one; and the
    results for several words have the same bits as for each word alone. Other calls go to the
    source.

    Parameters
    ----------
    source : TermSimilaritySource
    limit : int
        Length of the cached lists; longer lists are computed again.
    words : iterable of str
        Words outside the terms, such as those of queries, whose lists are computed in one batch.
    """

    kind = "remembered"
    __slots__ = ("_among", "_limit", "_lists", "_numbers", "_pairs", "_singles", "_words")

    def __init__(
        self, source: TermSimilaritySource, *, limit: int, words: Iterable[str] = ()
    ) -> None:
        super().__init__(source)
        self._limit = limit
        self._words = tuple(dict.fromkeys(words))
        self._numbers = {word: number for number, word in enumerate(self._words)}
        self._among: tuple[str, ...] = ()
        self._lists: Neighbors | None = None
        self._singles: Neighbors | None = None
        self._pairs: dict[tuple[tuple[str, ...], tuple[str, ...]], NDArray[np.float32]] = {}

    def _settings(self) -> dict[str, Any]:
        return {"limit": self._limit, "words": self._words}

    def neighbors(
        self, terms: Sequence[str], among: Sequence[str], *, max_neighbors: int
    ) -> Neighbors:
        """Return the most similar strings of `among` of every term."""
        if not isinstance(among, tuple) or max_neighbors > self._limit:
            return self.source.neighbors(terms, among, max_neighbors=max_neighbors)
        if terms is among:
            return _shortened(self._whole(among), max_neighbors)
        if among == self._among:
            among = self._among  # sources cache by the identity of the tuple
            if all(term in self._numbers for term in terms):
                rows = np.array([self._numbers[term] for term in terms], np.int64)
                return _taken(self._outside(among), rows, max_neighbors)
        return self.source.neighbors(terms, among, max_neighbors=max_neighbors)

    def similarities(self, left: Sequence[str], right: Sequence[str]) -> NDArray[np.float32]:
        """Return the similarities of the pairs ``(left[i], right[i])``, shape (n_pairs,)."""
        question = tuple(left), tuple(right)
        answer = self._pairs.get(question)
        if answer is None:
            if len(self._pairs) >= _MOST_QUESTIONS:
                self._pairs.clear()
            answer = self._pairs[question] = self.source.similarities(left, right)
        return answer

    def _whole(self, among: tuple[str, ...]) -> Neighbors:
        """Return the neighbour lists of all terms."""
        if self._lists is None or self._among != among:
            self._lists = self.source.neighbors(among, among, max_neighbors=self._limit)
            self._among, self._singles = among, None
        return self._lists

    def _outside(self, among: tuple[str, ...]) -> Neighbors:
        """Return the neighbour lists of `words`."""
        if self._singles is None:
            self._singles = self.source.neighbors(self._words, among, max_neighbors=self._limit)
        return self._singles


def _shortened(lists: Neighbors, limit: int) -> Neighbors:
    return lists.where(np.ones(len(lists.indices), np.bool_), max_neighbors=limit)


def _taken(lists: Neighbors, rows: NDArray[np.int64], limit: int) -> Neighbors:
    """Return the first `limit` neighbours of each list."""
    starts = lists.indptr[rows]
    lengths = np.minimum(lists.indptr[rows + 1] - starts, limit)
    indptr = running_sum(lengths)
    places = np.repeat(starts - indptr[:-1], lengths) + np.arange(indptr[-1])
    return Neighbors(indptr, lists.indices[places], lists.similarities[places])


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
        return source.of_table(source.table, exponent=exponent, threshold=threshold)
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
            settings = SourceSettings(texts=self._words.texts, report=self._report)
            made[name] = source_named(name, settings)
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
        joined = leaves[0] if len(leaves) == 1 else join_by(recipe.combine, leaves)
        settings = SourceSettings(texts=self._words.texts)
        joined, _ = recipe.before_default(joined, settings, self._words.language)
        return recipe.finished(
            joined, vocabulary=self._vocabulary, analyzer=self._words.analyzer,
            language=self._words.language,
        )  # fmt: skip


def _make_room(kept: OrderedDict[Any, Any], most: int) -> None:
    """Remove the least recently used entries of a cache."""
    while len(kept) >= most:
        kept.popitem(last=False)
