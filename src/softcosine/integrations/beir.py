"""An index as a search of BEIR, which need not be installed to import this."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from softcosine import SoftIndex


class SoftSearch:
    """A search for ``EvaluateRetrieval`` of BEIR; each corpus is indexed in memory.

    Parameters
    ----------
    search_options : mapping, optional
        Parameters of `SoftIndex.search`, such as ``{"ranking": "soft_bm25"}``. Queries are plain
        text, without operators, by default.
    **options
        Parameters of `SoftIndex.from_texts`, such as ``encoder="minilm"``.

    Examples
    --------
    >>> corpus = {"d1": {"title": "Bikes", "text": "a flat tyre"}, "d2": {"text": "green tea"}}
    >>> list(SoftSearch(plain=True).search(corpus, {"q": "tea"}, top_k=10)["q"])
    ['d2']
    """

    def __init__(self, *, search_options: Mapping[str, Any] | None = None, **options: Any) -> None:
        self.search_options = {"syntax": False, **(search_options or {})}
        self.options = options

    def search(
        self,
        corpus: Mapping[str, Mapping[str, str]],
        queries: Mapping[str, str],
        top_k: int,
        *args: Any,
        **kwargs: Any,
    ) -> dict[str, dict[str, float]]:
        """Return the scores of the best documents of each query, by document id.

        A document with the id of the query is left out, as in BEIR. Other arguments of BEIR, such
        as the score function of embeddings, have no effect.
        """
        ids = list(corpus)
        texts = [f"{one.get('title') or ''}\n{one['text']}".strip() for one in corpus.values()]
        index = SoftIndex.from_texts(texts, ids=ids, **self.options)
        ranked = index.ranked(list(queries.values()), k=top_k + 1, **self.search_options)
        results = {}
        for query, top in zip(queries, ranked, strict=True):
            pairs = zip(top.documents.tolist(), top.scores.tolist(), strict=True)
            scores = [(ids[number], score) for number, score in pairs if ids[number] != query]
            results[query] = dict(scores[:top_k])
        return results
