"""Word vectors as a source of term similarity.

- ``compared_vectors.py``: the base of sources that compare vectors by their cosines;
  ``embedding.py``: `EmbeddingSimilarity`, given vectors; ``encoder.py``: those of a neural encoder;
- ``vector_files.py``: readers of vector files (other formats: ``fasttext_files.py``,
  ``static_models.py``); ``english.py``: the bundled table;
- ``vector_table.py``: the protocol of a table of vectors, and a stored one that is read on use;
  ``word_vectors.py``: stored vectors; ``composed_vectors.py``: vectors composed of word pieces or
  n-grams;
- ``nearest.py``: exact nearest neighbours.
"""
