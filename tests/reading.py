"""Documents of files, as columns."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

from softcosine.cli.reading import each_document


def read_documents(inputs: list[str], **options: Any) -> SimpleNamespace:
    """Return the ids, texts and metadata of all documents; the options are of `each_document`."""
    documents = list(each_document(inputs, **options))
    return SimpleNamespace(
        ids=[one.id for one in documents],
        texts=[one.text for one in documents],
        metadata=[one.metadata for one in documents],
    )
