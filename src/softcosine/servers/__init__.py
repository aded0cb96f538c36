"""The ranking of an index from the servers people run.

An index sends the impacts of its documents, without idf and S, to a server once. A search sends the
heaviest terms of the expanded query (theory T8, T12); the server returns candidates, and the index
scores them exactly.

``server_index.py``
    `ServerIndex`: connect, export, sync and search.
``server.py``, ``registry.py``, ``address.py``
    The protocol of servers, the servers by name, and their addresses.
``postgresql.py``, ``postgresql_filters.py``, ``qdrant.py``, ``qdrant_in_process.py``,
``qdrant_filters.py``
    One server each, and metadata filters in its language.
``elasticsearch.py``, ``elasticsearch_filters.py``, ``http.py``
    Elasticsearch and OpenSearch, and JSON over HTTP.
``lucene.py``, ``lucene_filters.py``, ``lucene_classes.py``, ``lucene_field.py``, ``features.py``
    Lucene in this process, and a text field that it has; what its features lose in all of these.
``server_field.py``, ``text_field.py``, ``field_comparison.py``, ``learning.py``,
``field_search.py``, ``unindexed.py``
    Text fields that these servers have, behind one protocol: compared with an index, the source of
    an index, searched by boosted words (`softcosine.index.search.server_query`) with exact scores,
    also of documents that the index lacks.
``documents.py``, ``query_terms.py``, ``marker.py``, ``sync.py``
    What is sent: documents, terms of queries, the state of the index, and what has changed.
"""
