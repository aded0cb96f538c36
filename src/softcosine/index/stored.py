"""An index as a folder of one segment and a manifest (see docs/format.md)."""

from __future__ import annotations

import logging
from pathlib import Path
from typing import TYPE_CHECKING, Any

from softcosine.errors import CorruptIndexError, InvalidInputError
from softcosine.index.documents import StoredDocuments, write_documents
from softcosine.index.segment import Segment
from softcosine.matrix.ranges import check_array, check_numbers
from softcosine.matrix.stored import built_source, source_settings, source_state
from softcosine.matrix.term_similarity_matrix import TermSimilarityMatrix
from softcosine.sources.source import TermSimilaritySource, state_of
from softcosine.storage import open_folder, write_folder
from softcosine.text.analyzer import Analyzer
from softcosine.text.weighting import Weighting

if TYPE_CHECKING:
    from softcosine.index.soft_index import SoftIndex

__all__ = ["open_index", "save_index"]

_logger = logging.getLogger(__name__)
_SEGMENT = "segment-0"


def save_index(index: SoftIndex, path: str | Path, *, overwrite: bool) -> None:
    """Write an index to a folder, whole or not at all."""
    matrix_settings, arrays = index.S.state()
    for name, array in index.segment.to_arrays().items():
        arrays[f"{_SEGMENT}/{name}"] = array
    arrays["document_frequencies"] = index.document_frequencies
    source = None
    if index.source is not None:
        try:
            source = source_settings(state_of(index.source), "source", arrays)
        except InvalidInputError as error:  # the source, or a part of it, has no state
            _logger.warning(
                "An opened index will not know query words that no document has, unless it is "
                "opened with source=: %s",
                error,
            )
    settings = {
        "n_docs": len(index),
        "segments": [_SEGMENT],
        "similarity": matrix_settings,
        "source": source,
        "analyzer": index.analyzer.to_dict(),
        "weighting": index.weighting.to_dict(),
        "ranking": index.ranking,
        "note": index.note,
    }
    write_folder(
        path,
        "index",
        settings,
        arrays,
        files={f"{_SEGMENT}/documents.sqlite": lambda file: write_documents(index.documents, file)},
        overwrite=overwrite,
    )


def open_index(
    path: str | Path, source: TermSimilaritySource | None, *, verify: bool = False
) -> dict[str, Any]:
    """Open a folder and return the arguments of the index that it holds."""
    folder = open_folder(path, "index")
    if verify:
        folder.verify()
    try:
        settings = folder.settings
        (name,) = settings["segments"]
        if source is None and settings["source"] is not None:
            source = built_source(source_state(settings["source"], "source", folder), folder)
        segment = Segment.from_arrays(folder.arrays(name))
        n_docs, n_terms = int(settings["n_docs"]), segment.n_terms
        S = TermSimilarityMatrix.from_folder(folder, settings["similarity"], "matrix")
        document_frequencies = folder.array("document_frequencies")
        check_array("document_frequencies", document_frequencies, ("int64",), n_terms)
        check_numbers("document_frequencies", document_frequencies, n_docs + 1)
        if segment.n_docs != n_docs or len(S) != n_terms:
            raise CorruptIndexError(
                f"{folder.path} speaks of {n_docs} documents and {len(S)} terms, but its postings "
                f"of {segment.n_docs} and {n_terms}; rebuild the index."
            )
        return {
            "segment": segment,
            "documents": StoredDocuments(folder.file(f"{name}/documents.sqlite"), n_docs),
            "S": S,
            "source": source,
            "analyzer": Analyzer.from_dict(settings["analyzer"]),
            "weighting": Weighting.from_dict(settings["weighting"]),
            "ranking": settings["ranking"],
            "document_frequencies": document_frequencies,
            "note": settings["note"],
        }
    except (KeyError, TypeError) as error:
        raise CorruptIndexError(f"{folder.path} lacks a part of an index: {error!r}") from error
