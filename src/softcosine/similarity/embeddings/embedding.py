"""Term similarity by the cosine of word vectors."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from os import PathLike
from typing import TYPE_CHECKING, Any, TypedDict, Unpack

import numpy as np
from numpy.typing import ArrayLike, NDArray

from softcosine._progress import Progress
from softcosine._ragged import running_sum
from softcosine._threads import for_each_chunk, takes_threads
from softcosine._validation import check_number
from softcosine.kernels.selection import pair_similarities
from softcosine.similarity.embeddings.deferred_table import DeferredTable
from softcosine.similarity.embeddings.nearest import Nearest, UnitVectors
from softcosine.similarity.embeddings.vector_table import VectorTable
from softcosine.similarity.embeddings.word_vectors import WordVectors
from softcosine.similarity.identity_cache import LastTuple
from softcosine.similarity.neighbors import Neighbors
from softcosine.similarity.source import (
    SourceState,
    check_limit,
    check_pairs,
    equal_strings,
)

if TYPE_CHECKING:
    from gensim.models import KeyedVectors


class Settings(TypedDict, total=False):
    """Keyword arguments of every constructor of `EmbeddingSimilarity`."""

    threshold: float
    exponent: float


@dataclass(frozen=True, slots=True)
class _Checked:
    """The settings, checked before large files are read."""

    threshold: float = 0.3
    exponent: float = 4.0

    def __post_init__(self) -> None:
        check_number("threshold", self.threshold, least=0, most=1)
        check_number("exponent", self.exponent, above=0)


@dataclass(frozen=True, slots=True)
class _Prepared:
    """Known strings of a searched sequence, in code point order."""

    known: list[str]  # positions in the sequence
    order: NDArray[np.intp]  # numbers in `known`, sorted by string, equal ones by position
    positions: NDArray[np.int32]  # positions in the sequence, sorted by string
    vectors: UnitVectors  # by string
    numbers: dict[str, int]  # of the distinct strings


class EmbeddingSimilarity:
    r"""Term similarity by the cosine of word vectors (theory T14).

    .. math:: s_{ij} = \cos(v_i, v_j)^e \text{ where } \cos(v_i, v_j) \ge t, \text{ else } 0

    The threshold applies to the cosine, before the exponent; both are compared as float32. A term
    is looked up as written, then casefolded, then ignoring letter case.

    Parameters
    ----------
    words : sequence of str
        If a word is given twice, the first counts.
    vectors : array-like of shape (n_words, dimensions)
        int8, float16 and float32 are stored unchanged; other types become float32. A word with a
        zero vector is unknown.
    threshold : float, default 0.3
        Lower cosines count as 0. In [0, 1].
    exponent : float, default 4.0
        Above 0. A larger exponent lowers the weight of similar terms relative to equal terms. The 2
        of the literature suits soft cosine of short texts, but lowers the quality of soft BM25
        rankings (docs/similarity.md).

    Raises
    ------
    InvalidInputError
        If the shapes do not match, a vector contains NaN or infinity, or a setting is out of range.

    Examples
    --------
    >>> source = EmbeddingSimilarity(["tyre", "tire", "moon"], [[3, 4], [4, 3], [-4, 3]])
    >>> source.similarities(["tyre", "tyre"], ["tire", "moon"]).round(4)
    array([0.8493, 0.    ], dtype=float32)
    """

    __slots__ = ("_exponent", "_prepared", "_table", "_threshold")

    def __init__(
        self,
        words: Sequence[str],
        vectors: ArrayLike,
        *,
        threshold: float = 0.3,
        exponent: float = 4.0,
    ) -> None:
        self._set(WordVectors(words, vectors), _Checked(threshold, exponent))

    def _set(self, table: VectorTable, checked: _Checked) -> None:
        self._table = table
        self._threshold = float(checked.threshold)
        self._exponent = float(checked.exponent)
        self._prepared = LastTuple[_Prepared]()

    @classmethod
    def of_table(cls, table: VectorTable, **settings: Unpack[Settings]) -> EmbeddingSimilarity:
        """Return a source over an existing table; the table is shared, not copied."""
        return cls._of_table(table, _Checked(**settings))

    @classmethod
    def _of_table(cls, table: VectorTable, checked: _Checked) -> EmbeddingSimilarity:
        source = cls.__new__(cls)
        source._set(table, checked)
        return source

    @classmethod
    @takes_threads
    def load(
        cls,
        path: str | PathLike[str],
        *,
        words: Collection[str] | None = None,
        threads: int | None = None,
        progress: Progress | None = None,
        **settings: Unpack[Settings],
    ) -> EmbeddingSimilarity:
        """Read word vectors from a file of any format.

        Parameters
        ----------
        path : path
            word2vec text or binary, GloVe text (each also gzipped), fastText ``.vec`` and ``.bin``,
            ``.npz``, ``.safetensors``, files saved by gensim, or a model2vec folder. The
            format is detected from the content.
        words : collection of str, optional
            Keep only these words, in any letter case.
        threads : int, optional
            See `softcosine.using_threads`.
        progress : callable, optional
            Called as ``progress(done, total)``, in bytes of the file.
        **settings
            ``threshold`` and ``exponent``, as for the class.

        Raises
        ------
        MalformedFileError
            If the file violates its format. For text formats the message names the line.
        """
        from softcosine.similarity.embeddings.vector_files import read_vectors

        checked = _Checked(**settings)
        return cls._of_table(read_vectors(path, words=words, progress=progress), checked)

    @classmethod
    def from_tokens(
        cls, tokens: Sequence[str], vectors: ArrayLike, **settings: Unpack[Settings]
    ) -> EmbeddingSimilarity:
        """Return a source over static vectors of WordPiece tokens, as of BERT or model2vec.

        The vector of a word is the mean of its word pieces (such as ``##able``), so nearly every
        word is known. The tokenizer is that of uncased BERT; for another one, see
        `softcosine.similarity.embeddings.word_pieces.WordPieces`.

        Parameters
        ----------
        tokens : sequence of str
        vectors : array-like of shape (n_tokens, dimensions)
        **settings
            As for `load`.
        """
        from softcosine.similarity.embeddings.composed_vectors import ComposedVectors
        from softcosine.similarity.embeddings.word_pieces import WordPieces

        return cls.of_table(ComposedVectors(WordPieces(tokens), vectors), **settings)

    @classmethod
    def from_gensim(
        cls, vectors: KeyedVectors, **settings: Unpack[Settings]
    ) -> EmbeddingSimilarity:
        """Return a source over gensim's KeyedVectors; fastText vectors keep their n-grams."""
        from softcosine.similarity.embeddings.gensim_files import table_of

        return cls.of_table(table_of(vectors), **settings)

    @classmethod
    def from_pretrained(
        cls,
        name: str,
        *,
        words: Collection[str] | None = None,
        **settings: Unpack[Settings],
    ) -> EmbeddingSimilarity:
        """Return a source over a Hugging Face model, such as ``minishlab/potion-base-4M``.

        Needs ``pip install 'softcosine[huggingface]'``, unless `name` is a folder.
        """
        from softcosine.encoders.hub import hub_folder
        from softcosine.similarity.embeddings.static_models import HUB_FILES
        from softcosine.storage import checked_path

        _Checked(**settings)
        folder = checked_path(name)
        found = folder if folder.is_dir() else hub_folder(name, HUB_FILES)
        return cls.load(found, words=words, **settings)

    @classmethod
    def english(cls, **settings: Unpack[Settings]) -> EmbeddingSimilarity:
        """Return a source over the bundled table of English word vectors."""
        from softcosine.similarity.embeddings.english import BundledTable

        return cls.of_table(BundledTable(), **settings)

    @property
    def table(self) -> VectorTable:
        """The table of vectors."""
        return self._table

    @property
    def words(self) -> tuple[str, ...]:
        """The words that have their own vector."""
        return self._table.words

    @property
    def dimensions(self) -> int:
        """Number of components of each vector."""
        return self._table.dimensions

    @property
    def threshold(self) -> float:
        """Lower cosines count as 0."""
        return self._threshold

    @property
    def exponent(self) -> float:
        """Power that cosines are raised to."""
        return self._exponent

    def __len__(self) -> int:
        """Return the number of words."""
        return len(self._table)

    def __repr__(self) -> str:
        return (
            f"EmbeddingSimilarity({len(self)} words x {self.dimensions}, "
            f"threshold={self._threshold:g}, exponent={self._exponent:g})"
        )

    def knows(self, terms: Sequence[str]) -> NDArray[np.bool_]:
        """Whether each term has a vector, shape (n_terms,)."""
        return self._table.look_up(terms)[1] >= 0

    def similarities(self, left: Sequence[str], right: Sequence[str]) -> NDArray[np.float32]:
        """Similarity of the pairs ``(left[i], right[i])``, shape (n_pairs,).

        Symmetric to the bit, in [0, 1]; 1 for equal strings, else 0 where one is unknown.
        """
        n_pairs = check_pairs(left, right)
        answer = np.zeros(n_pairs, np.float32)
        self._pairs(left, right, answer)
        answer[equal_strings(left, right)] = 1.0
        return answer

    def _pairs(
        self, left: Sequence[str], right: Sequence[str], answer: NDArray[np.float32]
    ) -> None:
        """Write the similarities of pairs from their vectors."""
        n_pairs = len(answer)
        table, rows = self._table.look_up([*left, *right])
        used, places = np.unique(rows, return_inverse=True)
        if not len(used) or used[-1] < 0:
            return
        units, scales = table.units(np.maximum(used, 0))
        if used[0] < 0:
            scales[0] = 0.0
        places = places.astype(np.int32)

        def work(start: int, stop: int) -> None:
            pair_similarities(
                units, scales, places[start:stop], places[n_pairs + start : n_pairs + stop],
                np.float32(self._threshold), self._exponent, answer[start:stop],
            )  # fmt: skip

        for_each_chunk(work, n_pairs, chunk=65_536)

    def neighbors(
        self,
        terms: Sequence[str],
        among: Sequence[str],
        *,
        max_neighbors: int,
    ) -> Neighbors:
        """Return the most similar strings of `among` of every term, exactly.

        A float32 matrix product finds the candidates. Their similarities are recomputed in float64
        and rounded to float32, with the same bits as from `similarities`.
        """
        check_limit(max_neighbors)
        table, rows = self._table.look_up(terms)
        known = np.flatnonzero(rows >= 0)
        if len(known) == 0 or max_neighbors == 0:
            return Neighbors.none(len(terms))
        prepared = self._prepared.get(among, lambda: self._prepare(among))
        if len(prepared.vectors) == 0:
            return Neighbors.none(len(terms))
        nearest = Nearest(prepared.vectors, threshold=self._threshold, exponent=self._exponent)
        k = min(max_neighbors, len(prepared.vectors))
        strings = [terms[i] for i in known.tolist()]
        if len(strings) > 1 and strings == prepared.known and nearest.has_room(k):
            answers = nearest.of_each(np.argsort(prepared.order), k)
        else:
            units, scales = table.units(rows[known])
            numbers = (prepared.numbers.get(string, -1) for string in strings)
            asked = UnitVectors(units, scales, np.fromiter(numbers, np.int32, len(strings)))
            answers = nearest.of(asked, k)
        counts, columns, similarities = (
            np.concatenate(parts) for parts in zip(*answers, strict=True)
        )
        found = Neighbors(running_sum(counts), prepared.positions[columns], similarities)
        return found.of_some(known, len(terms))

    def _prepare(self, among: Sequence[str]) -> _Prepared:
        """Vectors of the known strings of `among`."""
        table, rows = self._table.look_up(among)
        positions = np.flatnonzero(rows >= 0)
        known = [among[i] for i in positions.tolist()]
        order = np.array(sorted(range(len(known)), key=known.__getitem__), np.intp)
        units, scales = table.units(rows[positions][order])
        numbers: dict[str, int] = {}
        strings = (numbers.setdefault(known[i], len(numbers)) for i in order.tolist())
        vectors = UnitVectors(units, scales, np.fromiter(strings, np.int32, len(known)))
        places = positions[order].astype(np.int32)
        return _Prepared(known, order, places, vectors, numbers)

    def state(self) -> SourceState:
        """State from which an equal source can be built; vectors keep their dtype."""
        from softcosine.similarity.embeddings.english import BundledTable

        settings: dict[str, Any] = {"threshold": self._threshold, "exponent": self._exponent}
        if isinstance(self._table, BundledTable):
            return SourceState("embedding", {**settings, "table": self._table.reference()})
        if composed := self._table.settings():
            settings["composed"] = composed
        return SourceState("embedding", settings, self._table.arrays())

    @classmethod
    def from_state(cls, state: SourceState) -> EmbeddingSimilarity:
        """Build the source from its state; vectors are read on first use."""
        settings = dict(state.settings)
        composed = settings.pop("composed", {})
        if "table" in settings:
            from softcosine.similarity.embeddings.english import BundledTable

            return cls.of_table(BundledTable.referred_to(settings.pop("table")), **settings)
        return cls.of_table(DeferredTable(state.arrays, composed), **settings)
