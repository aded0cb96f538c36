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
