"""Adapter of a saved matrix to the vocabulary of an index."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from softcosine._progress import Report, silent
from softcosine.cli.completing import stored_kind
from softcosine.errors import InvalidInputError, UnknownTermError

if TYPE_CHECKING:
    from softcosine.matrix.recipe import BuiltSimilarity
    from softcosine.matrix.term_similarity_matrix import TermSimilarityMatrix
    from softcosine.similarity.source import TermSimilaritySource
    from softcosine.text.analyzer import Analyzer
    from softcosine.text.corpus import AnalyzedTexts
    from softcosine.text.stream import TextStream
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
    def open(cls, path: Path, *, stemmer: str | None = None) -> SavedMatrix:
        """Open a matrix.

        Raises
        ------
        InvalidInputError
            If `stemmer` differs from that of the matrix, or `path` is a file.
        FileNotFoundError, IndexFormatError, CorruptIndexError
        """
        from softcosine.text.analyzer import Analyzer

        if path.is_file():
            raise InvalidInputError(
                f"{path} is a file, but --similarity needs a folder made by 'similarity build'; "
                f"pass lists of synonyms and files of vectors by --source {path}."
            )
        S, source = opened_with_source(path)
        settings = S.settings.get("analyzer")
        rules = None if settings is None else Analyzer.from_dict(settings)
        if rules is not None and stemmer not in (None, rules.stemmer or "none"):
            raise InvalidInputError(
                f"--stemmer is {stemmer!r}, but the words of {path} were {_stemmed(rules)}; "
                "leave --stemmer out, or build the matrix again."
            )
        return cls(path, S, source, rules)

    def check_stems(self, index: Path, rules: Analyzer) -> None:
        """Raise InvalidInputError if an index has another stemmer."""
        if self.analyzer is not None and self.analyzer.stemmer != rules.stemmer:
            raise InvalidInputError(
                f"the words of {index} are {_stemmed(rules)}, those of {self.path} "
                f"{_stemmed(self.analyzer)}; build a matrix for them: similarity build "
                f"--vocabulary {index}."
            )

    def phrases(self) -> tuple[str, ...]:
        """Return an empty tuple: a saved matrix adds no phrases."""
        return ()

    def needs_texts(self, language: str | None = None) -> bool:
        """Return False: a saved matrix learns nothing from texts."""
        return False

    def build(
        self,
        vocabulary: Vocabulary,
        texts: AnalyzedTexts | TextStream | None = None,
        *,
        analyzer: Analyzer | None = None,
        language: str | None = None,
        report: Report | None = None,
    ) -> BuiltSimilarity:
        """Return the matrix over a vocabulary; same interface as `SimilarityRecipe.build`."""
        from softcosine.matrix.recipe import BuiltSimilarity

        S, note = self.over(vocabulary, report or silent)
        return BuiltSimilarity(S, self.source, note)

    def over(self, vocabulary: Vocabulary, report: Report) -> tuple[TermSimilarityMatrix, str]:
        """Return S over a vocabulary, and a note on the source of its similarities.

        Raises
        ------
        InvalidInputError
            If the matrix has no term of the vocabulary.
        """
        from softcosine.text.vocabulary import Vocabulary

        known = [term for term in vocabulary if term in self.S.vocabulary]
        n = len(vocabulary)
        if n and not known:
            raise InvalidInputError(
                f"{self.path} has none of the {n} words of the documents; build a matrix for them "
                "by similarity build --vocabulary FILE."
            )
        note = f"Similarities come from {self.path}"
        if len(known) == n:
            return self.S.restricted(vocabulary), f"{note}."
        note += f", which has {len(known):,} of the {n:,} terms"
        if self.source is None:
            return self.S.restricted(vocabulary), f"{note}; the others have no similar words."
        larger = self.S.restricted(Vocabulary(known)).extend(
            vocabulary,
            self.source,
            definite="shrunk" in self.S.settings,
            guard=False,
            analyzer=self.analyzer,
            warn=False,
            progress=partial(report, "finding similar terms"),
        )
        return larger, f"{note}; the others come from its sources."


def _stemmed(rules: Analyzer) -> str:
    return "not stemmed" if rules.stemmer is None else f"stemmed by {rules.stemmer!r}"


def opened_matrix(path: Path) -> TermSimilarityMatrix:
    """Open a matrix, or the matrix of an index."""
    from softcosine.matrix.term_similarity_matrix import TermSimilarityMatrix

    if stored_kind(path) in ("index", "shards"):
        from softcosine.cluster.opening import open_epoch

        return open_epoch(path).S
    return TermSimilarityMatrix.load(path)


def opened_with_source(path: Path) -> tuple[TermSimilarityMatrix, TermSimilaritySource | None]:
    """Open a matrix, or the matrix of an index, and the source stored with it."""
    from softcosine.matrix.term_similarity_matrix import TermSimilarityMatrix

    if stored_kind(path) in ("index", "shards"):
        from softcosine.cluster.opening import open_epoch

        index = open_epoch(path)
        return index.S, index.source
    S, source = TermSimilarityMatrix.load(path), TermSimilarityMatrix.load_source(path)
    if source is None:
        return S, None
    from softcosine.similarity.in_terms import TermKeys, in_terms
    from softcosine.text.analyzer import Analyzer

    rules = S.settings.get("analyzer")
    analyzer = None if rules is None else Analyzer.from_dict(rules)
    return S, in_terms(source, TermKeys(analyzer, vocabulary=S.vocabulary))


def neighbors_record(
    S: TermSimilarityMatrix,
    source: TermSimilaritySource | None,
    word: str,
    k: int,
    origins: bool,
) -> dict[str, Any]:
    """Return a word's neighbours, perhaps with the origin of each."""
    term = _term(S, word)
    if term is not None:
        asked = S.representatives[S.vocabulary.index(term)]
        found = [
            (S.representatives[S.vocabulary.index(other)], similarity)
            for other, similarity in S.neighbors(term, k=k)
        ]
    else:
        from softcosine.matrix.outside import outside_rows
        from softcosine.text.words import normalize

        asked = word if source is not None and source.knows([word])[0] else normalize(word)
        if source is None or not source.knows([asked])[0]:
            raise UnknownTermError(
                f"{word!r} is not among the {len(S)} terms of the matrix"
                + (
                    ", and the matrix has no stored source."
                    if source is None
                    else ", and its sources do not have it."
                )
            )
        (row,) = outside_rows(S, [asked], source)
        others = (S.representatives[i] for i in row.terms.tolist())
        pairs = zip(others, row.similarities.tolist(), strict=True)
        found = sorted(pairs, key=lambda pair: (-pair[1], pair[0]))[:k]
    record: dict[str, Any] = {"word": word, "indexed": term is not None}
    record["neighbors"] = [{"word": other, "similarity": value} for other, value in found]
    if not origins or source is None:
        return record
    from softcosine.similarity.provenance import origins as origins_of

    told = origins_of(source, [asked] * len(found), [other for other, _ in found])
    for one, origin in zip(record["neighbors"], told, strict=True):
        one["origin"] = origin.to_dict()
    return record


def _term(S: TermSimilarityMatrix, word: str) -> str | None:
    """Return the term of a word: itself, normalised, the term it is a form of, or its stem."""
    from softcosine.text.analyzer import Analyzer
    from softcosine.text.words import normalize

    plain = normalize(word)
    for candidate in (word, plain):
        if candidate in S.vocabulary:
            return candidate
    for term, forms in zip(S.vocabulary.terms, S.vocabulary.forms or (), strict=False):
        if plain in forms:
            return term
    rules = S.settings.get("analyzer")
    terms = [] if rules is None else Analyzer.from_dict(rules).terms(word)
    return terms[0] if len(terms) == 1 and terms[0] in S.vocabulary else None
