"""All similar pairs of documents, nearest neighbors, groups of near duplicates.

* `similar`: by document ids, for `SoftIndex.pairs` and `SoftIndex.dedupe`.
* `all_pairs`, `groups`: by document numbers.
* `panels`: the comparison by words; `meaning`: by coordinates, and by both.
"""
