"""A fitted reranker in a folder: its numbers, its measures, and the matrices that they use."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from softcosine.errors import CorruptIndexError, InvalidInputError
from softcosine.lab.text_pairs.pair_features import FittedMeasure, PairFeatures
from softcosine.lab.text_pairs.pair_measures import PairMeasure
from softcosine.matrix.term_similarity_matrix import TermSimilarityMatrix
from softcosine.storage import fill_folder, open_folder, replacing
from softcosine.text.analyzer import Analyzer
from softcosine.text.weighting import Weighting

if TYPE_CHECKING:
    from softcosine.lab.text_pairs.reranker import PairReranker

__all__ = ["read_reranker", "write_reranker"]

_KIND = "reranker"


def write_reranker(reranker: PairReranker, path: str | Path, *, overwrite: bool) -> None:
    """Write a fitted reranker, whole or not at all.

    Matrices that several measures share are written once. Sources are not: what they said of the
    terms stands in the matrices.
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
            # A list: the manifest sorts keys, and the order is that of the columns.
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


def read_reranker(kind: type[Any], path: str | Path) -> Any:
    """Make a reranker of what `write_reranker` wrote."""
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
