"""Search: from a request to hits, and what explains them.

* `searchable`: the searches of an index, with their parameters; `results`: what they return.
* `execution`: the steps of one search (parse, match, rank, fetch); `matches`: the documents that
  match a query or a filter; `query_encoding`: the coordinates of a query.
* `first_stage`: searches by the heaviest terms, with exact scores of the best.
* `server_query`: a query as boosted words, for servers that rank by BM25.
* `explanation`, `highlights`, `facets`, `sorting`: what is added to the hits; `notebook`: tables.
"""
