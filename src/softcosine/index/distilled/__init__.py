"""Search by words (soft BM25) and by the vectors of a neural encoder together.

* `distilled_index`: `DistilledIndex`, the public class; `soft_words`: its soft BM25 summand.
"""
