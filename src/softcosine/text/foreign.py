"""Terms of the vocabularies of scikit-learn and gensim, in the order of their numbers."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from softcosine.errors import InvalidInputError, NotFittedError

__all__ = ["gensim_terms", "sklearn_terms"]


def sklearn_terms(vectorizer: Any) -> list[str]:
    """Terms of a fitted scikit-learn text vectorizer; see ``Vocabulary.from_sklearn``."""
    if hasattr(vectorizer, "vocabulary_"):
        return _in_order(
            vectorizer.vocabulary_,
            source="the vectorizer",
            repair="number its vocabulary from 0 without gaps",
        )
    if not hasattr(vectorizer, "get_feature_names_out") or not hasattr(vectorizer, "vocabulary"):
        raise InvalidInputError(
            f"a {type(vectorizer).__name__} keeps no vocabulary; pass a fitted CountVectorizer or "
            "TfidfVectorizer."
        )
    try:
        return [str(term) for term in vectorizer.get_feature_names_out()]
    except (ValueError, AttributeError) as error:
        raise NotFittedError(
            f"this {type(vectorizer).__name__} is not fitted; call its fit or fit_transform first."
        ) from error


def gensim_terms(dictionary: Any) -> list[str]:
    """Terms of a gensim dictionary; see ``Vocabulary.from_gensim``."""
    numbers = getattr(dictionary, "token2id", None)
    if not isinstance(numbers, Mapping):
        raise InvalidInputError(
            f"a {type(dictionary).__name__} has no token2id; pass a gensim.corpora.Dictionary."
        )
    return _in_order(
        numbers,
        source="the dictionary",
        repair="call dictionary.compactify() and make the bags of words anew",
    )


def _in_order(numbers: Mapping[str, int], *, source: str, repair: str) -> list[str]:
    """Terms by number; the numbers must be 0 to n - 1."""
    ordered = sorted(numbers.items(), key=lambda item: item[1])
    for expected, (term, number) in enumerate(ordered):
        if number != expected:
            raise InvalidInputError(
                f"{source} has {len(ordered)} terms, but {term!r} has number {number} where "
                f"{expected} is due; {repair}."
            )
    return [term for term, _ in ordered]
