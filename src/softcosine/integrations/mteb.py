"""An index as a model of mteb's search protocol; mteb need not be installed to import this."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from softcosine import SoftIndex
from softcosine.errors import NotFittedError, needing
from softcosine.version import __version__


class SoftSearch:
    """A model for the retrieval and reranking tasks of mteb; each corpus is indexed in memory.

    Parameters
    ----------
    name : str
        Under which mteb stores results. Give other settings another name.
    search_options : mapping, optional
        Parameters of `SoftIndex.search`, such as ``{"ranking": "soft_bm25"}``. Queries are plain
        text, without operators, by default.
    **options
        Parameters of `SoftIndex.from_texts`, such as ``encoder="minilm"``.

    Attributes
    ----------
    soft_index : SoftIndex or None
        The index of the last corpus.
    """

    def __init__(
        self,
        name: str = "softcosine/soft-index",
        *,
        search_options: Mapping[str, Any] | None = None,
        **options: Any,
    ) -> None:
        self.name = name
        self.search_options = {"syntax": False, **(search_options or {})}
        self.options = options
        self.soft_index: SoftIndex | None = None

    def index(self, corpus: Any, **task: Any) -> None:
        """Index a corpus: rows with id, text and perhaps title; `task` has no effect."""
        rows = list(corpus)
        self.soft_index = SoftIndex.from_texts(
            [f"{row.get('title') or ''}\n{row['text']}".strip() for row in rows],
            ids=[row["id"] for row in rows],
            **self.options,
        )

    def search(
        self,
        queries: Any,
        *,
        top_k: int,
        top_ranked: Mapping[str, Sequence[str]] | None = None,
        **task: Any,
    ) -> dict[str, dict[str, float]]:
        """Return the scores of the best documents of each query, or those of `top_ranked`."""
        if self.soft_index is None:
            raise NotFittedError("there is no corpus yet; call index first.")
        ids, texts = list(queries["id"]), list(queries["text"])
        if top_ranked is not None:
            return {
                id: self._reranked(text, top_ranked.get(id, ()), top_k)
                for id, text in zip(ids, texts, strict=True)
            }
        ranked = self.soft_index.ranked(texts, k=top_k, **self.search_options)
        documents = list(self.soft_index)
        return {
            id: {
                documents[number]: score
                for number, score in zip(top.documents.tolist(), top.scores.tolist(), strict=True)
            }
            for id, top in zip(ids, ranked, strict=True)
        }

    def _reranked(self, query: str, ids: Sequence[str], k: int) -> dict[str, float]:
        assert self.soft_index is not None
        scores = self.soft_index.scores(query, ids, **self.search_options)
        best = sorted(zip(ids, scores.tolist(), strict=True), key=lambda one: -one[1])
        return dict(best[:k])

    @property
    def mteb_model_meta(self) -> Any:
        """Metadata of the model for mteb."""
        with needing("mteb", "mteb", "Metadata of a model"):
            from mteb.models import ModelMeta
        facts = {"name": self.name, "revision": __version__, "model_type": ["sparse"]}
        return ModelMeta.create_empty({**facts, "license": "apache-2.0"})
