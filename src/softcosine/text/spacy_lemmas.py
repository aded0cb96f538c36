"""Lemmas of words by a spaCy pipeline, for an analyzer."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from typing import TYPE_CHECKING

from softcosine._validation import check_list
from softcosine.errors import InvalidInputError
from softcosine.text.words import find_words, normalize

if TYPE_CHECKING:
    from spacy.language import Language

__all__ = ["spacy_lemmas"]


def spacy_lemmas(pipeline: Language, texts: Iterable[str]) -> dict[str, str]:
    """Return the lemma of each word of some texts, for ``Analyzer(lemmas=)``.

    spaCy reads words in context, and an analyzer takes them one by one: a word that has several
    lemmas in the texts gets the most frequent one. The analyzer needs no spaCy, nor does an index
    with it; words that the texts do not have are stemmed.

    Parameters
    ----------
    pipeline : spacy.language.Language
        With a lemmatizer.
    texts : iterable of str
        Such as the documents; add words of queries as texts of their own.

    Returns
    -------
    dict of str to str
        Normalised words and lemmas (`softcosine.text.words`). Tokens that are not one word, such as
        numbers with a unit, are left out.

    Raises
    ------
    InvalidInputError
        If the pipeline gives no lemmas.
    """
    check_list("texts", texts, "texts")
    counts: dict[str, Counter[str]] = {}
    n_tokens = 0
    for document in pipeline.pipe(texts):
        for token in document:
            n_tokens += 1
            words, lemmas = (find_words(normalize(one)) for one in (token.text, token.lemma_))
            if len(words) == len(lemmas) == 1:
                counts.setdefault(words[0], Counter())[lemmas[0]] += 1
    if n_tokens and not counts:
        raise InvalidInputError(
            "the pipeline gives no lemmas; pass one with a lemmatizer, such as en_core_web_sm."
        )
    return {word: min(found, key=lambda one: (-found[one], one)) for word, found in counts.items()}
