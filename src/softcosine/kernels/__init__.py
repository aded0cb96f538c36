"""Numba kernels: flat arrays in, preallocated arrays out.

A kernel trusts its caller: Python code checks lengths, dtypes and ranges once, before the call. A
kernel releases the interpreter lock, has one writer for each output element, and passes its tests
with ``NUMBA_DISABLE_JIT=1``.

``search.py``, ``documents.py``, ``postings.py``, ``segment_table.py``
    Search: query expansion, posting lists, exact scores from the forward index.
``panel.py``, ``all_pairs.py``
    Batches of queries, and all pairs of documents.
``counting.py``, ``pieces.py``, ``phrases.py``
    Tokens and term counts, and phrases.
``assembly.py``, ``selection.py``, ``edit_distance.py``, ``character_ngrams.py``, ``thesaurus.py``
    The term similarity matrix and its sources.
``elimination.py``, ``cholesky.py``
    The change of basis.
``jit.py``
    How kernels are compiled.
"""
