"""A map of documents: those similar to each other lie together."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from softcosine._progress import Report
from softcosine._validation import check_whole
from softcosine.errors import InvalidInputError
from softcosine.index.directory.snapshot import Snapshot
from softcosine.index.query.filters import Where
from softcosine.index.search.answering import Answering
from softcosine.index.segment.metadata_columns import MISSING, value_at
from softcosine.matrix.drawing import Picture
from softcosine.plots.compared import compared_searcher, snapshot_of
from softcosine.plots.layout import kept_neighbors, laid_out
from softcosine.plots.neighborhoods import Neighborhoods, neighborhoods
from softcosine.plots.regions import Region, regions_of
from softcosine.text.analyzer import shortened
from softcosine.text.stop_words import stop_word_lists

if TYPE_CHECKING:
    from matplotlib.figure import Figure

__all__ = ["DocumentMap", "document_map"]

_MOST = 20_000
_COMPARED = 10  # nearest documents whose share on the map is told


@dataclass(frozen=True, slots=True, eq=False)
class DocumentMap(Picture):
    """Documents in the plane.

    Attributes
    ----------
    ids : tuple of str
    places : ndarray of shape (n, 2), float64
        From -1 to 1. What lies near is similar; long distances and directions mean nothing.
    regions : tuple of Region
        Where many documents lie together, the largest first.
    region_of : tuple of int
        For each document, the region that it is in; -1 for none.
    values : tuple
        For each document, what colours it; None where it has no such field. Empty without colours.
    color_by : str or None
        The field of the metadata that colours documents.
    n_candidates : int
        How many documents there were to draw; those drawn are a sample where there were more.
    left_out : tuple of str
        Ids of documents of the sample that are like no other, and lie nowhere.
    n_neighbors : int
        How many nearest documents pull each.
    kept_neighbors : float
        Which share of each document's ten nearest is among its ten nearest on the map.
    """

    ids: tuple[str, ...]
    places: NDArray[np.float64]
    regions: tuple[Region, ...]
    region_of: tuple[int, ...]
    values: tuple[Any, ...] = ()
    color_by: str | None = None
    n_candidates: int = 0
    left_out: tuple[str, ...] = ()
    n_neighbors: int = 20
    kept_neighbors: float = 1.0
    _what: ClassVar[str] = "Drawing a map"

    def __len__(self) -> int:
        return len(self.ids)

    def to_dict(self) -> dict[str, Any]:
        """Return all of it as JSON can hold it, a record a document."""
        values = self.values or (None,) * len(self)
        return {
            "documents": [
                {"id": id, "x": x, "y": y, "region": region, "value": value}
                for id, (x, y), region, value in zip(
                    self.ids, self.places.tolist(), self.region_of, values, strict=True
                )
            ],
            "regions": [
                {
                    "words": list(region.words),
                    "x": region.x,
                    "y": region.y,
                    "n_documents": region.n_documents,
                }
                for region in self.regions
            ],
            "color_by": self.color_by,
            "n_candidates": self.n_candidates,
            "left_out": list(self.left_out),
            "n_neighbors": self.n_neighbors,
            "kept_neighbors": self.kept_neighbors,
        }

    @property
    def caption(self) -> str:
        """What is drawn, what is not, and how true the picture is."""
        n = len(self) + len(self.left_out)
        parts = [f"{n:,} documents" if n == self.n_candidates else
                 f"a sample of {n:,} of {self.n_candidates:,} documents"]  # fmt: skip
        if self.left_out:
            parts.append(f"{len(self.left_out):,} left out, like no other")
        if len(self) > _COMPARED + 1:  # else all are among them
            share = f"{self.kept_neighbors:.0%}"
            parts.append(
                f"{share} of each one's {_COMPARED} nearest are among its {_COMPARED} nearest here"
            )
        return "; ".join(parts)

    @property
    def _size(self) -> tuple[float, float]:
        from softcosine.plots.map_drawing import map_size

        return map_size(self)

    def _draw(self, figure: Figure) -> None:
        from softcosine.plots.map_drawing import draw_map

        draw_map(figure, self)


def document_map(
    index: Answering,
    *,
    color_by: str | None = None,
    where: Mapping[str, Any] | None = None,
    max_documents: int = 2000,
    n_neighbors: int | None = None,
    random_state: int = 0,
    threads: int | None = None,
    progress: Report | None = None,
) -> DocumentMap:
    """Lay documents out in the plane, each near those most similar to it by soft cosine.

    Every document is compared with all others, exactly; of several fields, the weighted sum counts.
    The nearest ones pull it, all others push it (`softcosine.plots.layout`). The same index gives
    the same map.

    Parameters
    ----------
    index : SoftIndex
    color_by : str, optional
        A field of the metadata; ``author.name`` is the field *name* of the object *author*.
    where : mapping, optional
        Only documents whose metadata are so; see `softcosine.index.query.filters`.
    max_documents : int
        Of more, a random sample is drawn; from 1 to 20,000. Time grows with the square.
    n_neighbors : int, optional
        How many nearest documents pull each; 20 by default, fewer for fewer than 300 documents.
        Few show small groups, many show large ones.
    random_state : int
        Seed of the sample.
    threads : int, optional
        All processors by default; changes nothing in the map.
    progress : callable, optional
        Called with (what is being done, how far, out of how many or None).

    Raises
    ------
    InvalidInputError
        If a setting is out of range, no document has the field, or S is asymmetric.

    Examples
    --------
    >>> import softcosine as sc
    >>> texts = ["a cat and a dog", "the cats", "two dogs", "a pot of tea", "green tea"]
    >>> drawn = document_map(sc.SoftIndex.from_texts(texts))
    >>> len(drawn), drawn.places.shape
    (5, (5, 2))
    >>> drawn.save("map.png")  # doctest: +SKIP
    """
    snapshot = snapshot_of(index)
    check_whole("max_documents", max_documents, most=_MOST)
    check_whole("n_neighbors", n_neighbors, optional=True)
    searcher = compared_searcher(snapshot, "soft_cosine")
    report = progress or (lambda what, done, total: None)
    candidates = _passing(snapshot, snapshot.documents.numbers, where)
    numbers = candidates
    if len(candidates) > max_documents:
        generator = np.random.default_rng(random_state)
        numbers = np.sort(generator.choice(candidates, max_documents, replace=False))
    if n_neighbors is None:
        n_neighbors = int(np.clip(len(numbers) // 15, 3, 20))
    values = _values(snapshot, numbers, color_by)
    report("comparing documents", 0, None)
    found = neighborhoods(
        snapshot, searcher, numbers, k=max(n_neighbors, _COMPARED), threads=threads
    )
    ids = [snapshot.documents.id(number) for number in numbers.tolist()]
    drawn, graph = found.connected()
    places = np.zeros((0, 2))
    if graph.shape[0]:
        pulling = Neighborhoods(numbers[drawn], graph).nearest(n_neighbors).graph
        places = laid_out(pulling, progress=partial(report, "laying out"))
    regions, owners = regions_of(
        places, _presence(snapshot, numbers[drawn]), snapshot.S,
        stop_words=stop_word_lists().get(snapshot.language or "", frozenset()),
    )  # fmt: skip
    kept = drawn.tolist()
    return DocumentMap(
        ids=tuple(id for id, there in zip(ids, kept, strict=True) if there),
        places=places,
        regions=regions,
        region_of=tuple(owners.tolist()),
        values=tuple(v for v, there in zip(values, kept, strict=True) if there) if values else (),
        color_by=color_by,
        n_candidates=len(candidates),
        left_out=tuple(id for id, there in zip(ids, kept, strict=True) if not there),
        n_neighbors=int(n_neighbors),
        kept_neighbors=kept_neighbors(graph, places, k=_COMPARED),
    )


def _passing(
    snapshot: Snapshot, numbers: NDArray[np.int64], where: Mapping[str, Any] | None
) -> NDArray[np.int64]:
    """Return the documents that pass a filter."""
    if where is None:
        return numbers
    parsed = Where.parse(where)
    masks = [segment.columns.mask(parsed) for segment in snapshot.segments]
    return numbers[np.concatenate(masks)[numbers]]


def _values(snapshot: Snapshot, numbers: NDArray[np.int64], field: str | None) -> list[Any]:
    """Return what each document has in a field of its metadata, None where it has nothing."""
    if field is None:
        return []
    if not isinstance(field, str) or not field:
        raise InvalidInputError(f"color_by is {field!r}; name a field of the metadata.")
    values: list[Any] = []
    known: dict[str, None] = {}
    for number in numbers.tolist():
        metadata = snapshot.documents.metadata(number)
        known.update(dict.fromkeys(metadata))
        value = value_at(metadata, (field,))
        if value is MISSING:
            value = value_at(metadata, tuple(field.split(".")))
        values.append(None if value is MISSING else value)
    if values and all(value is None for value in values):
        names = ", ".join(map(shortened, list(known)[:20]))
        raise InvalidInputError(
            f"no document has the field {shortened(field)} in its metadata; "
            + (f"they have {names}." if names else "they have none at all.")
        )
    return values


def _presence(snapshot: Snapshot, numbers: NDArray[np.int64]) -> csr_array:
    """Return which document has which term, in any field."""
    terms = [
        np.unique(np.concatenate([own for own, _ in snapshot.rows(number)]))
        for number in numbers.tolist()
    ]
    pointers = np.cumsum([0, *map(len, terms)])
    indices = np.concatenate([np.empty(0, np.int32), *terms])
    return csr_array(
        (np.ones(len(indices)), indices, pointers), shape=(len(numbers), len(snapshot.S))
    )
