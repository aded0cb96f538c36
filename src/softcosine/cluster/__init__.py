"""Shards: one collection in several indexes of one epoch, which answer as one index.

``plan.py``, ``build_plan.py``
    `ShardPlan`: builds shards from files in tasks that can be repeated; what the tasks read.
``splitting.py``, ``tally.py``, ``shard_building.py``
    The tasks: chunks of the inputs, their counts and the terms of all, the shards.
``sharded_index.py``, ``sharded_search.py``, ``shards.py``
    `ShardedIndex`; a search over all shards; the documents and the snapshot of all.
``shard.py``
    One opened shard, and what it answers.
``workers.py``, ``ray_workers.py``
    Where shards are searched: threads of this process, actors of Ray.
``sharded_writer.py``, ``sharded_backup.py``, ``sharded_check.py``
    Changes and copies of all shards that are visible at once; the check of all.
``opening.py``
    Opening a folder that is an index or a sharded index.
``manifest.py``
    The folder of the shards, and its manifest.
``ownership.py``
    Which shard holds a document.
"""
