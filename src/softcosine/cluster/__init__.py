"""Shards: one collection in several indexes of one epoch, which answer as one index.

``plan.py``, ``build_plan.py``, ``tasks.py``
    `ShardPlan`: builds shards from files in tasks that can be repeated; what the tasks read.
``splitting.py``, ``tally.py``, ``terms.py``, ``encoding.py``, ``shard_building.py``
    The tasks: chunks of the inputs, their counts, the terms of all, coordinates, shards.
``manifest.py``
    The folder of the shards, and its manifest.
``ownership.py``
    Which shard holds a document.
"""
