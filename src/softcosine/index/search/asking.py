"""How the meaning of a query is found: by the query table or by the encoder (theory T19)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Literal

from softcosine.errors import InvalidInputError
from softcosine.index.directory.snapshot import Snapshot
from softcosine.index.encoding import IndexEncoder, light_encoder
from softcosine.index.search.meaning import MeaningSearcher, QueryMeaning
from softcosine.index.search.plan import Plan
from softcosine.space.meaning import MeaningSpace, StaticQuery

__all__ = ["Ask", "Asking", "asking_of"]

Ask = Literal["words", "static", "encoder"]


@dataclass(frozen=True, slots=True)
class Asking:
    """How queries get their coordinates, and what a cosine weighs.

    Attributes
    ----------
    snapshot : Snapshot
        With a space of meaning.
    searcher : MeaningSearcher
    ask : {"static", "encoder"}
    weight : float
        Above 0.
    encoder : IndexEncoder or None
        For ``ask="encoder"``.
    note : str
        Why not the encoder, if a search by the encoder was to be expected.
    """

    snapshot: Snapshot
    searcher: MeaningSearcher
    ask: Ask
    weight: float
    encoder: IndexEncoder | None = None
    note: str = ""

    @property
    def space(self) -> MeaningSpace:
        """The space of the documents' coordinates."""
        assert self.snapshot.meaning is not None
        return self.snapshot.meaning

    def meaning(self, clauses: Sequence[tuple[str, float]]) -> QueryMeaning | None:
        """Return the meaning of a query, given its texts and their weights; None for none."""
        if self.ask == "static":
            static = self.static(clauses)
            return None if static is None else QueryMeaning(static.vector, self.weight)
        assert self.encoder is not None
        unit = self.encoder.query(self.space, " ".join(text for text, _ in clauses))
        return QueryMeaning(unit, self.weight) if unit.any() else None

    def static(self, clauses: Sequence[tuple[str, float]]) -> StaticQuery | None:
        """Return the static query, word by word; None without a query table or known words."""
        table, frequencies = self.space.table, self.snapshot.piece_frequencies
        if table is None or frequencies is None:
            return None
        words = [(word, weight) for text, weight in clauses for word, _ in table.words_of(text)]
        return self.space.static_query(words, frequencies)

    def plan(self, plan: Plan) -> Plan:
        """Return the plan of a search with the way its queries were asked."""
        how = {
            "static": "the query's coordinates are sums over the query table",
            "encoder": f"the query was encoded by {self.space.encoder}",
        }[self.ask]
        n_docs, n_encoded = self.snapshot.n_docs, self.snapshot.n_encoded
        reason = (
            f"{plan.reason}: words + {self.weight:g} x cosine; {how}{self.note}; {n_encoded:,} of "
            f"{n_docs:,} documents are encoded"
        )
        return replace(plan, reason=reason, ask=self.ask)


def asking_of(
    snapshot: Snapshot,
    ask: Ask | None,
    weight: float | None,
    ranking: str | None,
    encoder: IndexEncoder | None,
) -> Asking | None:
    """Return how queries are asked; None if by words alone.

    Parameters
    ----------
    snapshot : Snapshot
    ask : {"words", "static", "encoder"}, optional
        By default the encoder if one is given or the light one is installed, else the query table.
    weight : float, optional
        Factor of the cosine; by default that of the index for the ranking.
    ranking : str, optional
        By default that of the index.
    encoder : IndexEncoder, optional
        In place of the installed one.

    Raises
    ------
    InvalidInputError
        If the documents have no coordinates, or there is no query table.
    MissingDependencyError
        If the encoder is asked for, and not installed.
    """
    space = snapshot.meaning
    if space is None:
        if ask in ("static", "encoder") or weight:
            raise InvalidInputError(
                "the documents of this index have no coordinates, so that nothing but words can "
                "be asked; encode them first (softcosine encode INDEX, or encoder= of SoftIndex)."
            )
        return None
    if weight is None:
        weight = snapshot.settings.meaning_weights.get(ranking or snapshot.ranking, 0.0)
    if ask == "words" or not weight:
        return None
    note = ""
    if ask != "static":
        encoder = encoder or light_encoder(space.encoder)
        if encoder is None and ask == "encoder":
            encoder = IndexEncoder.of(space.encoder)
        if encoder is None and space.table is None:
            return None
        if encoder is None:
            note = f", as {space.encoder} is not installed (pip install 'softcosine[encoder]')"
        ask = "static" if encoder is None else "encoder"
    if ask == "static" and space.table is None:
        raise InvalidInputError(
            f"there is no query table for {space.encoder!r}, so that queries need the encoder; use "
            'ask="encoder" or ask="words", or make a table by `softcosine teach-queries`.'
        )
    if ask == "encoder" and encoder is not None:
        encoder.check(space)
    return Asking(snapshot, snapshot.meaning_searcher(ranking), ask, weight, encoder, note)
