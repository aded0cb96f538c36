"""Measures of pairs of short texts, and a ranking learned from them.

``cardinality.py``, ``alignment.py``
    Soft cardinality and set measures, and alignment of terms.
``pair_measures.py``, ``pair_features.py``
    One measure of text pairs, and several as a scikit-learn transformer.
``taught_vectors.py``, ``ridge.py``
    `TaughtVectors`, learned from an encoder's vectors of texts, and the regression behind it.
``reranker.py``
    `PairReranker`, a linear model over such features.
"""
