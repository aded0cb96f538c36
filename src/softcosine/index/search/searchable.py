"""The searches of an index: hits, filters, similar documents, explanations, neighbors of words."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence, Sized
from pathlib import Path
from typing import TYPE_CHECKING, Any, Unpack, overload

import numpy as np
from numpy.typing import NDArray

from softcosine._progress import Progress
from softcosine._validation import check_list
from softcosine.errors import InvalidInputError, UnknownTermError
from softcosine.index.defaults import Field
from softcosine.index.directory.snapshot import SegmentedDocuments, Snapshot
from softcosine.index.encoding import IndexEncoder
from softcosine.index.query.parser import Clause
from softcosine.index.query.query_vectors import (
    ParsedQuery,
    Query,
    parse_clauses,
    parse_word,
    query_text,
)
from softcosine.index.requests import (
    Ask,
    ExpandRequest,
    ExplainRequest,
    ExplainSimilarRequest,
    FilterRequest,
    FirstStage,
    ListKeywords,
    ScoresRequest,
    ScoringKeywords,
    SearchKeywords,
    SearchOptions,
    SearchRequest,
    SimilarityKeywords,
    SimilarKeywords,
    SimilarRequest,
)
from softcosine.index.search.execution import Search
from softcosine.index.search.explanation import Explanation
from softcosine.index.search.matches import count, filtered, get, listing
from softcosine.index.search.offline import with_ids, write_hits
from softcosine.index.search.query_encoding import document_encoding, query_encoding
from softcosine.index.search.results import Hits, Listing
from softcosine.index.search.server_query import SentWords, ServerQuery, server_query
from softcosine.index.segment.documents import Document
from softcosine.index.spaces.space import Top, check_k
from softcosine.index.spaces.sum import Sum, words_of
from softcosine.index.spaces.words import Words
from softcosine.matrix.term_similarity_matrix import TermSimilarityMatrix
from softcosine.similarity.source import TermSimilaritySource
from softcosine.text.analyzer import Analyzer, shortened
from softcosine.text.vocabulary import Vocabulary
from softcosine.text.weighting import Weighting

if TYPE_CHECKING:
    from softcosine.index.near_duplicates.similar import SimilarGroup, SimilarPairs
    from softcosine.index.requests import By
    from softcosine.matrix.list_use import ListUse


class Searchable:
    """Searches over the current snapshot of an index; a refresh replaces it between two calls."""

    _encoder: IndexEncoder | None = None  # in place of the installed one

    def __init__(self, snapshot: Snapshot) -> None:
        self._snapshot = snapshot

    def _search(self, request: SearchOptions) -> Search:
        """Return the search of queries."""
        encoding = query_encoding(self._snapshot, request, self._encoder)
        return Search.of(self._snapshot, request, encoding)

    def _search_like(self, request: SearchOptions) -> Search:
        """Return the search of queries that are documents of the index."""
        encoding = document_encoding(self._snapshot, request)
        return Search.of(self._snapshot, request, encoding)

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
        """The state that searches use; immutable, replaced by a refresh."""
        return self._snapshot

    @property
    def commit(self) -> str:
        """Checksum of the commit that searches use; empty in memory."""
        return ""

    @property
    def epoch(self) -> str:
        """Checksum of everything that scores depend on, except the documents."""
        return ""

    @property
    def frozen(self) -> bool:
        """Whether commits keep the epoch; see `IndexWriter.freeze`."""
        return self._snapshot.settings.frozen

    @property
    def documents(self) -> SegmentedDocuments:
        """Ids, texts and metadata of all live documents, by document number."""
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
        """The source of term similarity for query words that are in no document."""
        return self._snapshot.source

    @property
    def analyzer(self) -> Analyzer:
        """The analyzer of documents and queries."""
        return self._snapshot.analyzer

    @property
    def weighting(self) -> Weighting:
        """The term weights."""
        return self._snapshot.settings.weighting

    @property
    def ranking(self) -> str:
        """The default ranking of searches."""
        return self._snapshot.ranking

    @property
    def fields(self) -> tuple[Field, ...]:
        """The fields of the documents and their weights."""
        return self._snapshot.fields

    @property
    def encoder(self) -> IndexEncoder | None:
        """The encoder of queries in place of the installed one; None if none was given."""
        return self._encoder

    @property
    def note(self) -> str:
        """A description of the source of the similarities, and of what reads the documents."""
        return f"{self._snapshot.settings.note} {self._snapshot.read_by}".strip()

    @property
    def language(self) -> str | None:
        """The language of the texts, detected or chosen; ``"none"`` if no language applies.

        None if unknown, for example for an index without documents.
        """
        return self._snapshot.settings.language

    @property
    def list_use(self) -> ListUse | None:
        """Which entries of your own lists of similar words have an effect; None without lists.

        Computed at each access, because later documents can add words to the vocabulary.
        """
        from softcosine.matrix.list_use import list_use

        return list_use(self.S, self.source, analyzer=self.analyzer)

    def info(self) -> dict[str, Any]:
        """Return the contents and the settings of the index, as JSON types.

        Returns
        -------
        dict
            documents, deleted (not merged away yet), segments, counted (documents behind the term
            weights), terms, postings, generation and commit, epoch, frozen, fields of name and
            weight, records (fields of the files it was made of: id, text), positions and texts
            (whether stored), ranking, weighting, analyzer, language,
            note (source of the similarities), meaning (None without encoder), ranked_by (a line),
            and similarity, the statistics of S.
        """
        snapshot, rules = self._snapshot, self.analyzer.to_dict()
        similarity = self.S.statistics(eigenvalue=False).to_dict()
        del similarity["smallest_eigenvalue"]
        similarity["balanced"] = self.S.scales is not None
        similarity["shrunk"] = float(self.S.settings.get("shrunk", 1.0))
        rules |= {name: len(rules[name]) for name in ("stop_words", "lemmas") if name in rules}
        return {
            "documents": len(self), "deleted": snapshot.n_deleted,
            "segments": snapshot.n_segments, "counted": snapshot.statistics[0].n_docs,
            "terms": len(self.vocabulary), "postings": snapshot.n_postings,
            "generation": snapshot.generation, "commit": self.commit, "epoch": self.epoch,
            "frozen": self.frozen,
            "fields": [{"name": one.name, "weight": one.weight} for one in self.fields],
            "records": dict(snapshot.settings.records),
            "positions": snapshot.settings.positions, "texts": snapshot.settings.texts,
            "ranking": self.ranking, "weighting": self.weighting.to_dict(), "analyzer": rules,
            "language": self.language, "note": self.note,
            "meaning": snapshot.meaning_record,
            "ranked_by": snapshot.ranked_by(),
            "similarity": similarity,
        }  # fmt: skip

    def get(self, ids: Iterable[str], *, missing_ok: bool = False) -> list[Document]:
        """Return documents by their ids, in the given order.

        Parameters
        ----------
        ids : list of str
            A repeated id returns its document again.
        missing_ok : bool
            If True, unknown ids are left out; if False, they raise an error.

        Returns
        -------
        list of Document
            Each with `id`, `text` and `metadata`.

        Raises
        ------
        UnknownDocumentError
            If no document has one of the ids and `missing_ok` is false.
        InvalidInputError
            If `ids` is not a list of strings.
        """
        return get(self._snapshot, ids, missing_ok=missing_ok)

    def filter(
        self,
        where: Mapping[str, Any] | None = None,
        *,
        k: int | None = 10,
        **options: Unpack[ListKeywords],
    ) -> Listing:
        """Return documents that pass a filter, in order of insertion, without a query.

        Parameters
        ----------
        where : mapping, optional
            See `softcosine.index.query.filters`; every document by default.
        k : int, optional
            Maximum number of documents; None for all, 0 to compute only `facets` and `n_matching`.
        offset : int, default 0
            Number of documents to skip.
        sort : str or list of str, optional
            Metadata keys, such as ``"-year"``; see `softcosine.index.search.sorting`.
        facets : list of str, optional
            Metadata keys whose values are counted over all matching documents; see
            `softcosine.index.search.facets`.

        Returns
        -------
        Listing
            A sequence of `Document`; `n_matching` is the number of all matching documents.

        Raises
        ------
        InvalidInputError
        """
        return self._filter(FilterRequest.of(where=where, k=k, **options))

    def _filter(self, request: FilterRequest) -> Listing:
        return listing(self._snapshot, filtered(self._snapshot, request), request)

    def count(self, where: Mapping[str, Any] | None = None) -> int:
        """Return the number of documents that pass a filter; all documents without a filter.

        Raises
        ------
        InvalidInputError
        """
        return count(self._snapshot, where)

    def search(
        self,
        query: Query,
        *,
        k: int = 10,
        offset: int = 0,
        min_score: float | None = None,
        where: Mapping[str, Any] | None = None,
        ranking: str | None = None,
        expand: bool = True,
        syntax: bool | None = None,
        max_terms: int | None = 512,
        fill: bool = False,
        mmr: float | None = None,
        correct: bool = True,
        keep_stop_words: bool = False,
        sort: str | Sequence[str] | None = None,
        facets: Sequence[str] = (),
        ask: Ask | None = None,
        meaning: float | None = None,
        first_stage: FirstStage | int | None = None,
    ) -> Hits:
        """Return the k best documents by decreasing score; ties go to the earlier document.

        With `sort`, return the first k of all matching documents.

        Parameters
        ----------
        query : str, a list of tokens, or a mapping of fields to these
            Words that are in no document match by their neighbors in the source of term
            similarity. In a string, ``"some words"`` requires a phrase (in one field) and
            ``-"some words"`` excludes it; all else is text, unless `syntax`. A required word that
            is not indexed matches nothing. A mapping compares each field with a text of its own,
            without operators.
        k : int
            Maximum number of documents; 0 to compute only `facets`.
        offset : int
            Number of best documents to skip: ``offset=10, k=10`` is the second page.
        min_score : float, optional
            Minimum score of a document, by default 0. Documents of score 0 are never returned,
            except by `fill`. By default `sort` and `facets` take the documents of at least .3 of
            the best score, with an encoder .4 (without what a document gets for every word of a
            short query), and `Hits.note` says how many match at all; 0 takes all.
        where : mapping, optional
            A metadata filter, such as ``{"lang": "en", "year": {">=": 2020}}``; see
            `softcosine.index.query.filters`.
        ranking : str, optional
            A ranking instead of the default of the index.
        expand : bool
            If False, only documents that share a term with the query match; scores do not change.
        syntax : bool, optional
            If True, ``+word`` requires a word, ``-word`` excludes it, and ``word^2`` doubles its
            weight, too; see `softcosine.index.query.parser`. If False, quotes are text as well.
            `Hits.required` and `Hits.excluded` are what the operators asked for.
        max_terms : int, optional
            Maximum number of distinct terms of a long query, such as a whole document; None for no
            limit. The terms of largest weight are used (ties: the first in the vocabulary);
            `Hits.left_out` lists the others. Operators (``+``, ``-``, quotes) and words outside
            the vocabulary are not limited.
        fill : bool
            If True, documents that get nothing by words follow the hits in order of insertion, up
            to k, if they pass `where` and the operators; they are shown with score 0, whatever
            their meaning. No effect if `min_score` is above 0. Documents of negative score by words
            are never returned.
        mmr : float, optional
            Weight from 0 to 1 of the score in a ranking by maximal marginal relevance. The best
            ``max(50, 5 * k)`` documents are ordered by ``mmr * score / best score - (1 - mmr) *
            greatest soft cosine with a document before it`` (see
            `softcosine.index.search.execution`); the others follow by score. Pages of the same k
            return each document once. Hits keep their scores. Cannot be used with `sort`.
        correct : bool
            If True, a word that is in neither the documents nor the source is replaced by the
            indexed word of nearest spelling (`Hits.corrected`), if it has five letters or more and
            differs by one edit, or eight or more and two. Words with digits, tokens, words with
            operators and all after the first 100 such words stay as they are.
        keep_stop_words : bool
            If True, stop words of the language of the index, such as *how* and *the*, count in
            plain text too. By default they are skipped if the query has other words that
            documents have, unless they are in capitals (*IT support*). In quotes, after ``+`` and
            with a weight they always count.
        sort : str or list of str, optional
            Metadata keys that replace the order by score, such as ``"-year"``; ties are ordered by
            score. See `softcosine.index.search.sorting`. Computes the score of every matching
            document.
        facets : list of str
            Metadata keys whose values are counted over all matching documents, in `Hits.facets`;
            see `softcosine.index.search.facets`. Computes the score of every matching document.
            Documents added by `fill` are not counted, and come after the sorted ones.
        ask : {"words", "static", "encoder"}, optional
            Where the meaning of the query comes from, if the documents have coordinates (`encoder`
            of `SoftIndex.create`): from the query table, which needs no model, or from the encoder.
            By default from the encoder if it is installed; `Hits.plan` says which. ``words``
            ranks by words alone.
        meaning : float, optional
            Weight of meaning in the score: ``words + meaning * cosine``; 0 ranks by words alone. By
            default that of the index. A document without a word of the query is a hit if its cosine
            is high enough.
        first_stage : int or FirstStage, optional
            Search in two stages: find candidates by the query's own terms and this number of others
            (those of the expanded query that add most to a score), and score the best 100
            of them; with meaning, of the best 1,000. Faster on large indexes. Scores are exact,
            but a document can be missing that scores less than the candidates by these terms.
            `FirstStage` sets both numbers. With meaning, only documents
            with such a term are found, if there are any. Has no effect with ``expand=False``, and
            cannot be used with `sort`, `facets` and `fill`. The first such search of a ranking
            reads all postings once.

        Raises
        ------
        InvalidInputError, IndefiniteMatrixError
        """
        given = locals()
        options = {name: given[name] for name in SearchOptions.__struct_fields__}
        request = SearchRequest.of(q=query, **options)
        return self._search(request).execute([request.q], None)[0]

    @overload
    def search_batch(
        self,
        queries: Iterable[Query],
        *,
        threads: int | None = None,
        **options: Unpack[SearchKeywords],
    ) -> list[Hits]: ...
    @overload
    def search_batch(
        self,
        queries: Iterable[Query] | Path,
        *,
        to: str | Path,
        ids: Iterable[str] | None = None,
        threads: int | None = None,
        overwrite: bool = False,
        progress: Callable[[int, int | None], object] | None = None,
        **options: Unpack[SearchKeywords],
    ) -> int: ...
    def search_batch(
        self,
        queries: Iterable[Query] | Path,
        *,
        to: str | Path | None = None,
        ids: Iterable[str] | None = None,
        threads: int | None = None,
        overwrite: bool = False,
        progress: Callable[[int, int | None], object] | None = None,
        **options: Unpack[SearchKeywords],
    ) -> list[Hits] | int:
        """Search many queries on several threads; results are bit-identical to `search`.

        With `to`, the hits go into a file, and any number of queries takes the memory of some
        thousand. The file appears when it is whole; its bytes do not depend on `threads`.

        Parameters
        ----------
        queries : iterable of queries, or pathlib.Path
            See `search`. A path, only with `to`, is that of a file of queries in one of
            `softcosine.files.FORMATS`, such as JSON lines with ``id`` (or ``_id``) and ``text``, or
            lines of text.
        to : path of a file, optional
            By its ending: JSON lines (``.jsonl``) or parquet with ``query`` (the id), ``rank``,
            ``document`` (its id) and ``score``; or a TREC run (``.run``), whose scores descend to
            1.
        ids : iterable of str, optional
            Ids of the queries; by default "1", "2", and so on, or those of the file.
        threads : int, optional
            All processors by default.
        overwrite : bool
            Whether to replace an existing file.
        progress : callable, optional
            Called with (finished queries, all queries); None for all of an iterator or a file.
        **options
            Those of `search`, except ``facets`` with `to`.

        Returns
        -------
        list of Hits, or int
            With `to`, the number of queries.

        Raises
        ------
        InvalidInputError
        AlreadyExistsError
            If the file exists and `overwrite` is false.
        DeadlineExceededError
            If a shard does not answer in time; hits are never missing in a file.
        """
        request = SearchOptions.of(**options)
        if to is None:
            if isinstance(queries, Path) or ids is not None or overwrite or progress is not None:
                raise InvalidInputError(
                    "a file of queries, ids, overwrite and progress are for hits that go into a "
                    "file; pass to=FILE, or leave them out."
                )
            check_list("queries", queries, "queries, or call search with a single one")
            return self._search(request).execute(list(queries), threads)
        return write_hits(
            self._search(request), with_ids(queries, ids), to, threads=threads,
            overwrite=overwrite, progress=progress,
            total=len(queries) if isinstance(queries, Sized) else None,
        )  # fmt: skip

    def ranked(
        self,
        queries: Iterable[Query],
        *,
        threads: int | None = None,
        **options: Unpack[SearchKeywords],
    ) -> list[Top]:
        """Return the numbers and scores of the hits of many queries, without their documents.

        For thousands of hits it is much faster than `search_batch`; the options are those of
        `search`.

        Returns
        -------
        list of Top
            With `documents` (int64) and `scores` (float64), one array each, best first.
        """
        check_list("queries", queries, "queries")
        asked = SearchOptions.of(**options)
        return [page.top for page in self._search(asked).pages(list(queries), threads)]

    def similar(self, id: str, **options: Unpack[SimilarKeywords]) -> Hits:
        """Return the k documents most similar to a document of the index, without itself.

        Parameters
        ----------
        id : str
        k, min_score, where
            As in `search`.
        ranking : str, default "soft_cosine"
            Not by default that of the index. With several fields, the score is the weighted sum of
            the scores of the same field in both documents.
        meaning : float, optional
            Weight of the cosine of the documents' coordinates, if they have some; see `search`.

        Raises
        ------
        UnknownDocumentError, InvalidInputError
        """
        request = SimilarRequest.of(id=id, **options)
        return self._search_like(request.options).like(id)

    def explain(self, query: Query, id: str, **options: Unpack[ScoringKeywords]) -> Explanation:
        """Return the pairs of query and document words whose contributions sum to the score.

        Parameters are those of `search`. Required and excluded words do not contribute. Parts of
        the space ``meaning`` are the contributions of query words to the cosine.

        Raises
        ------
        UnknownDocumentError, InvalidInputError
        """
        request = ExplainRequest.of(q=query, id=id, **options)
        search = self._search(request.options)
        return search.explained(search.ready(request.q, by_word=True), id)

    def scores(
        self, query: Query, ids: Iterable[str], **options: Unpack[ScoringKeywords]
    ) -> NDArray[np.float64]:
        """Return the scores of documents, such as the hits of another engine, in the given order.

        Further parameters are those of `explain`. Required and excluded words do not count: a
        document that no search would find has a score, too.

        Returns
        -------
        ndarray of shape (n_ids,), float64
            Bit-identical to the scores of `search`.

        Raises
        ------
        UnknownDocumentError, InvalidInputError
        """
        check_list("ids", ids, "ids of documents")
        request = ScoresRequest.of(q=query, ids=ids, **options)
        search = self._search(request.options)
        return search.scores_of(search.ready(request.q), request.ids)

    def explain_similar(
        self, id: str, other: str, **options: Unpack[SimilarityKeywords]
    ) -> Explanation:
        """Return the pairs of words that make `other` similar to the document `id`.

        The options `ranking` and `meaning` are those of `similar`.
        """
        request = ExplainSimilarRequest.of(id=id, other=other, **options)
        search = self._search_like(request.options)
        return search.explained(search.document(id)[0], other)

    def expand(
        self,
        query: str | Sequence[str],
        *,
        to: str,
        field: str | Mapping[str, str] | None = None,
        max_terms: int | None = 64,
        words: SentWords = "terms",
        k1_factor: bool | None = None,
        syntax: bool | None = None,
        keep_stop_words: bool = False,
    ) -> ServerQuery:
        """Return soft BM25 of a query as boosted words, for a server that ranks by BM25.

        The server needs nothing but the text field that it has. Whatever the ranking of this index
        is, its scores are those of ``ranking="soft_bm25", ask="words"`` if its analysis, k1, b and
        statistics are those of this index (``softcosine server compare``), up to `max_terms` and
        the lengths of documents, which Lucene rounds.

        Parameters
        ----------
        query : str, or a list of tokens
            As in `search`. Required and excluded words and phrases become clauses; phrases are
            analyzed by the server.
        to : {"elasticsearch", "opensearch", "solr", "lucene"}
            JSON for the first two, else Lucene's query syntax.
        field : str, or mapping of this index's fields to the server's, optional
            Name of the text field on the server; by default those of this index.
        max_terms : int, optional
            Maximum number of words for each field: those of the query and the heaviest others, at
            least half as many of these; None for all.
        words : {"terms", "forms", "analyzed"}
            ``terms``: the terms of this index, if the server analyzes like it. ``forms``: every
            form of a stem that the documents have, if the field is not stemmed; each by an estimate
            of its idf. ``analyzed``: the
            most frequent form, which the server analyzes, if it stems in another way.
        k1_factor : bool, optional
            Whether the server's BM25 has the factor k1 + 1. It changes all scores by one factor. By
            default as in Elasticsearch and OpenSearch 2 (True), Solr and Lucene 8 (False); False
            for OpenSearch 3.
        syntax, keep_stop_words
            See `search`.

        Returns
        -------
        ServerQuery
            ``str`` returns the text to paste, `body` the JSON as a dictionary.

        Raises
        ------
        InvalidInputError

        Examples
        --------
        >>> import softcosine as sc
        >>> index = sc.SoftIndex.from_texts(["a flat tyre", "green tea"], plain=True)
        >>> print(index.expand('flat tyre -"tea"', to="lucene", field="body"))
        +(body:flat^2.6 body:tyre^2.6) -(body:tea)
        """
        request = ExpandRequest.of(
            q=query, to=to, field=field, max_terms=max_terms, words=words,
            k1_factor=k1_factor, syntax=syntax, keep_stop_words=keep_stop_words,
        )  # fmt: skip
        return server_query(self._snapshot, request)

    def neighbors(self, word: str, *, k: int = 10) -> list[tuple[str, float]]:
        """Return the k indexed words most similar to a word, indexed or not, with similarities.

        Raises
        ------
        InvalidInputError
            If `word` contains no term, or several.
        """
        check_k(k)
        parsed = self.parse_word(word)
        terms = [*parsed.words, *(one.word for one in parsed.outside), *parsed.unknown]
        if len(terms) != 1:
            named = f" ({', '.join(terms[:8])})" if terms else ""
            raise InvalidInputError(
                f"the word {shortened(query_text(word))} holds {len(terms)} terms{named}; needed "
                "is one. Ask for several words one by one."
            )
        shown = self.S.representative
        for own in parsed.outside:
            rows = zip(own.terms.tolist(), own.similarities.tolist(), strict=True)
            # Balancing can change the order.
            return sorted(((shown(j), s) for j, s in rows), key=lambda row: (-row[1], row[0]))[:k]
        return [
            (shown(self.vocabulary.index(other)), similarity)
            for number in parsed.terms.tolist()
            for other, similarity in self.S.neighbors(self.vocabulary.term(number), k=k)
        ]

    def term(self, word: str, *, k: int = 10) -> dict[str, Any]:
        """Return a word's neighbors, and with a source their origins, and the forbidden words.

        Returns
        -------
        dict
            word, indexed, and neighbors of word and similarity; if the index has a source of
            similarity, also of origin, and forbidden, of word and origin.

        Raises
        ------
        InvalidInputError, UnknownTermError
        """
        from softcosine.similarity.provenance import origins, overruled

        parsed = self.parse_word(word)
        if parsed.unknown and not len(parsed.terms) and not parsed.outside:
            raise UnknownTermError(
                f"{shortened(word)} is not indexed, and no source has similar words for it."
            )
        pairs: list[dict[str, Any]] = [
            {"word": other, "similarity": value} for other, value in self.neighbors(word, k=k)
        ]
        record: dict[str, Any] = {"word": word, "indexed": not parsed.outside, "neighbors": pairs}
        if self.source is None:
            return record
        # Sources know words, so the representative of the term is looked up.
        known = parsed.outside[0].word if parsed.outside else None
        asked = known or self.S.representatives[parsed.terms[0]]
        record["forbidden"] = [{"word": other} for other in overruled(self.source, asked)]
        rows = [*pairs, *record["forbidden"]]
        others = [row["word"] for row in rows]
        for row, origin in zip(
            rows, origins(self.source, [asked] * len(others), others), strict=True
        ):
            row["origin"] = origin.to_dict()
        return record

    def parse(self, query: str | Sequence[str], *, keep_stop_words: bool = False) -> ParsedQuery:
        """Return the terms of a plain query, words outside the vocabulary, and unknown words."""
        return parse_clauses([Clause(query)], self._snapshot, keep_stop_words=keep_stop_words)

    def parse_word(self, word: str) -> ParsedQuery:
        """Return the term of a word, or of several words that form one phrase term."""
        return parse_word(word, self._snapshot)

    def words(self, ranking: str | None = None) -> Sum[Words]:
        """Return the words of every field, prepared for a ranking; by default the index's."""
        return words_of(self._snapshot, ranking)

    def pairs(
        self,
        *,
        min_similarity: float = 0.0,
        k: int | None = None,
        by: By = "words",
        ranking: str = "soft_cosine",
        threads: int | None = None,
        progress: Progress | None = None,
    ) -> SimilarPairs:
        """Return all similar pairs of documents, or the k nearest documents of each document.

        The similarity is exact, with the earlier document as the query.

        Parameters
        ----------
        min_similarity : float
            Above 0, unless k is given; at most 1 if soft cosines cannot be larger. Pairs are
            ordered by document number.
        k : int, optional
            Number of most similar documents for each document, best first. A pair can then occur
            twice.
        by : {"words", "meaning", "both"}
            What is compared: the soft cosine of words; the cosine of coordinates, which documents
            without coordinates do not have; or the mean of the two, half the score of `similar`
            with ``meaning=1`` (a document without coordinates has the cosine 0).
        ranking : {"soft_cosine", "inner_product"}
            Of words alone.
        threads : int, optional
            All processors by default; results do not depend on it.
        progress : callable, optional
            Called with (compared pairs, all pairs).

        Returns
        -------
        SimilarPairs
            An iterable of pairs (id, other, score), computed while they are read, as often as you
            like; ``to_pandas()`` returns a table.

        Raises
        ------
        InvalidInputError
        """
        from softcosine.index.near_duplicates.similar import pairs_of

        return pairs_of(
            self._compared("pairs of documents"), min_similarity=min_similarity, k=k, by=by,
            ranking=ranking, threads=threads, progress=progress,
        )  # fmt: skip

    def dedupe(
        self,
        *,
        min_similarity: float = 0.9,
        method: str = "components",
        by: By = "words",
        threads: int | None = None,
        progress: Progress | None = None,
    ) -> list[SimilarGroup]:
        """Return groups of near duplicates, each led by its earliest document.

        Parameters
        ----------
        min_similarity : float
            Above 0.
        method : {"components", "leaders"}
            ``components``: documents connected by a chain of similar pairs. ``leaders``: every
            member has at least this similarity with the first document of the group.
        by, threads, progress
            See `pairs`.

        Raises
        ------
        InvalidInputError
        """
        from softcosine.index.near_duplicates.similar import groups_of

        return groups_of(
            self._compared("near duplicates"), min_similarity=min_similarity, method=method, by=by,
            threads=threads, progress=progress,
        )  # fmt: skip

    def _compared(self, what: str) -> Snapshot:
        """Return the documents that are compared with one another; `what` is for errors."""
        return self._snapshot
