"""Reader of the vocabulary of a matrix from documents, a word list, an index or a matrix."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from softcosine._progress import Report
from softcosine.cli.completing import stored_kind
from softcosine.cli.reading import ADVICE, fields_named
from softcosine.errors import InvalidInputError

if TYPE_CHECKING:
    from softcosine.cli.options import Reading
    from softcosine.index.language import AnalyzedInLanguage
    from softcosine.index.soft_index import SoftIndex
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


def read_corpus(
    inputs: Sequence[str],
    reading: Reading,
    *,
    language: str | None,
    stemmer: str | None,
    min_df: int | float | None,
    phrases: Sequence[str],
    report: Report,
) -> Corpus:
    """Return the vocabulary of documents, read as by ``softcosine index``, an index or a matrix.

    Texts of a sharded index are not read.

    Parameters
    ----------
    inputs : sequence of str
        Files and folders of documents, or a single saved index or matrix.
    reading : Reading
    language, stemmer : str or None
        See `rules_of`.
    min_df : int or float, or None
        See `softcosine.analyze`; None drops no words.
    phrases : sequence of str
        Entries of the synonym lists; those of several words become terms.
    report : callable

    Raises
    ------
    InvalidInputError
        If an index or a matrix is not the only input, or comes with options for documents.
    MalformedFileError, FileNotFoundError
    """
    stored = [path for path in inputs if stored_kind(path) is not None]
    chosen = (language, stemmer, min_df)
    if stored and (len(inputs) > 1 or any(one is not None for one in chosen)):
        raise InvalidInputError(
            f"{stored[0]} already has a vocabulary; give it as the only input, without --language, "
            "--stemmer and --min-df."
        )
    if stored:
        return _of_matrix(stored[0]) if stored_kind(stored[0]) == "matrix" else _of_index(stored[0])

    documents = reading.documents(inputs, fields_named(None, reading.text_fields), report)
    texts = [str(document.text) for document in documents]
    least = 1 if min_df is None else min_df
    found = analyzed_texts(
        texts, *rules_of(language, stemmer), min_df=least, phrases=phrases, report=report
    )
    return Corpus(found.texts.vocabulary, found.analyzer, found.texts, found.language, found.note)


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


def analyzed_texts(
    texts: Sequence[str],
    language: str,
    analyzer: Analyzer | None,
    *,
    min_df: int | float,
    report: Report,
    phrases: Sequence[str] = (),
) -> AnalyzedInLanguage:
    """Analyse texts by an analyzer, or by that of their language, with phrases as terms."""
    from softcosine.index.language import analyze_in_language

    return analyze_in_language(
        texts,
        language,
        analyzer,
        phrases=phrases,
        min_df=min_df,
        progress=lambda done: report("reading texts", done, len(texts)),
    )


def read_words(path: str, *, encoding: str, language: str | None, stemmer: str | None) -> Corpus:
    """Read a list of terms, one per line, optionally with a tab and a document frequency.

    Terms are normalised like texts, and the counts of equal terms are added. Several words on a
    line are one term, an n-gram.

    Raises
    ------
    InvalidInputError
        If there is no term, or a count is not a whole number; the message has the line.
    """
    import numpy as np

    from softcosine.files import read_records
    from softcosine.text.analyzer import Analyzer
    from softcosine.text.vocabulary import Vocabulary

    known, rules = rules_of(language, stemmer)
    analyzer = rules or Analyzer.for_language("none" if known == "auto" else known)
    forms: dict[str, dict[str, int]] = {}
    counted = False
    for record in read_records(path, format="lines", encoding=encoding, advice=ADVICE):
        shown, tab, told = record.values["text"].partition("\t")
        count = 0
        if tab:
            counted = True
            if not told.strip().isdecimal():
                raise InvalidInputError(
                    f"{record.path}, line {record.line}: {told.strip()!r} is not a whole number; "
                    "give the number of documents of the term after the tab."
                )
            count = int(told)
        words = analyzer.words(shown)
        if not words:
            continue
        word = " ".join(words)
        (term,) = analyzer.stem([word]) if len(words) == 1 else (word,)
        own = forms.setdefault(term, {})
        own[word] = own.get(word, 0) + count
    if not forms:
        raise InvalidInputError(f"{path}: no words found; give one word per line.")
    terms = sorted(forms)
    vocabulary = Vocabulary(
        terms,
        document_frequencies=(
            np.array([sum(forms[term].values()) for term in terms]) if counted else None
        ),
        forms=(
            [sorted(forms[term], key=lambda word: (-forms[term][word], word)) for term in terms]
            if analyzer.stems
            else None
        ),
    )
    return Corpus(vocabulary, analyzer, language=language)


def _of_index(path: str) -> Corpus:
    from softcosine.cluster.opening import open_epoch
    from softcosine.text.corpus import analyze

    opened = open_epoch(path)
    texts = None
    if len(opened) and opened.documents.keeps_texts:  # the epoch of shards has no documents
        texts = analyze(_texts_of(opened), opened.analyzer)
    return Corpus(opened.vocabulary, opened.analyzer, texts, opened.language)


def _texts_of(opened: SoftIndex) -> Iterator[str]:
    """Yield the texts of all documents that are not deleted."""
    for segment in opened.snapshot.segments:
        for number in range(segment.n_docs):
            if segment.live is None or segment.live[number]:
                yield segment.documents.text(number)


def _of_matrix(path: str) -> Corpus:
    from softcosine.matrix.term_similarity_matrix import TermSimilarityMatrix
    from softcosine.text.analyzer import Analyzer

    S = TermSimilarityMatrix.load(path)
    known = S.settings.get("analyzer")
    return Corpus(S.vocabulary, None if known is None else Analyzer.from_dict(known))
