"""Fitted system on a `SoftIndex`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from softcosine.evaluate.documents import Documents
from softcosine.evaluate.systems.fitted import check_partners, products
from softcosine.evaluate.systems.partners import Partners
from softcosine.evaluate.systems.rows import ranked_lists, unit_rows
from softcosine.evaluate.systems.sentence_model import SentenceModel
from softcosine.evaluate.systems.system import Ranked
from softcosine.index.search.explanation import Explanation
from softcosine.index.soft_index import SoftIndex
from softcosine.matrix.recipe import BuiltSimilarity
from softcosine.space.chance import above_chance, slope_of
from softcosine.space.measures import paired_soft_cosine_similarity

_RANKED = {"background": {"exists": False}}


def index_of(
    documents: Documents,
    background: Sequence[str],
    fields: Mapping[str, float] | None,
    **options: Any,
) -> SoftIndex:
    """Return an index of documents, and of background texts for its statistics.

    Parameters
    ----------
    documents, background, fields
        See `Documents.rows`; the fields have weights.
    **options
        As for `SoftIndex.from_texts`.
    """
    metadata = [None] * len(documents) + [{"background": True}] * len(background)
    rows = documents.rows(fields or (), background)
    return SoftIndex.from_texts(rows, fields=fields, metadata=metadata, **options)


@dataclass(frozen=True, slots=True)
class FittedSoft:
    """Ranks as `SoftIndex.search`, without query syntax.

    Attributes
    ----------
    index : SoftIndex
        Made by `index_of`; a document is named after its number.
    documents : Documents
    options : mapping
        Options of searches and scores.
    finding : mapping
        Options of searches alone.
    of_fields : bool
        Whether each field is compared with the query's field of the same name.
    similarities : BuiltSimilarity or None
        For pairs.
    closed : bool
        For pairs; see `softcosine.evaluate.systems.analysis.Corpus`.
    model : SentenceModel or None
        Encoder of the documents.
    threads : int or None
    """

    index: SoftIndex
    documents: Documents
    options: Mapping[str, Any] = field(default_factory=dict)
    finding: Mapping[str, Any] = field(default_factory=dict)
    of_fields: bool = False
    similarities: BuiltSimilarity | None = None
    closed: bool = False
    model: SentenceModel | None = None
    threads: int | None = None

    @property
    def note(self) -> str:
        """Note on the source of the similarities, and on what reads the documents."""
        told = "" if self.similarities is None else self.similarities.note
        spent = "" if self.model is None else self.model.note
        return " ".join(filter(None, (told, self.index.snapshot.read_by, spent)))

    def ranked(self, queries: Documents, *, k: int) -> Ranked:
        """Return the `k` best documents for each query."""
        where = None if len(self.index) == len(self.documents) else _RANKED
        found = self.index.ranked(
            self._texts(queries), k=k, where=where, syntax=False, threads=self.threads,
            **self.finding, **self.options,
        )  # fmt: skip
        lists = ((top.documents, top.scores) for top in found)
        return ranked_lists(lists, n_queries=len(queries), k=k)

    def scored(
        self, queries: Documents, candidates: Sequence[NDArray[np.int64]]
    ) -> list[NDArray[np.float64]]:
        """Return the scores of given documents, bit-identical to those of `ranked`.

        Documents of other words get one too where `ranked` leaves them out for a low cosine.
        """
        return [
            self.index.scores(text, [str(n) for n in numbers], syntax=False, **self.options)
            for text, numbers in zip(self._texts(queries), candidates, strict=True)
        ]

    def paired(self, left: Sequence[str], right: Sequence[str]) -> NDArray[np.float64]:
        """Return the soft cosine of each text and its partner; S is extended by new words.

        With an encoder, the mean of it and the cosine of the meaning.
        """
        check_partners(left, right)
        if not len(left):
            return np.empty(0)
        assert self.similarities is not None
        snapshot = self.index.snapshot
        partners = Partners.of(
            left, right, self.index.analyzer, self.similarities, closed=self.closed
        )
        X, Y = partners.weighted(self.index.weighting, snapshot.statistics[0].average_length)
        words = paired_soft_cosine_similarity(X, Y, partners.S)
        if self.model is None or snapshot.meaning is None:
            return words
        weight = snapshot.settings.meaning_weights["soft_cosine"]
        vectors = self.model.vectors([*left, *right], self.model.prompts.document)
        if not vectors.any():  # all texts are blank
            return words / (1 + weight)
        units = unit_rows(snapshot.meaning.coordinates(vectors).astype(np.float64))
        n, known = len(left), units.any(axis=1)
        slope = slope_of(snapshot.settings.mean_cosine)
        meant = above_chance(products(units[:n], units[n:]), slope, known[:n] & known[n:])
        return (words + weight * meant) / (1 + weight)

    def explained(self, query: Documents, number: int) -> Explanation:
        """Return the pairs of similar words and their contributions to the score."""
        (text,) = self._texts(query)
        found = self.index.explain(text, str(number), syntax=False, **self.options)
        return replace(found, id=self.documents.ids[number])

    def _texts(self, queries: Documents) -> list[Any]:
        """Return the queries; with an encoder, encode them all at once, which is faster."""
        ask, weight = self.options.get("ask"), self.options.get("meaning")
        if self.model is not None and ask in (None, "encoder") and weight != 0:
            self.model.vectors(queries.texts, self.model.prompts.query)
        if not self.of_fields:
            return queries.texts
        columns = {
            field.name: queries.fields.get(field.name, queries.texts) for field in self.index.fields
        }
        rows = zip(*columns.values(), strict=True)
        return [dict(zip(columns, texts, strict=True)) for texts in rows]
