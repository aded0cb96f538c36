"""Term similarities by regression of each term on all others.

``source.py``
    `RegressionSimilarity`.
``inverse.py``
    The inverse of a large positive definite matrix.
"""
