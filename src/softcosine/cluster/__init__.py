"""Shards: one collection in several indexes of one epoch, which answer as one index.

``manifest.py``
    The folder of the shards, and its manifest.
``ownership.py``
    Which shard holds a document.
"""
