"""An index learned from a text field of a server: its texts, analyzed like the field."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import replace
from itertools import chain, islice
from pathlib import Path
from typing import Unpack

from softcosine._progress import Report, silent
from softcosine.errors import InvalidInputError
from softcosine.index.language import analyze_in_language
from softcosine.index.options import IndexKeywords, IndexOptions
from softcosine.index.soft_index import SoftIndex
from softcosine.index.writer.creation import creating
from softcosine.index.writer.index_writer import IndexWriter
from softcosine.servers.field_comparison import USABLE, sampled_words
from softcosine.servers.text_field import TextField
from softcosine.storage.replacement import check_target
from softcosine.text.analyzer import Analyzer
from softcosine.text.weighting import Weighting

_SAMPLED = 1000  # documents whose words choose the analyzer
_COUNTED = 50  # words of which the most frequent known one shows k1 and b


def learn_from(
    field: TextField,
    path: str | Path | None = None,
    *,
    overwrite: bool = False,
    progress: Report | None = None,
    **options: Unpack[IndexKeywords],
) -> SoftIndex:
    """Return an index of the texts of a field, for `SoftIndex.expand`.

    The analyzer is the one that makes most words the tokens of the field: that of the language,
    without stemming, or for English Porter's. Words that the field removes are its stop words;
    frequent words that it stems otherwise are its lemmas. k1 and b are those of the server.

    Parameters
    ----------
    field : TextField
    path : path of a folder, optional
        In memory by default.
    overwrite : bool
        Whether to replace an index at `path`.
    progress : callable, optional
        Called with (task, done, total); total may be None.
    **options
        Those of `SoftIndex.create`, such as ``language`` and ``similarity``.

    Raises
    ------
    InvalidInputError
        If no document has a text in the field.
    ServerError, AlreadyExistsError
    """
    if path is not None:
        check_target(path, "index", overwrite=overwrite)
    documents = field.texts()
    sample = list(islice(documents, _SAMPLED))
    if not sample:
        raise InvalidInputError(f"no document of {field.address} has the field {field.name}.")
    texts = [text for _, text in sample]
    found = analyze_in_language(texts, options.get("language", "auto"))
    analyzer = _nearest(field, texts, replace(found.analyzer, joints=False))
    options = {
        "analyzer": analyzer, "weighting": _weighting(field, texts, analyzer),
        "ranking": "soft_bm25", "encoder": None,
        "note": f"texts of the field {field.name} of {field.address}", **options,
        "language": found.language,
    }  # fmt: skip

    def fill(writer: IndexWriter) -> None:
        with writer:
            for done, (id, text) in enumerate(chain(sample, documents)):
                if done % _SAMPLED == 0:
                    (progress or silent)("reading documents", done, None)
                writer.add(id, text)

    if path is None:
        index = SoftIndex.create(**options)
        fill(index.writer(progress=progress))
        return index
    with creating(path, IndexOptions.of(**options), overwrite=overwrite) as made:
        fill(IndexWriter(made[1], progress=progress))
        del made  # closes all files before the folder is renamed
    return SoftIndex.open(path)


def _nearest(field: TextField, texts: list[str], preferred: Analyzer) -> Analyzer:
    """Return the analyzer whose terms are most often the tokens of the field."""
    counts = sampled_words(texts)
    words = list(counts)
    tokens = field.tokens(words)
    best, most = preferred, -1
    for analyzer in _candidates(preferred, counts, tokens):
        equal = sum(
            counts[word]
            for word, theirs in zip(words, tokens, strict=True)
            if analyzer.terms(word) == theirs
        )
        if equal > most:
            best, most = analyzer, equal
    if most < USABLE * counts.total():  # another stemmer: the server has to analyze all words
        return best
    lemmas: dict[str, str] = {}
    for word, theirs in zip(words, tokens, strict=True):
        own, ours = best.words(word), best.terms(word)
        if len(own) == len(ours) == len(theirs) == 1 and ours != theirs == best.words(theirs[0]):
            lemmas.setdefault(own[0], theirs[0])
    return replace(best, lemmas=lemmas)


def _candidates(
    preferred: Analyzer, counts: Counter[str], tokens: list[list[str]]
) -> Iterator[Analyzer]:
    votes = Counter[str]()
    for (word, count), theirs in zip(counts.items(), tokens, strict=True):
        if len(own := preferred.words(word)) == 1:
            votes[own[0]] += count if theirs else -count
    stop_words = sorted(word for word, n in votes.items() if n < 0)
    stemmers = [preferred.stemmer, None]
    if preferred.stemmer == "english":
        stemmers.append("porter")
    for stemmer in stemmers:
        yield replace(preferred, stemmer=stemmer, stop_words=stop_words)


def _weighting(field: TextField, texts: list[str], analyzer: Analyzer) -> Weighting:
    """Return the weighting with k1 and b of the server; the default if they stay unknown."""
    for word in islice(sampled_words(texts), _COUNTED):
        for term in analyzer.terms(word):
            if (facts := field.facts(term)) is not None:
                return Weighting(k1=facts.k1, b=facts.b)
    return Weighting()
