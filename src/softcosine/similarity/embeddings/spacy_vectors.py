"""The word vectors of spaCy's pipelines."""

from __future__ import annotations

from importlib.util import find_spec
from typing import TYPE_CHECKING

import numpy as np

from softcosine.errors import InvalidInputError, MissingDependencyError
from softcosine.similarity.embeddings.word_vectors import WordVectors

if TYPE_CHECKING:
    from spacy.language import Language

__all__ = ["load_pipeline", "vectors_of"]


def load_pipeline(name: str) -> Language:
    """Return an installed pipeline, such as ``en_core_web_md``, or that of a folder.

    Raises
    ------
    MissingDependencyError
        If spaCy is not installed.
    InvalidInputError
        If there is no such pipeline.
    """
    if find_spec("spacy") is None:
        raise MissingDependencyError("spacy", "spacy", "A spaCy pipeline")
    import spacy

    try:
        return spacy.load(name)
    except OSError as error:
        raise InvalidInputError(
            f"spaCy has no pipeline {name!r}; install it: python -m spacy download {name}"
        ) from error


def vectors_of(pipeline: Language) -> WordVectors:
    """Return the table of the word vectors of a pipeline.

    Raises
    ------
    InvalidInputError
        If it has none, or vectors of hashed n-grams (floret).
    """
    vocab = getattr(pipeline, "vocab", None)
    if vocab is None:
        raise InvalidInputError(
            f"{type(pipeline).__name__} is no pipeline of spaCy; pass what spacy.load returns."
        )
    vectors, strings = vocab.vectors, vocab.strings
    keys = [key for key in vectors.keys() if key in strings]  # noqa: SIM118  # no mapping
    if not keys:
        raise InvalidInputError(
            "the pipeline has no vectors by word; pass a medium or large one (md, lg), or "
            "EmbeddingSimilarity(words, [nlp.vocab[word].vector for word in words])."
        )
    rows = vectors.find(keys=keys)
    return WordVectors([strings[key] for key in keys], np.asarray(vectors.data)[rows])
