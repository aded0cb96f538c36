"""Word vectors as a source of term similarity.

- ``embedding.py``: `EmbeddingSimilarity`, the source; ``compared_vectors.py``: base of sources that
  hold one; ``encoder.py``: vectors by a neural encoder;
- ``vector_files.py``: readers of vector files (other formats: ``fasttext_files.py``,
  ``gensim_files.py``, ``static_models.py``); ``english.py``: the bundled
  table;
- ``vector_table.py``: the protocol of a table of vectors; ``word_vectors.py``: stored vectors;
  ``composed_vectors.py``: vectors composed of word pieces or n-grams;
- ``nearest.py``: exact nearest neighbours.
"""
