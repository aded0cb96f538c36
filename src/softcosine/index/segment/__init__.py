"""Segments of an index: posting lists, forward index, stored fields, metadata.

* `segment`: posting lists and forward index of one field; `inverting`: builds them.
* `documents`: ids, texts and metadata; `stored_fields`: the same on disk.
* `metadata_columns`: metadata by key, for filters; `metadata_updates`, `metadata_values`.
* `positions`: running words, for phrases.
* `statistics`: document frequencies and lengths.
"""
