"""Search over the text field of a server, with exact scores by the index."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Protocol

import numpy as np

from softcosine._validation import check_whole
from softcosine.index.search.execution import CandidateQuery, SearchRequest, execute_among
from softcosine.index.search.plan import Plan
from softcosine.index.search.results import Hits
from softcosine.index.search.server_query import ServerQuery, Words
from softcosine.index.search.top_docs import Top
from softcosine.index.soft_index import SoftIndex
from softcosine.servers.server import Candidates

__all__ = ["SearchableField", "search_field"]


class SearchableField(Protocol):
    """A text field that a server searches: a `TextField`, or a `LuceneField`."""

    @property
    def server(self) -> str:
        """Such as ``opensearch``."""
        ...

    @property
    def name(self) -> str:
        """Name of the field."""
        ...

    def search(self, query: ServerQuery, n: int, *, timeout: float | None = None) -> Candidates:
        """Return the n documents of greatest score by the server."""
        ...


def search_field(
    index: SoftIndex,
    field: SearchableField,
    query: str | Sequence[str],
    *,
    k: int = 10,
    candidates: int = 100,
    max_terms: int | None = 64,
    words: Words = "terms",
    timeout: float | None = None,
    **options: Any,
) -> Hits:
    """Return the best documents by the index among the candidates of a field.

    The scores are those of soft BM25 by the index. Nothing is proven: the server has its own
    statistics and rounds lengths.

    Parameters
    ----------
    index : SoftIndex
        Holds the documents of the field under the same ids, such as one of `learn_from`.
    field : SearchableField
    query : str, or a list of tokens
    k : int
    candidates : int
        Number of documents that the server returns.
    max_terms, words
        See `SoftIndex.expand`.
    timeout : float, optional
        Seconds to wait for the server.
    **options
        ``offset``, ``min_score``, ``where``, ``syntax`` and ``keep_stop_words`` of
        `SoftIndex.search`; `where` holds among the candidates.

    Raises
    ------
    InvalidInputError, ServerError
    """
    check_whole("candidates", candidates)
    request = SearchRequest(k=k, ranking="soft_bm25", ask="words", meaning=0.0, **options)
    sent = index.expand(
        query, to=field.server, field=field.name, max_terms=max_terms, words=words,
        syntax=request.syntax, keep_stop_words=request.keep_stop_words,
    )  # fmt: skip
    found = field.search(sent, max(candidates, request.n_wanted), timeout=timeout)
    numbers = index.documents.numbers_of(found.ids)
    known = np.array(sorted(numbers.values()), np.int64)

    def find(asked: CandidateQuery) -> Top:
        top = asked.rank(known)
        reason = (
            f"{len(sent.words):,} words, {len(found.ids):,} candidates of {field.server}, "
            "scored exactly by the index; not proven: the field has statistics of its own"
        )
        if len(known) < len(found.ids):
            reason += f"; {len(found.ids) - len(known):,} candidates are not in the index"
        plan = Plan(
            field.server, reason, n_terms=len(sent.words), n_candidates=len(known), proven=False
        )
        return Top(top.documents, top.scores, plan)

    return execute_among(find, index.snapshot, [query], request)[0]
