"""Reader of the vocabulary of a matrix from documents, a word list, an index or a matrix."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from softcosine._progress import Report
from softcosine.cli.completing import stored_kind
from softcosine.cli.derived import option
from softcosine.cli.options import Language, MinDf, Reading, Stemmer
from softcosine.cli.reading import ADVICE, fields_named
from softcosine.cli.saved_matrix import SavedMatrix
from softcosine.errors import InvalidInputError

if TYPE_CHECKING:
    from softcosine.matrix.recipe import SimilarityRecipe
    from softcosine.text.analyzer import Analyzer
    from softcosine.text.corpus import AnalyzedTexts
    from softcosine.text.vocabulary import Vocabulary


@dataclass(frozen=True, slots=True)
class Corpus:
    """A vocabulary with its analyzer, texts and language, as far as known.

    Attributes
    ----------
    vocabulary : Vocabulary
    analyzer : Analyzer or None
        None if unknown.
    texts : AnalyzedTexts or None
        Texts for sources that learn from them.
    language : str or None
        None if unknown.
    note : str
        Note on the detected language.
    """

    vocabulary: Vocabulary
    analyzer: Analyzer | None
    texts: AnalyzedTexts | None = None
    language: str | None = None
    note: str = ""


@dataclass(frozen=True)
class Terms:
    """Where the terms of a matrix come from."""

    vocabulary: list[str] | None = option(
        "--vocabulary FILE",
        "Source of the terms: documents as 'index' reads them (repeatable), or an index, or a "
        "matrix.",
        None,
    )
    words: str | None = option(
        "--words FILE", "Instead of --vocabulary: a list of words, one per line.", None
    )
    language: Language = None
    stemmer: Stemmer = None
    min_df: MinDf = None

    def corpus(self, recipe: SimilarityRecipe, reading: Reading, report: Report) -> Corpus:
        """Return the vocabulary, and texts to learn from.

        Documents are read as by ``softcosine index``; texts of a sharded index are not read.

        Raises
        ------
        InvalidInputError
            If there is not one source of terms, or an index or a matrix is not the only input or
            comes with options for documents.
        MalformedFileError, FileNotFoundError
        """
        if (not self.vocabulary) == (self.words is None):
            raise InvalidInputError(
                "the terms come from --vocabulary FILE (documents, an index, a matrix) or from "
                "--words FILE (a list); give one of the two."
            )
        if self.words is not None:
            return self._of_words(self.words, reading.encoding)
        inputs = self.vocabulary or []
        if not (stored := [path for path in inputs if stored_kind(path) is not None]):
            return self._of_documents(inputs, recipe.phrases(), reading, report)
        if len(inputs) > 1 or (self.language, self.stemmer, self.min_df) != (None, None, None):
            raise InvalidInputError(
                f"{stored[0]} already has a vocabulary; give it as the only input, without "
                "--language, --stemmer and --min-df."
            )
        return _stored_corpus(stored[0])

    def _of_documents(
        self, inputs: list[str], phrases: Sequence[str], reading: Reading, report: Report
    ) -> Corpus:
        from softcosine.index.language import analyze_in_language

        documents = reading.documents(inputs, fields_named(None, reading.text_fields), report)
        texts = [str(document.text) for document in documents]
        known, analyzer = rules_of(self.language, self.stemmer)
        found = analyze_in_language(
            texts, known, analyzer, phrases=phrases, min_df=number_in(self.min_df or "1"),
            progress=lambda done: report("reading texts", done, len(texts)),
        )  # fmt: skip
        vocabulary = found.texts.vocabulary
        return Corpus(vocabulary, found.analyzer, found.texts, found.language, found.note)

    def _of_words(self, path: str, encoding: str) -> Corpus:
        """Read a list of terms, one per line.

        Terms are normalised like texts. Several words on a line are one term, an n-gram; what
        follows a tab is ignored.
        """
        from softcosine.files import read_records
        from softcosine.text.analyzer import Analyzer
        from softcosine.text.vocabulary import Vocabulary

        if self.min_df is not None:
            raise InvalidInputError(
                "--min-df needs documents, but --words is a list; leave it out."
            )
        known, rules = rules_of(self.language, self.stemmer)
        analyzer = rules or Analyzer.for_language("none" if known == "auto" else known)
        forms: dict[str, set[str]] = {}
        for record in read_records(path, format="lines", encoding=encoding, advice=ADVICE):
            if words := analyzer.words(record.values["text"].partition("\t")[0]):
                word = " ".join(words)
                (term,) = analyzer.stem([word]) if len(words) == 1 else (word,)
                forms.setdefault(term, set()).add(word)
        if not forms:
            raise InvalidInputError(f"{path}: no words found; give one word per line.")
        terms = sorted(forms)
        shown = [sorted(forms[term]) for term in terms] if analyzer.stems else None
        return Corpus(Vocabulary(terms, forms=shown), analyzer, language=self.language)


def rules_of(
    language: str | None, stemmer: str | None, stop_words: str | None = None
) -> tuple[str, Analyzer | None]:
    """Return the language, and an analyzer if a stemmer or stop words are given.

    Parameters
    ----------
    language : str or None
        None to detect it from the texts.
    stemmer : str or None
        A language or ``"none"``, instead of the stemmer of the language.
    stop_words : str or None
        A language whose stop words are dropped; without `language` also that of the analyzer.

    Returns
    -------
    language : str
        ``"auto"`` to detect it from the texts.
    analyzer : Analyzer or None
        None for the analyzer of the language.
    """
    from softcosine.index.language import check_language
    from softcosine.text.analyzer import Analyzer

    known = check_language(language or "auto")
    if stemmer is None and stop_words is None:
        return known, None
    settings: dict[str, Any] = {} if stop_words is None else {"stop_words": stop_words}
    Analyzer(**settings)  # raises for an unknown language
    if stemmer is not None:
        settings["stemmer"] = None if stemmer == "none" else stemmer
    base = (stop_words or "none") if known == "auto" else known
    return known, Analyzer.for_language(base, **settings)


def number_in(given: str) -> Any:
    """Return the number that an option has, or its text, which the library refuses."""
    try:
        return int(given) if given.isdecimal() else float(given)
    except ValueError:
        return given


def _stored_corpus(path: str) -> Corpus:
    """Return the vocabulary of a matrix or an index, and the texts that the index stores."""
    from softcosine.cluster.opening import open_epoch
    from softcosine.text.corpus import analyze

    if stored_kind(path) == "matrix":
        saved = SavedMatrix.open(Path(path))
        return Corpus(saved.S.vocabulary, saved.analyzer)
    opened = open_epoch(path)
    texts = None
    if len(opened) and opened.documents.keeps_texts:  # the epoch of shards has no documents
        texts = analyze((opened.get([id])[0].text for id in opened), opened.analyzer)
    return Corpus(opened.vocabulary, opened.analyzer, texts, opened.language)
