"""How an index changes: the writer, its pending commit, merging, the lock."""
