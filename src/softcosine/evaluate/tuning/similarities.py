"""Term similarity matrices by settings, with shared sources and neighbour lists."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from softcosine._progress import silent
from softcosine.evaluate.tuning.remembered import Remembered
from softcosine.evaluate.tuning.settings import Settings
from softcosine.matrix.recipe import SimilarityRecipe
from softcosine.matrix.term_similarity_matrix import TermSimilarityMatrix
from softcosine.similarity.combine.by_name import join_by
from softcosine.similarity.cooccurrence.cooccurrence import CooccurrenceSimilarity
from softcosine.similarity.embeddings.embedding import EmbeddingSimilarity
from softcosine.similarity.embeddings.encoder import EncoderSimilarity
from softcosine.similarity.in_terms import TermKeys, in_terms
from softcosine.similarity.overrides.guard import Guarded, guarded
from softcosine.similarity.registry import SourceSettings, kind_named, source_named
from softcosine.similarity.source import (
    SourceState,
    TermSimilaritySource,
    source_from_state,
    state_of,
    usual_neighbors,
)

if TYPE_CHECKING:
    from softcosine._progress import Report
    from softcosine.text.analyzer import Analyzer
    from softcosine.text.corpus import AnalyzedTexts

__all__ = [
    "Similarities",
    "Similarity",
    "Sources",
    "analyzer_with_phrases",
    "check_names",
    "compares_vectors",
    "few_neighbors",
    "of_cosines",
    "recipe_of",
    "resettled",
]

_KEPT_NUMBERS = 1 << 24  # cached entries of S and of neighbour lists


# Ready sources by a name of the caller; None for a source to make by its name.
Sources = Mapping[str, "TermSimilaritySource | None"]


def compares_vectors(source: TermSimilaritySource) -> bool:
    """Whether a ready source compares vectors."""
    return isinstance(source, EmbeddingSimilarity | CooccurrenceSimilarity | EncoderSimilarity)


def check_names(names: Iterable[str], sources: Sources) -> None:
    """Raise an error for unknown names of sources, before anything is read.

    Raises
    ------
    InvalidInputError, FileNotFoundError
    """
    for name in names:
        if sources.get(name) is None:
            kind_named(name)


def analyzer_with_phrases(settings: Settings, sources: Sources) -> Analyzer:
    """Return the analyzer of settings, with the phrases of synonym lists as terms.

    Raises
    ------
    InvalidInputError, FileNotFoundError, MalformedFileError
        If a source is unknown or cannot be read.
    """
    return settings.analyzer.with_phrases(recipe_of(settings, sources).phrases())


def recipe_of(settings: Settings, sources: Sources) -> SimilarityRecipe:
    """Return the recipe of settings, with ready sources instead of their names.

    Raises
    ------
    InvalidInputError, FileNotFoundError
        If a source is unknown.
    """
    cosines = {"exponent": settings.exponent, "threshold": settings.threshold}
    given = [
        name if sources.get(name) is None else resettled(sources[name], **cosines)  # type: ignore[arg-type]
        for name in settings.sources
    ]
    named = [one for one in given if isinstance(one, str)]
    return SimilarityRecipe(
        sources=given, combine=settings.join, max_neighbors=settings.max_neighbors,
        scaling=settings.scaling,  # type: ignore[arg-type]
        **(cosines if any(kind_named(name).of_cosines for name in named) else {}),  # type: ignore[arg-type]
    )  # fmt: skip


def of_cosines(name: str, sources: Sources) -> bool:
    """Whether a source uses an exponent and a threshold."""
    given = sources.get(name)
    return kind_named(name).of_cosines if given is None else compares_vectors(given)


def few_neighbors(name: str, sources: Sources) -> bool:
    """Whether a source is only good for few neighbours, such as co-occurrence in the texts."""
    given = sources.get(name)
    if given is None:
        return kind_named(name).learned
    return usual_neighbors(given) < usual_neighbors(object())  # type: ignore[arg-type]


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
    """Builder of S by settings over one vocabulary, with caches shared by the settings.

    Sources are read or learned once. The neighbours of all terms are computed once per join,
    exponent and threshold, with the largest limit; shorter lists are cut from these. The caches
    change no bit of S.

    Parameters
    ----------
    texts : AnalyzedTexts
        Texts with the vocabulary of S.
    sources : mapping of str to TermSimilaritySource or None
        Ready sources; None for a source to make by its name (`softcosine.similarity.registry`).
    longest : int
        Maximum number of neighbours over all settings.
    report : callable, optional
        Called with the step, the number done, and the total or None.
    outside : iterable of str
        Words of queries outside the vocabulary.
    ready : dict of str to TermSimilaritySource, optional
        Receives the sources that do not learn from texts, for use with other texts.
    """

    def __init__(
        self,
        texts: AnalyzedTexts,
        sources: Sources,
        *,
        longest: int,
        report: Report | None = None,
        outside: Iterable[str] = (),
        ready: dict[str, TermSimilaritySource] | None = None,
    ) -> None:
        self._texts = texts
        self._vocabulary = texts.vocabulary
        self._sources = sources
        self._longest = longest
        self._report = report or silent
        self._outside = tuple(outside)
        self._taught: dict[str, TermSimilaritySource] = {}
        self._ready = {} if ready is None else ready
        self._largest = max(1, len(texts.vocabulary) * longest)
        self._remembered: OrderedDict[str, Remembered] = OrderedDict()
        self._matrices: OrderedDict[str, Similarity] = OrderedDict()

    def leaf(self, name: str) -> TermSimilaritySource:
        """Return a source by name, with its own exponent and threshold.

        Raises
        ------
        InvalidInputError, FileNotFoundError, MalformedFileError
            If the source is unknown or cannot be read.
        """
        given = self._sources.get(name)
        if given is not None:
            return given
        made = self._taught if kind_named(name).learned else self._ready
        if name not in made:
            plain = SourceSettings(None, None, texts=self._texts, words=None, report=self._report)
            made[name] = source_named(name, plain)
        return made[name]

    def of(self, settings: Settings) -> Similarity:
        """Return S by settings, and the source for words outside the vocabulary."""
        key = _key(settings, "sources", "join", "exponent", "threshold", "max_neighbors", "scaling")
        if key not in self._matrices:
            _make_room(self._matrices, max(1, _KEPT_NUMBERS // self._largest))
            self._matrices[key] = self._made(settings, key)
        self._matrices.move_to_end(key)
        return self._matrices[key]

    def _made(self, settings: Settings, name: str) -> Similarity:
        if not settings.sources:
            return Similarity(name, TermSimilarityMatrix.identity(self._vocabulary), None)
        key = _key(settings, "sources", "join", "exponent", "threshold")
        if key not in self._remembered:
            _make_room(self._remembered, max(1, _KEPT_NUMBERS // self._largest))
            joined = self.source(settings)
            self._remembered[key] = Remembered(joined, limit=self._longest, words=self._outside)
        self._remembered.move_to_end(key)
        remembered = self._remembered[key]
        rules = recipe_of(settings, self._sources).rules
        S = TermSimilarityMatrix.from_source(
            remembered, self._vocabulary, guard=False, warn=False, **rules
        )
        return Similarity(name, S, remembered)

    def source(self, settings: Settings) -> TermSimilaritySource:
        """Return the combined and guarded sources of settings, in the terms of the texts."""
        leaves = [
            resettled(self.leaf(name), exponent=settings.exponent, threshold=settings.threshold)
            for name in settings.sources
        ]
        joined = leaves[0] if len(leaves) == 1 else join_by(settings.join)(*leaves)
        return in_terms(guarded(joined), TermKeys(settings.analyzer))


@dataclass(frozen=True, slots=True)
class Similarity:
    """S, the source for words outside it, and a unique key."""

    key: str
    S: TermSimilarityMatrix
    source: TermSimilaritySource | None


def _key(settings: Settings, *names: str) -> str:
    return repr([getattr(settings, name) for name in names])


def _make_room(kept: OrderedDict[str, Any], most: int) -> None:
    """Remove the least recently used entries of a cache."""
    while len(kept) >= most:
        kept.popitem(last=False)
