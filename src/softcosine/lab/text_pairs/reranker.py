"""A linear model over several soft measures that ranks text pairs."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from softcosine._validation import check_choice, check_number, check_whole
from softcosine.errors import CorruptIndexError, InvalidInputError
from softcosine.lab.text_pairs.grouped_precision import folds_of, mean_average_precision
from softcosine.lab.text_pairs.pair_features import FittedMeasure, PairFeatures
from softcosine.lab.text_pairs.pair_measures import PairMeasure
from softcosine.matrix.term_similarity_matrix import TermSimilarityMatrix
from softcosine.sklearn.estimator import NotFittedError
from softcosine.sklearn.scikit import (
    BaseEstimator,
    ClassifierMixin,
    LinearSVC,
    LogisticRegression,
    available_if,
    check_classification_targets,
    clone,
    type_of_target,
    validate_data,
)
from softcosine.storage import fill_folder, open_folder, replacing
from softcosine.text.analyzer import Analyzer
from softcosine.text.weighting import Weighting

_MODELS: dict[str, Any] = {
    "logistic": lambda C: LogisticRegression(C=C, max_iter=1000),
    "svm": lambda C: LinearSVC(C=C, max_iter=10_000, random_state=0),
}

# Tried if C is None, from the strongest regularisation; the first wins among equals.
_CS = (0.001, 0.01, 0.1, 1.0, 10.0, 100.0)


@dataclass(frozen=True, slots=True)
class PairExplanation:
    """Contribution of each feature to the score of a pair, the largest first.

    Attributes
    ----------
    parts : tuple of (feature's name, its value, its contribution)
    intercept : float
        The same for all pairs.
    score : float
        The sum of all.
    """

    parts: tuple[tuple[str, float, float], ...]
    intercept: float
    score: float

    def __str__(self) -> str:
        lines = [f"score {self.score:.3f}"]
        lines += [f"  {name} = {value:.3f} adds {adds:+.3f}" for name, value, adds in self.parts]
        return "\n".join([*lines, f"  every pair {self.intercept:+.3f}"])


_KIND = "reranker"  # kind of the stored object


class PairReranker(ClassifierMixin, BaseEstimator):  # type: ignore[misc]
    """Rank pairs, such as a question and its candidate answers, by learned weights.

    The method of SimBow (Charlet and Damnati 2017): features of the pairs, scaled to mean 0 and
    variance 1, and a linear classifier of pairs that belong together.

    Parameters
    ----------
    features : transformer, optional
        Turns pairs into rows of numbers, such as `softcosine.lab.PairFeatures`;
        it is cloned and fitted. By default pairs are already rows of numbers.
    model : {"logistic", "svm"}
        Logistic regression, which also gives probabilities, or a linear support vector machine.
    C : float, optional
        Inverse strength of regularisation. By default the one of six, from 0.001 to 100, with the
        best mean average precision in cross-validation that keeps the pairs of a group together;
        1 if `fit` gets no groups.
    folds : int
        Number of folds of this cross-validation.
    random_state : int
        Seed of the folds.

    Attributes
    ----------
    classes_ : ndarray of shape (2,)
        The second is the class of positive scores.
    coef_ : ndarray of shape (n_features,), float64
        Weights of the standardised features, comparable with each other.
    intercept_ : float
    mean_, scale_ : ndarray of shape (n_features,), float64
    C_ : float
    precisions_ : dict of float to float
        Mean average precision in cross-validation for each C.
    features_ : transformer
        The fitted transformer, if there is one.

    Examples
    --------
    >>> X = [[0.9, 0.1], [0.2, 0.3], [0.8, 0.9], [0.1, 0.7]]
    >>> reranker = PairReranker().fit(X, [True, False, True, False])
    >>> reranker.rank([[0.3, 0.5], [0.7, 0.5]]).tolist()
    [1, 0]
    >>> [name for name, value, adds in reranker.explain([0.7, 0.5]).parts]
    ['x0', 'x1']
    """

    def __init__(
        self,
        features: Any = None,
        *,
        model: str = "logistic",
        C: float | None = None,
        folds: int = 5,
        random_state: int = 0,
    ) -> None:
        self.features = features
        self.model = model
        self.C = C
        self.folds = folds
        self.random_state = random_state

    def fit(self, X: Any, y: ArrayLike, groups: ArrayLike | None = None) -> Self:
        """Learn to rank pairs from two classes.

        Parameters
        ----------
        X : sequence of pairs, or array of shape (n_pairs, n_features)
        y : array of shape (n_pairs,)
            Two classes; the second in sorted order, such as True, is the positive one.
        groups : array of shape (n_pairs,), optional
            Group of each pair, such as its question; pairs of a group are ranked together.

        Raises
        ------
        InvalidInputError
            If there are not two classes, a setting is out of range, or lengths differ.
        """
        self.__dict__.pop("coef_", None)  # unfitted if `fit` fails
        check_choice("model", self.model, _MODELS)
        check_whole("folds", self.folds, least=2)
        if self.C is not None:
            check_number("C", self.C, above=0)
        values, labels = self._labelled(X, y)
        self.classes_, wanted = _two_classes(labels)
        self.C_, self.precisions_ = self._chosen(values, wanted, groups)
        self.mean_, self.scale_ = _mean_and_scale(values)
        model = _MODELS[self.model](self.C_).fit((values - self.mean_) / self.scale_, wanted)
        self.intercept_ = float(model.intercept_[0])
        self.coef_ = np.asarray(model.coef_[0], np.float64)
        return self

    def decision_function(self, X: Any) -> NDArray[np.float64]:
        """Return the score of each pair, shape (n_pairs,); positive for the positive class."""
        values = self._values(X)
        scaled = (values - self.mean_) / self.scale_
        # Not by BLAS, which may give equal pairs different scores.
        return np.asarray(np.einsum("ij,j->i", scaled, self.coef_) + self.intercept_)

    def predict(self, X: Any) -> NDArray[Any]:
        """Return the class of each pair."""
        scores = self.decision_function(X)
        return np.asarray(self.classes_[(scores > 0).astype(int)])

    @available_if(lambda self: self.model == "logistic")  # type: ignore[untyped-decorator]
    def predict_proba(self, X: Any) -> NDArray[np.float64]:
        """Return the probability of both classes, shape (n_pairs, 2); logistic regression only."""
        scores = self.decision_function(X)
        # This form does not overflow.
        return np.exp(-np.logaddexp(0.0, np.column_stack([scores, -scores])))

    def rank(self, X: Any, groups: ArrayLike | None = None) -> NDArray[np.int64]:
        """Return the numbers of the pairs, best first; ties stay in their order.

        Parameters
        ----------
        X : sequence of pairs, or array of shape (n_pairs, n_features)
        groups : array of shape (n_pairs,), optional
            The result lists the groups in order of first occurrence, each ranked separately.
        """
        scores = self.decision_function(X)
        if groups is None:
            return np.argsort(-scores, kind="stable").astype(np.int64)
        names = _checked_groups(groups, len(scores))
        _, first, inverse = np.unique(names, return_index=True, return_inverse=True)
        return np.lexsort((-scores, first[inverse])).astype(np.int64)

    def coefficients(self) -> dict[str, float]:
        """Return the weight of every standardised feature, by descending absolute value."""
        self._require_fitted()
        named = zip(self._names(), self.coef_.tolist(), strict=True)
        return dict(sorted(named, key=lambda pair: -abs(pair[1])))

    def explain(self, pair: Any) -> PairExplanation:
        """Return the contribution of each feature to the score of one pair."""
        value = self._values([pair])[0]
        adds = (value - self.mean_) / self.scale_ * self.coef_
        order = np.argsort(-np.abs(adds), kind="stable").tolist()
        names = self._names()
        return PairExplanation(
            parts=tuple((names[i], float(value[i]), float(adds[i])) for i in order),
            intercept=self.intercept_,
            score=float(adds.sum() + self.intercept_),
        )

    def save(self, path: str | Path, *, overwrite: bool = False) -> None:
        """Write the fitted model to a folder, without pickle: JSON and arrays.

        The features must be `PairFeatures` or rows of numbers.

        Raises
        ------
        AlreadyExistsError, FileNotFoundError, InvalidInputError
        """
        self._require_fitted()
        _write(self, path, overwrite=overwrite)

    @classmethod
    def load(cls, path: str | Path) -> Self:
        """Open a saved model; it ranks as before, and can be fitted again with its features.

        Raises
        ------
        FileNotFoundError, IndexFormatError, CorruptIndexError
        """
        made: Self = _read(cls, path)
        return made

    def __sklearn_is_fitted__(self) -> bool:
        """Whether `fit` was called."""
        return hasattr(self, "coef_")

    def __sklearn_tags__(self) -> Any:
        """Return the estimator tags of scikit-learn."""
        tags = super().__sklearn_tags__()
        tags.classifier_tags.multi_class = False
        if self.features is not None:
            tags.input_tags.two_d_array = False
            tags.input_tags.string = True
        return tags

    def _labelled(self, X: Any, y: ArrayLike) -> tuple[NDArray[np.float64], NDArray[Any]]:
        if y is None:
            raise InvalidInputError("requires y to be passed, but the target y is None")
        if self.features is None:
            values, labels = validate_data(self, X, y, dtype=np.float64)
            self.__dict__.pop("features_", None)
        else:
            labels = np.asarray(y)
            if labels.ndim != 1 or len(labels) != len(X):
                raise InvalidInputError(
                    f"there are {len(X)} pairs, and y has shape {labels.shape}; give a label each."
                )
            self.features_ = clone(self.features).fit(X)
            values = np.asarray(self.features_.transform(X), np.float64)
        check_classification_targets(labels)
        return values, labels

    def _values(self, X: Any) -> NDArray[np.float64]:
        self._require_fitted()
        if self.__dict__.get("features_") is not None:
            return np.asarray(self.features_.transform(X), np.float64)
        return np.asarray(validate_data(self, X, dtype=np.float64, reset=False))

    def _names(self) -> list[str]:
        if self.__dict__.get("features_") is not None:
            return [str(name) for name in self.features_.get_feature_names_out()]
        given = getattr(self, "feature_names_in_", None)
        return [f"x{i}" for i in range(len(self.coef_))] if given is None else list(given)

    def _chosen(
        self, values: NDArray[np.float64], wanted: NDArray[np.bool_], groups: ArrayLike | None
    ) -> tuple[float, dict[float, float]]:
        """Return C, and the mean average precision of each candidate."""
        names = None if groups is None else _checked_groups(groups, len(values))
        if self.C is not None or names is None:
            return (1.0 if self.C is None else float(self.C)), {}
        scores = {C: np.zeros(len(values)) for C in _CS}
        for train, test in folds_of(names, int(self.folds), int(self.random_state)):
            if len(np.unique(wanted[train])) < 2:
                raise InvalidInputError(
                    "without the groups of one fold only one class is left; give C, or more groups."
                )
            mean, scale = _mean_and_scale(values[train])
            scaled = (values - mean) / scale
            for C, found in scores.items():
                model = _MODELS[self.model](C).fit(scaled[train], wanted[train])
                found[test] = model.decision_function(scaled[test])
        precisions = {
            C: mean_average_precision(found, wanted, names) for C, found in scores.items()
        }
        return max(_CS, key=lambda C: precisions[C]), precisions

    def _require_fitted(self) -> None:
        if not self.__sklearn_is_fitted__():
            raise NotFittedError("this PairReranker is not fitted yet; call fit(X, y) first.")


def _mean_and_scale(
    values: NDArray[np.float64],
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return mean and standard deviation of every feature; 1 for that of a constant one."""
    mean, scale = values.mean(axis=0), values.std(axis=0)
    # A constant feature can have a small deviation by rounding.
    constant = scale <= 1e-12 * np.abs(values).max(axis=0, initial=0.0)
    return mean, np.where(constant, 1.0, scale)


def _two_classes(labels: NDArray[Any]) -> tuple[NDArray[Any], NDArray[np.bool_]]:
    classes, numbers = np.unique(labels, return_inverse=True)
    if len(classes) > 2:
        raise InvalidInputError(
            "Only binary classification is supported. The type of the target is "
            f"{type_of_target(labels)}, with {len(classes)} classes."
        )
    if len(classes) < 2:
        raise InvalidInputError("y has one class only; pairs of both classes are needed.")
    return classes, numbers.ravel() == 1


def _checked_groups(groups: ArrayLike, n_pairs: int) -> NDArray[Any]:
    names = np.asarray(groups)
    if names.shape != (n_pairs,):
        raise InvalidInputError(
            f"groups has shape {names.shape}; needed is the group of each of {n_pairs} pairs."
        )
    return names


def _write(reranker: PairReranker, path: str | Path, *, overwrite: bool) -> None:
    """Write a fitted reranker atomically.

    Matrices that several measures share are written once. Sources are not written, because the
    matrices hold the similarities of all terms.
    """
    features = reranker.__dict__.get("features_")
    if features is not None and not isinstance(features, PairFeatures):
        raise InvalidInputError(
            f"features of type {type(features).__name__} cannot be saved, only PairFeatures; save "
            "a PairReranker that is fitted to rows of numbers instead."
        )
    fitted = {} if features is None else features.fitted_
    matrices = list({id(measure.S): measure.S for measure in fitted.values()}.values())
    places = {id(S): place for place, S in enumerate(matrices)}
    classes = reranker.classes_.tolist()
    settings = {
        "model": reranker.model,
        "C": None if reranker.C is None else float(reranker.C),
        "C_": reranker.C_,
        "folds": int(reranker.folds),
        "random_state": int(reranker.random_state),
        "intercept": reranker.intercept_,
        "classes": classes,
        "precisions": [[C, value] for C, value in reranker.precisions_.items()],
        "names": reranker._names(),
        "features": None
        if features is None
        else {
            "numbers": list(features.numbers),
            # A list: the manifest sorts keys, but columns have an order.
            "measures": [
                [name, _measure_settings(measure, places)] for name, measure in fitted.items()
            ],
        },
    }
    arrays = {"coef": reranker.coef_, "mean": reranker.mean_, "scale": reranker.scale_}
    with replacing(path, _KIND, overwrite=overwrite) as work:
        for place, S in enumerate(matrices):
            S.save(work / f"similarity-{place}")
        fill_folder(work, _KIND, settings, arrays)


def _read(kind: type[Any], path: str | Path) -> Any:
    """Return the reranker that `_write` wrote."""
    folder = open_folder(path, _KIND)
    folder.verify()  # a few numbers
    settings = folder.settings
    try:
        reranker = kind(
            model=settings["model"], C=settings["C"], folds=settings["folds"],
            random_state=settings["random_state"],
        )  # fmt: skip
        reranker.C_, reranker.intercept_ = settings["C_"], settings["intercept"]
        reranker.classes_ = np.array(settings["classes"])
        reranker.precisions_ = dict(settings["precisions"])
        if settings["features"] is None:
            reranker.n_features_in_ = len(settings["names"])
            if settings["names"] != [f"x{i}" for i in range(len(settings["names"]))]:
                reranker.feature_names_in_ = np.array(settings["names"], dtype=object)
        else:
            reranker.features_ = _features(settings["features"], Path(path))
        reranker.mean_, reranker.scale_ = folder.array("mean"), folder.array("scale")
        reranker.coef_ = folder.array("coef")
        lengths = {len(part) for part in (reranker.coef_, reranker.mean_, reranker.scale_)}
        if lengths != {len(settings["names"])}:
            raise InvalidInputError(f"arrays of lengths {sorted(lengths)}")
    except (AttributeError, KeyError, TypeError, ValueError) as error:
        raise CorruptIndexError(f"{path} holds no complete reranker: {error!r}.") from error
    return reranker


def _features(settings: Any, path: Path) -> PairFeatures:
    matrices: dict[int, TermSimilarityMatrix] = {}
    features = PairFeatures(numbers=tuple(settings["numbers"]))
    fitted = {}
    for name, given in settings["measures"]:
        place = int(given["similarity"])
        if place not in matrices:
            matrices[place] = TermSimilarityMatrix.load(path / f"similarity-{place}")
        characters = given["characters"]
        measure = PairMeasure(
            given["measure"], given["left"], given["right"], source=matrices[place],
            analyzer=Analyzer.from_dict(given["analyzer"]),
            characters=None if characters is None else tuple(characters),
            weighting=Weighting.from_dict(given["weighting"]),
            term_weights=given.get("term_weights"),  # added later
        )  # fmt: skip
        fitted[name] = FittedMeasure(measure, matrices[place], float(given["average_length"]))
    features.measures = {name: part.measure for name, part in fitted.items()}
    features.fitted_ = fitted
    return features


def _measure_settings(fitted: FittedMeasure, places: dict[int, int]) -> dict[str, Any]:
    measure = fitted.measure
    return {
        "measure": measure.measure,
        "left": measure.left,
        "right": measure.right,
        "analyzer": measure.analyzer.to_dict(),
        "characters": None if measure.characters is None else list(measure.characters),
        "weighting": measure.weighting.to_dict(),
        "term_weights": None
        if measure.term_weights is None
        else {term: float(weight) for term, weight in measure.term_weights.items()},
        "similarity": places[id(fitted.S)],
        "average_length": fitted.average_length,
    }
