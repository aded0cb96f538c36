"""Similarities that ``softcosine index`` is told to make when the documents are known."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from softcosine.cli.sources import (
    SourceSettings,
    finished_source,
    joined_source,
    learn_from_texts,
)
from softcosine.index.defaults import default_source
from softcosine.index.training import FirstDocuments, Trained
from softcosine.matrix.term_similarity_matrix import TermSimilarityMatrix
from softcosine.sources.in_terms import phrases_in
from softcosine.sources.named import phrases_named

if TYPE_CHECKING:
    from softcosine.cli.matrix_index import SavedMatrix
    from softcosine.sources.constraints.decision_list import Decisions
    from softcosine.sources.source import TermSimilaritySource

__all__ = ["MatrixTrainer", "SourceTrainer"]


class SourceTrainer:
    """Asks sources that were named, or the default ones, and a person's decisions before them.

    Sources that do not learn from the texts are read at once, so that a file that cannot be read
    is an error before any document is.
    """

    def __init__(
        self, names: Sequence[str], join: str, decisions: Decisions | None, settings: SourceSettings
    ) -> None:
        self._names = tuple(names)
        self._join = join
        self._decisions = decisions
        self._source: TermSimilaritySource | None = None
        self._note = ""
        if names and not learn_from_texts(names):
            self._source, self._note = joined_source(names, join, settings)
        of_lists = phrases_named(names) if self._source is None else phrases_in(self._source)
        decided = () if decisions is None else decisions.pinned_words()
        self.phrases: tuple[str, ...] = (*of_lists, *decided)

    def train(self, documents: FirstDocuments) -> Trained:
        """Make the similarities."""
        source, note = self._joined(documents)
        source = finished_source(
            source, self._decisions, documents.vocabulary, analyzer=documents.analyzer,
            language=documents.language,
        )  # fmt: skip
        documents.report("finding similar terms", 0, None)
        S = TermSimilarityMatrix.from_source(
            source, documents.vocabulary, max_neighbors=documents.max_neighbors, balanced=True,
            analyzer=documents.analyzer, warn=False,
            progress=documents.progress("finding similar terms"),
        )  # fmt: skip
        return Trained(S, source, f"{note}{self._decided()}")

    def _joined(self, documents: FirstDocuments) -> tuple[TermSimilaritySource, str]:
        if not self._names:
            chosen = default_source(
                documents.texts,
                vocabulary=documents.vocabulary,
                language=documents.language,
                progress=documents.progress("learning from the texts"),
            )
            return chosen.source, chosen.note
        source, said = self._source, self._note
        if source is None:
            settings = SourceSettings(
                None, None, texts=documents.texts, vocabulary=documents.vocabulary, words=None,
                report=documents.report,
            )  # fmt: skip
            source, said = joined_source(self._names, self._join, settings)
        note = f"Similarities come from {', '.join(self._names)}"
        note += f", joined by {self._join}." if len(self._names) > 1 else "."
        return source, f"{note} {said}".rstrip()

    def _decided(self) -> str:
        if self._decisions is None:
            return ""
        n = len(self._decisions)
        told = "One decision of a person comes" if n == 1 else f"{n} decisions of a person come"
        return f" {told} before them."


class MatrixTrainer:
    """Takes a matrix that was built before, and asks its sources about terms that it lacks."""

    phrases: tuple[str, ...] = ()

    def __init__(self, matrix: SavedMatrix) -> None:
        self._matrix = matrix

    def train(self, documents: FirstDocuments) -> Trained:
        """Bring the matrix to the terms of the documents."""
        S, note = self._matrix.over(documents.vocabulary, documents.report)
        return Trained(S, self._matrix.source, note)
