"""How queries get coordinates: by the query table or by the encoder (theory T19)."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from softcosine._threads import in_threads
from softcosine.errors import InvalidInputError
from softcosine.index.directory.snapshot import Snapshot
from softcosine.index.encoding import (
    IndexEncoder,
    encoder_at_hand,
    how_to_get,
    named_encoder,
)
from softcosine.index.query.ready_query import ReadyQuery
from softcosine.index.requests import Ask, SearchOptions
from softcosine.index.search.explanation import ROUNDING, meaning_parts, parts_by_omission
from softcosine.index.search.highlights import sentences
from softcosine.index.segment.coordinates import Coordinates
from softcosine.index.spaces.meaning import no_coordinates
from softcosine.index.spaces.part import Part
from softcosine.index.spaces.plan import MEANING_ALONE, Plan
from softcosine.index.spaces.sum import meaning_of
from softcosine.space.meaning import MeaningSpace, StaticQuery
from softcosine.text.words import Span, word_spans

Clauses = Sequence[tuple[str, float]]  # texts with their weights
_READ = 1 << 15  # characters of a document whose words explain its meaning
# For one explanation: the words of a query that are left out in turn, and the characters of it and
# of a document that are read by parts, which are about those that an encoder reads of a text.
_MOST_OMITTED, _ENCODED = 32, 2_000


@dataclass(frozen=True, slots=True)
class QueryEncoding:
    """How queries get coordinates, and the weight of their cosines.

    Attributes
    ----------
    snapshot : Snapshot
        With a space of meaning, except for ``"words"``.
    ask : {"words", "static", "encoder"}
    weight : float
        0 for ``"words"``.
    encoder : IndexEncoder or None
        For ``ask="encoder"``; None if every query is a document of the index.
    note : str
        Why not the encoder, or meaning, if that was to be expected.
    """

    snapshot: Snapshot
    ask: Ask = "words"
    weight: float = 0.0
    encoder: IndexEncoder | None = None
    note: str = ""

    @property
    def space(self) -> MeaningSpace:
        """The space of the documents' coordinates."""
        assert self.snapshot.meaning is not None
        return self.snapshot.meaning

    def unit(self, clauses: Clauses, defined: Clauses = ()) -> NDArray[np.float64] | None:
        """Return the coordinates of a query, given its texts and their weights; None for none.

        `defined` are its texts with your synonyms in place of words, by field.
        """
        if self.ask == "words":
            return None
        if self.ask == "static":
            static = self.static([*clauses, *defined])
            return None if static is None else static.vector
        assert self.encoder is not None
        unit = self.encoder.query(self.space, " ".join(text for text, _ in clauses))
        if defined:
            other = self.encoder.query(self.space, " ".join(text for text, _ in defined))
            both = unit + sum(weight for _, weight in defined) / len(defined) * other
            unit = both / (math.sqrt(math.fsum(both * both)) or 1.0)
        return unit if unit.any() else None

    def knows_words(self, clauses: Clauses) -> bool:
        """Whether an encoder of several languages may know the words that no document has."""
        if self.encoder is None or self.ask == "static":
            return False
        knows = getattr(self.encoder.of_queries, "knows_words", None)
        return knows is not None and bool(knows(" ".join(text for text, _ in clauses)))

    def static(self, clauses: Clauses) -> StaticQuery | None:
        """Return the static query, word by word; None without a query table or known words."""
        frequencies = self.snapshot.piece_frequencies
        if self.space.table is None or frequencies is None:
            return None
        return self.space.static_query(clauses, frequencies)

    def parts(self, query: ReadyQuery, number: int) -> list[Part]:
        """Return the contributions of words to the cosine of a query and a document."""
        assert query.unit is not None
        meaning = meaning_of(self.snapshot)
        unit, asked, slope = meaning.unit(number), self.static(query.texts), meaning.slope
        pair = query.unit, self.weight
        if self.space.static:
            return meaning_parts(unit, *pair, (asked, self._summed(number)), ROUNDING)
        if query.without and unit is not None:
            return parts_by_omission(unit, *pair, query.without, slope)
        return meaning_parts(
            unit, *pair, (asked, self.static(self.clauses_of(number))), slope=slope
        )

    def without_words(
        self, clauses: Clauses, defined: Clauses
    ) -> tuple[tuple[str, NDArray[np.float64]], ...]:
        """Return the words of a query, and its coordinates without each; see `ReadyQuery.without`.

        Empty where a table explains its meaning.

        The encoder reads the query once for each of its words, stop words aside.
        """
        text, places = " ".join(text for text, _ in clauses), dict[str, list[Span]]()
        if self.encoder is None or self.space.table is not None or len(text) > _ENCODED:
            return ()
        cut = self.snapshot.analyzer.cut or getattr(self.encoder.of_queries, "cut", None)
        for span in word_spans(text, cut):
            places.setdefault(span.word, []).append(span)
        words = [one for one in places if one not in self.snapshot.stop_words] or [*places]

        def unit(word: str) -> NDArray[np.float64]:
            rest = text
            for start, end, _ in reversed(places[word]):
                rest = f"{rest[:start]} {rest[end:]}"
            left = self.unit([(rest, 1.0)], defined) if rest.strip() else None
            return np.zeros(self.space.dimensions) if left is None else left

        words = words[:_MOST_OMITTED]
        return tuple(zip(words, in_threads(unit, words, None), strict=True))

    def passage(self, query: NDArray[np.float64], number: int) -> str:
        """Return the sentence of a stored text whose sum of word pieces is nearest to a query.

        Without a query table, the encoder reads the sentences of the beginning. Empty without
        either, and for a text of one sentence.
        """
        text = self.snapshot.documents.text(number)
        most = _ENCODED if self.space.table is None else _READ
        places = [one for one in sentences(text) if one[0] < most]
        found = [" ".join(text[slice(*one)].split()) for one in places]
        nearest = self.nearest(query, found, self.encoder) if len(found) > 1 else None
        return "" if nearest is None else found[nearest]

    def nearest(
        self, query: NDArray[np.float64], texts: Sequence[str], encoder: IndexEncoder | None = None
    ) -> int | None:
        """Return which text has the nearest sum of word pieces; None without a query table.

        Without one, an encoder reads the texts if it is given.
        """
        if self.space.table is not None:
            vectors = self.space.static_coordinates(texts)
        elif encoder is not None and encoder.encoder is not None:
            vectors = replace(encoder, cache=None).documents(self.space, texts)
        else:
            return None
        own = Coordinates.of(vectors)
        return int(np.argmax(own.vectors @ query * own.inverse_lengths))

    def _summed(self, number: int) -> StaticQuery | None:
        """Return the coordinates of a document without an encoder, word by word."""
        assert self.space.table is not None
        text = self.snapshot.documents.text(number)
        counts = Counter(self.space.table.pieces.split(text))
        return self.space.static_query([(word, float(n)) for word, n in counts.items()])

    def clauses_of(self, number: int) -> tuple[tuple[str, float], ...]:
        """Return the beginning of a document's stored text as a query."""
        return ((self.snapshot.documents.text(number)[:_READ], 1.0),)

    def plan(self, plan: Plan, query: ReadyQuery) -> Plan:
        """Return the plan of a search with the origin of the query's coordinates."""
        if query.unit is None:
            note = self.note if self.ask == "words" else ""
            ranks = self.snapshot.ranked_by("words")
            return replace(plan, reason=plan.reason + note, ranks=ranks)
        how = "the query's coordinates are sums over the query table"
        if self.ask == "encoder":
            reader = self.encoder and self.encoder.of_queries
            how = f"the query was encoded by {reader.name if reader else self.space.encoder}"
        n_docs, n_encoded = self.snapshot.n_docs, self.snapshot.n_encoded
        done = "are encoded"
        if self.space.static:
            how, done = "coordinates are sums over the query table", "have coordinates"
        mean = self.snapshot.settings.mean_cosine
        above = "" if mean is None else f" above chance ({mean:g})"
        reason = (
            f"{plan.reason}: words + {self.weight:g} x cosine{above}; {how}{self.note}; "
            f"{n_encoded:,} of {n_docs:,} documents {done}"
        )
        ranks = self.snapshot.ranked_by(self.ask)
        if plan.method == MEANING_ALONE.method:
            ranks = ranks[ranks.index("meaning") :]
        return replace(plan, reason=reason, ask=self.ask, ranks=ranks)


def meaning_weight(snapshot: Snapshot, weight: float | None, ranking: str | None) -> float:
    """Return the weight of a cosine: as given, else that of the index; 0 without coordinates.

    Raises
    ------
    InvalidInputError
        If a weight above 0 is given and the documents have no coordinates.
    """
    if snapshot.meaning is None:
        if weight:
            raise no_coordinates()
        return 0.0
    if weight is not None:
        return weight
    return snapshot.settings.meaning_weights.get(ranking or snapshot.ranking, 0.0)


def document_encoding(snapshot: Snapshot, request: SearchOptions) -> QueryEncoding:
    """Return the encoding of queries that are documents of the index.

    Errors are those of `meaning_weight`.
    """
    weight = meaning_weight(snapshot, request.meaning, request.ranking)
    return QueryEncoding(snapshot, "encoder" if weight else "words", weight)


def query_encoding(
    snapshot: Snapshot, request: SearchOptions, encoder: IndexEncoder | None
) -> QueryEncoding:
    """Return how queries get coordinates.

    Parameters
    ----------
    snapshot : Snapshot
    request : SearchOptions
        By default the encoder if one is given or the light one is installed, else the query table.
    encoder : IndexEncoder, optional
        In place of the installed one.

    Raises
    ------
    InvalidInputError
        If the documents have no coordinates, there is no query table, or the encoder must be given.
    MissingDependencyError
        If the query needs the encoder, and it is not installed.
    """
    ask = request.ask
    space = snapshot.meaning
    if space is None and ask in ("static", "encoder"):
        raise no_coordinates()
    weight = meaning_weight(snapshot, request.meaning, request.ranking)
    alone = QueryEncoding(snapshot)
    if space is None or ask == "words" or not weight:
        return alone
    note = ""
    if space.static:
        if ask == "encoder":
            raise InvalidInputError(
                "no encoder has read the documents of this index, so that none can read queries; "
                'use ask="static" or ask="words", or let one read them: softcosine admin encode '
                "INDEX --encoder minilm."
            )
        ask = "static"
    if ask != "static":
        encoder = encoder_at_hand(encoder, space.encoder)
        if encoder is None and ask == "encoder":
            encoder = named_encoder(space.encoder)
        if encoder is None and space.table is None:
            return replace(
                alone, note=f": words alone, as {space.encoder} is {how_to_get(space.encoder)}"
            )
        if encoder is None:
            note = f", as {space.encoder} is {how_to_get(space.encoder)}"
        ask = "static" if encoder is None else "encoder"
    if ask == "static" and space.table is None:
        raise InvalidInputError(
            f"there is no query table for {space.encoder!r}, so that queries need the encoder; use "
            'ask="encoder" or ask="words", or make a table by `softcosine admin teach`.'
        )
    if ask == "encoder" and encoder is not None:
        encoder.check(space)
    return QueryEncoding(snapshot, ask, weight, encoder, note)
