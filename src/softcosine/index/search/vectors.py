"""Documents and queries as vectors for any store: dot product or cosine rank as the index does.

===========  =======  ==================================================  =====================
route        rows     documents                                           theory
===========  =======  ==================================================  =====================
``impacts``  sparse   W y, divided by the norm of the ranking             T8, T9
``unit``     sparse   the same of length 1, for stores with cosine only   T10
``basis``    dense    coordinates in an orthonormal basis                 T7
``lsa``      dense    few coordinates, by latent semantic analysis        T11
``meaning``  dense    coordinates of the encoder or the query table       T19
===========  =======  ==================================================  =====================
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Literal, TypeAlias

import numpy as np
from msgspec import structs
from numpy.typing import NDArray
from scipy.sparse import csr_array, hstack, vstack

from softcosine._validation import check_choice, check_list, check_whole
from softcosine.errors import InvalidInputError
from softcosine.index.directory.snapshot import Snapshot
from softcosine.index.encoding import IndexEncoder
from softcosine.index.query.query_vectors import QueryVector
from softcosine.index.query.ready_query import ReadyQuery
from softcosine.index.rankings import RankedSegment
from softcosine.index.requests import SearchOptions
from softcosine.index.search.execution import Search
from softcosine.index.search.query_encoding import query_encoding
from softcosine.index.spaces.meaning import no_coordinates
from softcosine.index.spaces.sum import words_of
from softcosine.index.spaces.words import Words
from softcosine.matrix.term_similarity_matrix import TermSimilarityMatrix
from softcosine.space.basis import OrthonormalBasis, orthonormal_basis
from softcosine.space.latent import right_singular_vectors
from softcosine.space.norms import reciprocal, row_sums, scaled_rows

Route = Literal["impacts", "unit", "basis", "lsa", "meaning"]
Vectors: TypeAlias = csr_array | NDArray[np.float32]

_ROUTES = ("impacts", "unit", "basis", "lsa", "meaning")
_BLOCK = 8192  # documents
_PASSES = 3  # of the singular vectors; more passes improve them, but not recall


def document_vectors(
    snapshot: Snapshot, route: Route, *, ranking: str, n_dimensions: int
) -> Vectors:
    """See `softcosine.SoftIndex.document_vectors`."""
    check_choice("route", route, _ROUTES)
    if route == "meaning":
        return _document_meanings(snapshot)
    vectors = RankedVectors.of(snapshot, ranking)
    if route in ("impacts", "unit"):
        rows = vstack(list(vectors.documents()), format="csr")
        if route == "unit":
            lengths = np.sqrt(row_sums(rows * rows))
            longest = lengths.max(initial=0.0) or 1.0
            rest = np.sqrt(np.maximum(0.0, 1.0 - (lengths / longest) ** 2))
            rows = hstack([rows / longest, csr_array(rest[:, None])], format="csr")
        return csr_array(rows.astype(np.float32))
    if route == "basis":
        own = vectors.basis().coordinates
        blocks = [own(rows).astype(np.float32).toarray() for rows in vectors.documents()]
    else:
        V = vectors.singular_vectors(n_dimensions)
        blocks = [_reduced(rows, V) for rows in vectors.documents()]
    return np.vstack(blocks)


def query_vectors(
    snapshot: Snapshot,
    queries: Sequence[str | Sequence[str]],
    route: Route,
    *,
    encoder: IndexEncoder | None,
    ranking: str,
    n_dimensions: int,
) -> Vectors:
    """See `softcosine.SoftIndex.query_vectors`."""
    check_choice("route", route, _ROUTES)
    check_list("queries", queries, "queries")
    if route == "meaning":
        return _query_meanings(snapshot, queries, encoder)
    vectors = RankedVectors.of(snapshot, ranking)
    request = SearchOptions.of(ranking=ranking, ask="words", syntax=False)
    ready = Search.of(snapshot, request).all_ready(list(queries))
    rows = vectors.queries([one.vectors[0] for one in ready])
    if route == "basis":
        basis = vectors.basis()
        made = basis.coordinates(rows.weighted).toarray()
        if rows.outside.nnz:
            made += basis.solved(rows.outside).toarray()
        return np.asarray(made, np.float32)
    expanded = rows.expanded(vectors.S)
    if route == "lsa":
        return _reduced(expanded, vectors.singular_vectors(n_dimensions))
    if route == "unit":
        unit = scaled_rows(reciprocal(np.sqrt(row_sums(expanded * expanded))), expanded)
        expanded = hstack([unit, csr_array((unit.shape[0], 1))], format="csr")
    return csr_array(expanded.astype(np.float32))


def _document_meanings(snapshot: Snapshot) -> NDArray[np.float32]:
    if snapshot.meaning is None:
        raise no_coordinates()
    made, done = np.zeros((snapshot.n_docs, snapshot.meaning.dimensions), np.float32), 0
    for segment in snapshot.segments:
        if (own := segment.coordinates) is not None:
            units = own.vectors * own.inverse_lengths[:, None]
            made[done : done + segment.n_live] = units[segment.mask]
        done += segment.n_live
    return made


def _query_meanings(
    snapshot: Snapshot, queries: Sequence[str | Sequence[str]], encoder: IndexEncoder | None
) -> NDArray[np.float32]:
    request = SearchOptions.of(meaning=1.0, syntax=False)
    encoding = query_encoding(snapshot, request, encoder)
    if encoding.ask == "words":  # the encoder is missing, which this says
        encoding = query_encoding(snapshot, structs.replace(request, ask="encoder"), encoder)
    assert snapshot.meaning is not None
    made = np.zeros((len(queries), snapshot.meaning.dimensions), np.float32)
    every = Search.of(snapshot, request, encoding).all_ready(list(queries))
    for row, ready in zip(made, every, strict=True):
        if ready.unit is not None:
            row[:] = ready.unit
    return made


@dataclass(frozen=True, slots=True)
class QueryRows:
    """Unexpanded queries, divided by the norms of their ranking.

    Attributes
    ----------
    weighted : csr_array of shape (n_queries, n_terms), float64
        W x.
    outside : csr_array of shape (n_queries, n_terms), float64
        The contribution of words outside the vocabulary to Sᵀ W x.
    """

    weighted: csr_array
    outside: csr_array

    def expanded(self, S: TermSimilarityMatrix) -> csr_array:
        """Return Sᵀ W x, (n_queries, n_terms); its dot products with documents are the scores."""
        terms, weighted = _of_terms(self.weighted)
        expanded = csr_array(weighted @ S.to_scipy()[terms].astype(np.float64))
        return csr_array(expanded + self.outside) if self.outside.nnz else expanded


def _of_terms(rows: csr_array) -> tuple[NDArray[np.int64], csr_array]:
    """Return the terms that occur in rows, ascending, and the rows restricted to these columns.

    The cost of multiplying a few queries then does not depend on the vocabulary.
    """
    terms, places = np.unique(rows.indices, return_inverse=True)
    arrays = (rows.data, places.ravel(), rows.indptr)
    return terms, csr_array(arrays, shape=(rows.shape[0], len(terms)))


def _reduced(rows: csr_array, V: NDArray[np.float32]) -> NDArray[np.float32]:
    """Return the rows times V."""
    terms, own = _of_terms(rows)
    return np.asarray(own @ V[terms].astype(np.float64), np.float32)


class RankedVectors:
    """The weighted and normalised documents of one field, for one ranking, and queries for them.

    A score is ``documents() @ queries().expanded(S).T``, in float64 up to rounding.

    Parameters
    ----------
    words : Words
        Of the field, for the ranking.
    weight : float
        Of the field; a factor of queries.

    Raises
    ------
    InvalidInputError
        If scores by the ranking are no products of vectors.
    """

    def __init__(self, words: Words, weight: float = 1.0) -> None:
        if not words.ranking.linear:
            raise InvalidInputError(
                f"scores by {words.ranking.name} are not products of vectors; rank by soft_bm25."
            )
        self._words, self._weight = words, weight

    @classmethod
    def of(cls, snapshot: Snapshot, ranking: str) -> RankedVectors:
        """Return the vectors of an index of one field."""
        fields = words_of(snapshot, ranking).summands
        if len(fields) > 1:
            names = ", ".join(field.name for field in snapshot.fields)
            raise InvalidInputError(
                f"the index has the fields {names}, and each is a space of its own; make an index "
                "of each field for a vector store."
            )
        ((weight, words),) = fields
        return cls(words, weight)

    @property
    def S(self) -> TermSimilarityMatrix:  # noqa: N802  # the papers' letter
        """The term similarity matrix."""
        return self._words.S

    def __len__(self) -> int:
        """Return the number of live documents."""
        return sum(
            part.segment.n_docs if part.live is None else int(np.count_nonzero(part.live))
            for part in self._words.parts
        )

    def documents(self, *, rows: int = _BLOCK) -> Iterator[csr_array]:
        """Yield the vectors W y of all live documents, in order, float64; at least one block.

        They are divided by the norms of the ranking; zero for documents of norm 0.

        Parameters
        ----------
        rows : int
            Maximum number of documents per block.
        """
        for part in self._words.parts:
            n_docs = part.segment.n_docs
            for begin in range(0, max(1, n_docs), rows):
                end = min(begin + rows, n_docs)
                vectors = self._vectors(part, begin, end)
                yield vectors if part.live is None else vectors[part.live[begin:end]]

    def queries(self, vectors: Sequence[QueryVector]) -> QueryRows:
        """Return queries as rows, not yet expanded.

        Raises
        ------
        IndefiniteMatrixError
            If the ranking needs the soft norm of a query and x'Sx is negative.
        """
        factors = [
            self._weight * self._words.prepare(ReadyQuery((vector,))).expanded.factor
            for vector in vectors
        ]
        return QueryRows(
            weighted=self._rows([(one.terms, one.weights) for one in vectors], factors),
            outside=self._rows([(one.extra_terms, one.extra_values) for one in vectors], factors),
        )

    def basis(self) -> OrthonormalBasis:
        """Return the orthonormal basis of S."""
        basis: OrthonormalBasis = self._fitted("basis", lambda: orthonormal_basis(self.S))
        return basis

    def singular_vectors(self, k: int) -> NDArray[np.float32]:
        """Return the first right singular vectors of the documents, (n_terms, k) or fewer."""
        check_whole("n_dimensions", k)

        def make() -> NDArray[np.float32]:
            n = max(1, min(k, len(self.S), len(self)))
            V, sigma = right_singular_vectors(
                self.documents, len(self.S), k=n, n_iterations=_PASSES
            )
            # With a lower rank, the last columns would be zeros.
            return V[:, : max(1, int(np.count_nonzero(sigma)))].astype(np.float32)

        V: NDArray[np.float32] = self._fitted(f"lsa {k}", make)
        return V

    def _fitted(self, name: str, make: Callable[[], Any]) -> Any:
        fitted = self._words.fitted
        if name not in fitted:
            fitted[name] = make()
        return fitted[name]

    def _vectors(self, part: RankedSegment, begin: int, end: int) -> csr_array:
        pointers = part.segment.pointers[begin : end + 1]
        terms, values = part.coordinates(begin, end)
        values = values * np.repeat(part.ranking.factors[begin:end], np.diff(pointers))
        arrays = (values, terms.astype(np.int64), pointers - pointers[0])
        return csr_array(arrays, shape=(end - begin, len(self.S)))

    def _rows(
        self,
        lists: Sequence[tuple[NDArray[np.int32], NDArray[np.float64]]],
        factors: Sequence[float],
    ) -> csr_array:
        pointers = np.cumsum([0, *(len(terms) for terms, _ in lists)])
        none = [np.empty(0)]
        terms = np.concatenate([*(terms for terms, _ in lists), *none]).astype(np.int64)
        pairs = zip(lists, factors, strict=True)
        values = np.concatenate([*(values * factor for (_, values), factor in pairs), *none])
        rows = csr_array((values, terms, pointers), shape=(len(lists), len(self.S)))
        rows.sum_duplicates()  # several words can be similar to one term
        return rows
