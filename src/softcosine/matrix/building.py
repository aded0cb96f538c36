"""Construction of S from a source, and its extension by new terms."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import compress
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.sparse import csr_array, diags_array, eye_array

from softcosine._progress import Progress, reporting
from softcosine._ragged import running_sum
from softcosine.errors import InvalidInputError
from softcosine.kernels.assembly import assemble_symmetric
from softcosine.matrix.restriction import Restricted, with_added
from softcosine.matrix.rules import Order, Rules, column_order
from softcosine.similarity.checked_answers import check_neighbors, similarities_by
from softcosine.similarity.in_terms import (
    TermKeys,
    are_pinned,
    have_pins,
    in_terms,
    known_as_written,
)
from softcosine.similarity.neighbors import Neighbors
from softcosine.similarity.overrides.guard import guarded as with_guard
from softcosine.similarity.source import TermSimilaritySource, checked_source
from softcosine.text.analyzer import Analyzer
from softcosine.text.counted_terms import are_joined
from softcosine.text.vocabulary import Vocabulary
from softcosine.version import __version__

CHUNK_TERMS = 2048  # terms per chunk

# From this number of terms on, requests are chunked even without progress, to limit the memory of
# joined sources.
_LARGE = 1 << 15


def ask(
    source: TermSimilaritySource,
    terms: Sequence[str],
    among: Sequence[str],
    *,
    max_neighbors: int,
    progress: Progress | None = None,
) -> Neighbors:
    """Return the neighbours of all terms; the result does not depend on the chunks.

    Joined words are left out: they have no neighbors.

    Parameters
    ----------
    source, terms, among, max_neighbors
        See `TermSimilaritySource.neighbors`.
    progress : callable, optional
        Called with (terms done, terms in all).

    Raises
    ------
    InvalidInputError
        If a result violates the contract of `Neighbors`.
    """
    if (searched := ~are_joined(among)).sum() < len(among):
        asked = searched if terms is among else ~are_joined(terms)
        unjoined = tuple(compress(among, searched.tolist()))
        some = unjoined if terms is among else list(compress(terms, asked.tolist()))
        answer = ask(source, some, unjoined, max_neighbors=max_neighbors, progress=progress)
        return _placed(answer, np.flatnonzero(asked), np.flatnonzero(searched), len(terms))
    n = len(terms)
    unwatched = progress is None and n <= _LARGE
    if terms is among and (unwatched or _compares_vectors(source)):
        with reporting(progress):
            whole = source.neighbors(terms, among, max_neighbors=max_neighbors)
        if progress is not None:
            progress(n, n)
        return checked_answer(whole, n_asked=n, n_among=n, first=0)
    step = max(n, 1) if unwatched else CHUNK_TERMS
    answers = []
    for start in range(0, n, step):
        chunk = terms if n <= step else terms[start : start + step]
        answers.append(
            checked_answer(
                source.neighbors(chunk, among, max_neighbors=max_neighbors),
                n_asked=len(chunk), n_among=len(among), first=start if terms is among else None,
            )
        )  # fmt: skip
        if progress is not None:
            progress(start + len(chunk), n)
    return Neighbors.concatenated(answers)


def _compares_vectors(source: object) -> bool:
    """Whether a source, or a source inside it, finds neighbours by vectors.

    In one request for all neighbours, such a source computes each pair once instead of twice, and
    reports its progress.
    """
    inside = getattr(source, "sources", ())
    return getattr(source, "compares_vectors", False) or any(map(_compares_vectors, inside))


def checked_answer(
    answer: object, *, n_asked: int, n_among: int, first: int | None = None
) -> Neighbors:
    """Return the result; raise InvalidInputError if it violates the contract of `Neighbors`.

    Parameters
    ----------
    answer : object
    n_asked, n_among : int
        Number of query terms, and of searched terms.
    first : int, optional
        Position of the first query term among the searched terms, if they contain the query terms.
    """
    given = check_neighbors(answer, n_asked=n_asked, n_among=n_among)
    indptr, indices, similarities = given.indptr, given.indices, given.similarities
    rising = np.flatnonzero(similarities[1:] > similarities[:-1])
    if not np.isin(rising + 1, indptr).all():
        raise InvalidInputError("the source does not give neighbours by decreasing similarity.")
    if first is not None and np.any(given.rows() + first == indices):
        raise InvalidInputError("the source gives a term as its own neighbour.")
    return Neighbors(
        np.ascontiguousarray(indptr, np.int64), np.ascontiguousarray(indices, np.int32),
        np.ascontiguousarray(similarities, np.float32),
    )  # fmt: skip


def representatives(
    source: TermSimilaritySource, vocabulary: Vocabulary, numbers: Iterable[int] | None = None
) -> tuple[str, ...]:
    """Return the representative word of each term: its most frequent form that the source knows.

    Sources contain words, not stems. Without stemming, a term represents itself. A list in terms
    treats all forms alike, so the other sources determine the form.

    Parameters
    ----------
    source : TermSimilaritySource
    vocabulary : Vocabulary
    numbers : iterable of int, optional
        Term numbers; all by default.
    """
    if numbers is None and not vocabulary.has_forms:
        return vocabulary.terms
    chosen = range(len(vocabulary)) if numbers is None else list(numbers)
    every = vocabulary.forms if numbers is None else None
    all_forms = every or [vocabulary.forms_of(i) for i in chosen]
    words = [
        forms[0] if forms else vocabulary.term(i)
        for i, forms in zip(chosen, all_forms, strict=True)
    ]
    several = [place for place, forms in enumerate(all_forms) if len(forms) > 1]
    asked = [form for place in several for form in all_forms[place]]
    known = iter(known_as_written(source, asked).tolist())
    for place in several:
        here = [form for form in all_forms[place] if next(known)]
        words[place] = here[0] if here else words[place]
    return tuple(words)


class GrowingColumns:
    """Entries that new terms add to a symmetric S, limited per column; S is not copied.

    Parameters
    ----------
    S : csr_array of shape (n_terms, n_terms), float32
        The rows of new terms are empty; the other rows store the diagonal.
    new : ndarray of shape (n_terms,), bool
    limit : int
        Limit of off-diagonal entries per column; columns of S may have more.
    dominant : bool
        Whether the sum of a column's absolute entries must also stay below 1.
    """

    def __init__(
        self, S: csr_array, new: NDArray[np.bool_], *, limit: int, dominant: bool = False
    ) -> None:
        self._dominant = dominant
        self._room = limit - (np.diff(S.indptr) - ~new)  # below 0 if S has more
        self._sums = _sums_beside(S) if dominant else np.zeros(len(new), np.float64)
        numbers = np.flatnonzero(new).astype(np.int32)
        self._added = running_sum(new), numbers, np.ones(len(numbers), np.float32)

    def enter(self, neighbors: Neighbors, order: NDArray[np.int32]) -> None:
        """Let new columns choose from their candidates, column by column.

        A pair is entered on both sides, with the similarity of the choosing column, while neither
        column is full.

        Parameters
        ----------
        neighbors : Neighbors
            Candidates of term i in row i, best first; none for old terms.
        order : ndarray of shape (n_choosing,), int32
            Columns that choose, in order; new ones only.
        """
        indptr, indices, data = self._added
        n_held, n_asked = np.diff(indptr), np.diff(neighbors.indptr)
        n_named = n_asked + np.bincount(neighbors.indices, minlength=len(n_asked))
        starts = running_sum(n_held + np.clip(self._room, 0, n_named))
        ends = starts[:-1] + n_held
        columns, values = np.empty(starts[-1], np.int32), np.empty(starts[-1], np.float32)

        def filled() -> NDArray[np.bool_]:
            return np.asarray(np.arange(starts[-1]) < np.repeat(ends, np.diff(starts)))

        held = filled()
        columns[held], values[held] = indices, data
        assemble_symmetric(
            neighbors.indptr, neighbors.indices, neighbors.similarities, order, self._dominant,
            starts, ends, columns, values, self._sums,
        )  # fmt: skip
        held, n_now = filled(), ends - starts[:-1]
        self._room -= n_now - n_held
        self._added = running_sum(n_now), columns[held], values[held]

    def open(self) -> NDArray[np.bool_]:
        """Which columns are not full, shape (n_terms,)."""
        return np.asarray(self._room > 0)

    def to_csr(self) -> csr_array:
        """Return the new entries with the diagonal of new terms, column indices ascending."""
        indptr, indices, data = self._added
        added = csr_array((data, indices, indptr), shape=(len(self._room), len(self._room)))
        added.sort_indices()
        return added


def _sums_beside(S: csr_array) -> NDArray[np.float64]:
    """Sum of the absolute off-diagonals of every row."""
    rows, beside = _beside(S, None)
    sizes = np.where(beside, np.abs(S.data), np.float32(0.0))
    return np.bincount(rows, weights=sizes, minlength=S.shape[0]).astype(np.float64)


def balancing_scales(S: csr_array, *, unit: float = 1.0) -> NDArray[np.float32]:
    """Return the scale of each term's similarities: 1 / sqrt(max(1, their sum)).

    Parameters
    ----------
    S : csr_array of shape (n_terms, n_terms), float32
    unit : float
        Factor of the off-diagonals so far; sums are of the values before this factor.

    Returns
    -------
    ndarray of shape (n_terms,), float32
        In (0, 1]. Absolute off-diagonals are summed in float64.
    """
    sums = abs(S.astype(np.float64)).sum(axis=1) - np.abs(S.diagonal().astype(np.float64))
    return np.asarray(1.0 / np.sqrt(np.maximum(sums / unit, 1.0)), np.float32)


def rescaled(
    S: csr_array, scales: NDArray[np.float32], *, only: NDArray[np.bool_] | None = None
) -> csr_array:
    """Return S with s_ij multiplied by the scales of i and j, for different i and j.

    Parameters
    ----------
    S : csr_array of shape (n_terms, n_terms), float32
    scales : ndarray of shape (n_terms,), float32
    only : ndarray of shape (n_terms,), bool, optional
        Change only entries with at least one of these terms.

    Returns
    -------
    csr_array, float32
        Symmetric to the bit if S is.
    """
    rows, changing = _beside(S, only)
    factors = np.where(changing, scales[rows] * scales[S.indices], np.float32(1.0))
    return csr_array((S.data * factors, S.indices, S.indptr), shape=S.shape)


def with_pins(
    S: csr_array,
    words: tuple[str, ...],
    source: TermSimilaritySource,
    *,
    unit: float = 1.0,
    only: NDArray[np.bool_] | None = None,
) -> csr_array:
    """Return S with the source's similarities restored for pinned pairs.

    Parameters
    ----------
    S : csr_array of shape (n_terms, n_terms), float32
        No entry is added.
    words : tuple of str
        Representative word of each term.
    source : TermSimilaritySource
    unit : float
        Factor of all off-diagonals.
    only : ndarray of shape (n_terms,), bool, optional
        As for `rescaled`.
    """
    rows, changing = _beside(S, only)
    pinned = pinned_pairs(source, words, rows, S.indices, among=changing)
    left = [words[i] for i in rows[pinned].tolist()]
    right = [words[j] for j in S.indices[pinned].tolist()]
    data = S.data.copy()
    data[pinned] = similarities_by(source, left, right) * np.float32(unit)
    return csr_array((data, S.indices, S.indptr), shape=S.shape)


def pinned_pairs(
    source: TermSimilaritySource,
    words: tuple[str, ...],
    rows: NDArray[np.integer[Any]],
    columns: NDArray[np.integer[Any]],
    *,
    among: NDArray[np.bool_] | None = None,
) -> NDArray[np.int64]:
    """Return the positions of the pairs that are pinned by a decision or a list.

    Parameters
    ----------
    source : TermSimilaritySource
    words : tuple of str
        Representative word of each term.
    rows, columns : ndarray of shape (n_pairs,)
        Numbers of the terms.
    among : ndarray of shape (n_pairs,), bool, optional
        Consider only these pairs.
    """
    asked = np.arange(len(rows)) if among is None else np.flatnonzero(among)
    held = np.zeros(len(words), np.bool_)
    held[rows[asked]] = held[columns[asked]] = True
    terms = np.flatnonzero(held)  # few terms when S is extended
    held[terms] = have_pins(source, [words[i] for i in terms.tolist()])
    asked = asked[held[rows[asked]] & held[columns[asked]]]
    left = [words[i] for i in rows[asked].tolist()]
    right = [words[j] for j in columns[asked].tolist()]
    return np.asarray(asked[are_pinned(source, left, right)])


def _beside(
    S: csr_array, only: NDArray[np.bool_] | None
) -> tuple[NDArray[np.int32], NDArray[np.bool_]]:
    """Row of every entry, and which entries are off-diagonals (of the given terms)."""
    rows = np.repeat(np.arange(S.shape[0], dtype=np.int32), np.diff(S.indptr))
    chosen = rows != S.indices
    if only is not None:
        chosen &= only[rows] | only[S.indices]
    return rows, chosen


_ADDRESS = re.compile(r" at 0x[0-9a-fA-F]+")


@dataclass(frozen=True, slots=True)
class Built:
    """S, the representative word of each term, how S was made, and the scales if balanced."""

    S: csr_array
    words: tuple[str, ...]
    settings: dict[str, Any]
    scales: NDArray[np.float32] | None


def build(
    source: TermSimilaritySource,
    vocabulary: Vocabulary,
    rules: Rules,
    order: Order | ArrayLike,
    *,
    balanced: bool = False,
    progress: Progress | None = None,
) -> Built:
    """Build S from the source's neighbours of every term.

    Only terms of the vocabulary are searched, so that other words never use up a column's limit. If
    a column is not full because its candidates' columns were full, more candidates are requested
    among the columns with room. Pinned pairs are entered first, so that other neighbours do not
    take their room.

    Parameters
    ----------
    source : TermSimilaritySource
    vocabulary : Vocabulary
    rules : Rules
    order : str or array of shape (n_terms,)
        See `softcosine.matrix.rules.column_order`.
    balanced : bool
        See `softcosine.matrix.building`.
    progress : callable, optional
        Called with (terms done, terms in all).
    """
    sequence = column_order(vocabulary, order)
    words = representatives(source, vocabulary)
    limit = rules.max_neighbors
    admitted = rules.admitted(ask(source, words, words, max_neighbors=limit, progress=progress))
    if rules.strategy == "rows":
        S = with_diagonal(best_of_rows(admitted, limit))
    else:
        n = len(words)
        columns = GrowingColumns(
            csr_array((n, n), dtype=np.float32), np.ones(n, np.bool_), limit=limit,
            dominant=rules.dominant,
        )  # fmt: skip
        columns.enter(_pinned(admitted, source, words, limit), sequence)
        columns.enter(admitted, sequence)
        unfinished = np.diff(admitted.indptr) == limit
        _fill(columns, unfinished, np.zeros(len(words), np.bool_), source, words, rules, sequence)
        S = columns.to_csr()
    settings: dict[str, Any] = {
        "made": "source",
        **rules.to_dict(),
        "order": order if isinstance(order, str) else "weights",
        "source": described(source),
        "versions": _versions(),
    }
    scales = None
    if balanced:
        scales = balancing_scales(S)
        S = with_pins(rescaled(S, scales), words, source)
        settings["balanced"] = True
    return Built(S, words, settings, scales)


def extend(
    old: Restricted,
    source: TermSimilaritySource,
    vocabulary: Vocabulary,
    rules: Rules,
    settings: Mapping[str, Any],
    *,
    progress: Progress | None = None,
) -> Built:
    """Return S extended by new terms; existing entries stay.

    Only the new entries are computed, and S is copied once.

    Parameters
    ----------
    old : Restricted
        S over the larger vocabulary. If it is balanced, the new terms get their own scales from all
        their similarities; the scales of old terms stay.
    source, vocabulary, rules, progress
        As for `build`.
    settings : mapping
        How S was made; its order and the factor of its off-diagonals apply again.
    """
    order = settings.get("order", "rare_first")
    sequence = column_order(vocabulary, "rare_first" if order == "weights" else order)
    factor = float(settings.get("shrunk", 1.0))
    new, words = old.missing, _words(old, source, vocabulary)
    S = _added(old.S, new, source, words, rules, sequence, factor, progress)
    scales = old.scales
    if scales is not None:
        scales = np.where(new, balancing_scales(S, unit=factor), scales)
        S = rescaled(S, scales, only=new)
        S = with_pins(S, words, source, unit=factor, only=new)
    S = with_added(old.S, S)
    added = {
        "terms": int(new.sum()),
        "source": described(source),
        "versions": _versions(),
    }
    history = [*settings.get("extended", []), added]
    made = {**settings, **rules.to_dict(), "order": order, "extended": history}
    return Built(S, words, made, scales)


def _words(
    old: Restricted, source: TermSimilaritySource, vocabulary: Vocabulary
) -> tuple[str, ...]:
    """Return the representative words of the terms; those of old terms stay."""
    new = np.flatnonzero(old.missing).tolist()
    fresh = representatives(source, vocabulary, new)
    words = list(vocabulary.terms if old.words is None else old.words)
    for i, word in zip(new, fresh, strict=True):
        words[i] = word
    together = tuple(words)
    return vocabulary.terms if together == vocabulary.terms else together


def prepared(
    source: TermSimilaritySource,
    vocabulary: Vocabulary,
    *,
    guard: bool,
    analyzer: Analyzer | None = None,
) -> TermSimilaritySource:
    """Return the source as it is used for a vocabulary.

    The source is checked. If `guard` is true and there is no guard, one is added. Lists and
    decisions about a word are extended to all forms of its term.
    """
    checked = checked_source(source)
    checked = with_guard(checked) if guard else checked
    return in_terms(checked, TermKeys(analyzer, vocabulary=vocabulary))


def described(source: TermSimilaritySource) -> str:
    """Return the repr of a source without memory addresses."""
    return _ADDRESS.sub("", repr(source))


def _versions() -> dict[str, str]:
    return {"softcosine": __version__, "numpy": np.__version__}


def _added(
    S: csr_array,
    new: NDArray[np.bool_],
    source: TermSimilaritySource,
    words: tuple[str, ...],
    rules: Rules,
    sequence: NDArray[np.int32],
    factor: float,
    progress: Progress | None,
) -> csr_array:
    """Return the entries of new terms."""
    chosen = np.flatnonzero(new)
    answer = ask(
        source, [words[i] for i in chosen.tolist()], words,
        max_neighbors=rules.max_neighbors, progress=progress,
    )  # fmt: skip
    admitted = _placed(rules.admitted(answer), chosen, None, len(words))
    unfinished = np.diff(admitted.indptr) == rules.max_neighbors
    admitted = _scaled(admitted, factor)
    if rules.strategy == "rows":
        return _added_rows(S, new, admitted, words, rules.max_neighbors)
    columns = GrowingColumns(S, new, limit=rules.max_neighbors, dominant=rules.dominant)
    columns.enter(_pinned(admitted, source, words, rules.max_neighbors), sequence[new[sequence]])
    columns.enter(admitted, sequence[new[sequence]])
    _fill(columns, unfinished & new, ~new, source, words, rules, sequence, factor)
    return columns.to_csr()


def _fill(
    columns: GrowingColumns,
    unfinished: NDArray[np.bool_],
    passive: NDArray[np.bool_],
    source: TermSimilaritySource,
    words: tuple[str, ...],
    rules: Rules,
    sequence: NDArray[np.int32],
    factor: float = 1.0,
) -> None:
    """Request more candidates for columns with room, among such columns, until nothing changes.

    Afterwards no two columns with room are neighbours by the source without an entry: a list
    shorter than requested is complete, and a column with room has entered its whole list.

    Parameters
    ----------
    unfinished : ndarray of shape (n_terms,), bool
        Columns with a truncated list of candidates.
    passive : ndarray of shape (n_terms,), bool
        Columns that do not choose but may be chosen.
    """
    if rules.dominant:  # entries are also refused by their sum, so free room means nothing
        return
    room = columns.open()
    while (unfinished & room).any():
        asking = np.flatnonzero(unfinished & room)
        searched = np.flatnonzero((unfinished | passive) & room)
        among = tuple(words[i] for i in searched.tolist())
        terms = among if len(asking) == len(searched) else [words[i] for i in asking.tolist()]
        answer = rules.admitted(ask(source, terms, among, max_neighbors=rules.max_neighbors))
        candidates = _placed(answer, asking, searched, len(words))
        unfinished = np.diff(candidates.indptr) == rules.max_neighbors
        choosing = np.zeros(len(words), np.bool_)
        choosing[asking] = True
        columns.enter(_scaled(candidates, factor), sequence[choosing[sequence]])
        before, room = room, columns.open()
        if np.array_equal(before, room):
            return  # no column became full: the lists would be the same again


def _pinned(
    candidates: Neighbors, source: TermSimilaritySource, words: tuple[str, ...], limit: int
) -> Neighbors:
    """Return the candidates that are pinned by a decision or a list; they are entered first."""
    stay = np.zeros(len(candidates.indices), np.bool_)
    stay[pinned_pairs(source, words, candidates.rows(), candidates.indices)] = True
    return candidates.where(stay, max_neighbors=limit)


def _placed(
    answer: Neighbors,
    rows: NDArray[np.int64],
    columns: NDArray[np.int64] | None,
    n_terms: int,
) -> Neighbors:
    """Renumber neighbours of some rows and columns by the numbers of all terms."""
    placed = answer.of_some(rows, n_terms)
    if columns is None:
        return placed
    return replace(placed, indices=columns[placed.indices].astype(np.int32))


def _scaled(neighbors: Neighbors, factor: float) -> Neighbors:
    if factor == 1.0:
        return neighbors
    return replace(neighbors, similarities=neighbors.similarities * np.float32(factor))


def _added_rows(
    S: csr_array,
    new: NDArray[np.bool_],
    candidates: Neighbors,
    words: Sequence[str],
    limit: int,
) -> csr_array:
    """Fill new rows with their best terms, and old rows with room with new terms that list them."""
    own = best_of_rows(candidates, limit)
    rows = candidates.rows()
    naming = ~new[candidates.indices]
    named = Neighbors.from_pairs(
        candidates.indices[naming],
        rows[naming],
        candidates.similarities[naming],
        n_terms=len(words),
        among=words,
        max_neighbors=limit,
    )
    room = np.maximum(limit - (np.diff(S.indptr) - 1), 0)
    place = np.arange(len(named.indices)) - np.repeat(named.indptr[:-1], np.diff(named.indptr))
    stay = place < room[named.rows()]
    back = named.where(stay, max_neighbors=limit)
    n = len(words)
    diagonal = diags_array(new.astype(np.float32))
    back_rows = csr_array((back.similarities, back.indices, back.indptr), (n, n))
    added = csr_array(own + back_rows + diagonal, dtype=np.float32)
    added.eliminate_zeros()
    added.sort_indices()
    return added


def best_of_rows(neighbors: Neighbors, limit: int) -> csr_array:
    """Return the first `limit` candidates of every row.

    Raises
    ------
    InvalidInputError
        If a row contains a candidate twice.
    """
    n = len(neighbors)
    lengths = np.diff(neighbors.indptr)
    place = np.arange(len(neighbors.indices)) - np.repeat(neighbors.indptr[:-1], lengths)
    kept = place < limit
    indptr = running_sum(np.minimum(lengths, limit))
    rows = csr_array((neighbors.similarities[kept], neighbors.indices[kept], indptr), shape=(n, n))
    rows.sort_indices()
    if not rows.has_canonical_format:
        raise InvalidInputError("the source gives a term twice among the neighbours of another.")
    return rows


def with_diagonal(entries: csr_array) -> csr_array:
    """Return the matrix plus the identity, as float32 with ascending column indices."""
    S = csr_array(entries + eye_array(entries.shape[0], dtype=np.float32), dtype=np.float32)
    S.sort_indices()
    return S
