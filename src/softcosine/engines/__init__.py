"""Vector engines that serve the ranking of an index: Faiss, hnswlib, USearch and Annoy.

``engine_index.py``
    `EngineIndex`: build, open, search, update and save an engine.
``engine.py``, ``capabilities.py``, ``registry.py``
    The protocol of engines, what an engine can do, and the engines by name.
``faiss.py``, ``hnswlib.py``, ``usearch.py``, ``annoy.py``
    One engine each.
``routes.py``, ``route_choice.py``, ``row_space.py``
    How documents and queries become vectors.
``stored_state.py``, ``updates.py``, ``recall.py``
    An engine on disk, updates after changes of the index, and recall.
"""
