"""`indexed`: an index built with given settings."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from softcosine.evaluate.documents import Documents
from softcosine.evaluate.tuning.settings import Settings
from softcosine.index.soft_index import SoftIndex
from softcosine.matrix.recipe import source_name
from softcosine.space.meaning import STATIC

if TYPE_CHECKING:
    from softcosine._progress import Report
    from softcosine.encoders.encoder import Encoder
    from softcosine.space.meaning import MeaningSpace


def indexed(
    documents: Documents,
    settings: Settings,
    *,
    metadata: Sequence[Mapping[str, Any] | None] | None = None,
    encoder: str | Encoder | None = None,
    encoder_cache: str | Path | None = None,
    meaning_space: MeaningSpace | str | Path | None = None,
    progress: Report | None = None,
) -> SoftIndex:
    """Return an index of documents with the similarities, weights, ranking and fields of settings.

    Parameters
    ----------
    documents : Documents
        Documents with all fields of the settings; without fields in the settings, all fields are
        one text.
    settings : Settings
    metadata : sequence of mappings or None, optional
        One per document.
    encoder, encoder_cache, meaning_space
        See `SoftIndex.create`; the default encoder is that of the settings, if meaning counts.
        The cache is for encoders other than ``"static"``.
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
    >>> index = indexed(documents, Settings(language="english"))
    >>> index.search("flat tire").ids
    ['bike']
    """
    if encoder is None and settings.meaning != 0:
        encoder = settings.encoder
    encoding: dict[str, Any] = {"encoder": encoder}
    if encoder is not None:
        encoding |= {"meaning_space": meaning_space, "meaning": settings.meaning_by(encoder)}
        encoding |= {} if encoder == STATIC else {"encoder_cache": encoder_cache}
    if settings.rules:
        settings = settings.in_language_of(documents.texts)
    fields = None if settings.fields is None else dict(settings.fields)
    index = SoftIndex.from_texts(
        documents.rows(fields or ()), fields=fields, ids=documents.ids, metadata=metadata,
        similarity=settings.similarity, language=settings.language, analyzer=settings.analyzer,
        weighting=settings.weighting, ranking=settings.ranking, progress=progress, **encoding,
    )  # fmt: skip
    recipe = settings.similarity
    if not recipe.sources:
        return index
    joined = f", joined by {recipe.combine}" if len(recipe.sources) > 1 else ""
    names = ", ".join(map(source_name, recipe.sources))
    return index.with_note(f"Similarities come from {names}{joined}, by tuned settings.")
