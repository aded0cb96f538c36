"""The storage of an index: a folder, or memory.

A *directory* is an index as of one commit. Its *writer* (one at a time) writes segments, deletes,
norms, metadata, S and statistics as named parts. A commit makes the parts that it names visible,
atomically. Both kinds have the same methods.
"""

from __future__ import annotations

from softcosine.index.directory.folder import FolderDirectory, FolderWriter
from softcosine.index.directory.memory import MemoryDirectory, MemoryWriter

Directory = FolderDirectory | MemoryDirectory
DirectoryWriter = FolderWriter | MemoryWriter
