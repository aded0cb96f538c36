"""Features of text pairs: several soft measures side by side."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from softcosine._validation import check_type, is_number
from softcosine.errors import InvalidInputError
from softcosine.lab.text_pairs.pair_measures import PairMeasure, TextPair, side_text
from softcosine.matrix.term_similarity_matrix import TermSimilarityMatrix
from softcosine.sklearn.estimator import NotFittedError
from softcosine.sklearn.scikit import BaseEstimator, TransformerMixin
from softcosine.text.corpus import AnalyzedTexts, analyze
from softcosine.text.vocabulary import Vocabulary


@dataclass(frozen=True, slots=True, eq=False)
class FittedMeasure:
    """A measure with its matrix and corpus statistics.

    Attributes
    ----------
    measure : PairMeasure
    S : TermSimilarityMatrix
        Its vocabulary has document frequencies.
    average_length : float
    """

    measure: PairMeasure
    S: TermSimilarityMatrix
    average_length: float

    def values(self, left: Sequence[str], right: Sequence[str]) -> NDArray[np.float64]:
        """Return the measure of every pair of texts, shape (n_pairs,)."""
        texts = sorted({*left, *right})
        numbers = {text: number for number, text in enumerate(texts)}
        analyzed = analyze(self.measure.documents(texts), self.measure.rules)
        rows = self._weighted(analyzed)
        # Terms outside S are similar only to themselves.
        S = self.S.restricted(analyzed.vocabulary)
        X, Y = (csr_array(rows[[numbers[text] for text in side]]) for side in (left, right))
        return self.measure.values(X, Y, S)

    def _weighted(self, analyzed: AnalyzedTexts) -> csr_array:
        known = self.S.vocabulary
        assert known.document_frequencies is not None
        assert known.n_docs is not None
        places = known.indices(analyzed.vocabulary.terms)
        frequencies = np.where(places >= 0, known.document_frequencies[places], 0)
        rows = self.measure.weighting.transform(
            analyzed.counts(), document_frequencies=frequencies, n_docs=known.n_docs,
            average_length=self.average_length,
        )  # fmt: skip
        if self.measure.term_weights is not None:
            rows.data *= self.measure.factors(analyzed.vocabulary.terms)[rows.indices]
        return rows


class PairFeatures(TransformerMixin, BaseEstimator):  # type: ignore[misc]
    """Transform pairs of texts to features, one column per measure.

    A pair is (left, right), or (left, right, numbers). A side is a text, or a mapping of field
    names to texts, such as ``{"subject": ..., "body": ...}``; numbers are a mapping of names to
    other features of the pair, such as ``{"rank": 3}``.

    `fit` takes words, document frequencies and similarities from the texts. Words that occur only
    in later texts are similar only to themselves, so pass `background` texts if you have any.

    Parameters
    ----------
    measures : mapping of str to PairMeasure, optional
        By default three: soft cosine by the bundled English vectors, ordinary cosine, and cosine
        of character n-grams of length 3 to 5.
    numbers : sequence of str
        Numbers of the pairs to add as columns.
    background : sequence of str
        Further texts for word counts.

    Attributes
    ----------
    fitted_ : dict of str to FittedMeasure

    Examples
    --------
    >>> pairs = [("a flat tyre", "bicycle puncture"), ("a flat tyre", "tyres, flat ones")]
    >>> features = PairFeatures().fit(pairs)
    >>> features.get_feature_names_out().tolist()
    ['meaning', 'words', 'characters']
    >>> features.transform(pairs).round(2)
    array([[0.01, 0.  , 0.03],
           [0.51, 0.22, 0.5 ]])
    """

    fitted_: dict[str, FittedMeasure]

    def __init__(
        self,
        measures: Mapping[str, PairMeasure] | None = None,
        *,
        numbers: Sequence[str] = (),
        background: Sequence[str] = (),
    ) -> None:
        self.measures = measures
        self.numbers = numbers
        self.background = background

    def fit(self, pairs: Sequence[TextPair], y: object = None) -> Self:
        """Count words and build similarities.

        Parameters
        ----------
        pairs : sequence of pairs
        y : ignored

        Raises
        ------
        InvalidInputError
            If a pair is invalid, or lacks a field or a finite number.
        """
        self.__dict__.pop("fitted_", None)  # unfitted if `fit` fails
        checked = _checked(pairs, self.numbers)
        measures = _usual() if self.measures is None else dict(self.measures)
        for name, measure in measures.items():
            check_type(f"measure {name!r}", measure, PairMeasure, "pass a PairMeasure")
        analyses: dict[Any, AnalyzedTexts] = {}
        matrices: dict[Any, TermSimilarityMatrix] = {}
        fitted = {}
        for name, measure in measures.items():
            key = (measure.left, measure.right, measure.analyzer, measure.characters)
            if key not in analyses:
                texts = {*_texts(checked, 0, measure.left), *_texts(checked, 1, measure.right)}
                analyses[key] = analyze(
                    measure.documents([*sorted(texts), *self.background]), measure.rules
                )
            analyzed = analyses[key]
            similar = (key, id(measure.source), measure.max_neighbors)
            if similar not in matrices:
                matrices[similar] = _similarities(measure, analyzed.vocabulary)
            fitted[name] = FittedMeasure(
                measure, matrices[similar], max(len(analyzed.tokens) / max(analyzed.n_docs, 1), 1.0)
            )
        self.fitted_ = fitted
        return self

    def transform(self, pairs: Sequence[TextPair]) -> NDArray[np.float64]:
        """Return the features of pairs.

        Returns
        -------
        ndarray of shape (n_pairs, n_measures + n_numbers), float64
        """
        self._require_fitted()
        checked = _checked(pairs, self.numbers)
        columns = [
            fitted.values(
                _texts(checked, 0, fitted.measure.left), _texts(checked, 1, fitted.measure.right)
            )
            for fitted in self.fitted_.values()
        ]
        for name in self.numbers:
            columns.append(np.array([float(pair[2][name]) for pair in checked]))  # noqa: PERF401
        if not columns:
            return np.empty((len(checked), 0))
        return np.column_stack(columns).reshape(len(checked), len(columns))

    def get_feature_names_out(self, input_features: object = None) -> NDArray[Any]:
        """Return the names of the measures and numbers, in the order of the columns."""
        self._require_fitted()
        return np.array([*self.fitted_, *self.numbers], dtype=object)

    def __sklearn_is_fitted__(self) -> bool:
        """Whether `fit` was called."""
        return hasattr(self, "fitted_")

    def __sklearn_tags__(self) -> Any:
        """Return the estimator tags of scikit-learn: the input is not a matrix."""
        tags = super().__sklearn_tags__()
        tags.input_tags.two_d_array = False
        tags.input_tags.string = True
        return tags

    def _require_fitted(self) -> None:
        if not self.__sklearn_is_fitted__():
            raise NotFittedError("this PairFeatures is not fitted yet; call fit(pairs) first.")


def _usual() -> dict[str, PairMeasure]:
    from softcosine.similarity.embeddings.embedding import EmbeddingSimilarity

    return {
        "meaning": PairMeasure(source=EmbeddingSimilarity.english()),
        "words": PairMeasure(),
        "characters": PairMeasure(characters=(3, 5)),
    }


def _similarities(measure: PairMeasure, vocabulary: Vocabulary) -> TermSimilarityMatrix:
    source = measure.source
    if source is None:
        return TermSimilarityMatrix.identity(vocabulary)
    if isinstance(source, TermSimilarityMatrix):
        return source.restricted(vocabulary)
    return TermSimilarityMatrix.from_source(
        source, vocabulary, max_neighbors=measure.max_neighbors, warn=False
    )


def _checked(pairs: Sequence[TextPair], numbers: Sequence[str]) -> list[Any]:
    checked = list(pairs)
    for place, pair in enumerate(checked):
        if isinstance(pair, str) or not isinstance(pair, Sequence) or len(pair) not in (2, 3):
            raise InvalidInputError(
                f"pair {place} is {pair!r}; needed is (left, right) or (left, right, numbers)."
            )
        known = pair[2] if len(pair) == 3 else {}
        for name in numbers:
            if name not in known:
                raise InvalidInputError(
                    f"pair {place} has no number {name!r}; give (left, right, {{{name!r}: ...}})."
                )
            if not (is_number(known[name]) and np.isfinite(known[name])):
                raise InvalidInputError(
                    f"number {name!r} of pair {place} is {known[name]!r}; needed is a finite one."
                )
    return checked


def _texts(pairs: Sequence[Any], side: int, name: str | None) -> list[str]:
    where = ("left", "right")[side]
    return [
        side_text(pair[side], name, f"the {where} side of pair {place}")
        for place, pair in enumerate(pairs)
    ]
