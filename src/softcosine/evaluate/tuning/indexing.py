"""An index made by settings that were chosen elsewhere."""

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
    """Index documents by settings: their sources, S, weights, ranking, fields and analysis.

    Parameters
    ----------
    documents : Documents
        Of all fields that the settings name; without any, all fields are one text.
    settings : Settings
    metadata : sequence of mappings or None, optional
        One a document.
    sources : mapping of str to TermSimilaritySource or None, optional
        Those that are there already, by the names that the settings call them.
    progress : callable, optional
        Called with (what is being done, how far, out of how many or None).

    Raises
    ------
    InvalidInputError
        If a field is missing, or a source is not understood.
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
