"""A text field of an index of Lucene, searched in this process."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, Self
from urllib.parse import parse_qs, unquote

import numpy as np

from softcosine.errors import InvalidInputError
from softcosine.index.search.server_query import ServerQuery
from softcosine.servers.address import ServerAddress
from softcosine.servers.lucene_classes import (
    analyzer_of,
    checked,
    java_path,
    java_set,
    lucene_classes,
)
from softcosine.servers.server import Candidates
from softcosine.servers.server_field import TermFacts

__all__ = ["LuceneField"]

_ANALYZERS = {
    "english": "en.EnglishAnalyzer",
    "simple": "core.SimpleAnalyzer",
    "standard": "standard.StandardAnalyzer",
    "whitespace": "core.WhitespaceAnalyzer",
}
_PARAMETERS = {"id": "id_field", "analyzer": "analyzer", "k1": "k1", "b": "b"}  # of a URL


class LuceneField:
    """A text field of an index of Lucene; documents have a stored field with their ids.

    Parameters
    ----------
    folder : path
        Of the index; it is only read.
    name : str
        Of the field.
    id_field : str
        If it is indexed too, as one token, documents that are not in the index of softcosine are
        found by it.
    analyzer : str
        That of the field, which an index of Lucene does not note: ``standard``, ``english``,
        ``simple``, ``whitespace``, or the name of a class of Java.
    k1, b : float
        Of Lucene's BM25.

    Raises
    ------
    InvalidInputError
        If the folder has no such field, or Java no such analyzer.
    MissingDependencyError, ServerError
        If JPype1, Java or Lucene is missing, or Lucene cannot read the index.
    """

    server = "lucene"
    n_shards = 1

    def __init__(
        self,
        folder: str | Path,
        name: str,
        *,
        id_field: str = "id",
        analyzer: str = "standard",
        k1: float = 1.2,
        b: float = 0.75,
    ) -> None:
        self.name, self.analyzer, self.search_analyzer = name, analyzer, analyzer
        self.address = f"lucene://{Path(folder).absolute()}"
        self._lucene = lucene_classes(self.address)
        self._id_field, self._k1, self._b = id_field, k1, b
        known = _ANALYZERS.get(analyzer)
        self._analyzer = analyzer_of(
            analyzer if known is None else f"org.apache.lucene.analysis.{known}"
        )
        index = self._lucene.index
        with checked(self.address):
            self._similarity = self._lucene.search.similarities.BM25Similarity(k1, b)
            directory = self._lucene.store.FSDirectory.open(java_path(Path(folder).absolute()))
            self._reader = index.DirectoryReader.open(directory)
            if self._reader.getDocCount(name) == 0:
                self.close()
                raise InvalidInputError(f"no document of {self.address} has the field {name!r}.")

    @classmethod
    def open(cls, url: str, name: str) -> Self:
        """Return a field of the index of Lucene in the folder that a URL names.

        Parameters
        ----------
        url : str
            ``lucene:///data/articles?analyzer=english&id=key&k1=1.2&b=0.75``; the parameters are
            those of `LuceneField`, and optional.
        name : str

        Raises
        ------
        InvalidInputError
            If the URL is no folder, or has another parameter.
        MissingDependencyError, ServerError
        """
        address = ServerAddress.parse(url)
        folder = unquote(address.parts.path)
        given = parse_qs(address.parts.query, keep_blank_values=True)
        options: dict[str, Any] = {_PARAMETERS.get(key, ""): given[key][-1] for key in given}
        if address.host or address.transport or not folder.strip("/") or "" in options:
            raise InvalidInputError(
                f"the address {address} is no folder, or has an unknown parameter; write "
                "lucene:///folder, or lucene:///folder?analyzer=NAME&id=FIELD&k1=1.2&b=0.75."
            )
        try:
            options |= {key: float(options[key]) for key in ("k1", "b") if key in options}
        except ValueError as error:
            raise InvalidInputError(f"k1 and b of {address} must be numbers ({error}).") from None
        return cls(folder, name, **options)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def tokens(self, words: Sequence[str]) -> list[list[str]]:
        """Return the tokens that the analyzer makes of each word."""
        with checked(self.address):
            return [list(self._tokens(word)) for word in words]

    def _tokens(self, text: str) -> Iterator[str]:
        stream = self._analyzer.tokenStream(self.name, text)
        kind = self._lucene.analysis.tokenattributes.CharTermAttribute.class_
        token = stream.addAttribute(kind)
        try:
            stream.reset()
            while stream.incrementToken():
                yield str(token.toString())
            stream.end()
        finally:
            stream.close()

    def facts(self, token: str) -> TermFacts | None:
        """Return what Lucene knows of a token; None if no document has it."""
        with checked(self.address):
            index = self._lucene.index
            kind = index.FieldInfos.getMergedFieldInfos(self._reader).fieldInfo(self.name)
            if kind.omitsNorms() or kind.getIndexOptions() == index.IndexOptions.DOCS:
                raise InvalidInputError(
                    f"the field {self.name} has no lengths or frequencies; softcosine's weights "
                    "need BM25."
                )
            frequency = int(self._reader.docFreq(index.Term(self.name, token)))
            n_docs = int(self._reader.getDocCount(self.name))
            average = int(self._reader.getSumTotalTermFreq(self.name)) / n_docs
        if frequency == 0:
            return None
        return TermFacts(token, frequency, n_docs, average, self._k1, self._b, k1_factor=False)

    def texts(self) -> Iterator[tuple[str, str]]:
        """Yield id and text of every document that has the field."""
        found = False
        with checked(self.address):
            live = self._lucene.index.MultiBits.getLiveDocs(self._reader)
            for number in range(self._reader.maxDoc()):
                if (live is None or live.get(number)) and (text := self._text(number)):
                    found = True
                    yield self._ids([number])[0], text
        if not found:
            raise InvalidInputError(
                f"{self.address} does not store the texts of the field {self.name!r}; index their "
                "files by `softcosine index`."
            )

    def _text(self, number: int) -> str:
        document = self._reader.storedFields().document(number, java_set([self.name]))
        return "\n".join(str(value) for value in document.getValues(self.name))

    def _ids(self, numbers: Sequence[int]) -> list[str]:
        stored, names = self._reader.storedFields(), java_set([self._id_field])
        ids = [stored.document(number, names).get(self._id_field) for number in numbers]
        if None in ids:
            raise InvalidInputError(
                f"a document of {self.address} has no stored field {self._id_field!r}; name the "
                "field of ids, lucene:///folder?id=FIELD."
            )
        return [str(id) for id in ids]

    def _numbers(self, ids: Sequence[str]) -> Iterator[tuple[str, int]]:
        """Yield the ids that are indexed, with numbers of Lucene."""
        term, search = self._lucene.index.Term, self._lucene.search
        searcher = search.IndexSearcher(self._reader)
        for id in ids:
            for found in searcher.search(search.TermQuery(term(self._id_field, id)), 1).scoreDocs:
                yield id, found.doc

    def stored_texts(self, ids: Sequence[str], *, timeout: float | None = None) -> dict[str, str]:
        """Return the texts of those documents that are stored, by id."""
        with checked(self.address):
            texts = {id: self._text(number) for id, number in self._numbers(ids)}
        return {id: text for id, text in texts.items() if text}

    def stored_tokens(
        self, ids: Sequence[str], *, timeout: float | None = None
    ) -> dict[str, list[str]]:
        """Return the tokens of those documents that have term vectors in the field, by id.

        They are in the order of the text if the vectors have positions.
        """
        with checked(self.address):
            vectors = self._reader.termVectors()
            terms = {id: vectors.get(number, self.name) for id, number in self._numbers(ids)}
            return {id: _tokens_of(one) for id, one in terms.items() if one is not None}

    def search(self, query: ServerQuery, n: int, *, timeout: float | None = None) -> Candidates:
        """Return the n documents of greatest score by Lucene."""
        body = replace(query, to="elasticsearch").body["query"]  # the same clauses, as values
        with checked(self.address):
            searcher = self._lucene.search.IndexSearcher(self._reader)
            searcher.setSimilarity(self._similarity)
            if timeout is not None:
                limit = self._lucene.index.QueryTimeoutImpl(max(1, int(1000 * timeout)))
                searcher.setTimeout(limit)
            found = searcher.search(self._query(body), n).scoreDocs
            ids = self._ids([one.doc for one in found])
            scores = np.array([one.score for one in found], np.float64)
            return Candidates(ids, scores, not searcher.timedOut())

    def _query(self, clause: dict[str, Any]) -> Any:
        """Return a query of Lucene for one of Elasticsearch."""
        search = self._lucene.search
        ((kind, value),) = clause.items()
        if kind == "match_none":
            return search.MatchNoDocsQuery()
        if kind == "bool":
            occur = search.BooleanClause.Occur
            made = search.BooleanQuery.Builder()
            made.setMinimumNumberShouldMatch(value.get("minimum_should_match", 0))
            for name in ("should", "filter", "must_not"):
                for one in value.get(name, ()):
                    made.add(self._query(one), getattr(occur, name.upper()))
            return made.build()
        ((name, one),) = value.items()
        if kind == "term":
            query = search.TermQuery(self._lucene.index.Term(name, one["value"]))
        else:  # analyzed; None if no token is left
            builder = self._lucene.util.QueryBuilder(self._analyzer)
            make = (
                builder.createPhraseQuery if kind == "match_phrase" else builder.createBooleanQuery
            )
            query = make(name, one["query"]) or search.MatchNoDocsQuery()
        return search.BoostQuery(query, one["boost"]) if "boost" in one else query

    def close(self) -> None:
        """Close the index."""
        self._reader.close()


def _tokens_of(terms: Any) -> list[str]:
    """Return the tokens of a term vector, by position if it has positions."""
    places = []
    every = terms.iterator()
    while (term := every.next()) is not None:
        postings = every.postings(None)
        postings.nextDoc()
        token = str(term.utf8ToString())
        places += [(int(postings.nextPosition()), token) for _ in range(postings.freq())]
    return [token for _, token in sorted(places)]
