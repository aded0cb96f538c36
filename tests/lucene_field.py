"""Lucene in this process (JPype), the oracle of its arithmetic: its classes, and a text field."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import jpype
import numpy as np

from softcosine.errors import InvalidInputError, ServerError
from softcosine.index.search.server_query import ServerQuery
from softcosine.servers.text_field import Candidates, TermFacts


def lucene_classes(jars: Path) -> Any:
    """The package ``org.apache.lucene`` of a folder of jars; Java starts once a process."""
    if not jpype.isJVMStarted():
        # No files in /tmp, and signals are Python's.
        options = ("-XX:-UsePerfData", "-Xrs")
        jpype.startJVM(*options, interrupt=False, convertStrings=False)
        logging = jpype.JPackage("java").util.logging
        logging.Logger.getLogger("org.apache.lucene").setLevel(logging.Level.SEVERE)
        for jar in jars.glob("*.jar"):
            jpype.addClassPath(jar)
    return jpype.JPackage("org").apache.lucene


def java_path(path: Path) -> Any:
    """A path of Java."""
    return jpype.JClass("java.io.File")(str(path)).toPath()


class LuceneField:
    """A text field of an index of Lucene, with the methods of a `TextField`; ids are a field.

    Parameters
    ----------
    lucene : package
        See `lucene_classes`.
    folder : Path
    name : str
    analyzer : str
        Name of the class below ``org.apache.lucene.analysis``.
    k1, b : float
    """

    server = "lucene"
    n_shards = 1

    def __init__(
        self,
        lucene: Any,
        folder: Path,
        name: str,
        *,
        analyzer: str = "standard.StandardAnalyzer",
        k1: float = 1.2,
        b: float = 0.75,
    ) -> None:
        self.name, self.analyzer, self.search_analyzer = name, analyzer, analyzer
        self.address = f"lucene://{folder}"
        self._lucene, self._k1, self._b = lucene, k1, b
        self._analyzer = jpype.JClass(f"org.apache.lucene.analysis.{analyzer}")()
        self.similarity = lucene.search.similarities.BM25Similarity(k1, b)
        directory = lucene.store.FSDirectory.open(java_path(folder))
        self.reader = lucene.index.DirectoryReader.open(directory)

    def tokens(self, words: Sequence[str]) -> list[list[str]]:
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
        frequency = int(self.reader.docFreq(self._lucene.index.Term(self.name, token)))
        n_docs = int(self.reader.getDocCount(self.name))
        average = int(self.reader.getSumTotalTermFreq(self.name)) / n_docs
        if frequency == 0:
            return None
        return TermFacts(token, frequency, n_docs, average, self._k1, self._b, k1_factor=False)

    def texts(self) -> Iterator[tuple[str, str]]:
        found = False
        for number in range(self.reader.maxDoc()):
            if text := self._text(number):
                found = True
                yield self.ids([number])[0], text
        if not found:
            raise InvalidInputError(f"{self.address} does not store the texts.")

    def _text(self, number: int) -> str:
        document = self.reader.storedFields().document(number)
        return "\n".join(str(value) for value in document.getValues(self.name))

    def ids(self, numbers: Sequence[int]) -> list[str]:
        stored = self.reader.storedFields()
        return [str(stored.document(number).get("id")) for number in numbers]

    def _numbers(self, ids: Sequence[str]) -> Iterator[tuple[str, int]]:
        term, search = self._lucene.index.Term, self._lucene.search
        searcher = search.IndexSearcher(self.reader)
        for id in ids:
            for found in searcher.search(search.TermQuery(term("id", id)), 1).scoreDocs:
                yield id, found.doc

    def stored_texts(self, ids: Sequence[str], *, timeout: float | None = None) -> dict[str, str]:
        texts = {id: self._text(number) for id, number in self._numbers(ids)}
        return {id: text for id, text in texts.items() if text}

    def search(self, query: ServerQuery, n: int, *, timeout: float | None = None) -> Candidates:
        body = replace(query, to="elasticsearch").body["query"]  # the same clauses, as values
        searcher = self._lucene.search.IndexSearcher(self.reader)
        searcher.setSimilarity(self.similarity)
        try:
            found = searcher.search(self._query(body), n).scoreDocs
        except jpype.JException as error:
            raise ServerError("lucene", self.address, str(error)) from error
        scores = np.array([one.score for one in found], np.float64)
        return Candidates(self.ids([one.doc for one in found]), scores)

    def _query(self, clause: dict[str, Any]) -> Any:
        """A query of Lucene for one of Elasticsearch."""
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
