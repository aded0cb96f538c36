"""The tally of a chunk: its records in the order of their owners, and the counts of its terms.

The counts of all chunks, added up, give one vocabulary.
"""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import count, pairwise
from pathlib import Path
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from softcosine.cluster.build_plan import BuildPlan, tally_folder
from softcosine.errors import AlreadyExistsError, DuplicateIdError
from softcosine.files import Record, place
from softcosine.index.segment.statistics import FieldStatistics
from softcosine.index.writer.document import NewDocument, lasting_hashes, new_document
from softcosine.storage import Folder, open_folder, write_folder
from softcosine.text.analyzer import Analyzer
from softcosine.text.corpus import AnalysisCache
from softcosine.text.counted_terms import (
    CountedFields,
    by_frequency,
    counted_fields,
    within_df_limits,
)
from softcosine.text.forms import forms_of
from softcosine.text.packing import pack_strings, unpack_strings
from softcosine.text.vocabulary import Vocabulary

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
    hashes = lasting_hashes(document.id for document in documents)
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
    settings = {"n_docs": len(documents), "n_terms": len(counted.terms), "unseen": sorted(unseen)}
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
        flat = counted.forms.flat
        arrays |= {
            "forms/blob": flat.blob,
            "forms/offsets": flat.offsets,
            "forms/starts": counted.forms.bounds,
            "forms/counts": np.array([counted.words[form] for form in flat], np.int64),
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


def sample(tallies: Sequence[Tally], size: int) -> list[str]:
    """Return the texts with words of the documents whose ids have the least hashes."""
    first: list[tuple[int, str]] = []
    for one in tallies:
        n_before = len(first)
        for start in range(0, one.n_docs, size):
            chosen = slice(start, min(start + size, one.n_docs))
            documents = [own for _, own in one.documents(chosen) if own.shown.strip()]
            hashes = lasting_hashes(own.id for own in documents).tolist()
            first += zip(hashes, (own.shown for own in documents), strict=True)
            if len(first) >= n_before + size:
                break
    return [text for _, text in sorted(first)[:size]]


def counted_terms(
    plan: BuildPlan, tallies: Sequence[Tally]
) -> tuple[Vocabulary, tuple[FieldStatistics, ...]]:
    """Return the terms within the limits, in code point order, and the statistics over them."""
    n_docs, n_fields = sum(one.n_docs for one in tallies), len(plan.field_names)
    numbers: defaultdict[str, int] = defaultdict(count().__next__)
    counted: defaultdict[str, dict[str, int]] = defaultdict(dict)  # forms of stems
    counts = np.zeros((2 * n_fields + 1, 0), np.int64)
    for tally in tallies:
        terms, forms = tally.folder.arrays("terms"), tally.folder.arrays("forms")
        strings = unpack_strings(terms["blob"], terms["offsets"])
        own = np.fromiter(map(numbers.__getitem__, strings), np.int64, len(strings))
        if (missing := len(numbers) - counts.shape[1]) > 0:
            counts = np.pad(counts, ((0, 0), (0, missing + len(numbers))))
        counts[:, own] += np.concatenate((terms["frequencies"], terms["lengths"]))  # each once
        if not forms:
            continue
        words, n_times = unpack_strings(forms["blob"], forms["offsets"]), forms["counts"].tolist()
        for term, (start, end) in zip(strings, pairwise(forms["starts"].tolist()), strict=True):
            of_term = counted[term]
            for word, n in zip(words[start:end], n_times[start:end], strict=True):
                of_term[word] = of_term.get(word, 0) + n
    limits = plan.settings
    within = within_df_limits(
        counts[0, : len(numbers)], n_docs, min_df=limits.min_df, max_df=limits.max_df
    )
    kept = sorted(term for term, holds in zip(numbers, within.tolist(), strict=True) if holds)
    counts = counts[:, [numbers[term] for term in kept]]
    of_stems = {term: by_frequency(own) for term, own in counted.items() if own}
    own_forms = forms_of(kept, of_stems) if plan.analyzer.stems else None
    vocabulary = Vocabulary(kept, document_frequencies=counts[0], n_docs=n_docs, forms=own_forms)
    statistics = tuple(
        FieldStatistics(n_docs, counts[1 + field], int(counts[1 + n_fields + field].sum()))
        for field in range(n_fields)
    )
    return vocabulary, statistics


def check_ids(tallies: Sequence[Tally]) -> None:
    """Raise DuplicateIdError if two documents have the same id."""
    hashes = np.concatenate([one.hashes for one in tallies])
    order = np.argsort(hashes, kind="stable")
    same = np.flatnonzero(hashes[order[1:]] == hashes[order[:-1]])
    firsts = np.cumsum([0, *(one.n_docs for one in tallies)])
    # Nearly always a duplicate: two of 10^9 ids have the same hash with a chance of 3 %.
    seen: dict[str, str] = {}
    for i in np.unique(np.concatenate((order[same], order[same + 1]))).tolist():
        chunk = int(np.searchsorted(firsts, i, side="right")) - 1
        tally, number = tallies[chunk], i - int(firsts[chunk])
        ((_, document),) = tally.documents(slice(number, number + 1))
        here = tally.place(number)
        if document.id in seen:
            raise DuplicateIdError(
                f"{here}: the id {document.id[:80]!r} was given before, at {seen[document.id]}."
            )
        seen[document.id] = here
