"""Execution of searches: from queries and a request to hits."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cache, partial
from itertools import chain, compress
from operator import not_
from typing import Any, Self

import numpy as np
from msgspec import structs
from numpy.typing import NDArray

from softcosine._deadline import check_deadline
from softcosine._threads import in_threads
from softcosine.errors import InvalidInputError
from softcosine.index.directory.snapshot import Snapshot
from softcosine.index.query.constraints import Constraints, Mask, Restrictions
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
from softcosine.index.query.suggestions import Suggestion, spellings_of
from softcosine.index.requests import SearchOptions, key_path
from softcosine.index.search.explanation import SHORT, Explanation, Part, word_parts
from softcosine.index.search.facets import Facets, facet_counts, ordered_facets
from softcosine.index.search.first_stage import Staged, first_stage, second_stage
from softcosine.index.search.highlights import (
    MAX_TEXT,
    Snippet,
    Worth,
    by_worth,
    snippet,
    without_title,
)
from softcosine.index.search.matches import Group, Matches, count, why_none_passes
from softcosine.index.search.query_encoding import QueryEncoding, why_words_alone
from softcosine.index.search.results import Hit, Hits
from softcosine.index.search.sorting import parse_sort
from softcosine.index.segment.documents import Document, title_of
from softcosine.index.segment.metadata_columns import MISSING, value_at
from softcosine.index.segment.segment import AllWords, Ways
from softcosine.index.spaces.meaning import FLOOR_OF_LANGUAGES, FLOOR_OF_UNKNOWN, QueryMeaning
from softcosine.index.spaces.plan import MEANING
from softcosine.index.spaces.space import (
    Top,
)
from softcosine.index.spaces.sum import FieldsSearcher, searcher_of_index
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
class ReadyQuery:
    """A parsed query, its vector for every field, and its meaning if that counts.

    `texts` are those that meaning is about, with their weights; `corrected` has the misspelt words
    of the query and what replaces them. What depends on the documents: `least` is the least score
    that is sorted or counted, `near` are the documents that meaning adds to a sorted search, and
    `impacts`, for each field, terms and their greatest impacts (`impacts_of`), in place of those of
    the segments.
    """

    shown: str
    parsed: tuple[ParsedQuery, ...]
    vectors: tuple[QueryVector, ...]
    constraints: Constraints | None = None
    meaning: QueryMeaning | None = None
    texts: tuple[tuple[str, float], ...] = ()
    corrected: Mapping[str, str] = field(default_factory=dict)
    least: float = 0.0
    near: NDArray[np.int64] | None = None
    impacts: tuple[tuple[NDArray[np.int32], NDArray[np.float64]], ...] | None = None
    is_document: bool = False
    unmatched_quote: bool = False

    @property
    def absent(self) -> bool:
        """Whether the query has words, and no document has any of them or your synonyms."""
        words = any(one.outside or one.unknown for one in self.parsed)
        own = any(word.ways for one in self.parsed for word in one.said)
        return words and not own and not any(len(one.terms) for one in self.parsed)


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
    searcher : FieldsSearcher
        Of the ranking.
    encoding : QueryEncoding or None
        None for a search by words alone.
    restrictions : Restrictions
        Which documents its queries may return.
    """

    snapshot: Snapshot
    request: SearchOptions
    searcher: FieldsSearcher
    encoding: QueryEncoding | None
    restrictions: Restrictions

    @classmethod
    def of(
        cls, snapshot: Snapshot, request: SearchOptions, encoding: QueryEncoding | None = None
    ) -> Self:
        """Return the search of a request."""
        searcher = searcher_of_index(snapshot, request.ranking)
        return cls(snapshot, request, searcher, encoding, Restrictions.of(snapshot, request))

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
        hits = self.hits(self.pages(queries, threads))
        if self.encoding is not None or not (note := why_words_alone(self.snapshot, self.request)):
            return hits
        return [replace(one, plan=replace(one.plan, reason=one.plan.reason + note)) for one in hits]

    def pages(self, queries: Sequence[Query], threads: int | None) -> Iterator[Page]:
        """Return the page of each query, without reading documents."""
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
        slow = self.encoding is not None and self.encoding.ask == "encoder"
        return in_threads(self.ready, queries, threads if slow else 1)

    def ready(self, query: Query, *, by_word: bool = False) -> ReadyQuery:
        """Return a query, parsed, weighted and limited to `max_terms`, with its meaning.

        With `by_word`, also with its meaning without each word.
        """
        snapshot = self.snapshot
        corrected: dict[str, str] = {}
        if isinstance(query, Mapping):
            by_field = [self._parsed((Clause(text),)) for text in _by_field(query, snapshot)]
            parsed = [one for _, one, _ in by_field]
            corrected = {word: new for *_, words in by_field for word, new in words.items()}
            clauses: tuple[Clause, ...] = (Clause(query_text(query)).corrected(corrected),)
        else:
            clauses, once, corrected = self._parsed(parse_syntax(query, self.request.syntax))
            parsed = [once] * len(snapshot.fields)
        limited, vectors = self._limited(tuple(parsed), alike=not isinstance(query, Mapping))
        texts = tuple(
            (query_text(one.text), one.weight) for one in clauses if one.kind != "must_not"
        )
        defined = tuple({one.defined: one.likeness for one in parsed if one.defined}.items())
        meaning = None if self.encoding is None else self.encoding.meaning(texts, defined)
        if by_word and self.encoding is not None and meaning is not None:
            meaning = self.encoding.by_word(meaning, texts, defined)
        if meaning is not None and not isinstance(query, Mapping):
            meaning = replace(meaning, all_words=self._few(clauses, parsed[0]))
        constraints = self.restrictions.of_query(clauses)
        shown = query_text(query)
        texts += defined
        quotes = self.request.syntax is not False and not isinstance(query, Mapping)
        ready = ReadyQuery(
            shown, limited, vectors, constraints, meaning, texts, corrected,
            unmatched_quote=quotes and has_unmatched_quote(clauses),
        )  # fmt: skip
        if meaning is None or not ready.absent or not any(one.unknown for one in limited):
            return ready
        if self.encoding is not None and self.encoding.knows_words(texts):
            return replace(ready, meaning=replace(meaning, floor=FLOOR_OF_LANGUAGES))
        if any(one.outside for one in limited):
            return ready
        return replace(ready, meaning=replace(meaning, floor=FLOOR_OF_UNKNOWN))

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
        counts = [one.document_frequencies for one in self.snapshot.statistics]
        return sum(
            sum(min(int(own[term]) for term in terms) for own in counts) for terms, _ in ways
        )

    def _limited(
        self, parsed: tuple[ParsedQuery, ...], *, alike: bool
    ) -> tuple[tuple[ParsedQuery, ...], tuple[QueryVector, ...]]:
        """Return a query with its `max_terms` heaviest terms, and its vector for every field.

        If the fields have queries that are `alike`, the weights of all fields count together.
        """
        limit, vectors = self.request.max_terms, query_vectors(self.snapshot, self.searcher, parsed)
        if limit is None or all(len(one.terms) <= limit for one in parsed):
            return parsed, vectors
        weights = [vector.weights for vector in vectors]
        if alike:
            pairs = zip(self.searcher.weights, weights, strict=True)
            none = np.zeros(len(parsed[0].terms))
            weights = [sum((weight * one for weight, one in pairs), none)] * len(parsed)
        parsed = tuple(
            heaviest(one, of_terms, limit) for one, of_terms in zip(parsed, weights, strict=True)
        )
        return parsed, query_vectors(self.snapshot, self.searcher, parsed)

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
        vectors = query_vectors(self.snapshot, self.searcher, parsed)
        ready = ReadyQuery(f"like {id}", tuple(parsed), vectors, is_document=True)
        if self.encoding is None:
            return ready, number
        meaning = self.encoding.meaning_of_document(number)
        return replace(ready, meaning=meaning, texts=self.encoding.clauses_of(number)), number

    # Match: the documents that may be returned, and what a page needs of those that match.

    def completed(self, query: ReadyQuery) -> ReadyQuery:
        """Return a query with what depends on all documents of the index."""
        request = self.request
        if request.min_score is None and not request.fill:
            best = structs.replace(request, k=1, offset=0, sort=None, facets=[])
            meaning = query.meaning and replace(query.meaning, all_words=())
            (matches,) = replace(self, request=best).found([replace(query, meaning=meaning)])
            share = SHARES_OF_BEST["words" if self.encoding is None else self.encoding.ask]
            query = replace(query, least=share * matches.best.best(1).scores.sum())
        if query.meaning is None:
            return query
        near = self.nearest(query, _NEAREST, expand_postings=self.request.expand)
        return replace(query, near=np.sort(near.documents))

    def nearest(self, query: ReadyQuery, n: int, *, expand_postings: bool = True) -> Top:
        """Return the nearest documents that pass the filter and the constraints, with cosines."""
        assert self.encoding is not None
        assert query.meaning is not None
        return self.encoding.searcher.nearest(
            query.vectors, query.meaning, n=n, expand_postings=expand_postings,
            allowed=self.restrictions.masks(query.constraints),
        )  # fmt: skip

    def found(self, queries: Sequence[ReadyQuery], threads: int | None = 1) -> Iterator[Matches]:
        """Return what matches each query."""
        request = self.request
        alone = [
            request.all_matching or one.constraints is not None or one.impacts is not None
            for one in queries
        ]
        together = list(compress(queries, map(not_, alone)))
        masks = self.restrictions.masks(None)
        groups = iter(self._ranked(together, masks, self.n_ranked, threads=threads))
        pairs = [
            (query, None if apart else next(groups))
            for query, apart in zip(queries, alone, strict=True)
        ]
        slow = request.fill or any(alone)
        return iter(in_threads(lambda pair: self._cut(*pair), pairs, threads if slow else 1))

    def _cut(self, query: ReadyQuery, group: Group | None) -> Matches:
        """Return what matches a query, cut to what a page can need.

        All matches of many queries take too much memory. `group` are the best documents, if they
        are known.
        """
        check_deadline()
        request, keys = self.request, parse_sort(self.request.sort)
        allowed = self.restrictions.masks(query.constraints)
        every, by_words = None, self.encoding is None or query.meaning is None
        if request.all_matching:
            every = self._matching(query, allowed)
        if group is None and every is not None and (keys or by_words):
            group = every
        elif group is None:
            (group,) = self._ranked([query], allowed, self.n_ranked)
        matches = Matches(group)
        if request.fill and (request.min_score or 0.0) <= 0.0:
            matches = replace(matches, zeros=self._zeros(query, allowed, group))
        if every is None:
            return matches
        taken = every.at(np.flatnonzero(every.scores >= query.least))
        if keys:
            first = Matches.sorted_by(self.snapshot, taken, keys, request.n_wanted)
            matches = replace(first, zeros=matches.zeros)
        else:
            matches = replace(matches, best=group.best(self.n_ranked))
        facets = facet_counts(self.snapshot, request.facets, taken.documents)
        n_matching, n_taken = len(every.documents), len(taken.documents)
        return replace(matches, facets=facets, n_matching=n_matching, n_taken=n_taken)

    def _matching(self, query: ReadyQuery, allowed: Sequence[Mask | None]) -> Top:
        """Return every document that matches by words, or that meaning adds."""
        least = self.request.min_score or 0.0
        by_meaning = self.encoding is not None and query.meaning is not None
        (by_words,) = self.searcher.search_batch(
            [query.vectors], k=max(1, self.snapshot.n_docs), min_score=0.0 if by_meaning else least,
            expand_postings=self.request.expand, allowed=allowed, threads=1,
        )  # fmt: skip
        if not by_meaning:
            return by_words
        assert query.near is not None
        documents = np.union1d(by_words.documents, query.near)
        scores = self.scores(query, documents)
        kept = (scores > 0) & (scores >= least)
        return Top(documents[kept], scores[kept], MEANING)

    def _zeros(
        self, query: ReadyQuery, allowed: Sequence[Mask | None], matched: Group
    ) -> NDArray[np.int64]:
        """Return documents of score 0 in order of insertion, as many as fill the page."""
        assert isinstance(matched, Top)  # no first stage
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
                zeros = some[self.searcher.scores(query.vectors, some) == 0.0][:missing]
                found.append(zeros)
                missing -= len(zeros)
        return np.concatenate(found)

    # Rank: the best documents, their exact scores, and their order.

    def _ranked(
        self,
        queries: Sequence[ReadyQuery],
        allowed: Sequence[Mask | None],
        k: int,
        *,
        threads: int | None = 1,
    ) -> Sequence[Group]:
        """Return the k best documents, by words, and by meaning for the queries that have one."""
        if self.request.stage is not None:
            inside = threads if len(queries) == 1 else 1
            return in_threads(
                lambda one: self.rescored(one, self.candidates(one, allowed, k, inside), k),
                queries,
                threads,
            )
        options: dict[str, Any] = {
            "k": k, "min_score": self.request.min_score or 0.0, "allowed": allowed,
            "threads": threads, "expand_postings": self.request.expand,
        }  # fmt: skip
        if self.encoding is None:
            return self.searcher.search_batch([one.vectors for one in queries], **options)
        pairs = [(one.vectors, one.meaning) for one in queries]
        return self.encoding.searcher.search_batch(pairs, **options)

    def candidates(
        self,
        query: ReadyQuery,
        allowed: Sequence[Mask | None] | None = None,
        k: int | None = None,
        threads: int | None = 1,
    ) -> Top:
        """Return the candidates of a query by its first stage, not yet scored exactly."""
        assert self.request.stage is not None
        if allowed is None:
            allowed = self.restrictions.masks(query.constraints)
        return first_stage(
            self._words(query), (query.vectors, query.meaning), self.request.stage,
            k=k or self.n_ranked, allowed=allowed, threads=threads,
        )  # fmt: skip

    def rescored(self, query: ReadyQuery, candidates: Top, k: int | None = None) -> Staged:
        """Return candidates of a query with their exact scores."""
        assert self.request.stage is not None
        return second_stage(
            self._words(query), None if self.encoding is None else self.encoding.searcher,
            (query.vectors, query.meaning), candidates, self.request.stage,
            k=k or self.n_ranked, min_score=self.request.min_score or 0.0,
        )  # fmt: skip

    def _words(self, query: ReadyQuery) -> FieldsSearcher:
        """Return the searcher of a query that may have impacts of its own."""
        return self.searcher.with_impacts(query.impacts) if query.impacts else self.searcher

    def scores(self, query: ReadyQuery, documents: NDArray[np.int64]) -> NDArray[np.float64]:
        """Return the scores of documents, in the given order."""
        if self.encoding is None or query.meaning is None:
            return self.searcher.scores(query.vectors, documents)
        return self.encoding.searcher.scores(query.vectors, query.meaning, documents)

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
        plan = replace(top.plan, ranks=self.snapshot.ranked_by("words"))
        if self.encoding is not None and query.meaning is not None:
            plan = self.encoding.plan(plan)
        return replace(top, plan=plan)

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
        weights = cache(lambda: self._word_weights(query))
        most = min(MAX_TEXT, max(_LEAST_READ, _READ // max(1, len(documents))))

        def nearest(texts: Sequence[str]) -> int | None:
            if self.encoding is None or query.meaning is None:
                return None
            return self.encoding.nearest(query.meaning, texts)

        def passage(text: str, title: str | None) -> Snippet:
            text = without_title(text, title)
            return snippet(text, snapshot.analyzer, weights(), nearest=nearest, most=most)

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
            query.shown, self.searcher.ranking.name, tuple(hits), tuple(outside), tuple(unknown),
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
            if self.encoding is None or query.meaning is not None:
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
        by = " and ".join(["similar words"] * similar + ["meaning"] * (query.meaning is not None))
        stops = self.snapshot.stop_words.intersection(self.snapshot.analyzer.words(query.shown))
        named = ", ".join(absent) if stops.difference(absent) else "these words"
        return f"Nothing contains {named}" + (f"; closest by {by}" if hits else "")

    def _word_weights(self, query: ReadyQuery) -> dict[str, Worth]:
        """Return what each term of the expanded query is worth in a passage, over all fields."""
        S, weights = self.snapshot.S, dict[int, Worth]()
        rows = [
            (parsed, weight * vector.weights, weight * vector.extra_weights)
            for weight, vector, parsed in zip(
                self.searcher.weights, query.vectors, query.parsed, strict=True
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
        number, fields = self.snapshot.documents.number(id), self.snapshot.fields
        words, parts, passage = document_words(self.snapshot, number), list[Part](), ""
        for one, vector, parsed, of in zip(
            self.searcher.searchers, query.vectors, query.parsed, fields, strict=True
        ):
            name = of.name if len(fields) > 1 else ""
            for part in word_parts(one, vector, parsed, number, words):
                contribution = of.weight * part.contribution
                parts.append(replace(part, contribution=contribution, field=name))
        if self.encoding is not None and query.meaning is not None:
            parts += self.encoding.parts(query.meaning, query.texts, number)
            if all_words := query.meaning.all_words:
                held = {j for terms, _ in self.snapshot.rows(number) for j in terms.tolist()}
                value = min(
                    max([0.0, *(value for terms, value in ways if held.issuperset(terms))])
                    for ways in all_words
                )
                if value:
                    added = query.meaning.weight * value
                    parts.append(Part(SHORT, SHORT, value, added, exact=value == 1.0))
            passage = self.encoding.passage(query.meaning, number)
        parts.sort(
            key=lambda part: (
                -abs(part.contribution), part.query_word, part.document_word, part.field
            )
        )  # fmt: skip
        score = float(self.scores(query, np.array([number]))[0])
        ranking = self.searcher.ranking.name
        return Explanation(query.shown, id, score, tuple(parts), ranking, passage)


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
    snapshot: Snapshot, searcher: FieldsSearcher, parsed: Sequence[ParsedQuery]
) -> tuple[QueryVector, ...]:
    """Return the vector of a parsed query for every field."""
    return tuple(
        query_vector(of_field, one.ranking, snapshot.S, snapshot.source)
        for of_field, one in zip(parsed, searcher.searchers, strict=True)
    )


def soft_cosines(
    snapshot: Snapshot, documents: NDArray[np.int64], place: int
) -> NDArray[np.float64]:
    """Return the soft cosines of one document with all; with several fields, the mean."""
    searcher = searcher_of_index(snapshot, "soft_cosine")
    parsed = [
        ParsedQuery(terms, frequencies, ())
        for terms, frequencies in snapshot.rows(int(documents[place]))
    ]
    vectors = query_vectors(snapshot, searcher, parsed)
    return searcher.scores(vectors, documents) / sum(searcher.weights)


def _suggestions(snapshot: Snapshot, words: Sequence[str]) -> tuple[Suggestion, ...]:
    """Return the suggestions for words; words without any are left out."""
    found = []
    for word in words[:_LOOKED_UP]:
        check_deadline()
        found.append(spellings_of(snapshot).suggestion(word))
    return tuple(suggestion for suggestion in found if suggestion.candidates)
