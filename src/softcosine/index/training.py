"""S of an index that its first documents decide: what it is made of, and how by default."""

from __future__ import annotations

import logging
from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol

from softcosine.index.defaults import default_source
from softcosine.matrix.term_similarity_matrix import TermSimilarityMatrix
from softcosine.sources.progress import Report
from softcosine.sources.source import TermSimilaritySource
from softcosine.text.analyzer import Analyzer
from softcosine.text.corpus import AnalyzedTexts
from softcosine.text.stream import TextStream
from softcosine.text.vocabulary import Vocabulary

__all__ = ["DefaultTrainer", "FirstDocuments", "Trained", "Trainer"]

_logger = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class FirstDocuments:
    """The documents of an index's first commit.

    Attributes
    ----------
    texts : AnalyzedTexts or TextStream
        The texts of all fields.
    vocabulary : Vocabulary
        The index's terms, with document frequencies.
    analyzer : Analyzer
    language : str or None
        ``"none"`` where it was not recognised.
    max_neighbors : int or None
        Most neighbours of a term in S; None for the usual number.
    report : callable
        Called with (what is being done, how far, out of how many or None).
    """

    texts: AnalyzedTexts | TextStream
    vocabulary: Vocabulary
    analyzer: Analyzer
    language: str | None
    max_neighbors: int | None
    report: Report

    def progress(self, what: str) -> Callable[[int, int], None]:
        """Return a callback for a step of that name."""
        return lambda done, total: self.report(what, done, total)


@dataclass(frozen=True, slots=True)
class Trained:
    """The similarities of an index.

    Attributes
    ----------
    S : TermSimilarityMatrix
        Over the vocabulary.
    source : TermSimilaritySource or None
        Asked about terms to come.
    note : str
        Where they come from.
    """

    S: TermSimilarityMatrix
    source: TermSimilaritySource | None
    note: str


class Trainer(Protocol):
    """Makes the similarities of an index at its first commit."""

    @property
    def phrases(self) -> tuple[str, ...]:
        """Phrases that become terms."""
        ...

    def train(self, documents: FirstDocuments) -> Trained:
        """Make the similarities."""
        ...


class DefaultTrainer:
    """Takes the English table, if the texts are English, joined with what the texts teach."""

    phrases: tuple[str, ...] = ()

    def train(self, documents: FirstDocuments) -> Trained:
        """Make the similarities; see `default_source`."""
        documents.report("learning from the texts", 0, None)
        chosen = default_source(
            documents.texts,
            vocabulary=documents.vocabulary,
            language=documents.language,
            progress=documents.progress("learning from the texts"),
        )
        _logger.info(chosen.note)
        documents.report("finding similar terms", 0, None)
        S = TermSimilarityMatrix.from_source(
            chosen.source, documents.vocabulary, max_neighbors=documents.max_neighbors,
            definite=True, warn=False, progress=documents.progress("finding similar terms"),
        )  # fmt: skip
        return Trained(S, chosen.source, chosen.note)
