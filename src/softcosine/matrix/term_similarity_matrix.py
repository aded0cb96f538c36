"""The term similarity matrix S, carrying its vocabulary."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.sparse import csr_array, eye_array

from softcosine._progress import Progress
from softcosine._threads import using_threads
from softcosine.errors import InvalidInputError, VocabularyMismatchError
from softcosine.matrix import definiteness
from softcosine.matrix.entries import Arrays, asymmetry
from softcosine.matrix.neighbor_chunks import checked_source
from softcosine.matrix.reading import is_gensim, read_similarities
from softcosine.matrix.rules import Order, Rules, Strategy
from softcosine.matrix.statistics import MatrixStatistics, matrix_statistics
from softcosine.matrix.stored import (
    checked_record,
    matrix_state,
    read_matrix_state,
    stored_source,
    write_matrix,
)
from softcosine.matrix.term_entries import TermEntries
from softcosine.similarity.source import TermSimilaritySource, usual_neighbors
from softcosine.storage import Folder, open_folder
from softcosine.text.analyzer import Analyzer
from softcosine.text.vocabulary import Vocabulary, checked_vocabulary

if TYPE_CHECKING:
    from softcosine.matrix.difference import MatrixDifference
    from softcosine.matrix.picture import MatrixPicture
    from softcosine.matrix.restriction import Restricted

# Entries of at most so many bytes are checked on opening, which takes a few milliseconds.
_CHECKED_AT_ONCE = 1 << 22

__all__ = ["MatrixStatistics", "TermSimilarityMatrix", "checked_similarity", "checked_source"]

_READY = {"made": "matrix"}  # how it was made, for the record


class TermSimilarityMatrix(TermEntries):
    """Sparse similarity of the terms of one vocabulary, with unit diagonal (theory T1, T6).

    `from_source` builds it from a source of similarities, `from_gensim` takes gensim's. It is never
    changed afterwards.

    Parameters
    ----------
    S : array or sparse array of shape (n_terms, n_terms)
        Finite, with unit diagonal. It may be asymmetric or hold negative entries; what cannot work
        with such an S says so. Where s_ij and s_ji differ by rounding only (1e-6), both become
        their mean.
    vocabulary : Vocabulary, optional
        ``Vocabulary.numbered(n_terms)`` by default.
    warn : bool
        Whether to warn where a symmetric S is not positive semidefinite.

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
        super().__init__(*_read(S, vocabulary), settings=_READY)
        if warn:
            self.warn_if_indefinite()

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
        """Take entries that are as S keeps them, without a look at them.

        Parameters
        ----------
        S : csr_array of shape (n_terms, n_terms), float32, or its arrays
            Column indices ascending, diagonal stored.
        vocabulary : Vocabulary of n_terms
        representatives : sequence of str, optional
            The word that stood for each term when the source was asked: under stemming, the most
            frequent form that the source knows. The terms themselves by default. Packed strings
            are decoded when they are asked for.
        settings : mapping, optional
            How S was made, for the record.
        scales : ndarray of shape (n_terms,), float32, optional
            What each term's similarities were multiplied by to balance S.
        """
        made = cls.__new__(cls)
        TermEntries.__init__(
            made, S, vocabulary, representatives=representatives, settings=settings, scales=scales
        )
        return made

    @classmethod
    def identity(cls, vocabulary: Vocabulary) -> Self:
        """Return S = I, with which every soft measure is the ordinary one."""
        S = csr_array(
            eye_array(len(checked_vocabulary(vocabulary)), dtype=np.float32, format="csr")
        )
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
        resume: str | Path | None = None,
    ) -> Self:
        """Ask the source for every term's neighbours and assemble S (theory T6).

        Parameters
        ----------
        source : TermSimilaritySource
            Asked for neighbours inside the vocabulary only, so that others never use up a column's
            limit; a column is filled to it while there are neighbours with room. What a person has
            listed or decided about a word holds for all forms of its term.
        vocabulary : Vocabulary
        max_neighbors : int, optional
            Most off-diagonal entries in a column. 100 by default, 10 for a source that was learned
            from a corpus alone.
        min_similarity : float
            Similarities below it are left out.
        strategy : {"symmetric", "dominant", "rows"}
            ``"symmetric"`` enters s_ij together with s_ji while neither column is full, so that
            rows and columns have the same limit, as gensim's ``symmetric=True`` (where gensim can
            leave columns unfilled). ``"dominant"`` also keeps S positive definite, as its
            ``dominant=True``. ``"rows"`` keeps the best of every *row*, the query's side: each
            query word has at most `max_neighbors`. gensim's ``symmetric=False`` limits *columns*,
            the documents' side, so that a query word may have any number: at best, it is the
            transpose. See docs/gensim.md.
        order
            See `softcosine.matrix.assembly.assemble`.
        balanced : bool
            Whether to divide s_ij by the roots of both terms' sums of similarities, where these
            exceed 1, so that no term's many neighbours outweigh it. S is then positive
            semidefinite, and terms with few neighbours keep theirs as they are. Pairs that a
            person pinned or listed stay as they are too, which can undo the first.
        definite : bool
            Whether to shrink the off-diagonals by the least factor that makes S positive
            semidefinite, so that no soft cosine exceeds 1.
        guard : bool
            Whether to keep antonyms apart and give terms with digits no neighbours; see
            `softcosine.similarity.overrides.guard.Guarded`.
        analyzer : Analyzer, optional
            What the terms were made by: lists and decisions then reach terms by forms that no text
            has.
        warn : bool
            Whether to warn where S is not positive semidefinite.
        threads : int, optional
            See `softcosine.using_threads`.
        progress : callable, optional
            Called with (terms done, terms in all) while neighbours are searched.
        resume : path, optional
            A folder that keeps what the source has answered, chunk by chunk: after an
            interruption an equal call goes on from there. Remove it when S is saved.

        Raises
        ------
        InvalidInputError
            If a setting is unknown, rows are to be balanced or made definite, the source breaks
            its promises, or it cannot be saved and so not be resumed.
        """
        # What builds S is not loaded where one is only opened.
        from softcosine.matrix.building import build, prepared

        source = prepared(source, checked_vocabulary(vocabulary), guard=guard, analyzer=analyzer)
        limit = usual_neighbors(source) if max_neighbors is None else max_neighbors
        rules = Rules(limit, min_similarity, strategy)
        if rules.strategy == "rows" and (balanced or definite):
            raise asymmetry("balancing" if balanced else "making it definite")
        with using_threads(threads):
            made = build(
                source, vocabulary, rules, order, balanced=balanced, progress=progress,
                resume=resume,
            )  # fmt: skip
        matrix = cls.from_entries(
            made.S, vocabulary, representatives=made.words, settings=made.settings,
            scales=made.scales,
        )  # fmt: skip
        if definite:
            return matrix.shrunk()
        if warn:
            matrix.warn_if_indefinite()
        return matrix

    @classmethod
    def from_matrix(
        cls, S: ArrayLike | csr_array, vocabulary: Vocabulary | None = None, *, warn: bool = True
    ) -> Self:
        """Take a ready matrix, sparse or dense: the constructor by another name."""
        made = cls.from_entries(*_read(S, vocabulary), settings=_READY)
        if warn:
            made.warn_if_indefinite()
        return made

    @classmethod
    def from_gensim(cls, matrix: Any, dictionary: Any, *, warn: bool = True) -> Self:
        """Take gensim's term similarity matrix and the dictionary that it was built over.

        It is taken as it is: entry by entry, in float32, and where it is asymmetric with the
        query's terms in the rows, as gensim's ``inner_product(query, document)`` has it.

        Parameters
        ----------
        matrix : gensim.similarities.SparseTermSimilarityMatrix, or sparse array
        dictionary : gensim.corpora.Dictionary
            Its ids number the rows and columns.
        warn : bool
            Whether to warn where a symmetric S is not positive semidefinite. gensim does not, and
            cuts soft cosines above 1 off.

        Raises
        ------
        InvalidInputError, VocabularyMismatchError
            Also if the dictionary's ids have gaps.
        """
        made = cls.from_entries(*_read(matrix, Vocabulary.from_gensim(dictionary)), settings=_READY)
        if warn:
            made.warn_if_indefinite()
        return made

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
        """Count neighbours; with `eigenvalue`, the smallest one too (seconds if S is large)."""
        return matrix_statistics(self, eigenvalue=eigenvalue)

    def picture(self) -> MatrixPicture:
        """Histograms of the terms' neighbours and of their similarities, to print or to draw."""
        from softcosine.matrix.picture import picture_of

        return picture_of(self)

    def difference(self, other: Self, *, tolerance: float = 0.0) -> MatrixDifference:
        """Return what changed from this matrix to another; compared by terms.

        Similarities that differ by no more than `tolerance` count as equal.
        """
        from softcosine.matrix.difference import difference

        return difference(self, checked_similarity(other), tolerance=tolerance)

    def restricted(self, vocabulary: Vocabulary) -> Self:
        """Return the similarities of another vocabulary's terms.

        Parameters
        ----------
        vocabulary : Vocabulary
            Its order becomes the matrix's. Terms that S does not have are similar to themselves
            only. A vocabulary that begins with the terms of S costs one copy of S.
        """
        over = self._over(checked_vocabulary(vocabulary))
        made = self.from_entries(
            over.with_diagonal(), vocabulary, representatives=over.words, settings=self.settings,
            scales=over.scales,
        )  # fmt: skip
        for name in ("symmetric", "non_negative"):
            if self.__dict__.get(name):  # no part of S loses it
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
        """Return S with further terms, by the rules that it was made by, asking for these only.

        Every entry stays. New terms choose, the rarest first, among all terms whose column has
        room; columns that are full stay as they are. If S was shrunk, new entries are multiplied
        by the same factor; if it was balanced, by the scales of the old terms and those that come
        out for the new ones, which can leave S indefinite. Where S was given ready,
        `from_source`'s defaults are its rules.

        Parameters
        ----------
        vocabulary : Vocabulary
            Holds all terms of S and new ones; its order becomes the matrix's. Where the old terms
            come first, as after `Vocabulary.extended`, a few new ones cost the source's answers
            and one copy of S.
        source : TermSimilaritySource
        definite : bool
            Whether to shrink all off-diagonals, the old ones too, if the larger S needs it.
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
        with using_threads(threads):
            made = extend(
                self._over(vocabulary), source, vocabulary, rules, self.settings, progress=progress
            )
        matrix = self.from_entries(
            made.S, vocabulary, representatives=made.words, settings=made.settings,
            scales=made.scales,
        )  # fmt: skip
        # Known without reading S: entries come in on both sides, and similarities are not below 0.
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
        from softcosine.matrix.restriction import restricted

        return restricted(self._S, self.vocabulary, self._words, self.scales, vocabulary)

    def shrunk(self) -> Self:
        """Return S with its off-diagonals multiplied by the largest factor that makes it definite.

        The factor stands in ``settings["shrunk"]``. The order of each term's neighbours stays.

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
            representatives=self._words,
            # A source's answers are multiplied by it too, so repeated shrinking adds up.
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
        """Write S and its vocabulary to a folder, whole or not at all.

        Parameters
        ----------
        path : path
        source : TermSimilaritySource, optional
            Kept beside S, for `load_source`: who is to understand words that S does not have.
        overwrite : bool
            Whether another saved matrix may be replaced.

        Raises
        ------
        AlreadyExistsError, FileNotFoundError
        InvalidInputError
            If the source cannot be saved.
        """
        write_matrix(path, *self.state(), source=source, overwrite=overwrite)

    @classmethod
    def load(cls, path: str | Path, *, verify: bool = False) -> Self:
        """Open a saved S; its arrays are mapped, not read.

        Parameters
        ----------
        path : path
        verify : bool
            Whether to compare the files' checksums first, and to `check` S. Otherwise impossible
            entries are found before their first use, and a change of a file that leaves its size
            alone and its numbers possible is not noticed.

        Raises
        ------
        FileNotFoundError, IndexFormatError, CorruptIndexError
        """
        folder = open_folder(path, "matrix")
        if verify:
            folder.verify()
        S = cls.from_folder(folder, folder.settings, "matrix")
        if verify:
            S.check()
        return S

    @staticmethod
    def load_source(path: str | Path) -> TermSimilaritySource | None:
        """Return the source that was saved with an S, or None.

        Raises
        ------
        FileNotFoundError, IndexFormatError, CorruptIndexError
        """
        return stored_source(open_folder(path, "matrix"))

    def state(self) -> tuple[dict[str, Any], dict[str, NDArray[Any]]]:
        """Return settings and named arrays from which `from_folder` makes S again."""
        settings = {
            "matrix": self.settings,
            "symmetric": self.symmetric,
            "non_negative": self.non_negative,
        }
        return settings, matrix_state(self.contents())

    @classmethod
    def from_folder(cls, folder: Folder, settings: Mapping[str, Any], prefix: str) -> Self:
        """Make S from an opened folder that holds what `state` gave, at the same cost at any size.

        Raises
        ------
        CorruptIndexError
            If arrays do not fit each other, or small ones hold what is impossible; see `check`.
        """
        kept = read_matrix_state(folder, prefix)
        matrix = cls.from_entries(
            kept.entries, kept.vocabulary, representatives=kept.words,
            settings=checked_record(settings, folder), scales=kept.scales,
        )  # fmt: skip
        for name in ("symmetric", "non_negative"):
            if name in settings:  # earlier versions kept the first alone
                matrix.__dict__[name] = bool(settings[name])
        if sum(array.nbytes for array in kept.entries) <= _CHECKED_AT_ONCE:
            _ = matrix.arrays  # which checks them
        return matrix


def _read(S: Any, vocabulary: Vocabulary | None) -> tuple[csr_array, Vocabulary]:
    """Read a ready matrix, and check that it fits its vocabulary."""
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
    """Return S; InvalidInputError says how to wrap what is no TermSimilarityMatrix."""
    if not isinstance(S, TermSimilarityMatrix):
        wrap = "a matrix by TermSimilarityMatrix.from_matrix(S, vocabulary)"
        if is_gensim(S):
            wrap = "gensim's by TermSimilarityMatrix.from_gensim(S, dictionary)"
        raise InvalidInputError(f"S is of type {type(S).__name__}; wrap {wrap}.")
    return S
