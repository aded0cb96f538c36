"""Similarities of pairs of terms, learned from preferences between documents.

``pair_weights.py``
    `learn_pair_weights`.
``preferences.py``, ``preference_loss.py``
    The preferences, and the loss to minimize.
"""
