"""What a neural encoder knows of a corpus, as vectors of its terms."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from os import PathLike
from typing import Protocol

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.sparse import csr_array

from softcosine.errors import InvalidInputError
from softcosine.sources.corpus.ridge import ridge_regression
from softcosine.sources.settings import is_number
from softcosine.sources.vectors.encoded_vectors import Encode
from softcosine.sources.vectors.encoder import EncoderSimilarity
from softcosine.text.corpus import AnalyzedTexts
from softcosine.text.weighting import Weighting

__all__ = ["WEIGHTING", "Encoder", "distilled_vectors", "encoded", "unit_rows"]

WEIGHTING = Weighting(tf="log", idf="smooth")


class Encoder(Protocol):
    """What sentence-transformers, model2vec and others have in common."""

    def encode(self, texts: list[str], /) -> ArrayLike:
        """Return the vectors of some texts, (n_texts, dimensions)."""
        ...


def distilled_vectors(
    corpus: AnalyzedTexts,
    encodings: ArrayLike,
    *,
    penalty: float = 1.0,
    progress: Callable[[int, int], None] | None = None,
) -> NDArray[np.float64]:
    r"""Return the vectors of terms whose sums come nearest to the encodings of documents.

    Let X hold the documents' tf-idf rows of unit length, and D their encodings of unit length less
    their mean. The vectors are those of ridge regression,

    .. math:: \min_V |D - XV|^2 + \lambda |V|^2

    Parameters
    ----------
    corpus : AnalyzedTexts
        What `analyze` gave.
    encodings : array-like of shape (n_docs, dimensions)
        What the encoder gave for each document. A row of zeros says nothing of its document.
    penalty : float
        lambda above, above 0. The larger, the more a term's vector is the mean of those of its
        documents, whatever else stands in them.
    progress : callable, optional
        Called as ``progress(done, total)``, in dimensions.

    Returns
    -------
    ndarray of shape (n_terms, dimensions), float64
        The same bits for the same input, on any number of threads. Of a term's length, see
        `softcosine.learn.distilled_space`.

    Raises
    ------
    InvalidInputError
        If the penalty is out of range, the corpus was not analysed, or there is not one finite
        encoding for each document.
    """
    if not (is_number(penalty) and 0.0 < penalty < np.inf):
        raise InvalidInputError(f"penalty is {penalty!r}; needed is a number above 0.")
    if not isinstance(corpus, AnalyzedTexts):
        raise InvalidInputError(
            f"the corpus is of type {type(corpus).__name__}; call "
            "fit(softcosine.analyze(texts), encodings)."
        )
    D = _centered(encodings, corpus.n_docs)
    X = unit_rows(WEIGHTING.transform(corpus.counts()))
    return ridge_regression(X, D, penalty=float(penalty), progress=progress)


def encoded(
    texts: Sequence[str],
    model: str | Encode | Encoder | None,
    *,
    cache: str | PathLike[str] | None = None,
    name: str | None = None,
    batch_size: int = 32,
    progress: Callable[[int, int], None] | None = None,
) -> NDArray[np.float32]:
    """Return what an encoder gives for each text, shape (n_texts, dimensions).

    Parameters
    ----------
    texts : sequence of str
        Equal ones are encoded once. One of white space gets zeros.
    model, cache, name, batch_size, progress
        As for EncoderSimilarity; the model is given whole texts.

    Raises
    ------
    InvalidInputError
        If no text has a vector, or the model gives something else.
    """
    encoder = EncoderSimilarity(
        model, cache=cache, name=name, batch_size=batch_size, progress=progress
    )
    table, rows = encoder.table.look_up(list(texts))
    if not (rows >= 0).any():
        raise InvalidInputError(
            f"none of {len(rows)} texts has a vector; give texts that are not empty, and a model."
        )
    units, _ = table.units(np.maximum(rows, 0))
    return np.where(rows[:, np.newaxis] >= 0, units, np.float32(0.0))


def unit_rows(X: csr_array) -> csr_array:
    """Divide each row by its length, in place; one without terms stays empty."""
    squares = np.asarray(X.multiply(X).sum(axis=1)).ravel()
    lengths = np.sqrt(np.where(squares > 0.0, squares, 1.0))
    X.data /= np.repeat(lengths, np.diff(X.indptr))
    return X


def _centered(encodings: ArrayLike, n_docs: int) -> NDArray[np.float64]:
    """Return encodings of unit length less their mean; rows of zeros stay."""
    try:
        D = np.array(encodings, np.float64)
    except (ValueError, TypeError) as error:
        raise InvalidInputError(
            f"the encodings are no array of numbers ({error}); needed is one vector for each "
            "document."
        ) from None
    if D.ndim != 2 or len(D) != n_docs or D.shape[1] == 0:
        raise InvalidInputError(
            f"the encodings have the shape {D.shape}, and there are {n_docs} documents; needed is "
            f"({n_docs}, dimensions)."
        )
    finite = np.isfinite(D).all(axis=1)
    if not finite.all():
        raise InvalidInputError(
            f"the encoding of document {int(np.argmin(finite))} holds NaN or infinity; encode it "
            "again, or give a row of zeros."
        )
    largest = np.abs(D).max(axis=1, keepdims=True, initial=0.0)
    said = largest[:, 0] > 0.0
    D[said] /= largest[said]  # so that no square overflows
    D[said] /= np.sqrt(np.einsum("ij,ij->i", D[said], D[said]))[:, np.newaxis]
    if said.any():
        D[said] -= D[said].mean(axis=0)
    return D
