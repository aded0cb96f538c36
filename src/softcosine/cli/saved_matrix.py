"""A saved matrix as the source of the similarities of an index."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from softcosine._progress import Report, silent
from softcosine.cli.completing import stored_kind
from softcosine.errors import InvalidInputError

if TYPE_CHECKING:
    from softcosine.index.soft_index import SoftIndex
    from softcosine.matrix.recipe import BuiltSimilarity
    from softcosine.matrix.term_similarity_matrix import TermSimilarityMatrix
    from softcosine.similarity.source import TermSimilaritySource
    from softcosine.text.analyzer import Analyzer
    from softcosine.text.corpus import AnalyzedTexts
    from softcosine.text.vocabulary import Vocabulary


@dataclass(frozen=True, slots=True)
class SavedMatrix:
    """A matrix on disk or of an index, with its source and analyzer.

    Attributes
    ----------
    path : Path
    S : TermSimilarityMatrix
    source : TermSimilaritySource or None
        Source for words outside S; without it such words have no similar words.
    analyzer : Analyzer or None
        Analyzer of the terms of S; None if unknown.
    """

    path: Path
    S: TermSimilarityMatrix
    source: TermSimilaritySource | None
    analyzer: Analyzer | None

    @classmethod
    def open(cls, path: Path, *, verify: bool = False) -> SavedMatrix:
        """Open a matrix, perhaps with its checksums verified, or the matrix of an index.

        Raises
        ------
        InvalidInputError
            If `path` is a file.
        FileNotFoundError, IndexFormatError, CorruptIndexError
        """
        from softcosine.matrix.term_similarity_matrix import TermSimilarityMatrix
        from softcosine.similarity.in_terms import TermKeys, in_terms
        from softcosine.text.analyzer import Analyzer

        if path.is_file():
            raise InvalidInputError(
                f"{path} is a file, but a matrix is a folder made by 'similarity build'; pass "
                f"lists of synonyms and files of vectors by --source {path}."
            )
        if stored_kind(path) in ("index", "shards"):
            from softcosine.cluster.opening import open_epoch

            index = open_epoch(path)
            return cls(path, index.S, index.source, index.analyzer)
        S = TermSimilarityMatrix.load(path, verify=verify)
        source = TermSimilarityMatrix.load_source(path)
        rules = S.settings.get("analyzer")
        analyzer = None if rules is None else Analyzer.from_dict(rules)
        if source is not None:
            source = in_terms(source, TermKeys(analyzer, vocabulary=S.vocabulary))
        return cls(path, S, source, analyzer)

    def check_stemmer(self, stemmer: str | None, whose: str) -> None:
        """Raise InvalidInputError if the terms have another stemmer than those of an index."""
        if self.analyzer is not None and self.analyzer.stemmer != stemmer:
            raise InvalidInputError(
                f"the words of {whose} are {_stemmed(stemmer)}, and those of {self.path} were "
                f"{_stemmed(self.analyzer.stemmer)}; build the matrix again, for these words."
            )

    def index(self, words: Sequence[str]) -> SoftIndex:
        """Return an index without documents that answers for these words, or terms of words."""
        from softcosine.index.soft_index import SoftIndex
        from softcosine.text.analyzer import Analyzer
        from softcosine.text.words import normalize

        rules = (self.analyzer or Analyzer()).to_dict()
        terms = [word for word in words if normalize(word) in self.S.vocabulary]
        phrases = [*rules.get("phrases", ()), *(word for word in terms if " " in word)]
        analyzer = Analyzer.from_dict({**rules, "phrases": phrases})
        made = SoftIndex.create(S=self.S, analyzer=analyzer)
        return made.with_similarity(self.S, source=self.source)

    def phrases(self) -> tuple[str, ...]:
        """Return an empty tuple: a saved matrix adds no phrases."""
        return ()

    def needs_texts(self) -> bool:
        """Return False: a saved matrix learns nothing from texts."""
        return False

    def build(
        self,
        vocabulary: Vocabulary,
        texts: AnalyzedTexts | None = None,
        *,
        analyzer: Analyzer | None = None,
        language: str | None = None,
        report: Report | None = None,
    ) -> BuiltSimilarity:
        """Return the matrix over a vocabulary, as `SimilarityRecipe.build` does.

        Raises
        ------
        InvalidInputError
            If the matrix has no term of the vocabulary.
        """
        from softcosine.matrix.recipe import BuiltSimilarity
        from softcosine.text.vocabulary import Vocabulary

        known = [term for term in vocabulary if term in self.S.vocabulary]
        n = len(vocabulary)
        if n and not known:
            raise InvalidInputError(
                f"{self.path} has none of the {n} words of the documents; build a matrix for them "
                "by similarity build --vocabulary FILE."
            )
        note = f"Similarities come from {self.path}"
        if len(known) < n:
            note += f", which has {len(known):,} of the {n:,} terms; the others "
            note += "have no similar words" if self.source is None else "come from its sources"
        if len(known) == n or self.source is None:
            return BuiltSimilarity(self.S.restricted(vocabulary), self.source, f"{note}.")
        larger = self.S.restricted(Vocabulary(known)).extend(
            vocabulary, self.source, definite="shrunk" in self.S.settings, guard=False,
            analyzer=self.analyzer, warn=False,
            progress=partial(report or silent, "finding similar terms"),
        )  # fmt: skip
        return BuiltSimilarity(larger, self.source, f"{note}.")


def _stemmed(stemmer: str | None) -> str:
    return "not stemmed" if stemmer is None else f"stemmed by {stemmer!r}"
