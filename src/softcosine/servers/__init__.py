"""Text fields that Elasticsearch and OpenSearch have: compared with an index, and searched by it.

``text_field.py``
    A text field of a server.
``field_comparison.py``, ``learning.py``
    Fields compared with an index, and as the source of an index.
``field_search.py``
    Searches by boosted words (`softcosine.index.search.server_query`) with exact scores by the
    index, also of documents that it lacks.
``http.py``
    JSON over HTTP.
"""

# Options of a search of a field; `SoftIndex.search` has others.
FIELD_OPTIONS = (
    *("k", "offset", "min_score", "where", "syntax", "max_terms", "keep_stop_words"),
    "first_stage",
)
