"""Search: rankings, query expansion, the two-stage search, results and explanations.

* `searchable`: the searches of an index, with their parameters; `results`: what they return.
* `rankings`: soft cosine, soft BM25 and the other rankings; `fields`: several fields.
* `execution`: the steps of one search; `searcher`: the exact top k of a query vector.
* `expansion`, `bounds`, `approximate_scores`, `candidates`: the two stages and their error bounds.
* `first_stage`, `heaviest_terms`: searches by the heaviest terms, with exact scores of the best.
* `soft_frequencies`, `frequency_searcher`: the same for BM25 of soft frequencies.
* `server_query`: a query as boosted words, for servers that rank by BM25.
* `explanation`, `highlights`, `facets`, `sorting`, `diversity`: what is added to the hits;
  `notebook`: their tables in notebooks.
"""
