"""How often the first hit of a one-word query contains the word.

A user who searches for one word of the documents expects a document with that word first. A search
by meaning can rank a document without it first: one full of similar words, or a short one. The
share of such queries needs no relevance judgements, and shows when S or the weights go too far.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import islice
from typing import TYPE_CHECKING

import numpy as np

from softcosine._validation import check_whole
from softcosine.index.query.query_vectors import ParsedQuery, query_vector

if TYPE_CHECKING:
    from softcosine.index.directory.snapshot import Snapshot
    from softcosine.index.soft_index import SoftIndex

__all__ = ["OneWordQuality", "one_word_quality"]

_N_EXAMPLES = 10
_BATCH = 256  # words searched in one batch


@dataclass(frozen=True, slots=True)
class OneWordQuality:
    """The first hits of one-word queries.

    Attributes
    ----------
    n_words : int
        Number of words searched.
    n_lacking : int
        Number of words whose first hit does not contain the word, or that have no hit.
    examples : tuple of (str, str)
        Up to ten of these words, each with the id of its first hit; words without a hit are left
        out.
    """

    n_words: int
    n_lacking: int
    examples: tuple[tuple[str, str], ...] = ()

    @property
    def share(self) -> float:
        """Share of the words whose first hit lacks them; 0 if there are no words."""
        return self.n_lacking / self.n_words if self.n_words else 0.0


def one_word_quality(index: SoftIndex, n_words: int = 1000, *, seed: int = 0) -> OneWordQuality:
    """Measure how often the first hit of a one-word query lacks the word.

    Parameters
    ----------
    index : SoftIndex
        Searched by its default ranking.
    n_words : int
        Number of words, drawn uniformly from the vocabulary of the documents; all words if there
        are fewer. 1,000 words give the share within .03 at 95 % confidence.
    seed : int
        Seed of the draw.

    Examples
    --------
    >>> import softcosine as sc
    >>> index = sc.SoftIndex.from_texts(["green tea", "a cup of tea"], plain=True)
    >>> one_word_quality(index).share
    0.0
    """
    check_whole("n_words", n_words)
    check_whole("seed", seed, least=0)
    snapshot = index.snapshot
    words = _drawn(snapshot, n_words, seed)
    n_searched, n_lacking = 0, 0
    examples: list[tuple[str, str]] = []
    while terms := list(islice(words, _BATCH)):
        for term, document in zip(terms, _first_answers(snapshot, terms), strict=True):
            n_searched += 1
            if document is not None and _holds(snapshot, document, term):
                continue
            n_lacking += 1
            if document is not None and len(examples) < _N_EXAMPLES:
                word = snapshot.S.representatives[term]
                examples.append((word, snapshot.documents.id(document)))
    return OneWordQuality(n_searched, n_lacking, tuple(examples))


def _drawn(snapshot: Snapshot, n_words: int, seed: int) -> Iterator[int]:
    """Yield terms of live documents in random order."""
    left = n_words
    for term in np.random.default_rng(seed).permutation(len(snapshot.S)).tolist():
        if left and _stands(snapshot, term):
            left -= 1
            yield term


def _stands(snapshot: Snapshot, term: int) -> bool:
    for segment in snapshot.segments:
        for own in segment.fields:
            documents = own.documents_of(np.array([term], np.int32))
            if documents.size and (segment.live is None or segment.live[documents].any()):
                return True
    return False


def _holds(snapshot: Snapshot, document: int, term: int) -> bool:
    return any(term in terms for terms, _ in snapshot.rows(document))


def _first_answers(snapshot: Snapshot, terms: list[int]) -> list[int | None]:
    """Return the number of the best document for each term; None if there is no hit."""
    searcher, queries = snapshot.searcher(), []
    for term in terms:
        word = snapshot.S.representatives[term]
        parsed = ParsedQuery(np.array([term], np.int32), np.ones(1), (word,))
        queries.append(
            tuple(
                query_vector(parsed, one.ranking, snapshot.S, snapshot.source)
                for one in searcher.searchers
            )
        )
    return [
        int(top.documents[0]) if len(top.documents) else None
        for top in searcher.search_batch(queries, k=1)
    ]
