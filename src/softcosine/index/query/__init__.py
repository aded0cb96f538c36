"""Queries: from text to terms, constraints, phrases and filters.

* `parser`: the query syntax; `constraints`: required and excluded words; `phrases`.
* `query_vectors`: the vector of a query, with words outside the vocabulary.
* `filters`: metadata filters (``where=``); `suggestions`: spelling.
"""
