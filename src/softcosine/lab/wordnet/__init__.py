"""WordNet: similarities of words by the graph of their synsets.

- ``similarity.py``: `wordnet_similarity`, a source by one of three measures;
- ``files.py``: the reader of WordNet; ``graph.py``: its graph.
"""

from softcosine.lab.wordnet.similarity import wordnet_similarity

__all__ = ["wordnet_similarity"]
