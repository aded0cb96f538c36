"""Search: rankings, query expansion, the two-stage search, results and explanations.

* `searchable`: the searches of an index, with their parameters; `results`: what they return.
* `execution`: the steps of one search (parse, match, rank, fetch); `matches`: the documents that
  match a query or a filter; `fields`: the searcher of all fields of an index.
* `searcher`: the exact top k of a query vector; `expansion`, `approximate_scores`, `bounds`: its
  two stages and their error bounds; `segment_table`: the arrays of all segments for kernels.
* `frequency_searcher`: the same for BM25 of soft frequencies; `meaning`: with cosines of meaning.
* `first_stage`: searches by the heaviest terms, with exact scores of the best.
* `server_query`: a query as boosted words, for servers that rank by BM25.
* `explanation`, `highlights`, `facets`, `sorting`: what is added to the hits; `notebook`: tables.
"""
