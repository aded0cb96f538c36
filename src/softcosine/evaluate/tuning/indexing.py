"""`indexed`: an index built with given settings."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from softcosine.errors import InvalidInputError
from softcosine.evaluate.documents import Documents
from softcosine.evaluate.tuning.settings import Settings
from softcosine.evaluate.tuning.similarities import Sources, recipe_of
from softcosine.index.soft_index import SoftIndex

if TYPE_CHECKING:
    from softcosine._progress import Report

__all__ = ["indexed"]


def indexed(
    documents: Documents,
    settings: Settings,
    *,
    metadata: Sequence[Mapping[str, Any] | None] | None = None,
    sources: Sources | None = None,
    progress: Report | None = None,
) -> SoftIndex:
    """Return an index of documents with the sources, S, weights, ranking and fields of settings.

    Parameters
    ----------
    documents : Documents
        Documents with all fields of the settings; without fields in the settings, all fields are
        one text.
    settings : Settings
    metadata : sequence of mappings or None, optional
        One per document.
    sources : mapping of str to TermSimilaritySource or None, optional
        Ready sources, by their names in the settings.
    progress : callable, optional
        Called with the step, the number done, and the total or None.

    Raises
    ------
    InvalidInputError
        If a field is missing, or a source is unknown.
    FileNotFoundError, MalformedFileError

    Examples
    --------
    >>> documents = Documents.of(["a puncture in the tyre", "the tea is cold"], ids=["bike", "tea"])
    >>> index = indexed(documents, Settings(sources=("english",), stemmer="english"))
    >>> index.search("flat tire").ids
    ['bike']
    """
    names = [name for name, _ in settings.fields or ()]
    for name in names:
        if name not in documents.fields:
            raise InvalidInputError(
                f"the settings have weights for the field {name!r}, and the documents have the "
                f"fields {', '.join(documents.names)}; index documents of the same fields."
            )
    texts: Sequence[Any] = documents.texts
    if names:
        rows = zip(*[documents.fields[name] for name in names], strict=True)
        texts = [dict(zip(names, row, strict=True)) for row in rows]
    index = SoftIndex.from_texts(
        texts, fields=dict(settings.fields) if settings.fields else None, ids=documents.ids,
        metadata=metadata, similarity=recipe_of(settings, sources or {}),
        analyzer=settings.analyzer, weighting=settings.weighting, ranking=settings.ranking,
        progress=progress,
    )  # fmt: skip
    if not settings.sources:
        return index
    joined = f", joined by {settings.join}" if len(settings.sources) > 1 else ""
    return index.with_note(
        f"Similarities come from {', '.join(settings.sources)}{joined}, by tuned settings."
    )
