"""Storage of an index: commits, manifests, parts; check, backup.

* `directory`: the interface; `folder` and `memory`: its two implementations.
* `store`: layout of the folder; `manifest`: the manifest; `store_writer`: writes parts;
  `lock`: one writer at a time.
* `commit`: an opened commit; `stored`: its arrays and documents; `snapshot`: the state that
  searches use.
* `remote_store`: an index at a URL; `commit_cache`: its local copies.
* `check`, `backup`: the commands of these names.
"""
