"""Syntactic n-grams: paths of dependency trees as terms.

``dependency.py``
    Reader of CoNLL-U files, and `SyntacticNgrams`, which makes terms of trees.
``source.py``
    `SyntacticSimilarity`, the similarity of such terms.
"""
