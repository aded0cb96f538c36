"""Sources of term similarity learned from a corpus.

- ``cooccurrence.py``: `CooccurrenceSimilarity`, from terms that occur near each other;
- ``distilled.py``: `DistilledSimilarity`, from a neural encoder's vectors of the documents;
- ``counts.py``: co-occurrence counts; ``factors.py``: their leading eigenvectors.
"""
