"""Documents of an index as a server takes them."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import islice
from typing import Any

import numpy as np
from numpy.typing import NDArray

from softcosine.index.directory.snapshot import IndexedSegment, Snapshot
from softcosine.index.search.fields import FieldsSearcher
from softcosine.index.search.parts import Part
from softcosine.kernels.documents import SATURATED
from softcosine.servers.marker import Marker

__all__ = ["ServerDocument", "documents_of", "keys_of"]

_BLOCK = 1024  # documents weighted at a time


@dataclass(frozen=True, slots=True, eq=False)
class ServerDocument:
    """A document as a server takes it.

    Attributes
    ----------
    id : str
    digest : bytes
        Checksum of all that a server stores, except of norms.
    terms : ndarray of shape (m,), int64
        Distinct; see `keys_of`.
    counts : ndarray of shape (m,), float64
        Term frequencies.
    impacts : ndarray of shape (m,), float32
        Above 0. A score is the sum of the weights of the expanded query times impacts.
    coordinates : ndarray of shape (dimensions,), int8, or None
        None without coordinates on the server, and for documents that no encoder has read.
    text : str
    metadata_json : str
        The metadata, a JSON object.
    """

    id: str
    digest: bytes
    terms: NDArray[np.int64]
    counts: NDArray[np.float64]
    impacts: NDArray[np.float32]
    coordinates: NDArray[np.int8] | None
    text: str
    metadata_json: str

    @property
    def metadata(self) -> dict[str, Any]:
        """The metadata."""
        return dict(json.loads(self.metadata_json))

    @property
    def size(self) -> int:
        """Approximate size in bytes, for batches."""
        vector = 0 if self.coordinates is None else 8 * len(self.coordinates)
        return 16 * len(self.terms) + len(self.text) + len(self.metadata_json) + vector + 100


def keys_of(terms: NDArray[Any], field: int, n_fields: int) -> NDArray[np.int64]:
    """Return the numbers of the terms of a field on servers: of an index of one field, the same.

    Every field is a space of its own, so a term has one number per field. Terms are appended to a
    vocabulary, so these numbers do not change.
    """
    return terms.astype(np.int64) * n_fields + field


def documents_of(snapshot: Snapshot, marker: Marker) -> Iterator[ServerDocument]:
    """Yield all live documents in order, with impacts by the marker's ranking and lengths.

    The impacts of a cosine are divided by the norms of today, which depend on S and idf; digests do
    not, so that a sync does not send all documents after each change of these.
    """
    searcher = snapshot.searcher(marker.ranking)
    for number, segment in enumerate(snapshot.segments):
        yield from _of_segment(segment, number, searcher, marker)


def _of_segment(
    segment: IndexedSegment, number: int, searcher: FieldsSearcher, marker: Marker
) -> Iterator[ServerDocument]:
    stored, live = segment.documents.all_documents(), segment.mask
    vectors = None
    if marker.dimensions and segment.coordinates is not None:
        vectors = segment.coordinates
    n_fields = len(searcher.searchers)
    for begin in range(0, segment.n_docs, _BLOCK):
        end = min(begin + _BLOCK, segment.n_docs)
        fields = [
            _weighted(one.parts[number], begin, end, marker, marker.average_lengths[field])
            for field, one in enumerate(searcher.searchers)
        ]
        for local, (id, text, metadata) in zip(
            range(begin, end), islice(stored, end - begin), strict=True
        ):
            if not live[local]:
                continue
            rows = [field.row(local - begin) for field in fields]
            terms = np.concatenate(
                [keys_of(row[0], field, n_fields) for field, row in enumerate(rows)]
            )
            counts = np.concatenate([row[1] for row in rows])
            impacts = np.concatenate([row[2] for row in rows]).astype(np.float32)
            vector = None
            if vectors is not None and vectors.encoded[local]:
                vector = vectors.vectors[local]
            held = impacts > 0  # a float32 can be 0 where the impact is not
            yield ServerDocument(
                id, _digest(terms, counts, vector, text, metadata), terms[held], counts[held],
                impacts[held], vector, text, metadata or "{}",
            )  # fmt: skip


@dataclass(frozen=True, slots=True, eq=False)
class _Weighted:
    """Terms, counts and impacts of consecutive documents."""

    pointers: NDArray[np.int64]
    terms: NDArray[np.uint32]
    counts: NDArray[np.float64]
    impacts: NDArray[np.float64]

    def row(self, place: int) -> tuple[NDArray[Any], ...]:
        own = slice(self.pointers[place], self.pointers[place + 1])
        return self.terms[own], self.counts[own], self.impacts[own]


def _weighted(part: Part, begin: int, end: int, marker: Marker, average_length: float) -> _Weighted:
    segment, ranking = part.segment, part.ranking
    pointers = segment.pointers[begin : end + 1]
    own = slice(int(pointers[0]), int(pointers[-1]))
    sizes, levels = np.diff(pointers), segment.levels_of(own)
    counts, values = segment.frequencies[levels], ranking.table[levels]
    if ranking.kind == SATURATED:
        lengths = segment.lengths[begin:end]
        ratio = lengths / average_length if average_length > 0 else np.ones_like(lengths)
        saturation = np.repeat(marker.k1 * (1.0 - marker.b + marker.b * ratio), sizes)
        values = values * (marker.k1 + 1.0) / (values + saturation)
    values = values * np.repeat(ranking.factors[begin:end], sizes)
    return _Weighted(pointers - pointers[0], segment.terms_of(own), counts, values)


def _digest(
    terms: NDArray[np.int64],
    counts: NDArray[np.float64],
    vector: NDArray[np.int8] | None,
    text: str,
    metadata: str | None,
) -> bytes:
    digest = hashlib.blake2b(terms.tobytes(), digest_size=16)
    digest.update(counts.tobytes())
    digest.update(b"" if vector is None else vector.tobytes())
    for one in (text, metadata or "{}"):
        encoded = one.encode("utf-8", "surrogatepass")
        digest.update(len(encoded).to_bytes(8, "little") + encoded)
    return digest.digest()
