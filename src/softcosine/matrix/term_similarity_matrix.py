"""`TermSimilarityMatrix`: the matrix S with its vocabulary."""

from __future__ import annotations

import sys
import warnings
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

import numpy as np
import scipy
from numpy.typing import ArrayLike, NDArray

from softcosine._progress import Progress
from softcosine._threads import using_threads
from softcosine._validation import check_number, check_whole, read_matrix
from softcosine.errors import (
    CorruptIndexError,
    IndefiniteMatrixWarning,
    InvalidInputError,
    VocabularyMismatchError,
)
from softcosine.matrix import definiteness
from softcosine.matrix.entries import Arrays, asymmetry, compressed, writable
from softcosine.matrix.ranges import check_compressed, check_numbers, check_values
from softcosine.matrix.restriction import Restricted, restricted
from softcosine.matrix.rules import Order, Rules, Strategy
from softcosine.matrix.stored import (
    Words,
    checked_record,
    read_matrix_state,
    stored_source,
    write_matrix,
)
from softcosine.similarity.source import TermSimilaritySource, usual_neighbors
from softcosine.storage import Folder, open_folder
from softcosine.text.analyzer import Analyzer
from softcosine.text.packing import PackedStrings
from softcosine.text.vocabulary import Vocabulary, checked_vocabulary

if TYPE_CHECKING:
    from scipy.sparse import csr_array

# Entries up to this number of bytes are checked on opening, in a few milliseconds.
_CHECKED_AT_ONCE = 1 << 22

_SHOWN = 10


@dataclass(frozen=True, slots=True)
class SimilarityChange:
    """A pair of terms with different similarities; 0 if a matrix has no entry."""

    left: str
    right: str
    before: float
    after: float

    @property
    def kind(self) -> str:
        """``"added"``, ``"removed"`` or ``"changed"``."""
        return "added" if self.before == 0 else "removed" if self.after == 0 else "changed"


@dataclass(frozen=True, slots=True, eq=False)
class MatrixDifference:
    """The terms and neighbours that two matrices do not share.

    Attributes
    ----------
    added_terms, removed_terms : tuple of str
        Terms of the second vocabulary only, and of the first only.
    changes : tuple of Change
        The largest first, ties by their strings. If both matrices are symmetric, each pair occurs
        once, with its strings in order.
    n_equal : int
        Number of pairs with equal similarities.
    """

    added_terms: tuple[str, ...]
    removed_terms: tuple[str, ...]
    changes: tuple[SimilarityChange, ...]
    n_equal: int

    def counts(self) -> dict[str, int]:
        """Return the numbers of added, removed, changed and equal pairs."""
        kinds = Counter(change.kind for change in self.changes)
        return {
            **{kind: kinds[kind] for kind in ("added", "removed", "changed")},
            "equal": self.n_equal,
        }

    def summary(self) -> str:
        """Return the counts in one line."""
        counts = self.counts()
        return (
            f"pairs: {counts['added']:,} added, {counts['removed']:,} removed, "
            f"{counts['changed']:,} changed, {counts['equal']:,} equal; "
            f"terms: {len(self.added_terms):,} added, {len(self.removed_terms):,} removed"
        )

    def __str__(self) -> str:
        lines = [self.summary()]
        lines += [
            f"  {change.left} ~ {change.right}  {change.before:.3f} -> {change.after:.3f}"
            for change in self.changes[:_SHOWN]
        ]
        if len(self.changes) > _SHOWN:
            lines.append(f"  and {len(self.changes) - _SHOWN:,} more")
        return "\n".join(lines)


def difference(
    before: TermSimilarityMatrix, after: TermSimilarityMatrix, *, tolerance: float = 0.0
) -> MatrixDifference:
    """Return the difference of two matrices, matched by terms.

    Parameters
    ----------
    before, after : TermSimilarityMatrix
    tolerance : float
        Similarities that differ by at most this count as equal.
    """
    check_number("tolerance", tolerance, least=0)
    terms = Vocabulary(sorted(set(before.vocabulary) | set(after.vocabulary)))
    once = before.symmetric and after.symmetric
    keys, values = zip(*(_entries(S, terms, once) for S in (before, after)), strict=True)
    pairs = np.union1d(*keys)
    held = np.zeros((2, len(pairs)))
    for row, key, value in zip(held, keys, values, strict=True):
        row[np.searchsorted(pairs, key)] = value
    gap = np.abs(held[1] - held[0])
    equal = (gap <= tolerance) & (held != 0).all(axis=0)
    # Pairs are numbered in the order of their strings, so that a stable sort orders ties by string.
    differing = np.flatnonzero(~equal)
    differing = differing[np.argsort(-gap[differing], kind="stable")]
    return MatrixDifference(
        added_terms=tuple(term for term in terms if term not in before.vocabulary),
        removed_terms=tuple(term for term in terms if term not in after.vocabulary),
        changes=tuple(
            SimilarityChange(terms.term(pair // len(terms)), terms.term(pair % len(terms)), *values)
            for pair, *values in zip(
                pairs[differing].tolist(), *held[:, differing].tolist(), strict=True
            )
        ),
        n_equal=int(equal.sum()),
    )


def _entries(
    S: TermSimilarityMatrix, terms: Vocabulary, once: bool
) -> tuple[NDArray[np.int64], NDArray[Any]]:
    """Off-diagonal entries by pair number, ascending."""
    numbers = terms.indices(S.vocabulary.terms).astype(np.int64)
    coo = scipy.sparse.csr_array(S.to_scipy()).tocoo()
    rows, columns = numbers[coo.coords[0]], numbers[coo.coords[1]]
    stay = (rows < columns) if once else (rows != columns)
    stay &= coo.data != 0
    keys = rows[stay] * len(terms) + columns[stay]
    order = np.argsort(keys)
    return keys[order], coo.data[stay][order]


@dataclass(frozen=True, slots=True)
class MatrixStatistics:
    """Statistics of S; neighbours are off-diagonal entries, counted by row.

    Attributes
    ----------
    n_terms, n_terms_with_neighbors, n_neighbors : int
        A symmetric pair of neighbours counts twice.
    mean_neighbors, max_neighbors
        Over all terms.
    mean_similarity : float
        Over all neighbours; 0 if there are none.
    symmetric, dominant : bool
        Whether S equals its transpose, and is strictly diagonally dominant.
    smallest_eigenvalue : float or None
        None if S is asymmetric or it was not requested.
    """

    n_terms: int
    n_terms_with_neighbors: int
    n_neighbors: int
    mean_neighbors: float
    max_neighbors: int
    mean_similarity: float
    symmetric: bool
    dominant: bool
    smallest_eigenvalue: float | None

    def to_dict(self) -> dict[str, Any]:
        """Return the statistics as a dictionary."""
        return asdict(self)


# An S that is asymmetric by at most this is made symmetric.
_ASYMMETRY = 1e-6


def read_similarities(S: Any) -> csr_array:
    """Return a term similarity matrix (also gensim's) as float32 CSR with stored diagonal.

    If s_ij and s_ji differ by rounding only, both become their mean.

    Raises
    ------
    InvalidInputError
        If the matrix is not square, real and finite in float32, or its diagonal is not 1.
    """
    matrix = read_matrix(S.matrix if is_gensim(S) else S, "S")
    n = matrix.shape[0]
    if matrix.shape[1] != n:
        raise InvalidInputError(f"S has shape {matrix.shape}; it must be square.")
    if np.any(np.abs(matrix.data) > np.finfo(np.float32).max):
        raise InvalidInputError("S holds values beyond the range of float32; scale it down.")
    diagonal = matrix.diagonal()
    wrong = np.flatnonzero(np.abs(diagonal - 1.0) > 1e-6)
    if wrong.size:
        raise InvalidInputError(
            f"S[{wrong[0]}, {wrong[0]}] is {diagonal[wrong[0]]:g}; the diagonal of a "
            "term similarity matrix is 1. Scale rows and columns by 1/sqrt of the diagonal."
        )
    if np.all(np.abs((matrix - matrix.T).data) <= _ASYMMETRY):
        matrix = scipy.sparse.csr_array((matrix + matrix.T) / 2.0)
    matrix = matrix + scipy.sparse.diags_array(1.0 - matrix.diagonal(), shape=(n, n))
    matrix = scipy.sparse.csr_array(matrix, dtype=np.float32)
    matrix.eliminate_zeros()
    matrix.sort_indices()
    return matrix


def is_gensim(S: object) -> bool:
    """Whether the object is gensim's SparseTermSimilarityMatrix; gensim is not imported."""
    module = sys.modules.get("gensim.similarities.termsim")
    return module is not None and isinstance(S, module.SparseTermSimilarityMatrix)


_READY = {"made": "matrix"}  # how it was made, for the record


class TermSimilarityMatrix:
    """Sparse similarity of the terms of one vocabulary, with unit diagonal (theory T1, T6).

    Build it with `from_source` from a term similarity source, or with `from_gensim`. It is
    immutable.

    Parameters
    ----------
    S : array or sparse array of shape (n_terms, n_terms)
        Finite, with unit diagonal. It may be asymmetric or have negative entries; methods that
        cannot use such an S raise an error. If s_ij and s_ji differ by rounding only (1e-6), both
        become their mean.
    vocabulary : Vocabulary, optional
        ``Vocabulary.numbered(n_terms)`` by default.
    warn : bool
        Whether to warn if a symmetric S is not positive semidefinite.

    Raises
    ------
    InvalidInputError
        If S is not square, not real, not finite in float32, or its diagonal is not 1.
    VocabularyMismatchError
        If S and the vocabulary differ in order.

    Examples
    --------
    >>> S = TermSimilarityMatrix([[1, 0.5], [0.5, 1]], Vocabulary(["tyre", "tire"]))
    >>> S.neighbors("tyre")
    [('tire', 0.5)]
    """

    def __init__(
        self, S: ArrayLike | csr_array, vocabulary: Vocabulary | None = None, *, warn: bool = True
    ) -> None:
        self._fill(*_read(S, vocabulary), settings=_READY)
        if warn:
            self.warn_if_indefinite()

    def _fill(
        self,
        S: csr_array | Arrays,
        vocabulary: Vocabulary,
        representatives: Sequence[str] | None = None,
        settings: Mapping[str, Any] | None = None,
        scales: NDArray[np.float32] | None = None,
    ) -> None:
        # Arrays may be memory-mapped; they are not read here, but checked before their first use.
        self.__dict__["_unchecked" if isinstance(S, tuple) else "_S"] = S
        self.vocabulary = checked_vocabulary(vocabulary)
        self.words: Words | None = None
        if isinstance(representatives, PackedStrings):
            self.words = representatives
        elif representatives is not None:
            words = tuple(representatives)
            self.words = None if words is vocabulary.terms else words
        self.settings = dict(settings or {})
        self.scales = scales

    @classmethod
    def from_entries(
        cls,
        S: csr_array | Arrays,
        vocabulary: Vocabulary,
        *,
        representatives: Sequence[str] | None = None,
        settings: Mapping[str, Any] | None = None,
        scales: NDArray[np.float32] | None = None,
    ) -> Self:
        """Return a matrix from entries in canonical form, without reading or checking them.

        Parameters
        ----------
        S : csr_array of shape (n_terms, n_terms), float32, or its arrays
            Column indices ascending, diagonal stored.
        vocabulary : Vocabulary of n_terms
        representatives : sequence of str, optional
            The word that represented each term in the source: under stemming, the most frequent
            form that the source knows. The terms themselves by default. Packed strings are decoded
            on use.
        settings : mapping, optional
            Record of how S was made.
        scales : ndarray of shape (n_terms,), float32, optional
            Balancing scale of each term.
        """
        made = cls.__new__(cls)
        made._fill(S, vocabulary, representatives, settings, scales)
        return made

    @classmethod
    def identity(cls, vocabulary: Vocabulary) -> Self:
        """Return S = I; with it, every soft measure equals the ordinary one."""
        n = len(checked_vocabulary(vocabulary))
        S = np.arange(n + 1), np.arange(n, dtype=np.int32), np.ones(n, np.float32)
        return cls.from_entries(S, vocabulary, settings={"made": "identity"})

    @classmethod
    def from_source(
        cls,
        source: TermSimilaritySource,
        vocabulary: Vocabulary,
        *,
        max_neighbors: int | None = None,
        min_similarity: float = 0.0,
        strategy: Strategy = "symmetric",
        order: Order | ArrayLike = "rare_first",
        balanced: bool = False,
        definite: bool = False,
        guard: bool = True,
        analyzer: Analyzer | None = None,
        warn: bool = True,
        threads: int | None = None,
        progress: Progress | None = None,
    ) -> Self:
        """Build S from a term similarity source (theory T6).

        Parameters
        ----------
        source : TermSimilaritySource
            Only neighbours in the vocabulary are requested, so that other words never use up a
            column's limit. A column is filled up to its limit as long as there are neighbours with
            room. Lists and decisions about a word hold for all forms of its term.
        vocabulary : Vocabulary
        max_neighbors : int, optional
            Limit of off-diagonal entries per column. By default 100, or 10 for a source learned
            from a corpus only.
        min_similarity : float
            Lower similarities are dropped.
        strategy : {"symmetric", "dominant", "rows"}
            ``"symmetric"`` enters s_ij and s_ji together while neither column is full, so that rows
            and columns have the same limit, like gensim's ``symmetric=True`` (gensim can leave
            columns unfilled). ``"dominant"`` also keeps S positive definite, like gensim's
            ``dominant=True``. ``"rows"`` keeps the best entries of each *row*, the query's side:
            each query word has at most `max_neighbors`. gensim's ``symmetric=False`` limits
            *columns*, the documents' side, so that a query word may have any number of neighbours.
            See docs/gensim.md.
        order : {"rare_first", "frequent_first", "idf", "vocabulary"} or array of shape (n_terms,)
            Order in which columns choose, ties ordered by string; ``"vocabulary"`` orders by string
            only. ``"idf"`` (greatest first) equals ``"rare_first"``. With an array, the greatest
            weights choose first.
        balanced : bool
            Whether to divide s_ij by the square roots of the sums of similarities of both terms,
            where these exceed 1, so that the neighbours of a term together do not outweigh it. S is
            then positive semidefinite, and terms with few neighbours are unchanged. Pinned pairs
            (in decisions or lists) are also unchanged, which can make S indefinite again.
        definite : bool
            Whether to shrink the off-diagonals as little as needed to make S positive semidefinite,
            so that no soft cosine exceeds 1.
        guard : bool
            Whether antonyms get similarity 0 and terms with digits have no neighbours; see
            `softcosine.similarity.overrides.guard.Guarded`.
        analyzer : Analyzer, optional
            Analyzer of the terms. With it, lists and decisions also match terms by forms that no
            text has.
        warn : bool
            Whether to warn if S is not positive semidefinite.
        threads : int, optional
            See `softcosine.using_threads`.
        progress : callable, optional
            Called with (terms done, terms in all) while neighbours are searched.

        Raises
        ------
        InvalidInputError
            If a setting is unknown, ``"rows"`` is combined with `balanced` or `definite`, the
            source violates its protocol.
        """
        # Imported here: not needed to open a stored S.
        from softcosine.matrix.building import build, prepared

        source = prepared(source, checked_vocabulary(vocabulary), guard=guard, analyzer=analyzer)
        limit = usual_neighbors(source) if max_neighbors is None else max_neighbors
        rules = Rules(limit, min_similarity, strategy)
        if rules.strategy == "rows" and (balanced or definite):
            raise asymmetry("balancing" if balanced else "making it definite")
        with using_threads(threads):
            made = build(source, vocabulary, rules, order, balanced=balanced, progress=progress)
        record, words = made.settings, made.words
        matrix = cls.from_entries(
            made.S, vocabulary, representatives=words, settings=record, scales=made.scales
        )
        if definite:
            return matrix.shrunk()
        if warn:
            matrix.warn_if_indefinite()
        return matrix

    @classmethod
    def from_matrix(
        cls, S: ArrayLike | csr_array, vocabulary: Vocabulary | None = None, *, warn: bool = True
    ) -> Self:
        """Return a matrix from sparse or dense similarities; same as the constructor."""
        made = cls.from_entries(*_read(S, vocabulary), settings=_READY)
        if warn:
            made.warn_if_indefinite()
        return made

    @classmethod
    def from_gensim(cls, matrix: Any, dictionary: Any, *, warn: bool = True) -> Self:
        """Return a matrix from gensim's term similarity matrix and its dictionary.

        Entries are unchanged, in float32. In an asymmetric matrix the rows are the query's terms,
        as in gensim's ``inner_product(query, document)``.

        Parameters
        ----------
        matrix : gensim.similarities.SparseTermSimilarityMatrix, or sparse array
        dictionary : gensim.corpora.Dictionary
            Its ids number the rows and columns.
        warn : bool
            Whether to warn if a symmetric S is not positive semidefinite. gensim does not warn, and
            clips soft cosines above 1.

        Raises
        ------
        InvalidInputError, VocabularyMismatchError
            Also if the ids of the dictionary have gaps.
        """
        made = cls.from_entries(*_read(matrix, Vocabulary.from_gensim(dictionary)), settings=_READY)
        if warn:
            made.warn_if_indefinite()
        return made

    def __len__(self) -> int:
        return len(self.vocabulary)

    @property
    def shape(self) -> tuple[int, int]:
        """(n_terms, n_terms)."""
        return (len(self), len(self))

    def to_scipy(self) -> csr_array:
        """Return S as a SciPy array (n_terms, n_terms), float32. Do not modify it."""
        return self._S

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        if "arrays" in state:
            self.__dict__["arrays"] = tuple(map(writable, state["arrays"]))
            self.__dict__.pop("_unchecked", None)

    @cached_property
    def arrays(self) -> Arrays:
        """Return row pointers, column indices and values, as used by kernels.

        Raises
        ------
        CorruptIndexError
            If stored arrays are invalid. They are checked on first use, in one pass; thread-safe.
        """
        if "_unchecked" in self.__dict__:
            indptr, indices, data = self.__dict__["_unchecked"]
            check_compressed(indptr, indices, data, len(self))
            return writable(indptr), writable(indices), writable(data)
        return (
            writable(self._S.indptr, np.int64),
            writable(self._S.indices, np.int32),
            writable(self._S.data, np.float32),
        )

    def row(self, i: int) -> tuple[NDArray[np.int32], NDArray[np.float32]]:
        """Return columns and values of one row, without reading or checking other rows."""
        indptr, indices, data = self.__dict__.get("_unchecked") or self.arrays
        own = slice(indptr[i], indptr[i + 1])
        check_numbers("matrix/indices", indices[own], len(self))
        check_values("matrix/data", data[own])
        return indices[own], data[own]

    @cached_property
    def _S(self) -> csr_array:  # noqa: N802 - the papers' letter
        return compressed(*self.arrays)

    @cached_property
    def symmetric(self) -> bool:
        """Whether S equals its transpose."""
        return definiteness.is_symmetric(self._S)

    @cached_property
    def non_negative(self) -> bool:
        """Whether all entries are at least 0."""
        return bool(np.all(self._S.data >= 0))

    @cached_property
    def dominant(self) -> bool:
        """Whether S is strictly diagonally dominant (and thus positive definite if symmetric)."""
        return definiteness.is_dominant(self._S)

    def require_symmetric(self, purpose: str) -> None:
        """Raise InvalidInputError if S is asymmetric; `purpose` is part of the message."""
        if not self.symmetric:
            raise asymmetry(purpose)

    def warn_if_indefinite(self) -> None:
        """Warn once if S is symmetric and has a negative eigenvalue."""
        if not self.symmetric or self.dominant:
            return
        lowest = definiteness.lowest_eigenvalue(self._S, tolerance=1e-2).value
        if lowest < -definiteness.ROUNDING:
            warnings.warn(
                f"S is not positive semidefinite (an eigenvalue is {lowest:.3g}), so soft cosines "
                "above 1 can occur. S.shrunk() repairs it and keeps every neighbour, as does "
                'balanced=True; strategy="dominant" keeps the strongest ones only.',
                IndefiniteMatrixWarning,
                stacklevel=3,
            )

    @property
    def representatives(self) -> tuple[str, ...]:
        """Representative word of each term; decoded once if stored."""
        if self.words is None:
            return self.vocabulary.terms
        return self.words.strings() if isinstance(self.words, PackedStrings) else self.words

    def representative(self, number: int) -> str:
        """Return the representative word of one term, without decoding others."""
        return self.vocabulary.term(number) if self.words is None else self.words[number]

    def similarity(self, left: str, right: str) -> float:
        """Return s_ij of two terms.

        Raises
        ------
        UnknownTermError
            If a term is not in the vocabulary.
        """
        i, j = self.vocabulary.index(left), self.vocabulary.index(right)
        columns, values = self.row(i)
        position = np.searchsorted(columns, j)
        if position < columns.shape[0] and columns[position] == j:
            return float(values[position])
        return 0.0

    def neighbors(self, term: str, *, k: int = 10) -> list[tuple[str, float]]:
        """Return the k terms most similar to a term, best first, ties ordered by string.

        Raises
        ------
        UnknownTermError
            If the term is not in the vocabulary.
        InvalidInputError
            If k is not a whole number of at least 0.
        """
        check_whole("k", k, least=0)
        i = self.vocabulary.index(term)
        columns, values = self.row(i)
        pairs = [
            (self.vocabulary.term(j), s)
            for j, s in zip(columns.tolist(), values.tolist(), strict=True)
            if j != i
        ]
        return sorted(pairs, key=lambda pair: (-pair[1], pair[0]))[:k]

    def __repr__(self) -> str:
        return (
            f"TermSimilarityMatrix({len(self)} terms, {self._S.nnz - len(self)} neighbours, "
            f"{'symmetric' if self.symmetric else 'asymmetric'})"
        )

    def __copy__(self) -> Self:
        return self  # it never changes

    def __deepcopy__(self, memo: object) -> Self:
        return self

    def statistics(self, *, eigenvalue: bool = True) -> MatrixStatistics:
        """Return statistics; with `eigenvalue`, also the smallest one (seconds if S is large)."""
        n = len(self)
        counts = np.diff(self._S.indptr) - 1
        total = int(counts.sum())
        similarity = float(self._S.data.sum(dtype=np.float64) - n) / total if total else 0.0
        lowest = None
        if eigenvalue and self.symmetric:
            lowest = definiteness.lowest_eigenvalue(self._S).value
        return MatrixStatistics(
            n_terms=n,
            n_terms_with_neighbors=int(np.count_nonzero(counts)),
            n_neighbors=total,
            mean_neighbors=total / n if n else 0.0,
            max_neighbors=int(counts.max(initial=0)),
            mean_similarity=similarity,
            symmetric=self.symmetric,
            dominant=self.dominant,
            smallest_eigenvalue=lowest,
        )

    def difference(self, other: Self, *, tolerance: float = 0.0) -> MatrixDifference:
        """Return the difference of this matrix and another one, matched by terms.

        Similarities that differ by at most `tolerance` count as equal.
        """
        return difference(self, checked_similarity(other), tolerance=tolerance)

    def restricted(self, vocabulary: Vocabulary) -> Self:
        """Return S over another vocabulary.

        Parameters
        ----------
        vocabulary : Vocabulary
            Its order is that of the result. Terms that S does not have are similar to themselves
            only. If the terms of S come first in it, the cost is one copy of S.
        """
        over = self._over(checked_vocabulary(vocabulary))
        S, words = over.with_diagonal(), over.words
        made = self.from_entries(
            S, vocabulary, representatives=words, settings=self.settings, scales=over.scales
        )
        for name in ("symmetric", "non_negative"):
            if self.__dict__.get(name):  # S loses nothing
                made.__dict__[name] = True
        return made

    def extend(
        self,
        vocabulary: Vocabulary,
        source: TermSimilaritySource,
        *,
        definite: bool = False,
        guard: bool = True,
        analyzer: Analyzer | None = None,
        warn: bool = True,
        threads: int | None = None,
        progress: Progress | None = None,
    ) -> Self:
        """Return S with further terms, by the rules of S; only the new terms are looked up.

        All entries stay. New terms choose, the rarest first, among all terms whose column has room;
        full columns stay unchanged. If S was shrunk, new entries are multiplied by the same factor.
        If S was balanced, they are multiplied by the scales of the old terms and the computed
        scales of the new ones, which can make S indefinite. If S was not made by `from_source`, its
        defaults apply.

        Parameters
        ----------
        vocabulary : Vocabulary
            All terms of S and new ones; its order is that of the result. If the old terms come
            first, as after `Vocabulary.extended`, a few new terms cost their look-up in the source
            and one copy of S.
        source : TermSimilaritySource
        definite : bool
            Whether to shrink all off-diagonals, also old ones, if the larger S needs it.
        guard, analyzer, warn, threads, progress
            As for `from_source`.

        Raises
        ------
        VocabularyMismatchError
            If the vocabulary lacks a term of S.
        """
        checked_vocabulary(vocabulary)
        if not vocabulary.starts_with(self.vocabulary):
            lacking = np.flatnonzero(vocabulary.indices(self.vocabulary.terms) < 0)
            if len(lacking):
                raise VocabularyMismatchError(
                    f"the vocabulary lacks {len(lacking)} of the {len(self)} terms of S, such as "
                    f"{self.vocabulary.term(int(lacking[0]))!r}; it must hold the old terms and "
                    "the new ones. Leave terms out by restricted()."
                )
        from softcosine.matrix.building import extend, prepared

        source = prepared(source, vocabulary, guard=guard, analyzer=analyzer)
        rules = Rules.from_settings(
            self.settings, symmetric=self.symmetric, usual=usual_neighbors(source)
        )
        if rules.strategy != "rows":
            self.require_symmetric("adding terms on both sides")
        old = self._over(vocabulary)
        with using_threads(threads):
            made = extend(old, source, vocabulary, rules, self.settings, progress=progress)
        record, words = made.settings, made.words
        matrix = self.from_entries(
            made.S, vocabulary, representatives=words, settings=record, scales=made.scales
        )
        # Known without reading S: entries are symmetric, and similarities are at least 0.
        if rules.strategy != "rows" or not self.symmetric:
            matrix.__dict__["symmetric"] = self.symmetric
        if "non_negative" in self.__dict__:
            matrix.__dict__["non_negative"] = self.non_negative
        if definite:
            return matrix.shrunk()
        if warn:
            matrix.warn_if_indefinite()
        return matrix

    def _over(self, vocabulary: Vocabulary) -> Restricted:
        return restricted(self._S, self.vocabulary, self.words, self.scales, vocabulary)

    def shrunk(self) -> Self:
        """Return S with its off-diagonals multiplied by the largest factor that makes it definite.

        ``settings["shrunk"]`` is the factor. The order of each term's neighbours is preserved.

        Raises
        ------
        InvalidInputError
            If S is asymmetric.
        """
        self.require_symmetric("making it definite")
        S, factor = (self._S, 1.0) if self.dominant else definiteness.shrink_to_definite(self._S)
        return self.from_entries(
            S,
            self.vocabulary,
            representatives=self.words,
            # The factor also applies to similarities of outside words, so store the product of all
            # factors.
            settings={**self.settings, "shrunk": factor * self.settings.get("shrunk", 1.0)},
            scales=self.scales,
        )

    def save(
        self,
        path: str | Path,
        *,
        source: TermSimilaritySource | None = None,
        overwrite: bool = False,
    ) -> None:
        """Write S and its vocabulary to a folder, atomically.

        Parameters
        ----------
        path : path
        source : TermSimilaritySource, optional
            Stored beside S, for `load_source`, to handle words that S does not have.
        overwrite : bool
            Whether to replace another saved matrix.

        Raises
        ------
        AlreadyExistsError, FileNotFoundError
        InvalidInputError
            If the source cannot be saved.
        """
        write_matrix(path, *self.state(), source=source, overwrite=overwrite)

    @classmethod
    def load(cls, path: str | Path, *, verify: bool = False) -> Self:
        """Open a saved S; its arrays are memory-mapped, not read.

        Parameters
        ----------
        path : path
        verify : bool
            Whether to verify the checksums of the files first, and to `check` S. Otherwise invalid
            entries are detected before their first use, and a change of a file that keeps its size
            and valid numbers is not detected.

        Raises
        ------
        FileNotFoundError, IndexFormatError, CorruptIndexError
        """
        folder = open_folder(path, "matrix")
        if verify:
            folder.verify()
        S = cls.from_folder(folder, folder.settings)
        if verify:
            S.check()
        return S

    @staticmethod
    def load_source(path: str | Path) -> TermSimilaritySource | None:
        """Return the source that was saved with S, or None.

        Raises
        ------
        FileNotFoundError, IndexFormatError, CorruptIndexError
        """
        return stored_source(open_folder(path, "matrix"))

    def check(self) -> None:
        """Read and validate all of S and its terms.

        Useful for an opened matrix only: opening reads small arrays only, and the entries of S are
        checked before their first use.

        Raises
        ------
        CorruptIndexError
            If a number is out of range, or the terms are not distinct strings.
        """
        _ = self.arrays  # checked when they are made
        try:
            self.vocabulary.check()
            if isinstance(self.words, PackedStrings):
                self.words.check()
        except InvalidInputError as error:
            raise CorruptIndexError(f"the terms of S are damaged: {error}") from error

    def state(self) -> tuple[dict[str, Any], dict[str, NDArray[Any]]]:
        """Return settings and named arrays from which `from_folder` restores S."""
        settings = {
            "matrix": self.settings,
            "symmetric": self.symmetric,
            "non_negative": self.non_negative,
        }
        names = ("matrix/indptr", "matrix/indices", "matrix/data")
        arrays: dict[str, NDArray[Any]] = dict(zip(names, self.arrays, strict=True))
        for name, array in self.vocabulary.to_arrays().items():
            arrays[f"vocabulary/{name}"] = array
        if (words := self.words) is not None:
            packed = words if isinstance(words, PackedStrings) else PackedStrings.of(words)
            arrays["matrix/representatives"] = packed.blob
            arrays["matrix/representatives_offsets"] = packed.offsets
        if self.scales is not None:
            arrays["matrix/scales"] = self.scales
        return settings, arrays

    @classmethod
    def from_folder(cls, folder: Folder, settings: Mapping[str, Any]) -> Self:
        """Return S from an opened folder with the result of `state`, in constant time.

        Raises
        ------
        CorruptIndexError
            If arrays do not fit each other, or small ones have invalid values; see `check`.
        """
        entries, vocabulary, words, scales = read_matrix_state(folder)
        record = checked_record(settings, folder)
        matrix = cls.from_entries(
            entries, vocabulary, representatives=words, settings=record, scales=scales
        )
        for name in ("symmetric", "non_negative"):
            if name in settings:  # earlier versions stored the first only
                matrix.__dict__[name] = bool(settings[name])
        if sum(array.nbytes for array in entries) <= _CHECKED_AT_ONCE:
            _ = matrix.arrays  # the constructor checks them
        return matrix


def _read(S: Any, vocabulary: Vocabulary | None) -> tuple[csr_array, Vocabulary]:
    """Return the entries of a given matrix, checked against its vocabulary."""
    matrix = read_similarities(S)
    n = matrix.shape[0]
    terms = Vocabulary.numbered(n) if vocabulary is None else checked_vocabulary(vocabulary)
    if len(terms) != n:
        raise VocabularyMismatchError(
            f"S has order {n} but the vocabulary has {len(terms)} terms; "
            "build both from one vocabulary."
        )
    return matrix, terms


def checked_similarity(S: object) -> TermSimilarityMatrix:
    """Return S; raise InvalidInputError if it is not a TermSimilarityMatrix."""
    if not isinstance(S, TermSimilarityMatrix):
        wrap = "a matrix by TermSimilarityMatrix.from_matrix(S, vocabulary)"
        if isinstance(getattr(S, "S", None), TermSimilarityMatrix):
            raise InvalidInputError(
                f"S is of type {type(S).__name__}; pass its matrix, the `S` of it."
            )
        if is_gensim(S):
            wrap = "gensim's by TermSimilarityMatrix.from_gensim(S, dictionary)"
        raise InvalidInputError(f"S is of type {type(S).__name__}; wrap {wrap}.")
    return S
