"""Documents in memory for tests."""

from __future__ import annotations

from softcosine.index.segment.documents import MemoryDocuments
from softcosine.index.segment.metadata_values import metadata_json


def documents_of(texts, *, metadata=None, kind=MemoryDocuments, **settings):
    """Documents whose metadata are mappings."""
    if metadata is not None:
        metadata = [metadata_json(number, own, None) for number, own in enumerate(metadata)]
    return kind(texts, metadata=metadata, **settings)
