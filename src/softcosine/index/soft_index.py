"""Search over texts in the soft vector space."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

from softcosine.errors import InvalidInputError, VocabularyMismatchError
from softcosine.index.answers import Asked, answered, explained, explained_likeness, like
from softcosine.index.defaults import RANKING
from softcosine.index.explanation import Explanation
from softcosine.index.fields import Field, FieldsSearcher
from softcosine.index.query import ParsedQuery, parse_query
from softcosine.index.rankings import check_ranking
from softcosine.index.results import Hits
from softcosine.index.snapshot import SegmentedDocuments, Snapshot
from softcosine.index.values import check_k, check_min_score
from softcosine.matrix.term_similarity_matrix import TermSimilarityMatrix, checked_similarity
from softcosine.sources.source import TermSimilaritySource
from softcosine.text.analyzer import Analyzer
from softcosine.text.vocabulary import Vocabulary
from softcosine.text.weighting import Weighting, checked_weighting

if TYPE_CHECKING:
    from softcosine.index.build import Progress
    from softcosine.index.store import Generation, Store

__all__ = ["SoftIndex"]


class SoftIndex:
    """Documents that are searched by meaning, exactly, and every score explained.

    Make one by `from_texts`, keep it by `save`, open it by `open`; `with_similarity` and
    `with_weighting` give a new one over the same postings. One on disk is also made by `create`,
    changed by its `writer`, and `refresh` sees what others committed. It may be searched from many
    threads at once.

    Examples
    --------
    >>> import softcosine as sc
    >>> index = sc.SoftIndex.from_texts(
    ...     ["a puncture in the bike's tyre", "the tea is getting cold"], ids=["bike", "tea"]
    ... )
    >>> [hit.id for hit in index.search("bicycle repair")]
    ['bike']
    """

    def __init__(self, snapshot: Snapshot) -> None:
        self._snapshot = snapshot
        self._store: Store | None = None
        self._generation: Generation | None = None
        self._given_source: TermSimilaritySource | None = None

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
            build(
                texts, ids=ids, metadata=metadata, source=source, S=S, plain=plain,
                analyzer=analyzer, weighting=weighting, ranking=ranking,
                max_neighbors=max_neighbors, min_df=min_df, max_df=max_df, progress=progress,
            )
        )  # fmt: skip
        index.searcher(ranking)  # norms are computed, and faults of S found, now
        return index

    def __len__(self) -> int:
        return self._snapshot.n_docs

    def __repr__(self) -> str:
        return f"SoftIndex({len(self)} documents, {len(self.vocabulary)} terms)"

    def __contains__(self, id: object) -> bool:
        try:
            self.documents.number(id)  # type: ignore[arg-type]
        except KeyError:
            return False
        return True

    @property
    def snapshot(self) -> Snapshot:
        """The state that searches are answered from; it never changes, another takes its place."""
        return self._snapshot

    @property
    def documents(self) -> SegmentedDocuments:
        """Ids, texts and metadata, by the documents' numbers."""
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
        return type(self)(self._with_similarity(S, source))

    def with_weighting(self, weighting: Weighting, *, ranking: str | None = None) -> Self:
        """Return an index over the same postings with other term weights, or another ranking."""
        return type(self)(self._with_weighting(weighting, ranking))

    def with_note(self, note: str) -> Self:
        """Return the same index with another word on where its similarities come from."""
        return type(self)(self._snapshot.changed(note=note))

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
    ) -> Hits:
        """Return the k best documents, best first; equal scores stand by insertion.

        Parameters
        ----------
        query : str, or a list of tokens
            Words that no document has are searched by their neighbours, where the source knows
            them. In a string, ``+word`` must be there itself, ``-word`` must not,
            ``"some words"`` must stand there one after the other, ``word^2`` counts twice; see
            `softcosine.index.syntax`.
        k : int
        offset : int
            How many of the best are passed over: ``offset=10, k=10`` is the second page.
        min_score : float
            Documents below it are left out, and those of score 0 always.
        where : mapping, optional
            A filter by metadata, such as ``{"lang": "en", "year": {">=": 2020}}``; see
            `softcosine.index.filters`.
        exact_first : bool
            Whether documents that hold every word of the query that any document has come before
            all others.
        ranking : str, optional
            Another one than the index's.
        expand : bool
            False looks only at documents that share a term with the query; their scores stay.
        syntax : bool
            False takes a string as plain text.
        max_terms : int, optional
            Of a longer query, such as a whole document, only so many distinct terms count, those
            of largest weight (of equal ones, the first in the vocabulary); `Hits.left_out` names
            the others. None for no limit.

        Raises
        ------
        InvalidInputError, IndefiniteMatrixError
        """
        return self.search_batch(
            [query], k=k, offset=offset, min_score=min_score, where=where,
            exact_first=exact_first, ranking=ranking, expand=expand, syntax=syntax,
            max_terms=max_terms, threads=1,
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
        threads: int | None = None,
    ) -> list[Hits]:
        """Search many queries on several threads: the same answers as one by one, to the bit."""
        if isinstance(queries, str) or not isinstance(queries, Iterable):
            raise InvalidInputError(
                f"queries is of type {type(queries).__name__}; pass a list of queries, or call "
                "search with a single one."
            )
        asked = Asked(
            k=k, offset=offset, min_score=min_score, where=where, exact_first=exact_first,
            ranking=ranking, expand=expand, syntax=syntax, max_terms=max_terms,
        )  # fmt: skip
        return answered(self._snapshot, list(queries), asked, threads=threads)

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

        Two documents are compared by their soft cosine, whatever ranks the index's searches.

        Raises
        ------
        UnknownDocumentError
        """
        check_k(k)
        check_min_score(min_score)
        asked = Asked(k=k, min_score=min_score, where=where, ranking=ranking, max_terms=None)
        return like(self._snapshot, id, asked)

    def explain(
        self, query: str | Sequence[str], id: str, *, ranking: str | None = None
    ) -> Explanation:
        """Say why a document scores what it scores: pairs of words whose parts sum to the score.

        Raises
        ------
        UnknownDocumentError
        """
        return explained(self._snapshot, query, id, Asked(ranking=ranking))

    def explain_similar(self, id: str, other: str, *, ranking: str = "soft_cosine") -> Explanation:
        """Say why `other` is similar to the document `id`."""
        return explained_likeness(self._snapshot, id, other, Asked(ranking=ranking))

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

    def searcher(self, ranking: str | None = None) -> FieldsSearcher:
        """Return what searches query vectors by a ranking; prepared once."""
        return self._snapshot.searcher(ranking)

    def save(self, path: str | Path, *, overwrite: bool = False) -> None:
        """Write the index to a folder, whole or not at all.

        Raises
        ------
        AlreadyExistsError
            If something is there, and `overwrite` is false or it is no index.
        """
        from softcosine.index.store import Store
        from softcosine.index.stored import write_snapshot

        snapshot = self._snapshot
        Store.create(
            path, lambda writer: write_snapshot(snapshot.with_norms(), writer), overwrite=overwrite
        )

    @classmethod
    def open(
        cls,
        path: str | Path,
        *,
        source: TermSimilaritySource | None = None,
        verify: bool = False,
    ) -> Self:
        """Open a saved index; its arrays are mapped, not read.

        It answers from the last commit; later ones of other processes are seen by `refresh`.

        Parameters
        ----------
        path : path of the folder
        source : TermSimilaritySource, optional
            Asked about query words outside the vocabulary, in place of the saved one.
        verify : bool
            Whether to read every file and compare its checksum first. Otherwise a change of a
            file that leaves its size alone may not be noticed.

        Raises
        ------
        FileNotFoundError, IndexFormatError, CorruptIndexError
        """
        from softcosine.index.store import Store
        from softcosine.index.stored import read_snapshot

        store = Store.open(path)

        def read(generation: Generation) -> Self:
            if verify:
                generation.verify()
            index = cls(read_snapshot(generation, source=source))
            index._store, index._generation, index._given_source = store, generation, source
            return index

        return store.opened(read)

    def refresh(self) -> bool:
        """See what was committed since the index was opened; whether there was anything.

        Searches that are under way go on with what they began with.
        """
        if self._store is None or self._store.generation() == self._snapshot.generation:
            return False
        from softcosine.index.stored import read_snapshot

        def read(generation: Generation) -> tuple[Snapshot, Generation]:
            return (
                read_snapshot(generation, source=self._given_source, previous=self._snapshot),
                generation,
            )

        self._snapshot, self._generation = self._store.opened(read, self._generation)
        return True

    def _with_similarity(
        self, S: TermSimilarityMatrix, source: TermSimilaritySource | None
    ) -> Snapshot:
        if checked_similarity(S).vocabulary != self.vocabulary:
            raise VocabularyMismatchError(
                f"S speaks of {len(S)} terms, not the {len(self.vocabulary)} of this index; build "
                "it with index.vocabulary."
            )
        return self._snapshot.changed(S=S, source=source, note="")

    def _with_weighting(self, weighting: Weighting, ranking: str | None) -> Snapshot:
        return self._snapshot.changed(
            weighting=checked_weighting(weighting),
            ranking=self.ranking if ranking is None else check_ranking(ranking),
        )

    def __getstate__(self) -> dict[str, Any]:
        return {"_snapshot": self._snapshot, "_given_source": self._given_source}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state, _store=None, _generation=None)


def _shortened(text: str) -> str:
    return repr(text if len(text) <= 80 else f"{text[:79]}…")


def _shown(query: str | Sequence[str]) -> str:
    return query if isinstance(query, str) else " ".join(query)
