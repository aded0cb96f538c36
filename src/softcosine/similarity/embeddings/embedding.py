"""Term similarity by the cosine of word vectors."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from os import PathLike
from typing import TYPE_CHECKING, ClassVar, TypedDict, Unpack

import numpy as np
from numpy.typing import ArrayLike

from softcosine._progress import Progress
from softcosine._threads import takes_threads
from softcosine.errors import InvalidInputError
from softcosine.similarity.embeddings.compared_vectors import ComparedVectors
from softcosine.similarity.embeddings.vector_table import DeferredTable
from softcosine.similarity.embeddings.word_vectors import WordVectors
from softcosine.similarity.source import check_scale

if TYPE_CHECKING:
    from gensim.models import KeyedVectors


class CosineSettings(TypedDict, total=False):
    """Keyword arguments of every constructor of `EmbeddingSimilarity`."""

    threshold: float
    exponent: float


class EmbeddingSimilarity(ComparedVectors):
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

    __slots__ = ()

    kind: ClassVar[str] = "embedding"
    label: ClassVar[str] = "vectors"

    def __init__(
        self,
        words: Sequence[str],
        vectors: ArrayLike,
        *,
        threshold: float = 0.3,
        exponent: float = 4.0,
    ) -> None:
        self._set(WordVectors(words, vectors), threshold, exponent)

    @classmethod
    @takes_threads
    def load(
        cls,
        path: str | PathLike[str],
        *,
        words: Collection[str] | None = None,
        threads: int | None = None,
        progress: Progress | None = None,
        **settings: Unpack[CosineSettings],
    ) -> EmbeddingSimilarity:
        """Read word vectors from a file of any format.

        Parameters
        ----------
        path : path
            word2vec text or binary, GloVe text (each also gzipped), fastText ``.vec`` and ``.bin``,
            ``.npz``, ``.safetensors``, or a model2vec folder. The format is detected from the
            content.
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

        check_scale(**settings)  # before a large file is read
        return cls.of_table(read_vectors(path, words=words, progress=progress), **settings)

    @classmethod
    def from_gensim(
        cls, vectors: KeyedVectors, **settings: Unpack[CosineSettings]
    ) -> EmbeddingSimilarity:
        """Return a source over gensim's KeyedVectors, or those of a model with ``wv``.

        fastText vectors keep their n-grams.

        Raises
        ------
        InvalidInputError
            If it is neither.
        """
        from softcosine.similarity.embeddings.composed_vectors import ComposedVectors
        from softcosine.similarity.embeddings.subwords import Subwords

        try:
            fields = vars(getattr(vectors, "wv", vectors))
            words, rows = [str(key) for key in fields["index_to_key"]], fields["vectors"]
            if (ngrams := fields.get("vectors_ngrams")) is None:
                return cls.of_table(WordVectors(words, rows), **settings)
            subwords = Subwords(
                words, min_n=fields["min_n"], max_n=fields["max_n"], n_buckets=fields["bucket"]
            )
            own = fields["vectors_vocab"]
        except (KeyError, TypeError, AttributeError):
            raise InvalidInputError(
                f"{type(vectors).__name__} is no KeyedVectors of gensim; needed are index_to_key "
                "and vectors."
            ) from None
        pieces = np.vstack((own, ngrams)) if subwords.n_pieces > len(own) else own
        return cls.of_table(ComposedVectors(subwords, pieces), **settings)

    @classmethod
    def from_pretrained(
        cls,
        name: str,
        *,
        words: Collection[str] | None = None,
        **settings: Unpack[CosineSettings],
    ) -> EmbeddingSimilarity:
        """Return a source over a Hugging Face model, such as ``minishlab/potion-base-4M``.

        Needs ``pip install 'softcosine[huggingface]'``, unless `name` is a folder.
        """
        from softcosine.encoders.hub import hub_folder
        from softcosine.similarity.embeddings.static_models import HUB_FILES
        from softcosine.storage import checked_path

        check_scale(**settings)
        folder = checked_path(name)
        found = folder if folder.is_dir() else hub_folder(name, HUB_FILES)
        return cls.load(found, words=words, **settings)

    @classmethod
    def english(cls, **settings: Unpack[CosineSettings]) -> EmbeddingSimilarity:
        """Return a source over the bundled table of English word vectors."""
        return cls.of_table(DeferredTable.english(), **settings)
