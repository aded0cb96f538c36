"""Words and a distilled term space, ranked by `DistilledIndex`."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from softcosine.evaluate.documents import Documents
from softcosine.evaluate.systems.analysis import TextSettings
from softcosine.evaluate.systems.encoder import EncoderSettings
from softcosine.evaluate.systems.fitted import products
from softcosine.evaluate.systems.fitted_soft import FittedSoft
from softcosine.evaluate.systems.rows import best, ranked_lists
from softcosine.evaluate.systems.sentence_model import SentenceModel
from softcosine.evaluate.systems.settings import number, optional, setting, several, text
from softcosine.evaluate.systems.similarities import Similarities
from softcosine.evaluate.systems.system import Ranked
from softcosine.index.distilled.distilled_index import DistilledIndex
from softcosine.index.distilled.soft_words import made_soft
from softcosine.index.search.explanation import Explanation
from softcosine.index.soft_index import SoftIndex
from softcosine.matrix.recipe import SimilarityRecipe
from softcosine.space.distilled_space import DistilledSpace
from softcosine.text.corpus import AnalyzedTexts, analyze, in_vocabulary
from softcosine.text.weighting import Weighting

__all__ = ["Distilled", "FittedDistilled"]


@dataclass(frozen=True, kw_only=True)
class Distilled(EncoderSettings, TextSettings):
    """`DistilledIndex`: BM25 plus a term space learned from an encoder.

    Documents and background are encoded once; queries are not encoded.

    Parameters
    ----------
    share : float
        Weight of the term space relative to BM25.
    penalty, power : float
        See `softcosine.space.distilled_space.DistilledSpace`.
    sources : tuple of str or None
        Sources of term similarity for soft BM25; None for plain BM25.
    k1, b : float
        Parameters of BM25.
    stop_words : str or None
        A language.
    **settings
        See `EncoderSettings` and `TextSettings`.

    Notes
    -----
    Pairs of texts are compared by the soft cosine of the words and that of the term space, with the
    weights of the ranking.
    """

    called = "distilled"
    share: float = setting(0.5, number(0.0), "weight of the term space relative to BM25")
    penalty: float = setting(1.0, number(1e-6), "how close a term is to the mean of its documents")
    power: float = setting(0.5, number(0.0, 1.0), "exponent of the length of term vectors")
    sources: tuple[str, ...] | None = setting(None, optional(several), "sources of term similarity")
    k1: float = setting(1.2, number(0.0), "saturation of the term frequency")
    b: float = setting(0.75, number(0.0, 1.0), "strength of the length normalisation")
    stop_words: str | None = setting(
        "english",
        optional(text("a language, such as english")),
        "language of the stop words to drop",
    )

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.sources is not None:
            SimilarityRecipe(sources=self.sources)

    def fit(self, documents: Documents, *, background: Sequence[str] = ()) -> FittedDistilled:
        """Encode documents and background, learn the term space, and build the index."""
        texts = [*documents.texts, *background]
        found = self.analyzed(texts)
        index = SoftIndex.from_texts(
            texts, plain=True, analyzer=found.analyzer, weighting=Weighting(k1=self.k1, b=self.b),
            ranking="soft_bm25", min_df=self.min_df, max_df=self.max_df,
        )  # fmt: skip
        model = self.sentence_model()
        space = DistilledSpace.fit(
            found.texts, model.vectors(texts), penalty=self.penalty, power=self.power
        )
        told = "Words are similar to themselves alone."
        if self.sources is not None:
            index, told = self._soft(index, found.texts)
        whole = DistilledIndex(index, space, share=self.share)
        similarities = Similarities(index.S, index.source, True, told)
        words = FittedSoft(
            index, documents, similarities, of_fields=False, expand=True, max_terms=None,
            closed=self.leaves_terms_out,
        )  # fmt: skip
        return FittedDistilled(whole, words, documents, model)

    def _soft(self, index: SoftIndex, analyzed: AnalyzedTexts) -> tuple[SoftIndex, str]:
        assert self.sources is not None
        source, _ = SimilarityRecipe(sources=self.sources).joined(analyzed)
        told = f"Similarities of words come from {', '.join(self.sources)}."
        return made_soft(index, source), told


@dataclass(frozen=True, slots=True)
class FittedDistilled:
    """Ranks by words and meaning.

    Attributes
    ----------
    index : DistilledIndex
        Index of the documents, followed by background texts.
    words : FittedSoft
        The same index without the term space.
    documents : Documents
    model : SentenceModel
    """

    index: DistilledIndex
    words: FittedSoft
    documents: Documents
    model: SentenceModel

    @property
    def note(self) -> str:
        """Note on the source of the similarities, and on the encoded texts and their time."""
        return f"{self.words.note} {self.model.note}"

    def ranked(self, queries: Documents, *, k: int) -> Ranked:
        """Return the `k` best documents for each query."""
        numbers = np.arange(len(self.documents))
        lists = (best(numbers, self._scores(text), k=k) for text in queries.texts)
        return ranked_lists(lists, n_queries=len(queries), k=k)

    def scored(
        self, queries: Documents, candidates: Sequence[NDArray[np.int64]]
    ) -> list[NDArray[np.float64]]:
        """Return the scores of given documents, bit-identical to those of `ranked`."""
        pairs = zip(queries.texts, candidates, strict=True)
        return [self._scores(text)[numbers] for text, numbers in pairs]

    def paired(self, left: Sequence[str], right: Sequence[str]) -> NDArray[np.float64]:
        """Return the similarity of each text and its partner by words and term space."""
        words = self.words.paired(left, right)
        if not len(left):
            return words
        meaning = products(self._units(left), self._units(right))
        share = self.index.share
        return (words + share * meaning) / (1.0 + share)

    def explained(self, query: Documents, number: int) -> Explanation:
        """Return the pairs of similar words and their contributions to the score."""
        told = self.index.explain(query.texts[0], str(number))
        return replace(told, id=self.documents.ids[number])

    def _scores(self, text: str) -> NDArray[np.float64]:
        words, meaning = self.index.scored(text)
        return (words + self.index.share * meaning)[: len(self.documents)]

    def _units(self, texts: Sequence[str]) -> NDArray[np.float64]:
        analyzed = analyze(list(texts), self.index.index.analyzer)
        vocabulary = self.index.index.vocabulary
        counts = in_vocabulary(analyzed.counts(), analyzed.vocabulary, vocabulary)
        counts.sort_indices()
        return self.index.space.units(counts)
