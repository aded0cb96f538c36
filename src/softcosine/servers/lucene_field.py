"""A text field of an index of Lucene, searched in this process by Lucene's query syntax."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any, Self

import numpy as np

from softcosine.errors import InvalidInputError
from softcosine.index.search.server_query import ServerQuery
from softcosine.servers.lucene_classes import checked, java_path, java_set, lucene_classes
from softcosine.servers.server import Candidates

__all__ = ["LuceneField"]


class LuceneField:
    """A text field of an index of Lucene; documents have a stored field with their ids.

    Parameters
    ----------
    folder : path
        Of the index; it is only read.
    name : str
        Of the field.
    id_field : str
    analyzer : object, optional
        Lucene's analyzer of the words of queries, from `jpype`; by default words are searched as
        they are, which is right for ``words="terms"`` and ``"forms"``.
    k1, b : float
        Of Lucene's BM25.

    Raises
    ------
    InvalidInputError
        If the folder has no such field.
    MissingDependencyError, ServerError
        If JPype1, Java or Lucene is missing, or Lucene cannot read the index.
    """

    server = "lucene"

    def __init__(
        self,
        folder: str | Path,
        name: str,
        *,
        id_field: str = "id",
        analyzer: Any | None = None,
        k1: float = 1.2,
        b: float = 0.75,
    ) -> None:
        self.name = name
        self._address = f"lucene://{Path(folder).absolute()}"
        self._lucene = lucene_classes(self._address)
        self._id_field = id_field
        self._analyzer = analyzer or self._lucene.analysis.core.WhitespaceAnalyzer()
        index, search = self._lucene.index, self._lucene.search
        with checked(self._address):
            directory = self._lucene.store.FSDirectory.open(java_path(Path(folder).absolute()))
            self._reader = index.DirectoryReader.open(directory)
            if self._reader.getDocCount(name) == 0:
                self.close()
                raise InvalidInputError(f"no document of {self._address} has the field {name!r}.")
            self._searcher = search.IndexSearcher(self._reader)
            self._searcher.setSimilarity(search.similarities.BM25Similarity(k1, b))

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def search(self, query: ServerQuery, n: int, *, timeout: float | None = None) -> Candidates:
        """Return the n documents of greatest score by Lucene; there is no time-out."""
        with checked(self._address):
            parser = self._lucene.queryparser.classic.QueryParser(self.name, self._analyzer)
            found = self._searcher.search(parser.parse(str(query)), n).scoreDocs
            stored, names = self._searcher.storedFields(), java_set([self._id_field])
            ids = [str(stored.document(one.doc, names).get(self._id_field)) for one in found]
            return Candidates(ids, np.array([one.score for one in found], np.float64))

    def stored_texts(self, ids: Sequence[str], *, timeout: float | None = None) -> dict[str, str]:
        """Return nothing: texts are read from the index of softcosine alone."""
        return {}

    def stored_tokens(
        self, ids: Sequence[str], *, timeout: float | None = None
    ) -> dict[str, list[str]]:
        """Return nothing; see `stored_texts`."""
        return {}

    def close(self) -> None:
        """Close the index."""
        self._reader.close()
