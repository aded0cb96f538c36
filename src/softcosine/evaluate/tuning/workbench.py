"""Rankings of documents by many settings, with shared analysis, postings and coordinates."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from softcosine.evaluate.documents import Documents
from softcosine.evaluate.systems.encoder import sentence_model
from softcosine.evaluate.systems.fitted_soft import FittedSoft, index_of
from softcosine.evaluate.systems.sentence_model import SentenceModel
from softcosine.evaluate.tuning.settings import Settings
from softcosine.evaluate.tuning.similarities import Similarities
from softcosine.index.defaults import STATIC_WEIGHTS
from softcosine.index.language import AnalyzedInLanguage, analyze_in_language
from softcosine.index.soft_index import SoftIndex
from softcosine.matrix.term_similarity_matrix import TermSimilarityMatrix
from softcosine.similarity.source import TermSimilaritySource
from softcosine.space.meaning import STATIC

if TYPE_CHECKING:
    from softcosine._progress import Report
    from softcosine.encoders.encoder import Encoder
    from softcosine.space.meaning import MeaningSpace


class Workbench:
    """Ranks documents by settings, with caches shared by the settings.

    Texts are analysed and postings are built once per language, stemmer, list of stop words and
    set of phrases, as one text and as fields; S, weights and rankings change without a new
    analysis. The encoder reads each text once.

    Parameters
    ----------
    documents : Documents
    background : sequence of str
        More texts for statistics and learning; they are never ranked.
    queries : sequence of str
        Expected queries; other queries are possible, but slower.
    longest : int
        Usual maximum number of neighbours per term; more need a new search in the source.
    encoder : str, or object with ``encode``, optional
        Encoder of the documents, for settings with one other than ``"static"``.
    encoder_cache : path, or "auto", optional
        See `softcosine.evaluate.systems.encoder.Encoder`.
    meaning_space : MeaningSpace or path, optional
        Projection and query table of the encoder.
    report : callable, optional
        Called with the step, the number done, and the total or None.
    threads : int, optional
        The results do not depend on it.
    """

    def __init__(
        self,
        documents: Documents,
        *,
        background: Sequence[str] = (),
        queries: Sequence[str] = (),
        longest: int = 200,
        encoder: str | Encoder | None = None,
        encoder_cache: str | Path | None = "auto",
        meaning_space: MeaningSpace | str | Path | None = None,
        report: Report | None = None,
        threads: int | None = None,
    ) -> None:
        self._documents = documents
        self._background = tuple(background)
        self._queries = tuple(queries)
        self._model = None
        if encoder not in (None, STATIC):
            self._model = sentence_model(encoder, encoder_cache, download=True)
        self._space = meaning_space
        self.longest = longest
        self._report = report
        self._threads = threads
        self._benches: dict[Any, _Bench] = {}
        self._ready: dict[str, TermSimilaritySource] = {}
        self._phrases: dict[Any, tuple[str, ...]] = {}

    @property
    def texts(self) -> list[str]:
        """Texts of the documents, followed by the background."""
        return self._documents.rows(background=self._background)

    def fitted(self, settings: Settings) -> FittedSoft:
        """Return the documents, indexed by settings."""
        by_meaning = settings.encoder is not None
        options = {"ask": settings.ask, "meaning": settings.meaning} if by_meaning else {}
        encoder = self._encoder(settings)
        return FittedSoft(
            self._bench(settings).index(settings), self._documents, options,
            model=encoder if isinstance(encoder, SentenceModel) else None, threads=self._threads,
        )  # fmt: skip

    def _encoder(self, settings: Settings) -> SentenceModel | str | None:
        return settings.encoder if settings.encoder in (None, STATIC) else self._model

    def _bench(self, settings: Settings) -> _Bench:
        sources = settings.similarity.sources
        if sources not in self._phrases:
            self._phrases[sources] = settings.similarity.phrases()
        phrases, names = self._phrases[sources], [name for name, _ in settings.fields or ()]
        rules, encoder = tuple(settings.rules.items()), settings.encoder
        key = settings.language, rules, phrases, tuple(names), encoder
        if key not in self._benches:
            rows = self._documents.rows(names, self._background)
            if self._report is not None:
                self._report("reading texts", 0, None)
            words = analyze_in_language(
                [text for row in rows for text in row.values()] if names else rows,
                settings.language, phrases=phrases, rules=settings.rules,
                n_fields=max(1, len(names)),
            )  # fmt: skip
            self._benches[key] = _Bench(
                words, self._documents, self._background, dict.fromkeys(names, 1.0) or None,
                self._queries, self._ready, self.longest, self._report,
                self._encoder(settings), self._space,
            )  # fmt: skip
        return self._benches[key]


@dataclass
class _Bench:
    """Caches of one analysis of the texts."""

    words: AnalyzedInLanguage
    documents: Documents
    background: Sequence[str]
    fields: Mapping[str, float] | None
    queries: Sequence[str]
    ready: dict[str, TermSimilaritySource]
    longest: int
    report: Report | None
    encoder: SentenceModel | str | None
    space: MeaningSpace | str | Path | None

    @cached_property
    def similarities(self) -> Similarities:
        """Builder of S."""
        parsed = [self.plain.parse(text, keep_stop_words=True) for text in self.queries]
        words = list(dict.fromkeys(word for one in parsed for word in one.unknown))
        # If a source does not have a word, its stem is looked up.
        outside = [*words, *self.words.analyzer.stem(words)]
        texts = self.words.texts.joined(max(1, len(self.fields or ())))  # sources read documents
        return Similarities(
            replace(self.words, texts=texts),
            longest=self.longest,
            report=self.report,
            outside=outside,
            ready=self.ready,
        )

    @cached_property
    def plain(self) -> SoftIndex:
        """Index of the texts with S = I."""
        if self.report is not None:
            self.report("indexing", 0, None)
        return index_of(
            self.documents, self.background, self.fields, analyzer=self.words.analyzer,
            S=TermSimilarityMatrix.identity(self.words.texts.vocabulary),
            language=self.words.language, progress=self.report, encoder=self.encoder,
            meaning_space=None if self.encoder is None else self.space,
            meaning=STATIC_WEIGHTS if self.encoder == STATIC else None,
        )  # fmt: skip

    def index(self, settings: Settings) -> SoftIndex:
        """Return the index with the S, the weights and the ranking of settings."""
        made = self.plain.with_weighting(settings.weighting, ranking=settings.ranking)
        if settings.fields is not None:
            made = made.with_fields(dict(settings.fields))
        if settings.similarity.plain:
            return made
        found = self.similarities.of(settings.similarity)
        return made.with_similarity(found.S, source=found.source)
