"""The tally of a chunk: its records in the order of their owners, and the counts of its terms."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from softcosine.cluster.build_plan import BuildPlan, tally_folder
from softcosine.cluster.ownership import hashes_of
from softcosine.errors import AlreadyExistsError
from softcosine.files import Record, place
from softcosine.index.writer.document import NewDocument, new_document
from softcosine.storage import Folder, open_folder, write_folder
from softcosine.text.analyzer import Analyzer
from softcosine.text.corpus import AnalysisCache
from softcosine.text.counted_terms import CountedFields, counted_fields
from softcosine.text.packing import pack_strings

_KIND = "tally"
_RECORDS = "records.jsonl"
_CACHED_CHUNKS = 1 << 19  # distinct pieces of text whose analysis a worker keeps


def tally(work: Path, number: int) -> None:
    """Write the tally of a chunk, unless it exists.

    Parameters
    ----------
    work : Path
        Folder of the work.
    number : int
        Of the chunk.

    Raises
    ------
    InvalidInputError, MalformedFileError
        If a record is invalid; the message has its place. Also if the file has changed.
    OSError
        If it cannot be written, for example on a full disk. Nothing is left of it.
    """
    target = tally_folder(work, number)
    if target.exists():
        return
    plan = BuildPlan.read(work)
    try:
        documents, places, unseen = _documents(plan, number)
    finally:  # in place of errors by changed bytes, too
        plan.check_input(number, work)
    texts = [text for document in documents for text in document.texts]
    cache = analysis_cache(plan.analyzer)
    counted = counted_fields(texts, plan.analyzer, n_fields=len(plan.field_names), cache=cache)
    hashes = hashes_of(document.id for document in documents)
    order = np.argsort(hashes, kind="stable")
    lines = [
        json.dumps([one.id, one.texts, one.metadata]).encode() + b"\n"
        for one in map(documents.__getitem__, order.tolist())
    ]

    def write(file: Path) -> None:
        with file.open("wb") as stream:
            stream.writelines(lines)

    arrays = {
        "documents/hashes": hashes[order],
        "documents/places": order.astype(np.int64),
        "documents/lines": np.array(places, np.int64)[order],
        "documents/offsets": np.cumsum([0, *map(len, lines)], dtype=np.int64),
        **_arrays(counted),
    }
    settings = {
        "n_docs": len(documents), "n_terms": len(counted.terms), "unseen": sorted(unseen),
    }  # fmt: skip
    try:
        write_folder(target, _KIND, settings, arrays, files={_RECORDS: write})
    except AlreadyExistsError:  # another worker, such as one of a killed driver, was faster
        if not target.exists():
            raise


def _documents(plan: BuildPlan, number: int) -> tuple[list[NewDocument], list[int], frozenset[str]]:
    """Return the documents of a chunk, the line of each or 0, and the fields that none has."""
    reader, names = plan.reader(), plan.field_names
    documents, lines = [], []
    for record in plan.chunks[number].records():
        id, text = reader.id(record), reader.text(record)
        documents.append(new_document(id, text, reader.metadata(record), fields=names))
        lines.append(record.line or 0)
    return documents, lines, reader.unseen


@lru_cache(maxsize=1)
def analysis_cache(analyzer: Analyzer) -> AnalysisCache:
    """Return the cache of what an analyzer made of texts, for all chunks that a worker counts."""
    return AnalysisCache(_CACHED_CHUNKS)


def _arrays(counted: CountedFields) -> dict[str, NDArray[Any]]:
    blob, offsets = pack_strings(counted.terms)
    arrays: dict[str, NDArray[Any]] = {
        "terms/blob": blob,
        "terms/offsets": offsets,
        "terms/frequencies": counted.frequencies,
        "terms/lengths": counted.lengths,
    }
    if counted.forms is not None:
        blob, offsets = pack_strings([form for own in counted.forms for form in own])
        arrays |= {
            "forms/blob": blob,
            "forms/offsets": offsets,
            "forms/starts": np.cumsum([0, *map(len, counted.forms)], dtype=np.int64),
            "forms/counts": np.array([n for own in counted.forms for n in own.values()], np.int64),
        }
    return arrays


@dataclass(frozen=True, slots=True)
class Tally:
    """The tally of a chunk, opened.

    Attributes
    ----------
    folder : Folder
    name : str
        Of the chunk, in messages.
    """

    folder: Folder
    name: str

    @classmethod
    def open(cls, work: Path, plan: BuildPlan, number: int) -> Self:
        """Open the tally of a chunk."""
        return cls(open_folder(tally_folder(work, number), _KIND), plan.chunks[number].name)

    @property
    def n_docs(self) -> int:
        """Number of documents."""
        return int(self.folder.settings["n_docs"])

    @property
    def n_terms(self) -> int:
        """Number of distinct terms."""
        return int(self.folder.settings["n_terms"])

    @property
    def unseen(self) -> set[str]:
        """The text fields given that no record has."""
        return set(self.folder.settings["unseen"])

    @property
    def hashes(self) -> NDArray[np.uint64]:
        """Hashes of the ids, ascending, shape (n_docs,)."""
        return self.folder.array("documents/hashes")

    @property
    def places(self) -> NDArray[np.int64]:
        """Place of each document in the chunk, in the order of `hashes`."""
        return self.folder.array("documents/places")

    def place(self, number: int) -> str:
        """Return the location of a document, for messages, by its number in `hashes`."""
        line = int(self.folder.array("documents/lines")[number])
        return place(Record({}, self.name, line or None))

    def documents(self, chosen: slice) -> Iterator[tuple[int, NewDocument]]:
        """Yield documents and their places in the chunk, in the order of these places.

        Parameters
        ----------
        chosen : slice
            Of the documents in the order of `hashes`; they are read together.
        """
        places = self.places[chosen]
        offsets = self.folder.array("documents/offsets")[chosen.start : chosen.stop + 1]
        with self.folder.file(_RECORDS).open("rb") as file:
            file.seek(int(offsets[0]))
            content = file.read(int(offsets[-1] - offsets[0]))
        ends = (offsets - offsets[0]).tolist()
        for i in np.argsort(places).tolist():
            id, texts, metadata = json.loads(content[ends[i] : ends[i + 1]])
            yield int(places[i]), NewDocument(id, tuple(texts), metadata)
