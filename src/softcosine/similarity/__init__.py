"""Term similarity sources: who is similar to whom, in terms.

A source answers in terms and knows nothing of row numbers, limits per column or definiteness;
those belong to the term similarity matrix.
"""
