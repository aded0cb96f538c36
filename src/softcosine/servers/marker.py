"""The marker of a collection on a server: which state of which index it holds."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import asdict, dataclass, replace
from typing import Any, Self

from softcosine.errors import InvalidInputError
from softcosine.index.directory.snapshot import Snapshot

__all__ = ["FORMAT", "Marker"]

FORMAT = 1


@dataclass(frozen=True, slots=True)
class Marker:
    """The state of an index that a collection holds, and what its impacts depend on.

    Impacts depend neither on S nor on idf. The average lengths are those of the export, and are
    kept by later syncs, so that one new document does not change the impacts of all others.

    Attributes
    ----------
    commit : str
        Of the index; see `commit_of`.
    ranking : str
        Of the results. Impacts of soft_tf_bm25 are those of soft_bm25.
    tf : str
    k1, b : float
    average_lengths : tuple of float
        Of each field, for BM25.
    fields : tuple of str
    n_docs : int
    n_terms : int
    vocabulary : str
        Checksum of the first `n_terms` terms; later terms are appended.
    dimensions : int
        Of the coordinates on the server; 0 if there are none.
    encoder : str
        Name of the encoder of the coordinates; empty without coordinates.
    complete : bool
        False while a sync is in progress, and after one that broke off.
    format : int
    """

    commit: str
    ranking: str
    tf: str
    k1: float
    b: float
    average_lengths: tuple[float, ...]
    fields: tuple[str, ...]
    n_docs: int
    n_terms: int
    vocabulary: str
    dimensions: int = 0
    encoder: str = ""
    complete: bool = True
    format: int = FORMAT

    @classmethod
    def of(cls, snapshot: Snapshot, ranking: str, *, vectors: bool) -> Self:
        """Return the marker of a new collection.

        Parameters
        ----------
        snapshot : Snapshot
        ranking : str
        vectors : bool
            Whether the server stores coordinates.
        """
        weighting, n_terms = snapshot.weighting, len(snapshot.S)
        space = snapshot.meaning if vectors else None
        return cls(
            commit=_commit_of(snapshot),
            ranking=ranking,
            tf="bm25" if ranking in ("soft_bm25", "soft_tf_bm25") else weighting.tf,
            k1=weighting.k1,
            b=weighting.b,
            average_lengths=tuple(one.average_length for one in snapshot.statistics),
            fields=tuple(field.name for field in snapshot.fields),
            n_docs=snapshot.n_docs,
            n_terms=n_terms,
            vocabulary=_digest_of_terms(snapshot, n_terms),
            dimensions=0 if space is None else space.dimensions,
            encoder="" if space is None else space.encoder,
        )

    def following(self, snapshot: Snapshot) -> Marker:
        """Return the marker after a sync with a newer state of the same index."""
        newer = Marker.of(snapshot, self.ranking, vectors=self.dimensions > 0)
        if not self.n_docs:  # nothing depends on the lengths yet
            return newer
        return replace(newer, average_lengths=self.average_lengths)

    def difference(self, snapshot: Snapshot) -> str:
        """Return why the impacts on the server cannot serve an index; empty if they can."""
        own = Marker.of(snapshot, self.ranking, vectors=self.dimensions > 0)
        if self.format != FORMAT:
            return f"it has format {self.format}, and this version reads format {FORMAT}"
        for name in ("fields", "tf", "k1", "b", "dimensions", "encoder"):
            theirs, ours = getattr(self, name), getattr(own, name)
            if theirs != ours:
                return f"it was exported with {name} {theirs!r}, and the index has {ours!r}"
        if self.n_terms > own.n_terms or self.vocabulary != _digest_of_terms(
            snapshot, self.n_terms
        ):
            return "its terms are not those of the index"
        return ""

    def holds(self, snapshot: Snapshot) -> bool:
        """Whether the server holds the documents of exactly this commit."""
        return self.complete and self.commit == _commit_of(snapshot)

    def inflation(self, snapshot: Snapshot) -> float:
        """Return by which factor an impact of the index can exceed the one on the server.

        BM25 divides the length of a document by the average; tf / (tf + K) grows with the average
        at most by its ratio. Where the average was 0, lengths, which are 1 or more, did not count.
        """
        if self.tf != "bm25":
            return 1.0
        now = [one.average_length for one in snapshot.statistics]
        ratios = [
            new / old if old > 0 else new
            for new, old in zip(now, self.average_lengths, strict=True)
        ]
        return max([1.0, *ratios])

    def to_json(self) -> dict[str, Any]:
        """Return the marker as JSON values, for `from_json`."""
        return {**asdict(self), "softcosine": True}

    @classmethod
    def from_json(cls, value: Mapping[str, Any]) -> Self:
        """Return the marker of `to_json`.

        Raises
        ------
        InvalidInputError
            If it is none.
        """
        given = dict(value)
        if given.pop("softcosine", None) is not True:
            raise InvalidInputError("it has no marker of softcosine")
        try:
            given |= {name: tuple(given[name]) for name in ("average_lengths", "fields")}
            return cls(**given)
        except (KeyError, TypeError) as error:
            raise InvalidInputError(
                f"its marker is not of this version of softcosine: {error}"
            ) from error


def _commit_of(snapshot: Snapshot) -> str:
    """Return the number and checksum of the commit; in memory, the number alone."""
    return f"{snapshot.generation}-{snapshot.scores_checksum[:32]}"


def _digest_of_terms(snapshot: Snapshot, n: int) -> str:
    digest = hashlib.sha256()
    for term in snapshot.S.vocabulary.terms[:n]:
        digest.update(term.encode("utf-8", "surrogatepass") + b"\0")
    return digest.hexdigest()
