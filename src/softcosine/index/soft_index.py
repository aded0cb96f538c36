"""Search over texts in the soft vector space."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, Self

import numpy as np

from softcosine.errors import InvalidInputError, VocabularyMismatchError
from softcosine.index.defaults import RANKING
from softcosine.index.documents import Documents
from softcosine.index.explanation import Explanation, explain
from softcosine.index.query import ParsedQuery, parse_query, query_vector
from softcosine.index.rankings import check_ranking, prepare
from softcosine.index.results import Hit, Hits
from softcosine.index.searcher import QueryVector, Searcher, Top, check_k, check_min_score
from softcosine.index.segment import Segment
from softcosine.index.snippet import Snippet, snippet
from softcosine.matrix.term_similarity_matrix import TermSimilarityMatrix, checked_similarity
from softcosine.sources.source import TermSimilaritySource
from softcosine.text.analyzer import Analyzer
from softcosine.text.vocabulary import Vocabulary
from softcosine.text.weighting import Weighting, checked_weighting

if TYPE_CHECKING:
    from softcosine.index.build import Progress

__all__ = ["SoftIndex"]


class SoftIndex:
    """Documents that are searched by meaning, exactly, and every score explained.

    Make one by `from_texts`, keep it by `save`, open it by `open`. An index is never changed;
    `with_similarity` and `with_weighting` give a new one over the same postings. It may be
    searched from many threads at once.

    Examples
    --------
    >>> import softcosine as sc
    >>> index = sc.SoftIndex.from_texts(
    ...     ["a puncture in the bike's tyre", "the tea is getting cold"], ids=["bike", "tea"]
    ... )
    >>> [hit.id for hit in index.search("bicycle repair")]
    ['bike']
    """

    def __init__(
        self,
        *,
        segment: Segment,
        documents: Documents,
        S: TermSimilarityMatrix,
        source: TermSimilaritySource | None,
        analyzer: Analyzer,
        weighting: Weighting,
        ranking: str,
        document_frequencies: np.ndarray[Any, np.dtype[np.int64]],
        note: str = "",
    ) -> None:
        self.segment = segment
        self.documents = documents
        self.S = S
        self.source = source
        self.analyzer = analyzer
        self.weighting = weighting
        self.ranking = ranking
        self.document_frequencies = document_frequencies
        self.note = note
        self._searchers: dict[str, Searcher] = {}

    @classmethod
    def from_texts(
        cls,
        texts: Iterable[str] | Iterable[Sequence[str]],
        *,
        ids: Iterable[str] | None = None,
        metadata: Iterable[Mapping[str, Any] | None] | None = None,
        source: TermSimilaritySource | None = None,
        S: TermSimilarityMatrix | None = None,
        plain: bool = False,
        analyzer: Analyzer | None = None,
        weighting: Weighting | None = None,
        ranking: str = RANKING,
        max_neighbors: int | None = None,
        min_df: int | float = 1,
        max_df: int | float = 1.0,
        progress: Progress | None = None,
    ) -> Self:
        """Index texts.

        Parameters
        ----------
        texts : iterable of str, or of token lists
            Read once. Token lists are neither cut nor normalised.
        ids : iterable of str, optional
            Distinct; ``"0"``, ``"1"``, ... by default.
        metadata : iterable of mappings or None, optional
            Anything that JSON can hold; given back with every hit.
        source : TermSimilaritySource, optional
            Who is similar to whom; S is balanced (`TermSimilarityMatrix.from_source`). By default
            the bundled English vectors, if the text is English, joined with what the texts
            themselves teach; `note` says which.
        S : TermSimilarityMatrix, optional
            A ready matrix instead; its vocabulary becomes the index's.
        plain : bool
            True for S = I: ordinary cosine.
        analyzer : Analyzer, optional
            English stemming and no stop words where the text is English, else ``Analyzer()``.
        weighting : Weighting, optional
            ``Weighting(tf="log", idf="smooth", k1=1.6, b=0.75)`` by default; soft BM25 takes k1
            and b of it.
        ranking : {"soft_bm25", "soft_cosine", "inner_product", "expanded_cosine"}
            The default of searches; see `softcosine.index.rankings`.
        max_neighbors : int, optional
            Most neighbours of a term in S. 100 by default, 10 where similarities come from the
            texts alone.
        min_df, max_df : int or float
            See `softcosine.analyze`.
        progress : callable, optional
            Called with (what is being done, how far, out of how many or None).

        Raises
        ------
        InvalidInputError
            If a text is no text (its position is named), or arguments contradict each other.
        DuplicateIdError
            If an id is given twice.
        """
        from softcosine.index.build import build  # which opening and searching do not need

        index = cls(
            **build(
                texts, ids=ids, metadata=metadata, source=source, S=S, plain=plain,
                analyzer=analyzer, weighting=weighting, ranking=ranking,
                max_neighbors=max_neighbors, min_df=min_df, max_df=max_df, progress=progress,
            )
        )  # fmt: skip
        index.searcher(ranking)  # norms are computed, and faults of S found, now
        return index

    def __len__(self) -> int:
        return self.segment.n_docs

    def __repr__(self) -> str:
        return f"SoftIndex({len(self)} documents, {len(self.vocabulary)} terms)"

    def __contains__(self, id: object) -> bool:
        try:
            self.documents.number(id)  # type: ignore[arg-type]
        except KeyError:
            return False
        return True

    @property
    def vocabulary(self) -> Vocabulary:
        """The indexed terms."""
        return self.S.vocabulary

    def with_similarity(
        self, S: TermSimilarityMatrix, *, source: TermSimilaritySource | None = None
    ) -> Self:
        """Return an index over the same postings with another S.

        Parameters
        ----------
        S : TermSimilarityMatrix
            Over the same vocabulary.
        source : TermSimilaritySource, optional
            Asked about query words outside the vocabulary, as it is: `Guarded` keeps antonyms
            apart there too.

        Raises
        ------
        VocabularyMismatchError
            If the vocabularies differ.
        """
        if checked_similarity(S).vocabulary != self.vocabulary:
            raise VocabularyMismatchError(
                f"S speaks of {len(S)} terms, not the {len(self.vocabulary)} of this index; build "
                "it with index.vocabulary."
            )
        return self._changed(S=S, source=source, note="")

    def with_weighting(self, weighting: Weighting, *, ranking: str | None = None) -> Self:
        """Return an index over the same postings with other term weights, or another ranking."""
        return self._changed(
            weighting=checked_weighting(weighting),
            ranking=self.ranking if ranking is None else check_ranking(ranking),
        )

    def search(
        self,
        query: str | Sequence[str],
        *,
        k: int = 10,
        min_score: float = 0.0,
        ranking: str | None = None,
        expand: bool = True,
    ) -> Hits:
        """Return the k best documents, best first; equal scores stand by insertion.

        Parameters
        ----------
        query : str, or a list of tokens
            Words that no document has are searched by their neighbours, where the source knows
            them.
        k : int
        min_score : float
            Documents below it are left out, and those of score 0 always.
        ranking : str, optional
            Another one than the index's.
        expand : bool
            False looks only at documents that share a term with the query; their scores stay.

        Raises
        ------
        InvalidInputError, IndefiniteMatrixError
        """
        return self.search_batch(
            [query], k=k, min_score=min_score, ranking=ranking, expand=expand, threads=1
        )[0]

    def search_batch(
        self,
        queries: Iterable[str | Sequence[str]],
        *,
        k: int = 10,
        min_score: float = 0.0,
        ranking: str | None = None,
        expand: bool = True,
        threads: int | None = None,
    ) -> list[Hits]:
        """Search many queries on several threads: the same answers as one by one, to the bit."""
        if isinstance(queries, str) or not isinstance(queries, Iterable):
            raise InvalidInputError(
                f"queries is of type {type(queries).__name__}; pass a list of queries, or call "
                "search with a single one."
            )
        check_k(k)
        check_min_score(min_score)
        searcher = self.searcher(ranking)
        asked = list(queries)
        parsed = [self.parse(query) for query in asked]
        vectors = [query_vector(one, searcher.ranking, self.S, self.source) for one in parsed]
        tops = searcher.search_batch(
            vectors, k=k, min_score=float(min_score), expand_postings=expand, threads=threads
        )
        return [
            self._hits(_shown(query), one, vector, searcher, top)
            for query, one, vector, top in zip(asked, parsed, vectors, tops, strict=True)
        ]

    def similar(
        self, id: str, *, k: int = 10, min_score: float = 0.0, ranking: str = "soft_cosine"
    ) -> Hits:
        """Return the k documents most similar to one of the index, itself left out.

        Two documents are compared by their soft cosine, whatever ranks the index's searches.

        Raises
        ------
        UnknownDocumentError
        """
        number = self.documents.number(id)
        searcher = self.searcher(ranking)
        parsed = self._parsed_document(number)
        vector = query_vector(parsed, searcher.ranking, self.S, self.source)
        top = searcher.search(vector, k=check_k(k) + 1, min_score=min_score)
        others = top.documents != number
        top = Top(top.documents[others][:k], top.scores[others][:k])
        return self._hits(f"like {id}", parsed, vector, searcher, top)

    def explain(
        self, query: str | Sequence[str], id: str, *, ranking: str | None = None
    ) -> Explanation:
        """Say why a document scores what it scores: pairs of words whose parts sum to the score.

        Raises
        ------
        UnknownDocumentError
        """
        return self._explanation(self.parse(query), _shown(query), id, ranking)

    def explain_similar(self, id: str, other: str, *, ranking: str = "soft_cosine") -> Explanation:
        """Say why `other` is similar to the document `id`."""
        parsed = self._parsed_document(self.documents.number(id))
        return self._explanation(parsed, f"like {id}", other, ranking)

    def neighbors(self, word: str, *, k: int = 10) -> list[tuple[str, float]]:
        """Return the indexed words most similar to a word, whether or not it is indexed itself.

        Raises
        ------
        InvalidInputError
            If `word` holds several terms, or none.
        """
        check_k(k)
        parsed = self.parse(word)
        n_terms = len(parsed.terms) + len(parsed.outside) + len(parsed.unknown)
        if n_terms != 1:
            raise InvalidInputError(
                f"the word {_shortened(_shown(word))} holds {n_terms} terms; needed is one. Ask "
                "for several words one by one."
            )
        words = self.S.representatives
        if parsed.outside:
            found = parsed.outside[0]
            pairs = [
                (words[j], float(s)) for j, s in zip(found.terms, found.similarities, strict=True)
            ]
            # Balancing may have changed their order.
            return sorted(pairs, key=lambda pair: (-pair[1], pair[0]))[:k]
        if not len(parsed.terms):
            return []
        term = self.vocabulary.terms[int(parsed.terms[0])]
        return [
            (words[self.vocabulary.index(other)], similarity)
            for other, similarity in self.S.neighbors(term, k=k)
        ]

    def parse(self, query: str | Sequence[str]) -> ParsedQuery:
        """Find the query's terms, its words outside the vocabulary, and its unknown words."""
        return parse_query(query, self.analyzer, self.S, self.source)

    def searcher(self, ranking: str | None = None) -> Searcher:
        """Return what searches query vectors by a ranking; prepared once."""
        name = self.ranking if ranking is None else check_ranking(ranking)
        found = self._searchers.get(name)
        if found is None:
            prepared = prepare(
                name, self.segment, self.S, self.weighting, self.document_frequencies
            )
            found = self._searchers[name] = Searcher(self.segment, self.S, prepared)
        return found

    def save(self, path: str | Path, *, overwrite: bool = False) -> None:
        """Write the index to a folder, whole or not at all.

        Raises
        ------
        AlreadyExistsError
            If something is there, and `overwrite` is false or it is no index.
        """
        from softcosine.index.stored import save_index

        save_index(self, path, overwrite=overwrite)

    @classmethod
    def open(
        cls,
        path: str | Path,
        *,
        source: TermSimilaritySource | None = None,
        verify: bool = False,
    ) -> Self:
        """Open a saved index; its arrays are mapped, not read.

        Parameters
        ----------
        path : path of the folder
        source : TermSimilaritySource, optional
            Asked about query words outside the vocabulary, in place of the saved one.
        verify : bool
            Whether to read every file and compare its checksum first. Otherwise a change of a
            file that leaves its size alone is not noticed.

        Raises
        ------
        FileNotFoundError, IndexFormatError, CorruptIndexError
        """
        from softcosine.index.stored import open_index

        return cls(**open_index(path, source, verify=verify))

    def _changed(self, **changes: Any) -> Self:
        settings: dict[str, Any] = {
            name: getattr(self, name)
            for name in (
                "segment", "documents", "S", "source", "analyzer", "weighting", "ranking",
                "document_frequencies", "note",
            )
        }  # fmt: skip
        return type(self)(**{**settings, **changes})

    def _parsed_document(self, number: int) -> ParsedQuery:
        terms, frequencies = self.segment.row(number)
        shown = self._words_of(number)
        return ParsedQuery(
            terms=terms.astype(np.int32),
            frequencies=frequencies.astype(np.float64),
            words=tuple(
                shown.get(term, term) for term in (self.vocabulary.terms[j] for j in terms)
            ),
        )

    def _words_of(self, number: int) -> dict[str, str]:
        """For each stem of a document, the first word of its text that shows it."""
        if self.analyzer.stemmer is None:
            return {}
        words = self.analyzer.words(self.documents.text(number))
        shown: dict[str, str] = {}
        for stem, word in zip(self.analyzer.stem(words), words, strict=True):
            shown.setdefault(stem, word)
        return shown

    def _explanation(
        self, parsed: ParsedQuery, shown: str, id: str, ranking: str | None
    ) -> Explanation:
        number = self.documents.number(id)
        searcher = self.searcher(ranking)
        vector = query_vector(parsed, searcher.ranking, self.S, self.source)
        score, parts = explain(searcher, vector, parsed, number, self._words_of(number))
        return Explanation(shown, id, score, parts, searcher.ranking.name)

    def _hits(
        self,
        query: str,
        parsed: ParsedQuery,
        vector: QueryVector,
        searcher: Searcher,
        top: Top,
    ) -> Hits:
        weights: dict[str, tuple[float, Literal["exact", "near"]]] = {}

        def passage(text: str) -> Snippet:
            if not weights:
                expanded = searcher.expanded(vector)
                own = set(parsed.terms.tolist())
                for j, weight in zip(expanded.terms.tolist(), expanded.weights, strict=True):
                    kind: Literal["exact", "near"] = "exact" if j in own else "near"
                    weights[self.vocabulary.terms[j]] = (float(weight), kind)
            return snippet(text, self.analyzer, weights)

        hits = tuple(
            Hit(
                id=self.documents.id(number),
                score=float(score),
                text=self.documents.text(number),
                metadata=self.documents.metadata(number),
                number=number,
                _snippet=passage,
            )
            for number, score in zip(top.documents.tolist(), top.scores, strict=True)
        )
        return Hits(
            query=query,
            ranking=searcher.ranking.name,
            hits=hits,
            outside=tuple(word.word for word in parsed.outside),
            unknown=parsed.unknown,
        )


def _shortened(text: str) -> str:
    return repr(text if len(text) <= 80 else f"{text[:79]}…")


def _shown(query: str | Sequence[str]) -> str:
    return query if isinstance(query, str) else " ".join(query)
