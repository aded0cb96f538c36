"""Vectors of terms by ridge regression on an encoder's vectors of documents."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.sparse import csr_array

from softcosine._progress import Progress
from softcosine._validation import check_number, check_type, check_whole
from softcosine.errors import InvalidInputError
from softcosine.text.corpus import AnalyzedTexts
from softcosine.text.weighting import Weighting

_COLUMNS = 64  # columns of Y per block: arrays of about 50 MB for 100,000 terms
_TOLERANCE = 1e-6  # tolerance of the residual, relative to the right side
_MAX_STEPS = 500


def ridge_regression(
    X: csr_array,
    Y: NDArray[np.float64],
    *,
    penalty: float,
    progress: Progress | None = None,
) -> NDArray[np.float64]:
    r"""Return the B that minimises :math:`|Y - XB|^2 + \lambda |B|^2`.

    Solves :math:`(X^\top X + \lambda I) B = X^\top Y` (Hestenes & Stiefel 1952), each column of Y
    separately, without forming X^T X. The condition number is at most 1 + sigma(X)^2 / lambda: some
    tens of steps for rows of length 1.

    Parameters
    ----------
    X : csr_array of shape (n_rows, n_features), float64
    Y : ndarray of shape (n_rows, n_targets), float64
    penalty : float
        lambda, above 0.
    progress : callable, optional
        Called as ``progress(done, total)``, in targets.

    Returns
    -------
    ndarray of shape (n_features, n_targets), float64
    """
    transposed = X.T.tocsr()
    B = np.empty((X.shape[1], Y.shape[1]))
    for start in range(0, Y.shape[1], _COLUMNS):
        stop = min(start + _COLUMNS, Y.shape[1])
        B[:, start:stop] = _solved(X, transposed, transposed @ Y[:, start:stop], penalty)
        if progress is not None:
            progress(stop, Y.shape[1])
    return B


def _solved(
    X: csr_array, transposed: csr_array, right: NDArray[np.float64], penalty: float
) -> NDArray[np.float64]:
    """Conjugate gradients from 0; converged columns are not changed any more."""
    B = np.zeros_like(right)
    residual = right.copy()
    direction = residual.copy()
    square = _squares(residual)
    enough = _TOLERANCE**2 * square
    for _ in range(_MAX_STEPS):
        going = square > enough
        if not going.any():
            break
        image = transposed @ (X @ direction) + penalty * direction
        curvature = np.einsum("ij,ij->j", direction, image)
        step = np.divide(square, curvature, out=np.zeros_like(square), where=going)
        B += step * direction
        residual -= step * image
        before, square = square, np.where(going, _squares(residual), square)
        share = np.divide(square, before, out=np.zeros_like(square), where=going)
        direction = residual + share * direction
    return B


def _squares(columns: NDArray[np.float64]) -> NDArray[np.float64]:
    sums: NDArray[np.float64] = np.einsum("ij,ij->j", columns, columns)
    return sums


_VANISHED = 1e-12  # relative to length 1: smaller vectors are rounding errors
OF_ROUNDING = 1e-9  # the same for conjugate gradients, relative to the mean length
_MOST = 1e300  # sums of numbers up to this stay finite

_Floats = NDArray[np.float64]


@dataclass(frozen=True, slots=True, eq=False)
class OwnMeaning:
    """Linear map from encodings of single terms to the space of encodings of texts.

    Attributes
    ----------
    mean : ndarray of shape (n,), float64
        Mean of the terms' encodings, subtracted from each.
    map : ndarray of shape (n, dimensions), float64
        A in `taught_vectors`: maps centred unit encodings to the space of the texts' encodings.
    """

    mean: _Floats
    map: _Floats

    @classmethod
    def learned(cls, T: _Floats, X: csr_array, D: _Floats) -> OwnMeaning:
        """Fit the map to encodings T of terms, rows X of texts and encodings D of texts."""
        told = T.any(axis=1)
        mean = T[told].mean(axis=0) if told.any() else np.zeros(T.shape[1])
        Z = X @ _spread(T, mean)
        return cls(mean, np.linalg.solve(Z.T @ Z + np.eye(Z.shape[1]), Z.T @ D))

    def vectors(self, T: _Floats) -> _Floats:
        """Return the vectors of terms with encodings T; rows of zeros stay zero."""
        return _spread(T, self.mean) @ self.map


def weighted_rows(corpus: AnalyzedTexts, weighting: Weighting) -> csr_array:
    """Return the weighted terms of every text of a corpus, (n_docs, n_terms), float64.

    Raises
    ------
    InvalidInputError
        If the corpus is not an AnalyzedTexts.
    """
    check_type("the corpus", corpus, AnalyzedTexts, "pass softcosine.analyze(texts)")
    return weighting.transform(corpus.counts())


def taught_vectors(
    X: csr_array,
    encodings: ArrayLike,
    *,
    term_encodings: ArrayLike | None = None,
    remove_components: int = 0,
    penalty: float = 1.0,
    progress: Progress | None = None,
) -> tuple[_Floats, OwnMeaning | None]:
    r"""Return vectors of terms whose weighted sums approximate the encodings of documents.

    Let X be the rows of the documents at unit length, and D their encodings at unit length minus
    the mean and the first principal components. If given, T are the encodings of the single terms,
    minus their mean, at unit length (theory T14). Then

    .. math:: A = \arg\min_A |D - XTA|^2 + |A|^2, \quad
        V = \arg\min_V |D - XV|^2 + \lambda |V - TA|^2,

    with A = 0 without T.

    Parameters
    ----------
    X : csr_array of shape (n_docs, n_terms), float64
        Weighted terms of each document; modified in place.
    encodings : array-like of shape (n_docs, dimensions)
        Encoder output per document. A document with a row of zeros is ignored.
    term_encodings : array-like of shape (n_terms, n), optional
        T in the formula; a term with a row of zeros is ignored.
    remove_components : int
        Number of principal components of the encodings to remove.
    penalty : float
        lambda in the formula, above 0. With a larger penalty, a term's vector approaches the mean
        of its documents (without T), or its own TA.
    progress : callable, optional
        Called as ``progress(done, total)``, in dimensions.

    Returns
    -------
    vectors : ndarray of shape (n_terms, dimensions), float64
        The same bits for the same input; without `term_encodings` and removed components also with
        any number of threads. Zeros if all encodings are equal.
    own : OwnMeaning, or None
        None without `term_encodings`.

    Raises
    ------
    InvalidInputError
        If a setting is out of range, or there is not one finite encoding per document and term.
    """
    check_number("penalty", penalty, above=0)
    check_whole("remove_components", remove_components, least=0)
    D = checked_encodings(encodings, X.shape[0], "encodings", "text")
    X = _unit_rows(X)
    told = D.any(axis=1)
    if not told.all():
        D, X = D[told], csr_array(X[told])
    D = _centered(D, remove_components)
    if term_encodings is None:
        return ridge_regression(X, D, penalty=float(penalty), progress=progress), None
    T = checked_encodings(term_encodings, X.shape[1], "term_encodings", "term")
    own = OwnMeaning.learned(T, X, D)
    V = own.vectors(T)
    return V + ridge_regression(X, D - X @ V, penalty=float(penalty), progress=progress), own


def _unit_rows(X: csr_array) -> csr_array:
    """Divide each row by its length, in place; empty rows stay empty."""
    squares = np.asarray(X.multiply(X).sum(axis=1)).ravel()
    lengths = np.sqrt(np.where(squares > 0.0, squares, 1.0))
    X.data /= np.repeat(lengths, np.diff(X.indptr))
    return X


def lengths(rows: _Floats) -> _Floats:
    """Return the Euclidean length of every row, shape (n_rows,)."""
    return np.asarray(np.sqrt(np.einsum("ij,ij->i", rows, rows)))


def unit(rows: _Floats) -> _Floats:
    """Return rows divided by their lengths; zeros stay."""
    largest = np.abs(rows).max(axis=1, keepdims=True, initial=0.0)
    # Scale by powers of two, which is exact, so that no square overflows or underflows.
    rows = np.ldexp(rows, -np.frexp(largest)[1])
    found = lengths(rows)[:, np.newaxis]
    return np.asarray(rows / np.where(found > 0.0, found, 1.0))


def checked_encodings(given: ArrayLike, n_rows: int, name: str, what: str) -> _Floats:
    """Return encodings as a new array of float64.

    Raises
    ------
    InvalidInputError
        If there is not one finite vector per text or term; `what` names them in the message.
    """
    try:
        rows: Any = np.array(given, np.float64)
    except (ValueError, TypeError) as error:
        raise InvalidInputError(
            f"{name} is no array of numbers ({error}); needed is one vector for each {what}."
        ) from None
    if rows.ndim != 2 or len(rows) != n_rows or rows.shape[1] == 0:
        raise InvalidInputError(
            f"{name} has the shape {rows.shape}; needed is ({n_rows}, dimensions), a vector for "
            f"each {what}."
        )
    finite = np.isfinite(rows).all(axis=1)
    if not finite.all():
        raise InvalidInputError(
            f"row {int(np.argmin(finite))} of {name} holds NaN or infinity; encode it again, or "
            "give a row of zeros."
        )
    if np.abs(rows).max(initial=0.0) > _MOST:
        raise InvalidInputError(f"{name} holds {np.abs(rows).max():g}; scale it down to {_MOST:g}.")
    return np.asarray(rows)


def _centered(D: _Floats, n_removed: int) -> _Floats:
    """Return unit rows minus their mean and first principal components."""
    if not len(D):
        return D
    D = unit(D)
    D -= D.mean(axis=0)
    if n_removed:
        axes = np.linalg.eigh(D.T @ D)[1][:, ::-1][:, :n_removed]
        D = D - D @ axes @ axes.T
    D[lengths(D) <= _VANISHED] = 0.0
    return D


def _spread(T: _Floats, mean: _Floats) -> _Floats:
    """Return encodings of terms minus their mean, at unit length; rows of zeros stay."""
    return np.where(T.any(axis=1, keepdims=True), unit(T - mean), 0.0)
