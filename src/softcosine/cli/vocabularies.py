"""From documents, a word list, an index or a matrix to the vocabulary that S is made for."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

from softcosine.errors import InvalidInputError

if TYPE_CHECKING:
    from softcosine.index.soft_index import SoftIndex
    from softcosine.text.analyzer import Analyzer
    from softcosine.text.corpus import AnalyzedTexts
    from softcosine.text.vocabulary import Vocabulary

__all__ = ["Corpus", "analyzed_texts", "read_corpus", "read_words", "rules_of", "stored_kind"]

Progress = Callable[[str, int, "int | None"], None]


@dataclass(frozen=True, slots=True)
class Corpus:
    """A vocabulary, the rules by which texts become its terms, and the texts if there are any.

    Attributes
    ----------
    vocabulary : Vocabulary
    analyzer : Analyzer or None
        None where it is not known.
    texts : AnalyzedTexts or None
        For sources that learn from them.
    """

    vocabulary: Vocabulary
    analyzer: Analyzer | None
    texts: AnalyzedTexts | None = None


def stored_kind(path: str | Path) -> str | None:
    """Return what is stored in a folder, "index" or "matrix", or None if it is neither."""
    try:
        manifest = json.loads((Path(path) / "manifest.json").read_text(encoding="utf-8"))
        return str(manifest["format"]).removeprefix("softcosine-")
    except (OSError, ValueError, TypeError, KeyError):
        return None


def read_corpus(
    inputs: Sequence[str],
    *,
    text_fields: Sequence[str],
    format: str | None,
    encoding: str,
    pattern: str | None,
    stemmer: str | None,
    min_df: int | float | None,
    phrases: Sequence[str],
    report: Progress,
) -> Corpus:
    """Read documents as ``softcosine index`` does, or take the vocabulary of an index or a matrix.

    Parameters
    ----------
    inputs : sequence of str
        Files and folders of documents, or a single saved index or matrix.
    text_fields, format, encoding, pattern
        See `softcosine.cli.reading.read_documents`.
    stemmer : str or None
        A language, ``"none"``, or None for English stems where the text is English.
    min_df : int or float, or None
        See `softcosine.analyze`; None leaves out none.
    phrases : sequence of str
        Words of the lists to be asked; several together become terms of documents.
    report : callable

    Raises
    ------
    InvalidInputError
        If an index or a matrix does not stand alone, or its words are to be chosen otherwise.
    MalformedFileError, FileNotFoundError
    """
    stored = [path for path in inputs if stored_kind(path) is not None]
    if stored and (len(inputs) > 1 or stemmer is not None or min_df is not None):
        raise InvalidInputError(
            f"{stored[0]} has its vocabulary already; give it alone, and no --stemmer or --min-df."
        )
    if stored:
        return _of_index(stored[0]) if stored_kind(stored[0]) == "index" else _of_matrix(stored[0])
    from softcosine.cli.reading import fields_named, read_documents

    documents = read_documents(
        inputs,
        fields=fields_named(None, text_fields),
        format=format,
        encoding=encoding,
        pattern=pattern,
        progress=lambda done: report("reading documents", done, None),
    )
    least = 1 if min_df is None else min_df
    texts, analyzer = analyzed_texts(
        documents.texts, rules_of(stemmer), min_df=least, phrases=phrases, report=report
    )
    return Corpus(texts.vocabulary, analyzer, texts)


def rules_of(stemmer: str | None, stop_words: str | None = None) -> Analyzer | None:
    """Return how words are made, by languages or ``none``; None where the texts decide.

    With stop words of a language, its stemmer is taken where none is named.
    """
    from softcosine.text.analyzer import Analyzer

    if stemmer is None and stop_words is None:
        return None
    rules = Analyzer(stop_words=stop_words)  # which knows whose words can be left out
    return replace(rules, stemmer=None if stemmer == "none" else stemmer or stop_words)


def analyzed_texts(
    texts: Sequence[str],
    analyzer: Analyzer | None,
    *,
    min_df: int | float,
    report: Progress,
    phrases: Sequence[str] = (),
) -> tuple[AnalyzedTexts, Analyzer]:
    """Analyse texts by an analyzer, or as their language asks for, with phrases as terms."""
    from softcosine.index.defaults import MIN_ENGLISH
    from softcosine.sources.vectors.english import english_share
    from softcosine.text.analyzer import Analyzer
    from softcosine.text.corpus import analyze

    def told(done: int) -> None:
        report("reading texts", done, len(texts))

    guessed = analyzer is None
    if analyzer is None:
        analyzer = Analyzer("english")
    analyzer = analyzer.with_phrases(phrases)
    analyzed = analyze(texts, analyzer, min_df=min_df, progress=told)
    if guessed and english_share(analyzed.vocabulary) < MIN_ENGLISH:
        analyzer = Analyzer(phrases=analyzer.phrases)
        analyzed = analyze(texts, analyzer, min_df=min_df, progress=told)
    return analyzed, analyzer


def read_words(path: str, *, encoding: str, stemmer: str | None) -> Corpus:
    """Read a list of terms, one a line, optionally with a tab and in how many documents it stands.

    Terms are normalised as texts are; of equal ones the counts are added. Several words on a line
    are one term, as an analyzer makes n-grams.

    Raises
    ------
    InvalidInputError
        If there is no term, or a count is no whole number; names the line.
    """
    import numpy as np

    from softcosine.cli.reading import ADVICE
    from softcosine.files import read_records
    from softcosine.text.analyzer import Analyzer
    from softcosine.text.vocabulary import Vocabulary

    analyzer = rules_of(stemmer) or Analyzer()
    forms: dict[str, dict[str, int]] = {}
    counted = False
    for record in read_records(path, format="lines", encoding=encoding, advice=ADVICE):
        shown, tab, told = record.values["text"].partition("\t")
        count = 0
        if tab:
            counted = True
            if not told.strip().isdecimal():
                raise InvalidInputError(
                    f"{record.path}, line {record.line}: {told.strip()!r} is no whole number; "
                    "after a tab stands in how many documents the term is."
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
        raise InvalidInputError(f"{path}: there is no word in it; give one a line.")
    terms = sorted(forms)
    vocabulary = Vocabulary(
        terms,
        document_frequencies=(
            np.array([sum(forms[term].values()) for term in terms]) if counted else None
        ),
        forms=(
            [sorted(forms[term], key=lambda word: (-forms[term][word], word)) for term in terms]
            if analyzer.stemmer is not None
            else None
        ),
    )
    return Corpus(vocabulary, analyzer)


def _of_index(path: str) -> Corpus:
    from softcosine.index.soft_index import SoftIndex
    from softcosine.text.corpus import analyze

    opened = SoftIndex.open(path)
    texts = None
    if opened.documents.keeps_texts:
        texts = analyze(_texts_of(opened), opened.analyzer)
    return Corpus(opened.vocabulary, opened.analyzer, texts)


def _texts_of(opened: SoftIndex) -> Iterator[str]:
    """Give the texts of all documents that are not deleted."""
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
