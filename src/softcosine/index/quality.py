"""How well an index answers queries of a single word of its documents.

Who asks for one word that stands in the documents expects to see it. A search by meaning may put a
document first that lacks it: one full of similar words, or one that is short. How often it does is
a number that needs no judgements, and tells S and weights that are too bold from others.
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
_BATCH = 256  # words that are searched together


@dataclass(frozen=True, slots=True)
class OneWordQuality:
    """What came first for queries of one word.

    Attributes
    ----------
    n_words : int
        Words that were searched.
    n_lacking : int
        Those for which the first answer does not hold the word, or there is none.
    examples : tuple of (str, str)
        Up to ten of these words, each with the id of its first answer; those without one are left
        out.
    """

    n_words: int
    n_lacking: int
    examples: tuple[tuple[str, str], ...] = ()

    @property
    def share(self) -> float:
        """Share of the words whose first answer lacks them; 0 where there are no words."""
        return self.n_lacking / self.n_words if self.n_words else 0.0


def one_word_quality(index: SoftIndex, n_words: int = 1000, *, seed: int = 0) -> OneWordQuality:
    """Measure how often the first answer to a query of one word lacks the word.

    Parameters
    ----------
    index : SoftIndex
        Searched by its own ranking.
    n_words : int
        How many words are drawn, each as likely as another, among those of the documents; all of
        them if there are fewer. 1,000 tell the share within .03, with 95 % confidence.
    seed : int
        Of the draw.

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
    """Give terms of documents that are not deleted, in an order of chance."""
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
    """Return the number of the best document for each term; None where there is no answer."""
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
