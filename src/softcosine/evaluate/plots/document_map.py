"""A map of documents, on which similar documents lie together."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array, diags_array

from softcosine._progress import Progress, Report
from softcosine._ragged import running_sum
from softcosine._validation import check_whole, is_number
from softcosine.errors import InvalidInputError
from softcosine.evaluate.plots.compared import compared_searcher, document_vectors, snapshot_of
from softcosine.evaluate.plots.drawing import Picture, columns, label
from softcosine.evaluate.plots.layout import pull, push
from softcosine.evaluate.plots.regions import Region, regions_of
from softcosine.index.directory.snapshot import Snapshot
from softcosine.index.near_duplicates.all_pairs import nearest_neighbors
from softcosine.index.near_duplicates.similar import compared
from softcosine.index.query.filters import Where
from softcosine.index.requests import By
from softcosine.index.search.searchable import Searchable
from softcosine.index.segment.metadata_columns import MISSING, value_at
from softcosine.index.wire import wire
from softcosine.text.analyzer import shortened

if TYPE_CHECKING:
    from matplotlib.figure import Figure


@dataclass(frozen=True, slots=True, eq=False)
class Neighborhoods:
    """Nearest neighbours of documents within a selection, without the document itself.

    Attributes
    ----------
    numbers : ndarray of shape (n,), int64, ascending
        The selected documents.
    graph : csr_array of shape (n, n), float64
        Similarities of at most k neighbours per row, best first; rows and columns are positions
        in `numbers`.
    """

    numbers: NDArray[np.int64]
    graph: csr_array

    def connected(self) -> tuple[NDArray[np.bool_], csr_array]:
        """Return which documents have a neighbour, and the graph of these."""
        rows = np.repeat(np.arange(len(self.numbers)), np.diff(self.graph.indptr))
        there = np.ones(self.graph.nnz, np.bool_)
        while True:
            counts = np.bincount(rows[there], minlength=len(self.numbers))
            drawn = counts > 0
            # Being a neighbour is mutual, except for similarities that rounding turns into 0.
            kept = there & drawn[self.graph.indices]
            if np.array_equal(kept, there):
                break
            there = kept
        places = np.cumsum(drawn) - 1
        pointers = running_sum(counts[drawn])
        n = int(drawn.sum())
        graph = csr_array(
            (self.graph.data[there], places[self.graph.indices[there]], pointers), shape=(n, n)
        )
        return drawn, graph

    def nearest(self, k: int) -> Neighborhoods:
        """Return the first k neighbours of each document."""
        ranks = np.arange(self.graph.nnz) - np.repeat(
            self.graph.indptr[:-1], np.diff(self.graph.indptr)
        )
        kept = ranks < k
        pointers = running_sum(kept)[self.graph.indptr]
        graph = csr_array(
            (self.graph.data[kept], self.graph.indices[kept], pointers), shape=self.graph.shape
        )
        return Neighborhoods(self.numbers, graph)


def neighborhoods(
    snapshot: Snapshot,
    numbers: NDArray[np.int64],
    *,
    k: int,
    by: By = "words",
    threads: int | None,
) -> Neighborhoods:
    """Return the k most similar documents of each, exactly.

    Parameters
    ----------
    snapshot : Snapshot
    numbers : ndarray of shape (n,), int64, ascending
        Live documents; only they can be neighbours.
    k : int
        Maximum number of neighbours; ties go to the earlier document.
    by : {"words", "meaning", "both"}
        See `SoftIndex.pairs`; words of several fields count by their weighted sum.
    threads : int or None

    Raises
    ------
    InvalidInputError
        If S is not symmetric, or documents cannot be compared in this way.
    """
    allowed = []
    for segment, first in zip(snapshot.segments, snapshot.documents.firsts, strict=True):
        mask = np.zeros(segment.n_docs, np.bool_)
        begin, end = np.searchsorted(numbers, [first, first + segment.n_docs])
        mask[numbers[begin:end] - first] = True
        allowed.append(mask)
    if by != "words":
        found = nearest_neighbors(compared(snapshot, by, allowed=allowed), k=k, threads=threads)
        rows, columns = (np.searchsorted(numbers, own) for own in (found.first, found.second))
        lengths = np.bincount(rows, minlength=len(numbers))
        graph = csr_array(
            (found.similarities, columns, running_sum(lengths)), shape=(len(numbers), len(numbers))
        )
        return Neighborhoods(numbers, graph)
    searcher = compared_searcher(snapshot, "soft_cosine")
    queries = [document_vectors(snapshot, searcher, number) for number in numbers.tolist()]
    tops = searcher.search_batch(queries, k=k + 1, allowed=allowed, threads=threads)
    pointers, others, similarities = [0], [np.empty(0, np.int64)], [np.empty(0)]
    for number, top in zip(numbers.tolist(), tops, strict=True):
        kept = np.flatnonzero(top.documents != number)[:k]
        others.append(np.searchsorted(numbers, top.documents[kept]))
        similarities.append(top.scores[kept])
        pointers.append(pointers[-1] + len(kept))
    n = len(numbers)
    graph = csr_array(
        (np.concatenate(similarities), np.concatenate(others), np.array(pointers)), shape=(n, n)
    )
    return Neighborhoods(numbers, graph)


_STEPS = 750
# In the first steps attraction is stronger, so that groups form, and points have less momentum.
_EARLY, _EXAGGERATION = 250, 12.0
_MOMENTA = (0.5, 0.8)
_WALKS = 200  # steps of the random walk whose slowest modes are the start
_SLACK = 6  # additional modes, which speed up convergence of the first two


def laid_out(graph: csr_array, *, progress: Progress | None = None) -> NDArray[np.float64]:
    """Return positions in the plane, from -1 to 1.

    Parameters
    ----------
    graph : csr_array of shape (n, n), float64
        Similarities of each document's nearest neighbours, all above 0; n is at least 2, and no row
        is empty.
    progress : callable, optional
        Called with the number of steps done and the total.

    Returns
    -------
    ndarray of shape (n, 2), float64
        Centred and widest along the first axis. The same graph gives the same positions on the same
        kind of machine with the same versions of NumPy and SciPy.
    """
    links = _links(graph)
    places = _turned(_settled(links, _start(links), progress))
    return places / max(float(np.abs(places).max()), np.finfo(np.float64).tiny)


def kept_neighbors(graph: csr_array, places: NDArray[np.float64], *, k: int = 10) -> float:
    """Return the mean share of each document's k nearest that are its k nearest on the map.

    Parameters
    ----------
    graph : csr_array of shape (n, n), float64
        Nearest neighbours in each row, best first.
    places : ndarray of shape (n, 2), float64
    k : int
    """
    from scipy.spatial import cKDTree

    n = len(places)
    if n == 0:
        return 1.0
    near = cKDTree(places).query(places, k=min(k + 1, n))[1].reshape(n, -1)
    shares = []
    for i in range(n):
        true = graph.indices[graph.indptr[i] : graph.indptr[i + 1]][:k]
        drawn = near[i][near[i] != i][:k]
        shares.append(np.isin(true, drawn).mean() if len(true) else 1.0)
    return float(np.mean(shares))


def _links(graph: csr_array) -> csr_array:
    """Return the symmetric link strengths of pairs of documents, with sum 1."""
    shares = diags_array(1.0 / graph.sum(axis=1)) @ graph
    links = csr_array(shares + shares.T)
    links.sort_indices()
    links.data /= links.data.sum()
    return links


def _start(links: csr_array) -> NDArray[np.float64]:
    """Return the two slowest modes of a random walk over the links, (2, n), with small noise.

    By subspace iteration. The sums are NumPy's own: those of BLAS depend on the number of
    threads.
    """
    n = links.shape[0]
    generator = np.random.default_rng(0)
    roots = np.sqrt(np.asarray(links.sum(axis=1)))
    walk = csr_array(diags_array(1.0 / roots) @ links @ diags_array(1.0 / roots))
    motions = _orthonormal(generator.standard_normal((2 + _SLACK, n)), roots)
    for _ in range(_WALKS):
        stepped = [(walk @ motion + motion) / 2 for motion in motions]
        motions = _orthonormal(stepped, roots)
    inner = np.array([[(a * (walk @ b)).sum() for b in motions] for a in motions])
    start = generator.standard_normal((2, n))  # a few documents may have fewer than two modes
    if motions:
        _, turn = np.linalg.eigh((inner + inner.T) / 2)
        slowest = np.einsum("ij,ik->jk", turn[:, ::-1], np.array(motions))[:2] / roots
        spread = slowest.std(axis=1, keepdims=True)
        start *= 0.01  # noise separates equal documents and avoids a line
        start[: len(slowest)] += slowest / np.maximum(spread, 1e-12)
    return start


def _orthonormal(
    motions: Iterable[NDArray[np.float64]], still: NDArray[np.float64]
) -> list[NDArray[np.float64]]:
    """Return the modes orthogonalised against each other and against the constant mode."""
    basis = [still / np.sqrt((still * still).sum())]
    for motion in motions:
        rest = motion.copy()
        for other in basis:
            rest -= (rest * other).sum() * other
        length = np.sqrt((rest * rest).sum())
        if length > 1e-9:  # otherwise there are no more directions
            basis.append(rest / length)
    return basis[1:]


def _settled(
    links: csr_array, start: NDArray[np.float64], progress: Progress | None
) -> NDArray[np.float64]:
    """Move points by the forces until they settle."""
    n = start.shape[1]
    places = start * 1e-4
    pointers, others = links.indptr.astype(np.int64), links.indices.astype(np.int32)
    pushed, pulled, nearness = np.zeros((2, n)), np.zeros((2, n)), np.zeros(n)
    speed, gain = np.zeros((2, n)), np.ones((2, n))
    rate = max(n / _EXAGGERATION, 50.0)  # Belkina et al. 2019
    for step in range(_STEPS):
        early = step < _EARLY
        push(places[0], places[1], pushed[0], pushed[1], nearness)
        pull(pointers, others, links.data, places[0], places[1], pulled[0], pulled[1])
        total = max(float(nearness.sum()), np.finfo(np.float64).tiny)
        slope = 4.0 * ((_EXAGGERATION if early else 1.0) * pulled - pushed / total)
        # Gains: a point that keeps its direction speeds up, one that oscillates slows down.
        swings = np.sign(slope) == np.sign(speed)
        gain = np.maximum(np.where(swings, gain * 0.8, gain + 0.2), 0.01)
        speed = _MOMENTA[not early] * speed - rate * gain * slope
        places += speed
        places -= places.mean(axis=1, keepdims=True)
        if progress is not None and step % 25 == 24:
            progress(step + 1, _STEPS)
    return np.ascontiguousarray(places.T)


def _turned(places: NDArray[np.float64]) -> NDArray[np.float64]:
    """Rotate points to be widest along the first axis, with the first document up and right."""
    x, y = places.T
    angle = 0.5 * np.arctan2(2.0 * (x * y).sum(), (x * x).sum() - (y * y).sum())
    turned = np.column_stack(
        [x * np.cos(angle) + y * np.sin(angle), y * np.cos(angle) - x * np.sin(angle)]
    )
    return np.asarray(turned * np.where(turned[0] < 0, -1.0, 1.0))


_MOST = 20_000
_COMPARED = 10  # nearest documents in the reported share of neighbors
_PLAIN, _MISSING, _OTHERS = "#4878a8", "#d4d4d4", "#8c8c8c"
_MOST_COLORS = 20
_FEW = 30  # largest number of documents that are all labelled
_WORD, _ID, _VALUE = 22, 28, 24  # columns of a label
_POINT = 9.0  # height of letters
_WIDE = 9.0  # inches of the axes


@dataclass(frozen=True, slots=True, eq=False)
class DocumentMap(Picture):
    """Documents in the plane.

    Attributes
    ----------
    ids : tuple of str
    places : ndarray of shape (n, 2), float64
        From -1 to 1. Near documents are similar; long distances and directions mean nothing.
    regions : tuple of Region
        Dense areas, the largest first.
    region_of : tuple of int
        The region of each document; -1 for none.
    values : tuple
        The value that colours each document; None if it has no such field. Empty without colours.
    color_by : str or None
        The metadata field that colours documents.
    n_candidates : int
        Number of documents to draw; the drawn ones are a sample if this is larger.
    left_out : tuple of str
        Ids of sampled documents without any similar document; they have no place.
    n_neighbors : int
        Number of nearest documents that attract each document.
    kept_neighbors : float
        Mean share of a document's ten nearest that are among its ten nearest on the map.
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
        """Return everything as JSON types, with one record per document."""
        values = self.values or (None,) * len(self)
        return {
            "documents": [
                {"id": id, "x": x, "y": y, "region": region, "value": value}
                for id, (x, y), region, value in zip(
                    self.ids, self.places.tolist(), self.region_of, values, strict=True
                )
            ],
            "regions": wire(self.regions),
            "color_by": self.color_by,
            "n_candidates": self.n_candidates,
            "left_out": list(self.left_out),
            "n_neighbors": self.n_neighbors,
            "kept_neighbors": self.kept_neighbors,
        }

    @property
    def caption(self) -> str:
        """What is drawn, what is left out, and how precise the picture is."""
        n = len(self) + len(self.left_out)
        parts = [f"{n:,} documents" if n == self.n_candidates else
                 f"a sample of {n:,} of {self.n_candidates:,} documents"]  # fmt: skip
        if self.left_out:
            parts.append(f"{len(self.left_out):,} left out, like no other")
        if len(self) > _COMPARED + 1:  # otherwise the share is 1
            share = f"{self.kept_neighbors:.0%}"
            parts.append(
                f"{share} of each one's {_COMPARED} nearest are among its {_COMPARED} nearest here"
            )
        return "; ".join(parts)

    @property
    def _size(self) -> tuple[float, float]:
        return _map_size(self)

    def _draw(self, figure: Figure) -> None:
        _draw_map(figure, self)


def document_map(
    index: Searchable,
    *,
    color_by: str | None = None,
    where: Mapping[str, Any] | None = None,
    by: By = "words",
    max_documents: int = 2000,
    n_neighbors: int | None = None,
    random_state: int = 0,
    threads: int | None = None,
    progress: Report | None = None,
) -> DocumentMap:
    """Return a map that places each document near those most similar to it.

    Every document is compared with all others, exactly; with several fields, by the weighted sum.
    The nearest ones attract it, all others repel it. The same index gives the same map.

    Parameters
    ----------
    index : SoftIndex
    color_by : str, optional
        A metadata field; ``author.name`` is the field *name* of the object *author*.
    where : mapping, optional
        A filter on metadata; see `softcosine.index.query.filters`.
    by : {"words", "meaning", "both"}
        What is compared; see `SoftIndex.pairs`. Documents without coordinates have no place by
        meaning.
    max_documents : int
        Larger indexes are sampled; from 1 to 20,000. Time grows with the square.
    n_neighbors : int, optional
        Number of nearest documents that attract each document; 20 by default, fewer for fewer
        than 300 documents. Small numbers show small groups, large numbers large groups.
    random_state : int
        Seed of the sample.
    threads : int, optional
        All CPUs by default; the map does not depend on it.
    progress : callable, optional
        Called with (name of the stage, work done, total or None).

    Raises
    ------
    InvalidInputError
        If a setting is out of range, no document has the field, S is asymmetric, or documents
        have no coordinates.

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
    found = neighborhoods(snapshot, numbers, k=max(n_neighbors, _COMPARED), by=by, threads=threads)
    ids = [snapshot.documents.id(number) for number in numbers.tolist()]
    drawn, graph = found.connected()
    places = np.zeros((0, 2))
    if graph.shape[0]:
        pulling = Neighborhoods(numbers[drawn], graph).nearest(n_neighbors).graph
        places = laid_out(pulling, progress=partial(report, "laying out"))
    regions, owners = regions_of(
        places, _presence(snapshot, numbers[drawn]), snapshot.S,
        stop_words=snapshot.stop_words,
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
    """Return each document's value of a metadata field; None if it has none."""
    if field is None:
        return []
    if not isinstance(field, str) or not field:
        raise InvalidInputError(f"color_by is {field!r}; name a field of the metadata.")
    values: list[Any] = []
    known: dict[str, None] = {}
    for number in numbers.tolist():
        metadata = snapshot.documents.metadata(number)
        known.update(dict.fromkeys(metadata))
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
    """Return whether each document has each term, in any field."""
    terms = [
        np.unique(np.concatenate([own for own, _ in snapshot.rows(number)]))
        for number in numbers.tolist()
    ]
    pointers = np.cumsum([0, *map(len, terms)])
    indices = np.concatenate([np.empty(0, np.int32), *terms])
    return csr_array(
        (np.ones(len(indices)), indices, pointers), shape=(len(numbers), len(snapshot.S))
    )


def _map_size(drawn: DocumentMap) -> tuple[float, float]:
    """Return width and height of the picture in inches; the height depends on its content."""
    wide, high = np.ptp(drawn.places, axis=0).tolist() if len(drawn) else (1.0, 0.5)
    shape = min(max(high / wide, 0.5), 1.0) if wide else 0.5
    return _WIDE + (2.2 if drawn.values else 0.1), _WIDE * shape + 0.4


def _draw_map(figure: Figure, drawn: DocumentMap) -> None:
    """Draw a map on an empty figure."""
    axes = figure.add_subplot()
    axes.set_xticks([])
    axes.set_yticks([])
    axes.spines[:].set_color("#cccccc")
    axes.set_xlabel(drawn.caption, fontsize=8, loc="left", color="#555555")
    if not len(drawn):
        axes.text(0.5, 0.5, "no two documents are alike", ha="center", transform=axes.transAxes)
        return
    axes.set_aspect("equal", adjustable="datalim")
    size = float(np.clip(16000 / len(drawn), 5, 60))
    _draw_points(figure, axes, drawn, size)
    axes.margins(0.04)
    if len(drawn) <= _FEW:
        axes.margins(0.1)
        for id, place in zip(drawn.ids, drawn.places, strict=True):
            axes.annotate(
                label(id, _ID), place, (0, 5), textcoords="offset points", fontsize=_POINT,
                ha="center", parse_math=False,
            )  # fmt: skip
    else:
        _name_regions(axes, drawn)


def _draw_points(figure: Figure, axes: Any, drawn: DocumentMap, size: float) -> None:
    style = {"s": size, "alpha": 0.75, "linewidths": 0}
    if not drawn.values:
        axes.scatter(*drawn.places.T, color=_PLAIN, **style)
        return
    title = label(drawn.color_by or "", _VALUE)
    there = np.array([value is not None for value in drawn.values])
    kinds = Counter(map(_kind, (value for value in drawn.values if value is not None)))
    axes.scatter(*drawn.places[~there].T, color=_MISSING, **style)
    if len(kinds) > _MOST_COLORS and all(
        is_number(value) for value in drawn.values if value is not None
    ):
        numbers = [float(value) for value in drawn.values if value is not None]
        points = axes.scatter(*drawn.places[there].T, c=numbers, cmap="viridis", **style)
        bar = figure.colorbar(points, ax=axes, shrink=0.6, pad=0.02)
        bar.set_label(title, fontsize=9, parse_math=False)
        bar.ax.tick_params(labelsize=8)
        return
    own = np.array([None if value is None else _kind(value) for value in drawn.values], object)
    shown = [kind for kind, _ in kinds.most_common()]
    if len(shown) > _MOST_COLORS:
        shown = shown[: _MOST_COLORS - 1]
    handles = []
    for kind, color in zip(sorted(shown, key=_rank), _palette(len(shown)), strict=True):
        points = axes.scatter(*drawn.places[own == kind].T, color=color, **style)
        points.set_label(label(kind, _VALUE))
        handles.append(points)
    rest = there & ~np.isin(own.astype(str), shown)
    if rest.any():
        handles.append(axes.scatter(*drawn.places[rest].T, color=_OTHERS, **style))
        handles[-1].set_label(f"{len(kinds) - len(shown):,} others")
    if not there.all():
        handles.append(axes.scatter([], [], color=_MISSING, label="none", **style))
    legend = figure.legend(
        handles=handles, title=title, loc="outside right upper", fontsize=8, frameon=False,
        markerscale=float(np.sqrt(40 / size)), title_fontsize=9,
    )  # fmt: skip
    for text in (*legend.get_texts(), legend.get_title()):
        text.set_parse_math(False)


def _kind(value: Any) -> str:
    """Return the legend entry of a value; equal values share it."""
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


def _rank(kind: str) -> tuple[bool, float, str]:
    """Return the sort key of a legend entry: numbers first, by size."""
    try:
        number = float(kind)
    except ValueError:
        number = float("nan")
    return (True, 0.0, kind) if number != number else (False, number, kind)


def _palette(n: int) -> list[Any]:
    """Return distinct colours without grey, which stands for all other values."""
    from matplotlib import colormaps
    from matplotlib.colors import to_hex

    strong = [to_hex(colormaps["tab10"](i)) for i in range(10) if i != 7]
    if n <= len(strong):
        return strong[:n]
    pairs = [to_hex(colormaps["tab20"](i)) for i in range(20) if i not in (14, 15)]
    return [*pairs, "#393b79", "#637939"][:n]


def _name_regions(axes: Any, drawn: DocumentMap) -> None:
    """Write the words of regions, the largest first, where there is room."""
    from matplotlib.patheffects import withStroke

    span = float(np.ptp(drawn.places[:, 0])) * 1.08 / _WIDE  # of an inch
    taken: list[tuple[float, float, float, float]] = []
    for region in drawn.regions:
        lines = [label(word, _WORD) for word in region.words]
        if not lines:
            continue
        width = max(map(columns, lines)) * 0.62 * _POINT / 72 * span
        height = len(lines) * 1.15 * _POINT / 72 * span
        box = (region.x - width / 2, region.x + width / 2,
               region.y - height / 2, region.y + height / 2)  # fmt: skip
        if any(_overlap(box, other) for other in taken):
            continue
        taken.append(box)
        text = axes.text(
            region.x, region.y, "\n".join(lines), ha="center", va="center", fontsize=_POINT,
            color="black", parse_math=False, linespacing=1.1,
        )  # fmt: skip
        text.set_path_effects([withStroke(linewidth=2, foreground="white", alpha=0.85)])


def _overlap(a: tuple[float, float, float, float], b: tuple[float, float, float, float]) -> bool:
    return a[0] < b[1] and b[0] < a[1] and a[2] < b[3] and b[2] < a[3]
