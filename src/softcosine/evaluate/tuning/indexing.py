"""An index made by settings that were chosen elsewhere."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from softcosine.errors import InvalidInputError
from softcosine.evaluate.documents import Documents
from softcosine.evaluate.tuning.settings import Settings
from softcosine.evaluate.tuning.similarities import (
    Similarities,
    Sources,
    analyzer_with_phrases,
    similarity_matrix,
)
from softcosine.index.soft_index import SoftIndex
from softcosine.text.corpus import analyze

if TYPE_CHECKING:
    from softcosine.sources.progress import Report

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
    analyzer = analyzer_with_phrases(settings, sources or {})
    options: dict[str, Any] = {
        "ids": documents.ids, "metadata": metadata, "analyzer": analyzer,
        "weighting": settings.weighting, "ranking": settings.ranking, "progress": progress,
    }  # fmt: skip
    texts, given = documents.texts, documents.texts
    if names:
        rows = list(zip(*[documents.fields[name] for name in names], strict=True))
        texts = [text for row in rows for text in row]
        given = [dict(zip(names, row, strict=True)) for row in rows]  # type: ignore[misc]
        options["fields"] = dict(settings.fields or ())
    if not settings.sources:
        return SoftIndex.from_texts(given, plain=True, **options)
    analyzed = analyze(texts, analyzer, n_fields=max(1, len(names)))
    similarities = Similarities(
        analyzed, sources or {}, longest=settings.max_neighbors, report=progress
    )
    source = similarities.source(settings)
    if progress is not None:
        progress("finding similar terms", 0, None)
    S = similarity_matrix(source, analyzed.vocabulary, settings)
    made = SoftIndex.from_texts(given, S=S, **options).with_similarity(S, source=source)
    joined = f", joined by {settings.join}" if len(settings.sources) > 1 else ""
    return made.with_note(
        f"Similarities come from {', '.join(settings.sources)}{joined}, by tuned settings."
    )
