"""Soft similarity, ranked by `SoftIndex`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import get_args

from softcosine.errors import InvalidInputError
from softcosine.evaluate.documents import Documents
from softcosine.evaluate.systems.fitted_soft import FittedSoft
from softcosine.evaluate.systems.settings import (
    choice,
    flag,
    number,
    optional,
    setting,
    weights,
    whole,
)
from softcosine.evaluate.systems.similarities import SimilaritySettings
from softcosine.index.defaults import RANKING, WEIGHTING
from softcosine.index.search.fields import checked_fields
from softcosine.index.search.rankings import Ranking
from softcosine.index.soft_index import SoftIndex
from softcosine.text.weighting import Weighting

__all__ = ["Soft", "SoftCosine"]


@dataclass(frozen=True, kw_only=True)
class Soft(SimilaritySettings):
    """`SoftIndex` with all its settings; the defaults are the same.

    Parameters
    ----------
    ranking : str
        See `softcosine.index.search.rankings`.
    tf, idf, k1, b
        See `softcosine.Weighting`; soft BM25 uses k1 and b.
    fields : mapping of str to float, optional
        Fields of the documents with scores of their own, and the weights of these scores; default:
        one score of the joined text.
    match : {"text", "fields"}
        Whether each field is compared with the whole text of the query, or with its field of the
        same name.
    expand : bool
        False finds only documents that share a term with the query.
    max_terms : int, optional
        Maximum number of query terms; those with the highest weights are used.
    keep_stop_words : bool
        Whether stop words of a query count beside other words.
    **settings
        See `SimilaritySettings`.

    Notes
    -----
    Pairs of texts are compared by soft cosine with any ranking, because it is symmetric.
    """

    called = "soft"
    ranking: str = setting(RANKING, choice(*get_args(Ranking)), "ranking function")
    tf: str = setting(
        WEIGHTING.tf, choice("raw", "log", "binary", "bm25"), "weight of the term frequency"
    )
    idf: str = setting(
        WEIGHTING.idf,
        choice("none", "smooth", "probabilistic", "bm25"),
        "inverse document frequency",
    )
    k1: float = setting(WEIGHTING.k1, number(0.0), "saturation of the term frequency")
    b: float = setting(WEIGHTING.b, number(0.0, 1.0), "strength of the length normalisation")
    fields: Mapping[str, float] | None = setting(
        None, optional(weights), "fields with scores of their own"
    )
    match: str = setting(
        "text", choice("text", "fields"), "text of the query to compare with a field"
    )
    expand: bool = setting(True, flag, "finds documents that share no term with the query")
    max_terms: int | None = setting(None, optional(whole(1)), "maximum number of query terms")
    keep_stop_words: bool = setting(False, flag, "uses stop words of queries")

    def __post_init__(self) -> None:
        SimilaritySettings.__post_init__(self)
        checked_fields(self.fields)
        if self.match == "fields" and self.fields is None:
            raise InvalidInputError(
                f"match of {self.called!r} is 'fields', and no fields are given; name them, such "
                "as fields=title:2+text:1."
            )

    def fit(self, documents: Documents, *, background: Sequence[str] = ()) -> FittedSoft:
        """Index the documents and the background, which is never a result."""
        names = [*(self.fields or ())]
        for name in names:
            if name not in documents.fields:
                raise InvalidInputError(
                    f"fields of {self.called!r} names {name!r}, and the documents have "
                    f"{', '.join(documents.names)}; name some of these."
                )
        columns = [documents.fields[name] for name in names] or [documents.texts]
        flat = [text for texts in zip(*columns, strict=True) for text in texts]
        # Background texts have no fields, so they count in the statistics of every field.
        flat += [text for text in background for _ in columns]
        n_fields = len(columns)
        words = self.analyzed(flat, n_fields=n_fields)
        texts = (
            flat
            if not names
            else [
                dict(zip(names, flat[start : start + n_fields], strict=True))
                for start in range(0, len(flat), n_fields)
            ]
        )
        index = SoftIndex.from_texts(
            texts, fields=self.fields, plain=True, analyzer=words.analyzer,
            weighting=Weighting(self.tf, self.idf, self.k1, self.b), ranking=self.ranking,
            min_df=self.min_df, max_df=self.max_df,
        )  # fmt: skip
        found = self.similarities(
            words.texts, words.analyzer, words.texts.vocabulary, language=words.language
        )
        found = replace(found, note=" ".join(filter(None, (found.note, words.note))))
        if found.source is not None:
            index = index.with_similarity(found.S, source=found.source)
        return FittedSoft(
            index, documents, found, of_fields=self.match == "fields", expand=self.expand,
            max_terms=self.max_terms, closed=self.leaves_terms_out,
            keep_stop_words=self.keep_stop_words,
        )  # fmt: skip


@dataclass(frozen=True, kw_only=True)
class SoftCosine(Soft):
    """`Soft` with ranking by soft cosine."""

    called = "soft_cosine"
    ranking: str = setting("soft_cosine", choice(*get_args(Ranking)), "ranking function")
