"""The soft vector space: measures between documents, coordinates, and vectors for other programs.

``measures.py``
    Soft inner product, norm, cosine and distance of document-term matrices.
``transforms.py``
    Expanded queries and document vectors for stores with only dot product or cosine.
``basis.py``, ``cholesky.py``, ``fill_in.py``
    The change of basis S = E Eᵀ, its computation, and its size, estimated before.
``latent.py``
    Few dimensions: singular vectors of documents.
``meaning.py``, ``query_table.py``, ``meaning_file.py``
    Coordinates from a sentence encoder: of documents, and of queries as sums of word pieces.
``pair_pattern.py``
    The pairs of S as parameters that can be learned.
"""
