"""Imports from scikit-learn, or an error that says how to install it."""

from __future__ import annotations

from softcosine.errors import needing

with needing("scikit-learn (1.6 or later)", "sklearn", "softcosine.sklearn"):
    from sklearn import get_config
    from sklearn.base import (
        BaseEstimator,
        ClassifierMixin,
        ClassNamePrefixFeaturesOutMixin,
        OneToOneFeatureMixin,
        TransformerMixin,
        clone,
    )
    from sklearn.exceptions import NotFittedError as SklearnNotFittedError
    from sklearn.linear_model import LogisticRegression
    from sklearn.svm import LinearSVC
    from sklearn.utils import check_random_state
    from sklearn.utils.metaestimators import available_if
    from sklearn.utils.multiclass import check_classification_targets, type_of_target
    from sklearn.utils.validation import column_or_1d, validate_data
