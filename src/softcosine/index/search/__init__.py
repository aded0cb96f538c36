"""Search: rankings, query expansion, the two-stage search, results and explanations.

* `searchable`: the searches of an index, with their parameters; `results`: what they return.
* `rankings`: soft cosine, soft BM25 and the other rankings; `fields`: several fields.
* `execution`: the steps of one search; `searcher`: the exact top k of a query vector.
* `expansion`, `bounds`, `first_stage`, `candidates`: the two stages and their error bounds.
* `explanation`, `highlights`, `facets`, `sorting`, `diversity`: what is added to the hits.
"""
