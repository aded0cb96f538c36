"""Execution of searches: from queries and a request to hits."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache, partial
from itertools import chain, compress
from operator import not_
from typing import Any, Self

import numpy as np
from msgspec import structs
from numpy.typing import NDArray

from softcosine._deadline import check_deadline
from softcosine._threads import in_threads, n_threads
from softcosine.errors import InvalidInputError
from softcosine.index.directory.snapshot import Snapshot
from softcosine.index.query.constraints import Mask, Restrictions, all_of, sharing
from softcosine.index.query.parser import Clause, has_unmatched_quote, parse_syntax
from softcosine.index.query.query_vectors import (
    ParsedQuery,
    Query,
    QueryVector,
    heaviest,
    parse_clauses,
    query_text,
    query_vector,
)
from softcosine.index.query.ready_query import FLOOR_OF_LANGUAGES, FLOOR_OF_UNKNOWN, ReadyQuery
from softcosine.index.query.suggestions import Suggestion, spellings_of
from softcosine.index.requests import SearchOptions, key_path
from softcosine.index.search.explanation import Explanation
from softcosine.index.search.facets import Facets, facet_counts, ordered_facets
from softcosine.index.search.first_stage import Staged, by_heaviest_terms, n_candidates
from softcosine.index.search.highlights import (
    MAX_TEXT,
    Snippet,
    Worth,
    Worths,
    by_worth,
    snippet,
    without_title,
)
from softcosine.index.search.matches import Matches, count, why_none_passes
from softcosine.index.search.query_encoding import QueryEncoding
from softcosine.index.search.results import Hit, Hits
from softcosine.index.search.sorting import parse_sort
from softcosine.index.segment.documents import Document, title_of
from softcosine.index.segment.metadata_columns import MISSING, value_at
from softcosine.index.segment.segment import AllWords, Ways, holding_each
from softcosine.index.spaces.plan import MEANING, NOTHING, SHARING
from softcosine.index.spaces.space import Limits, Space, Top, documents_in
from softcosine.index.spaces.sum import PreparedSum, Sum, meaning_of, ranking_of, words_of
from softcosine.index.spaces.words import Words
from softcosine.text.analyzer import shortened

# Number of best documents to select from: enough for variety, few enough to be all relevant.
LEAST_CANDIDATES, CANDIDATES_A_HIT = 50, 5


def by_marginal_relevance(
    scores: NDArray[np.float64],
    similarities: Callable[[int], NDArray[np.float64]],
    *,
    balance: float,
    n: int,
) -> NDArray[np.int64]:
    r"""Order documents so that each is relevant and different from those before it.

    Each step takes the document with the largest

    .. math:: \lambda \frac{s_d}{s_1} - (1 - \lambda) \max_{e \text{ taken}} \cos_S(d, e)

    Scores :math:`s` are divided by the best one, :math:`s_1`, because soft BM25 has no upper limit.
    The maximum over no documents is 0; ties go to the first document. See Carbonell & Goldstein
    1998, who use a cosine as the relevance.

    Parameters
    ----------
    scores : ndarray of shape (n_documents,), float64
        Positive, best first.
    similarities : callable
        Returns the similarities of a document (by index) with all, shape (n_documents,).
    balance : float
        :math:`\lambda`, in [0, 1]; 1 keeps the order of the scores.
    n : int
        Number of documents to select; the others follow by score.

    Returns
    -------
    ndarray of shape (n_documents,), int64
        Indices in the new order.
    """
    if not len(scores):
        return np.empty(0, np.int64)
    relevance = scores / scores[0]
    nearest = np.zeros(len(scores))
    left = np.ones(len(scores), bool)
    order: list[int] = []
    for _ in range(min(n, len(scores))):
        check_deadline()
        marginal = np.where(left, balance * relevance - (1.0 - balance) * nearest, -np.inf)
        place = int(np.argmax(marginal))
        own = similarities(place)
        nearest = np.maximum(nearest, own) if order else own
        left[place] = False
        order.append(place)
    return np.concatenate([np.array(order, np.int64), np.flatnonzero(left)])


# Of the best score, without what a document gets for every word: from here on, documents are sorted
# and counted; docs/decisions.md.
SHARES_OF_BEST = {"words": 0.3, "static": 0.3, "encoder": 0.4}
RARE = 10  # documents that contain a word, which all fit on a page
FEW_WORDS = 3  # that count in a query that is looked for as it is: names, commands, part numbers
_UNMATCHED_QUOTE = "A quotation mark has no partner, so it is read as text"
_LOOKED_UP = 100  # unknown words of a query that are corrected, or get suggestions
_NEAREST = 1000  # documents without a word of the query that are sorted by metadata
# Of the greatest weight of a query's words: similar words below it are not marked in passages.
_CARRYING = 0.05
# Characters of all hits, and of each at least, that are searched for passages.
_READ, _LEAST_READ = 2_000_000, 2_000
_FILLED_AT_ONCE = 4096  # documents scored at once for `fill`


@dataclass(frozen=True, slots=True)
class Page:
    """A query, the hits of its page without their documents, and the facets.

    `missing` are the shards that did not answer in time, and `note` says what is sorted or counted.
    """

    query: ReadyQuery
    top: Top
    facets: Facets
    missing: tuple[str, ...] = ()
    note: str = ""


@dataclass(frozen=True, slots=True)
class Search:
    """What the queries of a request have in common.

    Attributes
    ----------
    snapshot : Snapshot
    request : SearchOptions
    ranking : Sum
        Of words and meaning.
    encoding : QueryEncoding
    restrictions : Restrictions
        Which documents its queries may return.
    """

    snapshot: Snapshot
    request: SearchOptions
    ranking: Sum[Space]
    encoding: QueryEncoding
    restrictions: Restrictions

    @classmethod
    def of(
        cls, snapshot: Snapshot, request: SearchOptions, encoding: QueryEncoding | None = None
    ) -> Self:
        """Return the search of a request; by words alone without an encoding."""
        encoding = encoding or QueryEncoding(snapshot)
        ranking = ranking_of(snapshot, request.ranking, encoding.weight)
        return cls(snapshot, request, ranking, encoding, Restrictions.of(snapshot, request))

    @property
    def words(self) -> Sum[Words]:
        """The words of every field, by the ranking of the request."""
        return words_of(self.snapshot, self.request.ranking)

    @property
    def ranking_name(self) -> str:
        """The name of the ranking of words."""
        return self.request.ranking or self.snapshot.ranking

    @property
    def n_candidates(self) -> int:
        """Number of best documents that the order by marginal relevance selects from."""
        return max(LEAST_CANDIDATES, CANDIDATES_A_HIT * self.request.k)

    @property
    def n_ranked(self) -> int:
        """Number of best documents to find; at least one, because the plan comes with it."""
        mmr = self.request.mmr is not None
        return max(1, self.request.n_wanted, self.n_candidates if mmr else 0)

    def execute(self, queries: Sequence[Query], threads: int | None) -> list[Hits]:
        """Return the hits of queries."""
        return self.hits(self.pages(queries, threads))

    def pages(self, queries: Sequence[Query], threads: int | None) -> Iterator[Page]:
        """Return the page of each query, without reading documents."""
        threads = n_threads(threads)
        ready, request = self.all_ready(queries, threads), self.request
        if request.all_matching:
            ready = in_threads(self.completed, ready, threads)
        # Mmr takes long, and all else that is left little.
        pages = in_threads(
            lambda pair: self.arranged(*pair),
            list(zip(ready, self.found(ready, threads), strict=True)),
            1 if request.mmr is None else threads,
        )
        return iter(pages)

    def like(self, id: str) -> Hits:
        """Return the documents most similar to a document of the index, without itself."""
        query, number = self.document(id)
        others = replace(self, request=structs.replace(self.request, k=self.request.k + 1))
        (matches,) = others.found([query])
        top = others.best(query, matches)
        top = top.at(np.flatnonzero(top.documents != number))
        (hits,) = self.hits([Page(query, self.page(top), {}, matches.missing)])
        return hits

    # Parse: from a query or a document to terms, vectors, meaning and constraints.

    def all_ready(self, queries: Sequence[Query], threads: int | None = None) -> list[ReadyQuery]:
        """Return queries as `ready` does, on several threads if an encoder reads them."""
        slow = self.encoding.ask == "encoder"
        return in_threads(self.ready, queries, threads if slow else 1)

    def ready(self, query: Query, *, by_word: bool = False) -> ReadyQuery:
        """Return a query, parsed, weighted and limited to `max_terms`, with its meaning.

        With `by_word`, also with its meaning without each word.
        """
        snapshot, alike = self.snapshot, not isinstance(query, Mapping)
        corrected: dict[str, str] = {}
        if isinstance(query, Mapping):
            by_field = [self._parsed((Clause(text),)) for text in _by_field(query, snapshot)]
            parsed = [one for _, one, _ in by_field]
            corrected = {word: new for *_, words in by_field for word, new in words.items()}
            clauses: tuple[Clause, ...] = (Clause(query_text(query)).corrected(corrected),)
        else:
            clauses, once, corrected = self._parsed(parse_syntax(query, self.request.syntax))
            parsed = [once] * len(snapshot.fields)
        limited, vectors = self._limited(tuple(parsed), alike=alike)
        texts = tuple(
            (query_text(one.text), one.weight) for one in clauses if one.kind != "must_not"
        )
        defined = tuple({one.defined: one.likeness for one in parsed if one.defined}.items())
        ready = ReadyQuery(
            vectors, self.encoding.unit(texts, defined), shown=query_text(query), parsed=limited,
            constraints=self.restrictions.of_query(clauses), texts=texts + defined,
            corrected=corrected,
        )  # fmt: skip
        if alike:
            quotes = self.request.syntax is not False and has_unmatched_quote(clauses)
            few = self._few(clauses, parsed[0]) if ready.unit is not None else ()
            ready = replace(ready, all_words=few, unmatched_quote=quotes)
        if ready.unit is None:
            return ready
        if by_word:
            ready = replace(ready, without=self.encoding.without_words(texts, defined))
        if not ready.absent or not any(one.unknown for one in limited):
            return ready
        if self.encoding.knows_words(ready.texts):
            return replace(ready, floor=FLOOR_OF_LANGUAGES)
        if any(one.outside for one in limited):
            return ready
        return replace(ready, floor=FLOOR_OF_UNKNOWN)

    def _parsed(
        self, clauses: tuple[Clause, ...]
    ) -> tuple[tuple[Clause, ...], ParsedQuery, dict[str, str]]:
        """Return clauses with misspelt words corrected, their terms, and the corrections."""
        snapshot, request = self.snapshot, self.request
        parsed = parse_clauses(clauses, snapshot, keep_stop_words=request.keep_stop_words)
        if not request.correct or not parsed.unknown:
            return clauses, parsed, {}
        corrections = dict[str, str]()
        for word in parsed.unknown[:_LOOKED_UP]:
            check_deadline()
            if correction := spellings_of(snapshot).correction(word):
                corrections[word] = correction
        clauses = tuple(clause.corrected(corrections) for clause in clauses)
        again = parse_clauses(clauses, snapshot, keep_stop_words=request.keep_stop_words)
        replaced = {word: new for word, new in corrections.items() if word not in again.unknown}
        return clauses, again, replaced

    def _few(self, clauses: Sequence[Clause], parsed: ParsedQuery) -> AllWords:
        """Return the words of a query in which few count, the first among them, if all are indexed.

        A query that begins with another word is a question. Where names in capitals are the only
        indexed words, they count by their share of the words: *IT ticket*. Of words that fill a
        page of hits, one will do: the ways of all are those of one word.
        """
        asked, said = [one for one in clauses if one.kind != "must_not"], parsed.said
        if len(asked) != 1 or not asked[0].plain or not 0 < len(said) <= FEW_WORDS:
            return ()
        known = [word for word in said if word.ways]
        share = np.float32(len(known) / len(said))
        if said[0].start or (share < 1.0 and not all(word.name for word in known)):
            return ()
        words = [tuple((terms, float(value * share)) for terms, value in one.ways) for one in known]
        rare = tuple(ways for ways in words if self._frequency(ways) <= RARE)
        return rare or (tuple(chain(*words)),)

    def _frequency(self, ways: Ways) -> float:
        """Return in how many documents a word is, at most, written in any of the ways."""
        counts = [one.document_frequencies.item for one in self.snapshot.statistics]
        return sum([min(map(count, terms)) for count in counts for terms, _ in ways])

    def _limited(
        self, parsed: tuple[ParsedQuery, ...], *, alike: bool
    ) -> tuple[tuple[ParsedQuery, ...], tuple[QueryVector, ...]]:
        """Return a query with its `max_terms` heaviest terms, and its vector for every field.

        If the fields have queries that are `alike`, the weights of all fields count together.
        """
        limit, vectors = self.request.max_terms, query_vectors(self.snapshot, self.words, parsed)
        if limit is None or all(len(one.terms) <= limit for one in parsed):
            return parsed, vectors
        weights = [vector.weights for vector in vectors]
        if alike:
            pairs = zip(self.words.weights, weights, strict=True)
            none = np.zeros(len(parsed[0].terms))
            weights = [sum((weight * one for weight, one in pairs), none)] * len(parsed)
        parsed = tuple(
            heaviest(one, of_terms, limit) for one, of_terms in zip(parsed, weights, strict=True)
        )
        return parsed, query_vectors(self.snapshot, self.words, parsed)

    def document(self, id: str) -> tuple[ReadyQuery, int]:
        """Return a document as a query, and its number.

        Each of its fields is compared with the same field.
        """
        number = self.snapshot.documents.number(id)
        known, vocabulary = document_words(self.snapshot, number), self.snapshot.S.vocabulary
        parsed = []
        for terms, frequencies in self.snapshot.rows(number):
            names = map(vocabulary.term, terms.tolist())
            parsed.append(
                ParsedQuery(terms, frequencies, tuple(known.get(name, name) for name in names))
            )
        vectors = query_vectors(self.snapshot, self.words, parsed)
        ready = ReadyQuery(vectors, shown=f"like {id}", parsed=tuple(parsed), is_document=True)
        if self.encoding.ask == "words":
            return ready, number
        unit = meaning_of(self.snapshot).unit(number)
        return replace(ready, unit=unit, texts=self.encoding.clauses_of(number)), number

    # Match: the documents that may be returned, and what a page needs of those that match.

    def completed(self, query: ReadyQuery) -> ReadyQuery:
        """Return a query with what depends on all documents of the index."""
        request = self.request
        if request.min_score is None and not request.fill:
            best = structs.replace(request, k=1, offset=0, sort=None, facets=[])
            (matches,) = replace(self, request=best).found([replace(query, all_words=())])
            share = SHARES_OF_BEST[self.encoding.ask]
            query = replace(query, least=share * matches.best.best(1).scores.sum())
        if query.unit is None:
            return query
        near = self.nearest(query, _NEAREST)
        return replace(query, near=np.sort(near.documents))

    def nearest(self, query: ReadyQuery, n: int) -> Top:
        """Return the nearest documents that the query may return, with their cosines."""
        meaning = replace(self.ranking, summands=((1.0, meaning_of(self.snapshot)),))
        limits = Limits(k=n, allowed=self._allowed(query), threads=1)
        return meaning.prepare(replace(query, all_words=())).best(limits)

    def _allowed(self, query: ReadyQuery) -> Sequence[Mask | None]:
        """Return the documents that a query may return: for `expand=False`, with a term of it."""
        masks = self.restrictions.masks(query.constraints)
        if self.request.expand:
            return masks
        return [
            all_of([mask, sharing(segment, [one.terms for one in query.vectors])])
            for segment, mask in zip(self.snapshot.segments, masks, strict=True)
        ]

    def found(self, queries: Sequence[ReadyQuery], threads: int | None = 1) -> Iterator[Matches]:
        """Return what matches each query."""
        request = self.request
        one_by_one = request.all_matching or request.fill or not request.expand
        alone = [
            one_by_one or one.constraints is not None or request.stage is not None
            for one in queries
        ]
        together = list(compress(queries, map(not_, alone)))
        limits = self._best_limits(self.restrictions.filtered, threads)
        tops = iter(self.ranking.best(together, limits) if together else ())
        pairs = [
            (query, None if apart else next(tops))
            for query, apart in zip(queries, alone, strict=True)
        ]
        return iter(in_threads(lambda pair: self._cut(*pair), pairs, threads if any(alone) else 1))

    def _cut(self, query: ReadyQuery, top: Top | None) -> Matches:
        """Return what matches a query, cut to what a page can need.

        All matches of many queries take too much memory. `top` are the best documents, if they are
        known.
        """
        check_deadline()
        if top is not None:
            return Matches(top)
        request, keys = self.request, parse_sort(self.request.sort)
        if request.stage is not None:
            return Matches(self.rescored(query, self.candidates(query)))
        allowed, prepared, every = self._allowed(query), self.ranking.prepare(query), None
        if request.all_matching:
            every = self._matching(query, prepared, allowed)
        if every is not None and (keys or query.unit is None):
            top = every
        else:
            top = prepared.best(self._best_limits(allowed, 1))
        matches = Matches(top)
        if request.fill and (request.min_score or 0.0) <= 0.0:
            masks = self.restrictions.masks(query.constraints)
            matches = replace(matches, zeros=self._zeros(prepared.words, masks, top))
        if every is None:
            return matches
        taken = every.at(np.flatnonzero(every.scores >= query.least))
        if keys:
            first = Matches.sorted_by(self.snapshot, taken, keys, request.n_wanted)
            matches = replace(first, zeros=matches.zeros)
        else:
            matches = replace(matches, best=top.best(self.n_ranked))
        facets = facet_counts(self.snapshot, request.facets, taken.documents)
        n_matching, n_taken = len(every.documents), len(taken.documents)
        return replace(matches, facets=facets, n_matching=n_matching, n_taken=n_taken)

    def _best_limits(
        self, allowed: Sequence[Mask | None], threads: int | None, k: int | None = None
    ) -> Limits:
        least = self.request.min_score or 0.0
        return Limits(k=k or self.n_ranked, min_score=least, allowed=allowed, threads=threads)

    def _matching(
        self, query: ReadyQuery, prepared: PreparedSum, allowed: Sequence[Mask | None]
    ) -> Top:
        """Return every document that matches by words, or that meaning adds, best first."""
        n_docs = max(1, self.snapshot.n_docs)
        limits = self._best_limits(allowed, 1, n_docs)
        if prepared.active == prepared.summands[:1]:
            return prepared.best(limits)
        found = [prepared.words.best(replace(limits, min_score=0.0)).documents]
        if query.near is not None:
            found.append(query.near)
        if query.all_words:  # whatever these are worth by words and by meaning
            segments = self.ranking.segments
            holding = [
                mask & (holding_each(segment.fields, query.all_words) > 0.0)
                for segment, mask in zip(
                    self.snapshot.segments, limits.masks(segments), strict=True
                )
            ]
            found.append(documents_in(segments, holding))
        documents = np.unique(np.concatenate(found))
        scores, hits = prepared.scored(documents)
        return limits.best(documents[hits], scores[hits], MEANING)

    def _zeros(
        self, words: PreparedSum, allowed: Sequence[Mask | None], matched: Top
    ) -> NDArray[np.int64]:
        """Return documents of score 0 by words, in order of insertion, to fill the page."""
        missing = self.request.n_wanted - len(matched.documents)
        found = [np.empty(0, np.int64)]
        for first, segment, mask in zip(
            self.snapshot.documents.firsts, self.snapshot.segments, allowed, strict=True
        ):
            passing = segment.mask if mask is None else segment.mask & mask
            rest = np.setdiff1d(np.flatnonzero(passing) + first, matched.documents)
            for begin in range(0, len(rest), _FILLED_AT_ONCE):
                if missing <= 0:
                    break
                check_deadline()
                some = rest[begin : begin + _FILLED_AT_ONCE]
                # Skip negative scores, and documents without a required common term.
                zeros = some[words.exact(some) == 0.0][:missing]
                found.append(zeros)
                missing -= len(zeros)
        return np.concatenate(found)

    # Rank: the candidates of a first stage, exact scores, and their order.

    def candidates(self, query: ReadyQuery) -> Top:
        """Return the candidates of a query by its first stage, not yet scored exactly."""
        assert self.request.stage is not None
        words = by_heaviest_terms(query, self.words, self.request.stage.terms)
        n = n_candidates(self.request.stage, self.n_ranked, query)
        return words.best(Limits(k=n, allowed=self._allowed(query), threads=1))

    def rescored(self, query: ReadyQuery, candidates: Top) -> Staged:
        """Return candidates of a query with their exact scores."""
        stage = self.request.stage
        assert stage is not None
        return Staged(
            candidates, self.scores(query, candidates.documents),
            n_candidates(stage, self.n_ranked, query), stage,
            max(self.request.min_score or 0.0, 0.0), query.unit is not None,
        )  # fmt: skip

    def scores(self, query: ReadyQuery, documents: NDArray[np.int64]) -> NDArray[np.float64]:
        """Return the scores of documents, in the given order."""
        return self.ranking.prepare(query).exact(documents)

    def scores_of(self, query: ReadyQuery, ids: Sequence[str]) -> NDArray[np.float64]:
        """Return the scores of documents, given by their ids."""
        numbers = np.array([self.snapshot.documents.number(id) for id in ids], np.int64)
        return self.scores(query, numbers)

    def best(self, query: ReadyQuery, matches: Matches) -> Top:
        """Return the best documents of what matches, with the plan of the search."""
        group = matches.best
        if isinstance(group, Staged) and group.searched_exactly:
            exactly = replace(self, request=structs.replace(self.request, first_stage=None))
            group = next(exactly.found([query])).best
        top = group.best(self.n_ranked)
        plan = top.plan
        if not self.request.expand and plan.method != NOTHING.method:
            told = f"{plan.reason}; {SHARING.reason}"
            plan = SHARING if query.unit is None else replace(plan, reason=told)
        return replace(top, plan=self.encoding.plan(plan, query))

    def arranged(self, query: ReadyQuery, matches: Matches) -> Page:
        """Return the page, in the order of marginal relevance and filled if requested."""
        request, top = self.request, self.best(query, matches)
        if request.mmr is not None:
            n = self.n_candidates
            order = by_marginal_relevance(
                top.scores[:n], self.similarities(top.documents[:n]),
                balance=request.mmr, n=request.n_wanted,
            )  # fmt: skip
            top = top.at(np.concatenate([order, np.arange(len(order), len(top.documents))]))
        zeros = matches.zeros[: max(0, request.n_wanted - len(top.documents))]
        top = Top.together([top, Top(zeros, np.zeros(len(zeros)), top.plan)])
        done = " and ".join(["sorted"] * bool(request.sort) + ["counted"] * bool(request.facets))
        note = (
            f"{matches.n_taken:,} of {matches.n_matching:,} documents that match at all are "
            f"{done}, those from score {query.least:.3g} on; min_score=0 for all"
        ) * (matches.n_taken < matches.n_matching)
        facets = ordered_facets(matches.facets)
        return Page(query, self.page(top), facets, matches.missing, note)

    def similarities(self, documents: NDArray[np.int64]) -> Callable[[int], NDArray[np.float64]]:
        """Return a function of a place: the soft cosines of the document there with all."""
        return partial(soft_cosines, self.snapshot, documents)

    def page(self, top: Top) -> Top:
        """Return the results of the page."""
        return top.at(slice(self.request.offset, self.request.n_wanted))

    # Fetch: stored fields, passages and explanations.

    def hits(self, pages: Iterable[Page]) -> list[Hits]:
        """Return the results of pages with their documents."""
        return [
            self._hits(page, self.snapshot.documents.records(page.top.documents.tolist()))
            for page in pages
        ]

    def _hits(self, page: Page, documents: Sequence[Document]) -> Hits:
        snapshot, query, top = self.snapshot, page.query, page.top
        stems = snapshot.once("stems", dict[str, str])
        worths = cache(lambda: Worths(snapshot.analyzer, self._word_weights(query), stems))
        most = min(MAX_TEXT, max(_LEAST_READ, _READ // max(1, len(documents))))

        def nearest(texts: Sequence[str]) -> int | None:
            return None if query.unit is None else self.encoding.nearest(query.unit, texts)

        def passage(text: str, title: str | None) -> Snippet:
            return snippet(without_title(text, title), worths(), nearest=nearest, most=most)

        names = tuple(field.name for field in snapshot.fields)
        rows = zip(documents, top.scores.tolist(), top.documents.tolist(), strict=True)
        hits = [
            Hit(one.id, score, one.text, one.metadata, number, title_of(one, names), passage)
            for one, score, number in rows
        ]
        absent = [word for parsed in query.parsed for word in parsed.outside]
        outside = dict.fromkeys(word.word for word in absent if len(word.terms))
        unknown, left_out = (
            dict.fromkeys(chain.from_iterable(getattr(one, name) for one in query.parsed))
            for name in ("unknown", "left_out")
        )
        # Without similar words they are as unknown; those of another field have some.
        unknown |= dict.fromkeys(one.word for one in absent if one.word not in outside)
        required, excluded = (
            ((), ()) if (own := query.constraints) is None else (own.required, own.excluded)
        )
        return Hits(
            query.shown, self.ranking_name, tuple(hits), tuple(outside), tuple(unknown),
            tuple(left_out), required, excluded, self.request.offset, top.plan, self.request.mmr,
            page.facets, page.missing, query.corrected,
            ". ".join(self._notes(page, hits, (*outside, *unknown))),
            partial(_suggestions, snapshot, tuple(unknown)),
        )  # fmt: skip

    def count(self, where: Mapping[str, Any]) -> int:
        """Return the number of documents that pass a filter."""
        return count(self.snapshot, where)

    def _notes(self, page: Page, hits: Sequence[Hit], absent: Sequence[str]) -> Iterator[str]:
        """Yield why there are no hits, what ranks them, and the keys that no document has."""
        where, values_of = self.request.where, self.snapshot.metadata_keys
        unmet = []
        if where is not None and not hits and not page.missing:
            unmet = why_none_passes(where, self.count, values_of)
        yield from unmet
        if page.query.unmatched_quote:
            yield _UNMATCHED_QUOTE
        if not unmet and (note := self._note(page.query, hits, absent)):
            yield note
        if page.note:
            yield page.note
        sorted_by = [
            ("sort", one.path)
            for one in parse_sort(self.request.sort)
            if all(value_at(hit.metadata, one.path) is MISSING for hit in hits)
        ]
        counted = [("facets", key_path(key)) for key, own in page.facets.items() if not own]
        for option, path in () if page.missing else (*sorted_by, *counted):
            if not values_of(path):
                yield f"No document has the key {shortened('.'.join(path))}; {option} ignores it"

    def _note(self, query: ReadyQuery, hits: Sequence[Hit], absent: Sequence[str]) -> str:
        """Return what ranks the hits if words and meaning do not, or why there are none."""
        if query.is_document:
            if self.encoding.ask == "words" or query.unit is not None:
                return ""
            return "Words alone are compared, as the document has no coordinates of meaning"
        if not query.absent:
            if hits or any(len(one.terms) or one.outside for one in query.parsed):
                return ""
            if query.constraints is not None and query.constraints.excluded:
                return "The query only excludes words; add words to search for"
            words = "only stop" if self.snapshot.analyzer.words(query.shown) else "no"
            return f"The query has {words} words"
        similar = any(len(word.terms) for parsed in query.parsed for word in parsed.outside)
        by = " and ".join(["similar words"] * similar + ["meaning"] * (query.unit is not None))
        stops = self.snapshot.stop_words.intersection(self.snapshot.analyzer.words(query.shown))
        named = ", ".join(absent) if stops.difference(absent) else "these words"
        return f"Nothing contains {named}" + (f"; closest by {by}" if hits else "")

    def _word_weights(self, query: ReadyQuery) -> dict[str, Worth]:
        """Return what each term of the expanded query is worth in a passage, over all fields."""
        S, weights = self.snapshot.S, dict[int, Worth]()
        rows = [
            (parsed, weight * vector.weights, weight * vector.extra_weights)
            for weight, vector, parsed in zip(
                self.words.weights, query.vectors, query.parsed, strict=True
            )
        ]
        least = _CARRYING * max(one.max(initial=0.0) for _, *both in rows for one in both)
        for parsed, own, outside in rows:
            listed = {j for word in parsed.said for terms, _ in word.ways for j in terms}
            for word, value, j, similarity, exact in parsed.pairs(S, own, outside):
                same = exact or j in listed
                if same or value * similarity >= least:
                    worth: Worth = (value * similarity, "exact" if same else "near", word)
                    weights[j] = max(weights.get(j, worth), worth, key=by_worth)
        return {S.vocabulary.term(j): worth for j, worth in weights.items()}

    def explained(self, query: ReadyQuery, id: str) -> Explanation:
        """Return the explanation of a document's score."""
        number, passage = self.snapshot.documents.number(id), ""
        prepared, shown = self.ranking.prepare(query), document_words(self.snapshot, number)
        parts = [
            replace(part, document_word=shown.get(part.document_word, part.document_word))
            for part in prepared.parts(number)
            if part.space != "meaning"
        ]
        if query.unit is not None:
            parts += self.encoding.parts(query, number)
            passage = self.encoding.passage(query.unit, number)
        parts.sort(
            key=lambda part: (
                -abs(part.contribution), part.query_word, part.document_word, part.field
            )
        )  # fmt: skip
        score = float(prepared.exact(np.array([number]))[0])
        return Explanation(query.shown, id, score, tuple(parts), self.ranking_name, passage)


def document_words(snapshot: Snapshot, number: int) -> dict[str, str]:
    """Return, for each term of a document, its first words in the text; nothing without stems."""
    if not snapshot.analyzer.stems:
        return {}
    found = snapshot.analyzer.terms_and_words(snapshot.documents.text(number))
    return dict(reversed(found))


def _by_field(query: Mapping[str, Any], snapshot: Snapshot) -> list[Any]:
    """Return the text of a query for each field, "" for none."""
    names = [field.name for field in snapshot.fields]
    if unknown := [name for name in query if name not in names]:
        raise InvalidInputError(
            f"the query has a field {unknown[0]!r}, and the index has {', '.join(names)}; give "
            "texts for these."
        )
    return [query.get(name, "") for name in names]


def query_vectors(
    snapshot: Snapshot, words: Sum[Words], parsed: Sequence[ParsedQuery]
) -> tuple[QueryVector, ...]:
    """Return the vector of a parsed query for every field."""
    return tuple(
        query_vector(of_field, space.ranking, snapshot.S, snapshot.source)
        for of_field, (_, space) in zip(parsed, words.summands, strict=True)
    )


def compared(
    snapshot: Snapshot, words: Sum[Words], document: int, documents: NDArray[np.int64]
) -> NDArray[np.float64]:
    """Return the scores of documents for another one, each of its fields for the same field."""
    parsed = [ParsedQuery(*row, ()) for row in snapshot.rows(document)]
    return words.prepare(ReadyQuery(query_vectors(snapshot, words, parsed))).exact(documents)


def soft_cosines(
    snapshot: Snapshot, documents: NDArray[np.int64], place: int
) -> NDArray[np.float64]:
    """Return the soft cosines of one document with all; with several fields, the mean."""
    words = words_of(snapshot, "soft_cosine")
    return compared(snapshot, words, int(documents[place]), documents) / sum(words.weights)


def _suggestions(snapshot: Snapshot, words: Sequence[str]) -> tuple[Suggestion, ...]:
    """Return the suggestions for words; words without any are left out."""
    found = []
    for word in words[:_LOOKED_UP]:
        check_deadline()
        found.append(spellings_of(snapshot).suggestion(word))
    return tuple(suggestion for suggestion in found if suggestion.candidates)
