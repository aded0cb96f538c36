"""What an index is asked: searches, similar documents, explanations, neighbours of words."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from softcosine._progress import Progress
from softcosine._validation import check_list
from softcosine.errors import InvalidInputError
from softcosine.index.directory.snapshot import SegmentedDocuments, Snapshot
from softcosine.index.query.query_vectors import ParsedQuery, parse_query, parse_word, query_text
from softcosine.index.search.execution import (
    SearchRequest,
    execute,
    explain_similarity,
    explained,
    like,
)
from softcosine.index.search.explanation import Explanation
from softcosine.index.search.fields import Field, FieldsSearcher
from softcosine.index.search.lookup import count, get, listing
from softcosine.index.search.results import Hits, Listing
from softcosine.index.search.top_docs import check_k, check_min_score
from softcosine.index.segment.documents import Document
from softcosine.matrix.term_similarity_matrix import TermSimilarityMatrix
from softcosine.similarity.source import TermSimilaritySource
from softcosine.text.analyzer import Analyzer, shortened
from softcosine.text.vocabulary import Vocabulary
from softcosine.text.weighting import Weighting

if TYPE_CHECKING:
    from softcosine.index.near_duplicates.similar import SimilarGroup, SimilarPairs
    from softcosine.matrix.list_use import ListUse

__all__ = ["Searchable"]


class Searchable:
    """Answers questions from one state of an index, which another may replace between two."""

    def __init__(self, snapshot: Snapshot) -> None:
        self._snapshot = snapshot

    def __len__(self) -> int:
        return self._snapshot.n_docs

    def __iter__(self) -> Iterator[str]:
        """Ids of the documents, in order of insertion."""
        return self.documents.all_ids()

    def __contains__(self, id: object) -> bool:
        try:
            self.documents.number(id)  # type: ignore[arg-type]
        except KeyError:
            return False
        return True

    @property
    def snapshot(self) -> Snapshot:
        """The state that searches are execute from; it never changes, another takes its place."""
        return self._snapshot

    @property
    def documents(self) -> SegmentedDocuments:
        """Ids, texts and metadata, by the documents' numbers; deleted ones are not shown."""
        return self._snapshot.documents

    @property
    def vocabulary(self) -> Vocabulary:
        """The indexed terms."""
        return self.S.vocabulary

    @property
    def S(self) -> TermSimilarityMatrix:  # noqa: N802  # the papers' letter
        """The term similarity matrix."""
        return self._snapshot.S

    @property
    def source(self) -> TermSimilaritySource | None:
        """Who is asked about query words that no document has."""
        return self._snapshot.source

    @property
    def analyzer(self) -> Analyzer:
        """How texts become terms."""
        return self._snapshot.analyzer

    @property
    def weighting(self) -> Weighting:
        """How terms are weighed."""
        return self._snapshot.weighting

    @property
    def ranking(self) -> str:
        """What ranks searches, if they do not say otherwise."""
        return self._snapshot.ranking

    @property
    def fields(self) -> tuple[Field, ...]:
        """The fields of the documents, and what each counts."""
        return self._snapshot.fields

    @property
    def note(self) -> str:
        """Where the similarities come from."""
        return self._snapshot.note

    @property
    def language(self) -> str | None:
        """The language of the texts, as recognised or chosen; ``"none"`` if it was not.

        None where it is not known, as of an index without documents.
        """
        return self._snapshot.language

    @property
    def list_use(self) -> ListUse | None:
        """Which entries of your own lists of similar words have an effect; None without lists.

        Found out anew each time, as an index that grows gets words that were in no document.
        """
        from softcosine.matrix.list_use import list_use

        return list_use(self.S, self.source, analyzer=self.analyzer)

    def get(self, ids: Iterable[str], *, missing_ok: bool = False) -> list[Document]:
        """Return documents by their ids, in the order asked for.

        Parameters
        ----------
        ids : list of str
            One that is asked for twice is given twice.
        missing_ok : bool
            Whether ids that no document has are left out; an error otherwise.

        Returns
        -------
        list of Document
            Each with `id`, `text` and `metadata`.

        Raises
        ------
        UnknownDocumentError
            If no document has one of the ids, unless `missing_ok`.
        InvalidInputError
            If `ids` is no list of strings.
        """
        return get(self._snapshot, ids, missing_ok=missing_ok)

    def filter(
        self,
        where: Mapping[str, Any] | None = None,
        *,
        k: int | None = 10,
        offset: int = 0,
        sort: str | Sequence[str] | None = None,
        facets: Sequence[str] = (),
    ) -> Listing:
        """Return documents that pass a filter, in order of insertion, without a query.

        Parameters
        ----------
        where : mapping, optional
            See `softcosine.index.query.filters`; every document by default.
        k : int, optional
            Most documents; None for all, 0 for none where only `facets` or `n_matching` are wanted.
        offset : int
            How many are passed over.
        sort : str or list of str, optional
            Keys of metadata, such as ``"-year"``; see `softcosine.index.search.sorting`.
        facets : list of str
            Keys whose values are counted, over all documents that pass; see
            `softcosine.index.search.facets`.

        Returns
        -------
        Listing
            A sequence of `Document`; `n_matching` says how many there are.

        Raises
        ------
        InvalidInputError
        """
        return listing(self._snapshot, where, k=k, offset=offset, sort=sort, facets=facets)

    def count(self, where: Mapping[str, Any] | None = None) -> int:
        """Return how many documents pass a filter; all documents without one.

        Raises
        ------
        InvalidInputError
        """
        return count(self._snapshot, where)

    def search(
        self,
        query: str | Sequence[str],
        *,
        k: int = 10,
        offset: int = 0,
        min_score: float = 0.0,
        where: Mapping[str, Any] | None = None,
        exact_first: bool = False,
        ranking: str | None = None,
        expand: bool = True,
        syntax: bool = True,
        max_terms: int | None = 512,
        fill: bool = False,
        mmr: float | None = None,
        fuzzy: bool = False,
        keep_stop_words: bool = False,
        sort: str | Sequence[str] | None = None,
        facets: Sequence[str] = (),
    ) -> Hits:
        """Return the k best documents, best first; equal scores stand by insertion.

        With `sort` the first k of all that match.

        Parameters
        ----------
        query : str, or a list of tokens
            Words that no document has are searched by their neighbours, where the source knows
            them. In a string, ``+word`` must be there itself, ``-word`` must not,
            ``"some words"`` must stand there one after the other (in one field), ``word^2`` counts
            twice; see `softcosine.index.query.parser`. Words that are not indexed stand in no
            document.
        k : int
            Most documents; 0 for none where only `facets` are wanted.
        offset : int
            How many of the best are passed over: ``offset=10, k=10`` is the second page.
        min_score : float
            Documents below it are left out, and those of score 0 always.
        where : mapping, optional
            A filter by metadata, such as ``{"lang": "en", "year": {">=": 2020}}``; see
            `softcosine.index.query.filters`.
        exact_first : bool
            Whether documents that hold every term of the query that any document has come before
            all others; each by score.
        ranking : str, optional
            Another one than the index's.
        expand : bool
            False looks only at documents that share a term with the query; their scores stay.
        syntax : bool
            False takes a string as plain text.
        max_terms : int, optional
            Of a longer query, such as a whole document, only so many distinct terms count, those
            of largest weight (of equal ones, the first in the vocabulary), as if the others had not
            been asked for; `Hits.left_out` names these. What ``+``, ``-`` and quotes demand is
            demanded all the same, and words that no document has all count. None for no limit.
        fill : bool
            Whether documents of score 0 follow all others, in order of insertion, as far as k
            reaches and `where`, ``+``, ``-`` and quotes let them; not with a `min_score` above 0,
            and never documents of a score below 0.
        mmr : float, optional
            From 0 to 1: the best ``max(50, 5 * k)`` documents come in the order of their maximal
            marginal relevance, ``mmr * score / best score - (1 - mmr) * greatest soft cosine with
            a document before it`` (see `softcosine.index.search.diversity`), all others behind
            them by score. Pages of one k so have every document once. Hits keep their scores. Not
            together with `exact_first`.
        fuzzy : bool
            Whether words that neither the documents nor the source know are searched by the
            indexed words of nearest spelling (`Hits.suggestions`), each by its similarity
            (`softcosine.EditDistanceSimilarity`, balanced as S is). Words with digits are not, and
            what ``+``, ``-`` and quotes demand is demanded as it is spelled.
        keep_stop_words : bool
            Whether words such as *how*, *do* and *the* count in plain text too: the stop words of
            the index's language, which are passed over where a query has other words. In quotes,
            after ``+`` and with a weight they always count.
        sort : str or list of str, optional
            Order by keys of metadata instead, such as ``"-year"``, of equal ones by score; see
            `softcosine.index.search.sorting`. Not together with `exact_first` or `mmr`.
        facets : list of str
            Keys of metadata whose values are counted, in `Hits.facets`, over all documents that
            match; see `softcosine.index.search.facets`. Both need the score of every one of these.
            Documents that `fill` adds do not count, and stand behind the sorted ones.

        Raises
        ------
        InvalidInputError, IndefiniteMatrixError
        """
        return self.search_batch(
            [query], k=k, offset=offset, min_score=min_score, where=where,
            exact_first=exact_first, ranking=ranking, expand=expand, syntax=syntax,
            max_terms=max_terms, fill=fill, mmr=mmr, fuzzy=fuzzy,
            keep_stop_words=keep_stop_words, sort=sort, facets=facets,
        )[0]  # fmt: skip

    def search_batch(
        self,
        queries: Iterable[str | Sequence[str]],
        *,
        k: int = 10,
        offset: int = 0,
        min_score: float = 0.0,
        where: Mapping[str, Any] | None = None,
        exact_first: bool = False,
        ranking: str | None = None,
        expand: bool = True,
        syntax: bool = True,
        max_terms: int | None = 512,
        fill: bool = False,
        mmr: float | None = None,
        fuzzy: bool = False,
        keep_stop_words: bool = False,
        sort: str | Sequence[str] | None = None,
        facets: Sequence[str] = (),
        threads: int | None = None,
    ) -> list[Hits]:
        """Search many queries on several threads: the same answers as one by one, to the bit."""
        check_list("queries", queries, "queries, or call search with a single one")
        asked = SearchRequest(
            k=k, offset=offset, min_score=min_score, where=where, exact_first=exact_first,
            ranking=ranking, expand=expand, syntax=syntax, max_terms=max_terms, fill=fill, mmr=mmr,
            fuzzy=fuzzy, keep_stop_words=keep_stop_words, sort=sort, facets=facets,
        )  # fmt: skip
        return execute(self._snapshot, list(queries), asked, threads=threads)

    def similar(
        self,
        id: str,
        *,
        k: int = 10,
        min_score: float = 0.0,
        where: Mapping[str, Any] | None = None,
        ranking: str = "soft_cosine",
    ) -> Hits:
        """Return the k documents most similar to one of the index, itself left out.

        Two documents are compared by their soft cosine, whatever ranks the index's searches; of
        several fields, each with the same field of the other, by the weighted sum.

        Raises
        ------
        UnknownDocumentError
        """
        check_k(k)
        check_min_score(min_score)
        asked = SearchRequest(
            k=k, min_score=min_score, where=where, ranking=ranking, max_terms=None
        )
        return like(self._snapshot, id, asked)

    def explain(
        self,
        query: str | Sequence[str],
        id: str,
        *,
        ranking: str | None = None,
        syntax: bool = True,
        max_terms: int | None = 512,
        fuzzy: bool = False,
        keep_stop_words: bool = False,
    ) -> Explanation:
        """Say why a document scores what it scores: pairs of words whose parts sum to the score.

        Settings are those of `search`. What a query constraints of documents is no part of a score.

        Raises
        ------
        UnknownDocumentError, InvalidInputError
        """
        asked = SearchRequest(
            ranking=ranking, syntax=syntax, max_terms=max_terms, fuzzy=fuzzy,
            keep_stop_words=keep_stop_words,
        )  # fmt: skip
        return explained(self._snapshot, query, id, asked)

    def explain_similar(self, id: str, other: str, *, ranking: str = "soft_cosine") -> Explanation:
        """Say why `other` is similar to the document `id`."""
        return explain_similarity(self._snapshot, id, other, SearchRequest(ranking=ranking))

    def neighbors(self, word: str, *, k: int = 10) -> list[tuple[str, float]]:
        """Return the indexed words most similar to a word, whether or not it is indexed itself.

        Raises
        ------
        InvalidInputError
            If `word` holds several terms, or none.
        """
        check_k(k)
        parsed = self.parse_word(word)
        n_terms = len(parsed.terms) + len(parsed.outside) + len(parsed.unknown)
        if n_terms != 1:
            raise InvalidInputError(
                f"the word {shortened(query_text(word))} holds {n_terms} terms; needed is one. Ask "
                "for several words one by one."
            )
        shown = self.S.representative
        if parsed.outside:
            found = parsed.outside[0]
            pairs = [
                (shown(int(j)), float(s))
                for j, s in zip(found.terms, found.similarities, strict=True)
            ]
            # Balancing may have changed their order.
            return sorted(pairs, key=lambda pair: (-pair[1], pair[0]))[:k]
        if not len(parsed.terms):
            return []
        term = self.vocabulary.term(int(parsed.terms[0]))
        return [
            (shown(self.vocabulary.index(other)), similarity)
            for other, similarity in self.S.neighbors(term, k=k)
        ]

    def parse(self, query: str | Sequence[str], *, keep_stop_words: bool = False) -> ParsedQuery:
        """Find a plain query's terms, its words outside the vocabulary, and its unknown words."""
        stop_words = () if keep_stop_words else self._snapshot.stop_words
        return parse_query(query, self.analyzer, self.S, self.source, stop_words=stop_words)

    def parse_word(self, word: str) -> ParsedQuery:
        """Find the term of a word, or the one that several words are together."""
        return parse_word(word, self.analyzer, self.S, self.source)

    def searcher(self, ranking: str | None = None) -> FieldsSearcher:
        """Return what searches query vectors by a ranking; prepared once."""
        return self._snapshot.searcher(ranking)

    def pairs(
        self,
        *,
        min_similarity: float = 0.0,
        k: int | None = None,
        ranking: str = "soft_cosine",
        threads: int | None = None,
        checkpoint: str | Path | None = None,
        progress: Progress | None = None,
    ) -> SimilarPairs:
        """Give all similar pairs of documents, or every document's nearest others.

        Every similarity is that of the later document to the earlier one as a query, exactly.

        Parameters
        ----------
        min_similarity : float
            Above 0, unless k is given, and at most 1 where no soft cosine can be larger.
            Pairs come by their documents' numbers.
        k : int, optional
            For each document the k most similar others, best first; each pair may then come twice.
        ranking : {"soft_cosine", "inner_product"}
        threads : int, optional
            All processors by default; does not change a bit.
        checkpoint : path of a folder, optional
            Keeps what is found, so that the same call goes on where it was stopped.
        progress : callable, optional
            Called with the number of pairs compared, and of all.

        Returns
        -------
        SimilarPairs
            An iterator of pairs (id, other, score), found as they are asked for; its
            ``to_pandas()`` makes a table of them.

        Raises
        ------
        InvalidInputError
        """
        from softcosine.index.near_duplicates.similar import pairs_of

        return pairs_of(
            self._snapshot, min_similarity=min_similarity, k=k, ranking=ranking, threads=threads,
            checkpoint=checkpoint, progress=progress,
        )  # fmt: skip

    def dedupe(
        self,
        *,
        min_similarity: float = 0.9,
        method: str = "components",
        threads: int | None = None,
        checkpoint: str | Path | None = None,
        progress: Progress | None = None,
    ) -> list[SimilarGroup]:
        """Group near duplicates by soft cosine, each group by its earliest document.

        Parameters
        ----------
        min_similarity : float
            Above 0.
        method : {"components", "leaders"}
            ``components``: documents that a chain of similar pairs joins. ``leaders``: every
            member is that similar to the group's first document.
        threads, checkpoint, progress
            See `pairs`.

        Raises
        ------
        InvalidInputError
        """
        from softcosine.index.near_duplicates.similar import groups_of

        return groups_of(
            self._snapshot, min_similarity=min_similarity, method=method, threads=threads,
            checkpoint=checkpoint, progress=progress,
        )  # fmt: skip
