"""Exact search by meaning over texts (`SoftIndex`) and over matrices (`SoftNeighbors`).

* `soft_index`: create, open, save and back up an index.
* `rankings`: soft cosine, soft BM25 and the other rankings, prepared for a segment.
* `search`: expansion, execution of searches, results, explanations; start with
  `search.searchable`, the searches of an index.
* `query`: query parser, filters, phrases, spelling suggestions.
* `writer`: add, replace and delete documents, commits, merging; start with `writer.index_writer`.
* `segment`: posting lists, forward index, stored fields, metadata of one segment.
* `directory`: an index on disk or in memory: commits, manifests, check, backup.
* `near_duplicates`: all similar pairs and groups of near duplicates.
* `soft_neighbors`: nearest neighbors of the rows of a matrix, as in scikit-learn.
* `votes`: classification by nearest neighbors.
* `language`: the analyzer that fits the language of the texts; `defaults`: fields and default
  settings.
"""
