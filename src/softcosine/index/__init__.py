"""Exact search by meaning over texts (`SoftIndex`).

Imports run downwards in this order, and `writer` beside `search`:

* `soft_index`: create, open, save and back up an index.
* `search`: execution of searches, results, explanations; start with `search.searchable`, the
  searches of an index.
* `writer`: add, replace and delete documents, commits, merging; start with `writer.index_writer`.
* `near_duplicates`: all similar pairs and groups of near duplicates.
* `spaces`: the sum of words and meaning that ranks documents; start with `spaces.sum`.
* `query`: query parser, query vectors, filters, phrases, spelling suggestions.
* `options`: how an index is made.
* `directory`: an index on disk or in memory: commits, manifests, check, backup.
* `encoding`: the encoder of an index; `language`: the analyzer that fits the texts.
* `rankings`: soft cosine, soft BM25 and the other rankings, prepared for a segment.
* `segment`: posting lists, forward index, stored fields, metadata of one segment.
* `requests`, `frames`, `wire`: options of searches; tables; results as JSON.
* `defaults`: fields and default settings.
"""
