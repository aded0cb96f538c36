"""Search by the sum of soft BM25 and a soft cosine learned from an encoder."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from os import PathLike
from pathlib import Path
from typing import Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.sparse import csr_array

from softcosine._progress import Progress
from softcosine._validation import check_number
from softcosine.errors import CorruptIndexError, InvalidInputError, VocabularyMismatchError
from softcosine.index.directory.commit import current_manifest, part_facts
from softcosine.index.distilled.soft_words import attained, made_soft
from softcosine.index.language import analyze_in_language, check_language
from softcosine.index.query.query_vectors import ParsedQuery
from softcosine.index.search.explanation import Explanation
from softcosine.index.search.explanation import Part as ExplainedPart
from softcosine.index.search.parts import Part
from softcosine.index.search.top_docs import check_k
from softcosine.index.soft_index import SoftIndex
from softcosine.similarity.cooccurrence.distilled_vectors import encoded
from softcosine.similarity.embeddings.encoded_vectors import Encode
from softcosine.similarity.embeddings.encoder import Encoder
from softcosine.similarity.source import TermSimilaritySource
from softcosine.space.distilled_space import DistilledSpace
from softcosine.space.norms import clipped
from softcosine.storage import fill_folder, open_folder, replacing
from softcosine.text.analyzer import Analyzer
from softcosine.text.corpus import analyze
from softcosine.text.stop_words import stop_word_lists
from softcosine.text.weighting import Weighting

__all__ = ["DistilledHit", "DistilledIndex"]

_SHARE = 0.5
_WEIGHTING = Weighting(k1=1.2, b=0.75)

# Beside the arrays of the space, in the folder of a saved index.
_KIND, _WORDS = "distilled-index", "words"


@dataclass(frozen=True, slots=True)
class DistilledHit:
    """A document of a search result.

    Attributes
    ----------
    id, text : str
    score : float
        ``words + share * meaning``.
    words : float
        Soft BM25, divided by the maximum for the words of the query.
    meaning : float
        Soft cosine in the space learned from the encoder, from -1 to 1.
    """

    id: str
    text: str
    score: float
    words: float
    meaning: float


class DistilledIndex:
    r"""Search by the sum of two soft spaces over the same terms.

    .. math:: \frac{\operatorname{BM25}_S(x, d)}{(k_1 + 1) \sum_i x_i \operatorname{idf}_i}
        + a \cos_{S'}(x, d)

    The first summand is soft BM25 of an index (theory T15), divided by the upper limit for a
    document that contains all words of the query. The second is the soft cosine in a
    `DistilledSpace`, whose S' and term weights are learned from the embeddings that a neural
    encoder gives for the documents. Queries are not encoded: a search costs one pass over a few
    hundred coordinates per document.

    Parameters
    ----------
    index : SoftIndex
        With one field and the ranking soft_bm25.
    space : DistilledSpace
        Fitted on the terms of the index.
    share : float
        The factor a above, at least 0.
    units : ndarray of shape (n_docs, dimensions), float32, optional
        Coordinates of the documents, normalised to length 1; computed by default.

    Raises
    ------
    InvalidInputError
        If the share is out of range, the index has several fields or another ranking, or the units
        do not match its documents.
    VocabularyMismatchError
        If the space was fitted on other terms.

    Examples
    --------
    >>> texts = ["a flat tyre", "a punctured wheel", "the moon rises"]
    >>> index = DistilledIndex.from_texts(texts, encodings=[[1, 0], [1, 0.1], [0, 1]])
    >>> [hit.id for hit in index.search("tyre", k=2)]
    ['0', '1']
    """

    def __init__(
        self,
        index: SoftIndex,
        space: DistilledSpace,
        *,
        share: float = _SHARE,
        units: NDArray[np.float32] | None = None,
    ) -> None:
        check_number("share", share, least=0)
        # A separate view: documents committed to the index later have no units.
        view = index.with_note(index.note)
        searcher = view.searcher()
        if len(view.fields) != 1 or searcher.ranking.name != "soft_bm25":
            raise InvalidInputError(
                "the index has several fields or another ranking; give one of a single field that "
                "is ranked by soft_bm25."
            )
        n_terms = len(view.vocabulary)
        if len(space.coordinates) != n_terms:
            raise VocabularyMismatchError(
                f"the space is of {len(space.coordinates):,} terms, the index of {n_terms:,}; fit "
                "it on the texts of the index, by the same analyzer."
            )
        parts = searcher.searchers[0].parts
        if units is None:
            rows = [_units(part, space, n_terms) for part in parts]
            units = np.concatenate(rows) if rows else np.zeros((0, space.dimensions), np.float32)
        shape = sum(part.segment.n_docs for part in parts), space.dimensions
        if units.shape != shape or units.dtype != np.float32:
            raise InvalidInputError(
                f"units has the shape {units.shape}, of {units.dtype}; the index needs {shape}, of "
                "float32."
            )
        self._given, self._index = index, view
        self._space = space
        self._share = float(share)
        self._searcher = searcher
        self._units = units

    @classmethod
    def from_texts(
        cls,
        texts: Sequence[str],
        model: str | Encode | Encoder | None = None,
        *,
        encodings: ArrayLike | None = None,
        ids: Sequence[str] | None = None,
        analyzer: Analyzer | None = None,
        language: str = "auto",
        source: TermSimilaritySource | None = None,
        weighting: Weighting = _WEIGHTING,
        share: float = _SHARE,
        penalty: float = 1.0,
        power: float = 0.5,
        cache: str | PathLike[str] | None = None,
        name: str | None = None,
        progress: Progress | None = None,
    ) -> DistilledIndex:
        """Encode texts, learn a space from the embeddings, and index the texts.

        Parameters
        ----------
        texts : sequence of str
        model : str, callable, object with ``encode``, or None
            As for EncoderSimilarity; it encodes whole texts.
        encodings : array-like of shape (n_texts, dimensions), optional
            Embeddings, instead of a model.
        ids : sequence of str, optional
        analyzer : Analyzer, optional
            By default the analyzer of the language, with stop words removed.
        language : str
            As for `SoftIndex.from_texts`.
        source : TermSimilaritySource, optional
            For soft BM25: the 100 most similar terms of each term, unbalanced, without antonyms
            and terms with digits. By default the words are ranked by ordinary BM25.
        weighting : Weighting, optional
            BM25 uses its k1 and b.
        share : float
            Weight of the meaning.
        penalty, power : float
            As for `DistilledSpace`.
        cache, name
            As for EncoderSimilarity: a later run reads embeddings from the cache file.
        progress : callable, optional
            Called as ``progress(done, total)``, in encoded texts.

        Raises
        ------
        InvalidInputError
            If a parameter is out of range, or not exactly one of model and encodings is given.
        """
        given = list(texts)
        if (model is None) == (encodings is None):
            raise InvalidInputError("give either a model, or the encodings that one gave.")
        if encodings is None:
            encodings = encoded(given, model, cache=cache, name=name, progress=progress)
        check_language(language, analyzer)
        words = _rules(given, language) if analyzer is None else analyzer
        corpus = analyze(given, words)
        space = DistilledSpace.fit(corpus, encodings, penalty=penalty, power=power)
        index = SoftIndex.from_texts(
            given,
            ids=ids,
            analyzer=words,
            language=language,
            weighting=weighting,
            ranking="soft_bm25",
            plain=True,
        )
        if source is not None:
            index = made_soft(index, source)
        return cls(index, space, share=share)

    def save(self, path: str | PathLike[str], *, overwrite: bool = False) -> None:
        """Write the index to a folder, atomically.

        Parameters
        ----------
        path : path of the folder
        overwrite : bool
            Whether to replace a distilled index at `path`.

        Raises
        ------
        AlreadyExistsError
            If `path` exists, and `overwrite` is false or it is not a distilled index.
        """
        with replacing(Path(path), _KIND, overwrite=overwrite) as work:
            self._index.save(work / _WORDS)
            arrays = {"coordinates": self._space.coordinates, "units": self._units}
            settings = {"share": self._share, "documents": _documents(work / _WORDS)}
            fill_folder(work, _KIND, settings, arrays)

    @classmethod
    def open(cls, path: str | PathLike[str], *, verify: bool = False) -> Self:
        """Return a saved index; its arrays are memory-mapped, and no encoder is needed.

        Parameters
        ----------
        path : path of the folder
        verify : bool
            Whether to read every file and check its checksum first.

        Raises
        ------
        FileNotFoundError, IndexFormatError
        CorruptIndexError
            If a file is damaged, or documents were added to the word index in the folder, which
            have no embeddings. Deletes are allowed.
        """
        folder = open_folder(Path(path), _KIND)
        if verify:
            folder.verify()
        words = Path(path) / _WORDS
        if not words.is_dir():
            raise CorruptIndexError(f"{words} is missing; restore the folder from a copy.")
        index = SoftIndex.open(words, verify=verify)
        space, units = DistilledSpace(folder.array("coordinates")), folder.array("units")
        try:
            if folder.settings["documents"] != _documents(words):
                raise InvalidInputError(f"{words} holds other documents")
            return cls(index, space, share=folder.settings["share"], units=units)
        except (LookupError, TypeError, InvalidInputError) as error:
            raise CorruptIndexError(
                f"{path} does not fit together ({error}); make the index again from the texts."
            ) from error

    @property
    def index(self) -> SoftIndex:
        """The word index; later changes to it do not affect this index."""
        return self._given

    @property
    def space(self) -> DistilledSpace:
        """The space learned from the encoder."""
        return self._space

    @property
    def share(self) -> float:
        """The weight of the meaning."""
        return self._share

    def __len__(self) -> int:
        """Return the number of documents."""
        return len(self._index)

    def __repr__(self) -> str:
        return (
            f"DistilledIndex({len(self)} documents x {self._space.dimensions}, "
            f"share={self._share:g})"
        )

    def scored(self, query: str | Sequence[str]) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Return the scores of every document by words and by meaning.

        Parameters
        ----------
        query : str or sequence of str
            A text, or its tokens.

        Returns
        -------
        words, meaning : ndarray of shape (n_docs,), float64
            Bit-identical in every call.
        """
        parsed = self._index.parse(query)
        words = attained(self._index, self._searcher, parsed)
        n_terms = len(self._space.coordinates)
        counts = csr_array(
            (parsed.frequencies, parsed.terms, [0, len(parsed.terms)]), shape=(1, n_terms)
        )
        # Not by BLAS, whose results depend on the number of threads.
        meaning = clipped(np.einsum("ij,j->i", self._units, self._space.units(counts)[0]))
        return words, meaning

    def search(self, query: str | Sequence[str], *, k: int = 10) -> list[DistilledHit]:
        """Return the best documents by decreasing score; ties go to the earlier document.

        Parameters
        ----------
        query : str or sequence of str
        k : int
            Maximum number. Documents of score 0 or less are not returned.
        """
        check_k(k)
        words, meaning = self.scored(query)
        scores = words + self._share * meaning
        found = np.flatnonzero(self._live & (scores > 0.0))
        best = found[np.lexsort((found, -scores[found]))[:k]].tolist()
        documents = self._index.documents
        return [
            DistilledHit(
                documents.id(number), documents.text(number),
                *(float(own[number]) for own in (scores, words, meaning)),
            )
            for number in best
        ]  # fmt: skip

    def explain(self, query: str | Sequence[str], id: str) -> Explanation:
        """Return the pairs of query and document words and their contributions to the score.

        The field ``words`` has the pairs of soft BM25, ``meaning`` those of the space. They sum to
        the score within the rounding of float32.

        Parameters
        ----------
        query : str or sequence of str
        id : str
            Id of the document.
        """
        number = self._index.documents.number(id)
        parsed = self._index.parse(query)
        words, meaning = self.scored(query)
        told = self._index.explain(query, id)
        unit = float(words[number]) / told.score if told.score else 0.0
        parts = [
            replace(part, contribution=part.contribution * unit, field="words")
            for part in told.parts
        ]
        parts += self._meant(parsed, number)
        parts.sort(key=lambda part: -abs(part.contribution))
        score = float(words[number] + self._share * meaning[number])
        return Explanation(told.query, id, score, tuple(parts), "words and meaning")

    def _meant(self, parsed: ParsedQuery, number: int) -> list[ExplainedPart]:
        """Return the pairs of terms that contribute in the space."""
        searched = next(
            part for part in reversed(self._searcher.searchers[0].parts) if part.first <= number
        )
        terms, frequencies = searched.segment.row(number - searched.first)
        rows = terms.astype(np.int64)
        asked, asked_lengths = self._space.rows(parsed.terms, parsed.frequencies)
        held, held_lengths = self._space.rows(rows, frequencies)
        products = self._share * asked @ held.T
        vocabulary = self._index.vocabulary
        shown = [(vocabulary.forms_of(i) or (vocabulary.term(i),))[0] for i in rows.tolist()]
        found = []
        for i, j in zip(*np.nonzero(products), strict=True):
            similarity = products[i, j] / (self._share * asked_lengths[i] * held_lengths[j])
            same = bool(parsed.terms[i] == rows[j])
            pair = (parsed.words[i], shown[j], min(float(similarity), 1.0))
            found.append(ExplainedPart(*pair, float(products[i, j]), same, "meaning"))
        return found

    @property
    def _live(self) -> NDArray[np.bool_]:
        """Mask of live documents, shape (n_docs,)."""
        live = [
            np.ones(part.segment.n_docs, np.bool_) if part.live is None else part.live
            for part in self._searcher.searchers[0].parts
        ]
        return np.concatenate(live) if live else np.zeros(0, np.bool_)


def _rules(texts: Sequence[str], language: str) -> Analyzer:
    """Return the analyzer for the language of texts, with stop words removed."""
    known = analyze_in_language(texts, language).language
    return Analyzer.for_language(known, stop_words=known if known in stop_word_lists() else None)


def _documents(words: Path) -> list[str]:
    """Return the checksums of the segments of an index on disk."""
    facts = part_facts(words, current_manifest(words)).values()
    return sorted(checksum for kind, checksum in facts if kind == "segment")


def _units(part: Part, space: DistilledSpace, n_terms: int) -> NDArray[np.float32]:
    """Return the coordinates of the documents of a prepared segment."""
    segment = part.segment
    counts = (segment.values(), segment.terms.astype(np.int64), np.asarray(segment.pointers))
    return space.units(csr_array(counts, shape=(segment.n_docs, n_terms))).astype(np.float32)
