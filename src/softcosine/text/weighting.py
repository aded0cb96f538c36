"""Weighting schemes: term weight = function of the term frequency times idf."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from softcosine._validation import check_choice, check_number, check_type
from softcosine.errors import InvalidInputError, VocabularyMismatchError

if TYPE_CHECKING:
    from scipy.sparse import csr_array

_Floats = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Weighting:
    r"""A weighting scheme: weight = f(tf) · idf(df).

    ============== =======================================================
    tf             f(tf), 0 for tf = 0
    ============== =======================================================
    raw            tf
    log            1 + ln tf; tf for tf < 1
    binary         1
    bm25           tf (k1 + 1) / (tf + k1 (1 - b + b · dl / avgdl))
    ============== =======================================================

    ============== =======================================================
    idf            N documents, df of them contain the term
    ============== =======================================================
    none           1
    smooth         ln((1 + N) / (1 + df)) + 1, as scikit-learn
    probabilistic  max(0, ln((N - df) / df)), with df = 0 taken as 1/2
    bm25           ln(1 + (N - df + 1/2) / (df + 1/2)), as Lucene
    ============== =======================================================

    Parameters
    ----------
    tf, idf : str, optional
        Names of rows of the tables.
    k1 : float, optional
        For ``tf="bm25"``, at least 0. With a larger k1 the term frequency saturates more slowly.
    b : float, optional
        For ``tf="bm25"``, from 0 to 1: strength of the normalisation by document length.

    Raises
    ------
    InvalidInputError
        If a setting is unknown or out of range.

    Examples
    --------
    >>> Weighting("log", "none").frequencies([0, 1, 2]).round(3).tolist()
    [0.0, 1.0, 1.693]
    """

    tf: str = "log"
    idf: str = "smooth"
    k1: float = 1.2
    b: float = 0.75

    def __post_init__(self) -> None:
        for name, table in (("tf", _FREQUENCY), ("idf", _TERM_WEIGHT)):
            check_choice(name, getattr(self, name), table)
        check_number("k1", self.k1, least=0)
        check_number("b", self.b, least=0, most=1)

    @property
    def depends_on_length(self) -> bool:
        """Whether weights depend on the length of the document."""
        return self.tf == "bm25" and self.b > 0 and self.k1 > 0

    def term_weights(self, document_frequencies: ArrayLike, n_docs: int) -> _Floats:
        """Return the idf of each term.

        Parameters
        ----------
        document_frequencies : array-like of shape (n_terms,)
            From 0 to `n_docs`.
        n_docs : int
            At least 0.

        Returns
        -------
        ndarray of shape (n_terms,), float64
            Finite and not negative.

        Raises
        ------
        InvalidInputError
            If a frequency is not a number from 0 to `n_docs`.
        """
        frequencies = _floats(document_frequencies, "document_frequencies")
        if frequencies.ndim != 1:
            raise InvalidInputError(
                f"document_frequencies has shape {frequencies.shape}; it must have one dimension."
            )
        check_number("n_docs", n_docs, least=0)
        if frequencies.size and frequencies.max() > n_docs:
            raise InvalidInputError(
                f"term {int(frequencies.argmax())} stands in {frequencies.max():g} documents of "
                f"only {n_docs}; pass the n_docs that the frequencies were counted on."
            )
        return _TERM_WEIGHT[self.idf](frequencies, n_docs)

    def frequencies(self, tf: ArrayLike, lengths_ratio: ArrayLike = 1.0) -> _Floats:
        """Return f(tf), element by element.

        Parameters
        ----------
        tf : array-like
            Term frequencies, finite and not negative.
        lengths_ratio : array-like, optional
            Length of the document divided by the average length, broadcast with `tf`; used by
            ``tf="bm25"`` only.

        Returns
        -------
        ndarray of the broadcast shape, float64

        Raises
        ------
        InvalidInputError
            If a value is negative, infinite or NaN, or the shapes do not match.
        """
        counts = _floats(tf, "tf")
        ratio = _floats(lengths_ratio, "lengths_ratio")
        try:
            counts, ratio = np.broadcast_arrays(counts, ratio)
        except ValueError as error:
            raise InvalidInputError(
                f"tf has shape {counts.shape} but lengths_ratio {ratio.shape}; give one ratio, or "
                "one for each frequency."
            ) from error
        return _FREQUENCY[self.tf](counts, ratio, self)

    def transform(
        self,
        X: Any,
        *,
        document_frequencies: ArrayLike | None = None,
        n_docs: int | None = None,
        average_length: float | None = None,
    ) -> csr_array:
        """Return the weights of all documents.

        Parameters
        ----------
        X : sparse array or array-like of shape (n_docs, n_terms)
            Term frequencies, finite and not negative. Not changed.
        document_frequencies : array-like of shape (n_terms,), optional
            By default counted in `X`. If `X` contains queries, pass those of the corpus.
        n_docs : int, optional
            Number of documents of the corpus; by default that of `X`.
        average_length : float, optional
            Mean length (sum of term frequencies) of the documents of the corpus, positive; by
            default that of `X`. Used by ``tf="bm25"`` only.

        Returns
        -------
        csr_array of shape (n_docs, n_terms), float64
            Column indices sorted, no duplicates. Terms with idf 0 have a stored 0.

        Raises
        ------
        InvalidInputError
            If a value is negative, infinite or NaN, or a shape is wrong.
        VocabularyMismatchError
            If `document_frequencies` and `X` have different numbers of terms.
        """
        counts = _checked_counts(X)
        n_rows, n_terms = counts.shape
        if document_frequencies is None:
            document_frequencies = np.bincount(counts.indices, minlength=n_terms)
            n_docs = n_rows if n_docs is None else n_docs
        elif n_docs is None:
            raise InvalidInputError(
                "document_frequencies without n_docs: pass the number of documents they were "
                "counted on too."
            )
        weights = self.term_weights(document_frequencies, n_docs)
        if len(weights) != n_terms:
            raise VocabularyMismatchError(
                f"X has {n_terms} terms but document_frequencies {len(weights)}; build both from "
                "one vocabulary."
            )
        ratio: ArrayLike = 1.0
        if self.depends_on_length:
            ratio = np.repeat(_length_ratios(counts, average_length), np.diff(counts.indptr))
        counts.data = self.frequencies(counts.data, ratio) * weights[counts.indices]
        return counts

    def to_dict(self) -> dict[str, Any]:
        """Return the settings as JSON types, for storage with an index."""
        return {"tf": self.tf, "idf": self.idf, "k1": float(self.k1), "b": float(self.b)}

    @classmethod
    def from_dict(cls, settings: Mapping[str, Any]) -> Weighting:
        """Return the weighting with the settings that `to_dict` returned.

        Raises
        ------
        InvalidInputError
            If a setting is missing, unknown or invalid.
        """
        if settings.keys() != {"tf", "idf", "k1", "b"}:
            raise InvalidInputError(
                f"a weighting has the settings tf, idf, k1 and b, but these are "
                f"{sorted(settings)}; pass what Weighting.to_dict gave."
            )
        return cls(**settings)


def _bm25(tf: _Floats, ratio: _Floats, settings: Weighting) -> _Floats:
    k1, b = settings.k1, settings.b
    present = tf > 0
    saturation = np.where(present, tf, 1) + k1 * (1 - b + b * ratio)
    return np.where(present, tf * (k1 + 1) / saturation, 0.0)


_FREQUENCY: dict[str, Callable[[_Floats, _Floats, Weighting], _Floats]] = {
    "raw": lambda tf, _ratio, _settings: tf.copy(),
    # Below 1 f is the identity, because the logarithm goes to minus infinity; f(1) = 1.
    "log": lambda tf, _ratio, _settings: np.where(tf > 1, 1 + np.log(np.maximum(tf, 1)), tf),
    "binary": lambda tf, _ratio, _settings: (tf > 0).astype(np.float64),
    "bm25": _bm25,
}


def _probabilistic(df: _Floats, n_docs: int) -> _Floats:
    seen = np.where(df > 0, df, 0.5)
    # Odds below 1 would give negative weights; the maximum also avoids ln 0 at df = N.
    return np.log(np.maximum((n_docs - seen) / seen, 1.0))


_TERM_WEIGHT: dict[str, Callable[[_Floats, int], _Floats]] = {
    "none": lambda df, _n_docs: np.ones_like(df),
    "smooth": lambda df, n_docs: np.log((1 + n_docs) / (1 + df)) + 1,
    "probabilistic": _probabilistic,
    "bm25": lambda df, n_docs: np.log1p((n_docs - df + 0.5) / (df + 0.5)),
}


def _floats(values: ArrayLike, name: str) -> _Floats:
    """Finite, not negative numbers as float64."""
    try:
        floats = np.asarray(values, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise InvalidInputError(f"{name} holds something other than numbers: {error}.") from error
    bad = ~(np.isfinite(floats) & (floats >= 0))
    if bad.any():
        place = np.unravel_index(int(bad.argmax()), floats.shape)
        raise InvalidInputError(
            f"{name} has {floats[place]} at position {tuple(map(int, place))}; all values must be "
            "finite and not negative."
        )
    return floats


def _checked_counts(X: Any) -> csr_array:
    """X as a new csr_array of float64 without duplicates or stored zeros."""
    from scipy.sparse import csr_array, issparse

    if not issparse(X):
        dense = _floats(X, "X")
        if dense.ndim != 2:
            raise InvalidInputError(
                f"X has {dense.ndim} dimensions; it must have two, (n_docs, n_terms)."
            )
        return csr_array(dense)
    if X.ndim != 2:
        raise InvalidInputError(f"X has {X.ndim} dimensions; it must have two, (n_docs, n_terms).")
    counts = csr_array(X, dtype=np.float64, copy=True)
    _floats(counts.data, "X.data")
    counts.sum_duplicates()
    counts.eliminate_zeros()
    return counts


def _length_ratios(counts: csr_array, average_length: float | None) -> _Floats:
    lengths = np.asarray(counts.sum(axis=1), dtype=np.float64)
    if average_length is None:
        average_length = float(lengths.mean()) if lengths.any() else 1.0
    check_number("average_length", average_length, above=0)
    return lengths / average_length


def checked_weighting(weighting: Weighting) -> Weighting:
    """Return the weighting; raise InvalidInputError if it is something else."""
    check_type(
        "the weighting", weighting, Weighting, "pass a Weighting, such as Weighting(tf='log')"
    )
    return weighting
