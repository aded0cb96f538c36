"""Sources of term similarity learned from a corpus.

- ``cooccurrence.py``: `CooccurrenceSimilarity`, from terms that occur near each other;
- ``counts.py``: co-occurrence counts; ``names.py``: the names of learned terms.
"""
